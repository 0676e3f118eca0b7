"""The predictions of notebook 02."""

from ffnlab.prediction.prediction import Prediction

PREDICTIONS = {
    "who_can_steer": Prediction(
        question="""The next cell lights each of the 64 neurons in turn, in all 448 scenes with cold water that were not in training. It looks whether *into*
        gets 75 % or more. How many of the 64 can do that at four times their usual brightness?""",
        low=0,
        high=64,
        step=1,
        right=3,
        within=2,
        unit=" of 64",
        explanation="""3: neurons 1 and 42, which you have met, and neuron 33. That one is never lit at *jump*, whatever the scene. It is one of those that look
        for *spunky in the cold*, four words later, and they push *glad*. Four times as bright as usual, it throws the dog into the creek all the same.""",
    ),
    "nothing_in": Prediction(
        question="""The network in the next figure gets two numbers of a place: how **cold** it is, and how much it is **water**. It says *over* or
        *into* as the
        creek model does, whichever number is the larger one. Now it gets a warm lawn: cold 0, water 0. Nothing goes in. What does it say?""",
        options=("nothing, 0 and 0", "over", "into"),
        right="over",
        explanation="""*Over*, as it has to be on warm land. Nothing goes in and no neuron fires, but the outputs start from numbers of their own, the output
        **bias**, which is added whatever comes in. Here it is 1 for *over* and 0 for *into*. Set both sliders to 0 to see it.""",
    ),
    "flat_pieces": Prediction(
        question="""Each of the three neurons has a kink: a straight line in the plane of **cold** and **water**, on one side of which it fires. The
        answer of the network, drawn as a height over that plane, is a sheet with a crease along each of these lines. How many flat pieces does it have?""",
        options=("3", "4", "7", "none: it is curved"),
        right="4",
        explanation="""Three lines could cut a plane into seven, but two of these are the same: “cold, not water” fires on one side of the line cold =
        water, and “water, not cold” on the other. It crosses the third, cold + water = 1, and two lines that cross leave four pieces.
        Nothing is curved: as long as the same neurons fire, all is sums and products with fixed numbers.""",
    ),
    "plain_list": Prediction(
        question="""A module keeps three layers `nn.Linear(10, 10)` in a plain Python list, `self.layers = [...]`. Each has 10 · 10 + 10 = 110
        parameters. How many parameters does the module report?""",
        options=("330", "110", "0"),
        right="0",
        explanation="""A module does not look for layers in a plain list: their weights are missing from `parameters()`, so an optimiser that gets
        these does not train them. If the module has no other layers, torch stops you: “optimizer got an empty parameter list”. If
        it has others, those are trained, the ones in the list keep their first, random weights, and nobody tells you.""",
    ),
}
