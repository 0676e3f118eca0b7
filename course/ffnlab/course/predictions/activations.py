"""The predictions of notebook 03."""

from ffnlab.prediction.prediction import Prediction

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
    "polygons_after_training": Prediction(
        question="""Eight units, random at first, cut the plane into at most 37 polygons; about two dozen of them are in sight. After 1,000 steps of training
        the network tells disc and ring apart. How many polygons are in sight then?""",
        options=("fewer than ten", "about as many as before", "all 37"),
        right="about as many as before",
        explanation="""Training moves the hinges and hardly makes new polygons: over ten seeds 8 units had 15 to 30 of them in sight before and 16 to 32
        after, 24 and 22 on average. What changes is where they are: around the disc, each with one straight bit of the border. All ten networks
        tell disc and ring apart; of those with 4 units, seven do, and three are stuck at 80 to 90 % of the points.""",
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
        question="The network of 8 pieces from section 3 follows x² on [−1, 1]. What does it say at x = 3, where x² is 9?",
        options=("about 9", "about 4.5", "about 1"),
        right="about 4.5",
        explanation="""Right of its last kink the network is one straight line for ever: 4.5 at x = 3, and 16.75 at x = 10. Out there no unit
        switches on or off any more, so nothing turns the line. More pieces hardly help: their kinks are all inside. On the left,
        the network drawn here is flat: no unit is on there. (Yours may differ out there; it will be a straight line all the same.)""",
    ),
    "silent_and_stuck": Prediction(
        question="""With ReLU: how do the two numbers compare, the units that are silent for all inputs, and the units without any gradient?""",
        options=("fewer units are without a gradient", "they are always equal", "more units are without a gradient"),
        right="they are always equal",
        explanation="""With ReLU they are the same units: never above zero, never a gradient. Gradient descent cannot wake such a unit up, because
        its own weights do not move. With GELU every unit still gets **some** gradient here. How much, section 7 will tell.""",
    ),
    "gelu_at_minus_ten": Prediction(
        question="What does a computer make of GELU at x = −10, in float32?",
        options=("a small number, about −0.0005", "a tiny number, about −10⁻²²", "exactly zero"),
        right="exactly zero",
        explanation="""At −6 and below GELU is exactly zero in float32 (printed as −0); its slope, for one number at a time, is a
        few hundred-millionths at −6, and
        10⁻²¹ at −10. SiLU's tail is much heavier: at −10 it still gives −0.0005.""",
    ),
    "world_fires": Prediction(
        question="Before training 53 % of all these sums are above zero, so that their neuron fires. After training?",
        options=("about 90 %", "about 50 %", "about 10 %", "less than 1 %"),
        right="less than 1 %",
        explanation="""It is 0.3 %. Nearly all sums have moved to the left of zero. 31 of the 64 neurons fire for no word of any wish: they are dead on
        this world. Neuron 10, “cold water”, fires for 1.5 % of the words; one word in each wish about cold water would be 1.3 %. And the model
        chooses the right way and the right feeling in every wish that it has never seen.""",
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
}
