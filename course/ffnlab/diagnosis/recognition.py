"""Which mistake was made: a known one of the exercise, two of them at once, or one that people make everywhere.

Called by `comparison` with every place that was compared. A name is worth having only if it is true: an answer that is right where a mistake
is wrong has not made it, and what agrees in words alone (exceptions, True or False) is told as likely.
"""

from __future__ import annotations

import math
import re
from collections.abc import Callable, Mapping, Sequence, Set
from dataclasses import dataclass
from functools import partial
from typing import Any

import torch

from ffnlab.diagnosis import causes, common_mistakes, exception_messages, input_relations, tensor_differences
from ffnlab.diagnosis.differences import COARSE, PROMISE, Facts, Spot, is_slope, is_stub, same, tells
from ffnlab.diagnosis.mistake import COMMON_PREFIX, Cause, KnownMistake
from ffnlab.observation import hidden_parameters
from ffnlab.observation.exercise import ASKED_FOR, MEASURED, Aspect, Exercise, describe_result
from ffnlab.observation.hidden_parameters import PLACES
from ffnlab.observation.plain_data import Failure, Plain
from ffnlab.phrases import plural

Spots = Mapping[str, Sequence[Spot]]  # by aspect, every place of an answer beside the right one


def find_cause(
    exercise: Exercise,
    mistakes: Sequence[KnownMistake],
    spots: Spots,
    answer_facts: Sequence[Facts],
    inputs: Sequence[Mapping[str, Any]],
    unfinished: bool = False,
) -> Cause | None:
    """The mistake that explains what is wrong in an answer; None where nothing is known that surely does.

    answer_facts: what is compared of the answer, case by case, of which `spots` holds the places. unfinished: whether a line of it is still `...`. What
    such code does is no mistake, unless it computes what a known one does.
    """
    wrong = [aspect for aspect in exercise.aspects if any(spot.wrong for spot in spots[aspect.name])]
    places = _hidden_places(answer_facts)
    known_cause = _known_cause(exercise, mistakes, spots, answer_facts, wrong)
    if known_cause and known_cause.sure:
        return _beside_what_is_hidden(known_cause, places, mistakes)
    wrong_outputs = [spot.output for aspect in wrong for spot in spots[aspect.name] if spot.wrong]
    cause = _unfinished_cause(wrong_outputs, unfinished) or known_cause or causes.of_hidden_parameters(places)
    return cause or _common(exercise, wrong, spots, inputs, places)


PART = " This explains only part of what is wrong."


# A clause such as "The values are right, but", or a whole sentence, and the word after it.
CLAIM = re.compile(
    r"(?:^|(?<=[.!?] ))(?:[^.!?\s]|[.!?](?!\s)|(?<![.!?])\s)*?(?<!what )\b(?:is|are) right\b"
    r"(?:(?:, but|;) |(?:[^.!?]|[.!?](?!\s|$))*[.!?]\s*)([a-z]{2,}\b|a\b)?"
)


def _as_a_part(message: str) -> str:
    """The message of a cause beside which something else is wrong."""
    return message.removesuffix(PART) + PART


def _both(introduction: str, first: str, second: str) -> str:
    """Two messages, each of one or several sentences, after a sentence on both."""
    return f"{introduction} (1) {first} (2) {second}"


def without_claims(message: str) -> str:
    """A mistake's message without what it says is right: where something else is wrong as well, that may be wrong."""
    return CLAIM.sub(lambda match: (match[1] or "").capitalize(), message).strip()


# What a module hides from `parameters()`. That it does is seen, whatever else is wrong: what follows from it, such as two dtypes, is a symptom.


def _hidden_places(cases: Sequence[Facts]) -> set[str]:
    """Where a module hides parameters, in any case. What an answer is said to hide was sent by it: only known places count."""
    found = (case.get(hidden_parameters.KEY) for case in cases)
    return {
        place
        for places in found
        if isinstance(places, list)
        for place in places
        if isinstance(place, str) and place in PLACES
    }


def _beside_what_is_hidden(cause: Cause, places: Set[str], mistakes: Sequence[KnownMistake]) -> Cause:
    """A known mistake that was surely made, and what the answer hides besides, unless the mistake is that it does."""
    hidden = causes.of_hidden_parameters(places)
    if hidden is None or any(_hidden_places(mistake.cases) for mistake in mistakes if mistake.name == cause.name):
        return cause
    text = _both("There are two mistakes.", hidden.message, without_claims(cause.message.removesuffix(PART)))
    return Cause(cause.name, text, sure=True)


# Code that is not finished.


def _unfinished_cause(wrong: Sequence[Plain], ellipsis: bool) -> Cause | None:
    """That an answer is not finished, where it says so itself: by `...`, or by the exception of an exercise as it is handed out."""
    if ellipsis or any(map(is_stub, wrong)):
        placeholder = "`...`" if ellipsis else "`raise NotImplementedError`"
        return Cause(COMMON_PREFIX + "not finished", f"Your code is not finished: it still has the line {placeholder}.")
    return None


# Known mistakes.


@dataclass(frozen=True)
class _Explanation:
    """How much of an answer a known mistake explains."""

    mistake: KnownMistake
    # Of the aspects in which the answer does the same, and a part of those in which it does in most places.
    points: float
    whole: int  # the number of aspects in which it does the same throughout
    complete: bool  # whether these are all in which the mistake is wrong
    spots: frozenset[Spot]  # the wrong places in which both do the same
    significant: bool  # whether what agrees could not agree by chance

    @property
    def name(self) -> str:
        return self.mistake.name

    @property
    def message(self) -> str:
        return self.mistake.message

    @property
    def rank(self) -> tuple[float, int, bool]:
        """Which of two explains more."""
        return self.points, self.whole, self.complete


def _known_cause(
    exercise: Exercise,
    mistakes: Sequence[KnownMistake],
    spots: Spots,
    answer_facts: Sequence[Facts],
    wrong: Sequence[Aspect],
) -> Cause | None:
    """The known mistake that explains most of what is wrong; None where none explains enough."""
    candidates = (_explanation(exercise, mistake, spots, answer_facts, wrong) for mistake in mistakes)
    explanations = sorted(filter(None, candidates), key=lambda candidate: candidate.rank, reverse=True)
    if is_quiz(exercise):
        return _quiz_cause(explanations)
    wrong_spots = {spot for aspect in wrong for spot in spots[aspect.name] if spot.wrong}
    for best in explanations:
        rest = wrong_spots - best.spots
        cause = _likely(best, rest, explanations) or _two_mistakes(best, rest, explanations) or _single(best, rest)
        if cause:
            return cause
    return None


def _quiz_cause(explanations: Sequence[_Explanation]) -> Cause | None:
    """In a quiz a letter stands for one mistake, so that the first is the one."""
    if not explanations:
        return None
    return Cause(explanations[0].name, explanations[0].message, sure=True)


def _likely(best: _Explanation, rest: Set[Spot], explanations: Sequence[_Explanation]) -> Cause | None:
    """A cause that is no more than likely: another mistake explains the same places as well, or what agrees may agree by chance.

    rest: the wrong places that `best` does not explain.
    """
    equals = [other for other in explanations if (other.rank, other.spots) == (best.rank, best.spots)]
    messages = [best.message, *(other.message for other in equals if other.message != best.message)]
    if len(messages) == 1 and _is_certain(best):
        return None
    if rest:
        messages = [without_claims(message) for message in messages]
    text = messages[0] if len(messages) == 1 else _both("Two mistakes give this result.", *messages[:2])
    return Cause(best.name, _as_a_part(text) if rest else text, best.significant, likely=True)


def _is_certain(best: _Explanation) -> bool:
    """Whether what agrees could not agree by chance, or says itself what is wrong."""
    if best.significant or best.message == causes.NOTHING_RETURNED.message:
        return True
    return any(map(_is_reason, best.spots))


def _two_mistakes(best: _Explanation, rest: Set[Spot], explanations: Sequence[_Explanation]) -> Cause | None:
    """Two mistakes at once: one explains every wrong place that the other does not, and not by words alone."""
    if not any(tells(spot.output) for spot in rest):
        return None
    for second in explanations:
        if second.message != best.message and rest <= second.spots:
            text = _both("There are two mistakes.", without_claims(best.message), without_claims(second.message))
            return Cause(best.name, text, sure=True)
    return None


def _single(best: _Explanation, rest: Set[Spot]) -> Cause | None:
    """One mistake, if the answer does the same wherever it is wrong, or in at least half of the wrong places of its aspects."""
    others = [spot for spot in rest if spot.aspect in best.mistake.cases[0]]
    if not best.complete and len(best.spots) < len(others):
        return None
    text = _as_a_part(without_claims(best.message)) if rest else best.message
    return Cause(best.name, text, best.significant)


def _is_reason(spot: Spot) -> bool:
    """Whether the check itself has said why, in a text that is empty where the answer is right."""
    return isinstance(spot.right, str) and isinstance(spot.output, str) and not spot.right


def is_quiz(exercise: Exercise) -> bool:
    """Whether the answer is a letter, which stands for one mistake."""
    return [aspect.name for aspect in exercise.aspects] == ["choice"]


def _explanation(
    exercise: Exercise,
    mistake: KnownMistake,
    spots: Spots,
    answer_facts: Sequence[Facts],
    wrong: Sequence[Aspect],
) -> _Explanation | None:
    """How much of what is wrong (in the aspects `wrong`) a mistake explains; None if it was not made, or nothing shows that it was.

    It explains an aspect if the answer does the same there, in every case. An answer may have made it and another one besides: then not every place need
    agree, but most of what the mistake costs by itself must be explained, by more than words; and nowhere may the answer be right where the mistake is wrong.
    """
    its = [aspect for aspect in exercise.aspects if aspect.name in mistake.cases[0]]
    if not its or any(aspect not in wrong for aspect in its):
        return None
    hides, answer_hides = (_hidden_places(cases) - causes.LEFT_BEHIND.keys() for cases in (mistake.cases, answer_facts))
    if hides and hides != answer_hides:
        return None
    whole = [aspect for aspect in its if _does_the_same(aspect, mistake, answer_facts)]
    agree = {aspect: {spot for spot in spots[aspect.name] if spot.wrong} for aspect in whole}
    agree |= {aspect: _matching_spots(aspect, mistake, spots[aspect.name]) for aspect in its if aspect not in whole}
    costs = math.fsum(aspect.points for aspect in its)
    if 2 * math.fsum(aspect.points for aspect in its if agree[aspect]) < costs:  # most mistakes end here, quickly
        return None
    points = math.fsum(aspect.points for aspect in whole)
    complete = len(whole) == len(its)
    for aspect in its:
        if aspect not in whole:
            share = _share(aspect, mistake, spots[aspect.name], agree[aspect])
            if share is None:
                return None
            points += share * aspect.points
    if 2 * points < costs:
        return None
    matches = {spot for places in agree.values() for spot in places}
    significant = any(tells(spot.output) for spot in matches) or _many_counts(matches)
    by_words = complete and _enough_in_words(points, matches, wrong, spots) and hides == answer_hides
    if not significant and not by_words:
        return None
    return _Explanation(mistake, points, len(whole), complete, frozenset(matches), significant)


def _many_counts(matches: Set[Spot]) -> bool:
    """Whether so many small whole numbers agree that they could not by chance, though each of them could."""
    counts = {(spot.case, spot.aspect, spot.path): spot.output for spot in matches if type(spot.output) is int}
    return len(counts) >= 6 and len(set(counts.values())) >= 3


def _enough_in_words(points: float, matches: Set[Spot], wrong: Sequence[Aspect], spots: Spots) -> bool:
    """Whether agreement in words alone makes a name: it explains half of the lost points, and every exception, type and shape that is wrong."""
    if 2 * points < math.fsum(aspect.points for aspect in wrong):
        return False
    rest = {spot for aspect in wrong for spot in spots[aspect.name] if spot.wrong} - matches
    return not any(_another_form(spot) for spot in rest)


def _another_form(spot: Spot) -> bool:
    """Whether something else came back than a value of the kind that was asked for."""
    if isinstance(spot.output, torch.Tensor) and isinstance(spot.right, torch.Tensor):
        return spot.output.shape != spot.right.shape
    return type(spot.output) is not type(spot.right)


def _does_the_same(aspect: Aspect, mistake: KnownMistake, answer_facts: Sequence[Facts]) -> bool:
    """Whether an answer did what a mistake does in one aspect, in every case."""
    return all(
        _agrees(mine[aspect.name], theirs[aspect.name], aspect)
        for mine, theirs in zip(answer_facts, mistake.cases, strict=True)
    )


def _agrees(output: Plain, theirs: Plain, aspect: Aspect) -> bool:
    if isinstance(theirs, (dict, list, tuple)):
        if type(output) is not type(theirs) or len(output) != len(theirs):
            return False
        if isinstance(theirs, dict):
            assert isinstance(output, dict)
            compared = [key for key in theirs if key != MEASURED]
            return all(key in output and _agrees(output[key], theirs[key], aspect) for key in compared)
        return all(_agrees(mine, value, aspect) for mine, value in zip(output, theirs, strict=True))
    return same(output, theirs, aspect.atol, aspect.rtol, exactly=True)


def _matching_spots(aspect: Aspect, mistake: KnownMistake, places: Sequence[Spot]) -> set[Spot]:
    """The wrong places in which an answer does what a mistake does."""
    return {spot for spot in places if spot.wrong and _agrees(spot.output, _at(mistake, spot), aspect)}


def _share(aspect: Aspect, mistake: KnownMistake, places: Sequence[Spot], matches: Set[Spot]) -> float | None:
    """The share of the places in which a mistake is wrong where the answer does the same; None where the answer is right in one of them.

    A share below one half counts for nothing.
    """
    count = len(matches)
    for spot in places:
        if spot not in matches and not _agrees(_at(mistake, spot), spot.right, aspect):
            if not spot.wrong:
                return None
            count += 1
    return len(matches) / count if matches and 2 * len(matches) >= count else 0.0


NOTHING = Failure("Missing", "a mistake that ends before it gets here")


def _at(mistake: KnownMistake, spot: Spot) -> Plain:
    """What a mistake does at a place; a failure where its own form ends before."""
    value = mistake.cases[spot.case][spot.aspect]
    for part in spot.path:
        if isinstance(value, dict) and part in value:
            value = value[str(part)]
        elif isinstance(value, (list, tuple)) and isinstance(part, int) and part < len(value):
            value = value[part]
        else:
            return NOTHING
    return value


# Mistakes that people make everywhere.


def _common(
    exercise: Exercise,
    wrong: Sequence[Aspect],
    spots: Spots,
    inputs: Sequence[Mapping[str, Any]],
    places: Set[str],
) -> Cause | None:
    """The mistake, of those that people make everywhere, that explains every value that is wrong; exceptions may have another cause.

    places: where the answer's module keeps tensors that stay behind when it is moved or converted, which would be told of as of dtypes.
    """
    cause = _common_cause(exercise, wrong, spots, inputs)
    if cause is None or cause.name not in causes.OF_LEFT_BEHIND:
        return cause
    return next((left for place, left in causes.LEFT_BEHIND.items() if place in places), cause)


def _common_cause(
    exercise: Exercise, wrong: Sequence[Aspect], spots: Spots, inputs: Sequence[Mapping[str, Any]]
) -> Cause | None:
    if is_quiz(exercise):
        return None
    places = [(aspect, spot) for aspect in wrong for spot in spots[aspect.name] if spot.wrong]
    if all(_is_nothing(spot.output) and not is_slope(spot) for _, spot in places):
        return causes.NOTHING_RETURNED
    failures = [spot.output for _, spot in places if isinstance(spot.output, Failure)]
    if all(map(_is_another_exception, failures)) and len(failures) == len(places):
        return causes.OTHER_EXCEPTION
    if len(failures) == len(places):
        return _of_few_dimensions(wrong, spots) or _of_exceptions(failures)
    cause = _of_values(exercise, places, spots, inputs)
    exception = _of_exceptions(failures) if failures and not cause else None
    return Cause(exception.name, _as_a_part(exception.message)) if exception else cause


def _of_values(
    exercise: Exercise,
    places: Sequence[tuple[Aspect, Spot]],
    spots: Spots,
    inputs: Sequence[Mapping[str, Any]],
) -> Cause | None:
    if any(map(_is_promise, (spot for _, spot in places))) and all(
        _is_promise(spot) or _is_in_place(spot.output) for _, spot in places
    ):
        return causes.IN_PLACE
    raises = any(isinstance(spot.output, Failure) for _, spot in places)
    values = [(aspect, spot) for aspect, spot in places if not is_slope(spot) and not _is_promise(spot)]
    if not values:  # what is wrong are gradients
        return causes.GRADIENT if _values_are_right(exercise, spots) and not raises else None
    numbers = [(aspect, spot) for aspect, spot in values if _is_numeric(spot)]
    others = len(values) - len(numbers)
    if others > len(numbers) or not any(tells(spot.right) for _, spot in numbers):
        return None
    cause = _of_numbers(numbers, spots, inputs)
    return Cause(cause.name, _as_a_part(cause.message)) if cause and (others or raises) else cause


def _of_few_dimensions(wrong: Sequence[Aspect], spots: Spots) -> Cause | None:
    """Where all that is wrong are exceptions: whether these come with other numbers of dimensions than those with which all is right."""
    label_matches = [(spot, SHAPE.search(spot.label)) for aspect in wrong for spot in spots[aspect.name]]
    fails = {match[1].count(",") + 1 for spot, match in label_matches if match and spot.wrong}
    works = {match[1].count(",") + 1 for spot, match in label_matches if match and not spot.wrong}
    if not works or fails & works or len(fails) < 2:
        return None
    few, others = (" or ".join(map(str, sorted(dims))) for dims in (works, fails))
    return Cause(
        COMMON_PREFIX + "number of dimensions",
        f"Your code works with {plural(few, 'dimension')}, and raises an exception with {others}. `x.reshape(-1, x.shape[-1])` puts the rows of "
        "any x into one matrix, and a second `reshape` at the end gives the result the shape that was asked for.",
    )


SHAPE = re.compile(r"\bshape \[([^\]]*)\]")


def _is_another_exception(failure: Failure) -> bool:
    """Whether an argument that can't be used had to end in an exception, and did not, or in another one: see `expect_exception`."""
    return failure.type == "NotAsAsked" and failure.message.endswith(ASKED_FOR)


def _of_exceptions(failures: Sequence[Failure]) -> Cause | None:
    """What an exception means, where all are of one kind."""
    meanings = {exception_messages.find_meaning(failure.type, failure.message) for failure in failures}
    first = next(iter(meanings))
    return Cause(COMMON_PREFIX + first.name, first.message) if first and len(meanings) == 1 else None


def _of_numbers(
    numbers: Sequence[tuple[Aspect, Spot]], spots: Spots, inputs: Sequence[Mapping[str, Any]]
) -> Cause | None:
    if all(_other_dtype(aspect, spot) for aspect, spot in numbers):
        return causes.DTYPE
    if all(_of_another_label(aspect, spot, spots) for aspect, spot in numbers):
        return causes.NO_EFFECT
    input_cause = _mostly(partial(_is_unchanged, inputs=inputs), causes.UNCHANGED, numbers)
    if input_cause:
        return _returned_part(numbers[0], inputs) or input_cause
    cause = _common_transformation(numbers) or _by_a_factor(numbers, inputs) or _off_by_one(numbers) or _nearly(numbers)
    cause = cause or _by_a_constant(numbers)
    return cause or _mostly(partial(_off_by_an_input, inputs=inputs), causes.TERM, numbers)


def _mostly(
    holds: Callable[[Aspect, Spot], bool], cause: Cause, numbers: Sequence[tuple[Aspect, Spot]]
) -> Cause | None:
    """The cause, if it holds of the first place and of half of all: a probe makes some of the inputs anew, and these can't be told."""
    if not holds(*numbers[0]) or 2 * sum(holds(aspect, spot) for aspect, spot in numbers) < len(numbers):
        return None
    is_complete = all(holds(aspect, spot) for aspect, spot in numbers)
    return cause if is_complete else Cause(cause.name, _as_a_part(cause.message))


def _is_nothing(output: Plain) -> bool:
    return output is None or (isinstance(output, Failure) and output.message.startswith(describe_result(None)))


def _is_in_place(output: Plain) -> bool:
    """Whether autograd has complained that something was written into."""
    return isinstance(output, Failure) and (
        "in-place operation" in output.message or "inplace operation" in output.message
    )


def _is_promise(spot: Spot) -> bool:
    return spot.right is True and bool(spot.path) and PROMISE.fullmatch(str(spot.path[-1])) is not None


def _values_are_right(exercise: Exercise, spots: Spots) -> bool:
    """Whether some values that are no gradients were looked at, and all of them are right."""
    values = [spot for aspect in exercise.aspects for spot in spots[aspect.name] if not is_slope(spot)]
    return any(tells(spot.right) for spot in values) and not any(spot.wrong for spot in values if not _is_promise(spot))


def _is_numeric(spot: Spot) -> bool:
    """Whether both are tensors of numbers, or both are numbers of one kind."""
    if isinstance(spot.right, torch.Tensor):
        return (
            isinstance(spot.output, torch.Tensor)
            and spot.right.dtype is not torch.bool
            and 0 < spot.right.numel() <= common_mistakes.MAX_ENTRIES
            and 0 < spot.output.numel() <= common_mistakes.MAX_ENTRIES
        )
    if isinstance(spot.right, int) and not isinstance(spot.right, bool):
        return type(spot.output) is int and abs(spot.output) < EXACT and abs(spot.right) < EXACT
    return isinstance(spot.right, float) and _float(spot.output) is not None


EXACT = 2**53  # whole numbers below it are themselves as floats


def _float(value: Plain) -> float | None:
    if isinstance(value, torch.Tensor) and value.numel() == 1:
        value = value.item()
    return float(value) if isinstance(value, (int, float)) and not isinstance(value, bool) else None


def _tensors(spot: Spot) -> tuple[torch.Tensor, torch.Tensor]:
    """Both as tensors in float64."""
    if isinstance(spot.right, torch.Tensor):
        assert isinstance(spot.output, torch.Tensor)
        return spot.output.double(), spot.right.double()
    return torch.tensor([_float(spot.output)], dtype=torch.float64), torch.tensor([spot.right], dtype=torch.float64)


def _other_dtype(aspect: Aspect, spot: Spot) -> bool:
    if not isinstance(spot.output, torch.Tensor) or not isinstance(spot.right, torch.Tensor):
        return False
    if spot.output.dtype == spot.right.dtype or spot.output.shape != spot.right.shape:
        return False
    coarser = spot.output.dtype if spot.output.is_floating_point() else spot.right.dtype
    return within(aspect, coarser)(*_tensors(spot))


def _returned_inputs(aspect: Aspect, spot: Spot, inputs: Sequence[Mapping[str, Any]]) -> list[str]:
    """The inputs, by name, that came back as they were."""
    output, _ = _tensors(spot)
    if output.numel() <= 2:
        return []
    return [
        name
        for name, value in tensor_differences.reachable(inputs[spot.case], output.shape)
        if within(aspect)(output, value)
    ]


def _is_unchanged(aspect: Aspect, spot: Spot, inputs: Sequence[Mapping[str, Any]]) -> bool:
    return bool(_returned_inputs(aspect, spot, inputs))


def _returned_part(number: tuple[Aspect, Spot], inputs: Sequence[Mapping[str, Any]]) -> Cause | None:
    """That a part of what was handed in came back, as a weight of a module, where another was asked for."""
    _, spot = number
    name = _returned_inputs(*number, inputs)[0]
    if name.strip("`") in inputs[spot.case]:
        return None
    return Cause(causes.UNCHANGED.name, f"You return {name} as it was handed in. Is that what was asked for?")


def _off_by_an_input(aspect: Aspect, spot: Spot, inputs: Sequence[Mapping[str, Any]]) -> bool:
    output, right = _tensors(spot)
    return (
        output.shape == right.shape
        and output.numel() > 2
        and tensor_differences.off_by(output, right, inputs[spot.case], _near(aspect, spot)) is not None
    )


def _of_another_label(aspect: Aspect, spot: Spot, spots: Spots) -> bool:
    """Whether a place has what is right for another label of the same aspect, at which the answer is right."""
    return tells(spot.output) and any(
        other.case == spot.case
        and other.label != spot.label
        and other.path[1:] == spot.path[1:]
        and not other.wrong
        and same(spot.output, other.right, aspect.atol, aspect.rtol)
        for other in spots[aspect.name]
    )


def _common_transformation(numbers: Sequence[tuple[Aspect, Spot]]) -> Cause | None:
    """One general mistake that turns what is right into what came back, in every place."""
    names: list[str] | None = None
    sure: set[str] = set()  # those of which one place alone tells
    single = [
        (aspect, spot) for aspect, spot in numbers if not isinstance(spot.right, torch.Tensor) or not spot.right.ndim
    ]
    for aspect, spot in numbers:
        if not isinstance(spot.right, torch.Tensor) or not spot.right.ndim:
            continue
        pair = _tensors(spot)
        near = _near(aspect, spot)
        candidates = [mistake.name for mistake in common_mistakes.find_mistakes(*pair, near, alone=False)]
        names = [name for name in candidates if names is None or name in names]
        if not names:
            return None
        sure |= {mistake.name for mistake in common_mistakes.find_mistakes(*pair, near) if mistake.name in names}
    for (aspect, dtype), spots in _group_by_kind(single).items():  # one number tells nothing, several do
        parts = zip(*map(_tensors, spots), strict=True)
        output, right = (torch.cat([number.reshape(1) for number in part]) for part in parts)
        near = within(aspect, dtype)
        candidates = [
            mistake.name
            for mistake in common_mistakes.find_mistakes(output, right, near, alone=False)
            if mistake.entrywise
        ]
        names = [name for name in candidates if names is None or name in names]
        sure |= {
            mistake.name for mistake in common_mistakes.find_mistakes(output, right, near) if mistake.name in names
        }
    name = next((name for name in names or () if name in sure), None)
    return Cause(COMMON_PREFIX + name, common_mistakes.message_of(name)) if name else None


def _group_by_kind(single: Sequence[tuple[Aspect, Spot]]) -> dict[tuple[Aspect, torch.dtype], list[Spot]]:
    """Places with one number each, by aspect and dtype: what is as near there is near for all."""
    groups: dict[tuple[Aspect, torch.dtype], list[Spot]] = {}
    for aspect, spot in single:
        dtype = spot.right.dtype if isinstance(spot.right, torch.Tensor) else torch.float64
        groups.setdefault((aspect, dtype), []).append(spot)
    return groups


def within(aspect: Aspect, dtype: torch.dtype = torch.float64) -> Callable[[torch.Tensor, torch.Tensor], bool]:
    """Whether two tensors of one shape agree as nearly as an aspect asks, or as a dtype can."""
    least = COARSE.get(dtype, 0.0)
    return partial(torch.allclose, rtol=max(aspect.rtol, least), atol=max(aspect.atol, least))


def _near(aspect: Aspect, spot: Spot) -> Callable[[torch.Tensor, torch.Tensor], bool]:
    """Whether two tensors agree as nearly as this place can."""
    return within(aspect, spot.right.dtype if isinstance(spot.right, torch.Tensor) else torch.float64)


def _by_a_factor(numbers: Sequence[tuple[Aspect, Spot]], inputs: Sequence[Mapping[str, Any]]) -> Cause | None:
    """Every number is too large or too small by one of the sizes, which differs between the draws, or by the same factor in all."""
    samples = []
    for aspect, spot in numbers:
        output, right = _tensors(spot)
        if output.shape != right.shape or not bool(right.any()) or not bool(output.any()):
            return None
        factor = float((output * right).sum() / right.square().sum())
        if not math.isfinite(factor) or not factor > 0 or not _near(aspect, spot)(output / factor, right):
            return None
        samples.append(input_relations.Sample(factor, 1.0, inputs[spot.case]))
    factors = [sample.output for sample in samples]
    if max(factors) > (1 + 1e-5) * min(factors):
        if not input_relations.of_factors(samples, roots=False):
            return None
        return causes.MULTIPLIED if factors[0] > 1 else causes.DIVIDED
    enough = sum(_tensors(spot)[0].numel() for _, spot in numbers) > 2
    return causes.FACTOR if enough and abs(factors[0] - 1) > tensor_differences.NEARLY_RIGHT_ERROR else None


def _by_a_constant(numbers: Sequence[tuple[Aspect, Spot]]) -> Cause | None:
    """Every number is off by one and the same number."""
    off: float | None = None
    count = 0
    for aspect, spot in numbers:
        output, right = _tensors(spot)
        if output.shape != right.shape or not _is_float(spot):
            return None
        off = float((output - right).flatten()[0]) if off is None else off
        if not math.isfinite(off) or not _near(aspect, spot)(output - off, right):
            return None
        count += output.numel()
    return causes.CONSTANT if off and count > 2 else None


def _nearly(numbers: Sequence[tuple[Aspect, Spot]]) -> Cause | None:
    """Everything agrees to a few digits, or to those of float32."""
    if not all(_is_float(spot) for _, spot in numbers):
        return None
    pairs = [_tensors(spot) for _, spot in numbers]
    if any(output.shape != right.shape for output, right in pairs):
        return None
    if all(tensor_differences.error_beside_the_largest(*pair) <= tensor_differences.FLOAT32_ERROR for pair in pairs):
        return causes.FLOAT32
    return causes.NEARLY if all(tensor_differences.is_nearly_right(*pair) for pair in pairs) else None


def _off_by_one(numbers: Sequence[tuple[Aspect, Spot]]) -> Cause | None:
    """Every whole number is one too many, or every one is one too few."""
    whole = [
        (spot.output, spot.right) for _, spot in numbers if isinstance(spot.output, int) and isinstance(spot.right, int)
    ]
    if len(whole) < len(numbers) or len({right for _, right in whole}) < 2:
        return None
    return causes.OFF_BY_ONE if {output - right for output, right in whole} in ({1}, {-1}) else None


def _is_float(spot: Spot) -> bool:
    """Whether both are floating-point numbers."""
    return isinstance(spot.right, float) or (
        isinstance(spot.right, torch.Tensor)
        and isinstance(spot.output, torch.Tensor)
        and spot.output.is_floating_point()
        and spot.right.is_floating_point()
    )
