"""Beside a student's code there is nothing to be found: not what it should return, not what the judge alone is told, no order that two classes share.

An answer is called as the jail calls it. At each call everything is walked through that code could get at: the arguments, their attributes, closures and
defaults, the frames of the probe that calls, and what the garbage collector knows.
"""

from __future__ import annotations

import functools
import gc
import sys
import types
from collections.abc import Callable, Iterator
from dataclasses import dataclass, field
from typing import Any

import pytest
import torch

from autograder import keys
from ffnlab.checking.comparison import compare, reference_outputs_of
from ffnlab.diagnosis.differences import tells
from ffnlab.registry import active_course

CLASSES = 1000, 2000  # seeds
EXERCISES = {
    name: exercise
    for name, exercise in active_course().exercises.items()
    if [aspect.name for aspect in exercise.aspects] != ["choice"]  # the letter of a quiz is the same in every class
}
FUNCTIONS = [name for name in EXERCISES if isinstance(keys.find(name).answers[0].answer, types.FunctionType)]
CALLED = [name for name in EXERCISES if callable(keys.find(name).answers[0].answer)]  # else an example is handed in
LEAVES = (str, bytes, int, float, type, types.ModuleType, types.CodeType, types.FrameType, torch.dtype)


def parts(thing: object) -> Iterator[tuple[str, object]]:
    """What a thing holds, each with the way to it."""
    if isinstance(thing, LEAVES):
        return
    if isinstance(thing, dict):
        yield from ((f"[{key!r}]", value) for key, value in thing.items())
    elif isinstance(thing, (list, tuple, set, frozenset)):
        yield from ((f"[{place}]", value) for place, value in enumerate(thing))
    elif isinstance(thing, types.FunctionType):
        cells = zip(thing.__code__.co_freevars, thing.__closure__ or (), strict=True)
        yield from ((f" closed over {name}", cell.cell_contents) for name, cell in cells if cell != types.CellType())
        yield " by default", [*(thing.__defaults__ or ()), *(thing.__kwdefaults__ or {}).values()]
    elif isinstance(thing, functools.partial):
        yield ".partial", [thing.func, thing.args, thing.keywords]
    elif isinstance(thing, types.MethodType):
        yield ".__self__", thing.__self__
    elif isinstance(thing, types.GeneratorType) and thing.gi_frame:
        yield ".gi_frame", dict(thing.gi_frame.f_locals)
    else:
        yield from ((f".{name}", value) for name, value in getattr(thing, "__dict__", {}).items())
        slots = [name for kind in type(thing).__mro__ for name in getattr(kind, "__slots__", ())]
        yield from ((f".{name}", getattr(thing, name)) for name in slots if hasattr(thing, name))


def walk(roots: dict[str, object], *passed: object) -> Iterator[tuple[str, object]]:
    """Everything that can be reached from the roots, each thing once, with a way to it; but what is passed by."""
    seen = {id(thing): thing for thing in passed}
    left: list[tuple[str, object]] = list(roots.items())
    while left:
        way, thing = left.pop()
        if id(thing) not in seen:
            seen[id(thing)] = thing
            yield way, thing
            left += [(way + step, part) for step, part in parts(thing)]


def test_the_walk_finds_what_is_hidden() -> None:
    class Slotted:
        __slots__ = ("kept",)

        def __init__(self, kept: object) -> None:
            self.kept = kept

        def method(self) -> None: ...

    def closed(secret: object) -> Callable[[], object]:
        return lambda: secret

    def endless(secret: object) -> Iterator[int]:
        while True:
            yield id(secret)

    secret = ("secret", 7)
    running = endless(secret)
    next(running)
    ways = {
        "a list": [1, [secret]],
        "a slot": Slotted(secret),
        "a method": Slotted(secret).method,
        "a closure": closed(secret),
        "a default": lambda value=secret: value,
        "a partial": functools.partial(print, secret),
        "a generator": running,
        "an attribute": types.SimpleNamespace(kept=secret),
    }
    for name, root in ways.items():
        assert any(thing is secret for _, thing in walk({"": root})), name


def is_same(first: object, second: object) -> bool:
    """Whether two values agree that could not by chance."""
    if type(first) is not type(second):
        return False
    if isinstance(first, torch.Tensor):
        assert isinstance(second, torch.Tensor)
        return (
            first.shape == second.shape
            and first.dtype == second.dtype
            and bool(tells(first))
            and torch.equal(first, second)
        )
    if isinstance(first, (tuple, list)):
        assert isinstance(second, (tuple, list))
        pairs = list(zip(first, second, strict=False))
        return len(first) == len(second) > 1 and all(a is b or is_same(a, b) or is_equal(a, b) for a, b in pairs)
    if isinstance(first, str):
        return len(first) > 1 and first == second
    return isinstance(first, (int, float)) and tells(first) and first == second


def is_equal(first: object, second: object) -> bool:
    return type(first) is type(second) and isinstance(first, (bool, int, float, str)) and first == second


def is_view(first: object, second: object) -> bool:
    return (
        isinstance(first, torch.Tensor) and isinstance(second, torch.Tensor) and first.data_ptr() == second.data_ptr()
    )


@dataclass
class Observer:
    """Stands between a probe and a right answer, and looks around at each call."""

    hidden: list[object] = field(default_factory=list)  # what the judge alone is told
    last: int = 0  # the call at which the garbage collector is asked as well
    found: set[str] = field(default_factory=set)  # the ways to what should not be there
    outputs: list[object] = field(default_factory=list)
    calls: int = 0

    def call(self, right: Callable[..., Any], arguments: tuple[Any, ...], named: dict[str, Any]) -> Any:
        self.calls += 1
        given = {id(thing) for _, thing in walk({"": [*arguments, *named.values()]}) if not callable(thing)}
        openly = list(open_values([*arguments, *named.values()]))
        around = {"the arguments": [arguments, named]} | probe_frames()
        output = right(*arguments, **named)
        if isinstance(output, torch.nn.Module):
            return output
        # What it returned before, and what it was given openly, an answer has anyway.
        is_known = any(is_same(known, output) for known in [*self.outputs, *openly])
        for way, thing in walk(around, self):
            if thing is not output and not is_known and is_same(thing, output):
                self.found.add(f"what comes back: {way}")
            if id(thing) not in given and any(is_same(thing, value) for value in self.hidden):
                self.found.add(f"what is hidden: {way}")
        self.outputs.append(output)
        if self.calls == self.last and not is_known:
            own = {id(thing) for _, thing in walk({"": self.outputs})}
            alike = [thing for thing in gc.get_objects() if type(thing) is type(output) and id(thing) not in own]
            self.found |= {
                f"garbage collector: {thing}"
                for thing in alike
                if is_same(thing, output) and not is_view(thing, output)
            }
        return output


def open_values(values: object) -> Iterator[object]:
    """What stands in plain containers."""
    yield values
    if isinstance(values, (list, tuple, dict)):
        for value in values.values() if isinstance(values, dict) else values:
            yield from open_values(value)


def probe_frames() -> dict[str, object]:
    """The names of each function between the answer and the one that gives it its inputs, by frame."""
    frames: dict[str, object] = {}
    frame = sys._getframe(1)
    while frame.f_back and frame.f_code.co_name != "_observe":
        frame = frame.f_back
        if frame.f_code.co_filename != __file__:
            frames[f"{frame.f_code.co_name}: "] = dict(frame.f_locals)
    return frames


def observed(answer: Any, observer: Observer) -> Any:
    """The answer with the observer before it: a class becomes one whose objects are looked at as they are called."""
    if not isinstance(answer, type):
        return lambda *arguments, **named: observer.call(answer, arguments, named)

    def forward(self: Any, *arguments: Any, **named: Any) -> Any:
        return observer.call(functools.partial(answer.forward, self), arguments, named)  # type: ignore[attr-defined]

    return type(answer.__name__, (answer,), {"forward": forward})


@pytest.mark.parametrize("name", CALLED)
def test_nothing_that_an_answer_can_reach_is_what_it_should_return(name: str) -> None:
    exercise, answer = EXERCISES[name], keys.find(name).answers[0].answer
    for case in range(exercise.cases):
        inputs = exercise.inputs(CLASSES[0] + case, case)
        hidden = [value for key, value in inputs.items() if key.startswith("_")]
        observer = Observer(
            [part for value in hidden for part in open_values(value) if isinstance(part, (list, tuple, torch.Tensor))]
        )
        observations = exercise.observe(observed(answer, observer), inputs)
        assert observer.calls
        assert not observer.found
        # It was as right as it is, so what was looked for is what there is to find.
        usual = exercise.observe(answer, inputs)
        assert [type(value) for value in observations.values()] == [type(value) for value in usual.values()]
        if case:
            continue
        again = Observer(last=observer.calls)
        del observer, observations, usual  # which hold what came back
        gc.collect()
        exercise.observe(observed(answer, again), inputs)
        assert not again.found


@pytest.mark.parametrize("name", FUNCTIONS)
def test_what_was_right_in_one_class_earns_nothing_in_another(name: str) -> None:
    """An answer that counts its calls, and returns what another class's right answer returned there."""
    exercise, right = EXERCISES[name], keys.find(name).answers[0].answer
    outputs: list[Any] = []

    def record(*arguments: Any, **named: Any) -> Any:
        outputs.append(None)
        place = len(outputs) - 1
        outputs[place] = right(*arguments, **named)
        return outputs[place]

    def replay(*arguments: Any, **named: Any) -> Any:
        return outputs.pop(0) if outputs else None

    first, second = ([exercise.inputs(seed + case, case) for case in range(exercise.cases)] for seed in CLASSES)
    for inputs in first:
        exercise.observe(record, inputs)
    truth = [exercise.observe(right, inputs) for inputs in second]
    reference_outputs = reference_outputs_of(exercise, truth, [], second)
    assert compare(exercise, reference_outputs, truth, second).points == exercise.points
    assert (
        compare(exercise, reference_outputs, [exercise.observe(replay, inputs) for inputs in second], second).points
        == 0
    )


ORDERS = [
    (name, key)
    for name, exercise in EXERCISES.items()
    for key, value in exercise.inputs(CLASSES[0], 0).items()
    if key.startswith("_") and isinstance(value, list)
]


@pytest.mark.parametrize(("name", "key"), ORDERS)
def test_no_order_is_that_of_every_class(name: str, key: str) -> None:
    orders = {str(EXERCISES[name].inputs(seed, 0)[key]) for seed in range(20)}
    assert len(orders) > 1
