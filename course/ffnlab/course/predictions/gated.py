"""The predictions of notebook 07."""

from ffnlab.prediction.prediction import Prediction

PREDICTIONS = {
    "cold_times_water": Prediction(
        question="""One reading a for “cold”, one reading b for “water”, and “no” is written as −1, “yes” as 1. Which logical function is a · b?""",
        options=("cold and water", "cold or water", "both or neither", "exactly one of the two"),
        right="both or neither",
        explanation="""For (no, no), (no, yes), (yes, no) and (yes, yes) the product is 1, −1, −1 and 1, so it says whether the two **agree**.
        That is the creek's rule: *over* where it is cold and there is water, or neither. One neuron has it, without an activation.
        Had “no” been written as 0, the products would be 0, 0, 0 and 1, which is **and**.""",
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
        question="""Nine FFNs with equally many weights; the gated ones have a third fewer neurons. How do they
        compare in the number of facts that they know?""",
        options=("fewer, every one of them", "some more, some fewer", "more, every one of them"),
        right="more, every one of them",
        explanation="""The strokes below are fifteen runs of each kind. The worst gated run is ahead of the best plain one, and the gate does not even need an
        activation. On this task the product does what an activation does, and more.""",
    ),
    "order_again": Prediction(
        question="""Take three of the nine: SiLU, the best plain one, is clearly behind SwiGLU and Bilinear, and these two are about level. The next cell
        shows a smaller network, more steps, a larger network and two other learning rates. Where the three still differ, what stays true?""",
        options=(
            "all of it",
            "only that SiLU, the plain one, is behind",
            "only that the two gated ones are level",
            "nothing",
        ),
        right="only that SiLU, the plain one, is behind",
        explanation="""There are three lessons about contests in it.

        - **Gated before plain** holds in the smaller network, after 1,200 steps and at both other learning rates.
        - **The order among the gated does not.** SwiGLU is ahead in the smaller network, Bilinear after 1,200 steps. This task does not crown a best gate.
        - With a third more neurons **everyone knows everything**, or nearly. A task with room to spare shows no difference, and a third more weights
          do more for a plain FFN than a gate did above.""",
    ),
    "beyond_luck": Prediction(
        question="""Look at the column of 65,536 steps, each number as the mean of four runs. Which of these two leads would luck rarely make, in a
        pair chosen beforehand: GELU before ReLU, GEGLU before SwiGLU?""",
        options=("both", "GELU before ReLU only", "GEGLU before SwiGLU only", "neither"),
        right="GELU before ReLU only",
        explanation="""GELU is 4.0 standard errors ahead of ReLU, GEGLU 0.4 ahead of SwiGLU.
        As the largest of 28 pairs, 4.0 would be less rare. After the short runs every gated FFN but one is far
        outside the noise of every plain one, by 6.5 to 20.8 standard errors. Even **bilinear, without any activation**, beats all
        three plain ones. The exception is GLU, with the sigmoid: it is ahead of ReLU and Swish, and level with GELU.""",
    ),
}
