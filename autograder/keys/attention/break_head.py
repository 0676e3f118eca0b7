"""What is right, and what goes wrong, in `break_head` of notebook 01."""

from __future__ import annotations

import itertools

from autograder.keys.key import NO_RETURN, Key
from ffnlab.course.exercises import attention as exercises

break_head = Key(exercises.break_head)


@break_head.truth
def what_is_left(says, rule, weathers, places):
    """Goes through all pairs of weathers and of places. Where no sum of votes could be right, it strikes out what the head is right about."""
    for w, v in itertools.combinations(weathers, 2):
        for p, q in itertools.combinations(places, 2):
            sentences = [(w, p), (v, q), (w, q), (v, p)]
            into = [rule(*sentence) == "into" for sentence in sentences]
            if into in ([True, True, False, False], [False, False, True, True]):
                while len(sentences) > 1 and says(*sentences[0]) == rule(*sentences[0]):
                    del sentences[0]
                return sentences[0]
    return None


@break_head.base
def three_and_the_last(says, rule, weathers, places):
    for w in weathers:
        for v in weathers:
            for p in places:
                for q in places:
                    if rule(w, p) == rule(v, q) != rule(w, q) == rule(v, p):
                        for sentence in [(w, p), (v, q), (w, q)]:
                            if says(*sentence) != rule(*sentence):
                                return sentence
                        return v, p


@break_head.right("two rows, neither of which says into wherever the other does")
def rows_that_are_not_nested(says, rule, weathers, places):
    into = {weather: {place for place in places if rule(weather, place) == "into"} for weather in weathers}
    for w, v in itertools.combinations(weathers, 2):
        if into[w] - into[v] and into[v] - into[w]:
            p = min(into[w] - into[v])
            q = min(into[v] - into[w])
            if says(w, p) == "over":
                return [w, p]
            if says(v, q) == "over":
                return [v, q]
            if says(w, q) == "into":
                return [w, q]
            return [v, p]


@break_head.right("asks all three first")
def asks_three_first(says, rule, weathers, places):
    for w, v in itertools.combinations(weathers, 2):
        for p, q in itertools.combinations(places, 2):
            corners = [(w, p), (w, q), (v, p), (v, q)]
            right = [rule(*corner) for corner in corners]
            if right[0] == right[3] and right[1] == right[2] and right[0] != right[1]:
                said = [says(*corner) for corner in corners[:3]]
                wrong = [corner for corner, a, b in zip(corners, said, right) if a != b]
                return wrong[0] if wrong else corners[3]


@break_head.right("counts in a rectangle, and asks from its end")
def parity(says, rule, weathers, places):
    def is_wrong(sentence):
        return says(*sentence) != rule(*sentence)

    for i, j in itertools.product(range(len(weathers)), range(len(places))):
        for k, m in itertools.product(range(i), range(j)):
            pair = [(weathers[i], places[j]), (weathers[k], places[m])]
            other = [(weathers[i], places[m]), (weathers[k], places[j])]
            if len({rule(*a) for a in pair}) == len({rule(*a) for a in other}) == 1 and rule(*pair[0]) != rule(
                *other[0]
            ):
                return next(filter(is_wrong, [*other, pair[0]]), pair[1])


break_head.slips("""
asks_all_four
  - for sentence in [(w, p), (v, q), (w, q)]:
  + for sentence in [(w, p), (v, q), (w, q), (v, p)]:
  - return v, p
  + return None
    Your function asks the head more than three times. Which four sentences can't all be right? Suppose that the head is right about three of them. What do
    you then know about the fourth, without asking?
| asks_everything
  - for v in weathers:
  + for v in weathers[:1]:
  - for q in places:
  + for q in places[:1]:
  - if rule(w, p) == rule(v, q) != rule(w, q) == rule(v, p):
  + if says(w, p) != rule(w, p):
  +     return w, p
  + if False:
looks_in_what_the_head_says: if rule(w, p) == rule(v, q) != rule(w, q) == rule(v, p): -> if says(w, p) == says(v, q) != says(w, q) == says(v, p):
    You look for the four sentences in what the head says. No head says that, and each look is a question. Look for them in `rule`.
the_first_four_sentences: if rule(w, p) == rule(v, q) != rule(w, q) == rule(v, p): -> if w != v and p != q:
    With our four words your function catches every head. With more words it returns a sentence that the head gets right. There are many sets of four
    sentences in which a head can be right four times. In which can it not? `rule` tells you what is right in each sentence.
nothing_after_two
  - for sentence in [(w, p), (v, q), (w, q)]:
  + for sentence in [(w, p), (v, q)]:
  - return v, p
  + return None
    Nothing comes back if the head gets both sentences right that you ask about. Then it is wrong about one of the two others, and a third question settles
    which.
nothing_after_three: return v, p -> return None
    Nothing comes back if the head gets all three sentences right that you ask about. But something is wrong with the fourth then. What?
two_questions: [(w, p), (v, q), (w, q)] -> [(w, p), (v, q)]
    Two questions are not enough: a head that gets both right may be wrong about either of the two others. A third question settles it.
one_question: [(w, p), (v, q), (w, q)] -> [(w, p)]
    One question is not enough: whatever the head answers, it can be wrong about any of the three others.
the_last_one_right: return v, p -> return w, p
    After three answers with which nothing is wrong, your function names one of those three sentences. Which one is left?
| the_second_again: return v, p -> return v, q
| the_third_again: return v, p -> return w, q
always_the_same: [(w, p), (v, q), (w, q)] -> []
    No question is asked, so every head gets the same sentence back. Each head is wrong about at least one of the four, but not all about the same one.
| always_the_first
  - [(w, p), (v, q), (w, q)]
  + []
  - return v, p
  + return w, p
what_is_right_returned: says(*sentence) != rule(*sentence) -> says(*sentence) == rule(*sentence)
    A sentence comes back that the head gets right. Return one in which `says` and `rule` differ.
in return v, p
the_four_words: return w, v, p, q
    Four words came back. One sentence is asked for, which the head gets wrong: a weather and a place.
place_first: return p, v
    The place came first. A sentence is a weather and then a place, such as `("cold", "creek")`.
in return sentence
what_it_says: return says(*sentence)
    What the head says came back. The sentence is asked for: a weather and a place, such as `("cold", "creek")`.
one_word: return sentence[1]
    One word came back. A sentence is a weather and a place, such as `("cold", "creek")`.
| the_weather_alone: return sentence[0]
as_a_text: return " ".join(sentence)
    The sentence came back as one text. Return its two words as a pair, such as `("cold", "creek")`.
true_for_wrong: return True
    True came back. The sentence that the head gets wrong is asked for, such as `("cold", "creek")`.
""")

break_head.slip(
    "what_it_should_say",
    "What the head should say came back as well. The sentence alone is asked for: a weather and a place.",
    replace={"return sentence": "return *sentence, rule(*sentence)", "return v, p": "return v, p, rule(v, p)"},
)
break_head.slip(
    "nothing_returned",
    NO_RETURN,
    replace={"return sentence": "print(sentence)", "return v, p": "print(v, p)"},
)
break_head.slip(
    "one_pair_to_says",
    "`says` takes two arguments, a weather and then a place, as in `says(weather, place)`. A star in front of a pair hands over its parts.",
    replace={"says(*sentence) != rule(*sentence)": "says(sentence) != rule(sentence)"},
)
