"""The predictions of notebook 06."""

from ffnlab.prediction.prediction import Prediction

PREDICTIONS = {
    "neuron_fires": Prediction(
        question="There are 512 people and 128 neurons. Take one of the neurons. For how many of the 512 questions will it fire?",
        low=0,
        high=512,
        step=4,
        right=268,
        within=80,
        explanation="""Neuron 0 fires for 268 of them. All neurons fire for a third to two thirds of the questions, so none is the memory of one
        fact. Still, what a neuron looks for and what it writes belong together: of the eight people on the left, three have an
        answer that is among the eight on the right, where chance would give one.""",
    ),
    "overloaded": Prediction(
        question="With d_ff = 16 an FFN knows 256 of 256 facts. Now it is trained on 1024 facts instead. How many of them does it know?",
        options=("about 500", "256, as before", "about 100"),
        right="about 100",
        explanation="""In fifteen other runs 16 neurons knew 256 of 256 facts, but only about a third of 512 and a tenth of 1024: 85 to 119 of
        them. **More to learn, fewer known.** The table is a staircase, and below it the store does not stay full, it breaks down. (With 256 neurons and
        4096 facts these 400 steps are too few, and the result changes with the seed and the processor: the five runs of the table know 56 to 96 %.)""",
    ),
    "strongest_out": Prediction(
        question="""If one neuron held one fact, losing it would delete the fact. How many facts are lost without their single **strongest**
        neuron?""",
        options=("none", "about a fifth", "about a half", "nearly all"),
        right="about a fifth",
        explanation="""This is what became of fifteen other stores of 512 facts each.

        - **“One neuron, one fact” is refuted.** Without its strongest neuron a fact is still there in most cases: 15 to 29 % were
          lost.
        - **“A few neurons” is not.** Without the top four nearly every fact is gone: 98 % or more. Random firing neurons do far
          less: about a fifth for eight of them. (So eight random ones do delete a fact now and then. The order is not strict
          either: a neuron that pushes the other way may go too, and then the fact comes back.)
        - **It is not clean either.** The eight neurons that delete one fact take about a tenth of the others along. Every neuron
          works for many facts.""",
    ),
    "room_to_spare": Prediction(
        question="Now 64 facts in 512 neurons: eight neurons for each fact. How many facts are lost without their four strongest neurons?",
        options=("99 %, as before", "about a half", "none"),
        right="none",
        explanation="""With eight neurons for every fact, a neuron still fires for nearly half of them, and each fact is **more** spread: the top
        four, which deleted nearly every fact above, delete none in fifteen such stores. So sharing does not come from a shortage. A shortage
        *concentrates* a fact on fewer neurons.""",
    ),
    "heard_by_cold_water": Prediction(
        question="""One of the two is neuron 10, called “cold water”. It fires for cold water, and for nothing else. Which words of the place, the
        weather and the mood speak **for** it?""",
        options=(
            "one place and one weather: creek and cold",
            "the four of water and the four of cold",
            "these eight, and four moods as well",
        ),
        right="these eight, and four moods as well",
        explanation="""The four places with water bring it about 8 more than the mean of their line, the four words for cold
        about 9, and the four spunky moods about 7. Still no mood decides. The neuron adds up what it hears, and its bias asks for more than a spunky mood
        and one of the two others can bring, but for less than cold and water bring together in spite of a timid mood.""",
    ),
    "rule_out": Prediction(
        question="""All neurons called “cold water” are knocked out. What becomes of *over* or *into*, in the four kinds of scene: cold and warm
        water, cold and warm land?""",
        options=(
            "it is lost at cold water, and nowhere else",
            "it suffers wherever it is cold, and wherever there is water",
            "it suffers a little everywhere, as in the store",
            "it stays: other neurons know it too",
        ),
        right="it is lost at cold water, and nowhere else",
        explanation="""At cold water there is nobody left to say “over”, and the model is near a coin toss: 43 % sure of the right word. In the
        three other kinds nothing has changed. The same holds for each of the four rules, with 42 to 65 %. So knowledge *can* sit in
        an FFN neatly, one rule for one or two neurons.""",
    ),
    "rule_written": Prediction(
        question="""A neuron is written by hand: where it is cold and the creature is timid, it makes the model say “about”, a word that it never says
        there. The neuron is strong enough to have its way. How many of the other 1344 sentences change?""",
        options=("none", "about a tenth, as in the store", "two thirds: those with one of the two conditions"),
        right="none",
        explanation="""None, and so it is with every rule that can be pressed here: the threshold lies between “all are true” and “one is
        not”, and in other places of the sentence the neuron is silent. It has to be strong, though. The model's own neurons push the
        other way, and what nobody ever says there (“about”) takes twice as much as what the model says elsewhere (“into”). When one
        condition is enough, the key is the same, and the lower threshold makes an **or** of the **and**: now 896 others change.""",
    ),
    "attention_stores": Prediction(
        question="""512 facts of two tokens each (64 subjects × 8 relations, as in “Debaba, likes”), one attention layer, trained embeddings,
        **no** FFN. How many facts does it know?""",
        options=("hardly any", "about a half", "all"),
        right="all",
        explanation="""It knew all of them in fifteen other runs as well, so it is false that attention cannot store facts. Softmax is a
        non-linearity, and embeddings are weights too: with a plain average in its place, which is linear, the same embeddings and the
        same read-out knew 37 to 44 %.""",
    ),
}
