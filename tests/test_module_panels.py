"""Modules that keep layers or weights out of `parameters()`: found wherever they are, and told before what it leads to, such as two dtypes."""

from __future__ import annotations

from typing import Any

import pytest
import torch
from test_panels import Attempt, checked
from torch import nn

from autograder import keys
from ffnlab.checking import panel
from ffnlab.checking.verdict import Outcome
from ffnlab.diagnosis import recognition
from ffnlab.observation import hidden_parameters
from ffnlab.observation.exercise import public_seed
from ffnlab.registry import active_course

DTYPES = ("dtypes that do not go together", "dtype is not", "computes in float32")
DEEP = """
class DeepFFN(nn.Module):
    def __init__(self, d_model, d_ff, n_hidden, activation):
        super().__init__()
        if n_hidden < 1:
            raise ValueError("n_hidden")
        self.act = {{"relu": F.relu, "gelu": F.gelu, "silu": F.silu}}.get(activation, activation)
        self.first = nn.Linear(d_model, d_ff)
        {make}
        self.last = nn.Linear(d_ff, d_model)

    def forward(self, x):
        x = self.act(self.first(x))
        for layer in {layers}:
            x = self.act(layer(x))
        return self.last(x)
"""
TWO = """
class {name}(nn.Module):
    {of_class}
    def __init__(self, d_model, d_ff, activation="relu", dropout=0.1):
        super().__init__()
        names = {{"relu": F.relu, "gelu": F.gelu, "silu": F.silu}}
        if not callable(activation) and activation not in names:
            raise ValueError(activation)
        self.activation = activation if callable(activation) else names[activation]
        self.linear1, self.linear2 = nn.Linear(d_model, d_ff), nn.Linear(d_ff, d_model)
        self.dropout = nn.Dropout(dropout)
        self.d_model, self.d_ff = d_model, d_ff
        {make}

    def forward(self, x):
        {forward}

    def extra_repr(self):
        return f"d_model={{self.d_model}}, d_ff={{self.d_ff}}"
"""


def deep(what: str, make: str, layers: str, *says: str) -> Attempt:
    return Attempt("DeepFFN", what, DEEP.format(make=make, layers=layers), says, DTYPES)


def two(name: str, what: str, make: str, forward: str, *says: str, of_class: str = "") -> Attempt:
    code = TWO.format(name=name, make=make, forward=forward, of_class=of_class)
    return Attempt(name, what, code, says, DTYPES)


MIDDLE = "nn.Linear(d_ff, d_ff) for _ in range(n_hidden - 1)"
NORMED = "return self.linear2({norm})"
HIDING = [
    deep("the middle in a list", f"self.mid = [{MIDDLE}]", "self.mid", "plain Python list"),
    deep("the middle in a tuple", f"self.mid = tuple({MIDDLE})", "self.mid", "tuple"),
    deep("the middle in a dict", f"self.mid = dict(enumerate({MIDDLE}))", "self.mid.values()", "plain dict"),
    deep("lists in a dict", f'self.parts = {{"mid": [{MIDDLE}]}}', 'self.parts["mid"]', "plain Python list"),
    deep("the middle in a set", f"self.mid = set({MIDDLE})", "self.mid", "set"),
    deep("a generator", f"self.mid = ({MIDDLE})", "self.mid", "generator"),
    deep("variables of a function", f"mid = [{MIDDLE}]; self.all = lambda: mid", "self.all()", "function"),
    deep(
        "made in forward",
        "self.n, self.d_ff = n_hidden, d_ff",
        "[nn.Linear(self.d_ff, self.d_ff) for _ in range(self.n - 1)]",
        "`forward` makes a layer",
    ),
    deep(
        "an object of another class",
        f"self.mid = type('Layers', (), {{}})(); self.mid.all = [{MIDDLE}]",
        "self.mid.all",
        "plain Python list",
    ),
    deep(
        "an optimiser's friend",
        f"mid = [{MIDDLE}]; self.mid = mid; self.kept = nn.ModuleList(mid[:1])",
        "self.mid",
        "plain Python list",
    ),
    two(
        "PositionwiseFeedForward",
        "gain and bias as plain tensors",
        "self.gain, self.bias = torch.ones(d_ff, requires_grad=True), torch.zeros(d_ff, requires_grad=True)",
        NORMED.format(norm="F.layer_norm(self.activation(self.linear1(x)), (self.d_ff,), self.gain, self.bias)"),
        "requires_grad",
    ),
    two(
        "PositionwiseFeedForward",
        "gain without requires_grad",
        "self.gain, self.bias = torch.ones(d_ff), torch.zeros(d_ff)",
        NORMED.format(norm="F.layer_norm(self.activation(self.linear1(x)), (self.d_ff,), self.gain, self.bias)"),
        "keeps a plain tensor",
    ),
    two(
        "PositionwiseFeedForward",
        "a parameter that was moved",
        "self.gain = nn.Parameter(torch.ones(d_ff)) * 1.0; self.bias = nn.Parameter(torch.zeros(d_ff)).clone()",
        NORMED.format(norm="F.layer_norm(self.activation(self.linear1(x)), (self.d_ff,), self.gain, self.bias)"),
        "computed from a parameter",
    ),
    two(
        "PositionwiseFeedForward",
        "the norm in a list",
        "self.norms = [nn.LayerNorm(d_ff)]",
        NORMED.format(norm="self.norms[0](self.activation(self.linear1(x)))"),
        "plain Python list",
    ),
    two(
        "PositionwiseFeedForward",
        "the norm made in forward",
        "",
        NORMED.format(norm="nn.LayerNorm(self.d_ff)(self.activation(self.linear1(x)))"),
        "forward",
    ),
    two(
        "PositionwiseFeedForward",
        "a second module in a dict",
        'self.parts = {"up": nn.Linear(d_model, d_ff), "down": nn.Linear(d_ff, d_model)}',
        'return self.parts["down"](self.dropout(self.activation(self.parts["up"](x))))',
        "plain dict",
    ),
    two(
        "PositionwiseFeedForward",
        "layers of the class",
        "",
        "return self.linear2(self.dropout(self.activation(self.linear1(x) + self.shift)))",
        "belong to the class",
        of_class="shift = torch.zeros(1, requires_grad=True) + nn.Parameter(torch.ones(1))",
    ),
    two(
        "PositionwiseFeedForward",
        "a scale that is a plain tensor",
        "self.scale = torch.tensor(1.0 / 3)",
        "return self.linear2(self.dropout(self.activation(self.linear1(x)) * self.scale.expand(self.d_ff)))",
    ),
    two(
        "PositionwiseFeedForward",
        "a matrix that is a plain tensor",
        "self.mix = torch.eye(d_ff)",
        "return self.linear2(self.dropout(self.activation(self.linear1(x) @ self.mix)))",
        "plain tensor",
    ),
    two(
        "PositionwiseFeedForward",
        "weights transposed once for all",
        "self.W1 = self.linear1.weight.T",
        "return self.linear2(self.dropout(self.activation(x @ self.W1 + self.linear1.bias)))",
        "in `forward`, each time",
    ),
    Attempt(
        "GatedFFN",
        "the gate in a list",
        """
class GatedFFN(nn.Module):
    def __init__(self, d_model, d_ff, dropout=0.0, activation="silu"):
        super().__init__()
        if activation not in ("silu", "gelu"):
            raise ValueError(activation)
        self.act = getattr(F, activation)
        self.both = [nn.Linear(d_model, d_ff, bias=False) for _ in range(2)]
        self.down_proj = nn.Linear(d_ff, d_model, bias=False)
        self.dropout = nn.Dropout(dropout)

    def forward(self, x):
        gate, up = self.both
        return self.down_proj(self.dropout(self.act(gate(x)) * up(x)))
""",
        ("plain Python list",),
        DTYPES,
    ),
]


PLAIN = "return self.linear2(self.dropout(self.activation(self.linear1(x))))"
RIGHT = TWO.format(name="PositionwiseFeedForward", make="", forward=PLAIN, of_class="")
GUARD = """        if not callable(activation) and activation not in names:
            raise ValueError(activation)
"""
LOOKED_UP = "activation if callable(activation) else names[activation]"


def changed(what: str, changes: dict[str, str], says: tuple[str, ...], never: tuple[str, ...] = ()) -> Attempt:
    code = RIGHT
    for old, new in changes.items():
        assert code.count(old) == 1, old
        code = code.replace(old, new)
    return Attempt("PositionwiseFeedForward", what, code, says, never)


# What a general rule said of these was false, or told of a symptom, or nothing was said.
OTHERS = [
    changed("no super().__init__()", {"        super().__init__()\n": ""}, ("The first line of `__init__` is",)),
    changed(
        "nn.Linear with one width", {"nn.Linear(d_ff, d_model)": "nn.Linear(d_ff)"}, ("two widths",), ("the exercise",)
    ),
    changed("forward without self", {"def forward(self, x)": "def forward(x)"}, ("`def forward(self, x)`",)),
    changed("x.float()", {"self.linear1(x)": "self.linear1(x.float())"}, ("look for a `.float()`",)),
    changed(
        "a frozen layer", {PLAIN: f"self.linear1.requires_grad_(False)\n        {PLAIN}"}, ("requires_grad_(False)",)
    ),
    changed(
        "a text that is called", {LOOKED_UP: "activation"}, ("A text is called",), ("hand it over", "missing before")
    ),
    changed(
        "names alone, and a KeyError", {GUARD: "", LOOKED_UP: "names[activation]"}, ("ValueError",), (".get(key)",)
    ),
    changed(
        "a KeyError for texts",
        {GUARD: "", LOOKED_UP: "names[activation] if isinstance(activation, str) else activation"},
        ("ValueError",),
        ("calling it afterwards",),
    ),
    changed(
        "an AttributeError",
        {GUARD: "", LOOKED_UP: "activation if callable(activation) else getattr(F, activation)"},
        ("ValueError",),
        ("calling it afterwards",),
    ),
]


@pytest.mark.parametrize("attempt", OTHERS, ids=lambda attempt: attempt.what)
def test_a_general_rule_does_not_speak_of_something_else(attempt: Attempt) -> None:
    verdict = checked(attempt)
    text = panel.of_verdict(verdict).text
    assert verdict.outcome is Outcome.NOT_EARNED
    for words in attempt.says:
        assert words in verdict.cause, text
    for words in attempt.never:
        assert words not in text, text


@pytest.mark.parametrize("attempt", HIDING, ids=lambda attempt: f"{attempt.exercise}, {attempt.what}")
def test_a_hidden_layer_is_told_before_what_it_leads_to(attempt: Attempt) -> None:
    verdict = checked(attempt)
    text = panel.of_verdict(verdict).text
    assert verdict.outcome is Outcome.NOT_EARNED
    print(text)
    for words in attempt.says:
        assert words in verdict.cause, text
    for words in attempt.never:
        assert words not in verdict.cause, text


def exercises_with_modules() -> list[str]:
    course = active_course()
    exercises = [exercise for notebook in course.notebooks for exercise in course.exercises_of(notebook)]
    return [exercise.name for exercise in exercises if exercise.makes]


@pytest.mark.parametrize("name", exercises_with_modules())
def test_no_right_answer_is_said_to_hide_anything(name: str) -> None:
    """Whatever way a kept right answer has: it would be told a cause that is false as soon as something else in it were wrong."""
    key = keys.find(name)
    inputs = key.exercise.inputs(public_seed(name, 0), 0)
    for answer in [*key.rights, key.the_truth]:
        places: Any = key.exercise.observe(answer.answer, inputs).get(hidden_parameters.KEY, [])
        assert {*places} <= {hidden_parameters.CONSTANT}, (answer.name, places)


def test_what_is_registered_hides_nothing() -> None:
    layer = nn.Linear(2, 2)

    class Shown(nn.Module):
        scale = 2.0

        def __init__(self) -> None:
            super().__init__()
            self.layers = nn.ModuleList([layer, nn.Linear(2, 2)])
            self.again = [*self.layers]  # a second way to what is registered
            self.steps = [self.layers[1], torch.relu, lambda x: layer(x), self.forward]
            self.register_buffer("mask", torch.ones(2))

        def forward(self, x: Any) -> Any:
            return layer(x)

    assert hidden_parameters.find(Shown()) == []


def test_a_view_of_what_is_registered_is_told_apart_from_what_is_hidden() -> None:
    module = nn.Linear(2, 2)
    module.view = module.weight.T  # as it is now: it stays behind when the weight is converted
    assert hidden_parameters.find(module) == [hidden_parameters.COPY]


def test_what_a_submission_says_that_it_hides_is_a_place_that_is_known_or_nothing() -> None:
    for lie in ("in a list", ["<b>"], [["in a list"]], [torch.ones(2)], {"in a list": 1}, 3):
        assert recognition._hidden_places([{hidden_parameters.KEY: lie}]) == set()
    assert recognition._hidden_places([{hidden_parameters.KEY: ["in a set", 5]}]) == {"in a set"}


def test_an_exercise_that_makes_a_module_has_it_looked_at() -> None:
    assert set(exercises_with_modules()) == {
        "PositionwiseFeedForward", "DeepFFN", "GatedFFN", "Block", "train_fact_ffn",
    }  # fmt: skip
