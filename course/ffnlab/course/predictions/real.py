"""The predictions of notebook 11."""

from ffnlab.prediction.prediction import Prediction

PREDICTIONS = {
    "real_share": Prediction(
        question="""A sentence of ten words goes through the model. How many of the file's numbers take part?""",
        options=("about a tenth", "nearly half", "nearly all"),
        right="nearly half",
        explanation="""47 %. The six blocks take part whole, for each token: attention with 16 % of the file, FFNs with 31 %. Of the large tables of tokens
        and positions a sentence reads a dozen rows each.""",
    ),
    "real_luck": Prediction(
        question="""Say that a neuron *fits* a pair of sentences if it is louder by more than 1 in the one with the negation. With two of our
        pairs, typically 16 of all 9,216 neurons fit both. Then 61 other pairs come, written by people who have never heard of these neurons.
        How many of the 16 fit nearly all of them?""",
        options=("2", "8", "15"),
        right="2",
        explanation="""Two, in each of 100 draws of two pairs. Yet the others did not fit by mere luck: turn one of the two pairs round, and
        typically no neuron fits. Most really hear something else that our two pairs have in common. A few come near what we meant.""",
    ),
    "real_off": Prediction(
        question="""We took the manual's 20 shortest pairs. Without 1265, the two sentences of each come nearer to each other: 20 of 20.
        Layer 2 has 1,535 other neurons. How many of them, switched off alone, bring all 20 pairs nearer?""",
        options=("none", "6", "more than 100"),
        right="6",
        explanation="""Six others do it, and most of them by next to nothing. If a neuron moves all sentences a tiny bit the same way, it reaches 20
        of 20.""",
    ),
    "real_place": Prediction(
        question="""Now switch all six FFNs off. What takes their place so that sentences about different things become nearly the same vector?""",
        options=("zeros", "what each FFN writes on average", "both do"),
        right="what each FFN writes on average",
        explanation="""With the average, two sentences that have nothing to do with each other are 0.96 alike; with zeros 0.32. In notebook 00 the
        average was the gentle one. Why not here?""",
    ),
}
