"""Canvas: submissions.zip, the gradebook's CSV, and files given back with "Upload submissions". Called through autograder.lms.

Source: lib/content_zipper.rb, lib/gradebook_exporter.rb, gradebook_importer.rb, app/models/abstract_assignment.rb of github.com/instructure/canvas-lms.
A name is `{name}[_LATE]_{user}_{attachment}_{file}`: Canvas finds its way back by the attachment, and shows a returned file under the name it had. Students can
have digits between underscores both in their names and in their files', so all readings of it are kept, and the roster decides.
"""

from __future__ import annotations

import re
from collections.abc import Sequence
from dataclasses import replace
from datetime import tzinfo
from typing import TYPE_CHECKING

from autograder.errors import UserError
from autograder.lms.archive import ArchiveEntry, normalize_name
from autograder.lms.base import FeedbackPage, IdScope, Lms
from autograder.lms.records import ExportedFile, Person
from autograder.lms.sheets import GradeSheet, Sheet, choose_column, parse_number
from ffnlab.untrusted_text import in_a_line

if TYPE_CHECKING:
    from autograder.class_folder.roster import Student

NAME = "canvas"
UPLOAD = re.compile(
    r"_(?P<user>[1-9]\d*)_(?:(?P<attachment>0|[1-9]\d*)_(?P<file>.+)|(?P<typed>(?:text|link)\.html))", re.DOTALL
)
ANONYMOUS = re.compile(
    r"(?P<late>LATE_)?anon_(?P<user>[A-Za-z0-9]+)_(?:(?P<attachment>\d+)_(?P<file>.+)|(?P<typed>(?:text|link)\.html))",
    re.DOTALL,
)
WHAT = {"text.html": "text typed online", "link.html": "a link"}

STUDENT, ID, SECTION = ("Student",), ("ID",), ("Section",)
FIRST, LAST = ("FirstName",), ("LastName",)
SIS, LOGIN = ("SIS User ID",), ("SIS Login ID",)
ASSIGNMENT = re.compile(r".+ \(\d+\)")
POINTS = "points possible"
OF_NOBODY = (POINTS, "manual posting")


def _is_canvas(path: str) -> bool:
    return bool(ANONYMOUS.fullmatch(path) or UPLOAD.search(path))


def _readings(entry: ArchiveEntry) -> list[ExportedFile]:
    """All that a file's name can mean, the one with the shortest name of a student first."""
    path = normalize_name(entry.name)
    if match := ANONYMOUS.fullmatch(path):
        return [_make_exported_file(entry, f"anon_{match['user']}", "", bool(match["late"]), match)]
    readings = []
    for place, letter in enumerate(path):
        if letter != "_":
            continue
        match = UPLOAD.match(path, place)
        if match and match.end() == len(path):
            name = path[:place]
            late = name.endswith("_LATE")
            readings.append(
                _make_exported_file(entry, match["user"], name.removesuffix("_LATE") if late else name, late, match)
            )
    return readings


def _make_exported_file(entry: ArchiveEntry, user: str, name: str, late: bool, match: re.Match[str]) -> ExportedFile:
    online_entry = match["typed"] or ""
    return ExportedFile(
        NAME,
        user,
        (Person({NAME: user}, name=name),),
        name or user,
        entry.name,
        online_entry or match["file"],
        entry.read,
        late=late,
        remark=WHAT.get(online_entry, ""),
        is_likely=min(len(user), len(match["attachment"] or "")) > 2,  # Canvas's numbers are long
        back={"attachment": match["attachment"] or ""},
    )


def _is_gradebook(sheet: Sheet) -> bool:
    has_names = sheet.column(*STUDENT) == 0 or (sheet.column(*LAST) == 0 and sheet.column(*FIRST) == 1)
    return has_names and sheet.column(*ID) in (1, 2) and sheet.column(*SECTION) is not None


def _check_ids(sheet: Sheet) -> None:
    """Canvas's ids are whole numbers, of which a spreadsheet program makes 1.2E+04. Raises UserError: one is none."""
    for row in sheet.rows:
        number = row[sheet.column(*ID)].strip()
        if number and not number.isdecimal():
            raise UserError(
                f"{sheet.name}, line {row.line}: the ID {in_a_line(number, 40)!r} is not one of Canvas's; a spreadsheet program may have changed it: "
                "download the gradebook again, and don't save it elsewhere"
            )


class Canvas(Lms):
    name, title = NAME, "Canvas"
    sheet = "gradebook, exported as CSV"
    is_local_time = False
    rank = 1
    number = IdScope.USER
    anonymous = "anon_"
    test_student = ("Test", "Student")
    has_groups_by_member = True
    flags_lateness = True
    page_notes = (
        "Canvas gives each page the name of the notebook that was submitted, .ipynb and all, but it is a web page. "
        "Tell your students to open it in a browser and not in Jupyter",
        "each upload adds its comments again, so upload this only once",
    )

    def fits(self, path: str) -> bool:
        """Whether a path in an export is one of Canvas's: all lie side by side."""
        return "/" not in path and _is_canvas(normalize_name(path))

    def exported_files(
        self, entries: Sequence[ArchiveEntry], zone: tzinfo | None
    ) -> tuple[list[ExportedFile], list[str]]:
        """What was handed in, and the entries that are not understood. Canvas exports no times, but says what is late."""
        exported_files, unknown = [], []
        for entry in entries:
            readings = [] if entry.is_folder else _readings(entry)
            if readings:
                exported_files.append(replace(readings[0], readings=tuple(readings[1:])))
            else:
                unknown.append(entry.name)
        return exported_files, unknown

    def people(self, sheet: Sheet) -> list[Person] | None:
        """Who is in a gradebook; None where it is not one of Canvas's."""
        if not _is_gradebook(sheet):
            return None
        _check_ids(sheet)
        people = []
        for row in sheet.rows:
            if not row[sheet.column(*ID)]:
                continue
            sis, login = row[sheet.column(*SIS)], row[sheet.column(*LOGIN)]
            last, _, first = row[sheet.column(*STUDENT)].partition(", ")
            first, last = row[sheet.column(*FIRST)] or first, row[sheet.column(*LAST)] or last
            people.append(Person({NAME: row[sheet.column(*ID)], "sis_id": sis, "username": login}, first, last))
        return people

    def grade_sheet(self, sheet: Sheet, column: str = "") -> GradeSheet:
        """The gradebook's columns about students with one assignment's: an unknown title would make a new assignment, and points change Canvas's.

        column: the assignment's title, with or without its number, or the number alone.
        """
        section = sheet.column(*SECTION)
        if not _is_gradebook(sheet) or section is None:
            raise UserError(f"{sheet.name} is not a gradebook of Canvas: its columns are {sheet.titles}")
        _check_ids(sheet)
        candidates = [i for i, title in enumerate(sheet.header) if i > section and ASSIGNMENT.fullmatch(title)]
        grade = choose_column(sheet, candidates, column, short=lambda title: title.rsplit(" (", 1))
        first = next((row for row in sheet.rows if row[0].strip().casefold() == POINTS), None)
        possible = first[grade] if first else ""
        return GradeSheet(
            sheet,
            grade,
            ids=lambda row: {NAME: row[sheet.column(*ID)], "sis_id": row[sheet.column(*SIS)]},
            maximum=lambda row: possible if parse_number(possible) is not None else "",
            nobody=lambda row: row[0].strip().casefold() in OF_NOBODY or not row[sheet.column(*ID)],
            locked=lambda row: row[grade].strip().upper() in ("EX", "N/A"),
            lock="is excused, or does not have this assignment",
            keep=(*range(section + 1), grade),
            over="Canvas takes it as it is",
        )

    def page_name(self, page: FeedbackPage) -> tuple[str, str]:
        """By the name that Canvas gave the file which was handed in, or the zip in which it lay."""
        record = page.record
        is_shared = record.student != page.student or (record.members and record.submitter not in page.own)
        trouble = "Canvas shows the whole group one page, that of the member who handed in" if is_shared else ""
        names = [part for part in record.entry.split("/") if _is_canvas(normalize_name(part))]
        return names[0] if names else record.entry, trouble

    def is_named(self, exported_file: ExportedFile, student: Student) -> bool:
        """Canvas writes the sortable name ("Doe, Jane") before a file's name."""
        sortable_name = re.sub(r"\W", "", re.sub(r"_(\d+)_", r"\1", normalize_name(student.sortable)))
        return sortable_name.casefold() == exported_file.name.casefold()
