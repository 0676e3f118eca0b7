"""The sentences of notebook 11. None was chosen by what the model does with it: each list was complete before the model read it.

The pairs of `OURS` search for a neuron. Those of `manual_pairs` judge it: they are sentences of Python's manual, from which one word is taken out, and whoever
wrote them knew nothing of a neuron.
"""

from __future__ import annotations

import re

Pair = tuple[str, str]


def _words(text: str) -> list[str]:
    return text.split()


def _pairs(text: str) -> tuple[Pair, ...]:
    return tuple(
        (left.strip(), right.strip()) for left, right in (line.split("|") for line in text.strip().splitlines())
    )


OURS = _pairs("""
The lake is not frozen.                     | The lake is frozen.
My uncle does not own a boat.               | My uncle owns a boat.
We can't hear the sea from here.            | We can hear the sea from here.
Nobody saw the second goal.                 | Everybody saw the second goal.
The pilot never drinks coffee.              | The pilot often drinks coffee.
There was no letter for you.                | There was a letter for you.
Her brother isn't at the station.           | Her brother is at the station.
The apples were not ripe.                   | The apples were ripe.
He didn't pay for the ticket.               | He did pay for the ticket.
None of my friends can sing.                | All of my friends can sing.
This paper is not about frogs.              | This paper is about frogs.
The bell doesn't ring on Sundays.           | The bell rings on Sundays.
I have not read the third chapter.          | I have read the third chapter.
Nothing grew on the north side.             | Something grew on the north side.
You should not trust that ladder.           | You should trust that ladder.
They won't repair the roof this year.       | They will repair the roof this year.
""")
"""With a negation, and without."""

TWINS = _pairs("""
The train to Bristol was late again.        | Once more the Bristol train did not come on time.
Our dog is scared of thunder.               | Thunderstorms frighten our dog.
She repaired the bicycle herself.           | Without any help she fixed the bike.
The bakery opens at six in the morning.     | You can buy bread there from six o'clock on.
He lost his keys in the park.               | His keys went missing on the lawn of the park.
The queen visited the hospital yesterday.   | Yesterday the hospital had a royal guest.
Two ships collided in the fog.              | There was a crash between two vessels in misty weather.
The exam was much too hard.                 | Hardly anyone could solve the test.
My neighbour grows tomatoes.                | The man next door has a tomato garden.
The orchestra played until midnight.        | The concert went on until twelve at night.
Prices for flats have doubled.              | Apartments cost twice as much as before.
The old bridge was pulled down.             | They demolished the ancient bridge.
A nurse gave him an injection.              | He got a shot from a nurse.
The desert is very cold at night.           | After sunset temperatures drop sharply in the desert.
I forgot to water the plants.               | The flowers got no water because of me.
The goalkeeper saved the penalty.           | The keeper stopped the spot kick.
They moved to the countryside.              | They left the city and live in a village now.
The candle went out in the wind.            | A gust blew out the candle.
Her first novel became a bestseller.        | The first book that she wrote sold in huge numbers.
The elevator is out of order.               | The lift is broken.
Bees make honey from nectar.                | Nectar is turned into honey by bees.
He can speak five languages.                | He is fluent in five tongues.
The police arrested the burglar.            | The officers caught the thief.
Snow covered the whole valley.              | The entire valley was white with snow.
""")
"""Twice the same thing in other words."""

NEGATION = re.compile(r"\b(not|no|never|none|nobody|nothing|nowhere|neither|nor|cannot|without)\b|n't\b", re.IGNORECASE)
"""What counts as a negation in the manual: a word of this list, so “lacks” and “fails” do not."""

VERB_NOT = re.compile(
    r"\b(is|are|was|were|does|do|did|has|have|can|could|may|must|should|will|would) not\b|\b(can)not\b", re.IGNORECASE
)
MARKUP = re.compile(r"::=|>>>|^\s{8,}")  # grammar, examples and code
PLAIN = re.compile(r"[A-Z][A-Za-z ,'\-()\"]+\.")
SHORTEST, LONGEST = 5, 30  # words


def manual() -> list[str]:
    """The plain sentences of Python's manual, as this Python has it: no numbers, signs or code in them."""
    from pydoc_data.topics import topics

    found = []
    for paragraph in re.split(r"\n\s*\n", "\n\n".join(topics.values())):
        if MARKUP.search(paragraph):
            continue
        for sentence in re.split(r"(?<=[.!?])\s+(?=[A-Z])", " ".join(paragraph.split())):
            if PLAIN.fullmatch(sentence) and SHORTEST <= len(sentence.split()) <= LONGEST:
                found.append(sentence)
    return list(dict.fromkeys(found))


def manual_pairs() -> list[Pair]:
    """Sentences of the manual with one negation, a verb's *not*; and the same without that *not*. “not only” and “or not” are no such pairs."""
    pairs = []
    for sentence in manual():
        negations = NEGATION.findall(sentence)
        if len(negations) == 1 and VERB_NOT.search(sentence) and not re.search(r"not only|or not", sentence):
            pairs.append((sentence, VERB_NOT.sub(lambda match: match[1] or match[2], sentence)))
    return pairs


FRAMES = (
    "We saw the {} again last night.",
    "Is that your {}?",
    "He wrote a long letter about the {}.",
    "The {} was the first thing she noticed.",
    "They spent the whole day talking about a {}.",
    "A {} is hard to describe.",
    "You will remember the {} for years.",
    "My sister painted a {}.",
    "Somebody took a photo of the {}.",
    "The doctor asked about the {}.",
    "There is an old story about a {}.",
    "In the morning the {} was gone.",
)

TOPICS = {
    "a part of the body": "elbow knee shoulder tongue wrist stomach ankle nose thumb chin rib throat",
    "music": "violin song orchestra melody drum choir guitar opera trumpet piano rhythm singer",
    "a vehicle": "truck bicycle tram taxi lorry bus motorcycle van scooter car tractor ambulance",
    "a relative": "mother uncle daughter cousin brother aunt grandfather niece son wife nephew husband",
    "a colour": "green yellow purple red orange blue pink brown grey white black violet",
    "an animal": "horse goat fox sheep wolf rabbit donkey cow mouse tiger bear pig",
}
OTHER = "lamp window bottle mountain pencil garden spoon carpet blanket mirror cloud basket"
"""Each word of a subject comes in one frame; in the same frame the word of `OTHER` at the same place is its opposite."""


def topic_pairs(topic: str) -> list[Pair]:
    """Twelve pairs, with a word of the subject and with another word."""
    words = zip(FRAMES, TOPICS[topic].split(), OTHER.split(), strict=True)
    return [(frame.format(word), frame.format(other)) for frame, word, other in words]


NOUNS = _words("""
teacher nurse sailor farmer queen waiter plumber lawyer poet guard driver gardener tailor porter juggler
judge butcher miner dancer barber clerk hunter carpenter painter shepherd singer mayor widow thief pirate
""")
ADJECTIVES = _words("""
angry busy lucky brave lonely famous healthy poor honest sleepy patient proud careful thirsty clever
cheerful guilty nervous hungry serious jealous wealthy modest polite worried cruel curious gentle stubborn dizzy
""")
NOT_SENTENCES = {
    "plain": "The {noun} is not {adjective} today.",
    "or not": "{Adjective} or not, the {noun} has to go home.",
    "whether or not": "I wonder whether the {noun} is {adjective} or not.",
    "if not": "If not {adjective}, the {noun} is at least friendly.",
    "question": "Isn't the {noun} {adjective}?",
    "not only": "The {noun} is not only {adjective} but also tired.",
    "mention": "The {noun} spelled the word “not” for the {adjective} child.",
    "without": "The {noun} is {adjective} today.",
}


def not_sentences(kind: str) -> list[str]:
    """Thirty sentences with a *not* of a certain kind, each noun and adjective once."""
    return [
        NOT_SENTENCES[kind].format(noun=noun, adjective=adjective, Adjective=adjective.capitalize())
        for noun, adjective in zip(NOUNS, ADJECTIVES, strict=True)
    ]


SLOTS = (
    ("The baker", "My uncle", "The horse", "Nobody", "Our goat"),
    ("likes the", "does not like the", "has never seen the", "saw only the", "sings about the"),
    ("truck.", "violin.", "elbow.", "lamp.", "song."),
)
"""The first board's sentence: each slot shows one of its five texts."""

FREE = (
    "The shop is not open today.",
    "Only the baker is awake.",
    "Whether or not it rains, we go.",
    "The box is empty.",
    "Not bad!",
    "I can't wait to see you!",
    "She failed the test.",
    "Why not try the soup?",
    "It is not only cheap but also good.",
    "He lacks courage.",
    "Tired or not, she has to go.",
    "The word “not” has three letters.",
    "Milk instead of sugar, please.",
    "The road is closed.",
    "Nobody came to the party.",
    "You are kind, aren't you?",
)
"""What the second board reads where the model is not there."""
