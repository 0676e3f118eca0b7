"""nbgrader's exchange: the folders in `inbound/`, `{user}+{assignment}+{time}+{random}`. Called through autograder.lms.

Everybody can write into `inbound/`, so a folder's name is only what somebody claims. Whose it is, is what its owner and its files' owners confirm; when it was
handed in, is the later of the time in its name and the last change of its inodes, which nobody but root can set back.
Source: nbgrader/exchange/default/submit.py, collect.py, release_feedback.py. A page finds its way back by the secret that lies in the folder.
"""

from __future__ import annotations

import os
import pwd
import re
from collections.abc import Sequence
from datetime import UTC, datetime, timedelta, tzinfo
from pathlib import Path
from typing import TYPE_CHECKING

from autograder import untrusted_files
from autograder.lms.archive import ArchiveEntry, Refused, normalize_name
from autograder.lms.base import Lms
from autograder.lms.records import ExportedFile, Person, is_in_future
from autograder.paths import root
from autograder.times import parse_moment, zone_of_nbgrader

if TYPE_CHECKING:
    from autograder.transfer.give_back import GradeExport

NAME = "nbgrader"
INBOUND = re.compile(
    r"(?P<user>.+)\+(?P<assignment>[^+]+)\+(?P<when>\d{4}-\d\d-\d\d [\d:.]+ [^+]+)(?:\+(?P<random>[^+/]+))?"
)
TIMESTAMP, SECRET = "timestamp.txt", "submission_secret.txt"
WHILE_SUBMITTING = timedelta(minutes=5)  # nbgrader takes the time first, and copies afterwards
SECRET_AS_WRITTEN = re.compile(r"[0-9A-Za-z]{1,256}")


def _read_folder(top: str, entries: Sequence[ArchiveEntry], zones: Sequence[tzinfo]) -> list[ExportedFile]:
    """What is in one student's folder. zones: whose abbreviations nbgrader may have written into its name."""
    match = INBOUND.fullmatch(top)
    assert match
    user = match["user"]
    name_time = parse_moment(match["when"], zones)
    nbgraders = [entry for entry in entries if normalize_name(entry.name) in (f"{top}/{TIMESTAMP}", f"{top}/{SECRET}")]
    files = [entry for entry in entries if entry not in nbgraders]
    secret = next((_read_entry_secret(entry) for entry in nbgraders if entry.name.endswith(SECRET)), "")

    accounts = {uid: _account_name(uid) for entry in entries for uid in entry.owners}
    is_owned = user in accounts.values()
    copiers = () if is_owned else (0, os.geteuid())  # whose all of it is where somebody copied it or unpacked it
    others = [name for uid, name in sorted(accounts.items()) if uid not in copiers and name != user]
    is_copied = not is_owned and not others  # and the times are the copy's
    last_change = (
        None
        if is_copied
        else max((change_time for entry in entries for change_time in entry.change_times), default=None)
    )
    change_time = datetime.fromtimestamp(last_change, UTC) if last_change else None
    handed_in_at = name_time
    doubtful_time = ""
    if name_time is None or is_in_future(name_time):
        handed_in_at = change_time
        trouble = "is in the future" if name_time else "can't be read"
        doubtful_time = f"its time, {match['when']}, {trouble}"
    elif change_time and change_time > name_time:
        handed_in_at = change_time
    doubt = ""
    if others:
        doubt = f"its folder or a file in it belongs to {' and '.join(others)}, and not to {user}: write whose it is"
    return [
        ExportedFile(
            NAME,
            f"{user} (of {'+'.join(others)})" if others else user,
            () if others else (Person({"username": user}),),
            user,
            entry.name,
            "" if entry.is_folder or entry in nbgraders else normalize_name(entry.name).removeprefix(f"{top}/"),
            entry.read,
            submission_id=top,
            handed_in_at=handed_in_at,
            assignment=match["assignment"],
            doubt=doubt,
            doubtful_time=doubtful_time,
            laid_by="+".join(others) or user,
            name_time=name_time if name_time and change_time and change_time - name_time > WHILE_SUBMITTING else None,
            is_owned=is_owned,
            back={"secret": secret},
        )
        for entry in files or nbgraders[:1]  # of an emptied folder these are left
    ]


def _account_name(uid: int) -> str:
    try:
        return pwd.getpwuid(uid).pw_name
    except (KeyError, OverflowError):
        return f"the account number {uid}"


def _read_entry_secret(entry: ArchiveEntry) -> str:
    try:
        return _parse_secret(entry.read())
    except Refused:
        return ""


def read_secret(folder: Path) -> str:
    """The secret in a submission's folder; "" where there is none."""
    try:
        return _parse_secret(untrusted_files.read(folder / SECRET, 300))
    except OSError:
        return ""


def _parse_secret(data: bytes) -> str:
    text = data[:300].decode("ascii", errors="replace").strip()
    return text if SECRET_AS_WRITTEN.fullmatch(text) else ""


class Exchange(Lms):
    name, title = NAME, "nbgrader's exchange"
    sheet = ""
    is_local_time = False
    rank = 5
    has_folder_names = True
    needs_file = False
    instead = "makes what its release_feedback needs beside the pages"

    def fits(self, path: str) -> bool:
        return "/" in path and bool(INBOUND.fullmatch(normalize_name(path.split("/")[0])))

    def exported_files(
        self, entries: Sequence[ArchiveEntry], zone: tzinfo | None
    ) -> tuple[list[ExportedFile], list[str]]:
        folders: dict[str, list[ArchiveEntry]] = {}
        unknown = []
        for entry in entries:
            top, _, below = normalize_name(entry.name).partition("/")
            if INBOUND.fullmatch(top) and (below or entry.is_folder or entry.trouble):
                folders.setdefault(top, []).append(entry)
            else:
                unknown.append(entry.name)
        possible_zones = (zone_of_nbgrader(root() / "nbgrader_config.py"), zone)
        zones = [possible_zone for possible_zone in possible_zones if possible_zone]
        return [file for top, inside in folders.items() for file in _read_folder(top, inside, zones)], unknown

    def release(self, grade_export: GradeExport) -> None:
        """Put beside each feedback page what nbgrader's release_feedback reads: when it was handed in, and the secret by which its student finds it."""
        exclusions = []
        for page in sorted(
            grade_export.class_folder.feedback.glob(f"*/{grade_export.assignment}/{grade_export.assignment}.html")
        ):
            student = page.parent.parent.name
            if grade_export.is_waiting(student):
                exclusions.append(student)
            elif trouble := grade_export.prepare_release(student):
                exclusions.append(student)
                grade_export.record_omission(student, "", f"left out: {trouble}")
            else:
                grade_export.record_change(student, "ready")
                page.chmod(0o644)  # nbgrader copies the mode too; the folder keeps others out
        but = f" --CourseDirectory.student_id_exclude={','.join(exclusions)}" if exclusions else ""
        grade_export.report.notes.append(f"now: nbgrader release_feedback {grade_export.assignment} --course NAME{but}")
