"""The predictions of notebook 00."""

from ffnlab.prediction.prediction import Prediction

PREDICTIONS = {
    "gpt3_ffn_share": Prediction(
        question="""GPT-3 has 175 billion numbers that were learned, its parameters. What percentage of them is in its feed-forward networks?
        (The rest are attention's, and the table of word vectors.)""",
        low=0,
        high=100,
        step=1,
        right=66,
        within=8,
        unit=" %",
        explanation="""About two thirds: 116 of 175 billion. Attention has a third, and all other things together have less than one percent. The
        famous half of the machine is the smaller one. Notebook 05 counts, for this model and for 48 others, and finds out when it
        is otherwise.""",
    ),
    "same_word": Prediction(
        question="`The` is at position 0 and `the` at position 5. Move the slider from one to the other: what will you see?",
        options=("The same six numbers", "The same numbers in another order", "Six other numbers"),
        right="The same six numbers",
        explanation="""The framed row changes, and with it the six bars; but rows 0 and 5 are equal, number for number. `The` and `the` share one
        vector here: capitals don't count. The row knows which word it is, and nothing about where the word is.""",
    ),
}
