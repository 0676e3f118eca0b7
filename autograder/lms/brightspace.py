"""Brightspace (D2L): the download of an assignment's submissions, the grades' CSV, and feedback in folders of the same names.

`152711-351765 - John Doe - May 18, 2025 1224 PM`: numbers of D2L's own, a name in which anything may stand, and a local time without a colon; so it is
read from both ends. A folder a submission: one student may have several. Called through autograder.lms.
"""

from __future__ import annotations

import re
from collections.abc import Sequence
from datetime import datetime, tzinfo

from autograder.errors import UserError
from autograder.lms.archive import ArchiveEntry, normalize_name
from autograder.lms.base import FeedbackPage, IdScope, Lms
from autograder.lms.records import ExportedFile, Person
from autograder.lms.sheets import GradeSheet, Sheet, choose_column
from autograder.times import parse_month, to_utc

NAME = "brightspace"
WHEN = (
    r"(?:(?P<month>[^\W\d_]{3,15})\.? (?P<day>\d{1,2}),|(?P<day_first>\d{1,2})\.? (?P<month_second>[^\W\d_]{3,15})\.?)"
    r" (?P<year>\d{4}) (?P<time>\d{1,4})(?: ?(?P<half>[AaPp])\.?[Mm]\.?)?"
)
FOLDER = re.compile(rf"(?P<person>\d+)-(?P<number>\d+) ?- (?P<name>.+?) ?- (?P<when>{WHEN})", re.DOTALL)
FLAT = re.compile(rf"(?P<folder>{FOLDER.pattern}) ?- (?P<file>.+)", re.DOTALL)
TIMES = re.compile(rf" ?- {WHEN}(?= ?- )")
ORG_ID, USERNAME, END = ("OrgDefinedId",), ("Username",), ("End-of-Line Indicator",)
FIRST, LAST, EMAIL = ("First Name",), ("Last Name",), ("Email",)
POINTS = re.compile(r"(?P<item>.+ Points Grade)(?: <(?P<about>.*)>)?")
MAX_POINTS = re.compile(r"MaxPoints:(\d+(?:[.,]\d+)?)")
INDEX = "index.html"  # D2L's own list of what it has exported


def _moment(match: re.Match[str]) -> datetime | None:
    """The local time in a name. Of one or two digits it is the hour: D2L drops the colon."""
    month = parse_month(match["month"] or match["month_second"])
    digits = match["time"]
    hour = int(digits if len(digits) < 3 else digits[:-2])
    minute = int(digits[-2:]) if len(digits) >= 3 else 0
    if match["half"]:
        if not 1 <= hour <= 12:
            return None
        hour = hour % 12 + (12 if match["half"] in "Pp" else 0)
    try:
        return datetime(int(match["year"]), month, int(match["day"] or match["day_first"]), hour, minute)
    except ValueError:
        return None


def strip_sign(cell: str) -> str:
    """An id without the sign that D2L puts before it."""
    return cell.strip().removeprefix("#")


class Brightspace(Lms):
    name, title = NAME, "Brightspace"
    sheet = "grades, exported as CSV"
    is_local_time = True
    rank = 2
    number = IdScope.ACCOUNT
    has_ids_on_lists = False

    def fits(self, path: str) -> bool:
        top = normalize_name(path.split("/")[0])
        return top == INDEX or bool(FOLDER.fullmatch(top) or FLAT.fullmatch(top))

    def exported_files(
        self, entries: Sequence[ArchiveEntry], zone: tzinfo | None
    ) -> tuple[list[ExportedFile], list[str]]:
        exported_files, unknown = [], []
        for entry in entries:
            top, _, below = normalize_name(entry.name).partition("/")
            if top == INDEX:
                continue
            times: list[str] = []
            if below or entry.is_folder:
                match = FOLDER.fullmatch(top)
                file = "" if entry.is_folder else below
                folder = top
            else:
                match = FLAT.fullmatch(top)
                file, folder = (match["file"], match["folder"]) if match else ("", "")
                times = [time_match[0].lstrip(" -") for time_match in TIMES.finditer(top)]
            if not match:
                unknown.append(entry.name)
                continue
            # In a student's name, or in a file's, a second time may stand.
            doubtful_time = f"{' and '.join(times)} may be its time" if len(times) > 1 else ""
            handed_in_at = None if doubtful_time else _moment(match)
            exported_files.append(
                ExportedFile(
                    NAME,
                    match["person"],
                    (Person({NAME: match["person"]}, name=match["name"]),),
                    match["name"],
                    entry.name,
                    file,
                    entry.read,
                    submission_id=folder,
                    handed_in_at=to_utc(handed_in_at, zone) if handed_in_at else None,
                    unreadable_time="" if doubtful_time else match["when"],
                    doubtful_time=doubtful_time,
                    back={"folder": folder},
                )
            )
        return exported_files, unknown

    def people(self, sheet: Sheet) -> list[Person] | None:
        """Who is in exported grades; None where they are not Brightspace's. The numbers of the download are not in them."""
        org, username, email = sheet.column(*ORG_ID), sheet.column(*USERNAME), sheet.column(*EMAIL)
        first, last = sheet.column(*FIRST), sheet.column(*LAST)
        if org is None and (username is None or sheet.column(*END) is None):
            return None
        people = []
        for row in sheet.rows:
            ids = {"sis_id": strip_sign(row[org]), "username": strip_sign(row[username]), "email": row[email]}
            people.append(Person(ids, row[first], row[last]))
        return [person for person in people if person.ids]

    def grade_sheet(self, sheet: Sheet, column: str = "") -> GradeSheet:
        """The keys, one item's points, and the indicator at the end of each row. D2L offers to create an item whose name it does not know.

        column: the item's name, with or without "Points Grade" and what the export adds.
        """
        org, username, end = sheet.column(*ORG_ID), sheet.column(*USERNAME), sheet.column(*END)
        if org is None and username is None:
            raise UserError(f"{sheet.name} holds no grades of Brightspace: its columns are {sheet.titles}")
        candidates = [i for i, title in enumerate(sheet.header) if POINTS.fullmatch(title)]
        grade = choose_column(
            sheet,
            candidates,
            column,
            short=lambda title: [part for part in re.split(r" Points Grade| <", title) if part],
        )
        title = POINTS.fullmatch(sheet.header[grade])
        maximum = MAX_POINTS.search(title["about"] or "") if title else None
        return GradeSheet(
            sheet,
            grade,
            ids=lambda row: {"sis_id": strip_sign(row[org]), "username": strip_sign(row[username])},
            maximum=lambda row: maximum[1] if maximum else "",
            keep=tuple(i for i in (org, username, grade, end) if i is not None),
            title=title["item"] if title else "",
            over="Brightspace cuts it down to the maximum",
            advice="What an assignment's item gets is published at once.",
        )

    def page_name(self, page: FeedbackPage) -> tuple[str, str]:
        """In a folder of the same name as the submission's."""
        owner = page.record.student
        trouble = f"in a group with {owner}, who gets the page" if owner != page.student else ""
        return f"{page.record.back['folder']}/{page.assignment}.html", trouble
