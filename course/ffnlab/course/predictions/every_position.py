"""The predictions of notebook 04."""

from ffnlab.prediction.prediction import Prediction

PREDICTIONS = {
    "eight_boxes": Prediction(
        question="How many of the eight boxes are real?",
        options=("2", "3", "4", "5"),
        right="3",
        explanation="""Three of the eight are real. Which ones? Some of the others give themselves away at your first press.""",
    ),
    "equal_vectors": Prediction(
        question="""Feed a layer the same vector at every position and look whether all outputs are equal. Which layer passes: an FFN, attention,
        or both?""",
        options=("only the FFN", "only attention", "both", "neither"),
        right="both",
        explanation="""A weighted mean of equal vectors is that vector, so attention gives equal outputs as well. What the book says of its FFN
        is true, but this test can't show it. Where all words are equal, an average hides who looked at whom.""",
    ),
    "width_of_one": Prediction(
        question="A network 8 → 32 → **1** returns one number for each token, and x has 8. What does `x + net(x)` do?",
        options=("it raises an error", "it gives 8 numbers for each token", "it gives 1 number for each token"),
        right="it gives 8 numbers for each token",
        explanation="""That is worse than an error. PyTorch stretches the single number over all eight, and nothing warns you. A width of 6
        raises an error at once.""",
    ),
    "pre_norm_size": Prediction(
        question="""The numbers that go in have a root mean square of 1. How large is it after 24 blocks with **pre-norm**?""",
        options=("about 1", "about 4", "about 24", "more than 1,000"),
        right="about 4",
        explanation="""Every layer adds to the stream, and in pre-norm nothing brings the stream back to size. With these random weights it grows to
        about 4. Post-norm resets the size after every sum. In pre-norm each layer reads a normed x, so with these weights it adds 1 or less, and that
        counts for less and less beside a stream that grows.""",
    ),
    "first_to_fall": Prediction(
        question="Which of four stacks of random layers makes the tokens one soonest?",
        options=(
            "attention alone",
            "attention with an FFN",
            "attention with a skip",
            "attention with skip, FFN and pre-norm",
        ),
        right="attention with an FFN",
        explanation="""The FFN, which sees one token at a time, makes it worse. How can it? Play the clock, and then change the length of the
        FFN's output.""",
    ),
}
