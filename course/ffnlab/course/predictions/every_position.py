"""The predictions of notebook 04."""

from ffnlab.prediction.prediction import Prediction

PREDICTIONS = {
    "attention_fools": Prediction(
        question="""Attention is no FFN: it looks sideways. No positions are added to its words. How many of the six inspectors take it for real?""",
        low=0,
        high=6,
        step=1,
        right=4,
        within=1,
        unit=" of 6",
        explanation="""Four. A weighted mean of equal vectors is that vector, so `ones` sees nothing. What the book says of its FFN is true, but this
        test can't show it. With zeros around one word, the word gets the same share of itself wherever it stands. And attention has no order, so
        outputs move along when words are moved. It is caught by those who change one word and watch another: `first` and `neighbours`.""",
    ),
    "width_of_one": Prediction(
        question="A network 8 → 32 → **1** returns one number for each token, and x has 8. What does `x + net(x)` do?",
        options=("it raises an error", "it gives 8 numbers for each token", "it gives 1 number for each token"),
        right="it gives 8 numbers for each token",
        explanation="""That is worse than an error. PyTorch stretches the single number over all eight, and nothing warns you. A width of 6
        raises an error at once.""",
    ),
    "pre_norm_size": Prediction(
        question="""The next cell stacks what you have written, around attention and FFN in turn, to 24 blocks with random weights. The numbers that go in have
        a root mean square of 1. How large is it at the end, with **pre-norm**?""",
        options=("about 1", "about 4", "about 24", "more than 1,000"),
        right="about 4",
        explanation="""Every layer adds to the stream, and with pre-norm nothing brings the stream back to size. With these random weights it grows to
        about 4. But each layer reads a normed x, so on average it adds about 1 at most, and that counts for less
        and less beside a stream that grows. Post-norm brings the size back to 1 after every sum.""",
    ),
    "first_to_fall": Prediction(
        question="Which of four stacks of random layers makes the tokens one soonest?",
        options=(
            "attention alone",
            "attention with an FFN",
            "attention with a residual connection",
            "attention with a residual connection, an FFN and pre-norm",
        ),
        right="attention with an FFN",
        explanation="""The FFN, which sees one token at a time, makes it worse. How can it? Play the clock, and then change the length of the
        FFN's output.""",
    ),
}
