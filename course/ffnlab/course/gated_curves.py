"""Six functions of one number, for `gate_or_flag` of notebook 07: what a gated network of one or two neurons makes of them, and where it fails.

A neuron is five numbers, (gate slope, gate offset, up slope, up offset, down), and gives act(gate · x + offset) · (up · x + offset) · down.
Which of the six can be done is not said here.
"""

from __future__ import annotations

import itertools
from collections.abc import Callable
from typing import Any, NamedTuple

import torch
import torch.nn.functional as F

from ffnlab.course.counterexample import numbers
from ffnlab.observation.exercise import NotAsAsked, describe_result
from ffnlab.observation.plain_data import Failure
from ffnlab.phrases import join_words

Tensor = torch.Tensor
Function = Callable[[Tensor], Tensor]

ACTIVATIONS: dict[str, Function] = {
    "glu": torch.sigmoid,
    "bilinear": lambda gate: gate,
    "reglu": torch.relu,
    "geglu": F.gelu,
    "swiglu": F.silu,
}
CURVES: dict[str, Function] = {
    "x * abs(x)": lambda x: x * x.abs(),
    "tanh(x)": torch.tanh,
    "sign(x)": torch.sign,
    "max(1 - x**2, 0)": lambda x: (1 - x**2).clamp(min=0),
    "min(abs(x), 1)": lambda x: x.abs().clamp(max=1),
    "x**3": lambda x: x**3,
}
REASONS = {  # by letter, what a flag says of a function
    "A": "more neurons could do it",
    "B": "no parabola or line far out",
    "C": "it jumps",
}
MOST_NEURONS = 2

# Places from −10⁶ to 10⁶, and as near 0 and 1 and −1, where the corners are, as 10⁻⁴.
_NEAR = 10 ** (torch.arange(-16, 0).double() / 4)
_FAR = 10 ** (torch.arange(0, 25).double() / 4)
_RIGHT = torch.cat([_NEAR, 1 - _NEAR, 1 + _NEAR, _FAR, torch.arange(1, 33).double() / 8])
PLACES = torch.tensor(sorted({0.0, *_RIGHT.tolist(), *(-_RIGHT).tolist()}), dtype=torch.float64)
EQUAL = 1e-9  # of the function, or of 1 where that is more
ROUNDING = 1e-14  # of all that is added up: far out two neurons may cancel numbers of 10¹²
CLOSE = 0.05  # of the function, or of 1 where that is more
SMALL_NUMBERS = (-2.0, -1.0, -0.5, 0.5, 1.0, 2.0)  # that may have been meant in place of a wrong one
OFFSETS = (1, 3)  # their columns in a network's neurons
AROUND_ZERO = 0.05  # what is taken to be very close to 0
INSIDE = 3.0  # how far a fit on a part of the line is taken to reach

# Where a network fails, in a few words; empty where it does not.
SWAPPED = "right once gate and up change places"
TURNED = "right with the other sign"
SCALED = "off by the same factor at every x"
ANOTHER_KIND = "right with another kind of gate"
SILENT = "a neuron gives 0 at every x"
SHIFTED = "off by the same number at every x"
RIGHT_SIDE = "right for x ≥ 0, wrong further left"
LEFT_SIDE = "right for x ≤ 0, wrong further right"
MIDDLE = "right between −1 and 1, but not everywhere beyond"
NEAR = "near it at every x, but not equal"
NO_OFFSET = "right but for an offset that is missing"
ONE_NUMBER = "right but for one number"
NEAR_INSIDE = "near it between −3 and 3, but not everywhere beyond"
NEAR_OUTSIDE = "near it beyond −3 and 3, but not everywhere between"
NEAR_BUT_AT_ZERO = "near it except very close to 0"
DOUBLE_IN_THE_MIDDLE = "twice as high as it should be between −1 and 1"


class Network(NamedTuple):
    """A gated network of one number."""

    kind: str
    neurons: Tensor  # [n, 5]

    def terms(self, x: Tensor) -> Tensor:
        """What each neuron adds at each x: [n, len(x)]."""
        gate_slope, gate_offset, up_slope, up_offset, down = (column[:, None] for column in self.neurons.T)
        gate = ACTIVATIONS[self.kind](gate_slope * x + gate_offset)
        terms: Tensor = gate * (up_slope * x + up_offset) * down
        return terms

    def with_swapped_branches(self, which: tuple[bool, ...]) -> Network:
        """Gate and up change places in some neurons."""
        swapped = self.neurons[:, [2, 3, 0, 1, 4]]
        return self._replace(neurons=torch.where(torch.tensor(which)[:, None], swapped, self.neurons))

    def with_another_number(self, row: int, column: int, number: float) -> Network:
        neurons = self.neurons.clone()
        neurons[row, column] = number
        return self._replace(neurons=neurons)


def read(answer: Any, name: str) -> Network | str:
    """What an answer says of one function, from plain data: a network, or the letter of a reason.

    Raises:
        NotAsAsked: it is something else.
    """
    if isinstance(answer, Failure):
        raise NotAsAsked(f"nothing is said of {name} yet" if answer.type == "NotImplementedError" else answer.message)
    if isinstance(answer, str):
        letter = answer.strip().upper()
        if letter not in REASONS:
            raise NotAsAsked(f"{answer!r} is none of the reasons {join_words(list(REASONS))}")
        return letter
    if not isinstance(answer, (tuple, list)) or not answer:
        raise NotAsAsked(f"{describe_result(answer)}; a letter, or (kind, neuron, …) was expected")
    kind, *rows = answer
    if not isinstance(kind, str) or kind.strip().lower() not in ACTIVATIONS:
        raise NotAsAsked(f"a network begins with its kind, one of {', '.join(ACTIVATIONS)}")
    return Network(kind.strip().lower(), _read_neurons(rows))


def outputs(network: tuple[Any, ...], x: Tensor) -> Tensor:
    """What a network (kind, neuron, …) gives for the numbers x [n], to draw its curve."""
    said = read(network, "it")
    if isinstance(said, str):
        raise NotAsAsked("a flag has no curve")
    return said.terms(x).sum(0)


def _read_neurons(rows: list[Any]) -> Tensor:
    """Neurons [n, 5], given one by one or in a list of them."""
    if len(rows) == 1 and _holds_rows(rows[0]):
        rows = list(rows[0])
    if not 1 <= len(rows) <= MOST_NEURONS:
        raise NotAsAsked(f"{len(rows)} neurons; one or two were asked for")
    neurons = [numbers(row, f"neuron {n}") for n, row in enumerate(rows, 1)]
    for n, neuron in enumerate(neurons, 1):
        if len(neuron) != 5:
            raise NotAsAsked(
                f"neuron {n} has {len(neuron)} numbers; five were expected: slope and offset of its gate, slope and offset of its up, and down"
            )
    return torch.tensor(neurons, dtype=torch.float64)


def _holds_rows(row: Any) -> bool:
    if isinstance(row, Tensor):
        return row.dim() > 1
    return isinstance(row, (tuple, list)) and bool(row) and isinstance(row[0], (tuple, list, Tensor))


def _is_equal(network: Network, function: Function) -> Tensor:
    """At each of PLACES, whether a network is the function there; what rounding can do is forgiven."""
    terms = network.terms(PLACES)
    value = function(PLACES)
    slack = EQUAL * value.abs().clamp(min=1) + ROUNDING * terms.abs().sum(0)
    return (terms.sum(0) - value).abs() <= slack


def what_is_wrong(network: Network, name: str) -> str:
    """Why a network is not the function of that name, in a few words; empty where it is."""
    function = CURVES[name]
    if _is_equal(network, function).all():
        return ""
    looks = (_after_a_slip, _right_in_part, _with_another_kind_or_number, _near_in_part, _first_failure)
    return next(filter(None, (look(network, function) for look in looks)))


def _after_a_slip(network: Network, function: Function) -> str:
    """The slip without which a network would be the function."""
    neuron_count = len(network.neurons)
    for which in itertools.product((True, False), repeat=neuron_count):
        if any(which) and _is_equal(network.with_swapped_branches(which), function).all():
            return SWAPPED
    terms = network.terms(PLACES)
    if bool((terms == 0).all(1).any()):
        return SILENT
    inside = PLACES.abs() <= INSIDE  # far out a shift is lost in rounding
    output = terms.sum(0)[inside]
    value = function(PLACES[inside])
    shift = (output - value).mean().item()
    if _is_equal(network, lambda x: function(x) + shift).all():
        return SHIFTED
    factor = ((output * value).sum() / (value * value).sum()).item()
    if abs(factor) > CLOSE and _is_equal(network, lambda x: factor * function(x)).all():
        return TURNED if abs(factor + 1) < EQUAL else SCALED
    return ""


def _right_in_part(network: Network, function: Function) -> str:
    """On which part of the line a network is the function, or that it is near it on all of it."""
    equal = _is_equal(network, function)
    middle = PLACES.abs() <= 1
    for words, part in ((RIGHT_SIDE, PLACES >= 0), (LEFT_SIDE, PLACES <= 0), (MIDDLE, middle)):
        if equal[part].all():
            return words
    return NEAR if _is_near(network, function).all() else ""


def _with_another_kind_or_number(network: Network, function: Function) -> str:
    """What else has to be changed in a network to make the function of it, if that is its kind or a single number."""
    if any(_is_equal(network._replace(kind=kind), function).all() for kind in ACTIVATIONS):
        return ANOTHER_KIND
    for row, column in itertools.product(range(len(network.neurons)), range(5)):
        for number in SMALL_NUMBERS:
            if _is_equal(network.with_another_number(row, column, number), function).all():
                was_forgotten = column in OFFSETS and network.neurons[row, column] == 0
                return NO_OFFSET if was_forgotten else ONE_NUMBER
    return ""


def _near_in_part(network: Network, function: Function) -> str:
    """Whether a network is near the function inside alone, or outside alone, or twice the function in the middle."""
    if _is_equal(network, lambda x: 2 * function(x))[PLACES.abs() <= 1].all():
        return DOUBLE_IN_THE_MIDDLE
    near = _is_near(network, function)
    inside = PLACES.abs() <= INSIDE
    if near[inside].all():
        return NEAR_INSIDE
    if near[PLACES.abs() > AROUND_ZERO].all():
        return NEAR_BUT_AT_ZERO
    return NEAR_OUTSIDE if near[~inside].all() else ""


def _is_near(network: Network, function: Function) -> Tensor:
    """At each of PLACES, whether a network comes close to the function there."""
    value = function(PLACES)
    return (network.terms(PLACES).sum(0) - value).abs() <= CLOSE * value.abs().clamp(min=1)


def _first_failure(network: Network, function: Function) -> str:
    """A wrong place, a whole or half number if there is one, with what the network gives there and what it should give."""
    wrong = PLACES[~_is_equal(network, function)].tolist()
    place = min(wrong, key=lambda x: (2 * x != round(2 * x), abs(x - 1)))
    x = torch.tensor([place], dtype=torch.float64)
    output = network.terms(x).sum(0)
    value = function(x)
    return f"at x = {place:.3g} it gives {output.item():.3g}, not {value.item():.3g}"
