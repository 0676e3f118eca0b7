"""The public side of an exercise: how a student's answer is called, on what inputs, for how many points. No answers here.

`check` (on the student's machine), the jailed worker and the judge all call `observe`; only the judge and the shipped reference outputs know what is right.
"""

from __future__ import annotations

import ast
import contextlib
import hashlib
import linecache
import math
import traceback
from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass, field
from functools import partial
from types import CodeType, FunctionType
from typing import Any, TypeVar

import numpy as np
import torch
from torch import nn

from ffnlab.observation import hidden_parameters, plain_data
from ffnlab.observation.containment import MAX_SECONDS, Stop
from ffnlab.observation.plain_data import Failure, Opaque, Plain

Probe = Callable[..., Any]
FactsFunction = Callable[[Any, dict[str, Any]], Any]  # (what the probe saw, the inputs) -> what is compared
T = TypeVar("T")


class Draw:
    """A seeded source of inputs. The same seed gives the same numbers on every machine and with every numpy.

    Hence `RandomState`, whose streams are frozen: what is shipped was computed with another numpy than the student's.
    """

    def __init__(self, seed: int) -> None:
        self._rng = np.random.RandomState(np.random.PCG64(seed))

    def normal(self, *shape: int, scale: float = 1.0, dtype: torch.dtype = torch.float64) -> torch.Tensor:
        """Normal numbers with mean 0 and standard deviation `scale`, as a tensor of the given shape."""
        return torch.from_numpy(np.asarray(scale * self._rng.standard_normal(shape))).to(dtype)

    def uniform(self, low: float, high: float) -> float:
        return float(self._rng.uniform(low, high))

    def integer(self, low: int, high: int) -> int:
        """A whole number from low to high, both included."""
        return int(self._rng.randint(low, high + 1))

    def distinct(self, count: int, low: int, high: int) -> list[int]:
        """`count` different whole numbers from low to high, both included, in random order: sizes that can't be mixed up."""
        numbers: list[int] = []
        while len(numbers) < count:
            number = self.integer(low, high)
            if number not in numbers:
                numbers.append(number)
        return numbers

    def one_of(self, options: Sequence[T]) -> T:
        return options[self.integer(0, len(options) - 1)]


# How much an answer may show beyond the right one, where its form is free (a hidden layer's width, say): of all kept right answers, the one that shows
# most has not twice as much.
TIMES_LARGER = 4


@dataclass(frozen=True)
class Aspect:
    """One thing that is looked at, with its points: `probe(answer, **inputs)` returns plain data.

    `facts(observation, inputs)`, where given, turns what the probe saw into what is compared (for answers that are not unique, or random).
    When a class is graded it runs on the judging side, never beside a student's code, and states public properties only. What was
    asked stands in `inputs`, drawn anew: nothing in `observation` can be relied on, since a submission may have made it up.

    `times_larger`: how many times as much as the right answer shows may be seen of an answer with other facts: more where a long way shows more.

    `needs`: the aspect without which this one earns nothing. Where the right observation is the same whatever was drawn (True, the
    name of an exception), it counts only for an answer that is right in something that can't be known beforehand.
    """

    name: str
    points: float
    probe: Probe
    facts: FactsFunction | None
    atol: float
    rtol: float
    needs: str = ""
    times_larger: int = TIMES_LARGER


def public_seed(exercise: str, case: int) -> int:
    """The seed of a draw that students see."""
    return int.from_bytes(hashlib.sha256(f"public/{exercise}/{case}".encode()).digest()[:8], "big")


@dataclass
class Exercise:
    """How one exercise is called."""

    name: str  # what the student defines, and the grade_id of the cell in which they do
    # `draw(rng, case)` makes the inputs as plain data; nothing in them gives the answer away. An input whose name begins with an
    # underscore is for `facts` alone: no probe gets it, and it never reaches the process that runs student code (see `probe_inputs`).
    draw: Callable[[Draw, int], dict[str, Any]] = lambda rng, case: {}
    where: str = ""  # the section to read again
    understood: str = ""  # what a student who earned it has understood, in one sentence
    hints: tuple[str, ...] = ()  # from a nudge to nearly the code
    cases: int = 2
    seconds: float = MAX_SECONDS  # how long an answer may run in a check, where nobody asks for more
    aspects: list[Aspect] = field(default_factory=list)
    # Where the answer makes a module, how it is asked for one: `makes(answer, **inputs)`. Before any probe computes with one, it is
    # looked at whether `parameters()` lists all that is in it.
    makes: Callable[..., Any] | None = None

    def aspect(
        self,
        name: str,
        points: float,
        facts: FactsFunction | None = None,
        atol: float = 1e-9,
        rtol: float = 1e-9,
        needs: str = "",
        times_larger: int = TIMES_LARGER,
    ) -> Callable[[Probe], Probe]:
        """Decorate the probe of one aspect.

        Raises:
            ValueError: `needs` is no aspect that has been given before.
        """
        if needs and needs not in {aspect.name for aspect in self.aspects}:
            raise ValueError(f"{self.name}: “{name}” needs “{needs}”, and no aspect above it is called so")

        def register(probe: Probe) -> Probe:
            self.aspects.append(Aspect(name, points, probe, facts, atol, rtol, needs, times_larger))
            return probe

        return register

    @property
    def points(self) -> float:
        return math.fsum(aspect.points for aspect in self.aspects)

    def inputs(self, seed: int, case: int) -> dict[str, Any]:
        """The inputs that the given seed draws for one case."""
        return self.draw(Draw(seed), case)

    def observe(self, answer: object, inputs: dict[str, Any]) -> dict[str, Plain]:
        """Every aspect of `answer` on fresh copies of `inputs`, as plain data. Only computes; an exception is an output too.

        Where the answer makes a module that keeps parameters out of `parameters()`, the places are there too, under `hidden_parameters.KEY`.
        """
        visible_inputs = probe_inputs(inputs)
        with _one_thread():
            places = _observe_hidden(self.makes, answer, visible_inputs) if self.makes else []
            observation = {aspect.name: _observe(aspect.probe, answer, visible_inputs) for aspect in self.aspects}
        return observation | ({hidden_parameters.KEY: places} if places else {})


def probe_inputs(inputs: dict[str, Any]) -> dict[str, Any]:
    """The inputs that a probe gets: those whose names do not begin with an underscore.

    The others tell what was asked in words that would give the answer away ("attention", say). They stay with the judge.
    """
    return {name: value for name, value in inputs.items() if not name.startswith("_")}


@contextlib.contextmanager
def _one_thread() -> Iterator[None]:
    """Inputs are small: several threads would spend their time waiting for each other."""
    threads = torch.get_num_threads()
    torch.set_num_threads(1)
    try:
        yield
    finally:
        torch.set_num_threads(threads)


@contextlib.contextmanager
def _own_seed() -> Iterator[None]:
    """A check leaves the notebook's seed alone. The CPU's is all there is: torch's own ways look for four kinds of devices each time."""
    generator = torch.default_generator
    state = generator.get_state()
    generator.manual_seed(0)
    try:
        yield
    finally:
        generator.set_state(state)


def _observe_hidden(makes: Callable[..., Any], answer: object, inputs: dict[str, Any]) -> list[str]:
    """Where a module that the answer makes hides parameters; nothing where it makes none, which the probes will tell."""

    def look(answer: object, **inputs: Any) -> list[str]:
        module = makes(answer, **inputs)
        return hidden_parameters.find(module) if isinstance(module, nn.Module) else []

    places = _observe(look, answer, inputs)
    return places if isinstance(places, list) else []


def _observe(probe: Probe, answer: object, inputs: dict[str, Any]) -> Plain:
    if answer is ...:
        return Failure("NotImplementedError")
    try:
        copy = {name: _fresh(value) for name, value in inputs.items()}
        with _own_seed(), torch.enable_grad():
            return _call_probe(probe, answer, copy)
    except (KeyboardInterrupt, Stop):
        raise
    except BaseException as error:
        return failure(error)


def _call_probe(probe: Probe, answer: object, inputs: dict[str, Any]) -> Plain:
    """What a probe sees. In a function of its own, by which `containment.limit_time` knows that it may end what runs."""
    return plain_data.of(probe(answer, **inputs))


def _fresh(value: Any) -> Any:
    if isinstance(value, torch.Tensor):
        return value.detach().clone()
    if isinstance(value, (list, tuple)):
        return type(value)(_fresh(item) for item in value)
    if isinstance(value, dict):
        return {key: _fresh(item) for key, item in value.items()}
    return value


def failure(error: BaseException) -> Failure:
    """An exception as plain data: its type, its message, and the line of the student's code that it came from."""
    if isinstance(error, SyntaxError) and error.lineno:  # its own text names a file that nobody knows
        text = f"line {error.lineno}: {(error.text or '').strip()}"
        return Failure(type(error).__name__, str(error.msg)[:500], text[:300])
    line = ""
    for frame in reversed(traceback.extract_tb(error.__traceback__)):
        if _is_students(frame.filename):
            source = (frame.line or linecache.getline(frame.filename, frame.lineno or 0)).strip()
            line = f"line {frame.lineno}: {source}"
            break
    try:
        message = str(error)
    except Stop:
        raise
    except BaseException:
        message = ""
    return Failure(type(error).__name__, message[:500], line[:300])


def has_unfinished_line(answer: object) -> bool:
    """Whether a line of a student's function, or of a method of their class, is still `...`. Looks at source alone, and calls nothing of theirs."""
    with contextlib.suppress(Exception):
        functions = [answer, *vars(answer).values()] if issubclass(type(answer), type) else [answer]
        codes = [function.__code__ for function in functions if type(function) is FunctionType]
        return any(_is_students(code.co_filename) and _has_ellipsis(code) for code in codes)
    return False


def _has_ellipsis(code: CodeType) -> bool:
    for node in ast.walk(ast.parse("".join(linecache.getlines(code.co_filename)))):
        if isinstance(node, ast.FunctionDef) and node.name == code.co_name:
            lines = [node.lineno, *(decorator.lineno for decorator in node.decorator_list)]
            if min(lines) == code.co_firstlineno and _is_reached(node):
                return True
    return False


def _is_reached(node: ast.AST) -> bool:
    """Whether a statement in it is nothing but `...`, and not behind a `return` or `raise`."""
    for _, body in ast.iter_fields(node):
        for child in body if isinstance(body, list) else []:
            if isinstance(child, ast.Expr) and isinstance(child.value, ast.Constant) and child.value.value is ...:
                return True
            if isinstance(child, ast.AST) and _is_reached(child):
                return True
            if isinstance(child, (ast.Return, ast.Raise)):
                break
    return False


def _is_students(filename: str) -> bool:
    """Whether a file name is that of a notebook cell."""
    return "ipykernel_" in filename or filename.startswith(("<ipython-input", "<cell", "<answer"))


class NotAsAsked(ValueError):
    """What a probe raises where an answer has not the form that was asked for. The student reads the message as it is."""


class NotAnOption(NotAsAsked):
    """The answer to a quiz is not one of its letters."""


def quiz(name: str, options: str = "ABC", points: float = 1.0, where: str = "", understood: str = "") -> Exercise:
    """A multiple-choice question: the answer is a letter; case, and space around it, count for nothing."""
    exercise = Exercise(name, where=where, understood=understood, cases=1)
    letters = ", ".join(options[:-1]) + f" or {options[-1]}"

    @exercise.aspect("choice", points)
    def choice(answer: object) -> str:
        letter = answer.strip().upper() if isinstance(answer, str) else ""
        if len(letter) != 1 or letter not in options:
            raise NotAnOption(f"The answer is one letter in quotes: {letters}.")
        return letter

    return exercise


# What several probes need.


def observe_call(call: Callable[[], Any]) -> Any:
    """What `call` returns, or its exception as plain data, so that one probe can look at several things.

    A stub's NotImplementedError passes through.
    """
    try:
        return plain_data.of(call())
    except NotImplementedError:
        raise
    except Exception as error:
        return failure(error)


def on_each(call: Callable[[torch.Tensor], Any], inputs: dict[str, torch.Tensor]) -> dict[str, Any]:
    """What `call` makes of each labelled input, and whether it leaves them as they were."""
    outputs: dict[str, Any] = {}
    is_unchanged = True
    for label, original in inputs.items():
        argument = original.clone()  # keeps the strides of a transposed tensor
        outputs[label] = observe_call(partial(call, argument))
        is_unchanged = is_unchanged and torch.equal(argument, original)
    return outputs | {"x is left as it was": is_unchanged}


def gradients(compute: Callable[..., Any], **leaves: torch.Tensor) -> dict[str, torch.Tensor | None]:
    """The gradient of a weighted sum of `compute(**leaves)` with respect to each leaf; None where it does not arrive."""
    for leaf in leaves.values():
        leaf.requires_grad_()
    backpropagate(compute(**leaves))
    return {f"gradient of {name}": leaf.grad for name, leaf in leaves.items()}


def backpropagate(output: Any) -> None:
    """Send gradients back from a weighted sum of `output` to all that it was computed from.

    Raises:
        NotAsAsked: it is no tensor, or was cut off from what it was computed from.
    """
    total = weighted_sum(output)
    if not total.requires_grad:
        raise NotAsAsked(
            "no gradient arrives: what came back is cut off from the inputs, by `detach`, `.data`, `no_grad`, `torch.tensor` or NumPy"
        )
    total.backward()  # type: ignore[no-untyped-call]


def weighted_sum(output: Any) -> torch.Tensor:
    """A scalar in which every entry of a tensor has its own weight, so that no gradient is right by symmetry."""
    if not isinstance(output, torch.Tensor):
        raise NotAsAsked(f"{describe_result(output)} instead of a tensor")
    weights = torch.cos(torch.arange(output.numel(), dtype=output.dtype)).reshape(output.shape)
    return (output * weights).sum()


def describe_result(value: object) -> str:
    """What came back where something else was asked for, in a few words."""
    return "None came back (is a `return` missing?)" if value is None else f"{type_with_article(value)} came back"


COMMON_NAMES = {"ndarray": "NumPy array", "type": "class"}


def type_with_article(value: object) -> str:
    """The type of a value, or that which an `Opaque` stands for, with its article: "a list", "an int", "a NumPy array"."""
    name = value.type.rpartition(".")[2] if isinstance(value, Opaque) else type(value).__name__
    name = COMMON_NAMES.get(name, name)
    return f"{'an' if name[:1] in 'AEIOUaeiou' else 'a'} {name}"


def zeros_of_shape(output: Any) -> torch.Tensor:
    """Zeros of the shape and dtype of a tensor, where only these are looked at."""
    if not isinstance(output, torch.Tensor):
        raise NotAsAsked(f"{describe_result(output)} instead of a tensor")
    return torch.zeros(output.shape, dtype=output.dtype)


# The key of a fact that says in numbers what was seen, empty where all is right: a student is told, and no known mistake is recognised by it.
MEASURED = "measured"
ASKED_FOR = " was asked for"  # how it ends what is told where another exception came, or none


def expect_exception(call: Callable[[], Any], exception_type: type[Exception] = ValueError) -> str | Failure:
    """The name of the exception that `call` should raise, if it does (a subclass counts); else what it does instead, as the student is told.

    A stub's NotImplementedError passes through.
    """
    try:
        call()
    except NotImplementedError:
        raise
    except exception_type:
        return exception_type.__name__
    except Exception as error:
        instead = type_with_article(error)
    else:
        instead = "no exception"
    return Failure("NotAsAsked", f"{instead}; {type_with_article(exception_type())}{ASKED_FOR}")
