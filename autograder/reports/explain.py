"""Why an answer has its points: every attempt with its code, what was seen and what a person gave; and a script that gives the same verdict alone.

Called by `autograder why`, and `again` and `verdict_lines` by the scripts that `make_script` makes.
"""

from __future__ import annotations

import base64
import json
import math
import pprint
import re
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, replace
from datetime import datetime
from functools import cache
from typing import TYPE_CHECKING, Any

from autograder import outline, untrusted_files
from autograder.class_folder import submitted_files
from autograder.class_folder.folder import ClassFolder
from autograder.engine import program
from autograder.engine.released_notebook import OWN_ID, Cell, Kind, template
from autograder.engine.submitted_notebook import Unreadable
from autograder.errors import UserError, suggest_nearest
from autograder.gradebook.policy import EffectiveAttempt, Policy, group_by_attempt
from autograder.gradebook.scores import Score
from autograder.jail.limits import Limits
from autograder.paths import assignments, release
from autograder.reference import draws
from ffnlab.checking.verdict import Outcome, Verdict
from ffnlab.diagnosis.mistake import COMMON_PREFIX
from ffnlab.untrusted_text import clean, in_a_line

if TYPE_CHECKING:  # nbgrader and torch take seconds to import
    from autograder.gradebook.gradebook import Book, Grading, WrittenCell

WORD = re.compile(r"[^\W\d]\w*")
MAX_INLINE_NUMBERS = 512  # numbers of a tensor that a script shows; more are packed
Source = tuple[str, str | None]  # a cell's name, empty for a student's own; what was typed, None for a cell of ours


@dataclass(frozen=True)
class GradedAttempt:
    """An answer in one grading of an attempt."""

    number: int  # the attempt's, from 1
    again: bool  # the same attempt had been graded before
    grading: Grading
    verdict: Verdict | None  # None for a question that a person reads, and where the exercise was not there yet
    code: str | None  # None where it was not kept
    state: str  # what is to be said of it, such as that it is as it was handed out
    submitted_at: datetime | None
    cells: Sequence[WrittenCell] | None  # all that was typed in the notebook


@dataclass(frozen=True)
class Explanation:
    """All that there is on one student's answer."""

    student: str
    exercise: str
    assignment: str
    question: bool
    graded_attempts: Sequence[GradedAttempt]
    score: Score | None  # what it is worth in the attempt that counts
    effective_attempt: EffectiveAttempt  # what counts by the class's policy, which may be another's of the group
    counts: bool

    @property
    def attempt_count(self) -> int:
        return self.graded_attempts[-1].number

    def find_attempt(self, number: int) -> GradedAttempt:
        """An attempt, as it was graded last.

        Raises:
            UserError: there are not so many.
        """
        graded_attempts = [attempt for attempt in self.graded_attempts if attempt.number == number]
        if not graded_attempts:
            raise UserError(
                f"{self.student} has handed in {self.assignment} {_times(self.attempt_count)}, so there is no attempt {number}"
            )
        return graded_attempts[-1]


def _times(count: int) -> str:
    return "once" if count == 1 else f"{count} times"


@cache
def _index() -> dict[str, tuple[str, bool]]:
    """By its name, the notebook of each exercise and question, and whether it is a question that a person reads."""
    entries: dict[str, tuple[str, bool]] = {}
    for notebook in assignments():
        entries |= {exercise.name: (notebook, False) for exercise in outline.of_notebook(notebook)}
        entries |= {cell.name: (notebook, True) for cell in template(release(notebook)) if cell.kind is Kind.MANUAL}
    return entries


def find(book: Book, policy: Policy, student: str, exercise: str) -> Explanation:
    """What there is on a student's answer to an exercise, or to a question that a person reads.

    Raises:
        UserError: there is no such exercise or student, or nothing was graded.
    """
    everything = _index()
    if exercise not in everything:
        raise UserError(
            f"there is no exercise or question called {exercise!r}{suggest_nearest(exercise, everything, repr)}"
        )
    assignment, question = everything[exercise]
    history = list(book.history_with_cells(assignment, student))
    if not history:
        names = book.students()
        if group_result := policy.read_book(book, assignment, student).get(student):
            raise UserError(
                f"{student} has handed in nothing for {assignment}. The submission of {group_result.by}, who is in the same group, counts: "
                f"see {book.class_folder.command(f'why {group_result.by} {exercise}')}"
            )
        if student in names:
            raise UserError(f"no submission of {assignment} by {student} has been graded")
        raise UserError(
            f"the gradebook has no student called {in_a_line(student, 60)!r}{suggest_nearest(student, names, repr)}"
        )
    scores = book.scores(assignment, [student]).get(student, {})
    submission_time = book.submission_times(assignment).get(student)
    graded_attempts = []
    cells_by_row = {grading.row_id: cells for grading, cells in history}
    for number, gradings in enumerate(group_by_attempt([grading for grading, _ in history]), 1):
        for place, grading in enumerate(gradings):
            cells = cells_by_row[grading.row_id]
            verdict = grading.verdict(exercise) if exercise in grading.verdicts else None
            code, state = _read_cell(cells, exercise)
            submitted_at = grading.submitted_at or (submission_time if grading is history[-1][0] else None)
            graded_attempts.append(
                GradedAttempt(
                    number=number,
                    again=place > 0,
                    grading=grading,
                    verdict=verdict,
                    code=code,
                    state=state,
                    submitted_at=submitted_at,
                    cells=cells,
                )
            )
    effective_attempt = policy.read_book(book, assignment, student)[student]
    if effective_attempt.by == student:
        scores = dict(effective_attempt.scores)
    return Explanation(
        student,
        exercise,
        assignment,
        question,
        graded_attempts,
        scores.get(exercise),
        effective_attempt,
        policy.counts(assignment, exercise),
    )


def _read_cell(cells: Sequence[WrittenCell] | None, exercise: str) -> tuple[str | None, str]:
    """What stood in the exercise's cell, and what is to be said of it."""
    if cells is None:
        return None, "the code was not kept, because an earlier version graded it"
    if not cells:
        return None, "the file could not be read"
    cell = next((cell for cell in cells if cell.name == exercise), None)
    source = program.answer_source(cells, exercise)
    if source:
        has_words_elsewhere = cell is not None and cell.has_words_elsewhere
        own = [written for written in cells if exercise in written.answers or (has_words_elsewhere and written.is_word)]
        in_its_cell = cell is not None and not cell.missing and own == [cell]
        return source, "" if in_its_cell else "not in its own cell, or in several"
    if cell is None or cell.missing:
        return None, "the cell was deleted"
    return cell.source, "as handed out, untouched" if cell.source.strip() else "the cell is empty"


# The script.


def make_script(class_folder: ClassFolder, explanation: Explanation, number: int | None = None) -> str:
    """A Python program that grades this one answer again, on the same hidden inputs, in the jail, and says what was seen.

    number: which attempt; None for the latest. It holds hidden inputs and a student's work, and says so.

    Raises:
        UserError: there is nothing that could be run, or the class's hidden inputs are not there.
    """
    from ffnlab.registry import active_course

    if explanation.question:
        raise UserError(f"{explanation.exercise} is a question that a person reads, so there is nothing to run")
    graded_attempt = explanation.graded_attempts[-1] if number is None else explanation.find_attempt(number)
    if graded_attempt.verdict is None:
        raise UserError(f"{explanation.exercise} was not in the notebook when this was graded")
    cells, exact = _cells(class_folder, explanation, graded_attempt)
    seeds = _seeds(class_folder, explanation)
    exercise = active_course().exercise(explanation.exercise)
    inputs = [exercise.inputs(seed, case) for case, seed in enumerate(seeds)]
    remarks = []
    if not exact:
        remarks.append("The submitted file is gone. These are the cells that were kept of it, in their order.")
    if graded_attempt.grading.version != _version(explanation.assignment):
        remarks.append(
            f"It was graded by version {graded_attempt.grading.version}; when this file was written, the course was "
            f"{_version(explanation.assignment)}, which may judge differently."
        )
    verdict = graded_attempt.verdict
    return _SCRIPT.format(
        title=in_a_line(
            f"Why {explanation.student} has {verdict.points:g} of {verdict.max_points:g} points for {explanation.exercise}",
            120,
        ),
        which=f"{explanation.assignment}, attempt {graded_attempt.number} of {explanation.attempt_count}, graded {graded_attempt.grading.graded_at}",
        remarks="".join(f"\n{remark}\n" for remark in remarks),
        assignment=explanation.assignment,
        exercise=explanation.exercise,
        points=verdict.points,
        seeds=tuple(seeds),
        cells=_cells_in_python(cells),
        inputs="".join(f"    {_in_python(case, 4)},\n" for case in inputs),
    )


def _version(assignment: str) -> str:
    from autograder.gradebook import gradebook

    return gradebook.version(assignment)


def _seeds(class_folder: ClassFolder, explanation: Explanation) -> tuple[int, ...]:
    """The seeds of the hidden inputs of an exercise, as the class was graded last; nothing is drawn or written."""
    if explanation.assignment not in draws.entries(class_folder.draws):
        raise UserError(
            f"{class_folder.draws} lacks the secret with which {explanation.assignment} was graded: put the file back"
        )
    entry = json.loads(class_folder.draws.read_text(encoding="utf-8"))[explanation.assignment]
    exercise = next(
        exercise for exercise in outline.of_notebook(explanation.assignment) if exercise.name == explanation.exercise
    )
    return draws.hidden_seeds(exercise, bytes.fromhex(entry["secret"]), entry["attempts"].get(explanation.exercise, 0))


def _cells(
    class_folder: ClassFolder, explanation: Explanation, graded_attempt: GradedAttempt
) -> tuple[list[Source], bool]:
    """What ran before the exercise was looked at, and whether that is exactly what was handed in."""
    folder = class_folder.submitted / explanation.student / explanation.assignment
    for path in sorted(folder.glob("*.ipynb")) if untrusted_files.is_folder(folder) else ():
        try:
            data = untrusted_files.read(path, 64 * 2**20)
        except OSError:
            continue
        if submitted_files.digest(data) == graded_attempt.grading.digest:
            try:
                plan = program.plan(explanation.assignment, data, Limits())
            except Unreadable:
                break
            return _sources_of(explanation.exercise, plan.cells), True
    if not graded_attempt.cells:
        why_not = "the file could not be read, so nothing of it ran"
        if graded_attempt.cells is None:
            why_not = "the code was not kept"
        raise UserError(f"{explanation.student}, attempt {graded_attempt.number}: {why_not}; there is nothing to run")
    cells = _in_place(explanation.assignment, graded_attempt.cells)
    return _sources_of(explanation.exercise, cells), False


def _in_place(assignment: str, written_cells: Sequence[WrittenCell]) -> list[Cell]:
    """The notebook of an assignment with what a student wrote in it, each cell behind the cell of ours that stood before it."""
    ours = {(cell.kind, cell.name): cell for cell in template(release(assignment))}
    rows = []
    for cell in written_cells:
        own = Cell(Kind.EXTRA, cell.name, cell.cell_type or "code", cell.source, {}, cell.name)
        our = ours.pop((cell.kind, cell.name), own)
        fields = {"source": cell.source, "missing": cell.missing, "untouched": cell.untouched}
        more = {"has_our_code": cell.has_our_code, "cell_type": cell.cell_type or our.cell_type}
        rows.append((cell.behind, replace(our, **fields, **more)))  # type: ignore[arg-type]
    cells = list(ours.values())
    for behind, row in rows:
        place = next((number for number, cell in enumerate(cells, 1) if cell.id == behind), 0)
        while place < len(cells) and cells[place].id.startswith(OWN_ID):
            place += 1
        cells.insert(place, row)
    return cells


def _sources_of(exercise: str, cells: Sequence[Cell]) -> list[Source]:
    """What runs of a notebook: what was typed; and of ours, by their names, the exercise's checks and what the student's code may need."""
    from autograder.engine.names import of_source  # brings IPython

    typed = [cell for cell in cells if not cell.missing and not cell.untouched and program.runs(cell)]
    words = set(WORD.findall("\n".join(cell.source for cell in typed)))
    sources: list[Source] = []
    for cell in cells:
        name = cell.metadata.get("nbgrader", {}).get("grade_id", "")
        if cell in typed:
            sources.append((name, cell.source))
        elif not cell.missing and cell.cell_type == "code":
            is_check = cell.kind is Kind.CHECK and cell.name == exercise
            is_needed = cell.kind is Kind.DISPLAY and not words.isdisjoint(of_source(cell.source).defines)
            if is_check or is_needed:
                sources.append((name or f"check-{cell.name}", None))
    return sources


def again(assignment: str, exercise: str, seeds: Sequence[int], cells: Sequence[Source]) -> Verdict:
    """Grade one answer again, in the jail. cells: names, empty for a student's own; a source is None where it is ours. Called by scripts.

    Raises:
        UserError: the course is not there. JailBroken: there is no jail to be had.
    """
    from autograder.engine.grade_submission import grade_submission
    from autograder.jail.sandbox import Jail

    ours = {
        cell.metadata["nbgrader"]["grade_id"]: cell.source
        for cell in template(release(assignment))
        if cell.metadata.get("nbgrader")
    }
    notebook_cells = [
        {
            "cell_type": "code",
            "id": name,
            "metadata": {"nbgrader": {"grade_id": name}},
            "source": ours.get(name, "") if source is None else source,
        }
        for name, source in cells
    ]
    data = json.dumps({"cells": notebook_cells, "metadata": {}, "nbformat": 4, "nbformat_minor": 5}).encode()
    with Jail(Limits()) as jail:
        submission = grade_submission(assignment, data, jail, {exercise: tuple(seeds)}, (exercise,))
    return submission.verdicts[exercise]


def is_same_draw(exercise: str, seeds: Sequence[int], inputs: Sequence[Mapping[str, Any]]) -> bool:
    """Whether the course still draws these inputs from these seeds. Called by scripts."""
    from ffnlab.registry import active_course

    definition = active_course().exercise(exercise)
    if len(seeds) != len(inputs):
        return False
    return all(_same(definition.inputs(seed, case), inputs[case]) for case, seed in enumerate(seeds))


def _same(value: Any, other: Any) -> bool:
    """Whether two inputs are equal; nan equals nan here."""
    import torch

    if isinstance(value, torch.Tensor):
        if not isinstance(other, torch.Tensor) or value.dtype != other.dtype or value.shape != other.shape:
            return False
        has_same_nans = torch.equal(value.isnan(), other.isnan())
        return has_same_nans and torch.equal(value.nan_to_num(), other.nan_to_num())
    if isinstance(value, dict):
        if not isinstance(other, dict) or value.keys() != other.keys():
            return False
        return all(_same(value[key], other[key]) for key in value)
    if isinstance(value, (list, tuple)):
        return type(value) is type(other) and len(value) == len(other) and all(map(_same, value, other))
    if isinstance(value, float) and isinstance(other, float) and math.isnan(value) and math.isnan(other):
        return True
    return bool(value == other)


def unpacked(data: str, dtype: str, *shape: int) -> Any:
    """A tensor that was too large to be shown in a script. Called by scripts."""
    import torch

    return torch.frombuffer(bytearray(base64.b85decode(data)), dtype=getattr(torch, dtype)).reshape(shape)


def verdict_lines(verdict: Verdict) -> list[str]:
    """A verdict in lines: how it ended, each aspect with what was seen, the mistake, where to look."""
    lines = [f"{verdict.outcome}, {verdict.points:g} of {verdict.max_points:g} points"]
    for aspect in verdict.aspects:
        sign = "✔" if aspect.points == aspect.max_points and not aspect.symptom else "✘"
        if verdict.outcome in (Outcome.NOT_ATTEMPTED, Outcome.NOT_GRADED):
            sign = " "
        detail = f": {in_a_line(aspect.symptom, 1_000)}" if aspect.symptom else ""
        lines.append(f"  {sign} {aspect.name}, {aspect.points:g} of {aspect.max_points:g}{detail}")
    if verdict.mistake:
        everywhere = verdict.mistake.removeprefix(COMMON_PREFIX)
        which = f"known mistake {verdict.mistake}"
        if everywhere != verdict.mistake:
            which = f"general mistake “{everywhere}”"
        lines.append(f"  {which}: {in_a_line(verdict.cause, 1_000)}")
    elif verdict.cause:
        lines.append(f"  cause: {in_a_line(verdict.cause, 1_000)}")
    elif verdict.outcome is Outcome.NOT_EARNED:
        lines.append("  no known mistake explains it")
    if verdict.where:
        lines.append(f"  where to look: {verdict.where}")
    return lines


def _cells_in_python(cells: Sequence[Source]) -> str:
    """The cells as a list in Python, a line of source a line."""
    parts = []
    for name, source in cells:
        if source is None:
            parts.append(f"    ({name!r}, None),\n")
            continue
        lines = clean(source, len(source)).splitlines(keepends=True) or [""]
        code = "\n".join(f"        {line!r}" for line in lines)
        parts.append(f"    (\n        {name!r},\n{code},\n    ),\n")
    return "".join(parts)


def _in_python(value: Any, indent: int = 0) -> str:
    """A plain value as Python, with torch's tensors."""
    import torch

    inner = " " * (indent + 4)
    if isinstance(value, torch.Tensor):
        kind = str(value.dtype).removeprefix("torch.")
        if value.numel() <= MAX_INLINE_NUMBERS:
            return f"torch.tensor({value.tolist()!r}, dtype=torch.{kind})"
        data = base64.b85encode(value.contiguous().numpy().tobytes()).decode()
        return f"unpacked({data!r}, {', '.join([repr(kind), *map(str, value.shape)])})"
    if isinstance(value, dict):
        body = "".join(
            f"{inner}{key!r}: {_in_python(inner_value, indent + 4)},\n" for key, inner_value in value.items()
        )
        return f"{{\n{body}{' ' * indent}}}"
    if isinstance(value, (list, tuple)):
        if not any(isinstance(part, (torch.Tensor, dict, list, tuple)) for part in value):
            return pprint.pformat(value, width=10_000, compact=True)
        body = "".join(f"{inner}{_in_python(part, indent + 4)},\n" for part in value) + " " * indent
        return f"[\n{body}]" if isinstance(value, list) else f"(\n{body})"
    return repr(value)


_SCRIPT = '''"""{title}.

{which}
{remarks}
FOR THE INSTRUCTOR ONLY. This file contains hidden inputs of the exercise and a student's work. Share it with nobody, and delete it when you are done.

It grades this one answer again, in the jail, on the inputs that the class was graded on, and says what each aspect saw. Run it in the project's folder, with
the Python in which the autograder is installed. It ends with status 1 if the points differ from those given then.
"""

from math import inf, nan  # where an input holds one

import torch

from autograder.reports.explain import again, is_same_draw, unpacked, verdict_lines

ASSIGNMENT, EXERCISE = {assignment!r}, {exercise!r}
POINTS = {points!r}  # when it was graded

# What runs of the submission. An empty name is that of a cell which the student added; None stands for a source of ours.
CELLS = [
{cells}]

# The hidden inputs, a dict for each case, and their seeds. Only the judge sees what begins with an underscore.
SEEDS = {seeds!r}
INPUTS = [
{inputs}]

if __name__ == "__main__":
    if not is_same_draw(EXERCISE, SEEDS, INPUTS):
        print("The course has changed since. From the same seeds it draws other inputs than those above, and it may judge differently.")
    verdict = again(ASSIGNMENT, EXERCISE, SEEDS, CELLS)
    print("\\n".join(verdict_lines(verdict)))
    print(f"when it was graded: {{POINTS:g}} points")
    raise SystemExit(verdict.points != POINTS)
'''
