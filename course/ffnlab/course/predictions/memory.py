"""The predictions of notebook 06."""

from ffnlab.prediction.prediction import Prediction

PREDICTIONS = {
    "strongest_out": Prediction(
        question="If one neuron held one fact, losing it would delete the fact. How many facts are lost without their single **strongest** neuron?",
        options=("none", "about a fifth", "about a half", "nearly all"),
        right="about a fifth",
        explanation="""In fifteen other stores of 512 facts it was

        27, 19, 23, 21, 23, 21, 15, 23, 23, 25, 29, 20, 20, 23 and 20 %.

        So **“one neuron, one fact” is refuted**: without its strongest neuron a fact is still there in most cases. **“A few neurons” is not**: without the
        strongest four, 98 % or more were gone in each of the fifteen. Eight *random* neurons that fire delete about a fifth. And strongest first is not
        clean: the eight neurons that delete one fact take about a tenth of the others along.""",
    ),
    "full_store": Prediction(
        question="""In a store of 64 facts and 128 neurons, a fact is carried as if by about 17½ equal neurons. (Add up what helps the fact,
        square the sum, and divide it by the sum of the squares. For n equal numbers that gives n.) Now 128 neurons learn 2,048
        facts: sixteen facts for each neuron. By how many neurons is a fact carried there?""",
        options=(
            "about 4, because there is less room for each fact",
            "about 15, nearly as many as before",
            "about 60, because they have to share more",
        ),
        right="about 15, nearly as many as before",
        explanation="""Nearly as many as before. The next board shows fifteen stores of each size, once you have won it. Something else has changed.
        What?""",
    ),
    "rule_out": Prediction(
        question="""Neuron 10 hears cold, water and the mood. Where does the model now lose *over* or *into*?""",
        options=(
            "at cold water, if the creature is spunky",
            "at cold water, whatever the creature's mood is",
            "wherever it is cold, wherever there is water, and for the spunky",
            "a little everywhere, as in the store",
        ),
        right="at cold water, whatever the creature's mood is",
        explanation="""At cold water there is nobody left to say “over”, and the model is near a coin toss: 43 % sure of the right word, with each of
        the eight moods 41 to 44 %. Elsewhere nothing has changed. Each of the four rules falls in this way, to 42 to 65 %. So knowledge *can* sit in
        an FFN neatly, in one or two neurons for each rule. Why is that so much tidier than the store? The questions share attributes, the rules are
        few, and firing cost something in this model's training. How it is in large models is disputed.""",
    ),
    "rule_written": Prediction(
        question="""A neuron is written by hand: where it is cold and the creature is timid, it makes the model say “about”, a word that it never says
        there. The neuron is strong enough to have its way. How many of the other 1,344 sentences change?""",
        options=("none", "about a tenth, as in the store", "two thirds: those with one of the two conditions"),
        right="none",
        explanation="""None, and so it is with every rule that can be pressed here: the threshold lies between “all are true” and “one is
        not”, and at other positions of the sentence the neuron is silent.""",
    ),
    "crowded": Prediction(
        question="""Sixteen neurons learn 384 facts in 400 steps of the loop above, and know about three quarters of them. Is that
        all that sixteen neurons can hold? Another recipe trains the same neurons on the same facts, in as many steps. How many do they know?""",
        options=("three quarters: it is full", "a few more", "nearly all"),
        right="nearly all",
        explanation="""In fifteen runs the loop above knew 66 to 87 %, and the other recipe 95 to 100 % of the same facts. So the store was not full. It was
        taught badly. Whoever reports how much a network can store reports a recipe as well.""",
    ),
}
