"""The predictions of notebook 07."""

from ffnlab.prediction.prediction import Prediction

PREDICTIONS = {
    "product_of_lines": Prediction(
        question="The gate is t + 1, up is t − 1, and nothing is bent. What does their product look like?",
        options=("a straight line", "a line with a kink", "a curve"),
        right="a curve",
        explanation="""The product is a curve, a parabola, and it is zero where **either** line is zero. With gate = up it is a square and never
        goes below zero. Give the gate the slope 0, and the product is a straight line again: a gate that does not look at x is only
        one more weight.""",
    ),
    "cold_times_water": Prediction(
        question="""One reading a for “cold”, one reading b for “water”, and “no” is written as −1, “yes” as 1. Which logical function is a · b?""",
        options=("cold and water", "cold or water", "both or neither", "exactly one of the two"),
        right="both or neither",
        explanation="""With readings of 0 and 1, in the order (no, no), (no, yes), (yes, no), (yes, yes), the product is a soft **and**, in one
        unit and without a threshold. With −1 and 1 it says whether the two **agree**: it is 1 for (no, no) as well.""",
    ),
    "same_matrix": Prediction(
        question="In the plain ReLU FFN, without biases, x moves away from the origin: it becomes 2x. What becomes of the matrix that the gates pick?",
        options=("it stays the same", "it is doubled", "it is another one, with other lights on"),
        right="it stays the same",
        explanation="""Twice as large a sum is still positive, so no switch changes: all x of one cone meet the same matrix. Four lines through the
        origin make eight cones, and the plain FFN is eight matrices, joined at the lines. With a gate of its own this is different.
        In `reglu` the gates grow with x: for 2x the matrix is doubled, and y is four times as long. In `glu` every gate glides between
        0 and 1, and hardly two places share a matrix.""",
    ),
    "gated_or_plain": Prediction(
        question="""Nine FFNs with equally many weights; the gated ones have a third fewer units. Will they know more or fewer of the facts than
        the plain ones?""",
        options=("fewer, every one of them", "some more, some fewer", "more, every one of them"),
        right="more, every one of them",
        explanation="""We drew fifteen other sets of facts. Among the plain ones, ReLU, GELU and SiLU knew 57 %, 63 % and 68 % on average. **All
        five gated ones were above**, from 82 % (GLU) to 95 % (Bilinear). In each of the fifteen sets every gated FFN was ahead of every
        plain one (the linear `identity` does not count). And it does not even need an activation: on this task the product does what
        the bend does, and more.""",
    ),
    "order_again": Prediction(
        question="""Above, the order was SiLU, then SwiGLU, then Bilinear. The next cell tries a smaller network, more steps, and a larger
        network. Which part of the order will stay wherever there is a difference at all?""",
        options=("all of it", "only that SiLU, the plain one, is last", "only that Bilinear is first", "nothing"),
        right="only that SiLU, the plain one, is last",
        explanation="""There are three lessons about contests in it.

        - **Gated before plain** stays, as long as the network is full: in all of fifteen other sets of facts, at width 15 and after 1,200 steps.
        - **The order among the gated does not.** In those fifteen, Bilinear was ahead of SwiGLU in 12 at first. With 10 units SwiGLU was
           ahead in all of them, and after 1,200 steps Bilinear. This task does not crown a best gate.
        - With a third more units (24 and 16) **everyone knows everything**, or 99 % of it. A task with room to spare shows no
           difference.""",
    ),
    "beyond_luck": Prediction(
        question="""Look at the column of 65,536 steps, each number as the mean of four runs. Which of these two leads is beyond luck: GELU
        before ReLU, GEGLU before SwiGLU?""",
        options=("both", "GELU before ReLU only", "GEGLU before SwiGLU only", "neither"),
        right="GELU before ReLU only",
        explanation="""GELU is 4.0 standard errors ahead of ReLU, GEGLU 0.4 ahead of SwiGLU. After the short runs every gated FFN but one is far
        outside the noise of every plain one, by 6.5 to 20.8 standard errors. Even **bilinear, without any activation**, beats all
        three plain ones. The exception is GLU, with the sigmoid: it is ahead of ReLU and Swish, and level with GELU.""",
    ),
}
