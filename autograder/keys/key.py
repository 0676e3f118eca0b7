"""The marking guide of one exercise: what is right, other right answers, and the mistakes that people make, each kept as code.

Written by authors in `autograder/keys/`, one module per notebook. Trusted code: it never runs beside a student's.
"""

from __future__ import annotations

import ast
import inspect
import io
import math
import textwrap
import tokenize
from collections.abc import Callable
from dataclasses import dataclass, field, replace
from typing import Any, TypeVar

import torch
import torch.nn.functional as F
from torch import nn

from autograder.keys.problem import KeyProblem
from ffnlab.exercise import Exercise
from ffnlab.naming import NOTHING_RETURNED

NO_RETURN = NOTHING_RETURNED.message  # what names a mistake of which nobody knows more than that None comes back
T = TypeVar("T")


@dataclass(frozen=True)
class Answer:
    """One kept answer: what a student would type, as an object and as source.

    kind: "truth", "right" or "mistake". message: what names a mistake, or what is special about a right answer.
    form_of: for another way to type a mistake, the name of that mistake.
    """

    exercise: str
    name: str
    kind: str
    message: str
    answer: Any
    source: str
    form_of: str = ""

    @property
    def mistake(self) -> str:
        """The name under which verdicts know this mistake."""
        return self.form_of or self.name


@dataclass
class Key:
    """The marking guide of `exercise`.

    truth: an independent, obviously right and slow computation, called by the same probes.
    right: what a student may type instead. mistake: what a student may get wrong, with the message that names it.
    given: what the notebook's first cell defines, by name, for answers that are kept by their source alone.
    """

    exercise: Exercise
    answers: list[Answer] = field(default_factory=list)
    given: dict[str, Any] = field(default_factory=dict)

    def truth(self, answer: T) -> T:
        """Decorate the independent computation that decides what is right."""
        self._add("truth", "", answer)
        return answer

    def right(self, remark: str) -> Callable[[T], T]:
        """Decorate another right answer; `remark` says in what it differs."""
        return self._adder("right", remark)

    def mistake(self, message: str) -> Callable[[T], T]:
        """Decorate a wrong answer; `message` tells the student the likely cause."""
        return self._adder("mistake", message)

    def form(self, mistake: Callable[..., Any]) -> Callable[[T], T]:
        """Decorate another way to type a mistake that is kept already; verdicts give it that one's name and message."""
        first = next((kept for kept in self.mistakes if kept.answer is mistake), None)
        if first is None:
            raise KeyProblem(f"the key of {self.exercise.name} has no mistake {mistake!r} to give another form of")
        return self._adder("mistake", "", first.name)

    def value(self, kind: str, name: str, message: str, answer: Any) -> None:
        """Keep an answer that is a plain value, such as a question's letter."""
        source = f"{self.exercise.name} = {answer!r}"
        self._keep(Answer(self.exercise.name, name, kind, message, answer, source))

    def typed(self, kind: str, name: str, message: str, source: str, form_of: str = "") -> None:
        """Keep an answer by its source alone, as a student would type it: handy for variants of one class.

        form_of: the mistake of which this is another form; without a message of its own it has that one's.
        """
        namespace: dict[str, Any] = {"math": math, "torch": torch, "F": F, "nn": nn, "__name__": "kept", **self.given}
        exec(compile(source, f"<kept: {self.exercise.name}, {name}>", "exec"), namespace)
        self._keep(Answer(self.exercise.name, name, kind, message, namespace[self.exercise.name], source, form_of))

    @property
    def the_truth(self) -> Answer:
        truths = [answer for answer in self.answers if answer.kind == "truth"]
        if len(truths) != 1:
            raise KeyProblem(f"the key of {self.exercise.name} has {len(truths)} truths instead of one")
        return truths[0]

    @property
    def rights(self) -> list[Answer]:
        return [answer for answer in self.answers if answer.kind == "right"]

    @property
    def mistakes(self) -> list[Answer]:
        return [answer for answer in self.answers if answer.kind == "mistake"]

    def _adder(self, kind: str, message: str, form_of: str = "") -> Callable[[T], T]:
        def add(answer: T) -> T:
            self._add(kind, message, answer, form_of)
            return answer

        return add

    def _add(self, kind: str, message: str, answer: Any, form_of: str = "") -> None:
        name: str = answer.__name__
        source = as_typed(inspect.getsource(answer), name, self.exercise.name)
        self._keep(Answer(self.exercise.name, name, kind, message, answer, source, form_of))

    def _keep(self, answer: Answer) -> None:
        if any(answer.name == other.name for other in self.answers):
            raise KeyProblem(f"the key of {self.exercise.name} has two answers called {answer.name}")
        if answer.form_of and not answer.message:
            message = next((mistake.message for mistake in self.mistakes if mistake.name == answer.form_of), "")
            answer = replace(answer, message=message)
        if answer.kind == "mistake" and not answer.message:
            raise KeyProblem(f"the key of {self.exercise.name} has no message that names the mistake {answer.name}")
        self.answers.append(answer)


def question(exercise: Exercise, right: str, wrong: dict[str, str]) -> Key:
    """The key of a multiple-choice question: the right letter, and for every other letter why it is wrong."""
    key = Key(exercise)
    key.value("truth", "truth", "", right)
    for name, typed in (("letter", right), ("lower_case", right.lower()), ("with_spaces", f" {right} ")):
        key.value("right", name, name.replace("_", " "), typed)
    for letter, message in wrong.items():
        key.value("mistake", f"option_{letter}", message, letter)
    return key


def as_typed(source: str, name: str, exercise: str) -> str:
    """The source of a kept answer as a student would type it: without its decorators, under the exercise's name."""
    source = textwrap.dedent(source)
    node = ast.parse(source).body[0]
    assert isinstance(node, (ast.FunctionDef, ast.ClassDef))
    lines = source.splitlines(keepends=True)[node.lineno - 1 :]
    tokens = tokenize.generate_tokens(io.StringIO("".join(lines)).readline)
    places = [token.start for token in tokens if token.type == tokenize.NAME and token.string == name]
    for row, column in reversed(places):
        line = lines[row - 1]
        lines[row - 1] = line[:column] + exercise + line[column + len(name) :]
    return "".join(lines).rstrip() + "\n"
