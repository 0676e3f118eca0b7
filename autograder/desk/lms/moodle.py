"""Moodle's assignments: "Download all submissions", the grading worksheet, participants, and feedback files. Called through autograder.desk.lms.

Source: mod/assign/classes/downloader.php, feedback/file/importziplib.php, feedback/offline/ of github.com/moodle/moodle. The number behind a name belongs to
this assignment alone: a participant's, or, where teams hand in, a group's, and nothing but the name tells them apart.
"""

from __future__ import annotations

import re
from collections.abc import Mapping, Sequence
from dataclasses import replace
from datetime import datetime, tzinfo

from autograder.desk.lms.archive import Entry, same
from autograder.desk.lms.handin import HandIn, Person, letters, utc
from autograder.desk.lms.sheets import GradeSheet, Sheet
from autograder.house import UserError

NAME, TITLE = "moodle", "Moodle"
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
PARTICIPANT = re.compile(r"\D*?(\d+)")
NOT_CHANGEABLE = {"no", "nein"}
WHEN = re.compile(
    r"[^\W\d]+, (?P<day>\d{1,2})\.? (?P<month>[^\W\d]+) (?P<year>\d{4}), (?P<hour>\d{1,2}):(?P<minute>\d\d)(?:\s(?P<half>AM|PM))?"
)
MONTHS = (
    "january januar", "february februar", "march märz", "april", "may mai", "june juni", "july juli", "august",
    "september", "october oktober", "november", "december dezember",
)  # fmt: skip


def fits(path: str) -> bool:
    """Whether a path in an export is one of Moodle's."""
    return bool(FOLDER.fullmatch(path.split("/")[0]) or FLAT.fullmatch(path.split("/")[0]))


def hand_ins(entries: Sequence[Entry], zone: tzinfo | None) -> tuple[list[HandIn], list[str]]:
    """What was handed in, and the entries that are not understood. Times stand on the worksheet alone; see with_times."""
    found, unknown = [], []
    for entry in entries:
        top, _, below = same(entry.name).partition("/")
        if below or entry.is_folder:
            match = FOLDER.fullmatch(top)
            file = "" if entry.is_folder else below
        else:
            match = FLAT.fullmatch(top)
            file = match["file"] if match else ""
        if not match:
            unknown.append(entry.name)
            continue
        number, name = match["number"] or "", match["name"]
        typed = match["plugin"] == "onlinetext"
        found.append(
            HandIn(
                NAME,
                number or f"group {name}",
                (Person({NAME: number}, name=name),) if number else (),
                name,
                entry.name,
                file,
                entry.read,
                group="" if number else name,
                remark="text typed online" if typed else "",
            )
        )
    return found, unknown


def people(sheet: Sheet) -> list[Person] | None:
    """Who is on a grading worksheet, or on a list of participants; None where it is neither."""
    worksheet = sheet.column(*IDENTIFIER) == 0 and sheet.column(*GRADED) is not None
    first, last, email = sheet.column(*FIRST), sheet.column(*LAST), sheet.column(*EMAIL)
    if not worksheet and (first is None or last is None or email is None):
        return None
    found = []
    for row in sheet.rows:
        ids = {
            "sis_id": row[sheet.column(*ID_NUMBER)],
            "username": row[sheet.column(*USERNAME)],
            "email": row[email],
        }
        if worksheet:
            ids[NAME] = participant(row[0])
        groups = tuple(part.strip() for part in re.split(r"[,;]", row[sheet.column(*GROUPS)]) if part.strip())
        found.append(
            Person(
                {name: text for name, text in ids.items() if text},
                row[first],
                row[last],
                "" if row[first] or row[last] else row[sheet.column(*FULL_NAME)],
                groups,
            )
        )
    return found


def times(sheet: Sheet, zone: tzinfo | None) -> dict[tuple[str, str], datetime]:
    """When each on a worksheet handed in last, in UTC, by participant's number and name; of those whose time can be read.

    zone: of whoever downloaded it, as their profile in Moodle says; this computer's where it is None.
    """
    first, last, whole, submitted = (sheet.column(*titles) for titles in (FIRST, LAST, FULL_NAME, SUBMITTED))
    if sheet.column(*IDENTIFIER) != 0 or submitted is None:
        return {}
    read = (
        (participant(row[0]), row[whole] or f"{row[first]} {row[last]}", _when(row[submitted])) for row in sheet.rows
    )
    known = ((number, letters(name), utc(when, zone)) for number, name, when in read if when)
    return {(number, name): when for number, name, when in known if number and when}


def with_times(found: Sequence[HandIn], known: Mapping[tuple[str, str], datetime]) -> tuple[HandIn, ...]:
    """These hand-ins with the worksheet's times. A team's number may be a participant's too, so the name has to be the same."""
    return tuple(replace(one, at=known.get((one.who, letters(one.name)), one.at)) for one in found)


def _when(cell: str) -> datetime | None:
    """The time in `Wednesday, 13 March 2024, 10:15 AM` or `Mittwoch, 13. März 2024, 10:15`; None where there is none."""
    found = WHEN.fullmatch(cell.strip())
    month = next((n for n, names in enumerate(MONTHS, 1) if found and found["month"].casefold() in names.split()), 0)
    if not found or not month:
        return None
    hour = int(found["hour"]) % 12 + 12 * (found["half"] == "PM") if found["half"] else int(found["hour"])
    try:
        return datetime(int(found["year"]), month, int(found["day"]), hour, int(found["minute"]))
    except ValueError:
        return None


def participant(cell: str) -> str:
    """The number in `Participant 123456` or `Teilnehmer/in1234567`; "" where there is none."""
    match = PARTICIPANT.fullmatch(cell.strip())
    return match[1] if match else ""


def grade_sheet(sheet: Sheet, column: str = "") -> GradeSheet:
    """The worksheet, which is given back as it is, with other grades.

    column: the title of the column that takes the grades, where it is in another language.

    Raises:
        UserError: it is not a worksheet, or one that is graded on a scale.
    """
    if sheet.column(*SCALE) is not None:
        raise UserError(f"{sheet.name}: this assignment is graded on a scale, which takes no points")
    grade = sheet.column(column) if column else sheet.column(*GRADE)
    numbered = [participant(row[0]) for row in sheet.rows]
    if grade is None or not sheet.rows or not all(numbered):
        raise UserError(
            f"{sheet.name} is not a grading worksheet in English or German: its columns are {sheet.titles}. "
            "Say which one takes the grades with --column"
        )
    if not column and sheet.column(*GRADED) is None:
        raise UserError(f"{sheet.name} lacks the column {GRADED[0]!r}, without which Moodle does not take it back")
    maximum, changeable, graded = sheet.column(*MAXIMUM), sheet.column(*CHANGEABLE), sheet.column(*GRADED)
    return GradeSheet(
        sheet,
        grade,
        ids=lambda row: {NAME: participant(row[0])},
        maximum=lambda row: row[maximum],
        locked=lambda row: row[changeable].strip().casefold() in NOT_CHANGEABLE,
        graded=lambda row: "" if row[graded].strip() in ("", "-") else row[graded].strip(),
        over="Moodle passes it over",
        advice=(
            "Moodle passes over whoever was graded there after this sheet was downloaded; where its dates are not in English, "
            "over all who were graded before: tick “Update records that have been modified more recently”."
        ),
    )


def page_name(number: str, name: str, assignment: str) -> str:
    """Where a page lies in the zip for "Upload multiple feedback files in a zip": Moodle reads the number and passes over the name."""
    return f"{name.replace('_', ' ')}_{number}_assignsubmission_file/{assignment}.html"
