"""Moodle's assignments: "Download all submissions", the grading worksheet, participants, and feedback files. Called through autograder.lms.

Source: mod/assign/classes/downloader.php, feedback/file/importziplib.php, feedback/offline/ of github.com/moodle/moodle. The number behind a name belongs to
this assignment alone: a participant's, or, where teams hand in, a group's, and nothing but the name tells them apart.
"""

from __future__ import annotations

import re
from collections.abc import Sequence
from dataclasses import dataclass, replace
from datetime import datetime, tzinfo
from typing import TYPE_CHECKING

from autograder.errors import UserError
from autograder.lms.archive import ArchiveEntry, normalize_name
from autograder.lms.base import FeedbackPage, IdScope, Lms
from autograder.lms.records import ExportedFile, Person, PersonName
from autograder.lms.sheets import GradeSheet, Sheet, SheetRow
from autograder.times import parse_in_words, to_utc
from ffnlab.phrases import join_words
from ffnlab.untrusted_text import in_a_line

if TYPE_CHECKING:
    from autograder.class_folder.roster import Roster, Student

NAME = "moodle"
TOKEN = r"(?P<name>.*?)(?:_(?P<number>\d+))?_assignsubmission_(?P<plugin>file|onlinetext)"
FOLDER = re.compile(TOKEN + r"_?", re.DOTALL)  # before 4.1 it ends with "_"
FLAT = re.compile(TOKEN + r"_(?P<file>.+)", re.DOTALL)

# English and German: headers stand in the language of whoever downloads the sheet.
IDENTIFIER = ("Identifier", "ID")
FULL_NAME = ("Full name", "Vollständiger Name")
FIRST = ("First name", "Vorname")
LAST = ("Last name", "Surname", "Nachname")
ID_NUMBER = ("ID number", "ID-Nummer")
USERNAME = ("Username", "Anmeldename", "Nutzername")
EMAIL = ("Email address", "Email", "E-Mail-Adresse", "E-Mail")
GROUPS = ("Group", "Groups", "Gruppe", "Gruppen")
GRADE = ("Grade", "Bewertung")
MAXIMUM = ("Maximum Grade", "Bestwertung")
CHANGEABLE = ("Grade can be changed", "Bewertung kann geändert werden")
SUBMITTED = ("Last modified (submission)", "Zuletzt geändert (Abgabe)")
GRADED = ("Last modified (grade)", "Zuletzt geändert (Bewertung)")
SCALE = ("Scale", "Skala")
STATUS = ("Status",)
HANDED_IN = ("submitted for grading", "zur bewertung abgegeben")  # what the status begins with
PARTICIPANT = re.compile(r"\D*?(\d+)")
NUMBERED = re.compile(r"(?P<word>[^\d@]*[^\W\d][^\d@]*)\d+")
ADDRESS = re.compile(r"[^\s@]+@[^\s@]+")
MIN_COLUMNS = 9  # of a worksheet with names and addresses, whatever is switched off
NOT_CHANGEABLE = {"no", "nein"}
NO_TIME = ("", "-")


def _in_any_language(sheet: Sheet) -> list[Person] | None:
    """Who is on a worksheet in another language: the number, the name behind it and the address are known by their shape, an ID number is not."""
    rows = [row for row in sheet.rows if not _is_blank(row)]
    before = {match["word"] if (match := NUMBERED.fullmatch(row[0].strip())) else "" for row in rows}
    numbers = {parse_participant(row[0]) for row in rows}
    addresses = [place for place in range(2, len(sheet.header)) if _holds(sheet, place, ADDRESS)]
    is_numbered = len(before) == 1 and "" not in before and len(numbers) == len(rows)
    if not is_numbered or len(addresses) != 1 or len(sheet.header) < MIN_COLUMNS or not all(row[1] for row in rows):
        return None
    people = []
    for row in rows:
        ids = {NAME: parse_participant(row[0]), "email": row[addresses[0]].strip()}
        people.append(Person(ids, name=row[1]))
    return people


def _holds(sheet: Sheet, place: int, pattern: re.Pattern[str]) -> bool:
    """Whether all that stands in a column is of this pattern, and something does."""
    cells = [row[place].strip() for row in sheet.rows if row[place].strip()]
    return bool(cells) and all(pattern.fullmatch(cell) for cell in cells)


@dataclass(frozen=True)
class _SheetTime:
    """When somebody on a worksheet handed in last."""

    name: str
    handed_in_at: datetime | None  # in UTC; None where `text`, which stands there, can't be read
    text: str


def _times(sheet: Sheet, zone: tzinfo | None) -> dict[str, list[_SheetTime]]:
    """When those on a worksheet handed in last, by participant's number.

    zone: of whoever downloaded it, as their profile in Moodle says; this computer's where it is None.
    """
    first, last, whole = sheet.column(*FIRST), sheet.column(*LAST), sheet.column(*FULL_NAME)
    submission_time = sheet.column(*SUBMITTED)
    times: dict[str, list[_SheetTime]] = {}
    if sheet.column(*IDENTIFIER) != 0 or submission_time is None:
        return times
    for row in sheet.rows:
        number = parse_participant(row[0])
        text = row[submission_time].strip()
        if number and text not in NO_TIME:
            local = parse_in_words(text, [zone] if zone else [])
            name = row[whole] or f"{row[first]} {row[last]}"
            times.setdefault(number, []).append(_SheetTime(name, to_utc(local, zone) if local else None, text))
    return times


def names_agree(listed: str, exported: str) -> bool:
    """Whether a name on a sheet and one in an export may be one person's."""
    return PersonName(listed).agrees_with(PersonName(exported))


def numbers_identify(agreements: Sequence[bool]) -> bool:
    """Whether the numbers of an export are those of the list, so that a name which is written in another way is the same person's.

    agreements: for each number that is on both, whether the names agree. A team's number may be a participant's by chance, but not with the name as well.
    """
    return sum(agreements) >= 2 and 2 * sum(agreements) >= len(agreements)


def parse_participant(cell: str) -> str:
    """The number in `Participant 123456` or `Teilnehmer/in1234567`; "" where there is none."""
    match = PARTICIPANT.fullmatch(cell.strip())
    return match[1] if match else ""


def _advise_upload(sheet: Sheet) -> str:
    """What to choose in Moodle for a worksheet that a spreadsheet program has saved in another way; "" where it is as Moodle wrote it."""
    separator = {";": "the separator “;”", "\t": "the separator “Tab”"}.get(sheet.delimiter, "")
    names = {
        "utf-16-le": "UTF-16LE",
        "utf-16-be": "UTF-16BE",
        "cp1252": "WINDOWS-1252",
        "cp1250": "WINDOWS-1250",
        "cp1251": "WINDOWS-1251",
    }
    encoding = f"the encoding {names[sheet.encoding]}" if sheet.encoding in names else ""
    if sheet.encoding in ("mac_roman", "latin-1"):
        return " This sheet was saved by another program, in an encoding that Moodle may not have: save it as CSV (UTF-8) before you upload it."
    choices = join_words([choice for choice in (separator, encoding) if choice])
    return f" This sheet was saved by another program: choose {choices} when you upload it." if choices else ""


def _is_blank(row: SheetRow) -> bool:
    """Whether nothing stands in a row, as below what a spreadsheet program has written."""
    return not any(cell.strip() for cell in row)


class Moodle(Lms):
    name, title = NAME, "Moodle"
    sheet = "grading worksheet"
    is_local_time = False
    rank = 0
    number = IdScope.ASSIGNMENT
    times_on = "worksheet"
    has_own_headers = False

    def fits(self, path: str) -> bool:
        return bool(FOLDER.fullmatch(path.split("/")[0]) or FLAT.fullmatch(path.split("/")[0]))

    def exported_files(
        self, entries: Sequence[ArchiveEntry], zone: tzinfo | None
    ) -> tuple[list[ExportedFile], list[str]]:
        """What was handed in, and the entries that are not understood. Times stand on the worksheet alone; see with_times."""
        exported_files, unknown = [], []
        for entry in entries:
            top, _, below = normalize_name(entry.name).partition("/")
            if below or entry.is_folder:
                match = FOLDER.fullmatch(top)
                file = "" if entry.is_folder else below
            else:
                match = FLAT.fullmatch(top)
                file = match["file"] if match else ""
            if not match:
                unknown.append(entry.name)
                continue
            number = match["number"] or ""
            name = match["name"]
            is_online_text = match["plugin"] == "onlinetext"
            exported_files.append(
                ExportedFile(
                    NAME,
                    number or f"group {name}",
                    (Person({NAME: number}, name=name),) if number else (),
                    name,
                    entry.name,
                    file,
                    entry.read,
                    group="" if number else name,
                    remark="text typed online" if is_online_text else "",
                )
            )
        return exported_files, unknown

    def people(self, sheet: Sheet) -> list[Person] | None:
        """Who is on a grading worksheet, or on a list of participants; None where it is neither."""
        worksheet = sheet.column(*IDENTIFIER) == 0 and sheet.column(*GRADED) is not None
        first, last, email = sheet.column(*FIRST), sheet.column(*LAST), sheet.column(*EMAIL)
        if not worksheet and (first is None or last is None or email is None):
            return _in_any_language(sheet)
        people = []
        for row in sheet.rows:
            if _is_blank(row):
                continue
            ids = {
                "sis_id": row[sheet.column(*ID_NUMBER)],
                "username": row[sheet.column(*USERNAME)],
                "email": row[email],
            }
            if worksheet:
                ids[NAME] = parse_participant(row[0])
            groups = tuple(part.strip() for part in re.split(r"[,;]", row[sheet.column(*GROUPS)]) if part.strip())
            whole = "" if row[first] or row[last] else row[sheet.column(*FULL_NAME)]
            people.append(Person(ids, row[first], row[last], whole, groups))
        return people

    def submitters(self, sheet: Sheet) -> list[Person]:
        status = sheet.column(*STATUS)
        rows = [row for row in sheet.rows if not _is_blank(row)]
        if status is None or sheet.column(*IDENTIFIER) != 0:
            return []
        people = self.people(sheet) or []
        return [
            person
            for row, person in zip(rows, people, strict=False)
            if row[status].strip().casefold().startswith(HANDED_IN)
        ]

    def grade_sheet(self, sheet: Sheet, column: str = "") -> GradeSheet:
        """The worksheet, which is given back as it is, with other grades. column: the title of the grades, where it is in another language."""
        if sheet.column(*SCALE) is not None:
            raise UserError(f"{sheet.name}: this assignment is graded on a scale, which takes no points")
        grade = sheet.column(column) if column else sheet.column(*GRADE)
        numbers = [parse_participant(row[0]) for row in sheet.rows if not _is_blank(row)]
        if grade is None or not numbers or not all(numbers):
            raise UserError(
                f"{sheet.name} is not a grading worksheet in English or German: its columns are {sheet.titles}. "
                "Say which one takes the grades with --column, or set Moodle to English and download it again"
            )
        if not column and sheet.column(*GRADED) is None:
            raise UserError(
                f"{sheet.name} has no column {GRADED[0]!r}, and without it Moodle does not take the sheet back"
            )
        maximum, changeable, grade_time = sheet.column(*MAXIMUM), sheet.column(*CHANGEABLE), sheet.column(*GRADED)
        student_rows = [row for row in sheet.rows if not _is_blank(row)]
        people_of = {row.place: person for row, person in zip(student_rows, self.people(sheet) or (), strict=False)}
        return GradeSheet(
            sheet,
            grade,
            ids=lambda row: people_of[row.place].ids if row.place in people_of else {NAME: parse_participant(row[0])},
            maximum=lambda row: row[maximum],
            nobody=_is_blank,
            locked=lambda row: row[changeable].strip().casefold() in NOT_CHANGEABLE,
            grade_time=lambda row: "" if row[grade_time].strip() in ("", "-") else row[grade_time].strip(),
            over="Moodle ignores it",
            advice="Moodle skips students who were graded there after this sheet was downloaded and, if its dates are not in English, "
            f"all who were graded before. So tick “Update records that have been modified more recently”.{_advise_upload(sheet)}",
        )

    def page_name(self, page: FeedbackPage) -> tuple[str, str]:
        """For "Upload multiple feedback files in a zip": Moodle reads the number and passes over the name."""
        record = page.record
        is_own = record.submitter in page.own and record.student == page.student
        number = page.numbers.get(page.student, "")
        if is_own and not page.numbers:
            number = record.submitter
        trouble = ""
        if not number and page.numbers:
            trouble = "not on the worksheet, by number or by id"
        elif not number:
            trouble = "the page needs a number from this assignment's worksheet: give it with --sheet"
        name = (record.name if is_own and not record.members else page.name) or page.student
        return f"{name.replace('_', ' ')}_{number}_assignsubmission_file/{page.assignment}.html", trouble

    def with_times(
        self, exported_files: Sequence[ExportedFile], sheets: Sequence[Sheet], zone: tzinfo | None
    ) -> tuple[ExportedFile, ...]:
        """A team's number may be a participant's too, so the name has to be there, behind a group's or alone."""
        times: dict[str, list[_SheetTime]] = {}
        for sheet in sheets:
            for number, its in _times(sheet, zone).items():
                times.setdefault(number, []).extend(its)

        agreements = [
            any(names_agree(time.name, file.name) for time in times[file.submitter])
            for file in exported_files
            if file.submitter in times
        ]

        def with_time(file: ExportedFile) -> ExportedFile:
            its = times.get(file.submitter, [])
            fitting = [time for time in its if names_agree(time.name, file.name)]
            if not fitting and len(its) == 1 and numbers_identify(agreements):
                fitting = its
            if not fitting:
                return file
            last = fitting[-1]
            return replace(file, handed_in_at=last.handed_in_at, unreadable_time="" if last.handed_in_at else last.text)

        return tuple(map(with_time, exported_files))

    def unread_time(self, sheet: Sheet) -> str:
        """Of a worksheet in another language it is not known which column has the times."""
        if sheet.column(*IDENTIFIER) == 0 and sheet.column(*SUBMITTED) is not None:
            unread = (time.text for its in _times(sheet, None).values() for time in its if not time.handed_in_at)
            return next(unread, "")
        return sheet.titles if _in_any_language(sheet) else ""

    def ids_agree(self, exported_files: Sequence[ExportedFile], roster: Roster) -> bool:
        found = ((roster.find(file.people[0].ids), file) for file in exported_files if file.people)
        return numbers_identify([names_agree(student.name, file.name) for student, file in found if student])

    def students(self, exported_file: ExportedFile, roster: Roster, is_sure: bool) -> tuple[list[Student], str]:
        """A participant, by this assignment's number and, as a group's number looks the same, the name; or a team, by the name of a group that a list has."""
        members = roster.members(exported_file.name)
        student = roster.find(exported_file.people[0].ids) if exported_file.people else None
        name_text = in_a_line(repr(exported_file.name), 100)
        if student and (names_agree(student.name, exported_file.name) or (is_sure and not members)):
            return [student], ""
        if members and not student:
            alike = roster.spellings(exported_file.name)
            if len(alike) > 1:
                names = " and ".join(f"“{in_a_line(team, 60)}”" for team in alike)
                why = (
                    f"a team, {name_text}, and a list has teams that read alike, {names}: write the ids of its members"
                )
                return [], why
            unsure = [member for member in members if not roster.is_surely_in(member, exported_file.name)]
            if not unsure:
                return members, ""
            groups = unsure[0].cells.get("groups", "")
            why = f"a team, {name_text}, of which a list has a member by a part of “{groups}” only: write the ids of its members"
            return [], why
        if student:
            why = (
                f"number {exported_file.submitter} is {student.name}'s, but Moodle calls this {name_text}: "
                "if it is a team's, write the ids of its members"
            )
            return [], why
        if not exported_file.people:
            return [], f"a team without a number, {name_text}: write the ids of its members"
        why = f"number {exported_file.submitter} is on no worksheet: give this assignment's worksheet with --roster, or write whose it is"
        return [], why
