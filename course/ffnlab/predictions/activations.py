"""The predictions of notebook 03."""

from ffnlab.predictions.prediction import Prediction

PREDICTIONS = {
    "new_unit": Prediction(
        question="""Four such units are added one after the other, each with its own kink, and each with a positive weight w. What does a new
        unit change?""",
        options=(
            "the whole line",
            "the part left of its kink",
            "the part right of its kink",
            "only the neighbourhood of its kink",
        ),
        right="the part right of its kink",
        explanation="""Each of these units is zero left of its kink, so it changes the line to the **right** of it only. (A unit with w < 0 looks
        the other way.) The first unit turns the flat line down with slope −1.5, and each of the others adds 1 to the slope. So the
        slopes are −1.5, −0.5, 0.5 and 1.5, and the line follows the dashed parabola.""",
    ),
    "nine_pieces": Prediction(
        question="""Eight units with random weights, on the interval from −3 to 3, drawn six times. In how many of the six draws are there nine
        pieces?""",
        options=("in none", "in three", "in all six"),
        right="in three",
        explanation="""Nine pieces came out in three of these six draws. N + 1 is the **most** there can be. Kinks outside of the interval do not
        count; nor do those of units whose output weight is 0; two in the same place are one, or even cancel.""",
    ),
    "twice_the_pieces": Prediction(
        question="From 4 pieces to 8, the largest error becomes …",
        options=("half as large", "a quarter as large", "an eighth as large"),
        right="a quarter as large",
        explanation="""With n pieces on [−1, 1] the largest error is exactly **1/n²**, and it is the same in all pieces: between nodes at distance
        h, the straight line is too high by h²/4 in the middle. Here h = 2/n. On an interval twice as wide, h is twice as large, and
        the error four times.""",
    ),
    "trained_square": Prediction(
        question="""With 32 units, the network built by hand has a largest error of 0.001. What will training find, from five random starts?""",
        options=(
            "errors about a tenth as large",
            "errors of about the same size",
            "errors about ten times as large, or more",
        ),
        right="errors about ten times as large, or more",
        explanation="""The trained networks have largest errors of 0.011 to 0.028. From 2 units to 32 their errors fall too, but with 8 and 32
        units they stay above those built by hand, and they differ from seed to seed by a factor of two and more. With 2 units some
        runs get stuck, and some do **better** than 1/4: two kinks can make three pieces. That there **is** a good network does not
        mean that training finds it. (Another machine may print slightly other numbers; the picture stays.)""",
    ),
    "at_three": Prediction(
        question="The network of 8 pieces from section 2 follows x² on [−1, 1]. What does it say at x = 3, where x² is 9?",
        options=("about 9", "about 4.5", "about 1"),
        right="about 4.5",
        explanation="""Right of its last kink the network is one straight line for ever: 4.5 at x = 3, and 16.75 at x = 10. Out there no unit
        switches on or off any more, so nothing turns the line. More pieces hardly help: their kinks are all inside. On the left,
        the network drawn here is flat: no unit is on there. (Yours may differ out there; it will be a straight line all the same.)""",
    ),
    "norm_bound": Prediction(
        question="How large can a single number of such a vector get, for d = 64?",
        options=("about 1", "about 3", "just below 8", "there is no limit"),
        right="just below 8",
        explanation="""A single number can get as large as √(d − 1), here 7.937, when it is a lone spike. So the input of a normed FFN lives in a
        ball of radius √d, whatever came before; the learned gain stretches the ball, and the bias moves it.""",
    ),
    "silent_and_stuck": Prediction(
        question="""With ReLU: how do the two numbers compare, the units that are silent for all inputs, and the units without any gradient?""",
        options=("fewer units are without a gradient", "they are always equal", "more units are without a gradient"),
        right="they are always equal",
        explanation="""With ReLU they are the same units: never above zero, never a gradient. Gradient descent cannot wake such a unit up, because
        its own weights do not move. With GELU every unit still gets **some** gradient here. How much, section 5 will tell.""",
    ),
    "dead_after_steps": Prediction(
        question="""How do units die? A few large steps are enough. With which of the learning rates 0.1, 1 and 8 will units be dead after 20
        steps?""",
        options=("with all three", "with 1 and 8", "with 8 only"),
        right="with 8 only",
        explanation="""With 0.1 and with 1 no unit dies, in any of five seeds. With 8 between 16 and 31 of the 64 units are dead: a large step
        throws their weights so far that no input reaches them any more.""",
    ),
    "falls_somewhere": Prediction(
        question="Which of the three, ReLU, GELU and SiLU, ever falls while x rises?",
        options=("none of them", "SiLU only", "GELU and SiLU", "all three"),
        right="GELU and SiLU",
        explanation="""GELU and SiLU both dip below zero and come back: they are not monotone. GELU's lowest value is −0.170, at x = −0.75; SiLU's
        is −0.278, at x = −1.28. Tick “slopes” to see that they overshoot 1 a little as well: GELU's slope from x = 0.75 on, 1.13 at
        most. On the left ReLU is flat at once; the other two flatten out, SiLU most slowly.""",
    ),
    "gelu_at_minus_ten": Prediction(
        question="What does a computer make of GELU at x = −10, in float32?",
        options=("a small number, about −0.0005", "a tiny number, about −10⁻²²", "exactly zero"),
        right="exactly zero",
        explanation="""At −6 and below GELU is exactly zero in float32 (printed as −0); its slope is a few hundred-millionths at −6, and 10⁻²¹ at
        −10. SiLU's tail is much heavier: at −10 it still gives −0.0005.""",
    ),
    "two_gelus": Prediction(
        question="How far are the two forms apart, at most?",
        options=("about 0.0005", "about 0.005", "about 0.05"),
        right="about 0.0005",
        explanation="""They differ by at most 4.73 ten-thousandths, near |x| = 2.70, and not at all at 0. That is too little to matter in training,
        and enough to fail a comparison of two libraries.""",
    ),
    "swish_at_zero": Prediction(
        question="What does the curve look like for β = 0?",
        options=("like ReLU", "a straight line with slope ½", "a straight line with slope 1", "zero everywhere"),
        right="a straight line with slope ½",
        explanation="""β = 0 gives x/2, no bend at all. The larger β is, the nearer the curve comes to ReLU, never further away than 0.278/β. SiLU,
        with β = 1, is between the two.""",
    ),
    "fires_at_minus_two": Prediction(
        question="For b = 0 the share is 50 %. What is it for b = −2σ?",
        options=("about 2 %", "about 10 %", "about 25 %", "0 %"),
        right="about 2 %",
        explanation="""The share is **Φ(b/σ)**: 50 % at b = 0, whatever σ is, and 2.3 % at b = −2σ. Only the ratio matters. It is the same Φ as in
        GELU: there, x is multiplied by the share of standard normal numbers that it exceeds.""",
    ),
    "zeros_after_training": Prediction(
        question="Which of the three networks will have hidden numbers that are **exactly** zero after training, in float32?",
        options=("only the one with ReLU", "those with ReLU and GELU", "all three"),
        right="those with ReLU and GELU",
        explanation="""ReLU starts at 50 % zeros, as Φ(0) says, and is hardly sparser after training. SiLU has no exact zeros, before or after. And
        GELU? It has none before; but after 400 steps a fifth to a quarter of its numbers are **exactly zero**. Training has pushed
        sums below about −5.5, where float32 can't tell GELU from zero. That GELU has no zeros is true on paper.""",
    ),
    "first_after_400": Prediction(
        question="Which of the three has the lowest loss after 400 steps?",
        options=("ReLU", "GELU", "SiLU", "they can't be told apart"),
        right="SiLU",
        explanation="""On this task the smooth ones are ahead. After 100 steps GELU and SiLU are about level; after 400 it is SiLU before GELU
        before ReLU, with the bands (best to worst of five seeds) of ReLU and GELU well apart. All seeds have different facts, and
        the three activations get the same ones.""",
    ),
    "polynomial": Prediction(
        question="""We let networks follow sin(3x) on [−2, 2]. Their first layer is random, their second the best there is. The activation is
        x². What happens to the error from 4 units to 256?""",
        options=("it falls to nearly nothing", "it falls by about a half", "it stays exactly as it is", "it grows"),
        right="it stays exactly as it is",
        explanation="""x² bends, and yet it gets stuck at an error of 1.13. A sum of squares (x·w + b)², however many, is again a·x² + b·x + c:
        three numbers, whatever the width. ReLU's kinks do not melt into each other like that, and its error goes on falling.""",
    ),
    "gelu_zero_from": Prediction(
        question="How far to the left do you have to go until GELU's value is exactly zero in float32?",
        options=("to about −6", "to about −15", "to about −40", "it never is"),
        right="to about −6",
        explanation="""The value is exactly zero below about −5.6, the slope below about −6.3. Where exactly the zeros begin depends on how your
        processor computes erf, and even on whether it computes one number or many at once. A unit so far on the left passes nothing
        on and learns nothing.""",
    ),
}
