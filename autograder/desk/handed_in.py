"""Files that others made: opened without following links and without waiting, and read up to a bound.

Called by classroom, and by nbgrader through our configuration.
"""

from __future__ import annotations

import os
import re
import stat
from datetime import UTC, datetime
from pathlib import Path
from typing import Any

TIMESTAMP = "timestamp.txt"
# As nbgrader writes it, "2026-10-01 10:00:00.000000 UTC", or ISO 8601: a number as the zone, but no name of one, which nbgrader would look up as a file.
MOMENT = re.compile(r"(\d{4}-\d\d-\d\d(?:[ T]\d\d:\d\d(?::\d\d(?:\.\d{1,6})?)?)?)(?: ?(UTC|Z|[+-]\d\d:?\d\d))?")
YEARS = range(2000, 2100)  # beyond, somebody's conversion between time zones overflows


def read(path: Path, most: int) -> bytes:
    """A file's bytes, one more than `most` of a longer one.

    Raises:
        OSError: in what way it can't be read; a link, a device, a pipe or a folder among them.
    """
    descriptor = os.open(path, os.O_RDONLY | os.O_NOFOLLOW | os.O_NONBLOCK | os.O_CLOEXEC)
    with open(descriptor, "rb") as file:
        if not stat.S_ISREG(os.fstat(descriptor).st_mode):
            raise OSError(0, "not a regular file", str(path))
        return file.read(most + 1)


def is_file(path: Path) -> bool:
    """Whether there is a regular file; a link to one is none."""
    return _is(path, stat.S_ISREG)


def is_folder(path: Path) -> bool:
    """Whether there is a folder; a link to one is none."""
    return _is(path, stat.S_ISDIR)


def _is(path: Path, kind: Any) -> bool:
    try:
        return bool(kind(os.lstat(path).st_mode))
    except (OSError, ValueError):
        return False


def timestamp(folder: Path) -> datetime | None:
    """When `timestamp.txt` says that it was handed in, in UTC without a zone, as nbgrader's gradebook wants it; None where it says nothing of use."""
    try:
        found = MOMENT.fullmatch(read(folder / TIMESTAMP, 60).decode("ascii").strip())
        if not found:
            return None
        moment = datetime.fromisoformat(found[1])
        zone = datetime.strptime((found[2] or "UTC").replace("UTC", "Z"), "%z").tzinfo
    except (OSError, ValueError):
        return None
    return moment.replace(tzinfo=zone).astimezone(UTC).replace(tzinfo=None) if moment.year in YEARS else None


def nbgrader_reads_timestamps_like_this() -> None:
    """One student's odd `timestamp.txt` ends nbgrader's commands, and formgrader's list of the whole class; one that names a pipe makes them wait for ever."""
    from nbgrader.apps.api import NbGraderAPI
    from nbgrader.coursedir import CourseDirectory

    def existing(self: Any, dest_path: str) -> datetime | None:
        return timestamp(Path(dest_path))

    def submitted(self: Any, assignment_id: str, student_id: str) -> datetime | None:
        course = self.coursedir
        return timestamp(Path(course.format_path(course.submitted_directory, student_id, assignment_id)))

    CourseDirectory.get_existing_timestamp = existing
    NbGraderAPI.get_submitted_timestamp = submitted
