"""Files that others made: opened without following links and without waiting, and read up to a bound.

Called by grade_class, and by nbgrader through our configuration.
"""

from __future__ import annotations

import codecs
import errno
import os
import stat
from dataclasses import dataclass
from datetime import UTC, datetime, tzinfo
from pathlib import Path
from typing import Any

from autograder.paths import root
from autograder.times import parse_in_words, parse_moment, to_utc, zone_of_nbgrader
from ffnlab.untrusted_text import in_a_line

TIMESTAMP = "timestamp.txt"
MAX_TIMESTAMP = 200  # bytes


# What a file can be by a student's own doing: a link that leads nowhere, a device, a socket, a folder. All else is the machine's.
STUDENT_ERRORS = {0, errno.ELOOP, errno.ENXIO, errno.ENODEV, errno.EISDIR}
EMPTY_MESSAGE = "empty, as a power cut or a full disk may leave a file"


def read(path: Path, max_bytes: int) -> bytes:
    """A file's bytes, one more than `max_bytes` of a longer one.

    Raises:
        OSError: in what way it can't be read; a link, a device, a pipe or a folder among them. `is_students_own` says whose doing that is.
    """
    descriptor = os.open(path, os.O_RDONLY | os.O_NOFOLLOW | os.O_NONBLOCK | os.O_CLOEXEC)
    with open(descriptor, "rb") as file:
        if not stat.S_ISREG(os.fstat(descriptor).st_mode):
            raise OSError(0, "not a regular file", str(path))
        return file.read(max_bytes + 1)


def is_students_own(error: OSError) -> bool:
    """Whether a file can't be read for what a student has made of it; else the disk, the network or this machine is at fault, and that costs nobody a point."""
    return (error.errno or 0) in STUDENT_ERRORS


def describe_error(error: OSError) -> str:
    """Why a file can't be read, in a line with its name."""
    name = f"{Path(str(error.filename)).name}: " if error.filename else ""
    return in_a_line(f"{name}{error.strerror or error}")


def is_file(path: Path) -> bool:
    """Whether there is a regular file; a link to one is none. Raises OSError where the machine can't tell."""
    return _is(path, stat.S_ISREG)


def is_empty(path: Path) -> bool:
    """Whether there is a regular file without a byte in it, as after a power cut."""
    return is_file(path) and not path.stat().st_size


def is_folder(path: Path) -> bool:
    """Whether there is a folder; a link to one is none. Raises OSError where the machine can't tell."""
    return _is(path, stat.S_ISDIR)


def _is(path: Path, kind: Any) -> bool:
    try:
        return bool(kind(os.lstat(path).st_mode))
    except (FileNotFoundError, NotADirectoryError, ValueError):
        return False
    except OSError as error:
        if is_students_own(error) or error.errno == errno.ENAMETOOLONG:
            return False
        raise


@dataclass(frozen=True)
class Timestamp:
    """What `timestamp.txt` says. Where there is no such file, nothing."""

    utc_time: datetime | None = None  # of the submission; without a zone, as nbgrader's gradebook wants it
    unreadable: str = ""  # what stands there and is no time that can be read


def find_timestamp(folder: Path, clock: tzinfo | None = None) -> datetime | None:
    """The time that `read_timestamp` finds, and None where the machine can't read it."""
    try:
        return read_timestamp(folder, clock).utc_time
    except OSError:
        return None


def read_timestamp(folder: Path, clock: tzinfo | None = None) -> Timestamp:
    """When `timestamp.txt` says that it was handed in. clock: the class's time zone, for a time in words and for a zone's abbreviation.

    Raises:
        OSError: it is there and can't be read, or is empty.
    """
    path = folder / TIMESTAMP
    try:
        data = read(path, MAX_TIMESTAMP)
    except OSError as error:
        if isinstance(error, FileNotFoundError | NotADirectoryError):
            return Timestamp()
        if is_students_own(error):
            return Timestamp(unreadable=f"{TIMESTAMP} is not a regular file")
        raise
    if not data:
        raise OSError(errno.EIO, EMPTY_MESSAGE, str(path))
    # PowerShell's, and others'.
    encoding = "utf-16" if data[:2] in (codecs.BOM_UTF16_LE, codecs.BOM_UTF16_BE) else "utf-8-sig"
    text = data.decode(encoding, errors="replace").strip()
    zones = [zone for zone in (zone_of_nbgrader(root() / "nbgrader_config.py"), clock) if zone]
    moment = parse_moment(text, zones)
    if moment is None and (local := parse_in_words(text, zones)):
        moment = to_utc(local, clock or UTC)
    if moment is None:
        return Timestamp(unreadable=in_a_line(text, 80) or "a blank line")
    return Timestamp(moment.replace(tzinfo=None))


def patch_nbgrader_timestamps() -> None:
    """One student's odd `timestamp.txt` ends nbgrader's commands, and formgrader's list of the whole class; one that names a pipe makes them wait for ever."""
    from nbgrader.apps.api import NbGraderAPI
    from nbgrader.coursedir import CourseDirectory

    def get_existing_timestamp(self: Any, dest_path: str) -> datetime | None:
        return find_timestamp(Path(dest_path))

    def get_submitted_timestamp(self: Any, assignment_id: str, student_id: str) -> datetime | None:
        course = self.coursedir
        return find_timestamp(Path(course.format_path(course.submitted_directory, student_id, assignment_id)))

    CourseDirectory.get_existing_timestamp = get_existing_timestamp
    NbGraderAPI.get_submitted_timestamp = get_submitted_timestamp
