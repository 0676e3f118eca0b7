"""What is right, and what goes wrong, in `merged_counterexample` of notebook 02."""

from __future__ import annotations

from autograder.keys.key import Key
from ffnlab.course.exercises import feed_forward as exercises

merged_counterexample = Key(exercises.merged_counterexample)
merged_counterexample.add_value(
    "truth",
    "cold_and_water_and_its_opposite",
    "",
    [(1.0, 1.0, -1.0, 1.0), (-1.0, -1.0, 1.0, 1.0)],
)
merged_counterexample.add_value(
    "right",
    "on_each_side",
    "a kink between cold and water, lists",
    [[1, -1, 0, 2], [-1, 1, 0, 5]],
)
merged_counterexample.add_value(
    "right",
    "three_times_minus",
    "the second key is minus three times the first",
    ([0, 2, -1, -1], [0, -6, 3, 4]),
)
merged_counterexample.add_value(
    "right",
    "biases_alone",
    "neurons that look at no input",
    [(0, 0, 1, 1), (0, 0, -2, 3)],
)
merged_counterexample.add_source(
    "right",
    "a_tensor",
    "a tensor [2, 4]",
    "merged_counterexample = torch.tensor([[1.0, 0.5, -0.5, 1.0], [-1.0, -0.5, 0.5, -1.0]])",  # a value's own text is no code
)


merged_counterexample.slips("""
of biases_alone
in (0, 0, 1, 1), (0, 0, -2, 3)
hinges_of_their_own: (1.0, 1.0, -1.0, 1.0), (1.0, -1.0, 0.0, -2.0)
    Every neuron of your network has a kink of its own, so the code merges nothing and changes nothing. Give two neurons one kink.
twice_as_strong: (1.0, 1.0, -1.0, 1.0), (2.0, 2.0, -2.0, 3.0)
    The neurons that share a kink fire on the same side of it. There relu(2h) is 2·relu(h), and merging them is right. On which side could the second
    one fire?
writes_nothing: (1.0, 1.0, -1.0, 1.0), (-1.0, -1.0, 1.0, 0.0)
    Your neurons fire on different sides of one kink, which is the place to look at. But one of them writes 0, or others make up for it, so that
    nothing of it reaches the output.
a_third_neuron: (1.0, 1.0, -1.0, 1.0), (-1.0, -1.0, 1.0, 1.0), (1.0, 0.0, 0.0, 2.0)
    Nearly. Your classmate's code is wrong on it. A smaller network shows it as well: two neurons are enough.
never_fires: (0.0, 0.0, 0.0, 1.0), (1.0, 1.0, -1.0, 1.0)
    A neuron has the weights 0 and 0 and the bias 0. It never fires, and the code is not meant for it.
without_what_it_writes: (1.0, 1.0, -1.0), (-1.0, -1.0, 1.0)
    A neuron has three numbers. It needs four: the weights of cold and water, the bias, and what it writes.
""")
