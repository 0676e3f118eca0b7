"""The predictions of notebook 08."""

from ffnlab.prediction.prediction import Prediction

PREDICTIONS = {
    "work_of_eight": Prediction(
        question="""Eight experts, and every token uses two of them. How many multiplications does a token need, compared with a single FFN of
        the same width?""",
        options=("as many", "about twice as many", "about four times as many", "about eight times as many"),
        right="about twice as many",
        explanation="""The layer has eight times the parameters and does twice the work, 2.002 times to be exact: the router costs almost nothing.""",
    ),
    "six_clusters": Prediction(
        question="""Six runs, each with six clusters, six experts, and 1000 steps of training. In how many of the runs does every cluster end up
        with an expert of its own?""",
        options=("in none", "in about half of them", "in all six"),
        right="in about half of them",
        explanation="""In three of the six. In the other three, two to four clusters have an expert of their own; elsewhere one expert took two
        clusters early, does well enough with both, and nothing pushes it to give one away. The error falls in all of them, from between 0.41 and 0.59 to
        0.03 or less: a division need not be perfect to be useful.""",
    ),
    "raised_but_not_chosen": Prediction(
        question="""You raise the logit of an expert that was **not** chosen, but not so far that it is chosen. With which normalisations do the
        gates of the chosen ones change?""",
        options=("with none", "with softmax_topk only", "with both that begin with softmax", "with all four"),
        right="with softmax_topk only",
        explanation="""Only in the first one do the experts that were not chosen have a say: they take their part of the softmax. All four keep the
        k largest logits. They differ in what a kept logit z is turned into, exp(z) or σ(z), and in what that is divided by.""",
    ),
    "filled_with_zero": Prediction(
        question="""The other two logits are −1 and −2. The expert in the middle was not chosen, and its logit is set to **0**. What does it get
        from the softmax?""",
        options=("nothing", "the smallest gate", "the largest gate"),
        right="the largest gate",
        explanation="""With 0 the expert that was *not* chosen gets the largest gate, 0.665, for 0 is the largest of the three logits. With −∞ it
        gets exactly nothing.""",
    ),
    "logits_that_count": Prediction(
        question="""k = 2 of 8 experts. With topk_softmax (choose it in the figure, which opens with softmax_topk), how many of the 8 logits
        change a gate when they move a little?""",
        options=("none", "1", "2", "8"),
        right="2",
        explanation="""Where the sum runs over the k, only the k chosen logits get some of the gradient. With `softmax_topk` all eight do, since
        all are in the denominator. At k = 1 a renormalised gate is p / p = 1, whatever the logit. A constant has no gradient: the
        router gets **nothing**.""",
    ),
    "price_of_renorm": Prediction(
        question="By what factor is the error larger, on average, when the gate is renormalised?",
        options=("it is not larger", "about 2", "about 6", "more than 10"),
        right="about 2",
        explanation="""In fifteen other runs it was 2.0 times as large, as a geometric mean. It was larger in fourteen of them, by a factor of up to
        5.8, and smaller in one. The renormalised router moves by a few hundredths, and not towards anything: Adam divides by the size
        of the gradient, and blows up even the rounding errors that are left of it.""",
    ),
    "experts_of_words": Prediction(
        question="""In run 0 you press “cold”, so that it becomes “warm”; what the dog does and feels then changes, too. How many of the 19 words go
        to another expert than before?""",
        options=("none", "about five", "about fifteen, nearly all that follow"),
        right="about five",
        explanation="""Five of them, “warm” among them; in the other runs none to eight. In these five runs 72 to 86 % of the choice is settled by the
        place in the sentence, before anything is said about water or cold. And the model is right about every word that needs a combination.""",
    ),
}
