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
    "same_gates": Prediction(
        question="Two of the four are the same function. Which?",
        options=(
            "softmax_topk and softmax_topk_renorm",
            "softmax_topk and topk_softmax",
            "softmax_topk_renorm and topk_softmax",
            "topk_softmax and sigmoid_norm",
        ),
        right="softmax_topk_renorm and topk_softmax",
        explanation="""They agree: dividing by the sum over the k cancels what the softmax was divided by before. Two code bases of the same model,
        Mixtral, do it in different orders, and both are right.""",
    ),
    "calls_of_the_loop": Prediction(
        question="With E = 8 experts and k = 2, for 256 tokens: how often does this loop call an expert?",
        options=("8 times", "16 times", "256 times", "512 times"),
        right="16 times",
        explanation="""It calls each expert k times, with about T / E = 32 tokens of one slot at a time, although the expert does not care in which
        slot it was chosen. The result is right all the same.""",
    ),
    "before_adding": Prediction(
        question="The slots come back in the order of the experts. What has to happen before the k outputs of a token can be added up?",
        options=("they are sorted by their gates", "the sorting is undone", "nothing, a sum has no order"),
        right="the sorting is undone",
        explanation="""The outputs of one token are scattered over the segments of its experts. Undo the sorting, and they lie side by side again,
        so that one sum over k adds the right ones. Whoever forgets it adds up the outputs of different tokens, in the right shape.""",
    ),
    "small_experts": Prediction(
        question="64 small experts, k = 8. How long does **sorting** take, compared with the published loop?",
        options=("about as long", "about half as long", "about a quarter as long", "longer"),
        right="about a quarter as long",
        explanation="""With 64 small experts the published loop makes 512 tiny calls, and one loop over the experts or sorting needs a small part
        of its time. With 8 larger experts the gap is smaller, since the products themselves take most of it. The dense sum does E /
        k times the work of the others. (Your numbers differ a little from run to run.)""",
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
    "zero_of_six": Prediction(
        question="Two ways to normalise, and k = 1, 2 or 3: which of the six gradients is zero?",
        options=("softmax_topk at k = 1", "softmax_topk_renorm at k = 1", "both at k = 1", "none of them"),
        right="softmax_topk_renorm at k = 1",
        explanation="""A renormalised gate of a single expert is always 1, and so nothing that the router does changes it. All other five are of a
        size, between 0.016 and 0.018.""",
    ),
    "price_of_renorm": Prediction(
        question="By what factor is the error larger when the gate is renormalised?",
        options=("it is not larger", "about 1.5 to 3.5", "about 5 to 10", "more than 10"),
        right="about 1.5 to 3.5",
        explanation="""Renormalised, the error is larger with every seed, by a factor of 1.6 to 3.5; how much depends on seed and task. Its router
        moves by a few hundredths, and not towards anything: Adam divides by the size of the gradient, and blows up even the
        rounding errors that are left of it.""",
    ),
    "smallest_active": Prediction(
        question="Which of these has the smallest share of active parameters?",
        options=("Mixtral-8x7B", "OLMoE-1B-7B", "DeepSeek-V3", "gpt-oss-120b"),
        right="gpt-oss-120b",
        explanation="""The experts hold nearly all parameters, and most of them are idle at any moment: gpt-oss-120b, the smallest share here, uses
        4.9 % of its parameters for a token, Mixtral-8x7B 27.6 %. Twice as many experts per token do not change the total by a
        single parameter.""",
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
