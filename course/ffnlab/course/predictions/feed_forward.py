"""The predictions of notebook 02."""

from ffnlab.prediction.prediction import Prediction

PREDICTIONS = {
    "nothing_in": Prediction(
        question="""A small network gets two numbers: how **cold** a thing is, and how much it is **water**. It answers with two others: how
        unpleasant the thing is, and how inviting. Now it gets a warm stone: cold 0, water 0. Nothing at all goes in. What comes
        out?""",
        options=("0 and 0", "more unpleasant than inviting", "more inviting than unpleasant"),
        right="more inviting than unpleasant",
        explanation="""Nothing goes in, and still something comes out: unpleasant −1, inviting 1. Set both sliders below to 0 to see it. No box in
        the middle fires, but the outputs start from numbers of their own, the output **bias**, which is added whatever comes in.
        This network was made so that a thing it knows nothing about is faintly inviting.""",
    ),
    "flat_pieces": Prediction(
        question="""Each of the three neurons has a hinge: a straight line in the plane of **cold** and **water**, on one side of which it fires. The
        answer of the network, drawn as a height over that plane, is a sheet folded along these hinges. How many flat pieces has it?""",
        options=("3", "4", "7", "none: it is curved"),
        right="4",
        explanation="""Three lines could cut a plane into seven, but two of these are the same: “cold, not water” fires on one side of the line cold =
        water, and “water, not cold” on the other. It crosses the third, cold + water = 1, and two lines that cross leave four pieces.
        Nothing is curved: as long as the same neurons fire, all is sums and products with fixed numbers.""",
    ),
    "relu_zeros": Prediction(
        question="Of the 4 × 32 hidden numbers, about how many will ReLU turn into 0?",
        options=("10 %", "50 %", "90 %"),
        right="50 %",
        explanation="""With random weights a sum is as often below zero as above it, so ReLU turns about half of the numbers into 0: here 69 of
        128. Training changes that: in a trained T5-Base only 3.0 % are not zero, on average (Li et al. 2023, arXiv 2210.06313).
        Notebook 03 looks into it.""",
    ),
    "creek_gets_warm": Prediction(
        question="""A spunky dog at a cold creek makes three neurons fire: two are called “cold water”, and one “spunky in the cold”. Now the
        creek is warm. Which of the three go on firing?""",
        options=("all three", "the two for “cold water”", "the one for “spunky in the cold”", "none of them"),
        right="none of them",
        explanation="""The dog is as spunky and the creek as wet as before, and still all three fall silent: half of a combination is not enough.
        Two others fire instead, “warm water” and “spunky in the warm water”. Now leave the creek cold and choose the timid goat. Both
        for “cold water” fire as before, since *over or into* does not ask for the mood, and “timid in the cold” takes the place of
        “spunky in the cold”.""",
    ),
    "tenth_of_relu": Prediction(
        question="""With ReLU the line below has 22 kinks. How many are left when the activation is only a tenth ReLU, and nine tenths nothing
        at all?""",
        options=("none", "2, about a tenth of them", "22, as many as before"),
        right="22, as many as before",
        explanation="""Each neuron that switches on or off along the way makes a kink. A tenth of ReLU keeps every one of them, only flatter. At 0
        all of them are gone, and more neurons would not bring one back: two matrices in a row do what one matrix could do.""",
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
