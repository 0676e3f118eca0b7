"""The predictions of notebook 08."""

from ffnlab.prediction.prediction import Prediction

PREDICTIONS = {
    "raised_but_not_chosen": Prediction(
        question="""You raise the logit of an expert that was **not** chosen, but not so far that it is chosen. With which normalisations do the
        gates of the chosen ones change?""",
        options=("with none", "with softmax_topk only", "with both that begin with softmax", "with all four"),
        right="with softmax_topk only",
        explanation="""Only in the first one do the experts that were not chosen have a say: they take their part of the softmax. All four keep the
        k largest logits. They differ in what a kept logit z is turned into, exp(z) or σ(z), and in what that is divided by.""",
    ),
    "gate_of_one": Prediction(
        question="""k = 1, and the gate is divided by its sum over the k, as in softmax_topk_renorm. How large a gradient does the router get from the
        task's loss, compared with softmax_topk?""",
        options=("about the same", "a smaller one", "a larger one", "none"),
        right="none",
        explanation="""The sum over one gate is that gate, so the gate is p / p = 1, whatever the router does. A constant has no gradient. With k = 2 there is
        one again, since the two gates can take from each other.""",
    ),
    "work_of_eight": Prediction(
        question="""Eight experts, and every token uses two of them. How many multiplications does a token need, compared with a single FFN of
        the same width?""",
        options=("as many", "about twice as many", "about four times as many", "about eight times as many"),
        right="about twice as many",
        explanation="""The layer has eight times the parameters and does twice the work. The router adds next to nothing: with d_model = 512 and
        d_ff = 2048 it is 2.002 times the work.""",
    ),
}
