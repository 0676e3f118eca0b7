"""The gradebook of a class, `Book`: verdicts in nbgrader's own tables, and every attempt's history in a table of ours, in one database.

One command writes into it at a time, and others read meanwhile.
What a person gave in formgrader (a score, extra credit, a comment) stays whatever is graded again, until somebody asks for it to be forgotten.
"""

from __future__ import annotations

import contextlib
import json
import warnings
import zlib
from collections.abc import Collection, Iterable, Iterator, Mapping, Sequence
from contextlib import AbstractContextManager
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
    Gradebook,
    GradeCell,
    MissingEntry,
    SolutionCell,
    SourceCell,
    Student,
    SubmittedAssignment,
    SubmittedNotebook,
)
from nbgrader.api import Grade as NbgraderGrade
from nbgrader.preprocessors import CheckCellMetadata, ComputeChecksums, SaveCells
from sqlalchemy.orm import Session

import autograder
from autograder.class_folder.folder import ClassFolder
from autograder.engine.released_notebook import OWN_ID, Cell, Kind
from autograder.errors import UserError
from autograder.files import make_folder
from autograder.gradebook import database, draw_secrets, preflight
from autograder.gradebook.nbgrader_tables import Cells, GradingEntry, SubmissionTime, enter_gradings, set_times
from autograder.gradebook.scores import Score
from autograder.paths import solution
from autograder.reference.draws import key_version
from ffnlab.checking.verdict import Outcome, Verdict, from_dict
from ffnlab.untrusted_text import clean, in_a_line

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
    # The machine that graded it, and by what; none in attempts of the second edition.
    sa.Column("host", sa.String(200)),
    sa.Column("build", sa.String(400)),
)
ALL_METADATA = (_metadata, draw_secrets.metadata)  # of the tables beside nbgrader's
WITHOUT_CODE = [column for column in ATTEMPTS.columns if column is not ATTEMPTS.c.code]
MAX_NAME_LENGTH = 128  # characters, of nbgrader's columns


def _make_private(url: sa.URL) -> None:
    """A new SQLite file, for its owner alone: SQLite takes its mode for the files that it makes beside it."""
    if url.get_backend_name() == "sqlite" and url.database and not Path(url.database).exists():
        Path(url.database).touch(mode=0o600)


@dataclass(frozen=True)
class WrittenCell:
    """A cell of a student's notebook, as far as it is theirs. The fields are those of `engine.released_notebook.Cell`.

    Cells that are ours, and as they were handed out, are not kept. The later fields are not there in what an earlier version kept.
    """

    kind: Kind
    name: str
    source: str
    missing: bool = False
    untouched: bool = False
    cell_type: str = ""
    answers: Sequence[str] = ()
    is_word: bool = False
    has_words_elsewhere: bool = False
    has_our_code: bool = False
    behind: str = ""  # the id of the last cell of ours before it


def pack_cells(cells: Sequence[Cell]) -> bytes:
    """What a student wrote in a notebook, as it is kept: answers, own cells, and changed cells of ours, in the notebook's order."""
    rows, behind = [], ""
    for cell in cells:
        is_answer = cell.kind in (Kind.SOLUTION, Kind.MANUAL)
        if is_answer or (not cell.untouched and not cell.missing):
            source = clean(cell.source, len(cell.source))
            fields = cell.missing, cell.untouched, cell.cell_type, cell.answers, cell.is_word, cell.has_words_elsewhere
            rows.append((cell.kind.value, cell.name, source, *fields, cell.has_our_code, behind))
        if not cell.id.startswith(OWN_ID):
            behind = cell.id
    return zlib.compress(json.dumps(rows).encode())


def unpack_cells(data: bytes | None) -> tuple[WrittenCell, ...] | None:
    """The other way round; None where nothing was kept."""
    rows = json.loads(zlib.decompress(data)) if data else []
    return tuple(WrittenCell(Kind(kind), *fields) for kind, *fields in rows) if data else None


@dataclass(frozen=True)
class Grading:
    """One grading of an attempt, as kept."""

    row_id: int  # in the table
    student: str
    digest: str  # of the submitted bytes
    version: str  # of key and engine
    graded_at: str  # in ISO 8601
    seconds: float
    points: float
    max_points: float
    verdicts: dict[str, dict[str, Any]]
    remarks: Sequence[str]
    submitted_at: datetime | None = None  # in UTC, where it is known
    host: str = ""  # the machine
    build: str = ""  # by what

    def verdict(self, exercise: str) -> Verdict:
        """The verdict on one exercise, as it was. Raises KeyError where there was none."""
        return from_dict(self.verdicts[exercise])

    def outcome(self, exercise: str) -> Outcome | None:
        """How an exercise ended; None where there is no verdict on it, as on a question, or in a grading made before the exercise was added."""
        verdict = self.verdicts.get(exercise)
        return Outcome(verdict["outcome"]) if verdict else None

    def mistake(self, exercise: str) -> str:
        """The name of the mistake that was recognised; empty where none was."""
        return str(self.verdicts.get(exercise, {}).get("mistake") or "")

    def cause(self, exercise: str) -> str:
        """The message of the mistake, or what else is said of the cause; empty where nothing is."""
        return str(self.verdicts.get(exercise, {}).get("cause") or "")


def version(assignment: str) -> str:
    """By what a grade was made: the key's version and the engine's."""
    return f"{key_version(assignment)}/{autograder.__version__}"


class Book:
    """The gradebook of one class. Use as a context manager.

    anew: make it where one is gone. writing: as its one writer. A reader changes no file: where there is no gradebook,
    it reads an empty one, and one of an earlier version as a copy that is completed.

    Raises:
        UserError: it can't be opened, or is none that can be written into, or somebody else is writing.
    """

    def __init__(self, class_folder: ClassFolder, anew: bool = False, writing: bool = False) -> None:
        self._class_folder = class_folder
        self._is_writing = writing
        self._cells: dict[str, Cells] = {}
        self._stack = contextlib.ExitStack()
        preflight.check_gradebook(class_folder, anew)
        if writing:
            preflight.check_writable(class_folder)
            make_folder(class_folder.path)
        nbgrader.api.create_engine = database.engine
        # nbgrader adds objects in an order that SQLAlchemy remarks on; the rows are right.
        warnings.filterwarnings("ignore", category=sa.exc.SAWarning, module=r"nbgrader\.")
        try:
            url = class_folder.db_url
            if not writing:
                url = self._stack.enter_context(database.url_to_read(class_folder, *ALL_METADATA))
            _make_private(sa.make_url(url))
            engine = database.engine(url)
            self._stack.callback(engine.dispose)
            if writing:
                self._stack.enter_context(database.one_writer(engine))
            database.make(engine, *ALL_METADATA)
            _complete(engine)
            self._gradebook = Gradebook(url)
            self._stack.callback(self._gradebook.close)
        except (sa.exc.SQLAlchemyError, OSError) as error:
            self._stack.close()
            raise preflight.error_for(class_folder, error) from None
        except BaseException:
            self._stack.close()
            raise

    def __enter__(self) -> Book:
        return self

    def __exit__(self, *_: object) -> None:
        self._stack.close()

    @property
    def class_folder(self) -> ClassFolder:
        """The class whose gradebook it is."""
        return self._class_folder

    def upsert_students(self, students: Mapping[str, Mapping[str, str]]) -> None:
        """Enter students, or what is new about them: by id, their first_name, last_name, email and lms_user_id. What is empty changes nothing."""
        with self._one_transaction() as session:
            known_students = {student.id: student for student in self._gradebook.students}
            for name, fields in students.items():
                student = known_students.get(name) or Student(id=name)
                session.add(student)
                for title, text in fields.items():
                    if text:
                        setattr(student, title, in_a_line(text, MAX_NAME_LENGTH))

    def sync_assignment(self, assignment: str) -> None:
        """Enter the assignment's cells, as `nbgrader generate_assignment` does, if they are not there or have changed."""
        path = solution(assignment)
        if not path.is_file():
            raise UserError(f"{path} is missing: run `make build` first")
        self._cells.pop(assignment, None)
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
        nbgrader_cells = [cell for cell in source.cells if cell.metadata.get("nbgrader")]
        new_cells: dict[type[Any], dict[str, Any]] = {
            GradeCell: {cell.metadata.nbgrader.grade_id: cell for cell in nbgrader_cells if nbutils.is_grade(cell)},
            SolutionCell: {
                cell.metadata.nbgrader.grade_id: cell for cell in nbgrader_cells if nbutils.is_solution(cell)
            },
            SourceCell: {
                cell.metadata.nbgrader.grade_id: cell
                for cell in nbgrader_cells
                if nbutils.is_grade(cell) or nbutils.is_solution(cell) or nbutils.is_locked(cell)
            },
        }
        old_cells = {
            GradeCell: notebook.grade_cells,
            SolutionCell: notebook.solution_cells,
            SourceCell: notebook.source_cells,
        }
        for kind, cells in old_cells.items():
            for cell in [cell for cell in cells if cell.name not in new_cells[kind]]:
                for entry in (*(getattr(cell, "grades", None) or ()), *(getattr(cell, "comments", None) or ())):
                    session.delete(entry)
                session.flush()
                session.delete(cell)
            for name in new_cells[kind].keys() - {cell.name for cell in cells}:
                self._add(session, kind, name, new_cells[kind][name], notebook)
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
            session.add((NbgraderGrade if kind is GradeCell else Comment)(cell=cell, notebook=submission))

    def latest_digests(self, assignment: str) -> dict[str, tuple[str, str]]:
        """By student: the digest and the version of the latest grading. What was not graded, by our fault, is not settled: it is tried again."""
        query = (
            sa.select(ATTEMPTS.c.student, ATTEMPTS.c.submission, ATTEMPTS.c.version)
            .where(ATTEMPTS.c.id.in_(_newest(assignment)))
            .where(ATTEMPTS.c.record.not_like(f'%"outcome": "{Outcome.NOT_GRADED.value}"%'))
        )
        return {row["student"]: (row["submission"], row["version"]) for row in self._rows(query)}

    def latest(self, assignment: str, students: Collection[str] | None = None) -> Iterator[Grading]:
        """The latest grading of each student, or of these, by student, one after the other: a class may be large."""
        query = sa.select(*WITHOUT_CODE).where(ATTEMPTS.c.id.in_(_newest(assignment, students)))
        yield from map(_read_grading, self._rows(query.order_by(ATTEMPTS.c.student)))

    def history(self, assignment: str, student: str | None = None) -> Iterator[Grading]:
        """Every grading of a student's attempts, or of all students' by student, oldest first, one after the other."""
        yield from map(_read_grading, self._rows(_select_gradings(assignment, student, WITHOUT_CODE)))

    def graded_since(self, assignment: str, time: str) -> Iterator[Grading]:
        """The gradings made at a time, in ISO 8601, or later, in their order."""
        query = sa.select(*WITHOUT_CODE).where(ATTEMPTS.c.assignment == assignment, ATTEMPTS.c.graded_at >= time)
        yield from map(_read_grading, self._rows(query.order_by(ATTEMPTS.c.id)))

    def history_with_cells(
        self, assignment: str, student: str | None = None
    ) -> Iterator[tuple[Grading, tuple[WrittenCell, ...] | None]]:
        """As `history`, each with what they wrote."""
        for row in self._rows(_select_gradings(assignment, student, ATTEMPTS.columns)):
            yield _read_grading(row), unpack_cells(row["code"])

    def _rows(self, query: sa.Select[Any]) -> Iterator[sa.RowMapping]:
        """What a query finds, a few at a time: a class may be large."""
        with self._gradebook.engine.connect() as connection:
            yield from connection.execution_options(yield_per=100).execute(query).mappings()

    def written_cells(self, row_id: int) -> tuple[WrittenCell, ...] | None:
        """What a student wrote in the attempt of that grading, nothing in one that could not be read; None where it was not kept."""
        with self._gradebook.engine.connect() as connection:
            return unpack_cells(connection.execute(sa.select(ATTEMPTS.c.code).where(ATTEMPTS.c.id == row_id)).scalar())

    def assignments(self) -> list[str]:
        """The assignments of which something was graded."""
        with self._gradebook.engine.connect() as connection:
            names = connection.execute(sa.select(ATTEMPTS.c.assignment).distinct().order_by(ATTEMPTS.c.assignment))
            return list(names.scalars())

    def students(self) -> dict[str, str]:
        """Everybody whom the gradebook knows, with or without a submission: by id, the name in full; empty where it is not known."""
        query = sa.select(Student.id, Student.first_name, Student.last_name).order_by(Student.id)
        with self._gradebook.engine.connect() as connection:
            return {student: " ".join(filter(None, names)) for student, *names in connection.execute(query)}

    def submission_times(self, assignment: str) -> dict[str, datetime]:
        """When each student's latest submission was handed in, by student, in UTC; those of whom it is known."""
        query = (
            sa.select(SubmittedAssignment.student_id, SubmittedAssignment.timestamp)
            .join(Assignment, Assignment.id == SubmittedAssignment.assignment_id)
            .where(Assignment.name == assignment, SubmittedAssignment.timestamp.is_not(None))
        )
        with self._gradebook.engine.connect() as connection:
            return {student: time.replace(tzinfo=UTC) for student, time in connection.execute(query)}

    def set_dates(self, assignment: str, due: datetime, extensions: Mapping[str, timedelta]) -> None:
        """Write an assignment's due date and the extensions of those who have handed in, by student, where nbgrader has them; others have none."""
        with self._one_transaction():
            self._gradebook.find_assignment(assignment).duedate = due.astimezone(UTC).replace(tzinfo=None)
            for submission in self._gradebook.assignment_submissions(assignment):
                submission.extension = extensions.get(submission.student.id)

    def scores(self, assignment: str, students: Collection[str] | None = None) -> dict[str, dict[str, Score]]:
        """What stands in the gradebook of each student, or of these: by student, for each cell with points, by its name; a check's is its exercise's."""
        comments: dict[tuple[str, str], str] = {
            (student, name): text or ""
            for student, name, text in self._of_cells(Comment, assignment, students, Comment.manual_comment)
        }
        scores: dict[str, dict[str, Score]] = {}
        columns = (
            NbgraderGrade.auto_score,
            NbgraderGrade.manual_score,
            NbgraderGrade.extra_credit,
            NbgraderGrade.needs_manual_grade,
            GradeCell.__table__.c.max_score,
        )
        for student, cell, auto, manual, extra, waits, most in self._of_cells(
            NbgraderGrade, assignment, students, *columns
        ):
            name = cell.removeprefix("check-")
            by_hand = manual is not None
            score = (manual if by_hand else auto or 0.0) + (extra or 0.0)
            scores.setdefault(student, {})[name] = Score(
                name,
                score=round(score, 6),
                max_score=most,
                extra=extra or 0.0,
                comment=comments.get((student, name), ""),
                by_hand=by_hand,
                waits=bool(waits),
            )
        return scores

    def _of_cells(self, kind: Any, assignment: str, students: Collection[str] | None, *columns: Any) -> Iterator[Any]:
        """Of each cell's grade or comment: the student, the cell's name, and these columns."""
        query = (
            sa.select(SubmittedAssignment.student_id, BaseCell.__table__.c.name, *columns)
            .join(SubmittedNotebook, SubmittedNotebook.id == kind.notebook_id)
            .join(SubmittedAssignment, SubmittedAssignment.id == SubmittedNotebook.assignment_id)
            .join(Assignment, Assignment.id == SubmittedAssignment.assignment_id)
            .join(BaseCell.__table__, BaseCell.__table__.c.id == kind.cell_id)
            .where(Assignment.name == assignment)
        )
        if kind is NbgraderGrade:
            query = query.join(GradeCell.__table__, GradeCell.__table__.c.id == kind.cell_id)
        if students is not None:
            query = query.where(SubmittedAssignment.student_id.in_(students))
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
                        has_manual = grade.manual_score is not None or bool(grade.extra_credit)
                        count += has_manual
                        grade.manual_score, grade.extra_credit = None, None
                        grade.needs_manual_grade = grade.auto_score is None
                    for comment in notebook.comments:
                        comment.manual_comment = None
        return count

    def withdraw(self, assignment: str, student: str, digests: Collection[str]) -> bool:
        """Take out a student's attempts at an assignment by the digests of their bytes. The latest that is left is graded again.

        Returns whether none is left: then nbgrader has no submission of theirs either, and what a person gave for it is gone too.
        """
        condition = sa.and_(ATTEMPTS.c.assignment == assignment, ATTEMPTS.c.student == student)
        with self._begin() as connection:
            deletion = connection.execute(sa.delete(ATTEMPTS).where(condition, ATTEMPTS.c.submission.in_(digests)))
            if not deletion.rowcount:
                return False
            connection.execute(sa.update(ATTEMPTS).where(condition).values(version=""))
            count = connection.execute(sa.select(sa.func.count()).where(condition)).scalar_one()
        self._gradebook.db.expire_all()
        if not count:
            with contextlib.suppress(MissingEntry):
                self._gradebook.remove_submission(assignment, student)
        return not count

    def save_gradings(self, entries: Sequence[GradingEntry]) -> None:
        """The scores, comments and history of submissions of one assignment, all in one transaction: each of them whole, or none.

        Raises:
            UserError: the gradebook knows other cells than the notebook has.
        """
        if not entries:
            return
        assignment = entries[0].graded_submission.assignment
        cells = self._cells_of(assignment)
        code = [pack_cells(entry.graded_submission.cells) for entry in entries]
        latest = [entry for entry in entries if not entry.is_earlier_attempt]
        sources = {
            entry.student: _answers_by_name(unpack_cells(its) or ())
            for entry, its in zip(entries, code, strict=True)
            if not entry.is_earlier_attempt
        }
        answers = self._answers(assignment, [entry.student for entry in latest])
        with self._begin() as connection:
            enter_gradings(connection, cells, latest, answers, sources)
            rows = [_row(entry, its) for entry, its in zip(entries, code, strict=True)]
            connection.execute(ATTEMPTS.insert(), rows)
        self._gradebook.db.expire_all()  # nbgrader's objects were read before

    def _answers(self, assignment: str, students: Sequence[str]) -> dict[str, dict[str, str]]:
        """What a person may have read and scored: by student and cell, what is in the last attempt that could be read and whose scores stand here."""
        query = (
            sa.select(ATTEMPTS.c.student, ATTEMPTS.c.record, ATTEMPTS.c.code)
            .where(ATTEMPTS.c.assignment == assignment, ATTEMPTS.c.student.in_(students))
            .order_by(ATTEMPTS.c.id.desc())
        )
        answers: dict[str, dict[str, str]] = {}
        for row in self._rows(query):
            if row["student"] in answers or json.loads(row["record"]).get("history_only"):
                continue
            if cells := unpack_cells(row["code"]):
                answers[row["student"]] = _answers_by_name(cells)
        return answers

    def times(self, assignment: str) -> dict[tuple[str, str], set[datetime | None]]:
        """When submissions were handed in, as is known of their attempts: by student and the digest of the submission, in UTC without a zone."""
        query = sa.select(ATTEMPTS.c.student, ATTEMPTS.c.submission, ATTEMPTS.c.submitted_at)
        times: dict[tuple[str, str], set[datetime | None]] = {}
        for row in self._rows(query.where(ATTEMPTS.c.assignment == assignment)):
            text = row["submitted_at"]
            time = datetime.fromisoformat(text).replace(tzinfo=None) if text else None
            times.setdefault((row["student"], row["submission"]), set()).add(time)
        return times

    def keep_secret(self, assignment: str, entry: dict[str, Any]) -> None:
        """Keep the secret of an assignment's hidden draws, as the class's file holds it."""
        with self._begin() as connection:
            draw_secrets.keep(connection, assignment, entry)

    def set_times(self, assignment: str, times: Sequence[SubmissionTime]) -> None:
        """Write when submissions that have been entered were handed in, all in one transaction."""
        with self._begin() as connection:
            set_times(
                connection,
                self._cells_of(assignment),
                {time.student: time.submitted_at for time in times if not time.is_earlier_attempt},
            )
            for time in times:
                same = (
                    ATTEMPTS.c.assignment == assignment,
                    ATTEMPTS.c.student == time.student,
                    ATTEMPTS.c.submission == time.digest,
                )
                column = ATTEMPTS.c.submitted_at
                unknown = sa.or_(column.is_(None), column.not_in([_iso(other) for other in time.others]))
                connection.execute(ATTEMPTS.update().where(*same, unknown).values(submitted_at=_iso(time.submitted_at)))
        self._gradebook.db.expire_all()

    def digests(self, assignment: str, version: str | None = None) -> set[tuple[str, str]]:
        """Whose submissions have been graded, by a version or by any: each student with the digest of a submission."""
        query = sa.select(ATTEMPTS.c.student, ATTEMPTS.c.submission).where(ATTEMPTS.c.assignment == assignment)
        if version is not None:
            query = query.where(ATTEMPTS.c.version == version)
        with self._gradebook.engine.connect() as connection:
            return {(student, digest) for student, digest in connection.execute(query)}

    def _cells_of(self, assignment: str) -> Cells:
        if assignment not in self._cells:
            self._cells[assignment] = Cells.of(self._gradebook.find_assignment(assignment))
        return self._cells[assignment]

    def _begin(self) -> AbstractContextManager[sa.Connection]:
        """A transaction of the gradebook's writer."""
        self._require_writer()
        transaction: AbstractContextManager[sa.Connection] = self._gradebook.engine.begin()
        return transaction

    def _require_writer(self) -> None:
        """A reader may have a stand-in open, in which everything that is written is lost."""
        if not self._is_writing:
            raise RuntimeError("this gradebook was opened to be read: open it with writing=True")

    @contextlib.contextmanager
    def _one_transaction(self) -> Iterator[Session]:
        """nbgrader's methods commit one by one; here all is written and committed at the end, or not at all. What a query needs is flushed before it."""
        self._require_writer()
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

    def automatic_scores(self, assignment: str) -> dict[str, dict[str, float | None]]:
        """Every student's automatic scores as nbgrader holds them, by the grade cell's name."""
        return {
            submission.student.id: {
                grade.name: grade.auto_score for notebook in submission.notebooks for grade in notebook.grades
            }
            for submission in self._gradebook.assignment_submissions(assignment)
        }


def _complete(engine: sa.Engine) -> None:
    """Add to the table of an earlier version the columns that it lacks."""
    column_names = {column["name"] for column in sa.inspect(engine).get_columns(ATTEMPTS.name)}
    for column in ATTEMPTS.columns:
        if column.name not in column_names:
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


def is_of_one_submission(error: Exception) -> bool:
    """Whether saving failed over what one submission holds; else it would fail over the next one too: the disk, the folder, the database."""
    if isinstance(error, sa.exc.DBAPIError):
        return isinstance(error, sa.exc.DataError)
    ours = (UserError, OSError, MemoryError, sa.exc.SQLAlchemyError)
    return isinstance(error, sa.exc.StatementError) or not isinstance(error, ours)


def _row(entry: GradingEntry, code: bytes) -> dict[str, Any]:
    """A grading, as a row of the table."""
    graded_submission = entry.graded_submission
    verdicts = {name: verdict.as_dict() for name, verdict in graded_submission.verdicts.items()}
    return {
        "assignment": graded_submission.assignment,
        "student": entry.student,
        "submission": entry.digest,
        "version": version(graded_submission.assignment),
        "graded_at": entry.graded_at,
        "seconds": graded_submission.seconds,
        "points": graded_submission.points,
        "max_points": graded_submission.max_points,
        "record": json.dumps(
            {"verdicts": verdicts, "remarks": graded_submission.remarks, "history_only": entry.is_earlier_attempt}
        ),
        "code": code,
        "submitted_at": None if entry.submitted_at is None else _iso(entry.submitted_at),
        "host": in_a_line(graded_submission.host, 200) or None,
        "build": in_a_line(graded_submission.build, 400) or None,
    }


def _answers_by_name(cells: Sequence[WrittenCell]) -> dict[str, str]:
    """By the name of an exercise or question, all that was written for it; of a question without an answer the own words that are elsewhere."""
    words = "\n\n".join(cell.source for cell in cells if cell.is_word)
    answers: dict[str, str] = {}
    for cell in cells:
        if cell.kind in (Kind.SOLUTION, Kind.MANUAL):
            others = [other.source for other in cells if cell.name in other.answers and other.name != cell.name]
            answers[cell.name] = "\n\n".join([cell.source, *others, *([words] if cell.has_words_elsewhere else [])])
    return answers


def _iso(time: datetime) -> str:
    """A time in UTC without a zone, as it is kept with a grading."""
    return time.replace(tzinfo=UTC).isoformat()


def _newest(assignment: str, students: Collection[str] | None = None) -> sa.Select[Any]:
    """The row ids of each student's latest grading."""
    query = sa.select(sa.func.max(ATTEMPTS.c.id)).where(ATTEMPTS.c.assignment == assignment)
    if students is not None:
        query = query.where(ATTEMPTS.c.student.in_(students))
    return query.group_by(ATTEMPTS.c.student)


def _select_gradings(assignment: str, student: str | None, columns: Iterable[sa.Column[Any]]) -> sa.Select[Any]:
    query = sa.select(*columns).where(ATTEMPTS.c.assignment == assignment)
    if student is not None:
        query = query.where(ATTEMPTS.c.student == student)
    return query.order_by(ATTEMPTS.c.student, ATTEMPTS.c.id)


def _read_grading(row: sa.RowMapping) -> Grading:
    record = json.loads(row["record"])
    submitted_at = row["submitted_at"]
    return Grading(
        row_id=row["id"],
        student=row["student"],
        digest=row["submission"],
        version=row["version"],
        graded_at=row["graded_at"],
        seconds=row["seconds"],
        points=row["points"],
        max_points=row["max_points"],
        verdicts=record["verdicts"],
        remarks=record["remarks"],
        submitted_at=datetime.fromisoformat(submitted_at) if submitted_at else None,
        host=row["host"] or "",
        build=row["build"] or "",
    )
