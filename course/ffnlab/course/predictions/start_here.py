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
        explanation="""24 of 100. Two words are coin tosses, and each of them is right in about half of the scenes. If two coins fall independently,
        both are right in
        ½ · ½ = ¼. The sight at the end is right whenever *over or into* is: votes are enough for it.""",
    ),
    "ffn_positions": Prediction(
        question="""The sentence below has 19 positions before the full stop. At most of them the FFN of *this model* adds one and the same short row. At how
        many does it add another one?""",
        low=0,
        high=19,
        step=1,
        right=2,
        within=0,
        unit=" of 19",
        explanation="""At 2: after *jump*, where the next word is *over* or *into*, and after *was*, where it is *glad* or *sorry*. In training a neuron
        that was active cost a little, so the FFN adds little where the rest of the model can decide. On land it also adds another,
        very short row before the sight. The mean would do there.""",
    ),
    "gpt3_ffn_share": Prediction(
        question="""GPT-3 has 175 billion numbers that were learned, its parameters. What percentage of them is in its feed-forward networks?
        Nearly all the rest is in attention.""",
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
}
