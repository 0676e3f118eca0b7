"""What students get holds no solution: every function and class of `ffnlab`, handed in as the answer to every exercise, earns next to nothing."""

from __future__ import annotations

import contextlib
import importlib
import inspect
import pkgutil
import resource
import signal
import types
import warnings
from collections.abc import Callable, Iterator, Sequence
from dataclasses import replace
from functools import cache, partial
from multiprocessing import get_context
from pathlib import Path
from typing import Any

import numpy as np
import psutil
import pytest
import torch
from conftest import often

import ffnlab
from ffnlab.checking import reference_files
from ffnlab.checking.checks import examine
from ffnlab.checking.comparison import ReferenceOutputs, compute_facts
from ffnlab.diagnosis import differences
from ffnlab.observation.exercise import Aspect, Exercise, public_seed
from ffnlab.observation.plain_data import Failure
from ffnlab.registry import active_course

SECONDS = 0.2  # for one call; an answer that takes longer counts as one that fails
ITEMS = 4  # of what a function returns, each of the first ones is tried as the answer
PLAIN = (torch.Tensor, np.ndarray, int, float, list, tuple, dict)
Calls = list[tuple[tuple[Any, ...], dict[str, Any]]]


# Bytes of memory for one call: a layer as wide as the sizes that an exercise counts with takes minutes, in which no signal comes.
ROOM = 256 * 2**20


class TooSlow(BaseException):
    """No Exception, so that no probe takes it for the answer's own."""


class Called(Exception):
    """A recorder's, once it has its arguments."""


def modules() -> list[types.ModuleType]:
    return [
        importlib.import_module(module.name)
        for module in pkgutil.walk_packages(ffnlab.__path__, "ffnlab.")
        if not module.name.endswith("__main__")
    ]


def candidates() -> dict[str, Callable[..., Any]]:
    """By name: every function and class that the package defines, every class's methods, free and bound to an object where one can be had
    without arguments, and every object of its classes that can be called and stands in a module."""
    callables: dict[str, Callable[..., Any]] = {}
    for module in modules():
        for name, value in vars(module).items():
            where = f"{module.__name__}.{name}"
            defined = getattr(value, "__module__", "")
            if not isinstance(defined, str) or not defined.startswith("ffnlab"):
                continue
            if inspect.isclass(value):
                if defined == module.__name__:
                    callables[where] = value
                    callables |= {f"{where}.{method}": bound for method, bound in methods(value).items()}
            elif callable(value) and (not hasattr(value, "__qualname__") or defined == module.__name__):
                callables[where] = value
    return callables


def methods(owner: type) -> dict[str, Callable[..., Any]]:
    callables: dict[str, Callable[..., Any]] = {}
    try:
        example = owner()
    except (Exception, SystemExit):
        example = None
    for name, value in vars(owner).items():
        if isinstance(value, (types.FunctionType, staticmethod, classmethod)) and not name.startswith("__"):
            callables[name] = getattr(owner, name)
            if example is not None:
                callables[f"() {name}"] = getattr(example, name)
    return callables


def calls(exercise: Exercise) -> Calls:
    """How the probes of an exercise call an answer first, once for the same types of arguments."""
    all_calls: Calls = []

    def recorder(*arguments: Any, **named: Any) -> None:
        all_calls.append((arguments, named))
        raise Called

    exercise.observe(recorder, exercise.inputs(public_seed(exercise.name, 0), 0))
    kinds = {tuple(map(type, arguments)): (arguments, named) for arguments, named in reversed(all_calls)}
    return list(reversed(kinds.values()))[:2]


@contextlib.contextmanager
def limited() -> Iterator[None]:
    def stop(*_: object) -> None:
        raise TooSlow

    usual = resource.getrlimit(resource.RLIMIT_AS)
    before = signal.signal(signal.SIGALRM, stop)
    signal.setitimer(signal.ITIMER_REAL, SECONDS)
    try:
        resource.setrlimit(resource.RLIMIT_AS, (psutil.Process().memory_info().vms + ROOM, usual[1]))
        yield
    finally:
        resource.setrlimit(resource.RLIMIT_AS, usual)
        signal.setitimer(signal.ITIMER_REAL, 0)
        signal.signal(signal.SIGALRM, before)


def fresh(value: Any) -> Any:
    return value.detach().clone() if isinstance(value, torch.Tensor) else value


@cache
def signature(answer: Callable[..., Any]) -> inspect.Signature | None:
    try:
        return inspect.signature(answer)
    except (TypeError, ValueError):
        return None


def takes(answer: Callable[..., Any], *arguments: Any, **named: Any) -> bool:
    form = signature(answer)
    try:
        return form is None or bool(form.bind(*arguments, **named))
    except TypeError:
        return False


def first_result(answer: Callable[..., Any], probe_calls: Calls) -> Any:
    """What the answer returns where the probes call it, the first time that it returns anything of use; None where it never does.

    An argument handed back is of no use: whatever that earns, it earns without the package.
    """
    for arguments, named in probe_calls:
        if not takes(answer, *arguments, **named):
            continue
        with contextlib.suppress(Exception, SystemExit, TooSlow), limited():
            result = answer(*map(fresh, arguments), **{key: fresh(value) for key, value in named.items()})
            is_argument = any(result is argument for argument in (*arguments, *named.values()))
            if not is_argument and (isinstance(result, PLAIN) or callable(result) or hasattr(result, "__enter__")):
                return result
    return None


def forms(answer: Callable[..., Any], probe_calls: Calls) -> dict[str, Callable[..., Any]]:
    """The answer as it is, or with the first arguments alone where it takes no more; and each item of what it returns."""
    variants: dict[str, Callable[..., Any]] = {}
    for suffix, form in ({"": answer} | fewer(answer, probe_calls)).items():
        result = first_result(form, probe_calls)
        if result is None:
            continue
        variants[suffix] = form
        keys: list[Any] = []
        if isinstance(result, (tuple, list)) and not inspect.isclass(answer):
            keys = [n for n, part in enumerate(result[:ITEMS]) if isinstance(part, (torch.Tensor, np.ndarray, float))]
        elif isinstance(result, dict):
            keys = [key for key, part in result.items() if isinstance(part, (torch.Tensor, np.ndarray, float))]
        variants |= {f"{suffix}[{key!r}]": partial(item, form, key) for key in keys}
    return variants


def fewer(answer: Callable[..., Any], probe_calls: Calls) -> dict[str, Callable[..., Any]]:
    """The answer with as many of the first arguments as it takes, where it does not take all."""
    most = max(len(arguments) for arguments, _ in probe_calls)
    for count in range(most, 0, -1):
        if any(takes(answer, *arguments[:count]) for arguments, _ in probe_calls):
            short = all(not takes(answer, *arguments, **named) for arguments, named in probe_calls)
            return {f"(first {count})": partial(first, answer, count)} if short else {}
    return {}


def first(answer: Callable[..., Any], count: int, *arguments: Any, **named: Any) -> Any:
    return answer(*arguments[:count])


def item(answer: Callable[..., Any], key: Any, *arguments: Any, **named: Any) -> Any:
    return answer(*arguments, **named)[key]


def points(exercise: Exercise, reference_outputs: ReferenceOutputs, answer: Callable[..., Any]) -> float:
    """What `check` gives. Only what is right in some aspect of the first case is looked at in full."""
    seeds = [public_seed(exercise.name, case) for case in range(exercise.cases)]
    inputs = exercise.inputs(seeds[0], 0)

    def right(aspect: Aspect) -> bool:
        observations = replace(exercise, aspects=[aspect]).observe(answer, inputs)
        if isinstance(observations[aspect.name], Failure):
            return False
        answer_facts = compute_facts(exercise, observations, inputs, reference_outputs.sizes)
        return not any(spot.wrong for spot in differences.spots(aspect, [answer_facts], reference_outputs.cases[:1]))

    with contextlib.suppress(TooSlow), limited():
        if any(right(aspect) for aspect in exercise.aspects if not aspect.needs):
            return examine(exercise, reference_outputs, answer, seeds)[0].points
    return 0.0


def hits(answers: dict[str, Callable[..., Any]], names: Sequence[str]) -> dict[str, dict[str, float]]:
    """By exercise, of those named, the points of each candidate that earns any."""
    points_by_exercise: dict[str, dict[str, float]] = {}
    # Copies, as some functions that are tried add an aspect to an exercise.
    copies = {
        name: replace(exercise, aspects=[*exercise.aspects]) for name, exercise in active_course().exercises.items()
    }
    for name, exercise in copies.items():
        probe_calls = calls(exercise) if name in names else []
        if not probe_calls:
            continue  # a quiz
        reference_outputs = replace(reference_files.load_public(name), mistakes=())  # causes are not asked for
        for where, answer in answers.items():
            for suffix, form in forms(answer, probe_calls).items():
                if earned := points(exercise, reference_outputs, form):
                    points_by_exercise.setdefault(name, {})[where + suffix] = earned
    for name, exercise in active_course().exercises.items():
        exercise.aspects[:] = copies[name].aspects
    return points_by_exercise


def points_of_the_package(names: Sequence[str]) -> dict[str, dict[str, float]]:
    """`hits` of all that the package has, in a process that does nothing else."""
    for late in ("sympy", "torch._dynamo", "torch._inductor.utils"):
        importlib.import_module(late)  # by torch when it needs it: cut short by a limit, it would stay half imported
    warnings.simplefilter("ignore")  # functions are called with what is not meant for them
    return hits(candidates(), names)


EVERY = list(active_course().exercises)
# What the package once held.
ONCE_THERE = ["Block", "route", "PositionwiseFeedForward", "GatedFFN", "is_position_wise"]


@pytest.mark.parametrize("names", often([ONCE_THERE, EVERY], [ONCE_THERE]), ids=["what was there once", "everything"])
def test_no_function_of_the_package_is_an_answer(
    names: Sequence[str], tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.chdir(tmp_path)
    assert set(names) <= set(EVERY)
    with get_context("spawn").Pool(1) as apart:  # some functions change the package that they belong to
        points_by_exercise = apart.apply(points_of_the_package, [names])
    best = {name: max(earned.items(), key=lambda item: item[1]) for name, earned in points_by_exercise.items()}
    for name, (where, earned) in best.items():
        print(f"{name:26} {earned:g} of {active_course().exercise(name).points:g}  {where}")
    total = sum(earned for _, earned in best.values())
    print(f"{total:g} points in all")
    assert total <= 12
    assert {
        name for name, (_, earned) in best.items() if earned == active_course().exercise(name).points and earned >= 3
    } == set()
