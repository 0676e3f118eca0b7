"""The predictions of notebook 09."""

from ffnlab.prediction.prediction import Prediction

PREDICTIONS = {
    "below_one": Prediction(
        question="""Ten tokens, three experts, k = 1. Some tokens are undecided: each gives expert 0, which it chooses, a probability of only 0.34.
        Each of the others gives expert 1, which it chooses, 0.51, and expert 0 nothing. Can the loss be smaller than 1?""",
        options=(
            "no, 1 is the least that is possible",
            "yes, with some tokens of both kinds",
            "yes, when all tokens are of one kind",
        ),
        right="yes, with some tokens of both kinds",
        explanation="""With six undecided tokens the loss is 0.850. Expert 0 has most of the tokens, but little probability, since its tokens chose
        it with 0.34 and the others gave it 0. Where much load meets little probability, the sum falls below 1. If either f or P is even,
        the loss is exactly 1, whatever the other one is. So 1 means neither “balanced” nor “as good as it gets”.""",
    ),
    "partner_changes": Prediction(
        question="""Two experts are chosen, and their weights add up to 1. Expert 4 is third.
        A bias brings it in, in place of expert 2. What happens to the weight of expert 0, which was chosen
        before and still is?""",
        options=("it falls", "it stays", "it rises"),
        right="it rises",
        explanation="""A bias of 0.1 brings expert 4 in. Expert 0 then has a weaker partner, and its weight rises from 0.54 to 0.62. The bias
        decides **who** works, not how much their word counts: among the same two experts a larger bias changes nothing. In the
        weights it would change the output of every token that this expert is chosen for, at every update.""",
    ),
    "which_alpha": Prediction(
        question="""Expert 0 has a head start of 3 again. Which α ends with the smallest error?""",
        options=("0.001", "0.01", "0.1", "1"),
        right="0.01",
        explanation="""What counts is how large the balance loss is beside the task's. On the river α = 0.1 was gentle. Here the errors are about
        a fifteenth, so one looks for a gentle α near a fifteenth of 0.1. The Switch Transformer's is 0.01, too. An even load is not the aim: a
        small error is.""",
    ),
}
