"""From what an answer did to the verdict on it: compared with what is right and with every known mistake.

Called by `check` (with the shipped answers, on public inputs) and by the judge (with the marking guide, on hidden inputs).
"""

from __future__ import annotations

import math
import re
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from typing import Any

import torch

from ffnlab import plain
from ffnlab.exercise import Aspect, Exercise, NotAsAsked, described, failure
from ffnlab.plain import Failure, Opaque, Plain, Size, describe
from ffnlab.verdict import AspectVerdict, Outcome, Verdict, not_attempted
from ffnlab.words import RAISED, counted, sentence

Inputs = dict[str, Any]  # of one case, as the exercise draws them
Observation = dict[str, Plain]  # of one case: what each aspect's probe saw


@dataclass(frozen=True)
class Known:
    """A known wrong answer: the message that names it, and what it does in each case, in the aspects in which it is wrong."""

    name: str
    message: str
    cases: Sequence[Observation]


@dataclass(frozen=True)
class Marking:
    """What one exercise's answers are compared with: the facts of the right answer and of each mistake, case by case.

    sizes: of each aspect that has facts, how much was seen of the right answer at most, in any case: nothing is computed from what
    is many times larger.
    """

    cases: Sequence[Observation]
    mistakes: Sequence[Known] = ()
    sizes: Mapping[str, Size] = field(default_factory=dict)


# How much an answer may show beyond the right one. Its form is often free (a hidden layer's width, say): of all kept right
# answers, the one that shows most has not twice as much.
TIMES_LARGER = 4
ALWAYS_ALLOWED = Size(values=64, bytes=16_384, characters=2_000)


def allowed(right: Size) -> Size:
    """How large an observation may be whose right one is that large."""
    return Size(
        TIMES_LARGER * right.values + ALWAYS_ALLOWED.values,
        TIMES_LARGER * right.bytes + ALWAYS_ALLOWED.bytes,
        TIMES_LARGER * right.characters + ALWAYS_ALLOWED.characters,
    )


def facts(exercise: Exercise, observation: Observation, inputs: Inputs, sizes: Mapping[str, Size]) -> Observation:
    """What is compared of an observation on `inputs`. Facts that can't be computed from it (a wrong shape, say) are themselves a failure.

    sizes: how much is seen of the right answer. Facts may take any power of that, so what is much larger is not looked at.
    """

    def of(aspect: Aspect) -> Plain:
        seen = observation.get(aspect.name, Failure("Missing", "nothing was observed"))
        if aspect.facts is None or isinstance(seen, Failure):
            return seen
        if aspect.name in sizes and plain.size_of(seen).exceeds(allowed(sizes[aspect.name])):
            return Failure("NotAsAsked", "what came back is many times larger than what was asked for")
        try:
            return plain.of(aspect.facts(seen, inputs))
        except NotAsAsked as error:
            return failure(error)
        except Exception as error:
            found = failure(error)
            return Failure("Unusable", f"{found.type}: {found.message}")

    return {aspect.name: of(aspect) for aspect in exercise.aspects}


def marking_of(
    exercise: Exercise,
    truth: Sequence[Observation],
    mistakes: Sequence[tuple[str, str, Sequence[Observation]]],
    inputs: Sequence[Inputs],
) -> Marking:
    """A marking from raw observations of the truth and of (name, message, observations) for each mistake, all on these inputs."""
    sizes = {aspect.name: Size() for aspect in exercise.aspects if aspect.facts is not None}
    for case in truth:
        sizes = {name: size.larger(plain.size_of(case[name])) for name, size in sizes.items()}

    def facts_of(observations: Sequence[Observation]) -> list[Observation]:
        return [facts(exercise, seen, given, sizes) for seen, given in zip(observations, inputs, strict=True)]

    right = facts_of(truth)

    def known(name: str, message: str, cases: Sequence[Observation]) -> Known:
        seen = facts_of(cases)
        wrong = [aspect.name for aspect in exercise.aspects if _first_difference(aspect, seen, right)]
        return Known(name, message, [{aspect: case[aspect] for aspect in wrong} for case in seen])

    return Marking(right, [known(*mistake) for mistake in mistakes], sizes)


def judge(
    exercise: Exercise, marking: Marking, observations: Sequence[Observation], inputs: Sequence[Inputs]
) -> Verdict:
    """The verdict on what an answer was observed to do, case by case, on `inputs`, those that the marking was made on."""
    seen = [facts(exercise, case, given, marking.sizes) for case, given in zip(observations, inputs, strict=True)]
    if _untouched(seen):
        return not_attempted(exercise)
    aspects: list[AspectVerdict] = []
    wrong: list[Aspect] = []
    lost: set[str] = set()
    for aspect in exercise.aspects:
        found = _first_difference(aspect, seen, marking.cases)
        if found:
            wrong.append(aspect)
        elif aspect.needs in lost:
            found = f"This counts once “{aspect.needs}” is right."
        if found:
            lost.add(aspect.name)
        aspects.append(AspectVerdict(aspect.name, 0.0 if found else aspect.points, aspect.points, found))
    if not wrong:
        return Verdict(exercise.name, Outcome.EARNED, tuple(aspects))
    known = _name_mistake(exercise, marking, seen, wrong)
    return Verdict(
        exercise.name,
        Outcome.NOT_EARNED,
        tuple(aspects),
        mistake=known.name if known else None,
        cause=known.message if known else "",
        where=exercise.where,
    )


def _untouched(seen: Sequence[Observation]) -> bool:
    return all(_is_stub(value) for case in seen for value in case.values())


def _is_stub(value: Plain) -> bool:
    """Whether a bare `raise NotImplementedError` was met; torch's own have a message."""
    return isinstance(value, Failure) and value.type == "NotImplementedError" and not value.message


def _first_difference(
    aspect: Aspect, seen: Sequence[Observation], right: Sequence[Observation], words: bool = True
) -> str:
    for mine, theirs in zip(seen, right, strict=True):
        found = difference(mine[aspect.name], theirs[aspect.name], aspect.atol, aspect.rtol, words=words)
        if found:
            return found
    return ""


def _name_mistake(
    exercise: Exercise, marking: Marking, seen: Sequence[Observation], wrong: Sequence[Aspect]
) -> Known | None:
    """The known mistake that explains most of what is wrong (in the aspects `wrong`), weighed by points.

    A mistake explains an aspect if the answer does the same there, in every case. An answer may have this mistake and another one
    besides: then the aspects in which both are wrong need not all agree, but one must, and in numbers: an exception of the same
    kind, or the same True or False, is too little to go by. Where a mistake shows in words alone, it must explain at least half of
    the lost points. An answer that is right where the mistake is wrong has not made it.
    """
    lost = sum(aspect.points for aspect in wrong)

    def explained(known: Known) -> tuple[float, int, bool]:
        its = [aspect for aspect in exercise.aspects if aspect.name in known.cases[0]]
        if any(aspect not in wrong for aspect in its):
            return (0.0, 0, False)
        same = [aspect for aspect in its if not _first_difference(aspect, seen, known.cases, words=False)]
        telling = [aspect for aspect in same if any(_has_numbers(case[aspect.name]) for case in known.cases)]
        if len(same) < len(its):
            same = telling
        points = sum(aspect.points for aspect in same)
        if not telling and 2 * points < lost:
            return (0.0, 0, False)
        return (points, len(same), len(same) == len(its))

    explanations = [(explained(known), known) for known in marking.mistakes]
    (_, count, _), best = max(explanations, key=lambda pair: pair[0], default=((0.0, 0, False), None))
    return best if count else None


def _has_numbers(value: Plain) -> bool:
    if isinstance(value, dict):
        return any(map(_has_numbers, value.values()))
    if isinstance(value, (list, tuple)):
        return any(map(_has_numbers, value))
    if isinstance(value, float):
        return value not in (0.0, 1.0)
    return isinstance(value, torch.Tensor) and value.is_floating_point() and bool(value.any())


COARSE = {
    torch.float32: 1e-5,
    torch.float16: 1e-2,
    torch.bfloat16: 1e-1,
}  # no aspect's tolerance is below that of its dtype

# Comparison. `difference` says in one sentence what differs; it never shows an expected tensor.


def difference(seen: Plain, right: Plain, atol: float, rtol: float, path: str = "", words: bool = True) -> str:
    """What differs first between two plain values, or an empty string.

    words: whether somebody will read it; looking for how two tensors differ takes much longer than seeing that they do.
    """
    at = f"{path}: " if path else ""
    if isinstance(right, Failure):
        if isinstance(seen, Failure):
            return "" if _same_failure(seen, right) else at + _raised(seen)
        return f"{at}an exception was expected here"
    if isinstance(seen, Failure):
        return at + _raised(seen)
    if isinstance(right, torch.Tensor):
        return _tensor_difference(seen, right, atol, rtol, at, words)
    if isinstance(right, (bool, int, float)):
        return _number_difference(seen, right, atol, rtol, at)
    if isinstance(right, dict):
        return _dict_difference(seen, right, atol, rtol, path, words)
    if isinstance(right, (list, tuple)):
        if type(seen) is not type(right):
            return f"{at}{describe(seen)} instead of a {type(right).__name__}"
        assert isinstance(seen, (list, tuple))
        if len(seen) != len(right):
            return f"{at}{counted(len(seen))} instead of {len(right)}"
        for index, (mine, theirs) in enumerate(zip(seen, right, strict=True)):
            found = difference(mine, theirs, atol, rtol, f"{path}[{index}]", words)
            if found:
                return found
        return ""
    if right is None:
        return "" if seen is None else f"{at}{describe(seen)} where nothing was expected"
    if type(seen) is type(right) and seen == right:
        return ""
    return f"{at}{f'“{seen[:40]}”' if isinstance(seen, str) else describe(seen)} is not right"


def _same_failure(one: Failure, other: Failure) -> bool:
    return one.type == other.type and normalised(one.message) == normalised(other.message)


MAX_MESSAGE = 500  # characters; the expressions below take its square at worst


def normalised(message: str) -> str:
    """An exception's message without what changes from run to run: numbers, shapes, addresses, the names of the student's own things."""
    message = re.sub(r"0x[0-9a-fA-F]+", "#", message[:MAX_MESSAGE])
    message = re.sub(r"'[^']*'|`[^`]*`|\"[^\"]*\"", "'…'", message)
    message = re.sub(r"\[[^\[\]]*\]", "[…]", message)
    message = re.sub(r"\b\w+Backward\d*\b", "…Backward", message)
    message = re.sub(r"\b[\w.<>]+\(\)", "…()", message)
    return re.sub(r"\d+x\d+", "#x#", message).strip()


def _raised(error: Failure) -> str:
    if _is_stub(error):
        return "This part still raises NotImplementedError."
    if error.type == "Unusable":
        return f"What came back can't be used ({error.message})."
    if error.type in ("NotAsAsked", "NotAnOption"):
        return error.message
    text = f"{error.type}: {error.message}" if error.message else error.type
    return sentence(f"{RAISED}{text} ({error.line})" if error.line else RAISED + text)


def _dict_difference(seen: Plain, right: dict[str, Any], atol: float, rtol: float, path: str, words: bool) -> str:
    at = f"{path}: " if path else ""
    if not isinstance(seen, dict):
        return f"{at}{describe(seen)} instead of a dict"
    missing, extra = [k for k in right if k not in seen], [k for k in seen if k not in right]
    if missing:
        return f"{at}{_quoted(missing)} {'is' if len(missing) == 1 else 'are'} missing"
    if extra:
        return f"{at}{_quoted(extra)} should not be there"
    for key, theirs in right.items():
        found = difference(seen[key], theirs, atol, rtol, key if not path else f"{path}, {key}", words)
        if found:
            return found
    return ""


def _quoted(names: Sequence[str]) -> str:
    shown = ", ".join(f"“{name[:40]}”" for name in names[:3])
    return f"{shown} and {len(names) - 3} more" if len(names) > 3 else shown


def _number_difference(seen: Plain, right: bool | int | float, atol: float, rtol: float, at: str) -> str:
    if isinstance(seen, torch.Tensor) and seen.ndim == 0:
        seen = seen.item()
    if not isinstance(seen, (bool, int, float)):
        return f"{at}{describe(seen)} instead of a number"
    if isinstance(seen, bool) != isinstance(right, bool):
        return f"{at}{describe(seen)} instead of {'True or False' if isinstance(right, bool) else 'a number'}"
    if isinstance(right, bool):
        if seen == right:
            return ""
        return f"this does not hold: {at.removesuffix(': ')}" if right and at else f"{at}{seen} is not right"
    if isinstance(right, int):
        if isinstance(seen, float):
            return f"{at}the float {seen:g} instead of a whole number (int)"
        return "" if seen == right else f"{at}{seen:,} is not right"
    if seen != seen or right != right:
        return "" if seen != seen and right != right else f"{at}{seen:g} is not right"
    if seen == right or abs(seen - right) <= atol + rtol * abs(right):
        return ""
    hint = ""
    if right and abs(seen + right) <= atol + rtol * abs(right):
        hint = "; only its sign is wrong"
    return f"{at}{seen:.6g} is not right{hint}"


def _tensor_difference(seen: Plain, right: torch.Tensor, atol: float, rtol: float, at: str, words: bool) -> str:
    if not isinstance(seen, torch.Tensor):
        return _instead_of_a_tensor(seen, at)
    if seen.shape != right.shape:
        turned = (
            seen.ndim == 2 and bool(right.any()) and seen.T.shape == right.shape and _close(seen.T, right, atol, rtol)
        )
        return (
            f"{at}shape {list(seen.shape)} instead of {list(right.shape)}"
            f"{'; the values are right but transposed' if turned else ''}"
        )
    if seen.dtype != right.dtype:
        return f"{at}dtype {_dtype(seen)} instead of {_dtype(right)}"
    least = COARSE.get(right.dtype, 0.0)
    atol, rtol = max(atol, least), max(rtol, least)
    if _close(seen, right, atol, rtol):
        return ""
    if not words:
        return "other values"
    clues = _clues(seen, right, atol, rtol)
    return f"{at}{_first_entry(seen, right, atol, rtol)}{'; ' + '; '.join(clues[:2]) if clues else ''}"


def _instead_of_a_tensor(seen: Plain, at: str) -> str:
    """In the same words as a probe's, which then need not be told twice."""
    place, found, leaf = at.removesuffix(": ").rpartition("gradient of ")
    if seen is None and found:
        return f"{place}no gradient reaches {leaf}"
    in_words = isinstance(seen, Opaque) and " " in seen.type  # "a very large int"
    came = describe(seen) if in_words or isinstance(seen, (bool, int, float, str)) else described(seen)
    return f"{at}{came} instead of a tensor"


def _close(seen: torch.Tensor, right: torch.Tensor, atol: float, rtol: float) -> bool:
    if seen.dtype != right.dtype:
        return False
    if torch.equal(seen, right):  # the usual case, and quicker to see; NaN go on
        return True
    return torch.allclose(seen.double(), right.double(), rtol=rtol, atol=atol, equal_nan=True)


def _first_entry(seen: torch.Tensor, right: torch.Tensor, atol: float, rtol: float) -> str:
    if seen.ndim == 0:
        off = float(seen.double() - right.double())
        return f"the value is off by {off:+.3g}" if math.isfinite(seen) else f"{float(seen)} is not right"
    wrong = ~torch.isclose(seen.double(), right.double(), rtol=rtol, atol=atol, equal_nan=True)
    share = f"{int(wrong.sum())} of {wrong.numel()} entries"
    first = tuple(int(index) for index in wrong.nonzero()[0])
    off = float(seen[first].double() - right[first].double())
    place = f"[{', '.join(map(str, first))}]"
    return f"{share} differ, the first at {place}, by {off:+.3g}" if off == off else f"{share} differ, first {place}"


def _clues(seen: torch.Tensor, right: torch.Tensor, atol: float, rtol: float) -> list[str]:
    mine, theirs = seen.double(), right.double()
    clues = []
    if not bool(torch.isfinite(mine).all()) and bool(torch.isfinite(theirs).all()):
        return [] if mine.ndim == 0 else ["there are NaN or infinite values"]
    if not bool(mine.any()):
        clues.append("all values are zero")
    elif _close(-mine, theirs, atol, rtol):
        clues.append("every sign is flipped")
    else:
        scale = float((mine * theirs).sum() / (mine * mine).sum())
        if 1e-6 < abs(scale) < 1e6 and abs(scale - 1) > 1e-3 and _close(scale * mine, theirs, 1e3 * atol, 1e3 * rtol):
            clues.append(_factor(1 / scale))
        shift = (theirs - mine).flatten()
        first = abs(float(shift[0])) if shift.numel() > 1 else 0.0
        if first > max(1e3 * atol, 1e-4) and bool((shift - shift[0]).abs().max() <= 1e-4 * first):
            clues.append("every entry is off by the same amount")
    square = mine.ndim == 2 and mine.shape[0] == mine.shape[1] and mine.shape[0] > 1
    if square and _close(mine.T, theirs, atol, rtol):
        clues.append("the matrix is transposed")
    return clues


def _factor(factor: float) -> str:
    if factor < 0:
        return f"everything is multiplied by {factor:.4g}"
    if factor < 1:
        return f"everything is {1 / factor:.4g} times too small"
    return f"everything is {factor:.4g} times too large"


def _dtype(tensor: torch.Tensor) -> str:
    return str(tensor.dtype).removeprefix("torch.")
