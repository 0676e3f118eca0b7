"""The predictions of notebook 01."""

from ffnlab.prediction.prediction import Prediction

PREDICTIONS = {
    "scaled_zero": Prediction(
        question="""Let f be your head, whose weights A may move with X. For which s is f(sX) = s·f(X)?""",
        options=("for s = 1 only", "for s = 0 and s = 1", "for s = −1, 0 and 1", "for every s"),
        right="for s = −1, 0 and 1",
        explanation="""At s = 1 nothing has changed, and at s = 0 both sides are zero, so no distance can be given there. The surprise is s = −1. A score
        is a product of two factors, and both change their sign. So A stays the same, and only the values change their sign. If |s| is larger than 1, the scores
        grow and the softmax gets sharper. If it is smaller, they shrink and the softmax gets flatter.""",
    ),
    "one_token": Prediction(
        question="Take the whole head, all five steps, but give it only a **single** token. Is it linear in X?",
        options=(
            "no, because the softmax is still in it",
            "no, because queries still meet keys",
            "yes, exactly",
            "nearly, for small X",
        ),
        right="yes, exactly",
        explanation="""A single token has one score, and the softmax of one number is always 1. All other steps are products with matrices. So a token
        that looks only at itself gets nothing from attention that a matrix could not do.""",
    ),
    "one_head": Prediction(
        question="""The cell hands *cold creek*, *warm creek*, *cold lawn* and *warm lawn* to this head. What will the four outputs be?""",
        options=("0, 0, 0, 1", "0, 1, 1, 0", "0, 1, 1, 2", "1, 0, 0, 1"),
        right="0, 1, 1, 0",
        explanation="""One head can say it. In *cold creek* and *warm lawn* the score of the place is 50, so the weather looks at the place, whose value
        is 0. In the other two it is −50, so the weather looks at itself, whose value is 1. The other one of the two words keeps a weight of 2·10⁻²².""",
    ),
    "xor_two_neurons": Prediction(
        question="""Two ReLU neurons can compute XOR, as you know. We train a thousand networks with two neurons, each from a random start of its own. What
        percentage of them will learn it?""",
        low=0,
        high=100,
        step=1,
        right=22,
        within=8,
        unit=" %",
        explanation="""Between a fifth and a quarter of them. Two neurons can do it. But in nearly half of the networks a neuron is silent at all four
        inputs from the start, so it never learns. Others get stuck on the way. With four neurons two thirds learn it, and with eight nearly all. So width
        helps **learning** long after it has stopped helping what can be **written down**. One neuron never learns it, because one ReLU can't do it.""",
    ),
}
