"""The predictions of notebook 08."""

from ffnlab.prediction.prediction import Prediction

PREDICTIONS = {
    "unsure_token": Prediction(
        question="""k = 2, and the gates are those of softmax_topk. One token is sure: its two largest logits are far ahead of the other six. Another token is
        unsure: all its eight logits are nearly equal. How large are the two gates of the unsure token together, compared with those of the sure one?""",
        options=("as large", "half as large", "a quarter as large", "an eighth as large"),
        right="a quarter as large",
        explanation="""The gates of the sure token add up to nearly 1. At the unsure one each of the eight experts has an eighth of the softmax, so two have a
        quarter, and what is not chosen is lost. The other three rules bring the sum to 1. So there an expert that is not chosen has no say: its logit
        changes a gate under softmax_topk only.""",
    ),
    "gate_of_one": Prediction(
        question="A token gets a single expert, k = 1. With which of the four rules does a gradient of the task’s loss still reach the router?",
        options=("with all four", "with all but softmax_topk_renorm", "with softmax_topk only", "with none"),
        right="with softmax_topk only",
        explanation="""The other three divide by the sum over the chosen. Of one gate that is the gate itself, and so they give 1, whatever the router does. A
        constant has no gradient. With k = 2 there is one again, since the two gates can take from each other.""",
    ),
    "experts_in_use": Prediction(
        question="""A layer has eight experts, and each token uses two of them. A batch of 16 tokens goes through it, and each token chooses at random. How
        many experts will have something to do?""",
        options=("two", "about four", "about six", "nearly always all eight"),
        right="nearly always all eight",
        explanation="""A token leaves an expert out with a chance of 6 in 8. That all 16 do so has a chance of 1 %. So a token needs about twice the work of a
        single FFN of this width, and a batch needs the weights of nearly all eight.""",
    ),
}
