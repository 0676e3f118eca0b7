"""What is told of a collecting: a line on each file, and what a person should know, look at or decide. Made by the steps of collect."""

from __future__ import annotations

from dataclasses import dataclass, field
from datetime import datetime, tzinfo
from pathlib import Path

from autograder.class_folder.decisions import Decision
from autograder.class_folder.roster import Roster
from autograder.gradebook.not_handed_in import Missing
from autograder.lms.records import ExportedFile
from ffnlab.untrusted_text import in_a_line


@dataclass(frozen=True)
class CollectionRow:
    """A line of the table, about a file."""

    file: str
    student: str  # whose it is
    notebook: str
    attempt: str
    handed_in_at: str
    what: str  # what becomes of it,
    is_pending: bool = False  # and whether that is for a person to decide
    name: str = ""

    @property
    def short(self) -> str:
        """The file's own name where the rest says only whose it is."""
        return self.file.split("/")[-1] if self.student and not self.file.endswith("/") else self.file


@dataclass
class Remarks:
    """What a step of collecting has to say, a line each."""

    notes: list[str] = field(default_factory=list)  # for information
    doubts: list[str] = field(default_factory=list)  # what a person should look at


@dataclass
class CollectionReport:
    """What was collected, or would be."""

    title: str
    archive: str
    decisions_file: Path
    rows: list[CollectionRow] = field(default_factory=list)
    notes: list[str] = field(default_factory=list)  # for information
    doubts: list[str] = field(default_factory=list)  # what a person should look at
    pending_decisions: list[Decision] = field(default_factory=list)  # what a person can decide, in that file
    # By assignment, who has not handed in, where a list of the class is known.
    missing: list[Missing] = field(default_factory=list)
    new: int = 0
    known_count: int = 0
    placed_count: int = 0

    @property
    def needs_somebody(self) -> bool:
        return bool(self.pending_decisions or self.doubts)

    def add(self, *steps: Remarks) -> None:
        """Take over what steps have to say, in their order."""
        for remarks in steps:
            self.notes += remarks.notes
            self.doubts += remarks.doubts


@dataclass(frozen=True)
class RowMaker:
    """Makes the lines of the table."""

    roster: Roster
    zone: tzinfo | None  # of the clock by which they tell the time; this computer's where it is None

    def make(
        self,
        exported_file: ExportedFile,
        student: str,
        what: str,
        notebook: str = "",
        attempt: str = "",
        is_pending: bool = False,
    ) -> CollectionRow:
        """student: whose it is; of a group, the members with commas between them."""
        if exported_file.handed_in_at:
            handed_in_at = format_time(exported_file.handed_in_at, self.zone)
        elif exported_file.time_note:
            handed_in_at = "unreadable"
        else:
            handed_in_at = "none"
        file = in_a_line(exported_file.entry, 200)
        roster_name = self.roster.students[student].name if student in self.roster.students else ""
        name = in_a_line(roster_name or exported_file.name, 80)
        return CollectionRow(file, student, notebook, attempt, handed_in_at, what, is_pending, name)


def format_time(when: datetime, zone: tzinfo | None) -> str:
    """A time to the minute, by the clock of this zone; of this computer where it is None."""
    return f"{when.astimezone(zone):%Y-%m-%d %H:%M}"


def describe_clock(zone: tzinfo | None) -> str:
    """Whose clock shows the times that name no zone."""
    return f"times of {zone}" if zone else "times of this computer"
