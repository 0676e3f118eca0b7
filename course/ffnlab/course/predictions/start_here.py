"""The predictions of notebook 00."""

from ffnlab.prediction.prediction import Prediction

PREDICTIONS = {
    "right_without_ffn": Prediction(
        question="""The next cell lets the model write all 1,792 sentences about scenes that it has never read. With its FFN every sentence is right,
        word for word. How many of 100 are right when the FFN is off?""",
        low=0,
        high=100,
        step=1,
        right=24,
        within=5,
        unit=" of 100",
        explanation="""24 of 100. Each of two words is right in about half of the scenes. If two coins fall independently, both are right in ½ · ½ = ¼.
        The third word, the sight at the end, follows from the first.""",
    ),
    "gpt3_ffn_share": Prediction(
        question="""GPT-3 has 175 billion numbers that were learned, its parameters. What percentage of them is in its feed-forward networks?
        The rest are mostly attention's.""",
        low=0,
        high=100,
        step=1,
        right=66,
        within=8,
        unit=" %",
        explanation="""About two thirds: 116 of 175 billion. Attention has a third, and all other things together have less than one percent. The
        famous half of the machine is the smaller one. In the little model above the FFN's share is smaller: 4,192 of 10,432 numbers, or 40 %.
        Notebook 05 counts, for GPT-3 and 48 others.""",
    ),
    "same_word": Prediction(
        question="`The` at position 0 and `the` at position 5 are the same token here. Move the slider from one to the other: what will you see?",
        options=("The same six numbers", "The same numbers in another order", "Six other numbers"),
        right="The same six numbers",
        explanation="""The framed row changes, and with it the six bars; but rows 0 and 5 are equal, number for number. `The` and `the` share one
        vector here: capitals don't count. The row knows which word it is, and nothing about where the word is.""",
    ),
}
