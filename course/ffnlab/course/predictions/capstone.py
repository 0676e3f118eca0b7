"""The predictions of notebook 10."""

from ffnlab.prediction.prediction import Prediction

PREDICTIONS = {
    "rows_alike": Prediction(
        question="""On the board below, all runs of a row have the same weights, and all of a column the same order. For how many of the eight drawings
        of the weights do all eight orders end alike: all find the rule, or none does?""",
        low=0,
        high=8,
        step=1,
        right=2,
        within=1,
        unit=" of 8",
        explanation="""It is two of the eight. Now uncover them, and see what the other six do.""",
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
        circles; at 0.5 it now and then makes up a word, at 1 more often. What separates this from a model that means something is not the block.
        It is size, and far more text.""",
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
        question="""ReLU, SwiGLU, and mixtures of equal total and of equal active parameters: “Equal what?” found them far apart at 1,600 pairs. Now
        they read text that they have not seen. How far is the worst of the four behind the best, in bits for each character?""",
        options=("by about a tenth", "by 3 to 5 percent", "by less than 1 percent"),
        right="by less than 1 percent",
        explanation="""The means of ReLU, SwiGLU and the two mixtures are within 0.01 bits of each other, and that is half a percent. Only one
        order is the same in all fifteen runs: the mixture with more parameters in total is ahead of the other, by 0.007 bits on average. That is so on
        this little text, which each of them has read nearly nine times. What more text would say, these runs don't show.""",
    ),
}
