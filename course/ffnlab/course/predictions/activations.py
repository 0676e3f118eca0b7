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
        question="""With 32 neurons, the network that you built has a root mean square error of 0.0007. Training tries to make just this error small. What
        does it find, in 3,000 steps of Adam from random starts?""",
        options=("a smaller error", "about the same error", "an error more than twice as large"),
        right="an error more than twice as large",
        explanation="""The grey strokes of the next picture are fifteen runs. With 32 neurons their error is 3 to 10 times as large as yours. Measured by
        the largest error, which training does not look at, it is 6 to 21 times as large. With 8 neurons one of the fifteen does **better** than
        yours. With 2 neurons six do. The best three are five times as near as yours, because they have turned a neuron round and so
        made a third piece. That there **is** a good network does not mean that training finds it.""",
    ),
    "at_three": Prediction(
        question="A network of 8 pieces follows x² on [−1, 1], and every neuron is flat on its left. What does it say at x = 3?",
        options=("about 9", "about 4.5", "about 1"),
        right="about 4.5",
        explanation="""Right of its last kink the network is one straight line. It goes through 1 at
        x = 1 with slope 1.75. So it is 4.5 at x = 3, and 16.75 at x = 10. With other neurons it may be another line, but it is a line.""",
    ),
    "world_fires": Prediction(
        question="How many of the sums are above zero after training?",
        options=("about 90 %", "about 30 to 50 %", "about 10 %", "less than 1 %"),
        right="about 30 to 50 %",
        explanation="""In fifteen models that we trained it was 28 to 52 %, and no neuron was dead. Nothing in their training asks for silence.""",
    ),
    "world_fires_penalty": Prediction(
        question="""Now something is added to the loss: the mean of what all neurons pass on, times a factor. Whoever fires, pays.
        How many of the sums are above zero after such a training?""",
        options=("about 90 %", "about 30 to 50 %", "about 10 %", "less than 1 %"),
        right="less than 1 %",
        explanation="""The model of notebook 00 was trained like this. In it 0.3 % are above zero, and 31 of its 64 neurons are dead on this world.
        In fifteen more models it was 0.08 to 0.3 %, with 18 to 49 dead neurons. Does a model need what the penalty takes? Fourteen of these
        fifteen choose the right way and the right feeling in every scene that was held out. Without the penalty all fifteen do.""",
    ),
}
