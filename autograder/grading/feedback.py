"""What a student gets back: the graded notebook for formgrader, and one page that says, exercise by exercise, what was seen, why, and where to look."""

from __future__ import annotations

import json
from collections.abc import Callable, Collection, Iterator, Mapping, Sequence
from dataclasses import dataclass, field, replace
from datetime import datetime
from functools import cache
from importlib import resources
from pathlib import Path
from typing import TYPE_CHECKING, Any

import jinja2

from autograder import outline, untrusted_files
from autograder.class_folder.folder import ClassFolder
from autograder.engine.graded_submission import GradedSubmission
from autograder.engine.program import answer_source
from autograder.engine.released_notebook import Cell, Kind, template
from autograder.engine.submitted_notebook import PICTURE
from autograder.files import Batch
from autograder.gradebook import sanitize
from autograder.gradebook.scores import Score, Scores, total
from autograder.paths import release
from autograder.redaction import panels
from autograder.redaction.redact import redact
from ffnlab.checking import panel
from ffnlab.checking.verdict import Outcome, Verdict
from ffnlab.untrusted_text import clean, in_a_line

if TYPE_CHECKING:  # nbgrader takes seconds to import
    from autograder.gradebook.gradebook import Book, WrittenCell
    from autograder.gradebook.policy import EffectiveAttempt, Grade

NO_SCORES: Scores = {}
MAX_SOURCE = 100_000  # characters of an answer on a student's page; all of it is in the graded notebook, and the gradebook keeps it
NO_ATTEMPTS: Mapping[str, EffectiveAttempt] = {}
BATCH_SIZE = 50  # pages that are written at a time


def write(
    files: Batch,
    class_folder: ClassFolder,
    student: str,
    graded_submission: GradedSubmission,
    utc_time: datetime | None = None,
    scores: Scores = NO_SCORES,
    grade: Grade | None = None,
    digest: str = "",
) -> None:
    """Write the graded notebook and the feedback page, where nbgrader expects them, in a batch with others.

    utc_time: when it was handed in. scores: what a person gave before; it stands. grade: what it is worth by the class's rules, where the page should say so.
    digest: the SHA-256 of what was graded, by which the page finds its way back in nbgrader's exchange.
    """
    # Without an indent: with one, json takes its slow encoder.
    files.write(
        _notebook(class_folder, student, graded_submission.assignment),
        json.dumps(build_graded_notebook(graded_submission), ensure_ascii=False),
    )
    files.write(
        _page(class_folder, student, graded_submission.assignment),
        feedback_page(student, graded_submission, scores, grade, digest),
    )
    if utc_time:
        write_time(files, class_folder, student, graded_submission.assignment, utc_time)
    else:
        files.remove(
            _notebook(class_folder, student, graded_submission.assignment).with_name(untrusted_files.TIMESTAMP)
        )


def write_time(files: Batch, class_folder: ClassFolder, student: str, assignment: str, utc_time: datetime) -> None:
    """Write when a graded notebook was handed in, in UTC, where nbgrader expects it."""
    files.write(
        _notebook(class_folder, student, assignment).with_name(untrusted_files.TIMESTAMP),
        f"{utc_time:%Y-%m-%d %H:%M:%S.%f} UTC",
    )


def are_whole(class_folder: ClassFolder, student: str, assignment: str) -> bool:
    """Whether a student's graded notebook and page are there, and not empty as a power cut may leave them."""
    return all(
        path.is_file() and path.stat().st_size
        for path in (_notebook(class_folder, student, assignment), _page(class_folder, student, assignment))
    )


def _notebook(class_folder: ClassFolder, student: str, assignment: str) -> Path:
    return class_folder.autograded / student / assignment / f"{assignment}.ipynb"


def _page(class_folder: ClassFolder, student: str, assignment: str) -> Path:
    return class_folder.feedback / student / assignment / f"{assignment}.html"


def build_graded_notebook(graded_submission: GradedSubmission) -> dict[str, Any]:
    """The rebuilt notebook with the outputs that its cells had in the jail, and the verdicts at the checks, as nbformat 4.5's JSON.

    nbformat's own constructors validate every cell, which takes longer than grading it.
    """
    budget: sanitize.OutputBudget = {}
    cells = [_cell(cell, graded_submission, budget) for cell in graded_submission.cells]
    if not cells:  # formgrader has a page for it all the same, with a place for each score
        remarks = [in_a_line(remark) for remark in graded_submission.remarks]
        title = {
            "cell_type": "markdown",
            "id": "remarks",
            "metadata": {},
            "source": sanitize.markdown("\n\n".join(remarks)),
        }
        cells = [
            title,
            *(
                _cell(cell, GradedSubmission(graded_submission.assignment, {}), budget)
                for cell in template(release(graded_submission.assignment))
            ),
        ]
    kernel = {"display_name": "Python 3", "language": "python", "name": "python3"}
    return {
        "cells": cells,
        "metadata": {"kernelspec": kernel, "language_info": {"name": "python"}},
        "nbformat": 4,
        "nbformat_minor": 5,
    }


def _cell(cell: Cell, graded_submission: GradedSubmission, budget: sanitize.OutputBudget) -> dict[str, Any]:
    ours = cell.missing or (cell.untouched and cell.kind is not Kind.EXTRA)
    source = cell.source if ours else clean(cell.source, len(cell.source))
    common = {"cell_type": cell.cell_type, "id": cell.id, "metadata": _metadata(cell), "source": source}
    if cell.cell_type == "raw":  # which nbconvert would hand on as it is
        return common | {"cell_type": "markdown", "source": sanitize.plain(source)}
    if cell.cell_type != "code":
        return common | {"cell_type": "markdown", "source": source if ours else sanitize.markdown(source)}
    outputs = [sanitize.output(output, budget) for output in graded_submission.outputs.get(cell.id, [])]
    outputs += _panels(cell, graded_submission)
    return common | {"execution_count": None, "outputs": outputs}


def _metadata(cell: Cell) -> dict[str, Any]:
    """The metadata of a graded notebook's cell. What a student has changed counts as unlocked, so that no page takes their words for ours."""
    fields = cell.metadata.get("nbgrader", {})
    if not fields.get("locked") or cell.untouched or cell.missing:
        return cell.metadata
    return cell.metadata | {"nbgrader": fields | {"locked": False}}


def _panels(cell: Cell, graded_submission: GradedSubmission) -> list[dict[str, Any]]:
    """The verdicts that belong below a cell: where an answer was looked at; and at its own check, or else it would say nothing."""
    verdicts, places = graded_submission.verdicts, graded_submission.looked_at
    names = [name for name, place in places.items() if place == cell.id and name in verdicts]
    is_check = cell.kind is Kind.CHECK and cell.name in verdicts
    if is_check and cell.metadata and cell.name not in names:
        names.append(cell.name)
    results = [panels.panel_for(graded_submission.assignment, verdicts[name]) for name in names]
    return [{"output_type": "display_data", "metadata": {}, "data": result._repr_mimebundle_()} for result in results]


@cache
def _template() -> jinja2.Template:
    text = resources.files("autograder.grading").joinpath("templates/feedback.html").read_text(encoding="utf-8")
    environment = jinja2.Environment(
        autoescape=True, trim_blocks=True, lstrip_blocks=True, undefined=jinja2.StrictUndefined
    )
    return environment.from_string(text)


@dataclass
class RewriteSummary:
    """How many pages were written again, and whose were not: what they wrote was not kept when it was graded."""

    page_count: int = 0
    missing: list[str] = field(default_factory=list)


def rewrite(
    class_folder: ClassFolder,
    assignment: str,
    book: Book,
    students: Collection[str] | None = None,
    tell: Callable[[], None] = lambda: None,
    effective_attempts: Mapping[str, EffectiveAttempt] = NO_ATTEMPTS,
) -> RewriteSummary:
    """Write the pages of an assignment again, with what a person has given since; all, or these students'. `tell` is called after each.

    effective_attempts: by student, which attempt counts and what it is worth by the class's rules, for their pages to be of that one; of others,
    and by default, the latest is shown.
    """
    summary = RewriteSummary()
    scores_by_student = book.scores(assignment, students)
    there = {exercise.name for exercise in outline.of_notebook(assignment)}  # some may have gone since
    with Batch(BATCH_SIZE) as files:
        for latest in book.latest(assignment, students):
            effective = effective_attempts.get(latest.student)
            grading = replace(effective.grading, student=latest.student) if effective else latest
            scores = effective.scores if effective else scores_by_student.get(latest.student, {})
            cells = book.written_cells(grading.row_id)
            if cells is None:
                summary.missing.append(grading.student)
            else:
                verdicts = {name: grading.verdict(name) for name in grading.verdicts if name in there}
                graded_submission = GradedSubmission(
                    assignment, verdicts, _cells(assignment, cells), remarks=list(grading.remarks)
                )
                is_own = effective is None or effective.by == latest.student  # in a group, another's may count
                digest = grading.digest if is_own else latest.digest
                grade = effective.grade if effective else None
                page = feedback_page(grading.student, graded_submission, scores, grade, digest)
                files.write(_page(class_folder, grading.student, assignment), page)
                summary.page_count += 1
            tell()
    return summary


def _cells(assignment: str, cells: Sequence[WrittenCell]) -> tuple[Cell, ...]:
    """What a student wrote in the cells of an assignment and in their own."""
    ours = {(cell.kind, cell.name): cell for cell in template(release(assignment))}
    result = []
    for cell in cells:
        our = ours.get((cell.kind, cell.name))
        if our is None and cell.kind is not Kind.EXTRA:
            continue  # of an exercise that has gone since
        answers = tuple(cell.answers) or ((cell.name,) if our and not cell.untouched and not cell.missing else ())
        fields = {"missing": cell.missing, "untouched": cell.untouched, "has_our_code": cell.has_our_code}
        words = {"answers": answers, "is_word": cell.is_word, "has_words_elsewhere": cell.has_words_elsewhere}
        own = our or Cell(Kind.EXTRA, cell.name, "code", cell.source, {}, cell.name)
        kind_of_cell = cell.cell_type or own.cell_type
        result.append(replace(own, source=cell.source, cell_type=kind_of_cell, **fields, **words))  # type: ignore[arg-type]
    return tuple(result)


@dataclass(frozen=True)
class _PageRow:
    """A line of a page's table: an exercise, or a question that a person reads."""

    name: str
    word: str
    score: Score
    panel: str = ""
    source: str = ""

    @property
    def points(self) -> str:
        return "–" if self.score.waits else f"{self.score.score:g}"


def combine_scores(graded_submission: GradedSubmission, scores: Scores = NO_SCORES) -> Scores:
    """What stands on a submission's page, with what a person gave: the scores that a policy makes a grade of."""
    return {
        row.name: row.score for row in (*_exercises(graded_submission, scores), *_questions(graded_submission, scores))
    }


def feedback_page(
    student: str,
    graded_submission: GradedSubmission,
    scores: Scores = NO_SCORES,
    grade: Grade | None = None,
    digest: str = "",
) -> str:
    """One student's page, with what a person gave and, with `grade`, what counts and what being late costs. All that came from the submission is escaped."""
    rows = [*_exercises(graded_submission, scores), *_questions(graded_submission, scores)]
    first = redact(next(iter(graded_submission.verdicts.values())))
    once = "" if graded_submission.cells else panel.message(_head(first), first.symptom, first.outcome).html
    return _template().render(
        student=student,
        digest=digest,
        assignment=graded_submission.assignment,
        total=grade or total({row.name: row.score for row in rows}),
        grade=grade,
        earned=sum(1 for verdict in graded_submission.verdicts.values() if _full(verdict)),
        exercises=len(graded_submission.verdicts),
        rows=rows,
        once=once,
        own_texts=list(_own_texts(graded_submission)),
        remarks=[in_a_line(remark) for remark in graded_submission.remarks],
    )


def _exercises(graded_submission: GradedSubmission, scores: Scores) -> Iterator[_PageRow]:
    cells = graded_submission.cells
    sources = {name: clean(answer_source(cells, name), MAX_SOURCE) for name in graded_submission.verdicts}
    for name, verdict in graded_submission.verdicts.items():
        known_score, word = scores.get(name), panel.SIGNS[verdict.outcome][1]
        score = Score(name, verdict.points, verdict.max_points, waits=verdict.outcome is Outcome.NOT_GRADED)
        if known_score:
            points = known_score.score if known_score.by_hand else verdict.points + known_score.extra
            score = replace(
                known_score, score=points, max_score=verdict.max_points, waits=score.waits and not known_score.by_hand
            )
            word = "scored by your instructor" if known_score.by_hand else word
        yield _PageRow(
            name, word, score, panels.panel_for(graded_submission.assignment, verdict).html, sources.get(name, "")
        )


def _questions(graded_submission: GradedSubmission, scores: Scores) -> Iterator[_PageRow]:
    for cell in graded_submission.cells:
        if cell.kind is not Kind.MANUAL:
            continue
        text = "" if cell.has_words_elsewhere else answer_source(graded_submission.cells, cell.name)
        text = clean(PICTURE.sub("a picture", text), MAX_SOURCE)
        points = float(cell.metadata["nbgrader"]["points"])
        score = scores.get(cell.name, Score(cell.name, 0.0, points))
        if score.by_hand or not cell.is_to_read:
            word = "read by your instructor" if score.by_hand else "not attempted"
            yield _PageRow(cell.name, word, replace(score, waits=False), source=text)
        else:
            yield _PageRow(cell.name, "not read yet", replace(score, waits=True), source=text)


@dataclass(frozen=True)
class _OwnText:
    """A text that a student wrote in a cell that is no answer's."""

    title: str  # which cell that is
    text: str
    is_prose: bool  # whether its lines may be broken; code's may not


def _own_texts(graded_submission: GradedSubmission) -> Iterator[_OwnText]:
    """What a student wrote elsewhere than in an answer's cell, in the notebook's order, for the page to show that it was seen."""
    for cell in graded_submission.cells:
        is_own = cell.kind is Kind.EXTRA and not cell.answers and not cell.untouched
        is_changed = cell.kind in (Kind.OURS, Kind.DISPLAY, Kind.CHECK) and not cell.untouched and not cell.missing
        if is_own or is_changed:
            what = {"code": "code", "markdown": "text", "raw": "text"}[cell.cell_type]
            title = (
                f"Your {what} in the cell {cell.metadata['nbgrader']['grade_id']}"
                if cell.metadata.get("nbgrader")
                else f"Your own {what}"
            )
            text = clean(PICTURE.sub("a picture", cell.source), MAX_SOURCE)
            yield _OwnText(title, text, cell.cell_type != "code")


def _head(verdict: Verdict) -> str:
    sign, word = panel.SIGNS[verdict.outcome]
    return f"{sign} The whole submission: {word}"


def _full(verdict: Verdict) -> bool:
    return verdict.outcome is Outcome.EARNED
