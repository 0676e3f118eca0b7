"""The predictions of notebook 10."""

from ffnlab.prediction.prediction import Prediction

PREDICTIONS = {
    "without_ffn": Prediction(
        question="""A small model with one block learns 576 random pairs by heart, nearly all of them. Take the FFN out of its block. What
        percentage does it still learn, in the same 300 steps?""",
        low=0,
        high=100,
        step=1,
        right=80,
        within=10,
        unit=" %",
        explanation="""It is 80 %, give or take four, over five seeds. A block without FFN knows a good part of the pairs, but not all. It is also
        smaller: it has a third of the parameters. Is it worse because it has no FFN, or because it has fewer parameters? Section 3, a *deeper* one, asks.""",
    ),
    "first_of_three": Prediction(
        question="""Three of the four have an FFN: ReLU, SwiGLU, and a mixture of experts. Which of the three will know most of the 576 pairs?""",
        options=("ReLU", "SwiGLU", "the mixture", "they can't be told apart"),
        right="they can't be told apart",
        explanation="""All three know nearly all, and so can't be told apart: 576 pairs are too few for them. And this is one run each, from one
        draw of the starting weights.""",
    ),
    "best_at_1600": Prediction(
        question="40² = 1,600 pairs, and **equal total** parameters. Which model knows most of them?",
        options=("three blocks of attention", "ReLU", "SwiGLU", "the mixture of experts"),
        right="SwiGLU",
        explanation="""At 1,600 pairs the error bars are small beside the gaps, so the figure does say something.

        - One block **without FFN** knows about a third of the pairs. With three times the blocks it knows far more: much of what
          looked like “needs an FFN” was “needs parameters”.
        - At **equal total**, the FFNs still beat the three attention blocks, and the gated one beats the plain one. The mixture,
          whose tokens meet only half of their FFN's parameters, lies between.
        - At **equal active**, the mixture has about 4,100 parameters in its FFN instead of 2,030, and comes out first. It isn't
          better *for the same memory*; it has more.""",
    ),
    "ninety_six_blocks": Prediction(
        question="""96 of your blocks of kind 'none' in a row, with random weights, their residuals and their norms. How different are the
        tokens still, as a share of their length?""",
        options=("not at all, up to rounding", "about a fifth or more", "as different as at the start"),
        right="about a fifth or more",
        explanation="""Without an FFN the tokens grow alike slowly, and with one just as slowly: after 24 blocks they still differ by about half
        their length or more, after 96 by about a fifth or more. Without the residual it is a crash: after 24 blocks they are equal
        up to rounding. So it is the **residual** that slows it, together with the norm, not the FFN. And the second cell: a block
        without FFN learns a small set, for embeddings, attention and scores can store, too, and softmax and norm are non-linear.""",
    ),
    "greedy_table": Prediction(
        question="What does the table write at temperature 0, where always the character wins that came most often after the last four?",
        options=(
            "whole pages of the help, word for word",
            "the same few words, over and over",
            "one letter, over and over",
            "letters that make no words",
        ),
        right="the same few words, over and over",
        explanation="""It walks in circles: the same four characters lead to the same next one, so as soon as four of them come again, all that
        followed comes again too. A little chance breaks the circle.""",
    ),
    "own_creek": Prediction(
        question="""Your block learns the same sentences twice: without an FFN, and with a ReLU FFN. Afterwards it meets 1,792 scenes that it has
        not seen, the cold creek among them. How often will the one **without** choose *over* or *into* rightly?""",
        options=("as often as the one with", "in a half to three quarters of the scenes", "in next to none"),
        right="in a half to three quarters of the scenes",
        explanation="""From five seeds it was 50 to 75 %: a coin toss, or half of a rule. With the ReLU FFN four seeds of five were always right, and one
        in 75 %: an FFN makes the rule possible, and training still has to come upon it. (If yours has not, begin from another seed.)
        *Glad or sorry* is another matter. Learned attention finds that one by itself here: 96 % or more in every seed, with and without.
        The recipe, 1,500 steps of 32 sentences, was chosen for the ReLU block.""",
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
    "gaps_on_text": Prediction(
        question="""ReLU, SwiGLU, and mixtures of equal total and of equal active parameters: in section 3 they stood far apart at 1,600 pairs. And
        on text that they have not seen?""",
        options=(
            "SwiGLU is clearly ahead",
            "both mixtures are clearly ahead",
            "ReLU is clearly ahead",
            "the gaps are too small to name a winner",
        ),
        right="the gaps are too small to name a winner",
        explanation="""Between ReLU, SwiGLU and the two mixtures the gaps are 0.01 bits or less, and less than two standard deviations of a
        difference of single runs: the cautious reading of notebook 07 names no winner. Far apart they were where all was memory.""",
    ),
}
