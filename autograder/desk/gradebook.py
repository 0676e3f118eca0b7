"""The one writer: verdicts into nbgrader's own gradebook, and every attempt's history into a table of ours in the same database.

What a person gave in formgrader (a score, extra credit, a comment) stays whatever is graded again, until somebody asks for it to be forgotten.
"""

from __future__ import annotations

import contextlib
import hashlib
import json
import logging
import warnings
import zlib
from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from datetime import UTC, datetime, timedelta
from pathlib import Path
from typing import Any

import nbformat
import nbgrader.api
import sqlalchemy as sa
from nbgrader import utils as nbutils
from nbgrader.api import (
    Assignment,
    BaseCell,
    Comment,
    Grade,
    Gradebook,
    GradeCell,
    SolutionCell,
    SourceCell,
    Student,
    SubmittedAssignment,
    SubmittedNotebook,
)
from nbgrader.preprocessors import CheckCellMetadata, ComputeChecksums, SaveCells
from sqlalchemy.orm import Session

import autograder
from autograder.desk import ledger, shown
from autograder.desk.marks import Mark
from autograder.engine.graded import Graded
from autograder.engine.rebuild import Cell, Kind, template
from autograder.house import Class, UserError, make_folder, release, solution
from autograder.marking.draws import key_version
from autograder.marking.withheld import withheld
from ffnlab.cleaning import clean, in_a_line
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
    sa.Column("code", sa.LargeBinary),  # what the student wrote, packed; none in attempts of the first edition
    sa.Column("submitted_at", sa.String(40)),  # where it is known; none in attempts of the first edition
)
WITHOUT_CODE = [column for column in ATTEMPTS.columns if column is not ATTEMPTS.c.code]
LONGEST_NAME = 128  # characters, of nbgrader's columns


def _make_private(url: sa.URL) -> None:
    """A new SQLite file, for its owner alone: SQLite takes its mode for the files that it makes beside it."""
    if url.get_backend_name() == "sqlite" and url.database and not Path(url.database).exists():
        Path(url.database).touch(mode=0o600)


@dataclass(frozen=True)
class Written:
    """A cell as a student handed it in. kind: of rebuild.Kind, its value; what was not there, or is as it was handed out, is said to be."""

    kind: str
    name: str
    source: str
    missing: bool = False
    untouched: bool = False


def packed(cells: Sequence[Cell]) -> bytes:
    """What a student wrote in a notebook, as it is kept."""
    theirs = (Kind.SOLUTION, Kind.MANUAL, Kind.EXTRA)
    written = [
        (cell.kind.value, cell.name, clean(cell.source, len(cell.source)), cell.missing, cell.untouched)
        for cell in cells
        if cell.kind in theirs
    ]
    return zlib.compress(json.dumps(written).encode())


def unpacked(data: bytes | None) -> tuple[Written, ...] | None:
    """The other way round; None where nothing was kept."""
    return tuple(Written(*cell) for cell in json.loads(zlib.decompress(data))) if data else None


@dataclass(frozen=True)
class Attempt:
    """The grading of one submission, as kept. graded_at: in ISO 8601. submitted_at: in UTC, where it is known."""

    number: int
    student: str
    submission: str
    version: str
    graded_at: str
    seconds: float
    points: float
    max_points: float
    verdicts: dict[str, dict[str, Any]]
    remarks: Sequence[str]
    submitted_at: datetime | None = None

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
            _complete(self._gradebook.engine)
        except (sa.exc.SQLAlchemyError, OSError) as error:
            raise ledger.refused(school, error) from None

    def __enter__(self) -> Book:
        return self

    def __exit__(self, *_: object) -> None:
        self._gradebook.close()

    def introduce(self, students: Mapping[str, Mapping[str, str]]) -> None:
        """Enter students, or what is new about them: by id, their first_name, last_name, email and lms_user_id. What is empty changes nothing."""
        with self._one_transaction() as session:
            known = {student.id: student for student in self._gradebook.students}
            for name, told in students.items():
                student = known.get(name) or Student(id=name)
                session.add(student)
                for title, text in told.items():
                    if text:
                        setattr(student, title, in_a_line(text, LONGEST_NAME))

    def know(self, assignment: str) -> None:
        """Enter the assignment's cells, as `nbgrader generate_assignment` does, if they are not there or have changed."""
        path = solution(assignment)
        if not path.is_file():
            raise UserError(f"{path} is missing: run `make build` first")
        self._names.pop(assignment, None)
        notebook = nbformat.read(path, as_version=4)
        with self._one_transaction() as session:
            self._gradebook.update_or_create_assignment(assignment)
            self._fit(session, assignment, notebook)
            resources: dict[str, Any] = {"nbgrader": {"assignment": assignment, "notebook": assignment}}
            for preprocessor in (CheckCellMetadata(), ComputeChecksums(), _SaveCells(self._gradebook)):
                notebook, resources = preprocessor.preprocess(notebook, resources)
        self._gradebook.db.expire_all()

    def _fit(self, session: Session, assignment: str, source: Any) -> None:
        """Where exercises came or went since somebody was graded, change the cells that the gradebook knows: nbgrader would refuse to.

        A cell that is gone takes with it what was scored and written for it. A new one waits until the submission is graded again.
        """
        try:
            notebook = self._gradebook.find_notebook(assignment, assignment)
        except nbgrader.api.MissingEntry:
            return
        if not notebook.submissions:
            return
        graded = [cell for cell in source.cells if cell.metadata.get("nbgrader")]
        wanted: dict[type[Any], dict[str, Any]] = {
            GradeCell: {cell.metadata.nbgrader.grade_id: cell for cell in graded if nbutils.is_grade(cell)},
            SolutionCell: {cell.metadata.nbgrader.grade_id: cell for cell in graded if nbutils.is_solution(cell)},
            SourceCell: {
                cell.metadata.nbgrader.grade_id: cell
                for cell in graded
                if nbutils.is_grade(cell) or nbutils.is_solution(cell) or nbutils.is_locked(cell)
            },
        }
        known = {
            GradeCell: notebook.grade_cells,
            SolutionCell: notebook.solution_cells,
            SourceCell: notebook.source_cells,
        }
        for kind, cells in known.items():
            for cell in [cell for cell in cells if cell.name not in wanted[kind]]:
                for given in (*(getattr(cell, "grades", None) or ()), *(getattr(cell, "comments", None) or ())):
                    session.delete(given)
                session.flush()
                session.delete(cell)
            for name in wanted[kind].keys() - {cell.name for cell in cells}:
                self._add(session, kind, name, wanted[kind][name], notebook)
        session.flush()
        session.expire_all()

    @staticmethod
    def _add(session: Session, kind: type[Any], name: str, source: Any, notebook: Any) -> None:
        if kind is SourceCell:
            session.add(SourceCell(name=name, notebook=notebook, cell_type=source.cell_type))
            return
        if kind is GradeCell:
            points = float(source.metadata.nbgrader.points)
            cell = GradeCell(name=name, notebook=notebook, cell_type=source.cell_type, max_score=points)
        else:
            cell = SolutionCell(name=name, notebook=notebook)
        session.add(cell)
        for submission in notebook.submissions:
            session.add((Grade if kind is GradeCell else Comment)(cell=cell, notebook=submission))

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
        query = sa.select(*WITHOUT_CODE).where(ATTEMPTS.c.id.in_(newest)).order_by(ATTEMPTS.c.student)
        yield from map(_attempt, self._rows(query))

    def history(self, assignment: str, student: str | None = None) -> Iterator[Attempt]:
        """Every attempt of a student, or of all by student, oldest first, one after the other."""
        yield from map(_attempt, self._rows(_every_attempt(assignment, student, WITHOUT_CODE)))

    def attempts(
        self, assignment: str, student: str | None = None
    ) -> Iterator[tuple[Attempt, tuple[Written, ...] | None]]:
        """As `history`, each with what they wrote."""
        for row in self._rows(_every_attempt(assignment, student, ATTEMPTS.columns)):
            yield _attempt(row), unpacked(row["code"])

    def _rows(self, query: sa.Select[Any]) -> Iterator[sa.RowMapping]:
        """What a query finds, a few at a time: a class may be large."""
        with self._gradebook.engine.connect() as connection:
            yield from connection.execution_options(yield_per=100).execute(query).mappings()

    def written(self, number: int) -> tuple[Written, ...] | None:
        """What a student wrote in the attempt of that number, nothing in one that could not be read; None where it was not kept."""
        with self._gradebook.engine.connect() as connection:
            return unpacked(connection.execute(sa.select(ATTEMPTS.c.code).where(ATTEMPTS.c.id == number)).scalar())

    def assignments(self) -> list[str]:
        """The assignments of which something was graded."""
        with self._gradebook.engine.connect() as connection:
            found = connection.execute(sa.select(ATTEMPTS.c.assignment).distinct().order_by(ATTEMPTS.c.assignment))
            return list(found.scalars())

    def students(self) -> dict[str, str]:
        """Everybody whom the gradebook knows, with or without a submission: by id, the name in full; empty where it is not known."""
        query = sa.select(Student.id, Student.first_name, Student.last_name).order_by(Student.id)
        with self._gradebook.engine.connect() as connection:
            return {who: " ".join(filter(None, names)) for who, *names in connection.execute(query)}

    def submitted(self, assignment: str) -> dict[str, datetime]:
        """When each student's latest submission was handed in, by student, in UTC; those of whom it is known."""
        query = (
            sa.select(SubmittedAssignment.student_id, SubmittedAssignment.timestamp)
            .join(Assignment, Assignment.id == SubmittedAssignment.assignment_id)
            .where(Assignment.name == assignment, SubmittedAssignment.timestamp.is_not(None))
        )
        with self._gradebook.engine.connect() as connection:
            return {who: at.replace(tzinfo=UTC) for who, at in connection.execute(query)}

    def set_dates(self, assignment: str, due: datetime, extensions: Mapping[str, timedelta]) -> None:
        """Write an assignment's due date and the extensions of those who have handed in, by student, where nbgrader has them; others have none."""
        with self._one_transaction():
            self._gradebook.find_assignment(assignment).duedate = due.astimezone(UTC).replace(tzinfo=None)
            for submission in self._gradebook.assignment_submissions(assignment):
                submission.extension = extensions.get(submission.student.id)

    def marks(self, assignment: str, student: str | None = None) -> dict[str, dict[str, Mark]]:
        """What stands in the gradebook of each student, or of one: by student, for each cell with points, by its name; a check's is its exercise's."""
        given: dict[tuple[str, str], str] = {
            (who, name): text or ""
            for who, name, text in self._of_cells(Comment, assignment, student, Comment.manual_comment)
        }
        found: dict[str, dict[str, Mark]] = {}
        columns = (
            Grade.auto_score,
            Grade.manual_score,
            Grade.extra_credit,
            Grade.needs_manual_grade,
            GradeCell.__table__.c.max_score,
        )
        for who, cell, auto, manual, extra, waits, most in self._of_cells(Grade, assignment, student, *columns):
            name = cell.removeprefix("check-")
            by_hand = manual is not None
            score = (manual if by_hand else auto or 0.0) + (extra or 0.0)
            found.setdefault(who, {})[name] = Mark(
                name, round(score, 6), most, extra or 0.0, given.get((who, name), ""), by_hand, bool(waits)
            )
        return found

    def _of_cells(self, kind: Any, assignment: str, student: str | None, *columns: Any) -> Iterator[Any]:
        """Of each cell's grade or comment: the student, the cell's name, and these columns."""
        query = (
            sa.select(SubmittedAssignment.student_id, BaseCell.__table__.c.name, *columns)
            .join(SubmittedNotebook, SubmittedNotebook.id == kind.notebook_id)
            .join(SubmittedAssignment, SubmittedAssignment.id == SubmittedNotebook.assignment_id)
            .join(Assignment, Assignment.id == SubmittedAssignment.assignment_id)
            .join(BaseCell.__table__, BaseCell.__table__.c.id == kind.cell_id)
            .where(Assignment.name == assignment)
        )
        if kind is Grade:
            query = query.join(GradeCell.__table__, GradeCell.__table__.c.id == kind.cell_id)
        if student is not None:
            query = query.where(SubmittedAssignment.student_id == student)
        with self._gradebook.engine.connect() as connection:
            yield from connection.execute(query)

    def forget_manual(self, assignment: str, student: str | None = None) -> int:
        """Take back all that a person gave (scores, extra credit, comments) for an assignment, of one student or of all. Returns for how many cells."""
        count = 0
        with self._one_transaction():
            for submission in self._gradebook.assignment_submissions(assignment):
                if student not in (None, submission.student.id):
                    continue
                for notebook in submission.notebooks:
                    for grade in notebook.grades:
                        given = grade.manual_score is not None or bool(grade.extra_credit)
                        count += given
                        grade.manual_score, grade.extra_credit = None, None
                        grade.needs_manual_grade = grade.auto_score is None
                    for comment in notebook.comments:
                        comment.manual_comment = None
        return count

    def enter(
        self, student: str, graded: Graded, submission: str, timestamp: datetime | None, history_only: bool = False
    ) -> None:
        """One submission's scores, comments and history, in one transaction. history_only: an attempt before the one whose scores stand there.

        Raises:
            UserError: the gradebook knows other cells than the notebook has.
        """
        read = self._answers(graded.assignment, student)
        with self._one_transaction() as session:
            if not history_only:
                self._enter_scores(student, graded, timestamp, read)
            self._record(session, student, graded, submission, timestamp, history_only)

    def _answers(self, assignment: str, student: str) -> dict[str, str]:
        """What a person may have read and scored: by name, the student's cells in the attempt whose scores stand here."""
        query = sa.select(ATTEMPTS.c.record, ATTEMPTS.c.code).where(
            ATTEMPTS.c.assignment == assignment, ATTEMPTS.c.student == student
        )
        with self._gradebook.engine.connect() as connection:
            for record, code in connection.execute(query.order_by(ATTEMPTS.c.id.desc())):
                if not json.loads(record).get("history_only"):
                    return {cell.name: cell.source for cell in unpacked(code) or ()}
        return {}

    def _enter_scores(self, student: str, graded: Graded, timestamp: datetime | None, read: Mapping[str, str]) -> None:
        assignment = graded.assignment
        names = self._cell_names(assignment)
        self._gradebook.update_or_create_student(student)
        moment = {} if timestamp is None else {"timestamp": timestamp}
        entry = self._gradebook.update_or_create_submission(assignment, student, **moment)
        (notebook,) = entry.notebooks
        grades = {names[grade.cell_id]: grade for grade in notebook.grades}
        comments = {names[comment.cell_id]: comment for comment in notebook.comments}
        cells = graded.cells or template(release(assignment))
        attempted = {cell.name: bool(graded.cells) and not cell.untouched for cell in cells if cell.kind is Kind.MANUAL}
        theirs = {cell.name: cell.source for cell in unpacked(packed(graded.cells)) or ()}
        same = {name for name, source in theirs.items() if read.get(name) == source}
        waits = any(verdict.outcome is Outcome.NOT_GRADED for verdict in graded.verdicts.values())
        try:
            for name, verdict in graded.verdicts.items():
                held = verdict.outcome is Outcome.NOT_GRADED
                _score(grades[f"check-{name}"], None if held else verdict.points, name in same)
                comments[name].auto_comment = (
                    None if verdict.outcome is Outcome.EARNED else shown.markdown(withheld(verdict).message)
                )
            for name, answered in attempted.items():
                answered = answered or (waits and not graded.cells)
                _score(grades[name], None if answered else 0.0, name in same)
                comments[name].auto_comment = None if answered else "No response."
        except KeyError as missing:
            raise UserError(
                f"the gradebook does not know {assignment} as it is now ({missing} is missing): run `make build`"
            ) from None

    @staticmethod
    def _record(
        session: Session, student: str, graded: Graded, submission: str, timestamp: datetime | None, history_only: bool
    ) -> None:
        verdicts = {name: verdict.as_dict() for name, verdict in graded.verdicts.items()}
        session.execute(
            ATTEMPTS.insert().values(
                assignment=graded.assignment,
                student=student,
                submission=submission,
                version=version(graded.assignment),
                graded_at=datetime.now(UTC).isoformat(timespec="seconds"),
                seconds=graded.seconds,
                points=graded.points,
                max_points=graded.max_points,
                record=json.dumps({"verdicts": verdicts, "remarks": graded.remarks, "history_only": history_only}),
                code=packed(graded.cells),
                submitted_at=None if timestamp is None else timestamp.replace(tzinfo=UTC).isoformat(),
            )
        )

    def digests(self, assignment: str, version: str | None = None) -> set[tuple[str, str]]:
        """Whose submissions have been graded, by a version or by any: each student with the hash of a submission."""
        query = sa.select(ATTEMPTS.c.student, ATTEMPTS.c.submission).where(ATTEMPTS.c.assignment == assignment)
        if version is not None:
            query = query.where(ATTEMPTS.c.version == version)
        with self._gradebook.engine.connect() as connection:
            return {(who, submission) for who, submission in connection.execute(query)}

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
        """nbgrader's methods commit one by one; here all is written and committed at the end, or not at all. What a query needs is flushed before it."""
        session = self._gradebook.db()
        commit = session.commit
        session.commit, session.expire_on_commit = (lambda: None), False
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


def _complete(engine: sa.Engine) -> None:
    """Add to the table of an earlier version the columns that it lacks."""
    there = {column["name"] for column in sa.inspect(engine).get_columns(ATTEMPTS.name)}
    for column in ATTEMPTS.columns:
        if column.name not in there:
            kind = column.type.compile(engine.dialect)
            with engine.begin() as connection:
                connection.execute(sa.text(f"ALTER TABLE {ATTEMPTS.name} ADD COLUMN {column.name} {kind}"))


class _SaveCells(SaveCells):  # type: ignore[misc]
    """nbgrader's, writing into a gradebook that is open, in its transaction."""

    def __init__(self, gradebook: Gradebook) -> None:
        super().__init__()
        self.gradebook = gradebook

    def preprocess(self, notebook: Any, resources: dict[str, Any]) -> tuple[Any, dict[str, Any]]:
        """As nbgrader's does, which would open the gradebook once more, and commit for each cell."""
        self.notebook_id = self.assignment_id = resources["nbgrader"]["assignment"]
        self.new_grade_cells: dict[str, Any] = {}
        self.new_solution_cells: dict[str, Any] = {}
        self.new_task_cells: dict[str, Any] = {}
        self.new_source_cells: dict[str, Any] = {}
        notebook, resources = super(SaveCells, self).preprocess(notebook, resources)
        self._create_notebook(notebook)
        return notebook, resources


def is_of_one_paper(error: Exception) -> bool:
    """Whether saving failed over what one paper holds; else it would fail over the next one too: the disk, the folder, the database, or our own code's user."""
    ours = (UserError, OSError, sa.exc.OperationalError, sa.exc.InterfaceError, sa.exc.PendingRollbackError)
    return not isinstance(error, ours)


def _score(grade: Grade, points: float | None, same: bool) -> None:
    """Enter what the autograder gives. None waits for a person, and so does a score by hand, unless it was for the same answer."""
    grade.auto_score = points
    if not (same and grade.manual_score is not None):
        grade.needs_manual_grade = points is None or grade.manual_score is not None


def _every_attempt(assignment: str, student: str | None, columns: Iterable[sa.Column[Any]]) -> sa.Select[Any]:
    query = sa.select(*columns).where(ATTEMPTS.c.assignment == assignment)
    if student is not None:
        query = query.where(ATTEMPTS.c.student == student)
    return query.order_by(ATTEMPTS.c.student, ATTEMPTS.c.id)


def _attempt(row: sa.RowMapping) -> Attempt:
    record = json.loads(row["record"])
    return Attempt(
        row["id"],
        row["student"],
        row["submission"],
        row["version"],
        row["graded_at"],
        row["seconds"],
        row["points"],
        row["max_points"],
        record["verdicts"],
        record["remarks"],
        datetime.fromisoformat(at) if (at := row["submitted_at"]) else None,
    )
