"""The one writer: verdicts into nbgrader's own gradebook, and every attempt's history into a table of ours in the same database."""

from __future__ import annotations

import contextlib
import hashlib
import json
import logging
import warnings
from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from datetime import UTC, datetime
from pathlib import Path
from typing import Any

import nbformat
import nbgrader.api
import sqlalchemy as sa
from nbgrader.api import Grade, Gradebook
from nbgrader.preprocessors import CheckCellMetadata, ComputeChecksums, SaveCells
from sqlalchemy.orm import Session

import autograder
from autograder.desk import ledger, shown
from autograder.engine.graded import Graded
from autograder.engine.rebuild import Kind, template
from autograder.house import Class, UserError, make_folder, release, solution
from autograder.marking.draws import key_version
from autograder.marking.withheld import withheld
from ffnlab.verdict import Outcome, Verdict, from_dict

_metadata = sa.MetaData()
ATTEMPTS = sa.Table(
    "autograder_attempt",
    _metadata,
    sa.Column("id", sa.Integer, primary_key=True),
    sa.Column("assignment", sa.String(200), nullable=False, index=True),
    sa.Column("student", sa.String(200), nullable=False, index=True),
    sa.Column("submission", sa.String(64), nullable=False),  # hash of the submitted bytes
    sa.Column("version", sa.String(64), nullable=False),  # of key and engine
    sa.Column("graded_at", sa.String(40), nullable=False),
    sa.Column("seconds", sa.Float, nullable=False),
    sa.Column("points", sa.Float, nullable=False),
    sa.Column("max_points", sa.Float, nullable=False),
    sa.Column("record", sa.Text, nullable=False),  # JSON: verdicts, remarks
)


def _make_private(url: sa.URL) -> None:
    """A new SQLite file, for its owner alone: SQLite takes its mode for the files that it makes beside it."""
    if url.get_backend_name() == "sqlite" and url.database and not Path(url.database).exists():
        Path(url.database).touch(mode=0o600)


@dataclass(frozen=True)
class Attempt:
    """The latest grading of one submission, as kept."""

    student: str
    submission: str
    version: str
    seconds: float
    points: float
    max_points: float
    verdicts: dict[str, dict[str, Any]]
    remarks: Sequence[str]

    def verdict(self, exercise: str) -> Verdict:
        """The verdict on one exercise, as it was. Raises KeyError where there was none."""
        return from_dict(self.verdicts[exercise])


def version(assignment: str) -> str:
    """By what a grade was made: the key's version and the engine's."""
    return f"{key_version(assignment)}/{autograder.__version__}"


def digest(data: bytes) -> str:
    """The identity of a submission."""
    return hashlib.sha256(data).hexdigest()


class Book:
    """The gradebook of one class, open for one writer. Use as a context manager.

    anew: make it where one is gone.

    Raises:
        UserError: it can't be opened, or is none that can be written into.
    """

    def __init__(self, school: Class, anew: bool = False) -> None:
        self._school = school
        ledger.look(school, anew)
        make_folder(school.folder)
        # A new gradebook is marked with its schema's version, for which nbgrader starts `alembic`, by name and for seconds.
        nbgrader.api.get_alembic_version = ledger.head
        logging.getLogger("alembic").setLevel(logging.WARNING)
        # nbgrader adds objects in an order that SQLAlchemy remarks on; the rows are right.
        warnings.filterwarnings("ignore", category=sa.exc.SAWarning, module=r"nbgrader\.")
        try:
            _make_private(sa.make_url(school.db_url))
            self._gradebook = Gradebook(school.db_url)
            self._names: dict[str, dict[str, str]] = {}
            _metadata.create_all(self._gradebook.engine)
        except (sa.exc.SQLAlchemyError, OSError) as error:
            raise ledger.refused(school, error) from None

    def __enter__(self) -> Book:
        return self

    def __exit__(self, *_: object) -> None:
        self._gradebook.close()

    def know(self, assignment: str) -> None:
        """Enter the assignment's cells, as `nbgrader generate_assignment` does, if they are not there or have changed."""
        path = solution(assignment)
        if not path.is_file():
            raise UserError(f"{path} is missing: run `make build` first")
        self._names.pop(assignment, None)
        self._gradebook.update_or_create_assignment(assignment)
        notebook = nbformat.read(path, as_version=4)
        resources: dict[str, Any] = {
            "nbgrader": {"assignment": assignment, "notebook": assignment, "db_url": self._school.db_url}
        }
        for preprocessor in (CheckCellMetadata(), ComputeChecksums(), SaveCells()):
            notebook, resources = preprocessor.preprocess(notebook, resources)
        self._gradebook.db.expire_all()

    def settled(self, assignment: str) -> dict[str, tuple[str, str]]:
        """By student: the hash and the version of the latest attempt. What was not graded, by our fault, is not settled: it is tried again."""
        return {
            attempt.student: (attempt.submission, attempt.version)
            for attempt in self.latest(assignment)
            if all(verdict.get("outcome") != Outcome.NOT_GRADED.value for verdict in attempt.verdicts.values())
        }

    def latest(self, assignment: str, student: str | None = None) -> Iterator[Attempt]:
        """The latest attempt of each student, or of one, by student, one after the other: a class may be large."""
        newest = (
            sa.select(sa.func.max(ATTEMPTS.c.id))
            .where(ATTEMPTS.c.assignment == assignment)
            .group_by(ATTEMPTS.c.student)
        )
        if student is not None:
            newest = newest.where(ATTEMPTS.c.student == student)
        query = sa.select(ATTEMPTS).where(ATTEMPTS.c.id.in_(newest)).order_by(ATTEMPTS.c.student)
        with self._gradebook.engine.connect() as connection:
            for row in connection.execution_options(yield_per=100).execute(query).mappings():
                yield _attempt(row)

    def enter(self, student: str, graded: Graded, submission: str, timestamp: datetime | None) -> None:
        """One submission's scores, comments and history, in one transaction.

        Raises:
            UserError: the gradebook knows other cells than the notebook has.
        """
        assignment = graded.assignment
        names = self._cell_names(assignment)
        with self._one_transaction() as session:
            self._gradebook.update_or_create_student(student)
            moment = {} if timestamp is None else {"timestamp": timestamp}
            entry = self._gradebook.update_or_create_submission(assignment, student, **moment)
            (notebook,) = entry.notebooks
            grades = {names[grade.cell_id]: grade for grade in notebook.grades}
            comments = {names[comment.cell_id]: comment for comment in notebook.comments}
            cells = graded.cells or template(release(assignment))
            attempted = {
                cell.name: bool(graded.cells) and not cell.untouched for cell in cells if cell.kind is Kind.MANUAL
            }
            waits = any(verdict.outcome is Outcome.NOT_GRADED for verdict in graded.verdicts.values())
            try:
                for name, verdict in graded.verdicts.items():
                    held = verdict.outcome is Outcome.NOT_GRADED
                    _score(grades[f"check-{name}"], None if held else verdict.points)
                    comments[name].auto_comment = (
                        None if verdict.outcome is Outcome.EARNED else shown.markdown(withheld(verdict).message)
                    )
                for name, answered in attempted.items():
                    answered = answered or (waits and not graded.cells)
                    _score(grades[name], None if answered else 0.0)
                    comments[name].auto_comment = None if answered else "No response."
            except KeyError as missing:
                raise UserError(
                    f"the gradebook does not know {assignment} as it is now ({missing} is missing): run `make build`"
                ) from None
            session.execute(
                ATTEMPTS.insert().values(
                    assignment=assignment,
                    student=student,
                    submission=submission,
                    version=version(assignment),
                    graded_at=datetime.now(UTC).isoformat(timespec="seconds"),
                    seconds=graded.seconds,
                    points=graded.points,
                    max_points=graded.max_points,
                    record=json.dumps(
                        {
                            "verdicts": {n: v.as_dict() for n, v in graded.verdicts.items()},
                            "remarks": graded.remarks,
                        }
                    ),
                )
            )

    def _cell_names(self, assignment: str) -> dict[str, str]:
        """By their ids, the names of an assignment's cells."""
        if assignment not in self._names:
            self._names[assignment] = {
                cell.id: cell.name
                for notebook in self._gradebook.find_assignment(assignment).notebooks
                for cell in (*notebook.grade_cells, *notebook.solution_cells)
            }
        return self._names[assignment]

    @contextlib.contextmanager
    def _one_transaction(self) -> Iterator[Session]:
        """nbgrader's methods commit one by one; here they flush, and all is committed at the end or not at all."""
        session = self._gradebook.db()
        commit = session.commit
        session.commit, session.expire_on_commit = session.flush, False
        try:
            yield session
            commit()
        except BaseException:
            session.rollback()
            raise
        finally:
            del session.commit
            session.expire_on_commit = True

    def scores(self, assignment: str) -> dict[str, dict[str, float | None]]:
        """Every student's automatic scores as nbgrader holds them, by the grade cell's name."""
        return {
            submission.student.id: {
                grade.name: grade.auto_score for notebook in submission.notebooks for grade in notebook.grades
            }
            for submission in self._gradebook.assignment_submissions(assignment)
        }


def is_of_one_paper(error: Exception) -> bool:
    """Whether saving failed over what one paper holds; else it would fail over the next one too: the disk, the folder, the database, or our own code's user."""
    ours = (UserError, OSError, sa.exc.OperationalError, sa.exc.InterfaceError, sa.exc.PendingRollbackError)
    return not isinstance(error, ours)


def _score(grade: Grade, points: float | None) -> None:
    """Enter what the autograder gives; None, or a score by hand that stands already, waits for a person."""
    grade.auto_score = points
    grade.needs_manual_grade = points is None or grade.manual_score is not None


def _attempt(row: Any) -> Attempt:
    record = json.loads(row["record"])
    return Attempt(
        row["student"],
        row["submission"],
        row["version"],
        row["seconds"],
        row["points"],
        row["max_points"],
        record["verdicts"],
        record["remarks"],
    )
