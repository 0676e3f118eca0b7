"""A small learning management system that nobody uses, after Sakai. docs/lms.md shows this file."""

import re
from collections.abc import Sequence
from datetime import tzinfo

from autograder.errors import UserError
from autograder.lms.archive import ArchiveEntry, normalize_name
from autograder.lms.base import FeedbackPage, IdScope, Lms
from autograder.lms.records import ExportedFile, Person, parse_local_time
from autograder.lms.sheets import GradeSheet, Sheet, choose_column

# Ruiz, Ana(user0)/20261001100000/ffn.ipynb, and grades.csv beside the folders
FOLDER = re.compile(r"(?P<last>.+?), (?P<first>.+)\((?P<username>[^()]+)\)")
GRADES = "grades.csv"


class Sakai(Lms):
    name, title = "sakai", "Sakai"
    sheet = "grades.csv of the download"
    is_local_time = True
    number = IdScope.USER

    def fits(self, path: str) -> bool:
        return path == GRADES or bool(FOLDER.fullmatch(normalize_name(path.split("/")[0])))

    def exported_files(
        self, entries: Sequence[ArchiveEntry], zone: tzinfo | None
    ) -> tuple[list[ExportedFile], list[str]]:
        exported_files, unknown = [], []
        for entry in entries:
            folder, _, below = normalize_name(entry.name).partition("/")
            when, _, file = below.partition("/")
            match = FOLDER.fullmatch(folder)
            if match and file and re.fullmatch(r"\d{14}", when):
                name, username = f"{match['first']} {match['last']}", match["username"]
                exported_files.append(
                    ExportedFile(
                        system=self.name,
                        submitter=username,
                        people=(Person({"username": username}, name=name),),
                        name=name,
                        entry=entry.name,
                        file=file,
                        read=entry.read,
                        submission_id=when,
                        handed_in_at=parse_local_time(when, "%Y%m%d%H%M%S", zone),
                        unreadable_time=when,
                        back={"folder": folder},
                    )
                )
            elif entry.name != GRADES:
                unknown.append(entry.name)
        return exported_files, unknown

    def people(self, sheet: Sheet) -> list[Person] | None:
        key, username, last, first = map(sheet.column, ("ID", "Display ID", "Last Name", "First Name"))
        if key is None or username is None:
            return None
        return [Person({"sakai": row[key], "username": row[username]}, row[first], row[last]) for row in sheet.rows]

    def grade_sheet(self, sheet: Sheet, column: str = "") -> GradeSheet:
        key = sheet.column("ID")
        if key is None:
            raise UserError(f"{sheet.name} is not Sakai's {GRADES}: its columns are {sheet.titles}")
        places = [place for place, title in enumerate(sheet.header) if title.startswith("Grade")]
        return GradeSheet(
            sheet,
            choose_column(sheet, places, column, short=lambda title: [title]),
            ids=lambda row: {"sakai": row[key]},
            over="Sakai takes it as it is",
        )

    def page_name(self, page: FeedbackPage) -> tuple[str, str]:
        return f"{page.record.back['folder']}/{page.assignment}.html", ""
