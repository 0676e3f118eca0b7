"""From what an LMS exports to `submitted/STUDENT/ASSIGNMENT/`: who handed in what, which attempt counts, and what a person has to decide.

Each step is a module, and hands on what it found; everything is planned before anything is written. Then come, in this order, the files, the roster and the
manifests with what is to be placed, the placing, the gradebook, and the manifests without it: whatever breaks this off, the same command goes on from
there. Called by `autograder collect`.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from datetime import tzinfo
from pathlib import Path

from autograder import lms, untrusted_files
from autograder.class_folder import manifest as manifest_file
from autograder.class_folder.decisions import FILE as DECISIONS_FILE
from autograder.class_folder.decisions import Decisions
from autograder.class_folder.folder import ClassFolder
from autograder.class_folder.manifest import Manifest
from autograder.class_folder.roster import FILE as ROSTER
from autograder.class_folder.roster import Roster
from autograder.errors import UserError
from autograder.files import make_folder
from autograder.gradebook import preflight
from autograder.gradebook.policy import Policy
from autograder.lms import archive
from autograder.paths import assignments, require_assignment, root
from autograder.transfer.attendance import AttendanceCheck
from autograder.transfer.carry_out import Plan, carry_out
from autograder.transfer.class_lists import take_lists
from autograder.transfer.collection_report import CollectionReport, RowMaker
from autograder.transfer.deciding import decide
from autograder.transfer.hand_ins import read_hand_ins
from autograder.transfer.numbering import number_attempts
from autograder.transfer.spool import Spool


def collect(
    class_folder: ClassFolder,
    source: Path,
    rosters: Sequence[Path] = (),
    assignment: str | None = None,
    dry_run: bool = False,
    zone: tzinfo | None = None,
    match_names: bool = False,
    tell: Callable[[int, int], None] = lambda count, total: None,
) -> CollectionReport:
    """Collect what an LMS exported, a zip or a folder, into a class.

    rosters: lists of participants, worksheets or gradebooks that the LMS exported. assignment: what it is an export of; else what nine in ten of its notebooks
    are. dry_run: write nothing. zone: of the clock behind times that name none; this computer's where it is None. match_names: where an export has no id that a
    list has too, take a name that just one student has for that student. tell: is called with the number of files written, and of all.

    Raises:
        UserError: it is no export that is known here, a list can't be used, or the class can't be collected into.
    """
    if class_folder.path.resolve() == (root() / "grading" / "sample").resolve():
        raise UserError("grading/sample is for made-up students: collect into grading/, or another --grading FOLDER")
    if assignment is not None:
        require_assignment(assignment)
    preflight.check_gradebook(class_folder)
    with archive.open_archive(source, lms.is_submission) as export_archive, Spool(class_folder.path) as spool:
        export = lms.read(export_archive, zone)
        if not export_archive.is_open:  # there, anybody could give the instructor questions without end
            export = lms.attribute_to_nobody(export)
        damages = [] if dry_run else _set_aside_empty_files(class_folder)
        plan, report = _plan(class_folder, export_archive, export, spool, rosters, assignment, zone, match_names)
        report.doubts = damages + report.doubts
        if not dry_run:
            placed = carry_out(plan, tell)
            report.placed_count = placed.count
            report.doubts += placed.doubts
    return report


def _plan(
    class_folder: ClassFolder,
    export_archive: archive.Archive,
    export: lms.Export,
    spool: Spool,
    rosters: Sequence[Path],
    assignment: str | None,
    zone: tzinfo | None,
    match_names: bool,
) -> tuple[Plan, CollectionReport]:
    """Go through the steps without writing anything: what is to be written, and what is to be told."""
    roster = Roster.load(class_folder)
    decisions = Decisions.load(class_folder)
    manifests = {name: Manifest.load(class_folder, name) for name in manifest_file.assignments(class_folder)}
    row_maker = RowMaker(roster, zone)
    names = assignments()

    lists = take_lists(export, rosters, roster, zone)
    hand_ins = read_hand_ins(
        lists.export, export_archive.name, assignment, names, spool.keep, decisions.notebook_files, zone
    )
    submissions = hand_ins.submissions
    decided = decide(hand_ins, lists.export, roster, decisions, row_maker, names, match_names)
    numbered = number_attempts(submissions, decided.pending_entries, manifests, class_folder, export_archive, row_maker)
    check = AttendanceCheck(class_folder, roster, decisions, Policy.of(class_folder), lists, zone)
    attendance = check.check(submissions, names)

    report = CollectionReport(
        export.lms.title,
        export_archive.name,
        class_folder.path / manifest_file.FOLDER / DECISIONS_FILE,
        rows=decided.rows + numbered.rows,
        pending_decisions=decided.pending,
        missing=attendance.missing,
        new=numbered.new,
        known_count=numbered.known_count,
    )
    report.add(*(step.remarks for step in (lists, hand_ins, decided, numbered, attendance)))
    plan = Plan(
        class_folder, numbered.writes, roster, manifests, submissions, decisions, hand_ins.label, decided.pending
    )
    return plan, report


def _set_aside_empty_files(class_folder: ClassFolder) -> list[str]:
    """Make way for what a power cut has emptied and an export can bring again: the roster, and the manifests with their files. Returns a line for each."""
    lines = []
    if untrusted_files.is_empty(class_folder.path / ROSTER):
        (class_folder.path / ROSTER).unlink()
        lines.append(f"{ROSTER} was empty, as after a power cut: give the lists of the class with --roster again")
    for name in manifest_file.assignments(class_folder):
        folder = class_folder.path / manifest_file.FOLDER / name
        if not untrusted_files.is_empty(folder / manifest_file.FILE):
            continue
        aside = class_folder.path / "damaged"
        make_folder(aside)
        number = 1
        while (aside / f"{name}-{number}").exists():
            number += 1
        folder.rename(aside / f"{name}-{number}")
        lines.append(
            f"the manifest of {name} was empty, as after a power cut: what had been collected is now in damaged/{name}-{number}. "
            "Collect each earlier export of it again, oldest first"
        )
    return lines
