"""Exports of learning management systems, in their real formats, for a class whose names hold what names hold; and how each reads what comes back."""

from __future__ import annotations

import csv
import hashlib
import io
import json
import re
import stat
import zipfile
from collections.abc import Callable, Collection, Mapping, Sequence
from dataclasses import dataclass
from datetime import UTC, datetime
from functools import cache
from pathlib import Path
from typing import Any

from fabricated import save_grading
from test_program import place

from autograder import untrusted_files
from autograder.class_folder.folder import ClassFolder
from autograder.engine import program
from autograder.engine.graded_submission import GradedSubmission
from autograder.files import Batch
from autograder.gradebook import gradebook
from autograder.grading import feedback
from autograder.jail.limits import Limits
from autograder.paths import release
from ffnlab.checking.verdict import AspectVerdict, Outcome, Verdict, not_earned
from ffnlab.registry import active_course

FFN, NEXT = "02_feed_forward", "03_activations"
LISTED = active_course().exercises_of(FFN)
FULL = sum(e.points for e in LISTED)


@cache
def _release(assignment: str) -> str:
    return release(assignment).read_text(encoding="utf-8")


def notebook(answer: str = "", assignment: str = FFN) -> bytes:
    """A notebook as somebody hands it in, with an answer of their own."""
    content: dict[str, Any] = json.loads(_release(assignment))
    if answer:
        exercise = "ffn_forward" if assignment == FFN else active_course().exercises_of(assignment)[0].name
        content["cells"][place(content, exercise)]["source"] = f"answer = {answer!r}"
    return json.dumps(content).encode()


@dataclass(frozen=True)
class Somebody:
    """A student, with what each system knows of them; number i of the class."""

    i: int
    first: str
    last: str

    sis = property(lambda self: f"S{self.i:05d}")
    username = property(lambda self: f"user{self.i}")
    email = property(lambda self: f"user{self.i}@uni.example")
    canvas = property(lambda self: str(12_000 + self.i))
    attachment = property(lambda self: str(678_900 + self.i))
    participant = property(lambda self: str(123_450 + self.i))
    d2l = property(lambda self: str(152_711 + self.i))
    submission = property(lambda self: str(9_000 + self.i))
    name = property(lambda self: f"{self.first} {self.last}")

    @property
    def answer(self) -> str:
        """What only this one typed."""
        return f"the answer of number {self.i}"

    @property
    def data(self) -> bytes:
        return notebook(self.answer)


CLASS = tuple(
    Somebody(i, first, last)
    for i, (first, last) in enumerate(
        (
            ("Ana María", "Ruiz de la Torre"),
            ("Séan", "O'Connor - Smith"),
            ("Zoë_B", "van der Berg"),
            ("Ümit", "Ağaoğlu"),
            ("雷", "李"),
        )
    )
)


def zipped(path: Path, files: Mapping[str, bytes], folders: Sequence[str] = (), links: Sequence[str] = ()) -> Path:
    """A zip of these files, empty folders and links."""
    with zipfile.ZipFile(path, "w", zipfile.ZIP_STORED) as archive:
        for name in folders:
            archive.writestr(zipfile.ZipInfo(f"{name}/"), b"")
        for name, data in files.items():
            archive.writestr(zipfile.ZipInfo(name), data)
        for name in links:
            info = zipfile.ZipInfo(name)
            info.external_attr = (stat.S_IFLNK | 0o777) << 16
            archive.writestr(info, b"/etc/passwd")
    return path


def sheet(path: Path, rows: Sequence[Sequence[str]], **how: Any) -> Path:
    """A sheet of these rows, quoted as PHP does unless it is said otherwise."""
    text = io.StringIO()
    csv.writer(text, **({"lineterminator": "\n"} | how)).writerows(rows)
    path.write_text(text.getvalue(), encoding="utf-8", newline="")
    return path


# How each system names a file, with the students' own names in it as it puts them there.


def moodle_name(student: Somebody, file: str = f"{FFN}.ipynb", folders: bool = True) -> str:
    name = student.name.replace("_", " ")
    return f"{name}_{student.participant}_assignsubmission_file{'/' if folders else '_'}{file}"


def canvas_name(student: Somebody, file: str = f"{FFN}.ipynb", late: bool = False) -> str:
    name = re.sub(r"[^\w]", "", f"{student.last}, {student.first}".lower())
    return f"{name}{'_LATE' if late else ''}_{student.canvas}_{student.attachment}_{file}"


def d2l_folder(student: Somebody, when: str = "May 18, 2025 1224 PM") -> str:
    return f"{student.d2l}-351765 - {student.name} - {when}"


def blackboard_name(student: Somebody, file: str = f"{FFN}.ipynb", when: str = "2026-09-12-15-45-08") -> str:
    return f"Project_0 b_{student.username}_attempt_{when}_{file}"


def exchange_folder(student: Somebody, assignment: str = FFN, when: str = "2026-10-01 10:00:00.123456 UTC") -> str:
    return f"{student.username}+{assignment}+{when}+dGVzdA{student.i}=="


def gradescope_metadata(
    submissions: Mapping[str, Sequence[Somebody]], when: str = "2026-09-09 23:13:05.137226000 Z"
) -> bytes:
    lines = ["---"]
    for number, people in submissions.items():
        lines += [f"submission_{number}:", "  :submitters:"]
        for student in people:
            lines += [
                f"  - :name: {json.dumps(student.name)}",
                f"    :sid: {student.sis}",
                f"    :email: {student.email}",
            ]
        lines += [f"  :created_at: {when}", "  :score: 0.0", "  :status: processed", "  :results:", "    tests: []"]
    return "\n".join(lines).encode()


@dataclass(frozen=True)
class System:
    """A round trip with a system."""

    name: str
    files: Callable[[Sequence[Somebody]], dict[str, bytes]]  # of an export
    roster: Callable[[Path, Sequence[Somebody]], Path]  # the LMS's list
    # What comes back, by key, read as the LMS reads it.
    grades: Callable[[bytes], dict[str, str]]
    pages: Callable[[zipfile.ZipFile], dict[str, str]]
    key: Callable[[Somebody], str]
    page_key: Callable[[Somebody], str]
    column: str = ""
    folder: Callable[[Somebody], str] = lambda student: str(student.sis)  # a student's, by what its list says


def _moodle_files(people: Sequence[Somebody]) -> dict[str, bytes]:
    return {moodle_name(student): student.data for student in people}


def worksheet(
    path: Path,
    people: Sequence[Somebody],
    german: bool = False,
    blind: bool = False,
    handed_in: Collection[int] = (),
    **cells: Mapping[int, str],
) -> Path:
    """Moodle's grading worksheet, quoted as PHP does. cells: by column (grade, changeable, graded), what stands there for number i.

    handed_in: of whom the status says that they have; of the others it says nothing.
    """
    statuses = {student.i: "Zur Bewertung abgegeben" if german else "Submitted for grading -  - " for student in people}
    titles = [
        "Identifier",
        "Full name",
        "ID number",
        "Email address",
        "Status",
        "Grade",
        "Maximum Grade",
        "Grade can be changed",
    ]
    titles += ["Last modified (submission)", "Last modified (grade)", "Feedback comments"]
    if german:
        titles = ["ID", "Vollständiger Name", "ID-Nummer", "E-Mail-Adresse", "Status", "Bewertung", "Bestwertung"]
        titles += [
            "Bewertung kann geändert werden",
            "Zuletzt geändert (Abgabe)",
            "Zuletzt geändert (Bewertung)",
            "Feedback als Kommentar",
        ]
    grade, changeable, graded = (cells.get(name, {}) for name in ("grade", "changeable", "graded"))
    rows = [titles]
    for student in people:
        rows.append(
            [
                f"Teilnehmer/in{student.participant}" if german else f"Participant {student.participant}",
                student.name,
                student.sis,
                student.email,
                statuses[student.i] if student.i in handed_in else "-",
                grade.get(student.i, ""),
                f"{FULL:.2f}".replace(".", ",") if german else f"{FULL:.2f}",
                changeable.get(student.i, "Ja" if german else "Yes"),
                "Mittwoch, 13. März 2024, 10:15" if german else "Wednesday, 13 March 2024, 10:15 AM",
                graded.get(student.i, "-"),
                "",
            ]
        )
    columns = [0, 4, 5, 6, 7, 8, 9, 10] if blind else range(11)
    lines = (",".join(_as_php(row[place]) for place in columns) for row in rows)
    path.write_text("\n".join(lines) + "\n", encoding="utf-8-sig")
    return path


def _as_php(cell: str) -> str:
    return '"' + cell.replace('"', '""') + '"' if re.search(r'[\s",]', cell) else cell


def _moodle_grades(data: bytes) -> dict[str, str]:
    return {
        row["Identifier"].removeprefix("Participant "): row["Grade"]
        for row in csv.DictReader(io.StringIO(data.decode("utf-8-sig")))
    }


def moodle_pages(archive: zipfile.ZipFile) -> dict[str, str]:
    """As importziplib.php does."""
    pages = {}
    for name in archive.namelist():
        for part in name.split("/"):
            info = part.split("_", 4)
            if len(info) >= 4 and info[1].isdigit() and info[2:4] == ["assignsubmission", "file"]:
                assert info[1] not in pages
                pages[info[1]] = archive.read(name).decode()
    return pages


def canvas_gradebook(
    path: Path, people: Sequence[Somebody], points: str = f"{FULL:.2f}", grade: Mapping[int, str] | None = None
) -> Path:
    """Canvas's gradebook, with two assignments and the totals behind them."""
    about = ["Student", "ID", "SIS User ID", "SIS Login ID", "Section"]
    rows = [[*about, "Warm-up (101)", f"{FFN} (202)", "Assignments Current Points", "Final Score"]]
    rows.append(["", "", "", "", "", "Manual Posting", "", "(read only)", "(read only)"])
    rows.append(["    Points Possible", "", "", "", "", "5.00", points, "(read only)", "(read only)"])
    rows += [
        [
            f"{student.last}, {student.first}",
            student.canvas,
            student.sis,
            student.username,
            "A",
            "5.00",
            (grade or {}).get(student.i, ""),
            "5.00",
            "99",
        ]
        for student in people
    ]
    rows.append(["Student, Test", "99999", "", "b1946ac92492", "A", "", "", "0", "0"])
    return sheet(path, rows)


def _canvas_grades(data: bytes) -> dict[str, str]:
    header, *rows = csv.reader(io.StringIO(data.decode("utf-8-sig")))
    assert header[:2] == ["Student", "ID"] and header[-2:] == ["Section", f"{FFN} (202)"], (
        "anything else would be created"
    )
    assert rows[1][0] == "    Points Possible" and rows[1][-1] == f"{FULL:.2f}", (
        "another number would change the points"
    )
    return {row[1]: row[-1] for row in rows[2:]}


def canvas_pages(archive: zipfile.ZipFile) -> dict[str, str]:
    """As infer_comment_context_from_filename does: by the second of the first two numbers."""
    pages = {}
    for name in archive.namelist():
        assert "/" not in name
        parts = name.split("_")
        if "anon" in parts[:2]:
            user, attachment = parts[parts.index("anon") + 1 :][:2]
        else:
            user, attachment = [part for part in parts if re.fullmatch(r"[0-9]+", part)][:2]
        pages[f"{user}/{attachment}"] = archive.read(name).decode()
    return pages


ITEM = f"{FFN} Points Grade"


def d2l_grades(path: Path, people: Sequence[Somebody]) -> Path:
    """Brightspace's grades, as it exports them, with tabs."""
    rows = [["OrgDefinedId", "Username", "Last Name", "First Name", "Email"]]
    rows[0] += [
        f"{ITEM} <Numeric MaxPoints:{FULL:g} Weight:10 Category:Labs CategoryWeight:15>",
        "Calculated Final Grade Numerator",
    ]
    rows[0] += ["End-of-Line Indicator"]
    rows += [
        [f"#{student.sis}", f"#{student.username}", student.last, student.first, student.email, "", "1", "#"]
        for student in people
    ]
    return sheet(path, rows, delimiter="\t", lineterminator="\r\n")


def _d2l_grades(data: bytes) -> dict[str, str]:
    header, *rows = csv.reader(io.StringIO(data.decode()), delimiter="\t")
    assert header == ["OrgDefinedId", "Username", ITEM, "End-of-Line Indicator"]
    assert all(row[-1] == "#" for row in rows) and data.count(b"\r\n") == len(rows) + 1
    return {row[0]: row[2] for row in rows}


COLUMN = f"Project 0 [Total Pts: {FULL:g} Score] |664617"


def blackboard_sheet(path: Path, people: Sequence[Somebody]) -> Path:
    """Blackboard's sheet: every cell quoted, tabs, and UTF-16."""
    titles = [
        "Last Name",
        "First Name",
        "Username",
        "Student ID",
        "Last Access",
        "Availability",
        COLUMN,
        "Weighted Total [Total Pts: up to 0 Score] |1",
    ]
    rows = [
        titles,
        *(
            [student.last, student.first, student.username, student.sis, "2026-11-01", "Yes", "", "0"]
            for student in people
        ),
    ]
    lines = ("\t".join(f'"{cell}"' for cell in row) for row in rows)
    path.write_bytes(b"\xff\xfe" + "\r\n".join(lines).encode("utf-16-le"))
    return path


def _blackboard_grades(data: bytes) -> dict[str, str]:
    header, *rows = csv.reader(io.StringIO(data.decode("utf-16")), delimiter="\t")
    assert header[-1] == COLUMN
    return {row[2]: row[-1] for row in rows}


def gradescope_roster(path: Path, people: Sequence[Somebody]) -> Path:
    rows = [["First Name", "Last Name", "SID", "Email", "Role", "Sections"]]
    rows += [[student.first, student.last, student.sis, student.email, "Student", "A"] for student in people]
    rows += [["Ida", "Instructor", "", "ida@uni.example", "Instructor", "A"]]
    return sheet(path, rows)


def _by_top(archive: zipfile.ZipFile) -> dict[str, str]:
    return {name.split("/")[0]: archive.read(name).decode() for name in archive.namelist()}


SYSTEMS = (
    System(
        "moodle",
        _moodle_files,
        worksheet,
        _moodle_grades,
        moodle_pages,
        lambda student: student.participant,
        lambda student: student.participant,
    ),
    System(
        "canvas",
        lambda people: {canvas_name(student, late=student.i % 2 == 1): student.data for student in people},
        canvas_gradebook,
        _canvas_grades,
        canvas_pages,
        lambda student: student.canvas,
        lambda student: f"{student.canvas}/{student.attachment}",
        column=FFN,
    ),
    System(
        "brightspace",
        lambda people: (
            {"index.html": b"<p>"} | {f"{d2l_folder(student)}/{FFN}.ipynb": student.data for student in people}
        ),
        d2l_grades,
        _d2l_grades,
        _by_top,
        lambda student: f"#{student.sis}",
        d2l_folder,
    ),
    System(
        "blackboard",
        lambda people: {blackboard_name(student): student.data for student in people},
        blackboard_sheet,
        _blackboard_grades,
        _by_top,
        lambda student: student.username,
        lambda student: f"{student.username}_{FFN}.html",
        column="Project 0",
    ),
)


# Grades without a jail


def graded(student: Somebody, score: int) -> GradedSubmission:
    """What grading makes of somebody's notebook: so many exercises are right, from the first one on."""
    cells = program.plan(FFN, student.data, Limits()).cells
    verdicts = {
        e.name: Verdict(e.name, Outcome.EARNED, (AspectVerdict("all", e.points, e.points),))
        if number < score
        else not_earned(e, "It is not right.")
        for number, e in enumerate(LISTED)
    }
    return GradedSubmission(FFN, verdicts, cells)


def points(score: int) -> float:
    return sum(e.points for e in LISTED[:score])


def grade(
    class_folder: ClassFolder, ids: Mapping[int, str], scores: Mapping[int, int] | None = None, theirs: bool = True
) -> None:
    """Enter a grade for number i of the class under this id: i exercises are right, unless it is said otherwise.

    theirs: of what number i has written; else of what lies there under that id, as where one has handed in for several.
    """
    with gradebook.Book(class_folder, writing=True) as book:
        book.sync_assignment(FFN)
        for i, student in ids.items():
            submission = graded(CLASS[i], (scores or {}).get(i, i))
            path = class_folder.submitted / student / FFN / f"{FFN}.ipynb"
            digest = hashlib.sha256(CLASS[i].data if theirs else path.read_bytes()).hexdigest()
            handed_in_at = untrusted_files.find_timestamp(path.parent)
            with Batch() as files:
                feedback.write(files, class_folder, student, submission, handed_in_at, digest=digest)
            save_grading(book, student, submission, digest, handed_in_at)


def handed_in_by(class_folder: ClassFolder, assignment: str = FFN) -> dict[int, str]:
    """By whose answer it holds, the student of each notebook in submitted/."""
    students = {}
    for path in class_folder.submitted.glob(f"*/{assignment}/{assignment}.ipynb"):
        match = re.search(r"the answer of number (\d+)", path.read_text(encoding="utf-8"))
        assert match
        assert int(match[1]) not in students
        students[int(match[1])] = path.parent.parent.name
    return students


def at(text: str) -> datetime:
    return datetime.fromisoformat(text).replace(tzinfo=UTC)
