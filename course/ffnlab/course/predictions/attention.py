"""The predictions of notebook 01."""

from ffnlab.course.experiments import without_ffn
from ffnlab.prediction.prediction import Prediction

OVER, GLAD = (sum(without_ffn.has_learned(rule)) for rule in ("way", "feeling"))

PREDICTIONS = {
    "scaled_zero": Prediction(
        question="""Let f be your head, whose weights A may move with X. For which values of s is f(sX) exactly s·f(X), so that the distance is 0?""",
        options=("for s = 1 only", "for s = 0 and s = 1", "for s = −1, 0 and 1", "for every s"),
        right="for s = −1, 0 and 1",
        explanation="""At s = 1 nothing has changed, and at s = 0 both sides are zero, so the plot has a gap there. The surprise is s = −1. A score
        is a product of two factors, and both change their sign. So A stays the same, and only the values change their sign. If |s| is larger than 1, the scores
        grow and the softmax gets sharper. If it is smaller, they shrink and the softmax gets flatter.""",
    ),
    "one_token": Prediction(
        question="The last line of the table takes the whole head, all five steps, but only a **single** token. Is it linear in X?",
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
        question="""The cell gives this head the four corners (a, b) = (−1, −1), (−1, 1), (1, −1) and (1, 1). What will the four outputs be?""",
        options=("0, 0, 0, 1", "0, 1, 1, 0", "0, 1, 1, 2", "½, ½, ½, ½"),
        right="0, 1, 1, 0",
        explanation="""One head computes XOR. Its output is 1 where a and b differ, and 2·10⁻²² where they do not. Where they agree, the score is 50 and
        the token looks at itself, whose value is 0. Where they differ, the score is −50 and the token looks at BOS, whose value is 1. The score is
        a product of a and b, and no adding up can replace it.""",
    ),
    "learned_attention": Prediction(
        question="""None of the sixteen models has an FFN. How many of them learn to tell *over* from *into*, in scenes that they have never seen?""",
        low=0,
        high=16,
        step=1,
        right=OVER,
        within=2,
        unit=" of 16",
        explanation=f"""{OVER} of them do, and {GLAD} tell *glad* from *sorry*. A model is right in all scenes or in about half of them, where it tosses a coin.
        The cell shows all sixteen.""",
    ),
    "xor_two_neurons": Prediction(
        question="""Two ReLU neurons can hold XOR, as you know. We train a thousand networks with two neurons, each from a random start of its own. How many
        per cent of them will learn it?""",
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
