"""Notebook 01, Can a mix of words say over or into?: how each exercise is called, and on what inputs. No answers.

Sizes differ pairwise, so that a transposed matrix or a wrong axis can't pass by accident.
"""

from __future__ import annotations

import graphlib
import itertools
import math
from collections.abc import Callable, Sequence
from functools import partial
from typing import Any

import torch

from ffnlab.observation.exercise import (
    MEASURED,
    Draw,
    Exercise,
    NotAsAsked,
    describe_result,
    gradients,
    observe_call,
    quiz,
    type_with_article,
)
from ffnlab.observation.plain_data import Failure
from ffnlab.phrases import plural

NOTEBOOK = "01_attention"


def _stochastic(rng: Draw, T: int, S: int) -> torch.Tensor:
    """Attention weights [T, S]: positive, every row sums to 1; the first one is small."""
    scores = rng.normal(T, S, scale=1.5)
    scores[0, 0] = scores[0].amax() - 8
    return torch.softmax(scores, dim=1)


def _call_on_copies(tensors: dict[str, torch.Tensor], call: Callable[..., Any]) -> tuple[Any, bool]:
    """What `call` makes of copies of the tensors, and whether it leaves them as they were."""
    copies = {name: value.clone() for name, value in tensors.items()}
    output = observe_call(lambda: call(**copies))
    return output, all(torch.equal(copies[name], tensors[name]) for name in tensors)


# self_attention

WEIGHTS = ("Wq", "Wk", "Wv", "Wo")


def _draw_head(rng: Draw, case: int) -> dict[str, Any]:
    """X [T, d], the weights of one head of width h, and three matrices A to be handed in: attention weights [T, T], those of two outputs
    [2, T], and any numbers [T, T].

    In one case h = d.
    """
    d, h = rng.distinct(2, 3, 5)
    T = rng.integer(6, 7)
    h = d if case == 1 else h
    scales = {"Wq": 0.7, "Wk": 0.7, "Wv": 0.6}
    return {
        "X": rng.normal(T, d),
        **{name: rng.normal(d, h, scale=scale) for name, scale in scales.items()},
        "Wo": rng.normal(h, d, scale=0.6),
        "A": _stochastic(rng, T, T),
        "two": _stochastic(rng, 2, T),
        "numbers": rng.normal(T, T),
    }


self_attention = Exercise(
    "self_attention",
    draw=_draw_head,
    where="the section “The desk that pulls its own faders”.",
    understood="Scores and mix multiply X by itself, the softmax turns scores into weights, and the two other steps are plain matrix products.",
    hints=(
        "One line per step: queries, keys and values; scores; weights; mix; output. Write the shape at the end of each line.",
        "The scores are all products of a query with a key: [T, h] and [T, h] become [T, T] when one of them is transposed. "
        "By the root of which size are they divided?",
        "Each token's weights sum to 1 over the tokens that it looks at: which dimension of A is that?",
        "The mix is a sum over s of A[t, s] times value s. A product of two matrices does this for all t at once: which dimension do A and V share?",
        "`if A is None:` is the question to ask. When A is handed in, steps 2 and 3 are skipped, and that A is returned.",
    ),
)


def _parse_pair(result: Any) -> tuple[torch.Tensor, torch.Tensor]:
    if not isinstance(result, (tuple, list)):
        raise NotAsAsked(f"{describe_result(result)}; a pair (out, A) was expected")
    if len(result) != 2:
        raise NotAsAsked(f"{type_with_article(result)} of {len(result)} came back; a pair (out, A) was expected")
    for name, part in zip(("out", "A"), result, strict=True):
        if not isinstance(part, torch.Tensor):
            raise NotAsAsked(f"in the pair (out, A), {name} is {type_with_article(part)}; a tensor was expected")
    return result[0], result[1]


def _name_parts(result: Any) -> dict[str, torch.Tensor]:
    return dict(zip(("out", "A"), _parse_pair(result), strict=True))


@self_attention.aspect("A", points=1)
def self_attention_a(answer: Any, A: Any, two: Any, numbers: Any, **inputs: Any) -> Any:
    return _parse_pair(answer(**inputs))[1]


@self_attention.aspect("out", points=1.5)
def self_attention_out(answer: Any, A: Any, two: Any, numbers: Any, **inputs: Any) -> Any:
    return _parse_pair(answer(**inputs))[0]


@self_attention.aspect("A given", points=1.5)
def self_attention_a_given(answer: Any, A: Any, two: Any, numbers: Any, **inputs: Any) -> Any:
    out, returned_A = _parse_pair(answer(*inputs.values(), A))
    return {
        "out": out,
        "the returned A": returned_A,
        "A with two rows": _parse_pair(answer(*inputs.values(), two))[0],
        "rows of A that do not sum to 1": _parse_pair(answer(*inputs.values(), numbers))[0],
    }


@self_attention.aspect("gradients", points=0.5)
def self_attention_gradients(answer: Any, A: Any, two: Any, numbers: Any, **inputs: Any) -> Any:
    return gradients(lambda **leaves: torch.cat([part.flatten() for part in _parse_pair(answer(**leaves))]), **inputs)


@self_attention.aspect("float32, one token, inputs kept", points=0.5)
def self_attention_float32_one_token_inputs_kept(answer: Any, A: Any, two: Any, numbers: Any, **inputs: Any) -> Any:
    def thin(name: str, value: torch.Tensor) -> torch.Tensor:
        """The head cut down to a width of 1."""
        return value if name == "X" else value[:1] if name == "Wo" else value[:, :1]

    input_sets = {
        "in float32": {name: value.float() for name, value in inputs.items()},
        "one token": inputs | {"X": inputs["X"][:1]},
        "h = 1": {name: thin(name, value) for name, value in inputs.items()},
    }
    results = {
        label: _call_on_copies(tensors, lambda **g: _name_parts(answer(**g))) for label, tensors in input_sets.items()
    }
    _, is_unchanged = _call_on_copies(inputs | {"A": A}, lambda **g: _name_parts(answer(*g.values())))
    outputs = {label: output for label, (output, _) in results.items()}
    is_unchanged = is_unchanged and all(same for _, same in results.values())
    return outputs | {"what was handed in is left as it was": is_unchanged}


# Two quizzes. Their texts are in the notebook.

quiz_hull = quiz(
    "quiz_hull",
    options="ABCD",
    where="the section “The desk that pulls its own faders”.",
    understood="Weights that are not negative and sum to 1 make an average, and an average never leaves the convex hull.",
)

quiz_linear = quiz(
    "quiz_linear",
    where="the section “Linear in what?”.",
    understood="With A held fixed, each word adds its own part to the output, times its weight. So the whole head is linear in X.",
)

# The little world of four words. Into is right where exactly one of two things holds: there is water, it is cold.

PLACES = ("creek", "lawn")  # the first is water
WEATHERS = ("cold", "warm")
WORDS = (*PLACES, *WEATHERS)
Sentence = tuple[str, str]  # its weather and its place
SENTENCES: tuple[Sentence, ...] = tuple(itertools.product(WEATHERS, PLACES))


def _right_way(sentence: Sentence) -> str:
    weather, place = sentence
    return "over" if (place == "creek") == (weather == "cold") else "into"


def _mix(scores: torch.Tensor, values: torch.Tensor, sentence: Sentence) -> float:
    """What a head at *jump* hands over: the values [4] of a sentence's two words, by the softmax of their scores [4]."""
    numbers = [WORDS.index(word) for word in sentence]
    return float(torch.softmax(scores[numbers], dim=0) @ values[numbers])


# break_head

CLEAR = 0.05  # how far from 0 the mix of a drawn head is in every sentence
ENOUGH = 3  # questions
MAX_QUESTIONS = 40
MORE_WEATHERS, MORE_PLACES = ("frosty", "cold", "mild", "warm"), ("lawn", "pond", "field", "creek", "marsh")
# A head and the rule that it claims to follow: weathers, places, into [weathers, places], which is True where into is right, and votes, one for each
# weather and place. A stubborn box has no votes.
Box = dict[str, Any]
STUBBORN, MORE_WORDS, STUBBORN_WITH_MORE = "a stubborn box", "a head with more words", "a stubborn box with more words"


def _votes_of_a_head(rng: Draw, weathers: int, places: int) -> torch.Tensor:
    """e^score · value of each word; no two of them cancel."""
    while True:
        votes = torch.exp(rng.normal(weathers + places, scale=0.5)) * rng.normal(weathers + places)
        if float(_sums(votes, weathers).abs().min()) > CLEAR:
            return votes


def _sums(votes: torch.Tensor, weathers: int) -> torch.Tensor:
    """Of each sentence the sum of its two votes, [weathers, places]. The mix has its sign."""
    return votes[:weathers, None] + votes[None, weathers:]


def _rectangles(into: torch.Tensor) -> list[tuple[int, int, int, int]]:
    """Two weathers and two places with which no head can be right four times: into is right in two opposite corners alone."""
    pairs = itertools.product(*(itertools.combinations(range(size), 2) for size in into.shape))
    return [
        (w, v, p, q)
        for (w, v), (p, q) in pairs
        if into[w, p] == into[v, q] and into[w, q] == into[v, p] and into[w, p] != into[w, q]
    ]


def _draw_wrong_about(rng: Draw, sentence: Sentence) -> Box:
    """A head for the four words that is wrong about this sentence alone."""
    into = torch.tensor([[_right_way((weather, place)) == "into" for place in PLACES] for weather in WEATHERS])
    wrong = torch.zeros_like(into)
    wrong[WEATHERS.index(sentence[0]), PLACES.index(sentence[1])] = True
    while True:
        votes = _votes_of_a_head(rng, 2, 2)
        if torch.equal((_sums(votes, 2) > 0) != into, wrong):
            return {"weathers": WEATHERS, "places": PLACES, "into": into, "votes": votes}


def _draw_with_more_words(rng: Draw) -> Box:
    """A head, and a rule that it follows but for one sentence. All sentences of the first two weathers and places have one answer."""
    while True:
        votes = _votes_of_a_head(rng, len(MORE_WEATHERS), len(MORE_PLACES))
        into = _sums(votes, len(MORE_WEATHERS)) > 0
        w, p = rng.integer(0, len(MORE_WEATHERS) - 1), rng.integer(0, len(MORE_PLACES) - 1)
        into[w, p] = ~into[w, p]
        first = into[:2, :2]
        if (w > 1 or p > 1) and bool((first == first[0, 0]).all()) and 2 <= len(_rectangles(into)) <= 6:
            return {"weathers": MORE_WEATHERS, "places": MORE_PLACES, "into": into, "votes": votes}


def _draw_boxes(rng: Draw, case: int) -> dict[str, Any]:
    """Closed boxes, by a label: heads for the four words, each wrong about another sentence, heads with more words, and boxes that play against the reader."""
    boxes = {f"a head wrong about {' '.join(sentence)}": _draw_wrong_about(rng, sentence) for sentence in SENTENCES}
    more = _draw_with_more_words(rng)
    stubborn = {
        label: {key: value for key, value in box.items() if key != "votes"}
        for label, box in ((STUBBORN, next(iter(boxes.values()))), (STUBBORN_WITH_MORE, more))
    }
    return {"boxes": boxes | {MORE_WORDS: more} | stubborn}


Cell = tuple[int, int]  # the numbers of a sentence's weather and place


def _can_be_said(ways: dict[Cell, bool]) -> bool:
    """Whether some head says into in exactly these sentences: whether a number for each word can be above, or below, another one for each that is asked."""
    smaller: dict[tuple[str, int], set[tuple[str, int]]] = {}  # than the number in front
    for (w, p), is_into in ways.items():
        weather, place = ("weather", w), ("place", p)
        smaller.setdefault(weather if is_into else place, set()).add(place if is_into else weather)
    try:
        graphlib.TopologicalSorter(smaller).prepare()
    except graphlib.CycleError:
        return False
    return True


def _answers(box: Box, asked: Sequence[Cell]) -> dict[Cell, bool]:
    """Whether a box says into, for each sentence that it is asked about, one after the other.

    The stubborn box has not settled which head it is. It is right for as long as some head could give all of its answers.
    """
    if "votes" in box:
        says_into = _sums(box["votes"], len(box["weathers"])) > 0
        return {cell: bool(says_into[cell]) for cell in asked}
    said: dict[Cell, bool] = {}
    for cell in asked:
        if cell not in said:
            right = bool(box["into"][cell])
            said[cell] = right if _can_be_said(said | {cell: right}) else not right
    return said


def _cell_of(box: Box, words: Any) -> Cell | None:
    """The numbers of a weather and a place, in this order; None for anything else."""
    if not isinstance(words, (tuple, list)) or len(words) != 2 or not all(isinstance(word, str) for word in words):
        return None
    weather, place = words
    if weather not in box["weathers"] or place not in box["places"]:
        return None
    return box["weathers"].index(weather), box["places"].index(place)


class ClosedHead:
    """`says(weather, place)`, what a box says in a sentence; it counts the questions.

    Raises NotAsAsked for what is no sentence, and for more questions than `most`.
    """

    def __init__(self, box: Box, most: int) -> None:
        self.box, self.most = box, most
        # What was asked, as numbers, so that no answer lies in reach of the code that is asked for one.
        self._asked: list[Cell] = []

    def __call__(self, *words: Any) -> str:
        cell = _cell_of(self.box, words)
        if cell is None:
            raise NotAsAsked('`says` takes a weather and a place, such as `says("cold", "creek")`')
        if len(self._asked) == self.most:
            raise NotAsAsked(f"more than {self.most} questions were asked")
        self._asked.append(cell)
        return "into" if _answers(self.box, self._asked)[cell] else "over"

    def numbers_asked(self) -> list[Cell]:
        """The questions so far, each as the numbers of its words."""
        return list(self._asked)


def _rule_of(box: Box) -> Callable[..., str]:
    """`rule(weather, place)`, what is right in a sentence."""

    def rule(*words: Any) -> str:
        cell = _cell_of(box, words)
        if cell is None:
            raise NotAsAsked('`rule` takes a weather and a place, such as `rule("cold", "creek")`')
        return "into" if box["into"][cell] else "over"

    return rule


break_head = Exercise(
    "break_head",
    draw=_draw_boxes,
    where="the section “One head, two heads”.",
    understood="Softmax divides by a positive number, which changes no sign. So a single head at jump adds up votes. Two pairs of sentences with the "
    "same four votes can't have different answers, and it is wrong about one of the four.",
    hints=(
        "Multiply the head's mix by what softmax divides by, and look at what is left. Whether it is above 0 does not change.",
        "e^score · value is a number for each word: its vote. What do you know of the votes of a cold creek and a warm lawn together, and of a warm creek "
        "and a cold lawn together?",
        "For which rules can no head be right about two weathers with two places? Find such words with `rule`, before you ask the head anything.",
        "Ask the head about three of the four sentences. Suppose that it is right each time. What do you then know about the fourth, without asking?",
    ),
)


def _ask(answer: Any, boxes: dict[str, Box], most: int) -> dict[str, Any]:
    """For each box what was asked, as the numbers of words, and what came back."""
    observed = {}
    for label, box in boxes.items():
        says = ClosedHead(box, most)
        given = (says, _rule_of(box), list(box["weathers"]), list(box["places"]))
        result = observe_call(lambda: answer(*given))  # noqa: B023
        observed[label] = (says.numbers_asked(), result)
    return observed


def _outcome(box: Box, asked: Sequence[Cell], result: Any) -> str | Failure:
    """What is wrong with the sentence that came back for a box; empty if the box is wrong about it. What was asked settles the stubborn box."""
    if isinstance(result, Failure):
        return result
    cell = _cell_of(box, result)
    if cell is None:
        return f"{_describe_no_sentence(box, result)}; a weather and a place were expected"
    said = _answers(box, asked)
    right = bool(box["into"][cell])
    if cell in said:
        return (
            ""
            if said[cell] != right
            else "you returned a sentence that the head gets right, and it had told you its answer"
        )
    if "votes" in box:
        is_broken = _answers(box, [cell])[cell] != right
        return "" if is_broken else "you returned a sentence that the head gets right, and you had not asked about it"
    is_settled = not _can_be_said(said | {cell: right})
    return "" if is_settled else "a head could give all these answers and be right about the sentence that you returned"


def _describe_no_sentence(box: Box, result: Any) -> str:
    if isinstance(result, (tuple, list)):
        is_reversed = _cell_of(box, tuple(result)[::-1]) is not None
        return "the place came first" if is_reversed else f"{plural(len(result), 'thing')} came back"
    if isinstance(result, str):
        if result in ("over", "into"):
            return "what a head says came back"
        return "one text came back" if " " in result else "one word came back"
    return describe_result(result)


def _outcomes(observation: Any, inputs: dict[str, Any]) -> dict[str, str | Failure]:
    """For each box what is wrong. What a box answered is not taken on trust: a submission may have made it up."""
    outcomes: dict[str, str | Failure] = {}
    for label, box in inputs["boxes"].items():
        asked, result = observation[label]
        outcomes[label] = _outcome(box, [(int(w), int(p)) for w, p in asked], result)
    return outcomes


WRONG_ABOUT_ONE = ("a head wrong about one sentence", *(f"a {nth} such head" for nth in ("second", "third", "fourth")))


def _box_facts(observation: Any, inputs: dict[str, Any]) -> dict[str, str | Failure]:
    """What is wrong for each kind of box, in the same words in whatever order one asks: else a mistake would have a form for every order.

    So of the four heads for the four words those that were not caught come first, and boxes with more words count once all four are caught.
    """
    outcomes = _outcomes(observation, inputs)
    stubborn, more, stubborn_with_more = (outcomes.pop(label) for label in (STUBBORN, MORE_WORDS, STUBBORN_WITH_MORE))
    not_caught_first = sorted(outcomes.values(), key=lambda outcome: (outcome == "", str(outcome)))

    def once(is_caught: bool, outcome: str | Failure) -> str | Failure:
        return outcome if is_caught or isinstance(outcome, Failure) else ""

    return {
        **dict(zip(WRONG_ABOUT_ONE, not_caught_first, strict=True)),
        MORE_WORDS: once(not any(not_caught_first), more),
        STUBBORN: stubborn,
        STUBBORN_WITH_MORE: once(not stubborn, stubborn_with_more),
    }


@break_head.aspect("a wrong sentence", points=1.5, facts=_box_facts, times_larger=12)
def break_head_sentence(answer: Any, boxes: Any) -> Any:
    return _ask(answer, boxes, MAX_QUESTIONS)


def _few_question_facts(observation: Any, inputs: dict[str, Any]) -> dict[str, Any]:
    """The same in short, and whether a box was asked too often, which counts once the heads are caught."""
    outcomes = _outcomes(observation, inputs)
    stubborn = [outcomes.pop(label) for label in (STUBBORN, STUBBORN_WITH_MORE)]
    heads = next((outcome for outcome in outcomes.values() if outcome and not _is_refused(outcome)), "")
    is_asked_too_often = any(len(asked) > ENOUGH or _is_refused(result) for asked, result in observation.values())
    counts = is_asked_too_often and not heads
    return {
        "questions": f"more than {ENOUGH} were asked about a box" if counts else "",
        "heads": heads,
        STUBBORN: "" if counts else next((outcome for outcome in stubborn if outcome and not _is_refused(outcome)), ""),
    }


def _is_refused(result: Any) -> bool:
    """Whether a box refused an answer, because it had been asked often enough."""
    return isinstance(result, Failure) and "questions were asked" in result.message


@break_head.aspect(
    "three questions at most", points=1.5, facts=_few_question_facts, needs="a wrong sentence", times_larger=12
)
def break_head_three_questions(answer: Any, boxes: Any) -> Any:
    return _ask(answer, boxes, ENOUGH)


# two_heads

SURE = 0.01  # how far from 0 the two heads' sum is at least


def _draw_limits(rng: Draw, case: int) -> dict[str, Any]:
    """The largest scores that are allowed: large ones, with which a head sees one word alone, and small ones, with which it only leans."""
    return {
        "far": [round(rng.uniform(20.0, 60.0), 1) for _ in range(2)],
        "near": [round(rng.uniform(*ends), 2) for ends in ((1.0, 2.0), (0.4, 0.6), (0.1, 0.2))],
    }


two_heads = Exercise(
    "two_heads",
    draw=_draw_limits,
    where="the section “One head, two heads”.",
    understood="Each head divides by a sum of its own, so their sum is no longer a sum of votes. It is enough that one leans a little.",
    hints=(
        "Let one head look for creek and cold, the other for lawn and warm. What should a head hand over if it finds none of its words?",
        "Two words found by one head and none by the other is over. One word found by each is into. So what a head hands over where it finds none has to "
        "outweigh what it hands over where it finds both.",
        "For a small `largest`: let a head's words have the score `largest` and the value 1, and the others the score 0 and the value −v. "
        "Between which two numbers does v have to be?",
        "Over needs 1 − v < 0. Into needs e^largest · 1 − v > 0. Choose v between 1 and e^largest.",
    ),
)


def _parse_heads(result: Any) -> tuple[torch.Tensor, torch.Tensor]:
    if not isinstance(result, (tuple, list)) or len(result) != 2:
        raise NotAsAsked(f"{describe_result(result)}; a pair (scores, values) was expected")
    parts = []
    for name, part in zip(("scores", "values"), result, strict=True):
        numbers = part if isinstance(part, torch.Tensor) else torch.tensor(part, dtype=torch.float64)
        if list(numbers.shape) != [2, 4]:
            raise NotAsAsked(f"{name} has shape {list(numbers.shape)}; [2, 4] was expected, a row for each head")
        parts.append(numbers.detach().double())
    return parts[0], parts[1]


def _weights_of(scores: torch.Tensor) -> torch.Tensor:
    """The weight of the place in each of the four sentences, by the scores [4] of one head."""
    return torch.stack([torch.softmax(scores[[WORDS.index(word) for word in s]], dim=0)[1] for s in SENTENCES])


def _same(numbers: torch.Tensor, others: torch.Tensor) -> bool:
    return bool((numbers - others).abs().max() < 1e-6)


def _why_wrong(scores: torch.Tensor, values: torch.Tensor, sums: Sequence[float]) -> str:
    """What is the matter with two heads, in words that fit every such pair of them; empty where the sums are right.

    First what the heads are, whatever they say: two that are no more than one head can't be right. Then what they say.
    """
    into = [_right_way(sentence) == "into" for sentence in SENTENCES]
    right = [total * (1 if is_into else -1) > SURE - 1e-6 for total, is_into in zip(sums, into, strict=True)]
    if all(right):
        return ""
    mixes = [[_mix(*head, sentence=sentence) for sentence in SENTENCES] for head in zip(scores, values, strict=True)]
    first, second = map(_weights_of, scores)
    if any(max(map(abs, mix)) < 1e-9 for mix in mixes):
        return "one of the two brings 0 in every sentence, so this is a single head"
    if _same(first, first[:1]) and _same(second, second[:1]):
        return "each head has the same weights in all sentences"
    if _same(first, second):
        return "both heads have the same weights"
    wrong = [n for n, is_right in enumerate(right) if not is_right]
    if len(wrong) == 2 and into[wrong[0]] == into[wrong[1]] and max(abs(sums[n]) for n in wrong) < SURE - 1e-6:
        return f"the sums are nearer to 0 than 1/100 where {'into' if into[wrong[0]] else 'over'} is right"
    if min(sums) > -SURE:
        return "the heads never say over"
    if max(sums) < SURE:
        return "the heads never say into"
    if len(wrong) == 1:
        return "three sentences are right"
    if len(wrong) == 4:
        return "no sentence is right"
    return "two sentences are right"


def _describe_heads(observation: Any, largest: float) -> dict[str, str] | Failure:
    """What is wrong with the scores of two heads, and with what they say; empty where nothing is."""
    if isinstance(observation, Failure):
        return observation
    scores, values = observation
    facts = {"scores": "", MEASURED: "", "why": ""}
    if not bool(scores.isfinite().all()) or not bool(values.isfinite().all()):
        return facts | {"scores": "a number is not finite"}
    if float(scores.min()) < -1e-6:
        facts["scores"] = "a score is below 0"
    elif float(scores.max()) > largest * (1 + 1e-6):
        facts["scores"] = "a score is above `largest`"
    sums = [sum(_mix(*head, sentence=s) for head in zip(scores, values, strict=True)) for s in SENTENCES]
    why = _why_wrong(scores, values, sums)
    measured = ", ".join(f"{' '.join(s)} {total:.3g}" for s, total in zip(SENTENCES, sums, strict=True))
    return facts | {MEASURED: measured if why else "", "why": why}


def _two_heads_facts(key: str) -> Callable[[Any, dict[str, Any]], dict[str, Any]]:
    def facts(observation: Any, inputs: dict[str, Any]) -> dict[str, Any]:
        described: dict[str, Any] = {}
        for largest, heads in zip(inputs[key], observation, strict=True):
            described[f"largest = {largest:g}"] = _describe_heads(heads, largest)
        return described

    return facts


def _collect_heads(answer: Any, limits: list[float]) -> list[Any]:
    return [observe_call(lambda: _parse_heads(answer(largest))) for largest in limits]  # noqa: B023


@two_heads.aspect("scores may be far apart", points=1.5, facts=_two_heads_facts("far"))
def two_heads_far(answer: Any, far: Any, near: Any) -> Any:
    return _collect_heads(answer, far)


@two_heads.aspect("scores are near each other", points=1.5, facts=_two_heads_facts("near"))
def two_heads_near(answer: Any, far: Any, near: Any) -> Any:
    return _collect_heads(answer, near)


# xor_weights

CORNERS = ((0, 0), (0, 1), (1, 0), (1, 1))
NEAR = 0.01  # of the distance from `over` to `into`
SHAPES = {"W1": "[2, H]", "b1": "[H]", "W2": "[H, 1]", "b2": "[1]"}

Heights = list[tuple[float, float]]


def _draw_heights(rng: Draw, case: int) -> dict[str, Any]:
    """Pairs (over, into) in random order: either may be the larger, and both, one or none of them below zero."""
    heights: Heights = []
    for upwards in (True, False):
        for least in (-6.0, -1.5, 0.5):
            pair = [round(least + rng.uniform(*ends), 2) for ends in ((0.0, 1.0), (2.0, 5.0))]
            heights.append((pair[0], pair[1]) if upwards else (pair[1], pair[0]))
    return {"heights": [heights[place] for place in rng.distinct(len(heights), 0, len(heights) - 1)]}


xor_weights = Exercise(
    "xor_weights",
    draw=_draw_heights,
    where="the section “Press the plane”.",
    understood="Each neuron draws one line and is silent on one side of it. Together they do what no single line can.",
    hints=(
        "Look at a + b for the four inputs: 0, 1, 1, 2. You need a function of that one number which is `over`, then `into`, then `over` again.",
        "Up, then down again: one neuron starts to rise at 0. Another starts at 1, and has to pull twice as hard the other way. "
        "The bias says where a neuron starts.",
        "A column of W1 holds what one neuron multiplies a and b by; b1 its threshold, with a minus sign; its row of W2 what it adds to the output.",
        "Another way: one neuron for “a, but not b”, and one for “b, but not a”. Then no b1 is needed.",
        "When the four outputs are 0, 1, 1, 0, you are nearly done: multiplying W2 stretches them, and b2 moves them all.",
    ),
)


def _parse_weights(result: Any) -> dict[str, torch.Tensor]:
    if not isinstance(result, (tuple, list)):
        raise NotAsAsked(f"{describe_result(result)}; four tensors W1, b1, W2, b2 were expected")
    if len(result) != 4:
        raise NotAsAsked(
            f"{type_with_article(result)} of {len(result)} came back; four tensors W1, b1, W2, b2 were expected"
        )
    for name, value in zip(SHAPES, result, strict=True):
        if not isinstance(value, torch.Tensor):
            raise NotAsAsked(f"{name} is {type_with_article(value)}; a tensor was expected")
        if not value.is_floating_point():
            raise NotAsAsked(f"{name} holds whole numbers ({value.dtype}); floating-point numbers were expected")
    return dict(zip(SHAPES, result, strict=True))


def _check_shapes(weights: dict[str, Any]) -> dict[str, bool]:
    shapes = {name: list(value.shape) for name, value in weights.items()}
    dimensions = {name: words.count(",") + 1 for name, words in SHAPES.items()}
    hidden = shapes["b1"][0] if len(shapes["b1"]) == 1 else (*shapes["W1"], 0)[1]  # a wrong b1 blames b1 alone
    expected_shapes = {"W1": [2, hidden], "b1": [hidden], "W2": [hidden, 1], "b2": [1]}
    return {
        **{f"{name} has shape {SHAPES[name]}": shapes[name] == expected_shapes[name] for name in SHAPES},
        **{f"{name} has {plural(n, 'dimension')}": len(shapes[name]) == n for name, n in dimensions.items()},
        "H is 1 to 8": 1 <= hidden <= 8,
    }


def _shape_facts(observation: list[Any], inputs: dict[str, Any]) -> dict[str, bool]:
    """What holds of the shapes, whatever `over` and `into` are."""
    checks = [_check_shapes(_parse_weights(weights)) for weights, _ in zip(observation, inputs["heights"], strict=True)]
    return {words: all(check[words] for check in checks) for words in checks[0]}


def _compute_outputs(weights: dict[str, torch.Tensor]) -> list[float]:
    """What the network gives for the four inputs, in float64."""
    if not all(is_met for words, is_met in _check_shapes(weights).items() if "shape" in words):
        shapes_text = ", ".join(f"{name} {list(value.shape)}" for name, value in weights.items())
        raise NotAsAsked(f"the shapes do not fit relu(x @ W1 + b1) @ W2 + b2 with x [4, 2]: {shapes_text}")
    W1, b1, W2, b2 = (value.detach().double() for value in weights.values())
    corners = torch.tensor(CORNERS, dtype=torch.float64)
    outputs: list[float] = (torch.relu(corners @ W1 + b1) @ W2 + b2)[:, 0].tolist()
    return outputs


def _compute_shares(observation: list[Any], inputs: dict[str, Any]) -> list[list[float]]:
    """For each pair (over, into), how much of the way from the first to the second each of the four outputs has gone: 0, 1, 1, 0 where all is right."""
    pairs = zip(observation, inputs["heights"], strict=True)
    return [
        [(out - over) / (into - over) for out in _compute_outputs(_parse_weights(weights))]
        for weights, (over, into) in pairs
    ]


def _margin(shares: list[float]) -> float:
    """How far the lower of the two outputs that should be `into` is above the higher of the other two."""
    return min(shares[1], shares[2]) - max(shares[0], shares[3])


def _describe_standouts(shares: list[float]) -> str:
    """Which inputs stand out; the same for every network that does XOR. Outputs on a plane are said to be so."""
    if any(value != value or abs(value) == float("inf") for value in shares):
        return "the outputs are not finite"
    order = sorted(range(4), key=lambda i: -shares[i])
    gaps = [shares[order[n]] - shares[order[n + 1]] for n in range(3)]
    bend = shares[1] + shares[2] - shares[0] - shares[3]
    if _margin(shares) > 1e-6:
        count = 2
    elif max(gaps) <= 1e-6:
        return "none: the four outputs are equal"
    elif abs(bend) <= 1e-6 * max(1.0, *map(abs, shares)):
        return "none: the four outputs lie on a plane"
    else:
        count = 1 + max(range(3), key=lambda n: round(gaps[n], 6))
    return ", ".join(str(CORNERS[i]) for i in sorted(order[:count]))


def _standout_facts(observation: list[Any], inputs: dict[str, Any]) -> dict[str, str]:
    """For each pair, the inputs whose outputs stand out from the others, on the side of `into`."""
    labels = [f"over = {over:g}, into = {into:g}; inputs on the side of `into`" for over, into in inputs["heights"]]
    return dict(zip(labels, map(_describe_standouts, _compute_shares(observation, inputs)), strict=True))


def _height_facts(observation: list[Any], inputs: dict[str, Any]) -> dict[str, bool]:
    shares = _compute_shares(observation, inputs)
    return {
        "the outputs for (0, 0) and (1, 1) are `over`": all(abs(u[i]) <= NEAR for u in shares for i in (0, 3)),
        "the outputs for (0, 1) and (1, 0) are `into`": all(abs(u[i] - 1) <= NEAR for u in shares for i in (1, 2)),
    }


def _collect_networks(answer: Any, heights: Heights) -> list[tuple[torch.Tensor, ...]]:
    return [tuple(_parse_weights(answer(over, into)).values()) for over, into in heights]


@xor_weights.aspect("which inputs stand out", points=3, facts=_standout_facts)
def xor_weights_which_inputs_stand_out(answer: Any, heights: Any) -> Any:
    return _collect_networks(answer, heights)


@xor_weights.aspect("shapes", points=1, facts=_shape_facts, needs="which inputs stand out")
def xor_weights_shapes(answer: Any, heights: Any) -> Any:
    return _collect_networks(answer, heights)


@xor_weights.aspect("the two numbers", points=1, facts=_height_facts)
def xor_weights_the_two_numbers(answer: Any, heights: Any) -> Any:
    return _collect_networks(answer, heights)


# reach_star

AT = 0.05  # a mix that is no further from the star is on it
APART = 0.25  # how far from every mix a star is, at least, that no weights reach
Situations = dict[str, dict[str, torch.Tensor]]


def _draw_mix_weights(rng: Draw, S: int) -> torch.Tensor:
    """Weights [S], none of them small."""
    parts = torch.tensor([rng.uniform(0.5, 1.5) for _ in range(S)], dtype=torch.float64)
    shares: torch.Tensor = parts / parts.sum()
    return shares


def _rotate_points(points: list[list[float]], angle: float) -> torch.Tensor:
    """Points of the plane [n, 2], turned around the origin."""
    c = math.cos(angle)
    s = math.sin(angle)
    rotated_points: torch.Tensor = torch.tensor(points, dtype=torch.float64) @ torch.tensor(
        [[c, s], [-s, c]], dtype=torch.float64
    )
    return rotated_points


def _draw_hull(rng: Draw, S: int) -> torch.Tensor:
    """Words in the plane, each of them a corner of their hull, in the order in which one goes around it."""
    first, length = rng.uniform(0, 2 * math.pi), rng.uniform(1.5, 2.2)
    angles = [first + 2 * math.pi * (s + rng.uniform(-0.2, 0.2)) / S for s in range(S)]
    return torch.tensor([[length * math.cos(a), length * math.sin(a)] for a in angles], dtype=torch.float64)


def _draw_point_beyond(rng: Draw, V: torch.Tensor) -> torch.Tensor:
    """A point that is ahead of the furthest word in some direction."""
    direction = rng.normal(V.shape[1])
    direction = direction / direction.norm()
    point: torch.Tensor = V[(V @ direction).argmax()] + rng.uniform(1.2 * APART, 1.0) * direction
    return point


def _draw_stars(rng: Draw, case: int) -> dict[str, Any]:
    """Words V [S, d] and a star [d] in a dozen situations: within, stars that some weights reach; without, stars that none do."""
    S = rng.integer(5, 6)
    angle = rng.uniform(0.3, 1.2)
    three, many = _draw_hull(rng, 3), _draw_hull(rng, S)
    space = rng.normal(4, 5)
    alone = rng.normal(1, 3)
    line = _rotate_points([[-2.0, 0.4], [0.3, 0.4], [1.0, 0.4], [2.2, 0.4]], angle)
    twins = torch.cat([three[:1], three])
    inside, edge = _draw_mix_weights(rng, 3), _draw_mix_weights(rng, 2)
    side = rng.integer(0, S - 2)
    within: Situations = {
        "inside of three words": {"V": three, "star": inside @ three},
        "between two of three words": {"V": three, "star": edge @ three[1:]},
        "on a word": {"V": three, "star": three[rng.integer(0, 2)]},
        "between two of many words": {"V": many, "star": edge @ many[side : side + 2]},
        "words on one line": {"V": line, "star": _draw_mix_weights(rng, 4) @ line},
        "two words at one place": {"V": twins, "star": _draw_mix_weights(rng, 4) @ twins},
        "one word alone": {"V": alone, "star": alone[0]},
        "four words of five numbers": {"V": space, "star": _draw_mix_weights(rng, 4) @ space},
    }
    row = [[-4.0, 0.0], [rng.uniform(-2.0, -1.0), 0.0], [rng.uniform(-0.5, 0.5), 0.0], [4.0, 0.0]]
    # The last one is the star, beside the far end.
    row = [*row, [rng.uniform(2.5, 3.0), rng.uniform(2 * APART, 3 * APART)]]
    # Here, too, the last one is the star.
    even = [[-4.0, 0.0], [-1.5, 0.0], [1.5, 0.0], [4.0, 0.0], [0.0, rng.uniform(1.2 * APART, 1.8 * APART)]]
    flat = torch.cat([rng.normal(4, 4), torch.zeros(4, 1, dtype=torch.float64)], dim=1)
    aside = torch.tensor([0.0, 0.0, 0.0, 0.0, 1.2 * APART], dtype=torch.float64)
    without: Situations = {
        "outside of three words": {"V": three, "star": _draw_point_beyond(rng, three)},
        "outside of many words": {"V": many, "star": _draw_point_beyond(rng, many)},
        "beside a long row of words": {"V": _rotate_points(row[:4], angle), "star": _rotate_points(row[4:], angle)[0]},
        "above the middle of a long row": {
            "V": _rotate_points(even[:4], angle),
            "star": _rotate_points(even[4:], angle)[0],
        },
        "on the line, beyond its end": {"V": line, "star": line[3] + 0.2 * (line[3] - line[0])},
        "away from the only word": {"V": alone, "star": _draw_point_beyond(rng, alone)},
        "beside four words of five numbers": {"V": flat, "star": 0.8 * flat[0] + 0.2 * flat[1] + aside},
    }
    return {"within": within, "without": without}


reach_star = Exercise(
    "reach_star",
    draw=_draw_stars,
    where="the section “The desk by code”.",
    understood="Either some weights reach a star, or some direction proves that none do. There is no third case, and the nearest mix gives you both.",
    hints=(
        "What is the nearest mix to the star? If it is on the star, you have the weights. If not, look at the arrow from it to the star.",
        "Could a word be ahead of the nearest mix, in the direction of that arrow? Then a little more of that word would bring the mix nearer.",
        "So start with any mix. Again and again, find the word that is furthest ahead along the arrow, and among the words in the mix the one "
        "that is furthest behind. Let the second give some of its weight to the first.",
        "How much is some? Moving a share of weight moves the mix by share · (V[ahead] − V[behind]). Choose the share that comes nearest to the star, and "
        "never more than the second word has.",
    ),
    seconds=60.0,
)


def _call_answer(answer: Any, V: torch.Tensor, star: torch.Tensor) -> dict[str, Any]:
    """What an answer returns for one star: weights and direction, one of them None."""
    result = answer(V.clone(), star.clone())
    if not isinstance(result, (tuple, list)):
        raise NotAsAsked(f"{describe_result(result)}; a pair (weights, direction) was expected")
    if len(result) != 2:
        raise NotAsAsked(
            f"{type_with_article(result)} of {len(result)} came back; a pair (weights, direction) was expected"
        )
    parts: dict[str, Any] = {}
    for name, part, size in zip(("weights", "direction"), result, V.shape, strict=True):
        numbers = part if part is None or isinstance(part, torch.Tensor) else torch.tensor(part, dtype=torch.float64)
        if numbers is not None and list(numbers.shape) != [size]:
            raise NotAsAsked(f"{name} has shape {list(numbers.shape)}; here it should be [{size}]")
        parts[name] = numbers if numbers is None else numbers.detach().double()
    return parts


def _describe_outcome(observation: Any, V: torch.Tensor, star: torch.Tensor) -> str | Failure:
    """What is wrong with the weights or the direction; empty where nothing is."""
    if isinstance(observation, Failure):
        return observation
    weights, direction = observation["weights"], observation["direction"]
    if (weights is None) == (direction is None):
        return "neither weights nor a direction came back" if weights is None else "weights and a direction came back"
    return _wrong_with_weights(weights, V, star) if direction is None else _wrong_with_direction(direction, V, star)


def _wrong_with_weights(weights: torch.Tensor, V: torch.Tensor, star: torch.Tensor) -> str:
    if not bool(weights.isfinite().all()):
        return "some weights are not finite"
    if float(weights.min()) < -1e-6:
        return "a weight is below 0, which pushes the mix away from that word"
    if abs(float(weights.sum()) - 1) > 1e-4:
        return "the weights do not sum to 1"
    return "" if float((weights @ V - star).norm()) <= AT else "the mix of these weights misses the star"


def _wrong_with_direction(direction: torch.Tensor, V: torch.Tensor, star: torch.Tensor) -> str:
    ahead = (star - V) @ direction  # [S]: how far the star is ahead of each word
    if not bool(ahead.isfinite().all()):
        return "the direction is not finite"
    if float(direction.norm()) < 1e-9:
        return "the direction has length 0"
    if bool((ahead > 0).all()):
        return ""
    if bool((ahead < 0).all()):
        return "in this direction the star is behind every word"
    return "a direction came back in which the star is not ahead of every word"


def _make_outcome_facts(key: str) -> Callable[[Any, dict[str, Any]], dict[str, Any]]:
    def facts(observation: Any, inputs: dict[str, Any]) -> dict[str, Any]:
        outcomes = {
            label: _describe_outcome(observation[label], **situation) for label, situation in inputs[key].items()
        }
        # A number by which answers are recognised that solve for any weights: it is the same wherever the solution has the least norm.
        return outcomes | {"the least weight": _least_weight([observation[label] for label in outcomes])}

    return facts


def _least_weight(observations: Sequence[Any]) -> float:
    """The least of all weights, or 0 if none is below it."""
    parts = [observed["weights"] for observed in observations if not isinstance(observed, Failure)]
    least = min((float(weights.min()) for weights in parts if weights is not None), default=0.0)
    return least if least < -1e-6 else 0.0


def _call_on_each(answer: Any, situations: Situations) -> dict[str, Any]:
    return {label: observe_call(partial(_call_answer, answer, **situation)) for label, situation in situations.items()}


@reach_star.aspect("stars that can be reached", points=2, facts=_make_outcome_facts("within"))
def reach_star_stars_that_can_be_reached(answer: Any, within: Situations, without: Situations) -> Any:
    return _call_on_each(answer, within)


@reach_star.aspect("stars that can't be reached", points=2, facts=_make_outcome_facts("without"))
def reach_star_stars_that_cannot_be_reached(answer: Any, within: Situations, without: Situations) -> Any:
    return _call_on_each(answer, without)


# And a quiz

quiz_xor = quiz(
    "quiz_xor",
    where="the section “Does training find them?”.",
    understood="What LayerNorm makes of two numbers u and v depends on u − v alone, and rises or falls with it. So it draws a single line. "
    "A norm is not linear, but what it can do depends on its width.",
)
