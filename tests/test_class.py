"""A class's folder: one paper costs nobody else anything; one run at a time; a gradebook or a secret that is odd or gone is refused in one line."""

from __future__ import annotations

import errno
import fcntl
import io
import json
import os
import shutil
import sqlite3
import stat
import subprocess
import sys
import tempfile
from collections.abc import Callable, Iterator
from datetime import datetime
from pathlib import Path
from typing import Any

import pytest
from attacks import START
from conftest import ROOT, needs_bubblewrap
from fabricated import save_grading
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st
from jinja2 import Environment
from nbgrader.apps.api import NbGraderAPI
from nbgrader.coursedir import CourseDirectory
from prepared import give_draws
from rich.console import Console
from test_cleaning import ANY_TEXT
from test_program import ANSWER, answered
from traitlets.config.loader import PyFileConfigLoader

from autograder import untrusted_files
from autograder.class_folder import log, submitted_files
from autograder.class_folder.folder import LOCK, ClassFolder, class_lock
from autograder.cli.shared import book_of
from autograder.engine import pool, program
from autograder.engine.graded_submission import GradedSubmission
from autograder.engine.submitted_notebook import Unreadable, parse
from autograder.errors import UserError
from autograder.files import Batch
from autograder.files import write_private as keep_file
from autograder.gradebook import draw_secrets, gradebook, preflight, sanitize
from autograder.grading import feedback, grade_class
from autograder.jail.limits import Limits
from autograder.jail.sandbox import Mode
from autograder.paths import release
from autograder.reference import draws
from autograder.reports import class_table
from ffnlab.checking.verdict import AspectVerdict, Outcome, Verdict, not_earned, not_graded
from ffnlab.registry import active_course

LISTED = active_course().exercises_of(START)


def hand_in(class_folder: ClassFolder, student: str, data: bytes | None = None, first: bool = False) -> Path:
    """The folder of what a student hands in. first: to a class for which no hidden draws were found yet."""
    if not first:
        give_draws(class_folder, START)
    folder = class_folder.submitted / student / START
    folder.mkdir(parents=True)
    (folder / f"{START}.ipynb").write_bytes(json.dumps(answered()).encode() if data is None else data)
    return folder


def earned() -> dict[str, Verdict]:
    return {
        e.name: Verdict(e.name, Outcome.EARNED, tuple(AspectVerdict(a.name, a.points, a.points) for a in e.aspects))
        for e in LISTED
    }


def rebuilt(data: bytes, verdicts: dict[str, Verdict] | None = None) -> GradedSubmission:
    """What a worker gives back, without one: the notebook is rebuilt here, and nothing in it is run."""
    try:
        notebook = program.plan(START, data, Limits())
    except Unreadable as error:
        return GradedSubmission(
            START,
            {e.name: not_earned(e, f"The submission could not be read: {error}.") for e in LISTED},
            remarks=[str(error)],
        )
    return GradedSubmission(START, verdicts or earned(), notebook.cells, remarks=list(notebook.remarks))


@pytest.fixture
def graded_here(monkeypatch: pytest.MonkeyPatch) -> dict[bytes, GradedSubmission]:
    """Grading without a jail: by what was handed in, what a worker gives back; the file as it is, if nothing is said."""
    results: dict[bytes, GradedSubmission] = {}

    def work(jobs: Any, team: object, stop: object = None) -> Iterator[list[tuple[Any, GradedSubmission]]]:
        pairs = [(name, results.get(job.data) or rebuilt(job.data)) for name, job in jobs]
        for start in range(0, len(pairs), 3):
            yield pairs[start : start + 3]

    monkeypatch.setattr(pool, "grade_together", work)
    return results


class Nobody(pool.GradingPool):
    """A team that is never needed."""

    def __init__(self) -> None:
        super().__init__(Limits(), Mode.BUBBLEWRAP)

    side_by_side = 1

    def start(self) -> None: ...

    def submit(self, job: object) -> Any:
        raise AssertionError("there was nothing to grade")


def grade(class_folder: ClassFolder, **how: Any) -> tuple[grade_class.GradingSummary, dict[str, GradedSubmission]]:
    submissions: dict[str, GradedSubmission] = {}

    def tell(outcome: grade_class.SubmissionOutcome, total: int) -> None:
        if outcome.graded_submission:
            submissions[outcome.submission.student] = outcome.graded_submission

    return grade_class.grade(class_folder, START, Nobody(), grade_class.GradeOptions(**how), tell), submissions


# One paper costs that paper alone


def link_to_a_device(path: Path) -> None:
    path.symlink_to("/dev/zero")


def sparse(path: Path) -> None:
    with path.open("wb") as file:
        file.truncate(2**40)


ODD_FILES: dict[str, Callable[[Path], Any]] = {
    "a pipe": os.mkfifo,
    "a link to a device": link_to_a_device,
    "a folder": Path.mkdir,
    "a socket": lambda path: os.mknod(path, stat.S_IFSOCK | 0o600),
    "a sparse file of a TiB": sparse,
    "not UTF-8": lambda path: path.write_bytes(b"\xff\xfe\x00"),
    "a year that overflows": lambda path: path.write_text("9999-12-31 23:59:59 -2300"),
    "a zone that is a file": lambda path: path.write_text(f"2026-10-01 10:00:00 {ROOT}/README.md"),
    "a year before all years": lambda path: path.write_text("0001-01-01 00:00:00 +2300"),
}


@pytest.mark.parametrize("odd", ODD_FILES)
@pytest.mark.parametrize("name", [untrusted_files.TIMESTAMP, f"{START}.ipynb"])
def test_an_odd_file_costs_its_paper_alone(odd: str, name: str, tmp_path: Path, graded_here: object) -> None:
    class_folder = ClassFolder(tmp_path)
    hand_in(class_folder, "ada")
    folder = hand_in(class_folder, "eve")
    (folder / name).unlink(missing_ok=True)
    ODD_FILES[odd](folder / name)
    for _ in range(2):
        summary, submissions = grade(class_folder, force=True)
        assert summary.graded_count == 2 and submissions["ada"].points == 6
        assert submissions["eve"].points == (6 if name == untrusted_files.TIMESTAMP else 0)
        assert not any(v.outcome is Outcome.NOT_GRADED for v in submissions["eve"].verdicts.values())
    assert not (class_folder.autograded / "eve" / START / untrusted_files.TIMESTAMP).exists()
    page = (class_folder.feedback / "eve" / START / f"{START}.html").read_text(encoding="utf-8")
    assert page.count('ffnlab-panel"') == (4 if name == untrusted_files.TIMESTAMP else 1), "it is said once"


@pytest.mark.parametrize(
    ("text", "moment"),
    [
        ("2026-10-01 10:00:00.000000 UTC", datetime(2026, 10, 1, 10)),
        ("2026-10-01 10:00:00 +0200\n", datetime(2026, 10, 1, 8)),
        ("2026-10-01T10:00:00+02:00", datetime(2026, 10, 1, 8)),
        ("2026-10-01", datetime(2026, 10, 1)),
        ("yesterday", None),
        ("2026-13-01 10:00", None),
    ],
)
def test_a_timestamp_says_when_in_utc(text: str, moment: datetime | None, tmp_path: Path) -> None:
    (tmp_path / untrusted_files.TIMESTAMP).write_text(text, encoding="utf-8")
    assert untrusted_files.find_timestamp(tmp_path) == moment


def test_folders_that_can_be_nobodys_are_all_listed_and_the_others_graded(tmp_path: Path, graded_here: object) -> None:
    class_folder = ClassFolder(tmp_path)
    hand_in(class_folder, "ada")
    for name in ("zoë", "two words", "=1+1", "\udcff", "new\nline"):
        hand_in(class_folder, name)
    (class_folder.submitted / "linked").symlink_to(class_folder.submitted / "ada")
    os.mkfifo(class_folder.submitted / "pipe")
    summary, submissions = grade(class_folder)
    assert set(submissions) == {"ada"} and summary.graded_count == 1
    names, links = summary.ignored_folders
    assert all(name in names for name in ("zoë", "two words", "=1+1", "�", "new line")) and "linked" in links
    assert "\n" not in names + links and (names + links).encode()


def test_what_can_not_be_saved_keeps_its_points_and_says_so(
    tmp_path: Path, graded_here: dict[bytes, GradedSubmission], monkeypatch: pytest.MonkeyPatch
) -> None:
    class_folder = ClassFolder(tmp_path)
    for name in ("ada", "eve", "zoe"):
        hand_in(class_folder, name, json.dumps(answered(f"{ANSWER}  # {name}")).encode())
    page = feedback.feedback_page

    def fails(student: str, graded: GradedSubmission, *rest: object) -> str:
        if student == "eve" and graded.cells:
            raise UnicodeEncodeError("utf-8", "\ud800", 0, 1, "surrogates not allowed")
        return page(student, graded)

    monkeypatch.setattr(feedback, "feedback_page", fails)
    summary, submissions = grade(class_folder)
    assert summary.graded_count == 3 and {
        student: submission.points for student, submission in submissions.items()
    } == dict.fromkeys(submissions, 6.0)
    assert "could not be saved" in submissions["eve"].remarks[0]
    with gradebook.Book(class_folder) as book:
        assert book.automatic_scores(START)["eve"]["check-hello_shape"] == 2.0


def test_a_full_disk_is_nobodys_paper(tmp_path: Path, graded_here: object, monkeypatch: pytest.MonkeyPatch) -> None:
    class_folder = ClassFolder(tmp_path)
    hand_in(class_folder, "ada")

    def full(*_: object) -> None:
        raise OSError(28, "No space left on device", "a page")

    monkeypatch.setattr(feedback, "write", full)
    with pytest.raises(OSError, match="No space left"):
        grade(class_folder)


def test_a_file_that_is_no_notebook_has_a_page_in_formgrader_and_waits_for_nobody(
    tmp_path: Path, graded_here: object
) -> None:
    class_folder = ClassFolder(tmp_path)
    folder = class_folder.submitted / "eve" / "01_attention"
    folder.mkdir(parents=True)
    exercises = active_course().exercises_of("01_attention")
    unreadable = GradedSubmission(
        "01_attention", {e.name: not_earned(e, "It could not be read.") for e in exercises}, remarks=["not a notebook"]
    )
    ungraded = GradedSubmission(
        "01_attention", {e.name: not_graded(e, "By no fault of yours.") for e in exercises}, remarks=["the jail broke"]
    )
    with gradebook.Book(class_folder, writing=True) as book:
        book.sync_assignment("01_attention")
        for student, submission in (("eve", unreadable), ("ada", ungraded)):
            with Batch() as files:
                feedback.write(files, class_folder, student, submission)
            save_grading(book, student, submission, "0" * 64, None)
        scores = book.automatic_scores("01_attention")
    assert scores["eve"]["M1"] == 0.0 and scores["ada"]["M1"] is None
    cells = json.loads(
        (class_folder.autograded / "eve" / "01_attention" / "01_attention.ipynb").read_text(encoding="utf-8")
    )["cells"]
    assert cells[0]["source"] == "not a notebook"
    assert {"M1", "check-softmax"} & {cell["metadata"].get("nbgrader", {}).get("grade_id") for cell in cells}


# Garbage

JSON = st.recursive(
    st.none() | st.booleans() | st.integers() | st.floats() | ANY_TEXT,
    lambda inner: st.lists(inner, max_size=4) | st.dictionaries(ANY_TEXT, inner, max_size=4),
    max_leaves=12,
)
IDS = [cell["metadata"]["nbgrader"]["grade_id"] for cell in answered()["cells"] if "nbgrader" in cell["metadata"]]
METADATA = JSON | st.fixed_dictionaries(
    {"nbgrader": JSON | st.fixed_dictionaries({"grade_id": st.sampled_from(IDS) | JSON})}
)
CELL = JSON | st.fixed_dictionaries(
    {"source": JSON | st.lists(ANY_TEXT, max_size=3)},
    optional={
        "cell_type": st.sampled_from(["code", "markdown"]) | JSON,
        "metadata": METADATA,
        "id": JSON,
        "attachments": JSON | st.dictionaries(ANY_TEXT, st.dictionaries(st.just("image/png"), JSON)),
    },
)
CELLS = JSON | st.lists(CELL, max_size=5)
NOTEBOOKS = (
    JSON
    | st.fixed_dictionaries({"cells": CELLS})
    | st.fixed_dictionaries({"worksheets": JSON | st.lists(JSON | st.fixed_dictionaries({"cells": CELLS}), max_size=3)})
)


@pytest.fixture(scope="module")
def shelf(tmp_path_factory: pytest.TempPathFactory) -> Iterator[tuple[ClassFolder, gradebook.Book]]:
    class_folder = ClassFolder(tmp_path_factory.mktemp("shelf"))
    with gradebook.Book(class_folder, writing=True) as book:
        book.sync_assignment(START)
        yield class_folder, book


def write_private(class_folder: ClassFolder, book: gradebook.Book, graded: GradedSubmission) -> None:
    """Write it, enter it, log it, show it."""
    with Batch() as files:
        feedback.write(files, class_folder, "eve", graded)
    save_grading(book, "eve", graded, "0" * 64, None)
    with log.open_log(class_folder) as line:
        line([log.LogLine("2026-11-01T10:00:00+00:00", "eve", graded)])


@settings(deadline=None, max_examples=60, suppress_health_check=list(HealthCheck))
@given(NOTEBOOKS | st.just({"worksheets": [{"cells": 5}]}))
def test_whatever_json_comes_it_is_refused_or_can_be_kept(
    shelf: tuple[ClassFolder, gradebook.Book], notebook: object
) -> None:
    write_private(*shelf, rebuilt(json.dumps(notebook).encode()))


# What would hang or end a page that a person reads


def in_filter(name: str, text: str) -> str:
    return str(sanitize.FILTERS[name](Environment().from_string("").new_context({"resources": {}}), text))


@pytest.mark.parametrize(
    ("name", "text"),
    [
        ("markdown2html", "\\begin{a}" * 20_000),
        ("highlight_code", "(" * 20_001),
        ("ansi2html", "\x1b[1m" * 1_001),
        ("ansi2html", "\x1b" * 1_001),
    ],
)
def test_what_takes_longer_with_the_square_of_its_length_is_shown_as_plain_text(name: str, text: str) -> None:
    shown_as = in_filter(name, text)
    assert "<span" not in shown_as and "<p>" not in shown_as and "\x1b" not in shown_as
    if name == "markdown2html":
        assert shown_as == f"<pre>{text}</pre>"
        assert sanitize.markdown(text) == f"```text\n{text}\n```"


def test_a_page_has_a_bound_of_its_own() -> None:
    context = Environment().from_string("").new_context({"resources": {}})
    pages = [str(sanitize.markdown2html(context, "x" * 9_999)) for _ in range(12)]
    assert sum(page.startswith("<p>") for page in pages) == 10 and pages[-1] == f"<pre>{'x' * 9_999}</pre>"


@pytest.mark.parametrize("odd", ["a pipe", "a zone that is a file", "a year that overflows", "not UTF-8"])
def test_formgraders_list_of_a_class_survives_an_odd_timestamp(
    odd: str, used: ClassFolder, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("AUTOGRADER_GRADING", str(used.path))
    ODD_FILES[odd](used.submitted / "ada" / START / untrusted_files.TIMESTAMP)
    config = PyFileConfigLoader("nbgrader_config.py", path=str(ROOT)).load_config()
    rows = NbGraderAPI(CourseDirectory(config=config), config=config).get_submissions(START)
    assert [row["student"] for row in rows] == ["ada"]


def test_a_picture_dragged_into_an_answer_is_kept_and_cannot_grow() -> None:
    notebook = answered()
    picture = {"image/png": "AAAA"}
    cell = {
        "cell_type": "markdown",
        "metadata": {},
        "source": "![x](attachment:a.png)" * 3,
        "attachments": {"a.png": picture},
    }
    notebook["cells"] = [cell]
    (new_cell,) = parse(json.dumps(notebook).encode(), Limits()).cells
    assert new_cell.source == "![x](data:image/png;base64,AAAA)" + "![x](attachment:a.png)" * 2


# One at a time


def test_a_second_command_on_a_class_is_one_clear_line_and_changes_nothing(tmp_path: Path) -> None:
    class_folder = ClassFolder(tmp_path / "class")
    with class_lock(class_folder):
        before = sorted(class_folder.path.rglob("*"))
        with pytest.raises(UserError, match=f"by process {os.getpid()}"), class_lock(class_folder):
            pass
        assert sorted(class_folder.path.rglob("*")) == before
    with class_lock(class_folder):
        pass


def test_a_command_that_was_killed_holds_no_place_and_its_draft_is_the_next_ones(tmp_path: Path) -> None:
    class_folder = ClassFolder(tmp_path)
    source = (
        "import os, sys; from pathlib import Path; from autograder.files import write_private\n"
        "from autograder.class_folder.folder import ClassFolder, class_lock\n"
        "os.replace = os.rename = lambda *_, **__: (print('there', flush=True), sys.stdin.read())\n"
        "with class_lock(ClassFolder(Path(sys.argv[1]))): write_private(Path(sys.argv[2]), 'work')"
    )
    path = hand_in(class_folder, "ada") / f"{START}.ipynb"
    before = content(class_folder)
    command = [sys.executable, "-c", source, str(tmp_path), str(path)]
    other = subprocess.Popen(command, cwd=ROOT, stdin=subprocess.PIPE, stdout=subprocess.PIPE)
    assert other.stdout and other.stdout.readline() == b"there\n"
    with pytest.raises(UserError, match=f"by process {other.pid}"), class_lock(class_folder):
        pass
    other.kill()
    other.wait()
    assert len(content(class_folder).keys() - before.keys()) == 2, "a lock and a draft"
    with class_lock(class_folder):
        keep_file(path, "work")
    assert {name for name in content(class_folder) if LOCK not in name} == before.keys() and path.read_text() == "work"


@pytest.mark.parametrize("code", [errno.ENOLCK, errno.EOPNOTSUPP, errno.ENOSYS], ids=errno.errorcode.get)
def test_where_a_folder_knows_no_locks_commands_of_this_machine_are_kept_apart_all_the_same(
    code: int, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    class_folder, flock = ClassFolder(tmp_path / "class"), fcntl.flock
    messages: list[str] = []

    def without(file: io.FileIO, operation: int) -> None:
        if Path(str(file.name)).is_relative_to(class_folder.path):
            raise OSError(code, os.strerror(code))
        flock(file, operation)

    monkeypatch.setattr(fcntl, "flock", without)
    monkeypatch.setattr(tempfile, "tempdir", str(tmp_path))
    with class_lock(class_folder, messages.append):
        with pytest.raises(UserError, match=f"by process {os.getpid()}"), class_lock(class_folder):
            pass
        with class_lock(ClassFolder(tmp_path / "another")):
            pass
    assert len(messages) == 1 and "has no locks" in messages[0]
    (place,) = tmp_path.glob("autograder-*")
    place.chmod(0o777)
    with pytest.raises(UserError, match="others can write there"), class_lock(class_folder):
        pass


def test_a_lock_that_can_not_be_had_names_its_file(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    def broken(file: object, operation: int) -> None:
        raise OSError(errno.EIO, os.strerror(errno.EIO))

    monkeypatch.setattr(fcntl, "flock", broken)
    with pytest.raises(OSError, match=rf"Input/output error: .*{LOCK}"), class_lock(ClassFolder(tmp_path)):
        pass


# What is odd or gone


@pytest.fixture
def used(tmp_path: Path, graded_here: object) -> ClassFolder:
    """A class with one graded submission."""
    class_folder = ClassFolder(tmp_path / "class")
    hand_in(class_folder, "ada")
    grade(class_folder)
    return class_folder


def content(class_folder: ClassFolder) -> dict[str, bytes]:
    return {str(path): path.read_bytes() for path in sorted(class_folder.path.rglob("*")) if path.is_file()}


def test_a_gradebook_of_an_older_nbgrader_is_refused_and_the_advice_works(
    used: ClassFolder, monkeypatch: pytest.MonkeyPatch
) -> None:
    file = used.path / "gradebook.db"
    with sqlite3.connect(file) as database:
        database.execute("UPDATE alembic_version SET version_num = '167914646830'")
    before = content(used)
    with pytest.raises(UserError, match=r"older nbgrader: back it up, then run .* nbgrader db upgrade") as raised:
        grade(used)
    assert "\n" not in str(raised.value) and content(used) == before


def test_a_foreign_database_gets_no_table(used: ClassFolder, tmp_path: Path) -> None:
    file = tmp_path / "foreign.db"
    with sqlite3.connect(file) as database:
        database.execute("CREATE TABLE recipes (name TEXT)")
    before = file.read_bytes(), content(used)
    with pytest.raises(UserError, match="is not a gradebook: it has the tables recipes"):
        grade(ClassFolder(used.path, f"sqlite:///{file}"))
    assert (file.read_bytes(), content(used)) == before


def test_a_file_that_is_no_database_is_one_clear_line(tmp_path: Path) -> None:
    (tmp_path / "gradebook.db").write_bytes(b"x" * 5000)
    with pytest.raises(UserError, match="can't be opened: file is not a database"):
        gradebook.Book(ClassFolder(tmp_path))


def test_a_gradebook_that_is_gone_is_not_replaced_unless_one_says_so(used: ClassFolder) -> None:
    (used.path / "gradebook.db").unlink()
    before = content(used)
    with pytest.raises(UserError, match=f"is gone or empty, but .* has results.*{preflight.ANEW}"):
        grade(used)
    with pytest.raises(UserError, match=r"is gone or empty, but .* has results"):  # what only reads says the same
        book_of(used)
    assert content(used) == before
    assert grade(used, anew=True)[0].graded_count == 1


@pytest.mark.parametrize("log_of", [None, "03_activations"])
def test_where_plain_nbgrader_alone_has_graded_no_secret_is_missed(log_of: str | None, used: ClassFolder) -> None:
    """Whether or not ours has graded another assignment of the class."""
    used.draws.unlink()
    lines = (used.path / log.FILE).read_text(encoding="utf-8")
    (used.path / log.FILE).unlink()
    if log_of:
        (used.path / log.FILE).write_text(lines.replace(START, log_of), encoding="utf-8")
    with sqlite3.connect(used.path / "gradebook.db") as database:
        database.execute("DROP TABLE autograder_attempt")
        database.execute("DROP TABLE autograder_secret")
    assert draw_secrets.check_secret(used, START) == ""
    assert any(used.autograded.glob(f"*/{START}/*.ipynb"))


@pytest.mark.parametrize("results", ["pages", "attempts"])
def test_a_secret_that_is_gone_is_not_replaced_unless_one_says_so(results: str, used: ClassFolder) -> None:
    used.draws.unlink()
    with sqlite3.connect(used.path / "gradebook.db") as database:  # as an earlier version made it
        database.execute("DROP TABLE autograder_secret")
    if results == "attempts":
        shutil.rmtree(used.feedback)
        shutil.rmtree(used.autograded)
    before = content(used)
    with pytest.raises(UserError, match=f"lacks the secret.*{preflight.ANEW}"):
        grade(used)
    assert content(used) == before
    grade(used, anew=True)
    assert used.draws.is_file()


@pytest.mark.parametrize(
    "broken", ["{", "[]", '{"00_start_here": {}}', '{"00_start_here": {"secret": "no", "attempts": {}}}']
)
def test_a_broken_file_of_secrets_is_one_clear_line(broken: str, tmp_path: Path) -> None:
    (tmp_path / draws.FILE).write_text(broken, encoding="utf-8")
    with pytest.raises(UserError, match="without its secret earlier grades can't be repeated"):
        draws.ensure_hidden_seeds(START, tmp_path / draws.FILE)


@pytest.mark.parametrize(
    "address",
    [
        "postgresql+psycopg://grader:s3cr3t@127.0.0.1:9/gradebook",
        "postgresql+psycopg://grader:half@s3cr3t@127.0.0.1:9/gradebook",
        "postgresql+psycopg://grader:s3cr3t/half@127.0.0.1:9/gradebook",
        "postgresql+psycopg://127.0.0.1:s3cr3t/gradebook",
        "postgresql+psycopg://grader@127.0.0.1:9/gradebook?password=s3cr3t",
        "nosuchsql://grader:s3cr3t@127.0.0.1/gradebook",
        "grader:s3cr3t@127.0.0.1/gradebook",
    ],
)
def test_a_password_in_a_wrong_address_is_never_printed(address: str, tmp_path: Path) -> None:
    with pytest.raises(UserError) as raised:
        gradebook.Book(ClassFolder(tmp_path, address))
    message = str(raised.value)
    assert "s3cr3t" not in message and "half" not in message and "can't be opened" in message and "\n" not in message


@needs_bubblewrap
def test_a_class_that_can_not_be_written_is_one_clear_line(used: ClassFolder) -> None:
    before = content(used)
    for place in (used.path, used.path / "gradebook.db"):
        command = [
            "bwrap", "--dev-bind", "/", "/", "--ro-bind", str(place), str(place),
            sys.executable, "-m", "autograder", "sample", "1", "--grading", str(used.path),
        ]  # fmt: skip
        if place != used.path:
            command[-4:] = ["grade", "--force", "--grading", str(used.path)]
        done = subprocess.run(command, cwd=ROOT, capture_output=True, text=True, check=False)
        assert done.returncode == 2 and done.stderr.count("\n") == 1, done.stderr
        assert "ead-only" in done.stderr or "readonly" in done.stderr, done.stderr
    assert {name: data for name, data in content(used).items() if ".lock" not in name} == {
        name: data for name, data in before.items() if ".lock" not in name
    }


# For its owner alone


@pytest.mark.parametrize("umask", [0o000, 0o022, 0o077])
def test_what_a_class_keeps_is_for_its_owner_alone(umask: int, tmp_path: Path, graded_here: object) -> None:
    class_folder = ClassFolder(tmp_path / "class")
    hand_in(class_folder, "ada", first=True)
    old = os.umask(umask)
    try:
        with class_lock(class_folder):
            grade(class_folder)
    finally:
        os.umask(old)
    paths = [path for path in class_folder.path.rglob("*") if not path.is_relative_to(class_folder.submitted)]
    assert {path.name for path in paths} >= {
        "gradebook.db",
        "grading.log",
        draws.FILE,
        f"{START}.html",
        f"{START}.ipynb",
        ".markings",
    }
    assert [path for path in paths if path.stat().st_mode & 0o077] == []


def test_what_an_earlier_version_left_open_is_closed(used: ClassFolder) -> None:
    paths = [
        used.path,
        used.feedback,
        used.autograded,
        used.draws,
        used.path / "gradebook.db",
        used.path / log.FILE,
    ]
    for path in paths:
        path.chmod(0o755 if path.is_dir() else 0o644)
    with class_lock(used):
        assert [path for path in paths if path.stat().st_mode & 0o077] == []


# What no command would speak of


def test_what_belongs_to_no_assignment_is_told_with_the_nearest_name(tmp_path: Path) -> None:
    class_folder = ClassFolder(tmp_path)
    hand_in(class_folder, "ada")
    (class_folder.submitted / "ben" / "00_start_hear").mkdir(parents=True)
    (class_folder.submitted / "cem").mkdir()
    (class_folder.submitted / "grades.csv").touch()
    (class_folder.submitted / "dot" / ".ipynb_checkpoints").mkdir(parents=True)
    ben, cem, dot, file = submitted_files.strays(class_folder)
    assert ben == "ben/00_start_hear: no notebook of the course has that name; did you mean 00_start_here?"
    assert cem == "cem: empty" and dot == "dot: empty" and file == "grades.csv: not a student's folder"
    assert not submitted_files.has_stray_work(class_folder)
    (class_folder.submitted / "ben" / "00_start_hear" / "00_start_hear.ipynb").touch()
    assert submitted_files.has_stray_work(class_folder)
    for number in range(2000):
        (class_folder.submitted / f"{number}.csv").touch()
    assert len(submitted_files.strays(class_folder)) == 41 and submitted_files.strays(class_folder)[-1] == "1,964 more"


def test_a_second_notebook_is_told_beside_the_one_that_counts(
    graded_here: dict[bytes, GradedSubmission], tmp_path: Path
) -> None:
    class_folder = ClassFolder(tmp_path)
    folder = hand_in(class_folder, "ada")
    (folder / "newer.ipynb").write_text("{}", encoding="utf-8")
    _, submissions = grade(class_folder)
    assert submissions["ada"].points == 6.0 and submissions["ada"].remarks == ["ignored beside it: newer.ipynb"]


def test_another_notebook_of_the_course_is_called_by_its_name() -> None:
    data = release("02_feed_forward").read_bytes()
    with pytest.raises(Unreadable, match="this is the notebook 02_feed_forward, handed in as 00_start_here"):
        program.plan(START, data, Limits())


# A dry run


def test_a_dry_run_tells_whose_points_would_change_and_writes_nothing(
    graded_here: dict[bytes, GradedSubmission], tmp_path: Path
) -> None:
    class_folder = ClassFolder(tmp_path)
    same, worse = (json.dumps(answered(f"{ANSWER}  # {kind}")).encode() for kind in ("same", "worse"))
    for student, data in (("sam", same), ("wes", worse)):
        hand_in(class_folder, student, data)
    grade(class_folder)
    hand_in(class_folder, "new")
    less = earned() | {"hello_shape": not_earned(active_course().exercise("hello_shape"), "It is not right.")}
    graded_here[worse] = rebuilt(worse, less)
    before = {path: path.read_bytes() for path in sorted(tmp_path.rglob("*")) if path.is_file()}
    points_changes: list[grade_class.PointsChange] = []

    def tell(done: grade_class.SubmissionOutcome, total: int) -> None:
        points_changes.extend(filter(None, [done.change()]))

    summary = grade_class.grade(class_folder, START, Nobody(), grade_class.GradeOptions(force=True, dry=True), tell)
    assert summary.graded_count == 3
    changes = {change.student: change for change in points_changes}
    assert set(changes) == {"new", "wes"} and changes["new"].new
    assert changes["wes"].exercises == {"hello_shape": (2.0, 0.0)} and changes["wes"].points == (2.0, 0.0)
    assert {path: path.read_bytes() for path in sorted(tmp_path.rglob("*")) if path.is_file()} == before
    console = Console(width=160, file=io.StringIO())
    class_table.print_changes(console, START, points_changes)
    output = console.file.getvalue()  # type: ignore[attr-defined]
    assert "hello_shape 2 → 0" in output and output.index("wes") < output.index("new")
    class_table.print_changes(console, START, points_changes, lambda name: False)
    assert "nobody's points would change" in console.file.getvalue()  # type: ignore[attr-defined]
