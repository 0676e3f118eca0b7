"""The submissions in a class's folder, `submitted/STUDENT/ASSIGNMENT/`: whose they are, when they were handed in, what is in them, and what can be nobody's."""

from __future__ import annotations

import errno
import hashlib
from collections.abc import Iterator, Sequence
from dataclasses import dataclass, replace
from datetime import UTC, datetime, tzinfo
from pathlib import Path

from autograder import untrusted_files
from autograder.class_folder.folder import FOLDER_NAME, ClassFolder
from autograder.errors import UserError, suggest_nearest
from autograder.paths import assignments, require_assignment
from ffnlab.untrusted_text import in_a_line


class Empty(OSError):
    """A notebook of 0 bytes."""


@dataclass(frozen=True)
class Submission:
    """One student's submission of one assignment: where it is."""

    student: str
    assignment: str
    folder: Path
    path: Path | None  # None where there is no notebook
    remark: str = ""
    is_earlier_attempt: bool = False  # not the one in submitted/, but an attempt before it
    handed_in_at: datetime | None = None  # None until it is read, and where that is not known
    unreadable: str = ""  # why the machine can't read the folder now
    unread_time: str = ""  # what is said to be the time at which it was handed in, and can't be read

    @property
    def utc_time(self) -> datetime | None:
        """When it was handed in, in UTC without a zone, as nbgrader's gradebook wants it."""
        return self.handed_in_at.astimezone(UTC).replace(tzinfo=None) if self.handed_in_at else None


def find(class_folder: ClassFolder, assignment: str, student: str | None = None) -> list[Submission]:
    """The submissions of an assignment, by student; folders that can be nobody's are left out, and `list_unusable_folders` lists them.

    Raises:
        UserError: nothing is there, or that student has not submitted.
    """
    require_assignment(assignment)
    if not class_folder.submitted.is_dir():
        raise UserError(
            f"there is no folder {class_folder.submitted}: submissions belong in submitted/STUDENT/ASSIGNMENT/"
        )
    submissions = []
    for home in sorted(home for home in class_folder.submitted.iterdir() if FOLDER_NAME.fullmatch(home.name)):
        if student not in (None, home.name):
            continue
        try:
            if untrusted_files.is_folder(home) and untrusted_files.is_folder(home / assignment):
                submissions.append(_submission(home.name, assignment, home / assignment))
        except OSError as error:
            reason = error.strerror or str(error)
            submissions.append(Submission(home.name, assignment, home / assignment, None, unreadable=reason))
    if not submissions:
        whose = f"by {student} " if student else ""
        also = "; ".join(("", *list_unusable_folders(class_folder, assignment)))
        raise UserError(f"no submission {whose}of {assignment} in {class_folder.submitted}{also}")
    return submissions


def list_unusable_folders(class_folder: ClassFolder, assignment: str) -> tuple[str, ...]:
    """What lies in submitted/ and can be nobody's submission of an assignment, all of it, each with the reason."""
    bad_names: list[str] = []
    links: list[str] = []
    for home in sorted(class_folder.submitted.iterdir()):
        if home.is_symlink() or (untrusted_files.is_folder(home) and (home / assignment).is_symlink()):
            links.append(home.name)
        elif not FOLDER_NAME.fullmatch(home.name) and untrusted_files.is_folder(home / assignment):
            bad_names.append(home.name)
    why = (("a name with other characters than a to z, digits and _ . @ + -", bad_names), ("a link", links))
    return tuple(f"{reason}: {', '.join(in_a_line(name, 60) for name in names)}" for reason, names in why if names)


MAX_STRAYS = 40


def strays(class_folder: ClassFolder) -> tuple[str, ...]:
    """What lies in submitted/ and belongs to no assignment at all, so that no command would ever speak of it: one line each, and how many more there are."""
    notebooks = assignments()
    all_strays = list(_strays(class_folder, notebooks))
    lines = []
    for *path, reason in all_strays[:MAX_STRAYS]:
        hint = suggest_nearest(path[1], notebooks) if len(path) > 1 else ""
        lines.append(f"{'/'.join(in_a_line(name, 80) for name in path)}: {reason}{hint}")
    if len(all_strays) > MAX_STRAYS:
        lines.append(f"{len(all_strays) - MAX_STRAYS:,} more")
    return tuple(lines)


def has_stray_work(class_folder: ClassFolder) -> bool:
    """Whether a notebook is among what belongs to no assignment, so that somebody's grade may hang on it."""
    places = (class_folder.submitted.joinpath(*path) for *path, _ in _strays(class_folder, assignments()))
    return any(place.suffix == ".ipynb" or any(place.rglob("*.ipynb")) for place in places)


def _strays(class_folder: ClassFolder, notebooks: Sequence[str]) -> Iterator[tuple[str, ...]]:
    """A name, or a student's and one in their folder, and behind it the reason."""
    for home in sorted(class_folder.submitted.iterdir()) if class_folder.submitted.is_dir() else ():
        if not untrusted_files.is_folder(home):
            yield home.name, "not a student's folder"
            continue
        try:
            inside = sorted(path.name for path in home.iterdir() if not path.name.startswith("."))
        except OSError as error:
            yield home.name, f"can't be read ({error.strerror})"
            continue
        if not inside:
            yield home.name, "empty"
        for name in inside:
            if name not in notebooks:
                yield home.name, name, "no notebook of the course has that name"


def students(class_folder: ClassFolder) -> int:
    """How many have a folder in submitted/."""
    return sum(1 for _ in class_folder.submitted.iterdir()) if class_folder.submitted.is_dir() else 0


def find_assignments(class_folder: ClassFolder) -> list[str]:
    """The assignments that somebody has submitted."""
    if not class_folder.submitted.is_dir():
        return []
    return [name for name in assignments() if any(class_folder.submitted.glob(f"*/{name}"))]


def _submission(student: str, assignment: str, folder: Path) -> Submission:
    notebook = folder / f"{assignment}.ipynb"
    notebooks = sorted(folder.glob("*.ipynb"))
    others = [path for path in notebooks if path != notebook and untrusted_files.is_file(path)]
    modules = sorted(folder.glob("*.py"))
    if untrusted_files.is_file(notebook):
        beside = in_a_line(", ".join(path.name for path in (*others, *modules)), 200)
        return Submission(student, assignment, folder, notebook, f"ignored beside it: {beside}" if beside else "")
    if len(others) == 1:
        return Submission(
            student, assignment, folder, others[0], f"the notebook is called {in_a_line(others[0].name, 100)}"
        )
    if notebook in notebooks:
        remark = f"a {notebook.name} that is not a regular file"
    else:
        remark = f"{len(others)} notebooks, none called {notebook.name}" if others else "no notebook"
    return Submission(student, assignment, folder, None, remark)


def digest(data: bytes) -> str:
    """The identity of a submission."""
    return hashlib.sha256(data).hexdigest()


def with_time(submission: Submission, clock: tzinfo | None = None) -> Submission:
    """The submission with the time that its folder tells. clock: the class's time zone.

    Raises:
        OSError: the machine can't read it now.
    """
    if submission.is_earlier_attempt or submission.unreadable:
        return submission
    timestamp = untrusted_files.read_timestamp(submission.folder, clock)
    handed_in_at = timestamp.utc_time.replace(tzinfo=UTC) if timestamp.utc_time else None
    return replace(submission, handed_in_at=handed_in_at, unread_time=timestamp.unreadable)


def read(submission: Submission, most: int) -> tuple[bytes, str]:
    """Its bytes, of a longer one one byte more than `most`; or why there are none, by the student's own doing.

    Raises:
        OSError: the machine can't read it now.
        Empty: no LMS exports such a file.
    """
    if submission.unreadable:
        raise OSError(errno.EIO, submission.unreadable, str(submission.folder))
    if submission.path is None:
        return b"", submission.remark
    try:
        data = untrusted_files.read(submission.path, most)
    except OSError as error:
        if untrusted_files.is_students_own(error):
            return b"", f"a file that can't be read ({error.strerror})"
        raise
    if not data:
        raise Empty(errno.EIO, untrusted_files.EMPTY_MESSAGE, str(submission.path))
    if len(data) > most:
        size = submission.path.stat().st_size
        return data, f"a file of {size / 2**20:,.1f} MiB, and at most {most / 2**20:g} MiB are read,"
    return data, ""
