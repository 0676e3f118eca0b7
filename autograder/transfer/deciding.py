"""Whose each submission is, which of its files counts, and what only a person can decide about either. Called by collect."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import dataclass, field

from autograder import lms
from autograder.class_folder.decisions import FILE as DECISIONS_FILE
from autograder.class_folder.decisions import Decision, Decisions
from autograder.class_folder.roster import Roster
from autograder.errors import UserError
from autograder.lms.archive import normalize_name
from autograder.lms.records import fold_name
from autograder.paths import describe_unknown_assignment
from autograder.transfer.collection_report import CollectionRow, Remarks, RowMaker
from autograder.transfer.group_files import CollectedSubmission, UnresolvedFile, choose
from autograder.transfer.hand_ins import HandIns
from autograder.transfer.match_students import StudentFinder
from ffnlab.untrusted_text import in_a_line


@dataclass
class Decided:
    """What is left for a person. What is decided stands in the submissions: their students, and the file that counts."""

    rows: list[CollectionRow] = field(default_factory=list)  # about what is left to a person, or was left by one
    pending: list[Decision] = field(default_factory=list)
    remarks: Remarks = field(default_factory=Remarks)  # on what stands in settle.csv

    @property
    def pending_entries(self) -> set[str]:
        """The files about which somebody has to decide, by their names in the archive."""
        return {decision.file for decision in self.pending}


def decide(
    hand_ins: HandIns,
    export: lms.Export,
    roster: Roster,
    decisions: Decisions,
    row_maker: RowMaker,
    assignments: Sequence[str],
    match_names: bool,
) -> Decided:
    """Find each submission's students, whom the roster then has, and the notebook that counts.

    match_names: where an export has no id that a list has too, take a name that just one student has for that student.
    """
    submissions = hand_ins.submissions
    asking = _Asking(hand_ins.label, decisions, row_maker, assignments)
    finder = StudentFinder(roster, decisions, submissions, match_names)
    for submission in submissions:
        asking.ask(submission, finder.find(submission))
        if submission.students:
            asking.ask(submission, choose(submission, asking.find_assignments(submission), assignments))
            asking.ask_about_time(submission)
    for submissions_of_one in _group_by_student(submissions):
        asking.ask_which_counts(submissions_of_one)
    asking.decided.remarks = _check_decisions(decisions, hand_ins, export, assignments)
    return asking.decided


class _Asking:
    """Leaves to a person what nobody has decided yet."""

    def __init__(self, label: str, decisions: Decisions, row_maker: RowMaker, assignments: Sequence[str]) -> None:
        self.label = label
        self.decisions = decisions
        self.row_maker = row_maker
        self.assignments = assignments
        self.decided = Decided()

    def ask(self, submission: CollectedSubmission, unresolved_files: Sequence[UnresolvedFile]) -> None:
        """Leave these files to a person, unless one has said that they may stay as they are."""
        students = ", ".join(student.id for student in submission.students)
        for unresolved in unresolved_files:
            file = unresolved.exported_file
            trouble = unresolved.trouble
            if self.decisions.is_left(file.system, file.submitter, file.entry):
                self.decided.rows.append(self.row_maker.make(file, students, f"left, as settled: {trouble}"))
                continue
            self.decided.rows.append(self.row_maker.make(file, students, trouble, is_pending=True))
            self.decided.pending.append(
                Decision(
                    archive=self.label,
                    system=file.system,
                    submitter=file.submitter,
                    name=file.name,
                    file=file.entry,
                    trouble=trouble,
                    suggestion=unresolved.suggestion,
                )
            )

    def find_assignments(self, submission: CollectedSubmission) -> dict[str, str]:
        """By its name in the archive, of which assignment somebody has said that a file is the notebook."""
        by_entry = {}
        for notebook in submission.notebooks:
            file = notebook.exported_file
            decision = self.decisions.find_assignment(file.system, file.submitter, file.entry)
            if decision and (name := _find_assignment(decision.assignment, self.assignments)):
                by_entry[file.entry] = name
        return by_entry

    def ask_about_time(self, submission: CollectedSubmission) -> None:
        """What has a time that can't be right does not count until somebody has said that it is the notebook."""
        doubt = submission.choice.exported_file.doubtful_time if submission.choice else ""
        if doubt:
            self._withhold(submission, f"{doubt}: does it count?")

    def ask_which_counts(self, submissions: Sequence[CollectedSubmission]) -> None:
        """Where a student has several submissions of an assignment, and not all say when, somebody says which one counts."""
        if len(submissions) == 1 or all(submission.first.handed_in_at for submission in submissions):
            return
        for submission in submissions:
            self._withhold(
                submission, f"one of {len(submissions)} submissions, and not all have a time: which one counts?"
            )

    def _withhold(self, submission: CollectedSubmission, trouble: str) -> None:
        """Let the chosen file not count, unless somebody has said that it is the notebook."""
        choice = submission.choice
        if choice is None or choice.exported_file.entry in self.find_assignments(submission):
            return
        self.ask(submission, [UnresolvedFile(choice.exported_file, trouble, submission.assignment)])
        submission.choice = None


def _group_by_student(submissions: Sequence[CollectedSubmission]) -> list[list[CollectedSubmission]]:
    """Those in which a file counts, by student and assignment."""
    groups: dict[tuple[str, str], list[CollectedSubmission]] = {}
    for submission in submissions:
        for student in submission.students if submission.choice else ():
            groups.setdefault((student.id, submission.assignment), []).append(submission)
    return list(groups.values())


# What stands in settle.csv and can't be used


def _check_decisions(
    decisions: Decisions, hand_ins: HandIns, export: lms.Export, assignments: Sequence[str]
) -> Remarks:
    files = [file for submission in hand_ins.submissions for file in submission.notebooks]
    known = _KnownFiles(
        notebooks={normalize_name(file.exported_file.entry) for file in files if file.can_count},
        troubles={normalize_name(file.exported_file.entry): file.trouble for file in files},
        entries={normalize_name(file.entry) for file in export.files},
    )
    remarks = Remarks(doubts=[f"in {DECISIONS_FILE}, {trouble}" for trouble in decisions.troubles])
    for decision in decisions.final:
        where = f"in {DECISIONS_FILE}, line {decision.line}: "
        remarks.doubts += [f"{where}{doubt}" for doubt in _doubt_decision(decision, known, assignments)]
        is_about_this = decision.archive == hand_ins.label and _find_assignment(decision.assignment, assignments)
        if is_about_this and normalize_name(decision.file) not in known.notebooks | known.entries:
            remarks.notes.append(f"{where}{in_a_line(decision.file, 200)} is not in this export")
    return remarks


@dataclass(frozen=True)
class _KnownFiles:
    """The files of an export, by their normalized names in the archive."""

    notebooks: set[str]  # those that can count
    troubles: dict[str, str]  # what each is instead
    entries: set[str]  # all of them, but for what is in packed ones


def _doubt_decision(decision: Decision, known: _KnownFiles, assignments: Sequence[str]) -> Iterator[str]:
    try:
        lms.find(decision.system)
    except UserError as reason:
        yield str(reason)
    if not decision.assignment:
        return
    file = normalize_name(decision.file)
    if not _find_assignment(decision.assignment, assignments):
        yield describe_unknown_assignment(decision.assignment)
    elif file in known.entries - known.notebooks:
        why = known.troubles.get(file) or "it can't be read as a notebook"
        yield f"{in_a_line(decision.file, 200)} can't count: {why}"


def _find_assignment(text: str, assignments: Sequence[str]) -> str:
    """The assignment that somebody means by its name, in whatever writing, or by its number; "" where it is none."""
    matches = [name for name in assignments if fold_name(text) in (fold_name(name), name.partition("_")[0])]
    return matches[0] if len(matches) == 1 else ""
