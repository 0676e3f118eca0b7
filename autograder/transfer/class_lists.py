"""The lists that come with an export: who is who, who has handed in, and where the export has no times, when. Called by collect."""

from __future__ import annotations

import re
from collections.abc import Sequence
from dataclasses import dataclass, field, replace
from datetime import tzinfo
from pathlib import Path

from autograder import lms
from autograder.class_folder.roster import Roster
from autograder.errors import UserError
from autograder.lms.base import IdScope, Lms
from autograder.lms.records import ExportedFile, Person, is_in_future
from autograder.lms.sheets import Sheet
from autograder.transfer.collection_report import Remarks, describe_clock, format_time
from autograder.transfer.match_students import choose_reading
from ffnlab.phrases import plural
from ffnlab.untrusted_text import in_a_line


@dataclass(frozen=True)
class TakenLists:
    """An export with what its lists add to it."""

    export: lms.Export  # each file with its time, as the roster bears it out
    submitters: tuple[Person, ...]  # who has handed in, as a list says
    time_warnings: tuple[str, ...]  # lines on times that are missing or can't be read
    remarks: Remarks


def take_lists(export: lms.Export, paths: Sequence[Path], roster: Roster, zone: tzinfo | None) -> TakenLists:
    """Take over who is who into the roster, and from the sheets of a system that exports no times when they handed in.

    Raises:
        UserError: a list can't be used.
    """
    sheets = _read_sheets(export, paths)
    lists = _enter_sheets(export.lms, sheets, roster)
    timed, times = export, _Times()
    if export.lms.times_on:
        timed, times = _with_times_of_sheets(export, sheets, lists.unread_times, zone)
    else:
        times.warnings += lists.unread_times
    files = tuple(_with_doubt(file, roster, zone) for file in timed.files)
    checked = replace(timed, files=files)
    times.warnings += _warn_of_unreadable_times(checked)
    remarks = Remarks(
        notes=[*lists.remarks.notes, *times.notes],
        doubts=lists.remarks.doubts,
    )
    anonymous = _describe_anonymous(checked)
    (remarks.doubts if roster.is_listed else remarks.notes).extend(anonymous)
    remarks.notes += _describe_claims(checked)
    return TakenLists(checked, tuple(lists.submitters), tuple(times.warnings), remarks)


# Who is who


@dataclass
class _Lists:
    """What the lists say of people."""

    submitters: list[Person] = field(default_factory=list)
    unread_times: list[str] = field(default_factory=list)  # a line on each sheet whose times can't be read
    remarks: Remarks = field(default_factory=Remarks)


def _read_sheets(export: lms.Export, paths: Sequence[Path]) -> list[Sheet]:
    words = {word for file in export.files for word in re.split(r"[\W_]+", file.name)}
    names = {word for word in words if not word.isascii()}
    return [Sheet.read(path, names) for path in paths]


def _enter_sheets(exporter: Lms, sheets: Sequence[Sheet], roster: Roster) -> _Lists:
    """Enter into the roster who is on the sheets. exporter: the system of the export."""
    lists = _Lists()
    for sheet in sheets:
        if sheet.doubtful_text:
            lists.remarks.notes.append(
                f"{sheet.name} is not UTF-8, and was read as {sheet.encoding}: is “{in_a_line(sheet.doubtful_text, 60)}” right? "
                "If it is not, save the sheet as CSV (UTF-8) and collect again"
            )
        system, number, doubts = roster.extend(sheet)
        if system is exporter:
            lists.submitters += system.submitters(sheet)
        lists.remarks.notes.append(f"{sheet.name}: {system.title}, {plural(number, 'person', 'people')}")
        lists.remarks.doubts += doubts
        if time_text := system.unread_time(sheet):
            lists.unread_times.append(
                f"{sheet.name}: its times can't be read ({in_a_line(time_text, 60)}): set {system.title} to English and download it again"
            )
    if sheets:
        lists.remarks.notes += _describe_numbered_students(roster)
    return lists


def _describe_numbered_students(roster: Roster) -> list[str]:
    """How many are known by nothing but a number that another assignment does not have."""
    notes = []
    for system in lms.systems_with_numbers():
        if system.number is not IdScope.ASSIGNMENT:
            continue
        if nameless := sum(student.startswith(f"{system.name}-") for student in roster.students):
            notes.append(
                f"{nameless:,} students have no ID number, login or address on a list: they are known by {system.title}'s number, "
                "which changes with each assignment"
            )
    return notes


# When it was handed in


@dataclass
class _Times:
    """What is to be said of the times."""

    notes: list[str] = field(default_factory=list)
    warnings: list[str] = field(default_factory=list)


def _with_times_of_sheets(
    export: lms.Export, sheets: Sequence[Sheet], unread_times: Sequence[str], zone: tzinfo | None
) -> tuple[lms.Export, _Times]:
    """The export with the times that are on its system's sheets, and what is to be said of them."""
    exporter = export.lms
    timed = replace(export, files=exporter.with_times(export.files, sheets, zone))
    times = _Times()
    if any(file.handed_in_at for file in timed.files):
        times.notes.append(f"its times come from the {exporter.times_on}, read as {describe_clock(zone)}")
    if not any(file.time_note for file in timed.files):  # else each of them is told
        times.warnings += unread_times
    submitters = {file.submitter for file in timed.files}
    without = {file.submitter for file in timed.files if not file.handed_in_at and not file.time_note}
    if without and len(without) < len(submitters):
        count_text = plural(f"{len(without):,}", "student who handed in has", "students who handed in have")
        times.warnings.append(f"{count_text} no time on a {exporter.times_on}, and that does not count as late")
    elif without and not times.warnings:
        times.warnings.append(_warn_of_no_times(exporter, sheets))
    return timed, times


def _warn_of_no_times(exporter: Lms, sheets: Sequence[Sheet]) -> str:
    if worksheets := " or ".join(sheet.name for sheet in sheets if _takes_grades(sheet, exporter)):
        return f"nobody who handed in has a time on {worksheets}: is that this assignment's {exporter.sheet}?"
    return f"{exporter.title} exports no times: they are on the {exporter.sheet}, so give that with --roster"


def _takes_grades(sheet: Sheet, system: Lms) -> bool:
    """Whether it is the sheet that takes a system's grades."""
    try:
        return bool(system.grade_sheet(sheet))
    except UserError:
        return False


def _with_doubt(file: ExportedFile, roster: Roster, zone: tzinfo | None) -> ExportedFile:
    """A file as the roster bears it out; without its time where that is still to come, with a doubt."""
    file = choose_reading(file, roster)
    if not file.handed_in_at or not is_in_future(file.handed_in_at):
        return file
    doubt = f"its time, {format_time(file.handed_in_at, zone)}, is in the future"
    return replace(file, handed_in_at=None, doubtful_time=doubt)


def _warn_of_unreadable_times(export: lms.Export) -> list[str]:
    notes = {(file.submitter, file.submission_id): file.time_note for file in export.files if file.time_note}
    if not notes:
        return []
    first = in_a_line(next(iter(notes.values())), 120)
    times = plural(f"{len(notes):,}", "time")
    they_make = "it makes" if len(notes) == 1 else "they make"
    return [
        f"{times} can't be read ({first}), so {they_make} nobody late: "
        f"if they are in another language, set {export.lms.title} to English and download it again; else write the time into "
        "submitted/STUDENT/ASSIGNMENT/timestamp.txt, such as 2026-11-21 18:30:00 UTC, before you grade"
    ]


# What the export does not say


def _describe_anonymous(export: lms.Export) -> list[str]:
    exporter = export.lms
    anonymous = {file.submitter for file in export.files if exporter.is_anonymous(file.submitter)}
    if not anonymous:
        return []
    return [
        f"{exporter.title} exported it anonymously: {len(anonymous):,} names begin with {exporter.anonymous}, and no gradebook has them, "
        "so no grade can be given back. Switch off anonymous grading or show the names, and download it again"
    ]


def _describe_claims(export: lms.Export) -> list[str]:
    """How many folders say whose they are by their names alone."""
    claims = {file.submission_id for file in export.files if not file.is_owned and not file.doubt}
    if not claims:
        return []
    return [
        f"{len(claims):,} of its folders belong to no student's account, as in a zip or a copy, so the folders' names say who handed in, and when"
    ]
