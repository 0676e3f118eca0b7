"""What a learning management system is to the rest of the project: everything in which two of them differ is a member of `Lms`. See docs/lms.md."""

from __future__ import annotations

from abc import abstractmethod
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from datetime import tzinfo
from enum import IntEnum
from typing import TYPE_CHECKING, ClassVar, Protocol

from autograder.errors import UserError
from autograder.lms.archive import ArchiveEntry
from autograder.lms.records import ExportedFile, Person
from autograder.lms.sheets import GradeSheet, Sheet

if TYPE_CHECKING:
    from autograder.class_folder.manifest import Record
    from autograder.class_folder.roster import Roster, Student
    from autograder.transfer.give_back import GradeExport


class IdScope(IntEnum):
    """What a system's own number stands for, which gets a column of the roster; the order is that of the columns."""

    NONE = 0
    USER = 1  # one for each student
    ASSIGNMENT = 2  # another one for each assignment, and a team's looks the same
    ACCOUNT = 3  # one for each account, of which a student may have several


@dataclass(frozen=True)
class FeedbackPage:
    """A feedback page on its way back."""

    student: str
    name: str
    assignment: str
    record: Record  # of the attempt
    own: Sequence[str]  # the student's numbers
    numbers: Mapping[str, str]  # by student, those on the sheet


class Lms(Protocol):
    """A learning management system. What has no value or body here, each system has to say; the rest says what holds where a system has nothing of the kind."""

    name: ClassVar[str]  # in commands, files and the roster
    title: ClassVar[str]  # for people
    sheet: ClassVar[str]  # what takes the grades, as in "the gradebook"; "" where they go back in another way
    is_local_time: ClassVar[bool]  # whether its export's times name no zone

    rank: ClassVar[int] = 9  # its place where systems are listed: the most usual first
    number: ClassVar[IdScope] = IdScope.NONE
    anonymous: ClassVar[str] = ""  # what the tokens of an anonymous export begin with
    times_on: ClassVar[str] = ""  # the sheet on which its times are, where its export has none
    test_student: ClassVar[tuple[str, str]] = ("", "")  # first and last name of its own one
    has_own_headers: ClassVar[bool] = True  # whether no other system's list could pass for one of its
    has_ids_on_lists: ClassVar[bool] = True  # whether its lists have the ids of its export: else names alone match
    has_folder_names: ClassVar[bool] = False  # whether its tokens are the names of students' folders
    has_groups_by_member: ClassVar[bool] = False  # whether a group's work has one member's number and the group's name
    flags_lateness: ClassVar[bool] = False  # whether its export flags what came in late, so that the rest was on time
    needs_file: ClassVar[bool] = True  # whether what goes back is written into one file
    instead: ClassVar[str] = ""  # what `give-back` makes where there is no sheet, for --help
    page_notes: ClassVar[tuple[str, ...]] = ()  # for whoever uploads the pages

    @abstractmethod
    def fits(self, path: str) -> bool:
        """Whether a path in an export is one of this system's."""

    @abstractmethod
    def exported_files(
        self, entries: Sequence[ArchiveEntry], zone: tzinfo | None
    ) -> tuple[list[ExportedFile], list[str]]:
        """What was handed in, and the entries that are not understood. zone: of the clock behind times that name none."""

    def people(self, sheet: Sheet) -> list[Person] | None:
        """Who is on a list of this system; None where it is not one."""
        return None

    def submitters(self, sheet: Sheet) -> list[Person]:
        """Those of whom a list of this system says that they have handed in this assignment."""
        return []

    def grade_sheet(self, sheet: Sheet, column: str = "") -> GradeSheet:
        """What its sheet means. column: the one that takes the grades. Raises UserError: it is another sheet, or does not say which column is meant."""
        raise UserError(f"{self.title}: no grades can be written into a sheet of it")

    def page_name(self, page: FeedbackPage) -> tuple[str, str]:
        """Where a page goes in the zip of them, and why it can't go there if it can't."""
        return "", f"{self.title} takes no pages"

    def release(self, grade_export: GradeExport) -> bytes | None:
        """Give back where there is no sheet: a file's bytes, or None where all is in place. Raises UserError: nothing can go back."""
        raise UserError(f"{self.title} takes nothing back")

    def with_times(
        self, exported_files: Sequence[ExportedFile], sheets: Sequence[Sheet], zone: tzinfo | None
    ) -> tuple[ExportedFile, ...]:
        """These files with the times that are on sheets."""
        return tuple(exported_files)

    def unread_time(self, sheet: Sheet) -> str:
        """A time on one of its lists that can't be read; "" where all can be."""
        return ""

    def students(self, exported_file: ExportedFile, roster: Roster, is_sure: bool) -> tuple[list[Student], str] | None:
        """Whose a file is, or why that is not known, where an id is not enough; None where ids decide.

        is_sure: whether the export's ids are the list's, also where a name is written in another way.
        """
        return None

    def ids_agree(self, exported_files: Sequence[ExportedFile], roster: Roster) -> bool:
        """Whether the ids of an export are those of the roster, by the names beside them."""
        return False

    def is_named(self, exported_file: ExportedFile, student: Student) -> bool:
        """Whether a file's name has this student's name in it, as this system writes it."""
        return False

    def is_anonymous(self, token: str) -> bool:
        return bool(self.anonymous) and token.startswith(self.anonymous)
