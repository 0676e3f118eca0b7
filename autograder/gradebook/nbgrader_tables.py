"""Graded submissions into nbgrader's tables, many in one transaction. Called by gradebook.

nbgrader's own methods write row by row, through its object model. For one submission of a notebook that takes 10 ms of CPU, and a class has one writer.
"""

from __future__ import annotations

from collections.abc import Collection, Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from datetime import UTC, datetime
from typing import Any

import sqlalchemy as sa
from nbgrader import api

from autograder.engine.graded_submission import GradedSubmission
from autograder.engine.released_notebook import Kind, template
from autograder.errors import UserError
from autograder.gradebook import sanitize
from autograder.paths import release
from autograder.redaction.redact import redact
from ffnlab.checking.verdict import Outcome

STUDENT, ASSIGNMENT, NOTEBOOK = (
    kind.__table__ for kind in (api.Student, api.SubmittedAssignment, api.SubmittedNotebook)
)
GRADE, COMMENT = api.Grade.__table__, api.Comment.__table__
_by_hand = GRADE.c.manual_score.is_not(None)
# A score by hand stays. It waits for a person again, unless it was given for the same answer.
_SCORE = (
    GRADE.update()
    .where(GRADE.c.notebook_id == sa.bindparam("of_notebook"), GRADE.c.cell_id == sa.bindparam("of_cell"))
    .values(
        auto_score=sa.bindparam("score"),
        needs_manual_grade=sa.case(
            (sa.and_(sa.bindparam("is_same", type_=sa.Boolean), _by_hand), GRADE.c.needs_manual_grade),
            else_=sa.or_(sa.bindparam("waits", type_=sa.Boolean), _by_hand),
        ),
    )
)
_REMARK = (
    COMMENT.update()
    .where(COMMENT.c.notebook_id == sa.bindparam("of_notebook"), COMMENT.c.cell_id == sa.bindparam("of_cell"))
    .values(auto_comment=sa.bindparam("text"))
)


@dataclass(frozen=True)
class GradingEntry:
    """A graded submission."""

    student: str
    graded_submission: GradedSubmission
    digest: str  # the SHA-256 of its bytes
    submitted_at: datetime | None  # in UTC, without a zone; None where it is not known
    is_earlier_attempt: bool = False  # an attempt before the one whose scores stand in nbgrader's tables
    # In ISO 8601.
    graded_at: str = field(default_factory=lambda: datetime.now(UTC).isoformat(timespec="seconds"))


@dataclass(frozen=True)
class SubmissionTime:
    """When a submission that has been entered was handed in, as is known now."""

    student: str
    digest: str  # as of GradingEntry
    submitted_at: datetime  # in UTC, without a zone
    others: frozenset[datetime] = frozenset()  # when the same student handed in the same bytes besides
    is_earlier_attempt: bool = False  # as of GradingEntry


@dataclass(frozen=True)
class Cells:
    """What the gradebook knows of an assignment's one notebook: ids, and of its cells with points or comments the ids by name."""

    assignment: str
    notebook: str
    grades: Mapping[str, str]
    comments: Mapping[str, str]

    @classmethod
    def of(cls, assignment: Any) -> Cells:
        """Read from nbgrader's object for the assignment."""
        (notebook,) = assignment.notebooks
        return cls(
            assignment.id,
            notebook.id,
            {cell.name: cell.id for cell in (*notebook.grade_cells, *notebook.task_cells)},
            {cell.name: cell.id for cell in (*notebook.solution_cells, *notebook.task_cells)},
        )


_rows = list[dict[str, Any]]


def enter_gradings(
    connection: sa.Connection,
    cells: Cells,
    entries: Sequence[GradingEntry],
    answers: Mapping[str, Mapping[str, str]],
    sources: Mapping[str, Mapping[str, str]],
) -> None:
    """Enter the scores and comments of submissions of one assignment, one of each student.

    answers: by student, what a person may have read and scored, by cell. sources: likewise, what they have handed in now.

    Raises:
        UserError: the gradebook knows other cells than the notebook has.
    """
    students = [entry.student for entry in entries]
    known_ids = set(connection.scalars(sa.select(STUDENT.c.id).where(STUDENT.c.id.in_(students))))
    _insert(connection, STUDENT, [{"id": student} for student in students if student not in known_ids])
    notebooks_by_student = _notebooks_of(connection, cells, students)
    submissions, notebooks, scores, remarks, again, remarks_again = _rows(), _rows(), _rows(), _rows(), _rows(), _rows()
    for entry in entries:
        points = scores_of(entry.graded_submission)
        texts = remarks_of(entry.graded_submission)
        if missing_cells := (points.keys() - cells.grades.keys()) | (texts.keys() - cells.comments.keys()):
            raise UserError(
                f"the gradebook does not know {entry.graded_submission.assignment} as it is now ({min(missing_cells)} is missing): run `make build`"
            )
        if entry.student not in notebooks_by_student:
            submission, notebook = api.new_uuid(), api.new_uuid()
            submissions.append({"id": submission, "assignment_id": cells.assignment, "student_id": entry.student, "timestamp": entry.submitted_at})  # fmt: skip
            notebooks.append({"id": notebook, "assignment_id": submission, "notebook_id": cells.notebook})
            for name, cell in cells.grades.items():
                score = points.get(name)
                scores.append({"notebook_id": notebook, "cell_id": cell, "auto_score": score, "needs_manual_grade": score is None})  # fmt: skip
            for name, cell in cells.comments.items():
                remarks.append({"notebook_id": notebook, "cell_id": cell, "auto_comment": texts.get(name)})
            continue
        notebook = notebooks_by_student[entry.student]
        before, now = answers.get(entry.student, {}), sources.get(entry.student, {})
        same = {name for name, source in now.items() if before.get(name) == source}
        for name, score in points.items():
            is_same = name.removeprefix("check-") in same
            again.append({"of_notebook": notebook, "of_cell": cells.grades[name], "score": score, "waits": score is None, "is_same": is_same})  # fmt: skip
        for name, text in texts.items():
            remarks_again.append({"of_notebook": notebook, "of_cell": cells.comments[name], "text": text})
    for table, rows in ((ASSIGNMENT, submissions), (NOTEBOOK, notebooks), (GRADE, scores), (COMMENT, remarks)):
        _insert(connection, table, rows)
    for statement, rows in ((_SCORE, again), (_REMARK, remarks_again)):
        if rows:
            connection.execute(statement, rows)
    known_again = [entry for entry in entries if entry.student in notebooks_by_student]
    set_times(connection, cells, {entry.student: entry.submitted_at for entry in known_again if entry.submitted_at})


def set_times(connection: sa.Connection, cells: Cells, times: Mapping[str, datetime]) -> None:
    """Write when submissions that are there were handed in. times: by student, in UTC without a zone."""
    if times:
        conditions = ASSIGNMENT.c.assignment_id == cells.assignment, ASSIGNMENT.c.student_id == sa.bindparam("student")
        rows = [{"student": student, "at": time} for student, time in times.items()]
        connection.execute(ASSIGNMENT.update().where(*conditions).values(timestamp=sa.bindparam("at")), rows)


def scores_of(graded_submission: GradedSubmission) -> dict[str, float | None]:
    """The scores of a submission, by the name of the cell; None waits for a person."""
    scores: dict[str, float | None] = {}
    for name, verdict in graded_submission.verdicts.items():
        scores[f"check-{name}"] = None if verdict.outcome is Outcome.NOT_GRADED else verdict.points
    for name, has_answer in _questions(graded_submission):
        scores[name] = None if has_answer else 0.0
    return scores


def remarks_of(graded_submission: GradedSubmission) -> dict[str, str | None]:
    """What the autograder writes below the cells of a submission, by their names."""
    remarks: dict[str, str | None] = {}
    for name, verdict in graded_submission.verdicts.items():
        is_earned = verdict.outcome is Outcome.EARNED
        remarks[name] = None if is_earned else sanitize.markdown(redact(verdict).message)
    for name, has_answer in _questions(graded_submission):
        remarks[name] = None if has_answer else "No response."
    return remarks


def _questions(graded_submission: GradedSubmission) -> Iterator[tuple[str, bool]]:
    """The questions that a person reads, each with whether there is something to read, or may be in what could not be graded."""
    waits = not graded_submission.cells and any(
        verdict.outcome is Outcome.NOT_GRADED for verdict in graded_submission.verdicts.values()
    )
    for cell in graded_submission.cells or template(release(graded_submission.assignment)):
        if cell.kind is Kind.MANUAL:
            yield cell.name, waits or (bool(graded_submission.cells) and cell.is_to_read)


def _notebooks_of(connection: sa.Connection, cells: Cells, students: Collection[str]) -> dict[str, str]:
    """By student, the id of the notebook in the submission that is there."""
    query = (
        sa.select(ASSIGNMENT.c.student_id, NOTEBOOK.c.id)
        .join(NOTEBOOK, NOTEBOOK.c.assignment_id == ASSIGNMENT.c.id)
        .where(ASSIGNMENT.c.assignment_id == cells.assignment, ASSIGNMENT.c.student_id.in_(students))
    )
    return {student: notebook for student, notebook in connection.execute(query)}


def _insert(connection: sa.Connection, table: Any, rows: Sequence[Mapping[str, Any]]) -> None:
    if rows:
        connection.execute(table.insert(), list(rows))
