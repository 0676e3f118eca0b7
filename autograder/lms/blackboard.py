"""Blackboard: the download of an assignment's files, and the grade centre's sheet, to work offline. Called through autograder.lms.

`Project 0_391108724_attempt_2022-09-12-15-45-08_hw1.ipynb`: the assignment, which may hold "_", the username, and a local time. Beside each attempt lies a text
without a file's name, in which Blackboard says who handed in what. Students choose their files' names, in which all of this may stand once more: so only what
comes first is Blackboard's.
"""

from __future__ import annotations

import re
from collections.abc import Sequence
from datetime import tzinfo

from autograder.errors import UserError
from autograder.lms.archive import ArchiveEntry, Refused, normalize_name
from autograder.lms.base import FeedbackPage, Lms
from autograder.lms.records import ExportedFile, Person, parse_local_time
from autograder.lms.sheets import GradeSheet, Sheet, choose_column

NAME = "blackboard"
ATTEMPT = re.compile(
    r"(?P<head>.+?)_attempt_(?P<when>\d{4}-\d\d-\d\d-\d\d-\d\d-\d\d)(?:(?P<about>\.txt)|_(?P<file>.+))", re.DOTALL
)
AGAIN = re.compile(r"_attempt_\d{4}-\d\d-\d\d-\d\d-\d\d-\d\d(?:\.txt$|_)")
WHO = re.compile(r"^\s*Name:\s*(?P<name>[^\r\n]*?)\s*\((?P<username>[^()\r\n]+)\)\s*$", re.MULTILINE)

FIRST, LAST = ("First Name", "Vorname"), ("Last Name", "Nachname")
USERNAME, STUDENT_ID = ("Username", "Benutzername"), ("Student ID", "Matrikelnummer")
AVAILABILITY = ("Last Access", "Availability", "Letzter Zugriff", "Verfügbarkeit")
COLUMN = re.compile(r"(?P<title>.+?) \[[^\]]*?(?P<points>\d+(?:[.,]\d+)?)[^\]]*\](?: ?\|\d+)?")


def _read_identity(entry: ArchiveEntry, head: str) -> tuple[str, str] | None:
    """The username and name in the text beside an attempt; None where it says nothing that goes with the file's name."""
    try:
        match = WHO.search(entry.read()[:10_000].decode("utf-8-sig", errors="replace"))
    except Refused:
        return None
    if match and head.endswith(f"_{normalize_name(match['username'])}"):
        return normalize_name(match["username"]), normalize_name(match["name"])
    return None


def _before_usernames(heads: set[str], identities: Sequence[tuple[tuple[str, str], tuple[str, str] | None]]) -> str:
    """What all heads begin with, the assignment: as Blackboard's texts have it, else the shortest that each could have. "" where they have not all the same."""
    stems = {head.removesuffix(f"_{identity[0]}") for (head, _), identity in identities if identity}
    if not stems:
        stems = {head.rpartition("_")[0] for head in heads}
    stem = min(stems, key=len, default="")
    return stem if all(head.startswith(f"{stem}_") for head in heads) else ""


def _is_blackboards(sheet: Sheet) -> bool:
    return sheet.column(*AVAILABILITY) is not None or any(COLUMN.fullmatch(title) for title in sheet.header)


class Blackboard(Lms):
    name, title = NAME, "Blackboard"
    sheet = "grade centre's sheet for working offline"
    is_local_time = True
    rank = 3
    page_notes = ("Blackboard has no upload for pages, so send them or attach them one by one",)

    def fits(self, path: str) -> bool:
        """Whether a path in an export is one of Blackboard's: all lie side by side."""
        return "/" not in path and bool(ATTEMPT.fullmatch(normalize_name(path)))

    def exported_files(
        self, entries: Sequence[ArchiveEntry], zone: tzinfo | None
    ) -> tuple[list[ExportedFile], list[str]]:
        matches = [
            (entry, None if entry.is_folder else ATTEMPT.fullmatch(normalize_name(entry.name))) for entry in entries
        ]
        unknown = [entry.name for entry, match in matches if not match]
        file_matches = [(entry, match) for entry, match in matches if match]
        identities = {  # by the head and time of an attempt: who it is, in Blackboard's own words
            (match["head"], match["when"]): _read_identity(entry, match["head"])
            for entry, match in file_matches
            if match["about"]
        }
        with_files = {(match["head"], match["when"]) for _, match in file_matches if match["file"]}
        known_identities = [(place, identity) for place, identity in identities.items() if identity]
        stem = _before_usernames({match["head"] for _, match in file_matches}, known_identities)
        exported_files = []
        for entry, match in file_matches:
            place = match["head"], match["when"]
            if match["about"] and place in with_files:
                continue
            if identity := identities.get(place):
                username, name = identity
            else:
                username = match["head"].removeprefix(f"{stem}_") if stem else ""
                name = ""
            # Where Blackboard's texts are missing, a second head and time in a name may as well be the true ones.
            if not username or (place not in identities and AGAIN.search(f"_{match['file']}")):
                unknown.append(entry.name)
                continue
            exported_files.append(
                ExportedFile(
                    NAME,
                    username,
                    (Person({"username": username}, name=name),),
                    name or username,
                    entry.name,
                    match["file"] or "",
                    entry.read,
                    submission_id=match["when"],
                    handed_in_at=parse_local_time(match["when"], "%Y-%m-%d-%H-%M-%S", zone),
                    unreadable_time=match["when"],
                )
            )
        return exported_files, unknown

    def people(self, sheet: Sheet) -> list[Person] | None:
        """Who is in a grade centre's sheet; None where it is not Blackboard's."""
        username, sis, first, last = (sheet.column(*titles) for titles in (USERNAME, STUDENT_ID, FIRST, LAST))
        if username is None or last is None or not _is_blackboards(sheet):
            return None
        rows = [row for row in sheet.rows if row[username]]
        return [Person({"username": row[username], "sis_id": row[sis]}, row[first], row[last]) for row in rows]

    def grade_sheet(self, sheet: Sheet, column: str = "") -> GradeSheet:
        """The columns about students and one of grades, whose title stays: another one would make a new column. column: also without what is behind it."""
        username = sheet.column(*USERNAME)
        if username is None:
            raise UserError(f"{sheet.name} is not a sheet of Blackboard's grade centre: its columns are {sheet.titles}")
        candidates = [i for i, title in enumerate(sheet.header) if COLUMN.fullmatch(title)]
        grade = choose_column(
            sheet, candidates, column, short=lambda title: [title.split(" [")[0], title.rpartition("|")[2]]
        )
        match = COLUMN.fullmatch(sheet.header[grade])
        about = (*LAST, *FIRST, *USERNAME, *STUDENT_ID, *AVAILABILITY)
        keep = [i for i, title in enumerate(sheet.header) if title.strip() in about or i == grade]
        return GradeSheet(
            sheet,
            grade,
            ids=lambda row: {"username": row[username], "sis_id": row[sheet.column(*STUDENT_ID)]},
            maximum=lambda row: match["points"] if match else "",
            keep=tuple(keep),
            over="Blackboard takes it as it is",
        )

    def page_name(self, page: FeedbackPage) -> tuple[str, str]:
        """What a page is called: Blackboard takes no zip of them, so somebody sends them."""
        is_own = page.record.student == page.student and not page.record.members
        return f"{page.record.submitter if is_own else page.student}_{page.assignment}.html", ""
