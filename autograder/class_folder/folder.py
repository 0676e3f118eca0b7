"""The folder of one class, laid out as nbgrader does, and its lock: one command at a time works on it."""

from __future__ import annotations

import contextlib
import errno
import fcntl
import hashlib
import io
import os
import re
import shlex
import stat
import tempfile
from collections.abc import Callable, Iterator
from dataclasses import dataclass
from pathlib import Path

from autograder.errors import UserError
from autograder.files import errors_of, is_same_file, make_folder, private_opener
from autograder.paths import root

# No leading sign: a spreadsheet would take it for a formula.
FOLDER_NAME = re.compile(r"[A-Za-z0-9_][A-Za-z0-9_.@+-]{0,199}")
# Of ours, in collected/ASSIGNMENT/, where an earlier version put students' folders.
RESERVED_NAMES = {"files", "manifest.json"}


@dataclass(frozen=True)
class ClassFolder:
    """The folders of one class, laid out as nbgrader does, and its gradebook."""

    path: Path
    database: str | None = None  # an SQLAlchemy URL; None: SQLite in the folder, unless AUTOGRADER_DB_URL says another

    @property
    def submitted(self) -> Path:
        return self.path / "submitted"

    @property
    def autograded(self) -> Path:
        return self.path / "autograded"

    @property
    def feedback(self) -> Path:
        return self.path / "feedback"

    @property
    def db_url(self) -> str:
        url = self.database or os.environ.get("AUTOGRADER_DB_URL") or ""
        url = re.sub("^postgres://", "postgresql://", url)  # most hosts print what SQLAlchemy does not read
        return url or f"sqlite:///{self.path.resolve() / 'gradebook.db'}"

    @property
    def draws(self) -> Path:
        """The file with the secrets of the hidden draws."""
        return self.path / "hidden_draws.json"

    def command(self, words: str) -> str:
        """One of our commands for this class, as somebody types it here: with its folder, unless that is the usual one."""
        usual = Path(os.environ.get("AUTOGRADER_GRADING") or root() / "grading")
        path = self.path.resolve()
        if path == usual.resolve():
            return f"`autograder {words}`"
        here = path.relative_to(Path.cwd()) if path.is_relative_to(Path.cwd()) else path
        return f"`autograder {words} --grading {shlex.quote(str(here))}`"

    def owns(self, path: Path) -> bool:
        """Whether a path is one of the class's own files or in one of its folders, over links, too. What a command writes for a person is not."""
        place = path.resolve()
        gradebook = Path(self.db_url.removeprefix("sqlite:///"))
        own = [self.path.resolve() / name for name in OWN_NAMES]
        return any(place.is_relative_to(name) for name in own) or is_same_file(path, gradebook)

    def is_empty(self) -> bool:
        """Whether nobody has submitted anything."""
        return not self.submitted.is_dir() or not any(self.submitted.iterdir())


LOCK = ".lock"
PRIVATE_NAMES = (
    "autograded", "collected", "feedback", "uploads", ".markings", "hidden_draws.json", "grading.log", "gradebook.db",
    "report.html", "roster.csv", "desk.html",
)  # fmt: skip
# What nothing but the class's own commands, nbgrader and its instructors may write.
OWN_NAMES = (
    "submitted", "autograded", "collected", "feedback", "damaged", "source", "release", ".markings", "hidden_draws.json",
    "grading.log", "gradebook.db", "roster.csv", "course.toml", LOCK,
)  # fmt: skip


NO_LOCKS = {errno.ENOLCK, errno.EOPNOTSUPP, errno.ENOTSUP, errno.ENOSYS}  # what some network folders say


@contextlib.contextmanager
def class_lock(class_folder: ClassFolder, tell: Callable[[str], None] = lambda text: None) -> Iterator[None]:
    """One command at a time works on a class; the kernel gives the place free when a command ends, however it ends. What a class keeps is for its owner alone.

    tell: called with a line where the class's folder knows no locks, so that not all commands are kept apart.

    Raises:
        UserError: another one is at work. OSError: the folder can't be written.
    """
    if class_folder.path.exists() and not class_folder.path.is_dir():
        raise UserError(f"{class_folder.path} is not a folder")
    make_folder(class_folder.path)
    with contextlib.ExitStack() as stack:
        try:
            file = stack.enter_context(_lock(class_folder.path / LOCK, class_folder))
        except OSError as error:
            if error.errno not in NO_LOCKS:
                raise
            file = stack.enter_context(_lock(_path_of_lock_elsewhere(class_folder), class_folder))
            tell(
                f"The disk of {class_folder.path} has no locks, "
                "so a command on another machine or of another user could work on it at the same time."
            )
        with errors_of(Path(file.name)):
            file.truncate(0)
            file.write(str(os.getpid()).encode())
        close_to_others(class_folder)
        yield


def close_to_others(class_folder: ClassFolder) -> None:
    """Close what an earlier version, nbgrader or a person has left open in a class's folder."""
    for path in (class_folder.path, *(class_folder.path / name for name in PRIVATE_NAMES)):
        if path.exists() and path.stat().st_mode & 0o077 and (path == class_folder.path or not path.is_symlink()):
            path.chmod(0o700 if path.is_dir() else 0o600)


@contextlib.contextmanager
def _lock(path: Path, class_folder: ClassFolder) -> Iterator[io.FileIO]:
    """A file that only this process has locked."""
    with contextlib.ExitStack() as stack:
        with errors_of(path):
            file = stack.enter_context(open(path, "ab+", buffering=0, opener=private_opener))
            try:
                fcntl.flock(file, fcntl.LOCK_EX | fcntl.LOCK_NB)
            except BlockingIOError:
                raise UserError(
                    f"{class_folder.path} is in use by process {_process_in(file) or '?'}: "
                    "wait until it has ended, or stop it"
                ) from None
        yield file


def _process_in(file: io.FileIO) -> str:
    """The process that a lock's file names, or nothing."""
    file.seek(0)
    return file.read(20).decode("ascii", "replace").strip()


def _path_of_lock_elsewhere(class_folder: ClassFolder) -> Path:
    """The file to lock for a class whose own folder can't: on this machine's disk, for this user alone, and still there after they have logged out."""
    place = Path(tempfile.gettempdir(), f"autograder-{os.geteuid()}")
    place.mkdir(mode=0o700, exist_ok=True)
    status = place.lstat()
    if not stat.S_ISDIR(status.st_mode) or status.st_uid != os.geteuid() or status.st_mode & 0o077:
        raise UserError(
            f"{place} should hold the lock of {class_folder.path}, but others can write there: "
            "remove it, or set TMPDIR to a folder of your own"
        )
    name = hashlib.sha256(os.fsencode(os.path.realpath(class_folder.path))).hexdigest()[:32]
    return place / f"{name}.lock"
