"""The predictions of notebook 10."""

from ffnlab.prediction.prediction import Prediction

PREDICTIONS = {
    "without_ffn": Prediction(
        question="""A small model with one block learns 576 random pairs by heart, nearly all of them. Take the FFN out of its block. What
        percentage does it still learn, in the same 300 steps?""",
        low=0,
        high=100,
        step=1,
        right=78,
        within=10,
        unit=" %",
        explanation="""It is 78 %, give or take three, over fifteen seeds. A block without FFN knows a good part of the pairs, but not all. It is also
        smaller: it has a third of the parameters. Is it worse because it has no FFN, or because it has fewer parameters? “Equal what?”, near the end, asks.""",
    ),
    "own_creek": Prediction(
        question="""Each of the twenty then met 1,792 scenes that it had not seen, the cold creek among them. In how many of the twenty was *over or into*
        right in at least 95 % of the scenes?""",
        low=0,
        high=20,
        step=1,
        right=14,
        within=2,
        unit=" of 20",
        explanation="""It was 14 of 20. The others ended between a coin toss and 72 %, although the twenty differ in nothing but the
        weights that they began with. *Glad or sorry* is easier here: 19 of the 20 say it rightly in at least 95 % of the scenes. The recipe, 1,500 steps of 32
        sentences, was chosen on five other seeds.""",
    ),
    "fifteen_seconds": Prediction(
        question="The training takes some fifteen seconds. What will the model write after it, at temperature 0.5?",
        options=(
            "letters, few of which make words",
            "words in no order",
            "words in an order that is nearly grammatical, about nothing",
            "sentences that explain Python",
        ),
        right="words in an order that is nearly grammatical, about nothing",
        explanation="""Most of it is words, in an order that is nearly grammar, and it means nothing. At temperature 0 it goes round in
        circles; at 0.5 it now and then spells a word that nobody has, at 1 more often. What separates this from a model that means something is not the block.
        It is size, text and time.""",
    ),
    "best_at_1600": Prediction(
        question="40² = 1,600 pairs, and **equal total** parameters. Which model knows most of them?",
        options=("three blocks of attention", "ReLU", "SwiGLU", "the mixture of experts"),
        right="SwiGLU",
        explanation="""At 1,600 pairs the error bars are smaller than the gaps, so the figure does say something.

        - One block **without FFN** knows about a third of the pairs. With three times the blocks it knows far more: much of what
          looked like “needs an FFN” was “needs parameters”.
        - At **equal total**, the FFNs still beat the three attention blocks, and the gated one beats the plain one. The mixture,
          whose tokens meet only half of their FFN's parameters, lies between.
        - At **equal active**, the mixture has about 4,100 parameters in its FFN instead of 2,030, and comes out first. It isn't
          better *for the same memory*; it has more.""",
    ),
    "gaps_on_text": Prediction(
        question="""ReLU, SwiGLU, and mixtures of equal total and of equal active parameters: “Equal what?” found them far apart at 1,600 pairs. And
        on text that they have not seen?""",
        options=(
            "SwiGLU is far ahead",
            "both mixtures are far ahead",
            "ReLU is far ahead",
            "all four are within one percent of each other",
        ),
        right="all four are within one percent of each other",
        explanation="""The means of ReLU, SwiGLU and the two mixtures are within 0.01 bits of each other, and that is half a percent. Only one
        order is the same in all fifteen runs: the mixture with more parameters in total is ahead of the other, by 0.007 bits on average. At 1,600 pairs
        the kinds were far apart, because there all was memory.""",
    ),
}
