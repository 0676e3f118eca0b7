"""Where things lie: the project's folders, and those of one class. Everything else asks here."""

from __future__ import annotations

import contextlib
import fcntl
import gc
import os
import re
from collections.abc import Iterator
from dataclasses import dataclass
from pathlib import Path
from typing import TextIO

NAME = re.compile(r"[A-Za-z0-9_][A-Za-z0-9_.@+-]{0,199}")  # no leading sign: a spreadsheet would take it for a formula


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
        given = self.database or os.environ.get("AUTOGRADER_DB_URL")
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


def replace(path: Path, content: str | bytes, mode: int = 0o666) -> None:
    """Write a file whole or not at all; its folder is made where it is missing. `mode`: who may read it, as for open(2)."""
    path.parent.mkdir(parents=True, exist_ok=True)
    draft = path.with_name(f"{path.name}.{os.getpid()}.draft")
    draft.touch(mode=mode)
    draft.write_bytes(content.encode() if isinstance(content, str) else content)
    draft.replace(path)


def keep(path: Path, content: str | bytes) -> None:
    """Write a file of a class, whole or not at all, for its owner alone; so are the folders that it is the first in."""
    make_folder(path.parent)
    replace(path, content, mode=0o600)


def make_folder(folder: Path) -> None:
    """Make a folder of a class, and those above it, for their owner alone."""
    for missing in reversed([one for one in (folder, *folder.parents) if not one.exists()]):
        missing.mkdir(mode=0o700, exist_ok=True)


def _private(path: str, flags: int) -> int:
    return os.open(path, flags, 0o600)


@contextlib.contextmanager
def appending(path: Path) -> Iterator[TextIO]:
    """A class's file to write more into, for its owner alone."""
    with open(path, "a", encoding="utf-8", opener=_private) as file:
        yield file


LOCK = ".lock"
KEPT = (
    "autograded", "collected", "feedback", "uploads", ".markings", "hidden_draws.json", "grading.log", "gradebook.db",
    "report.html", "roster.csv",
)  # fmt: skip


@contextlib.contextmanager
def alone(school: Class) -> Iterator[None]:
    """One command at a time works on a class; the kernel gives the place free when a command ends, however it ends. What a class keeps is for its owner alone.

    Raises:
        UserError: another one is at work.
    """
    if school.folder.exists() and not school.folder.is_dir():
        raise UserError(f"{school.folder} is not a folder")
    make_folder(school.folder)
    with open(school.folder / LOCK, "a+", encoding="ascii", opener=_private) as file:
        try:
            fcntl.flock(file, fcntl.LOCK_EX | fcntl.LOCK_NB)
        except BlockingIOError:
            file.seek(0)
            who = file.read(20).strip()
            raise UserError(
                f"{school.folder} is being worked on already, by process {who or '?'}: wait until it has ended, or stop it"
            ) from None
        file.truncate(0)
        file.write(str(os.getpid()))
        file.flush()
        for path in (school.folder / name for name in KEPT):  # an earlier version may have made them
            if path.exists() and not path.is_symlink():
                path.chmod(0o700 if path.is_dir() else 0o600)
        yield


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
