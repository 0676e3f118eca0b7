"""What is right, and what goes wrong, in `break_head` of notebook 01."""

from __future__ import annotations

import itertools

from autograder.keys.key import NO_RETURN, Key
from ffnlab.course.exercises import attention as exercises

break_head = Key(exercises.break_head)


@break_head.truth
def what_is_left(says):
    """Strikes out what the head is right about, until it is wrong once or one sentence is left, which no head can be right about as well."""
    way = {("cold", "creek"): "over", ("cold", "lawn"): "into", ("warm", "creek"): "into", ("warm", "lawn"): "over"}
    sentences = list(way)
    while len(sentences) > 1:
        if says(*sentences[0]) != way[sentences[0]]:
            return sentences[0]
        del sentences[0]
    return sentences[0]


@break_head.base
def three_and_the_last(says):
    sentences = [("cold", "creek"), ("warm", "lawn"), ("warm", "creek"), ("cold", "lawn")]
    for weather, place in sentences[:3]:
        right = "over" if (weather == "cold") == (place == "creek") else "into"
        if says(weather, place) != right:
            return weather, place
    return sentences[3]


@break_head.right("one if after the other; sentences are texts")
def three_ifs(says):
    if says("cold", "creek") == "into":
        return "cold creek"
    if says("warm", "creek") == "over":
        return "warm creek"
    if says("cold", "lawn") == "over":
        return "cold lawn"
    return "warm lawn"


@break_head.right("asks all three first, and the place before the weather")
def asks_three_first(says):
    asked = [("lawn", "warm"), ("creek", "cold"), ("lawn", "cold")]
    said = [says(place, weather) for place, weather in asked]
    wrong = [sentence for sentence, way, right in zip(asked, said, ("over", "over", "into")) if way != right]
    return wrong[0] if wrong else ("creek", "warm")


@break_head.right("water and cold as numbers")
def by_numbers(says):
    for water, cold in itertools.product((1, 0), repeat=2):
        sentence = ["warm", "cold"][cold], ["lawn", "creek"][water]
        if (water, cold) == (0, 0) or says(*sentence) != ["over", "into"][water ^ cold]:
            return list(sentence)


break_head.slips("""
asks_all_four
  - for weather, place in sentences[:3]:
  + for weather, place in sentences:
  - return sentences[3]
  + return None
    Your function asks about the fourth sentence as well. Suppose that the head is right about three. What do you then know about the fourth, without asking?
| asks_all_four_first
  - for weather, place in sentences[:3]:
  + said = [says(*sentence) for sentence in sentences]
  + for (weather, place), way in zip(sentences, said):
  - if says(weather, place) != right:
  + if way != right:
nothing_after_two
  - in sentences[:3]:
  + in sentences[:2]:
  - return sentences[3]
  + return None
    Nothing comes back if the head gets both sentences right that you ask about. Then it is wrong about one of the two others, and a third question settles
    which.
nothing_after_three: return sentences[3] -> return None
    Nothing comes back if the head gets all three sentences right that you ask about. But something is wrong with the fourth then. What?
two_questions: in sentences[:3]: -> in sentences[:2]:
    Two questions are not enough: a head that gets both right may be wrong about either of the two others. A third question settles it.
| two_questions_and_the_other
  - in sentences[:3]:
  + in sentences[:2]:
  - return sentences[3]
  + return sentences[2]
| the_other_pair_first
  - in sentences[:3]:
  + in sentences[2:]:
  - return sentences[3]
  + return sentences[0]
one_question: in sentences[:3]: -> in sentences[:1]:
    One question is not enough: whatever the head answers, it can be wrong about any of the three others.
the_last_one_right: return sentences[3] -> return sentences[2]
    After three answers with which nothing is wrong, your function names one of those three sentences. Which one is left?
| the_first_again: return sentences[3] -> return sentences[0]
| the_second_again: return sentences[3] -> return sentences[1]
always_the_same: in sentences[:3]: -> in []:
    The same sentence comes back for every head, and no question is asked. Each head is wrong about at least one sentence, but not all about the same one.
| always_cold_creek
  - in sentences[:3]:
  + in []:
  - return sentences[3]
  + return sentences[0]
| always_warm_lawn
  - in sentences[:3]:
  + in []:
  - return sentences[3]
  + return sentences[1]
| always_warm_creek
  - in sentences[:3]:
  + in []:
  - return sentences[3]
  + return sentences[2]
all_four
  - return weather, place
  + return sentences
  - return sentences[3]
  + return sentences
    All four sentences come back. One is asked for: a weather and a place.
in "over" if (weather == "cold") == (place == "creek") else "into"
rule_turned_round: "into" if (weather == "cold") == (place == "creek") else "over"
    A sentence comes back that the head gets right. Look at your rule, and at your test of it: the head should say “into” for a warm creek and a cold
    lawn, and “over” for the two others. Return a sentence in which the head says the other word.
| and_for_xor: "into" if weather == "cold" and place == "creek" else "over"
| cold_alone: "into" if weather == "cold" else "over"
| what_is_right_returned
  - if says(weather, place) != right:
  + if says(weather, place) == right:
or_for_xor: "into" if weather == "cold" or place == "creek" else "over"
    Your rule goes into every creek, also into a cold one. Into is for exactly one of two things, water or cold.
| water_alone: "into" if place == "creek" else "over"
in return weather, place
what_it_says: return says(weather, place)
    What the head says came back. The sentence is asked for: a weather and a place, such as `("cold", "creek")`.
one_word: return place
    One word came back. A sentence is a weather and a place, such as `("cold", "creek")`.
| the_weather_alone: return weather
true_for_wrong: return True
    True came back. The sentence that the head gets wrong is asked for, such as `("cold", "creek")`.
""")

break_head.slip(
    "what_it_should_say",
    "What the head should say came back as well. The sentence alone is asked for: a weather and a place.",
    replace={
        "return weather, place": "return weather, place, right",
        "return sentences[3]": 'return *sentences[3], "into"',
    },
)
break_head.slip(
    "nothing_returned",
    NO_RETURN,
    replace={"return weather, place": "print(weather, place)", "return sentences[3]": "print(sentences[3])"},
)
break_head.slip(
    "one_text_to_says",
    '`says` takes one sentence at a time, a weather and a place: `says("cold", "creek")`.',
    replace={"says(weather, place) != right": "says(sentences) != right"},
)
