"""What differs between what came back and what is right, value by value, and the same in words. No word shows a value that was expected,
beyond its sign and whether it is zero.

Called by `comparison`. What came back is a submission's: its parts are looked at one by one as far as they have the form of what is right,
so that no more is computed than what is right is large.
"""

from __future__ import annotations

import math
import re
from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from typing import Any

import torch

from ffnlab.diagnosis import common_mistakes, input_relations, tensor_differences
from ffnlab.observation.exercise import Aspect, describe_result
from ffnlab.observation.plain_data import Failure, Opaque, Plain, describe
from ffnlab.phrases import (
    LINE,
    RAISED,
    TYPE,
    cut,
    in_quotes,
    join_words,
    plural,
    quote,
    sentence,
    without_delimiters,
)

Facts = Mapping[str, Plain]  # of one case: what is compared of each aspect's observation
Path = tuple[str | int, ...]  # into dicts, lists and tuples


@dataclass(frozen=True, eq=False)
class Spot:
    """One place in the facts of an aspect: a value that has no parts, or not the parts that the right one has."""

    aspect: str
    case: int
    path: Path
    output: Plain
    right: Plain
    wrong: bool

    @property
    def label(self) -> str:
        """Which of several things that an aspect looks at this belongs to; empty where it looks at one."""
        return self.path[0] if self.path and isinstance(self.path[0], str) else ""


def spots(aspect: Aspect, answer_facts: Sequence[Facts], right_facts: Sequence[Facts]) -> list[Spot]:
    """Every place of one aspect, case by case."""
    return [
        Spot(aspect.name, case, path, mine, theirs, not same(mine, theirs, aspect.atol, aspect.rtol))
        for case, (facts, right) in enumerate(zip(answer_facts, right_facts, strict=True))
        for path, mine, theirs in places(facts[aspect.name], right[aspect.name])
    ]


def places(output: Plain, right: Plain, path: Path = ()) -> Iterator[tuple[Path, Plain, Plain]]:
    """The parts of both, as deep as they have the same form."""
    if isinstance(right, dict) and isinstance(output, dict) and right.keys() == output.keys() and right:
        for key, theirs in right.items():
            yield from places(output[key], theirs, (*path, key))
    elif isinstance(right, (list, tuple)) and type(output) is type(right) and len(output) == len(right) > 0:
        for index, (mine, theirs) in enumerate(zip(output, right, strict=True)):
            yield from places(mine, theirs, (*path, index))
    else:
        yield path, output, right


# No aspect's tolerance is below that of its dtype.
COARSE = {torch.float32: 1e-5, torch.float16: 1e-2, torch.bfloat16: 1e-1}


def same(output: Plain, right: Plain, atol: float, rtol: float, exactly: bool = False) -> bool:
    """Whether two places agree. `exactly`: exceptions count as the same only with the same numbers and types in their messages."""
    if isinstance(right, Failure):
        text = distinguishing_message if exactly else normalise_message
        return isinstance(output, Failure) and output.type == right.type and text(output.message) == text(right.message)
    if isinstance(right, torch.Tensor):
        return isinstance(output, torch.Tensor) and output.shape == right.shape and _close(output, right, atol, rtol)
    if isinstance(right, (bool, int, float)):
        return _same_number(output, right, atol, rtol)
    # `places` goes into those of one form; what is left has another, or is empty.
    if isinstance(right, (dict, list, tuple)):
        return type(output) is type(right) and len(output) == len(right) == 0
    return type(output) is type(right) and output == right


def _same_number(output: Plain, right: bool | int | float, atol: float, rtol: float) -> bool:
    if isinstance(output, torch.Tensor) and output.ndim == 0:
        output = output.item()
    if not isinstance(output, (bool, int, float)) or isinstance(output, bool) != isinstance(right, bool):
        return False
    if isinstance(right, (bool, int)):
        return output == right and not isinstance(output, float)
    if output != output or right != right:
        return output != output and right != right
    if not math.isfinite(right):  # any number would be within a tolerance that grows with it
        return output == right
    return output == right or (_is_small(output) and abs(output - right) <= atol + rtol * abs(right))


def _is_small(number: float) -> bool:
    """Whether it is not too large an int to be told from floats."""
    return isinstance(number, float) or number.bit_length() < 1000


def _close(output: torch.Tensor, right: torch.Tensor, atol: float, rtol: float) -> bool:
    """Whether two tensors of one shape agree, also in their dtype."""
    if output.dtype != right.dtype:
        return False
    if torch.equal(output, right):  # the usual case, and quicker to see; NaN go on
        return True
    atol, rtol = _tolerance(right, atol, rtol)
    mine, theirs = (float(tensor.flatten()[0]) if tensor.numel() else 0.0 for tensor in (output, right))
    if abs(mine - theirs) > atol + rtol * abs(theirs):  # the usual case where many mistakes are tried; NaN go on
        return False
    return torch.allclose(output.double(), right.double(), rtol=rtol, atol=atol, equal_nan=True)


def _tolerance(right: torch.Tensor, atol: float, rtol: float) -> tuple[float, float]:
    least = COARSE.get(right.dtype, 0.0)
    return max(atol, least), max(rtol, least)


MAX_MESSAGE = 500  # characters; the expressions below take its square at worst


def normalise_message(message: str) -> str:
    """An exception's message without what changes from run to run: numbers, shapes, addresses, the names of the student's own things."""
    message = re.sub(r"0x[0-9a-fA-F]+", "#", message[:MAX_MESSAGE])
    message = re.sub(r"'[^']*'|`[^`]*`|\"[^\"]*\"", "'…'", message)
    message = re.sub(r"\[[^\[\]]*\]", "[…]", message)
    message = _without_functions(message)
    return re.sub(r"\d+x\d+", "#x#", message).strip()


def distinguishing_message(message: str) -> str:
    """An exception's message with what tells one mistake from another on the same inputs: sizes, and types as in "'list' object"."""
    message = re.sub(r"0x[0-9a-fA-F]+", "#", message[:MAX_MESSAGE])
    if "operand type(s)" not in message:
        message = re.sub(r"(?<!of type )'[^']*'(?! object)|`[^`]*`|\"[^\"]*\"", "'…'", message)
    return _without_functions(message).strip()


def _without_functions(message: str) -> str:
    message = re.sub(r"\b\w+Backward\d*\b", "…Backward", message)
    return re.sub(r"\b[\w.<>]+\(\)", "…()", message)


# In words.


def difference(output: Plain, right: Plain, atol: float, rtol: float) -> str:
    """What differs first between two plain values, or an empty string."""
    for path, mine, theirs in places(output, right):
        if not same(mine, theirs, atol, rtol):
            spot = Spot("", 0, path, mine, theirs, True)
            return without_delimiters(_sentence(path_in_words(path), spot, _Around([spot], [{}], atol, rtol)))
    return ""


def describe_differences(aspect: Aspect, aspect_spots: Sequence[Spot], inputs: Sequence[Mapping[str, Any]]) -> str:
    """What is wrong first in one aspect, and where it is right nevertheless; an empty string where nothing is wrong.

    inputs: of each case, to which what is wrong is related. What came from the answer as words stands between delimiters, see `phrases.quote`.
    """
    first = next((spot for spot in aspect_spots if spot.wrong), None)
    if first is None:
        return ""
    around = _Around(list(aspect_spots), inputs, aspect.atol, aspect.rtol)
    return _sentence(_contrast(first, around), first, around)


@dataclass
class _Around:
    """What a place is seen beside: all places of its aspect, the inputs of each case, and how near is near enough."""

    spots: list[Spot]
    inputs: Sequence[Mapping[str, Any]]
    atol: float
    rtol: float
    labels: list[str] = field(init=False)

    def __post_init__(self) -> None:
        self.labels = list(dict.fromkeys(spot.label for spot in self.spots if spot.label))

    def of_path(self, path: Path) -> list[Spot]:
        return [spot for spot in self.spots if spot.path == path]

    def wrong(self, label: str) -> bool:
        return any(spot.wrong for spot in self.spots if spot.label == label)

    def close(self, output: torch.Tensor, right: torch.Tensor) -> bool:
        return torch.allclose(output, right, rtol=self.rtol, atol=self.atol)

    def near(self, right: torch.Tensor) -> _Around:
        """With the tolerance of a dtype."""
        atol, rtol = _tolerance(right, self.atol, self.rtol)
        return _Around(self.spots, self.inputs, atol, rtol)


def path_in_words(path: Path) -> str:
    """A path as a student reads it: "x of shape [T], gradient of W1[0]"."""
    text = ""
    for part in path:
        text += f"[{part}]" if isinstance(part, int) else f", {part}" if text else part
    return text


def is_slope(spot: Spot) -> bool:
    """Whether a place holds a gradient, which what is wrong with the values changes in another way."""
    return any(str(part).startswith("gradient of ") for part in spot.path)


MAX_LABELS = 2  # labels in one sentence
MAX_CLAIMS = 6  # that are not true, in one sentence: what a student has to mend is told in full


def _contrast(first: Spot, around: _Around) -> str:
    """Where the first wrong place is, whether others are wrong as well, and what is right: a label alone would read as a cause."""
    place = path_in_words(first.path)
    notes: list[str] = []
    if first.label:
        others = [
            label
            for label in around.labels
            if label != first.label and around.wrong(label) and not _is_reason(label, around)
        ]
        right = [label for label in around.labels if not around.wrong(label) and not _is_promise(label, around)]
        wherever = _shared_part([first.label, *others], right)
        if wherever:
            place += f", and in every case with {in_quotes(wherever)}"
        elif others and not right:
            place += ", and in the other case" if len(others) == 1 else f", and in {_all(len(others))} other cases"
        elif others:
            place += (
                f", also {_quote_all(others)}" if len(others) <= MAX_LABELS else f", and in {len(others)} other cases"
            )
        right = [label for label in right if not _is_clause(label, around)]
        if right and not wherever:
            notes.append(f"right: {_quote_all(right)}")
    notes += filter(None, [_on_some_draws(first, around)])
    return f"{place} ({'; '.join(notes)})".lstrip() if notes else place


def _all(count: int) -> str:
    return "both" if count == 2 else f"all {count}"


def _is_promise(label: str, around: _Around) -> bool:
    """Whether a label only says that something is as it should be, such as "x is left as it was"."""
    return all(spot.right is True for spot in around.spots if spot.label == label)


def _is_reason(label: str, around: _Around) -> bool:
    """Whether a label only says why something else is wrong, in words that are empty where nothing is: that is no case of its own."""
    return all(isinstance(spot.right, str) and not spot.right for spot in around.spots if spot.label == label)


def _is_clause(label: str, around: _Around) -> bool:
    """Whether a label is a clause, such as "gate_proj has a bias" or "making it with n = 0 raises", and no name of a case: that is not "right"."""
    return label.endswith(" raises") or all(
        isinstance(spot.right, bool) for spot in around.spots if spot.label == label
    )


def _shared_part(wrong: Sequence[str], right: Sequence[str]) -> str:
    """A part between commas that all wrong labels have, at least two, and no right one, of which there are some."""
    if len(wrong) < 2 or not right:
        return ""
    parts = {part for label in right for part in label.split(", ")}
    for part in wrong[0].split(", "):
        if part not in parts and all(part in label.split(", ") for label in wrong):
            return part
    return ""


def _on_some_draws(first: Spot, around: _Around) -> str:
    """Whether the place is right in other draws, and what these have in common."""
    here = around.of_path(first.path)
    right = [spot.case for spot in here if not spot.wrong]
    if not right:
        return ""
    wrong = [spot.case for spot in here if spot.wrong]
    return _common(right, wrong, around.inputs) or f"right for {len(right)} of {len(here)} sets of inputs"


def _common(right: Sequence[int], wrong: Sequence[int], inputs: Sequence[Mapping[str, Any]]) -> str:
    """What the inputs of the right draws have in common, and of no wrong one: a word, or two sizes that are equal."""
    every = [dict(tensor_differences.named_inputs(case_inputs)) for case_inputs in inputs]
    for name, value in every[wrong[0]].items():
        if isinstance(value, (str, bool)):
            values = [case_inputs.get(name) for case_inputs in every]
            if not {values[case] for case in right} & {values[case] for case in wrong}:
                return f"right where `{name}` is {' or '.join(sorted({str(values[case]) for case in right}))}"
    sizes = [_sizes_of(case_inputs) for case_inputs in every]
    names = [name for name in sizes[0] if all(name in size for size in sizes)]
    for index, first in enumerate(names):
        for second in names[index + 1 :]:
            equal = {case for case, size in enumerate(sizes) if size[first] == size[second]}
            if set(right) <= equal and not set(wrong) & equal:
                return f"right where {first} is as large as {second}"
    return ""


def _sizes_of(inputs: Mapping[str, Any]) -> dict[str, int]:
    """The dimensions of the inputs, by name."""
    return {
        f"dimension {dim} of `{name}`": size
        for name, value in list(inputs.items())[: input_relations.MAX_NAMES]
        if isinstance(value, torch.Tensor)
        for dim, size in enumerate(value.shape)
    }


def _sentence(place: str, spot: Spot, around: _Around) -> str:
    """What came back at a place, in one sentence. place: in words, before the sentence; empty where there is only one."""
    prefix = f"{place}: " if place else ""
    output, right = spot.output, spot.right
    if isinstance(output, Failure):
        return prefix + _exception_sentence(output)
    if isinstance(right, Failure):
        return f"{prefix}an exception was expected here"
    if isinstance(right, torch.Tensor):
        if not isinstance(output, torch.Tensor):
            return _instead_of_a_tensor(output, spot, place)
        return prefix + _tensors(output, right, spot, around.near(right)) + _elsewhere(spot, around)
    if isinstance(right, bool):
        return _truth(output, right, spot, place, around)
    if isinstance(right, (int, float)):
        return prefix + _number(output, right, spot, around)
    if isinstance(right, dict):
        return prefix + _dicts(output, right)
    if isinstance(right, (list, tuple)):
        if type(output) is not type(right):
            return f"{prefix}{_describe_output(output)} came back instead of a {type(right).__name__}"
        return f"{prefix}{plural(len(output), 'value')} came back instead of {len(right)}"
    if right is None:
        return f"{prefix}{_describe_output(output)} came back where nothing was expected"
    if isinstance(output, str) and DIAGNOSIS.match(output):
        return f"{prefix}{quote(cut(output, 80))}"
    if right == "" and isinstance(output, str):  # a reason, which is empty where all is right
        return f"{prefix}“{quote(cut(output, 80))}”"
    what = f"“{quote(cut(output, 40))}”" if isinstance(output, str) else _describe_output(output)
    return f"{prefix}{what} is not right" + _elsewhere(spot, around)


def is_stub(value: Plain) -> bool:
    """Whether a bare `raise NotImplementedError` was met; torch's own have a message."""
    return isinstance(value, Failure) and value.type == "NotImplementedError" and not value.message


def _exception_sentence(error: Failure) -> str:
    if is_stub(error):
        return "This part still raises NotImplementedError."
    if error.type == "Unusable":
        kind, _, words = error.message.partition(": ")
        return f"What came back can't be used ({quote(kind, TYPE)}: {quote(words)})."
    if error.type in ("NotAsAsked", "NotAnOption"):
        return quote(error.message)
    return sentence(RAISED + describe_exception(error))


def describe_exception(error: Failure) -> str:
    """An exception with its message and its line, as far as there are any; all three are a student's words."""
    text = quote(error.type, TYPE) + (f": {quote(error.message)}" if error.message else "")
    return f"{text} ({quote(error.line, LINE)})" if error.line else text


def _describe_output(output: Plain) -> str:
    return quote(describe(output)) if isinstance(output, (str, Failure, Opaque)) else describe(output)


def _instead_of_a_tensor(output: Plain, spot: Spot, place: str) -> str:
    """In the same words as a probe's, which then need not be told twice."""
    prefix = f"{place}: " if place else ""
    own = path_in_words(spot.path)
    label, separator, leaf = own.partition("gradient of ")
    if output is None and separator:
        others, none = place.removeprefix(own), f"no gradient reaches {leaf}"
        return f"{label.removesuffix(', ')}{others}: {none}" if label else none + others
    in_words = isinstance(output, Opaque) and " " in output.type  # "a very large int"
    is_plain = in_words or isinstance(output, (bool, int, float, str))
    phrase = f"{describe(output)} came back" if is_plain else describe_result(output)
    return f"{prefix}{quote(phrase) if isinstance(output, (str, Opaque)) else phrase} instead of a tensor"


PROMISE = re.compile(r"(.*) (is|are) left as (?:it was|they were)")
DIAGNOSIS = re.compile(r"your [a-z]+: ")  # of an answer; it is true, so it is told as it is
YOURS = re.compile(r"(your .+?) (is|are) (.+)")  # a clause about the answer, which is denied in its own words


def _truth(output: Plain, right: bool, spot: Spot, place: str, around: _Around) -> str:
    prefix = f"{place}: " if place else ""
    if isinstance(output, torch.Tensor) and output.ndim == 0:
        output = output.item()
    if not isinstance(output, bool):
        return f"{prefix}{_describe_output(output)} came back instead of True or False"
    if not right or not place:
        return f"{prefix}{output} is not right"
    own = path_in_words(spot.path)
    *before, last = spot.path
    match = PROMISE.fullmatch(str(last))
    if match:
        clause = f"{match[1]} {'was' if match[2] == 'is' else 'were'} changed"
        return f"{path_in_words(tuple(before))}: {clause}" if before else clause
    yours = YOURS.fullmatch(own)
    if yours and right and not output:
        return f"{yours[1]} {yours[2]} not {yours[3]}{place.removeprefix(own)}"
    false_labels = dict.fromkeys(
        path_in_words(other.path)
        for other in around.spots
        if other.wrong and other.right is True and other.output is False
    )
    if len(false_labels) > 1:
        return f"{_quote_all(list(false_labels), MAX_CLAIMS)} are not true"
    return f"{in_quotes(own)} is not true{place.removeprefix(own)}"


def _number(output: Plain, right: int | float, spot: Spot, around: _Around) -> str:
    if isinstance(output, torch.Tensor) and output.ndim == 0:
        output = output.item()
    if isinstance(output, bool) or not isinstance(output, (int, float)):
        return f"{_describe_output(output)} came back instead of a number"
    if isinstance(right, int) and isinstance(output, float):
        return f"the float {output:g} came back instead of an int" + ("; its value is right" if output == right else "")
    samples = [
        input_relations.Sample(_item(other.output), other.right, around.inputs[other.case])  # type: ignore[arg-type]
        for other in around.of_path(spot.path)
        if other.wrong
    ]
    number_text = f"{output:,}" if isinstance(output, int) else f"{output:.6g}"
    elsewhere = _elsewhere(spot, around)
    relation = "" if elsewhere else input_relations.of_numbers(samples)
    if (
        not elsewhere
        and not relation
        and isinstance(right, float)
        and isinstance(output, float)
        and math.isfinite(output)
    ):
        relation = _digits(output, right)
    return f"{number_text} {relation}" if relation else f"{number_text} is not right{elsewhere}"


def _digits(output: float, right: float) -> str:
    tensors = [torch.tensor([number], dtype=torch.float64) for number in (output, right)]
    digits = tensor_differences.right_digits(*tensors)
    return f"is {digits} only" if digits else ""


def _item(value: Plain) -> Plain:
    return value.item() if isinstance(value, torch.Tensor) and value.ndim == 0 else value


def _clause(clue: str) -> str:
    return f"; {clue}" if clue else ""


def _dicts(output: Plain, right: dict[str, Any]) -> str:
    if not isinstance(output, dict):
        return f"{_describe_output(output)} came back instead of a dict"
    missing, extra = [k for k in right if k not in output], [k for k in output if k not in right]
    if missing:
        return f"{_quote_all(missing, 3)} {'is' if len(missing) == 1 else 'are'} missing"
    return f"{_quote_all(extra, 3, quote)} should not be there"


def _quote_all(names: Sequence[str], most: int = MAX_LABELS, delimit: Callable[[str], str] = str) -> str:
    quotations = [in_quotes(delimit(cut(name, 60))) for name in names[:most]]
    return f"{', '.join(quotations)} and {len(names) - most} more" if len(names) > most else join_words(quotations)


# Tensors.


def _tensors(output: torch.Tensor, right: torch.Tensor, spot: Spot, around: _Around) -> str:
    if output.shape != right.shape:
        return f"the shape is {list(output.shape)} instead of {list(right.shape)}{_clause(_despite_shape(output, right, spot, around))}"
    if output.dtype != right.dtype:
        near = _close(output.double(), right.double(), *_tolerance(output, around.atol, around.rtol))
        text = f"the dtype is {_dtype(output)} instead of {_dtype(right)}"
        return f"{text}; the values are right" if near and right.ndim > 0 else text
    if output.ndim == 0 and right.is_floating_point():
        return _single(float(output), float(right), spot, around)
    mine, theirs = output.double(), right.double()
    wrong = ~torch.isclose(mine, theirs, rtol=around.rtol, atol=around.atol, equal_nan=True)
    count = int(wrong.sum())
    share = _share(count, wrong.numel())
    clue = _relation(output, right, spot, around)
    if clue:
        return f"{share}; {clue}"
    first = tuple(int(index) for index in wrong.nonzero()[0])
    place = ""
    if wrong.numel() > 1:
        place = f", the first at {list(first)}" if count > 1 else f", at {list(first)}"
    off = float(mine[first] - theirs[first])
    by = f" by {off:+.3g}" if math.isfinite(off) and right.is_floating_point() else ""
    return f"{share}{place}{by}{tensor_differences.which(wrong, output, right, around.inputs[spot.case])}"


def _share(count: int, of: int) -> str:
    if of == 1:
        return "the only entry differs"
    if count == of:
        return f"{_all(of)} entries differ"
    return f"{count} of {of} entries {'differs' if count == 1 else 'differ'}"


def _single(output: float, right: float, spot: Spot, around: _Around) -> str:
    if not math.isfinite(output):
        return f"{output} is not right"
    samples = [
        input_relations.Sample(float(other.output), float(other.right), around.inputs[other.case])
        for other in around.of_path(spot.path)
        if other.wrong
        and isinstance(other.output, torch.Tensor)
        and isinstance(other.right, torch.Tensor)
        and other.output.ndim == 0
    ]
    relation = input_relations.of_numbers(samples) or _digits(output, right)
    return f"the value {relation}" if relation else f"the value is off by {output - right:+.3g}"


def _despite_shape(output: torch.Tensor, right: torch.Tensor, spot: Spot, around: _Around) -> str:
    """What is right of the values although the shape is not, or what they are instead."""
    if output.dtype is torch.bool or not bool(right.any()) or not 0 < output.numel() <= common_mistakes.MAX_ENTRIES:
        return ""
    mine, theirs = output.double(), right.double()
    if output.squeeze().shape == right.squeeze().shape and around.close(mine.squeeze(), theirs.squeeze()):
        many = (
            "one too many"
            if output.ndim > right.ndim
            else "missing"
            if output.ndim < right.ndim
            else "in another place"
        )
        return f"the values are right, an axis of size 1 is {many}"
    for mistake in common_mistakes.find_mistakes(output, right, around.close):
        return mistake.clue
    if output.numel() == right.numel() and around.close(mine.flatten(), theirs.flatten()):
        return "the values are right"
    return _an_input(output, spot, around)


def _an_input(output: torch.Tensor, spot: Spot, around: _Around) -> str:
    """Which input came back as it was, if one did."""
    for name, value in tensor_differences.reachable(around.inputs[spot.case], output.shape):
        if output.numel() > 2 and around.close(output.double(), value):
            return f"what came back is {name}, unchanged"
    return ""


def _relation(output: torch.Tensor, right: torch.Tensor, spot: Spot, around: _Around) -> str:
    """How all entries follow from the right ones, or from an input; or nothing."""
    if output.dtype is torch.bool:
        return "True and False have changed places" if output.numel() > 1 and torch.equal(output, ~right) else ""
    if not bool(torch.isfinite(output.double()).all()) and bool(torch.isfinite(right.double()).all()):
        nan = output.isnan()
        kind = "NaN" if bool(nan.all()) else "NaN or infinite" if bool(nan.any()) else "infinite"
        return f"they are all {kind}" if output.numel() > 1 and bool((~torch.isfinite(output)).all()) else ""
    clue = next((mistake.clue for mistake in common_mistakes.find_mistakes(output, right, around.close)), "")
    if clue or not right.is_floating_point():
        return clue
    factor = _factor(output, right, around)
    if factor is not None:
        return _in_words(factor, "everything is", spot, _factor, around)
    factor = _sharpness(output, right, around)
    if factor is not None:
        return _in_words(factor, "as if the scores before the softmax were", spot, _sharpness, around)
    return (
        _an_input(output, spot, around)
        or _a_term(output, right, spot, around)
        or next(tensor_differences.how(output, right, around.close, of_values=not is_slope(spot)), "")
    )


def _a_term(output: torch.Tensor, right: torch.Tensor, spot: Spot, around: _Around) -> str:
    """Whether an input, or a multiple of it, is there too often or too seldom."""
    term = tensor_differences.off_by(output.double(), right.double(), around.inputs[spot.case], around.close)
    if term is None:
        return ""
    name, times = term
    if abs(abs(times) - 1) < 1e-6:
        return f"{name} is {'added once too often' if times > 0 else 'missing once'}"
    return f"everything is off by {times:.4g} times {name}"


def _factor(output: torch.Tensor, right: torch.Tensor, around: _Around) -> float | None:
    """By what everything is multiplied, if it is, all at the usual tolerance."""
    mine, theirs = output.double(), right.double()
    if int((theirs != 0).sum()) < 2 or not bool(mine.any()):
        return None
    factor = float((mine * theirs).sum() / (theirs * theirs).sum())
    if not math.isfinite(factor) or not 1e-6 < abs(factor) < 1e6 or not around.close(mine / factor, theirs):
        return None
    return factor


def _sharpness(output: torch.Tensor, right: torch.Tensor, around: _Around) -> float | None:
    return tensor_differences.sharpness(output.double(), right.double(), around.close)


Measure = Callable[[torch.Tensor, torch.Tensor, _Around], float | None]


def _in_words(factor: float, what: str, spot: Spot, measure: Measure, around: _Around) -> str:
    """A factor, and what it has to do with the inputs, where `measure` finds one in all draws."""
    if factor < 0:
        text = f"{what} multiplied by {factor:.4g}"
    elif abs(factor - 1) < 5e-3:
        text = f"{what} nearly right, but multiplied by a number close to 1"
    else:
        text = f"{what} {1 / factor:.4g} times too small" if factor < 1 else f"{what} {factor:.4g} times too large"
    samples = []
    for other in around.of_path(spot.path):
        if other.wrong and isinstance(other.output, torch.Tensor) and isinstance(other.right, torch.Tensor):
            is_comparable = other.output.shape == other.right.shape and other.output.dtype == other.right.dtype
            other_factor = measure(other.output, other.right, around) if is_comparable else None
            if other_factor is None:
                return text
            samples.append(input_relations.Sample(other_factor, 1.0, around.inputs[other.case]))
    clause = input_relations.of_factors(samples)
    return f"{text}, and {clause}" if clause else text


def _dtype(tensor: torch.Tensor) -> str:
    return str(tensor.dtype).removeprefix("torch.")


# Beside the right answers of other arguments.


DUST = 1e-12  # what is smaller is a rounding error of something that is zero


def tells(value: Plain) -> bool:
    """Whether a value could not be met by chance: numbers that are not all 0 or 1, a mask of some length."""
    if isinstance(value, torch.Tensor):
        if value.numel() > common_mistakes.MAX_ENTRIES:
            return True
        if value.numel() == 0 or (value.is_floating_point() and bool(value.isnan().any())):
            return False
        first = value.flatten()[0]
        if bool((value == first).all()):
            return tells(first.item())
        return bool(value.abs().max() > DUST) if value.is_floating_point() else value.numel() >= 8
    if isinstance(value, float):
        return math.isfinite(value) and min(abs(value), abs(value - 1)) > DUST
    return isinstance(value, int) and not isinstance(value, bool) and abs(value) > 12


def _elsewhere(spot: Spot, around: _Around) -> str:
    """Whether what came back is what is right for another label or another draw, or is the same as for another label."""
    if not spot.label or not tells(spot.output):
        return ""
    candidates = [
        other for other in around.spots
        if other.case == spot.case and other.label != spot.label and other.path[1:] == spot.path[1:]
        and not same(other.right, spot.right, around.atol, around.rtol)
    ]  # fmt: skip
    for other in candidates:
        if same(spot.output, other.right, around.atol, around.rtol):
            return f"; that would be right for {in_quotes(cut(other.label, 60))}"
    for other in candidates:
        if same(spot.output, other.output, around.atol, around.rtol):
            return f"; the same came back for {in_quotes(cut(other.label, 60))}"
    return ""
