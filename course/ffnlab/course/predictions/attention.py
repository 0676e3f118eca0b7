"""The predictions of notebook 01."""

from ffnlab.prediction.prediction import Prediction

PREDICTIONS = {
    "blend_reach": Prediction(
        question="""The three values are three points of a plane. You may choose any three scores. Which points of the plane can the blend
        reach?""",
        options=(
            "every point of the plane",
            "the inside of the triangle of the three points",
            "only the three lines between the points",
            "everything nearer to the middle than the furthest point",
        ),
        right="the inside of the triangle of the three points",
        explanation="""Softmax makes weights that are positive and sum to 1, whatever the scores are. So the blend is an average, and an average of
        three points can't leave their triangle. The circle below, which is the sum cat + down, lies outside: no scores will take
        you there. Try it.""",
    ),
    "scaled_zero": Prediction(
        question="""With A free: for which values of s is attention of the scaled sentence exactly s times attention of the sentence, so that
        the distance is 0?""",
        options=("for s = 1 only", "for s = 0 and s = 1", "for s = −1, 0 and 1", "for every s"),
        right="for s = −1, 0 and 1",
        explanation="""At s = 1 there is nothing to see, and at s = 0 both sides are zero. The surprise is s = −1: there both factors of a score
        change their sign, so the scores and A stay the same. Everywhere else attention is not linear in X, because larger vectors
        have larger scores, and A becomes sharper.""",
    ),
    "one_token": Prediction(
        question="The last line of the table takes the whole head, all five steps, but only a **single** token. Is it linear in X?",
        options=(
            "no, for softmax is still in it",
            "no, for queries still meet keys",
            "yes, exactly",
            "nearly, for small X",
        ),
        right="yes, exactly",
        explanation="""A single token has one score, and the softmax of one number is always 1. What is left are products with matrices. The table
        says the same of each step: steps 1 and 5 are linear, and steps 2 and 4 are linear in each of their two factors while the
        other is held fixed, but not in X. Step 3 is not linear at all.""",
    ),
    "xor_line": Prediction(
        question="""A straight line parts the plane of (a, b). It should have the two points with XOR = 1 on one side and the two with XOR = 0
        on the other. How many of the four can it get right?""",
        options=("2", "3", "4"),
        right="3",
        explanation="""Three of four is the best that a line can do for XOR; for AND there is a line that gets all four. You need no trial to see
        it: an affine f has f(0, 1) + f(1, 0) = f(0, 0) + f(1, 1), so the first two can't both be above a threshold that the others
        are below.""",
    ),
    "xor_two_neurons": Prediction(
        question="""Two ReLU neurons can hold XOR. We train 200 networks with two hidden neurons, from random starts. How many of the 200 will
        learn it?""",
        low=0,
        high=200,
        step=2,
        right=32,
        within=25,
        explanation="""Only 16 %, which is 32 of them. Two neurons could do it, and mostly don't: they start on the wrong side, or fall
        silent. One neuron never does it, for one ReLU rises or falls but can't come back. From eight neurons on, training finds XOR
        nearly always. Extra width helps **learning**, here, long after it has stopped helping what can be **written down**. The
        percentages depend on the recipe; the order does not.""",
    ),
    "one_head": Prediction(
        question="""The cell feeds this head the four corners (a, b) = (−1, −1), (−1, 1), (1, −1) and (1, 1). What will the four outputs be?""",
        options=("0, 0, 0, 1", "0, 1, 1, 0", "0, 1, 1, 2", "½, ½, ½, ½"),
        right="0, 1, 1, 0",
        explanation="""One head computes XOR, to 21 digits: the output is 1 where a and b differ, and 2·10⁻²² where they do not. Where they agree,
        the score is 50 and the token looks at itself, whose value is 0. Where they differ, the score is −50 and the token looks at
        BOS, whose value is 1. The score is a product of a and b, and that is what an affine map lacks.""",
    ),
}
