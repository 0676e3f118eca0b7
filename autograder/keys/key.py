"""The answer key of one exercise: what is right, other right answers, and the mistakes that people make, each kept as code.

Written by authors in `autograder/keys/`, a file for each exercise. Trusted code: it never runs beside a student's.
"""

from __future__ import annotations

import ast
import inspect
import io
import linecache
import math
import sys
import textwrap
import tokenize
from collections.abc import Callable
from dataclasses import dataclass, field, replace
from itertools import pairwise
from typing import Any, TypeVar

import torch
import torch.nn.functional as F
from torch import nn

from autograder.keys import table
from autograder.keys.problem import KeyProblem
from ffnlab.diagnosis.causes import NOTHING_RETURNED
from ffnlab.observation.exercise import Exercise

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
    """The answer key of `exercise`.

    truth: an independent, obviously right and slow computation, called by the same probes.
    right: what a student may type instead. mistake: what a student may get wrong, with the message that names it.
    slip: another answer with a small change. Most mistakes are one, and most of them of the `base`.
    namespace: what the notebook's first cell defines besides math, torch, F and nn, by name, for answers that are kept by their source.
    """

    exercise: Exercise
    answers: list[Answer] = field(default_factory=list)
    namespace: dict[str, Any] = field(default_factory=dict)
    base_answer: Answer | None = None

    def base(self, answer: T) -> T:
        """Decorate the answer that slips start from: mostly the notebook's solution, which is read from there and so not kept a second time.

        It may be the name of a right answer that is kept above.
        """
        if isinstance(answer, str):
            self.base_answer = next((kept for kept in self.rights if kept.name == answer), None)
            if self.base_answer is None:
                raise KeyProblem(f"the key of {self.exercise.name} has no right answer {answer} to be the base")
        else:
            self.base_answer = self._answer("right", "", answer)
        return answer

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

    def form(self, mistake: Callable[..., Any] | str) -> Callable[[T], T]:
        """Decorate another way to type a mistake that is kept already; verdicts give it that one's name and message."""
        return self._adder("mistake", "", self._mistake(mistake))

    def slip(
        self,
        name: str,
        message: str = "",
        *,
        of: Callable[..., Any] | str = "",
        replace: dict[str, str],
        form_of: Callable[..., Any] | str = "",
        kind: str = "mistake",
    ) -> None:
        """Keep the source of another answer with other text in some places.

        of: that answer, the function or its name; without it the key's base, which mostly is the notebook's solution.
        kind: "mistake", or "right" with a remark as the message.
        replace: new text by old text. All are replaced at once, and each old text occurs exactly once; one that ends with … goes on to the end
        of its line. Lines of a text after its first are indented like the line in which it begins, and a line that is left empty is dropped.
        form_of: the mistake of which this is another form, in place of a message.

        Raises:
            KeyProblem: there is no such answer, or an old text is not there, or more than once.
        """
        base = self._find(of) if of else self.base_answer
        if base is None:
            description = f"{_name(of)}, which is not kept above it" if of else "the base, and there is none"
            if of and self.base_answer is not None:
                description += f". The answer {self.base_answer.name} is the base, which a table calls `of base`"
            raise KeyProblem(f"{self.exercise.name}: {name} is a slip of {description}")
        try:
            source = derive_source(base.source, replace)
        except ValueError as error:
            raise KeyProblem(f"{self.exercise.name}: {name} can't be made of {base.name}: {error}") from None
        self.add_source(kind, name, message, source, self._mistake(form_of) if form_of else "")

    def slips(self, rows: str, **messages: str) -> None:
        """Keep slips that are written as a table; `autograder.keys.table` says how. messages: texts that rows name in capitals, besides NO_RETURN.

        Raises:
            KeyProblem: with the line and the column of the row that can't be read, or can't be made.
        """
        caller = sys._getframe(1)
        file = caller.f_code.co_filename
        first_line = caller.f_lineno
        line = 0
        try:
            for row in table.read(rows, {"NO_RETURN": NO_RETURN} | messages):
                line = row.line
                self.slip(row.name, row.message, of=row.of, replace=row.replace, form_of=row.form_of)
        except table.TableProblem as problem:
            raise KeyProblem(f"column {problem.column}: {problem}", file, first_line + problem.line) from None
        except KeyProblem as problem:
            raise KeyProblem(problem.problem, file, first_line + line) from None

    def add_value(self, kind: str, name: str, message: str, answer: Any) -> None:
        """Keep an answer that is a plain value, such as a quiz's letter."""
        source = f"{self.exercise.name} = {answer!r}"
        self._keep(Answer(self.exercise.name, name, kind, message, answer, source))

    def add_source(self, kind: str, name: str, message: str, source: str, form_of: str = "") -> None:
        """Keep an answer by its source alone, as a student would type it: handy for variants of one class.

        form_of: the mistake of which this is another form; without a message of its own it has that one's.
        """
        self._keep(Answer(self.exercise.name, name, kind, message, self._execute(name, source), source, form_of))

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

    def _find(self, answer: Callable[..., Any] | str) -> Answer | None:
        return next(
            (candidate for candidate in self.answers if candidate.answer is answer or candidate.name == answer), None
        )

    def _mistake(self, mistake: Callable[..., Any] | str) -> str:
        """The name of a mistake that is kept already."""
        first = self._find(mistake)
        if first is None or first.kind != "mistake":
            raise KeyProblem(f"the key of {self.exercise.name} has no mistake {_name(mistake)} to give another form of")
        return first.name

    def _execute(self, name: str, source: str) -> Any:
        """What a source defines under the exercise's name, where the notebook's first cell has been run. Tracebacks show its lines."""
        file = f"<kept: {self.exercise.name}, {name}>"
        linecache.cache[file] = (len(source), None, source.splitlines(keepends=True), file)
        definitions: dict[str, Any] = {
            "math": math,
            "torch": torch,
            "F": F,
            "nn": nn,
            "__name__": "kept",
            **self.namespace,
        }
        exec(compile(source, file, "exec"), definitions)
        return definitions[self.exercise.name]

    def _adder(self, kind: str, message: str, form_of: str = "") -> Callable[[T], T]:
        def add(answer: T) -> T:
            self._add(kind, message, answer, form_of)
            return answer

        return add

    def _add(self, kind: str, message: str, answer: Any, form_of: str = "") -> None:
        self._keep(self._answer(kind, message, answer, form_of))

    def _answer(self, kind: str, message: str, answer: Any, form_of: str = "") -> Answer:
        name: str = answer.__name__
        source = to_student_source(inspect.getsource(answer), name, self.exercise.name)
        return Answer(self.exercise.name, name, kind, message, answer, source, form_of)

    def _keep(self, answer: Answer) -> None:
        if any(answer.name == other.name for other in self.answers):
            raise KeyProblem(f"the key of {self.exercise.name} has two answers called {answer.name}")
        if answer.form_of and not answer.message:
            message = next((mistake.message for mistake in self.mistakes if mistake.name == answer.form_of), "")
            answer = replace(answer, message=message)
        if answer.kind == "mistake" and not answer.message:
            raise KeyProblem(f"the key of {self.exercise.name} has no message that names the mistake {answer.name}")
        self.answers.append(answer)


def quiz_key(exercise: Exercise, right: str, wrong: dict[str, str]) -> Key:
    """The key of a quiz: the right letter, and for every other letter why it is wrong."""
    key = Key(exercise)
    key.add_value("truth", "truth", "", right)
    for name, text in (("letter", right), ("lower_case", right.lower()), ("with_spaces", f" {right} ")):
        key.add_value("right", name, name.replace("_", " "), text)
    for letter, message in wrong.items():
        key.add_value("mistake", f"option_{letter}", message, letter)
    return key


def derive_source(source: str, replace: dict[str, str]) -> str:
    """A source with other text in some places, all replaced at once.

    Raises:
        ValueError: a text is not there, or more than once, or two overlap.
    """
    places = sorted((*_place(source, old), new) for old, new in replace.items())
    if any(end > start for (_, end, _), (start, *_) in pairwise(places)):
        raise ValueError("two of its replacements overlap")
    for start, end, new in reversed(places):
        first, last = source.rfind("\n", 0, start) + 1, source.find("\n", end) + 1 or len(source)
        new = new.replace("\n", "\n" + _indentation(source[first:]))
        line = source[first:start] + new + source[end:last]
        source = source[:first] + (line if line.strip() else "") + source[last:]
    return source


def _place(source: str, old: str) -> tuple[int, int]:
    """Where the only occurrence of a text begins and ends."""
    first, *others = old.removesuffix("…").split("\n")
    places = []
    start = source.find(first) if first else -1
    while start >= 0:
        margin = "\n" + _indentation(source[source.rfind("\n", 0, start) + 1 :])
        passage = margin.join([first, *others])
        if source.startswith(passage, start):
            end = start + len(passage)
            places.append((start, source.find("\n", end) if old.endswith("…") else end))
        start = source.find(first, start + 1)
    if len(places) != 1:
        raise ValueError(f"{old!r} occurs in it {len(places)} times instead of once")
    return places[0]


def _indentation(line: str) -> str:
    return line[: len(line) - len(line.lstrip(" "))]


def _name(answer: Callable[..., Any] | str) -> str:
    return answer if isinstance(answer, str) else answer.__name__


def to_student_source(source: str, name: str, exercise: str) -> str:
    """The source of a kept answer as a student would type it: without its decorators, under the exercise's name."""
    source = textwrap.dedent(source)
    node = ast.parse(source).body[0]
    assert isinstance(node, (ast.FunctionDef, ast.ClassDef))
    lines = source.splitlines(keepends=True)[node.lineno - 1 :]
    tokens = list(tokenize.generate_tokens(io.StringIO("".join(lines)).readline))
    places = [
        token.start
        for before, token in pairwise(tokens)
        if token.type == tokenize.NAME and token.string == name and before.string != "."  # an attribute is another's
    ]
    for row, column in reversed(places):
        line = lines[row - 1]
        lines[row - 1] = line[:column] + exercise + line[column + len(name) :]
    return "".join(lines).rstrip() + "\n"
