"""The predictions of notebook 03."""

from ffnlab.prediction.prediction import Prediction

PREDICTIONS = {
    "twice_the_pieces": Prediction(
        question="Your network has 4 pieces, and then 8. The largest gap between wire and curve becomes …",
        options=("half as large", "a quarter as large", "an eighth as large"),
        right="a quarter as large",
        explanation="""With n pieces on [−1, 1] it is exactly **1/n²**, the same in all pieces. So how many pieces bring you within a
        thousandth? The next level asks for that.""",
    ),
    "trained_square": Prediction(
        question="""With 32 units, the network that you built has a largest error of 0.001. What does training find, in 3,000 steps from random starts?""",
        options=("a smaller error", "about the same error", "an error at least five times as large"),
        right="an error at least five times as large",
        explanation="""In fifteen runs it was 6 to 21 times as large, and 1.2 to 10.5 times as large with 8. With 2 units the runs
        differ most. Some get stuck, and some do **better** than 1/4, because two kinks can make three pieces. That there **is** a
        good network does not mean that training finds it.""",
    ),
    "at_three": Prediction(
        question="A network of 8 pieces follows x² on [−1, 1], and all its units slope to the right. What does it say at x = 3?",
        options=("about 9", "about 4.5", "about 1"),
        right="about 4.5",
        explanation="""Right of its last kink the network is one straight line. It goes through 1 at
        x = 1 with slope 1.75. So it is 4.5 at x = 3, and 16.75 at x = 10. With other units it may be another line, but it is a line.""",
    ),
    "world_fires": Prediction(
        question="""Before training about half of all these sums are above zero, so that their unit fires. How many are after training?""",
        options=("about 90 %", "about 50 %", "about 10 %", "less than 1 %"),
        right="less than 1 %",
        explanation="""It is 0.3 %, and 31 of the 64 units are dead on this world. This did not happen by itself: in training, a penalty was added to the
        loss, the mean of all hidden numbers times a factor. We trained fifteen more models with it and fifteen without. With it, between 0.08 and 0.3 % of
        the sums are above zero, and 18 to 49 units are dead. Without it, 28 to 52 % are, and no unit is dead. Does a model need what the penalty takes? Of the
        fifteen with it, fourteen choose the right way and the right feeling in every scene that was held out. Of the fifteen without it, all do.""",
    ),
}
