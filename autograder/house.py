"""Where things lie: the project's folders, and those of one class. Everything else asks here."""

from __future__ import annotations

import contextlib
import errno
import fcntl
import gc
import hashlib
import io
import os
import re
import stat
import tempfile
from collections.abc import Callable, Iterator
from dataclasses import dataclass
from pathlib import Path

from autograder.files import errors_of, make_folder, private

NAME = re.compile(r"[A-Za-z0-9_][A-Za-z0-9_.@+-]{0,199}")  # no leading sign: a spreadsheet would take it for a formula
RESERVED = {
    "files",
    "manifest.json",
}  # of ours, in collected/ASSIGNMENT/, where an earlier version put students' folders


class UserError(Exception):
    """Something the person at the keyboard can mend: one clear line, exit status 2."""


def root() -> Path:
    """The project's folder: the nearest one from here upwards with solutions/ and course/, else the one this package lies in."""
    places = (Path.cwd(), *Path.cwd().parents, Path(__file__).resolve().parent.parent)
    for place in places:
        if (place / "solutions").is_dir() and (place / "course").is_dir():
            return place
    raise UserError("this is not the project's folder: there is no solutions/ and course/ here or above")


@dataclass(frozen=True)
class Class:
    """The folders of one class, laid out as nbgrader does, and its gradebook."""

    folder: Path
    database: str | None = None  # an SQLAlchemy URL; None: SQLite in the folder, unless AUTOGRADER_DB_URL says another

    @property
    def submitted(self) -> Path:
        return self.folder / "submitted"

    @property
    def autograded(self) -> Path:
        return self.folder / "autograded"

    @property
    def feedback(self) -> Path:
        return self.folder / "feedback"

    @property
    def db_url(self) -> str:
        given = self.database or os.environ.get("AUTOGRADER_DB_URL") or ""
        given = re.sub("^postgres://", "postgresql://", given)  # most hosts print what SQLAlchemy does not read
        return given or f"sqlite:///{self.folder.resolve() / 'gradebook.db'}"

    @property
    def draws(self) -> Path:
        """The file with the secrets of the hidden draws."""
        return self.folder / "hidden_draws.json"

    def is_empty(self) -> bool:
        """Whether nobody has submitted anything."""
        return not self.submitted.is_dir() or not any(self.submitted.iterdir())


def release(assignment: str) -> Path:
    """The student's notebook of an assignment."""
    return root() / "course" / assignment / f"{assignment}.ipynb"


def solution(assignment: str) -> Path:
    """The executed solution notebook, nbgrader's source."""
    return root() / "solutions" / assignment / f"{assignment}.ipynb"


def source(assignment: str) -> Path:
    """What an author edits."""
    return root() / "solutions" / f"{assignment}.py"


LOCK = ".lock"
KEPT = (
    "autograded", "collected", "feedback", "uploads", ".markings", "hidden_draws.json", "grading.log", "gradebook.db",
    "report.html", "roster.csv",
)  # fmt: skip


NO_LOCKS = {errno.ENOLCK, errno.EOPNOTSUPP, errno.ENOTSUP, errno.ENOSYS}  # what some network folders say


@contextlib.contextmanager
def alone(school: Class, tell: Callable[[str], None] = lambda text: None) -> Iterator[None]:
    """One command at a time works on a class; the kernel gives the place free when a command ends, however it ends. What a class keeps is for its owner alone.

    tell: called with a line where the class's folder knows no locks, so that not all commands are kept apart.

    Raises:
        UserError: another one is at work. OSError: the folder can't be written.
    """
    if school.folder.exists() and not school.folder.is_dir():
        raise UserError(f"{school.folder} is not a folder")
    make_folder(school.folder)
    with contextlib.ExitStack() as stack:
        try:
            file = stack.enter_context(_lock(school.folder / LOCK, school))
        except OSError as error:
            if error.errno not in NO_LOCKS:
                raise
            file = stack.enter_context(_lock(_path_of_lock_elsewhere(school), school))
            tell(
                f"The disk of {school.folder} knows no locks: "
                "a command on another machine, or of another user, is not kept from working on it at the same time."
            )
        with errors_of(Path(file.name)):
            file.truncate(0)
            file.write(str(os.getpid()).encode())
        close_to_others(school)
        yield


def close_to_others(school: Class) -> None:
    """Close what an earlier version, nbgrader or a person has left open in a class's folder."""
    for path in (school.folder, *(school.folder / name for name in KEPT)):
        if path.exists() and path.stat().st_mode & 0o077 and (path == school.folder or not path.is_symlink()):
            path.chmod(0o700 if path.is_dir() else 0o600)


@contextlib.contextmanager
def _lock(path: Path, school: Class) -> Iterator[io.FileIO]:
    """A file that only this process has locked."""
    with contextlib.ExitStack() as stack:
        with errors_of(path):
            file = stack.enter_context(open(path, "ab+", buffering=0, opener=private))
            try:
                fcntl.flock(file, fcntl.LOCK_EX | fcntl.LOCK_NB)
            except BlockingIOError:
                raise UserError(
                    f"{school.folder} is being worked on already, by process {_process_in(file) or '?'}: "
                    "wait until it has ended, or stop it"
                ) from None
        yield file


def _process_in(file: io.FileIO) -> str:
    """The process that a lock's file names, or nothing."""
    file.seek(0)
    return file.read(20).decode("ascii", "replace").strip()


def _path_of_lock_elsewhere(school: Class) -> Path:
    """The file to lock for a class whose own folder can't: on this machine's disk, for this user alone, and still there after they have logged out."""
    place = Path(tempfile.gettempdir(), f"autograder-{os.geteuid()}")
    place.mkdir(mode=0o700, exist_ok=True)
    found = place.lstat()
    if not stat.S_ISDIR(found.st_mode) or found.st_uid != os.geteuid() or found.st_mode & 0o077:
        raise UserError(f"{place} was to hold the lock of {school.folder}, but others can write there: remove it")
    name = hashlib.sha256(os.fsencode(os.path.realpath(school.folder))).hexdigest()[:32]
    return place / f"{name}.lock"


@contextlib.contextmanager
def importing() -> Iterator[None]:
    """Around large imports, which make a million objects: looking for garbage among them would take a fifth of the time."""
    gc.disable()
    try:
        yield
    finally:
        gc.enable()


def assignments() -> list[str]:
    """The notebooks of the course that exist."""
    from ffnlab import exercises  # brings torch: `--help` needs neither

    return [name for name in exercises.NOTEBOOKS if source(name).is_file()]


def known(assignment: str) -> str:
    """The name of an assignment.

    Raises:
        UserError: there is no such assignment.
    """
    if assignment not in assignments():
        raise UserError(f"there is no assignment called {assignment!r}; there are: {', '.join(assignments())}")
    return assignment
