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
    "trace_permuted": Prediction(
        question="""You will tick “permute tokens”: all words of the sentence change places. What happens to the three stages of **your** token?""",
        options=(
            "Nothing: all three stay as they are",
            "They keep their sizes, but some bars change sides",
            "All three change, because its neighbours have changed",
        ),
        right="Nothing: all three stay as they are",
        explanation="""In an FFN the positions are strangers to each other: a token's output depends on that token and on nothing else. Choose
        another token, and all three stages change; the weights do not. One FFN serves every position. Notebook 04 is about this.""",
    ),
    "trace_gelu": Prediction(
        question="You will change ReLU to GELU. What becomes, in `act`, of the bars that point left in `pre`?",
        options=(
            "They become rings: exactly 0",
            "They shrink, and still point left",
            "They turn round and point right",
            "They stay as they are",
        ),
        right="They shrink, and still point left",
        explanation="""ReLU turns every bar that points left into an exact **zero**. GELU **shrinks** it, to no lower than −0.17, and leaves no
        exact zeros among these numbers. (A published page says that GELU “softly zeroes most of the bars”. It zeroes none, and with
        random weights only about half of them point left at all.) The identity does neither: choose it, and the bars stay as they are.""",
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
    "dropout_ones": Prediction(
        question="Eight ones go through dropout with p = 0.5, during training. What comes out?",
        options=("some zeros, and the rest are 1", "some zeros, and the rest are 2", "eight times 0.5"),
        right="some zeros, and the rest are 2",
        explanation="""What survives is multiplied by 1 / (1 − p), here by 2, so that the mean stays the same. `nn.Dropout` is a module: `eval()`
        reaches it through the flag `training` that every module carries. `F.dropout` is a plain function. It knows nothing of
        `eval()` and goes on dropping, unless you pass it `training=self.training`.""",
    ),
    "tenth_of_relu": Prediction(
        question="""With ReLU the line below has 22 kinks. How many are left when the activation is only a tenth ReLU, and nine tenths nothing
        at all?""",
        options=("none", "2, about a tenth of them", "22, as many as before"),
        right="22, as many as before",
        explanation="""Each neuron that switches on or off along the way makes a kink. A tenth of ReLU keeps every one of them, only flatter. At 0
        all of them are gone, and more neurons would not bring one back: two matrices in a row do what one matrix could do.""",
    ),
    "straight_rank": Prediction(
        question="`d_model` is 6. How many independent directions can the output of a straight FFN reach with `d_ff = 24`?",
        options=("24", "12", "6", "4"),
        right="6",
        explanation="""The rank is the smaller of d_model and d_ff. A straight FFN with d_ff = 24 has 2 · 6 · 24 + 24 + 6 = 318 parameters, and
        does no more than the 6 · 6 + 6 = 42 of one matrix and one bias.""",
    ),
    "hidden_dropout": Prediction(
        question="""We set `W2` to zeros and `b2` to ones, so the output is six ones. Then dropout with p = 0.5 goes on the **hidden layer**.
        What comes out, in training?""",
        options=("six ones", "some zeros, and the rest are 2", "six zeros"),
        right="six ones",
        explanation="""Dropout on the hidden layer silences neurons, and `b2` belongs to no neuron: it always arrives. Dropout on the **output** is
        another matter. It drops whole numbers of the result, `b2` and all, so zeros give it away.""",
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
    "norm_over": Prediction(
        question="A layer norm on a hidden layer [B, T, d_ff] brings the mean to 0. The mean of which numbers?",
        options=(
            "those of one token, over all its neurons",
            "those of one neuron, over all tokens",
            "all numbers of the batch together",
        ),
        right="those of one token, over all its neurons",
        explanation="""Each token is treated alone, so a layer norm is as position-wise as the FFN around it. In the cell below, the numbers of one
        token have mean 0 and variance 1; those of one neuron have a mean of −0.70.""",
    ),
    "parameter_count": Prediction(
        question="""A tutorial's FFN has d_model = 512, d_ff = 2048 and biases, and the page prints “Parameter count: 4,197,376”. What is right?""",
        options=("2,097,152", "2,099,712", "4,196,864", "4,197,376, as printed"),
        right="2,099,712",
        explanation="""Two matrices and two biases: 2 · 512 · 2048 + 2048 + 512 = 2,099,712. The activation and dropout own nothing. The published
        number counts each matrix twice, and its remainder, 3,072, is not the sum of the biases, 2,560. The tutorial's own code
        gives the right one. Notebook 05 audits such numbers.""",
    ),
}
