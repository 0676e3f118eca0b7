"""What is right, and what goes wrong, in `catch_mistakes` of notebook 02."""

from __future__ import annotations

from autograder.keys.key import Key
from ffnlab.course.exercises import feed_forward as exercises

catch_mistakes = Key(exercises.catch_mistakes)

catch_mistakes.add_source(
    "truth",
    "a_turned_batch_and_a_token",
    "",
    """
catch_mistakes = [
    {"x": [[[-1], [-2]], [[3], [-3]]], "W1": [[1, 3]], "b1": [-1, 1], "W2": [[2], [3]], "b2": [1],
     "act": "abs", "dtype": "float64", "turned": True, "look": ["gradient", "x"]},
    {"x": [-1], "W1": [[-3]], "b1": [2], "W2": [[-3]], "b2": [3], "act": "square"},
]
""",
)

catch_mistakes.add_source(
    "right",
    "the_token_is_dark",
    "tanh for the batch, ReLU and a number beyond 6 for the token",
    """
catch_mistakes = [
    dict(x=[-3], W1=[[-3]], b1=[-1], W2=[[1]], b2=[2]),
    dict(
        x=[[[2], [3]], [[-3], [-2]]],
        W1=[[1, -2]],
        b1=[-2, 3],
        W2=[[-2], [3]],
        b2=[1],
        act="tanh",
        dtype="float64",
        turned=True,
        look=["gradient", "x"],
    ),
]
""",
)

catch_mistakes.add_source(
    "right",
    "tensors",
    "tensors in place of lists, and each test looks at everything",
    """
catch_mistakes = [
    dict(x=torch.tensor([[[-1.0], [-2.0]], [[3.0], [-3.0]]]), W1=torch.tensor([[1.0, 3.0]]), b1=torch.tensor([-1.0, 1.0]),
         W2=torch.tensor([[2.0], [3.0]]), b2=torch.ones(1), act="square", dtype="float64", turned=True, look=("x", "gradient")),
    dict(x=torch.tensor([-1.0]), W1=torch.tensor([[-3.0]]), b1=torch.tensor([2.0]), W2=torch.tensor([[-3.0]]), b2=torch.tensor([3.0]),
         act="abs", dtype="float64", look=("x", "gradient")),
]
""",
)

catch_mistakes.add_source(
    "right",
    "looks_apart",
    "the token is the one whose dtype, gradient and x are looked at",
    """
batch = {"x": [[[2], [3]], [[-3], [-2]]], "W1": [[1, -2]], "b1": [-2, 3], "W2": [[-2], [3]], "b2": [1], "act": "tanh", "turned": True}
token = {"x": [-3], "W1": [[-3]], "b1": [-1], "W2": [[1]], "b2": [2], "dtype": "float64", "look": ["gradient", "x"]}
catch_mistakes = [batch, token]
""",
)


catch_mistakes.slips("""
of the_token_is_dark
in dict(x=[-3], W1=[[-3]], b1=[-1], W2=[[1]], b2=[2]),
a_third_test
  + dict(x=[-3], W1=[[-3]], b1=[-1], W2=[[1]], b2=[2]),
  + dict(x=[1], W1=[[2]], b1=[-3], W2=[[2]], b2=[-1]),
    Your suite catches all boxes, and fewer numbers can do it. Which tests can be merged? How many numbers does a token need? Which of your tests needs two
    neurons, and does the other?
| more_numbers_than_needed
  - [[[2], [3]], [[-3], [-2]]]
  + [[[2], [3], [1]], [[-3], [-2], [2]]]
too_many_numbers
  + *[dict(x=[-3], W1=[[-3]], b1=[n], W2=[[1]], b2=[2]) for n in range(-4, 4)],
    Your suite has too many numbers. Small tests catch as much: take fewer tokens, fewer neurons, or one number for a token.
in x=[-3]
without_a_single_token: x=[[-3]]
    x has two dimensions or more in every test. Programs that want a list of tokens, or make one, show it where x is one token by itself, of shape
    [d_model].
in act="tanh"
relu_alone: act="relu"
    Every test has ReLU as its activation, so a program with ReLU built in gives the right answer. Hand it another function.
in dtype="float64"
float32_alone: dtype="float32"
    Every test has the dtype float32, so a program that turns everything into float32 gives itself away nowhere. Whole numbers don't show it: the dtype
    does.
in look=["gradient", "x"]
no_look_at_the_gradient: look=["x"]
    The numbers that come back can be right and still be cut off from what they were computed from. No test of yours looks at the gradient.
no_look_at_x: look=["gradient"]
    A program may return the right numbers and write into x. No test of yours looks at x afterwards.
in turned=True
in_order: turned=False
    In every test the memory of x is in order, so `.view` works. Turn an x whose first two dimensions are larger than 1.
in x=[[[2], [3]], [[-3], [-2]]]
turned_too_small: x=[[[2], [3]]]
    You turn a batch that has only one sentence, or one token in a sentence: its memory is still in order. `.view` stops at a turned batch of 2 by 2 or
    larger.
in b1=[-1]
not_beyond_six: b1=[-6]
    The box that cuts off at 6 is still closed, because no neuron of yours exceeds 6, in any test. Make one neuron say more.
of looks_apart
in catch_mistakes = [batch, token]
a_test_by_itself: catch_mistakes = batch
    This is one test. The answer is a list of tests, also where there is only one.
widths_of_one: catch_mistakes = [batch | {"W1": [[1]], "b1": [-2], "W2": [[-2]]}, token]
    d_model and d_ff are 1 in every test. A matrix with one entry is its own transpose. Give one test two neurons.
one_number_again_and_again: catch_mistakes = [dict(x=[1], W1=[[1]], b1=[1], W2=[[1]], b2=[1])]
    Your test has one number in every place. Whatever a program mixes up, it finds the same number there. Let the numbers differ.
| ones_everywhere: catch_mistakes = [dict(x=[[[1, 1]] * 2] * 2, W1=[[1, 1]] * 2, b1=[1, 1], W2=[[1, 1]] * 2, b2=[1, 1], act="abs", look="gradient")]
|| only_zeros: dict(x=[1], W1=[[1]], b1=[1], W2=[[1]], b2=[1]) -> dict(x=[0], W1=[[0]], b1=[0], W2=[[0]], b2=[0])
without_biases: catch_mistakes = [batch | {"b1": [0, 0], "b2": [0]}, token | {"b1": [0], "b2": [0]}]
    b1, or b2, is zero in every test. A program that forgets a bias, or adds it in the wrong place, gives the right answer there.
| without_b2: catch_mistakes = [batch | {"b2": [0]}, token | {"b2": [0]}]
always_on: catch_mistakes = [batch | {"b1": [8, 8], "act": "relu"}, token]
    Every neuron is on in every test, and there ReLU changes nothing. Programs without the activation, or with b1 behind it, say the same. Turn a neuron
    off: a bias can pull it below zero.
| positive_numbers: catch_mistakes = [dict(x=[[1, 2], [3, 1]], W1=[[2, 1], [1, 3]], b1=[1, 2], W2=[[3, 1], [2, 1]], b2=[1, 2])]
shapes_that_do_not_fit: catch_mistakes = [batch | {"W1": [[1], [-2]]}, token]
    The shapes of a test don't fit each other. x is [..., d_model], W1 [d_model, d_ff], b1 [d_ff], W2 [d_ff, d_model], b2 [d_model].
""")

# What all tests of a suite have in common is told of smaller suites as well. A suite is recognised by that and by how many points it earns, so a mistake
# has another form for suites with fewer than 20 boxes, and one for those that catch fewer than 26.
SMALLER_SUITES = {
    "without_biases": {
        "below_20": "dict(x=[2], W1=[[2]], b1=[0], W2=[[2]], b2=[0])",
        "below_26": "dict(x=[2], W1=[[1, -2]], b1=[-2, 3], W2=[[-2], [3]], b2=[0])",
    },
    "always_on": {
        "below_26": 'dict(x=[2], W1=[[3, 2]], b1=[1, 2], W2=[[-2], [3]], b2=[1], act="abs", dtype="float64")',
    },
    "relu_alone": {
        "below_20": "dict(x=[2], W1=[[-2]], b1=[1], W2=[[2]], b2=[1])",
        "below_26": "dict(x=[2], W1=[[1, -2]], b1=[-2, 3], W2=[[-2], [3]], b2=[1])",
    },
    "not_beyond_six": {
        "below_20": 'dict(x=[[2]], W1=[[-2]], b1=[1], W2=[[2]], b2=[1], act="abs")',
        "below_26": 'dict(x=[2], W1=[[-2]], b1=[1], W2=[[2]], b2=[1], act="abs")',
    },
    "widths_of_one": {
        "below_20": 'dict(x=[[2], [-3]], W1=[[3]], b1=[1], W2=[[2]], b2=[1], act="abs")',
        "below_26": 'dict(x=[[2], [-3]], W1=[[2]], b1=[-1], W2=[[2]], b2=[1], act="abs")',
    },
    "without_a_single_token": {
        "below_26": 'dict(x=[[2], [-3]], W1=[[3, 2]], b1=[1, 2], W2=[[-2], [3]], b2=[1], act="abs")',
    },
    "float32_alone": {
        "below_26": 'dict(x=[[2], [-3]], W1=[[1, -2]], b1=[-2, 3], W2=[[-2], [3]], b2=[1], act="abs"), '
        "dict(x=[2], W1=[[2]], b1=[0], W2=[[2]], b2=[0])",
    },
    "no_look_at_the_gradient": {
        "below_26": "dict(x=[2], W1=[[-2]], b1=[1], W2=[[2]], b2=[0]), "
        'dict(x=[[2]], W1=[[3, 2]], b1=[1, 2], W2=[[-2], [3]], b2=[1], act="abs", dtype="float64")',
    },
}
for _mistake, _suites in SMALLER_SUITES.items():
    for _size, _tests in _suites.items():
        catch_mistakes.add_source("mistake", f"{_mistake}_{_size}", "", f"catch_mistakes = [{_tests}]", _mistake)
