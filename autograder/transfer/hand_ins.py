"""What an export holds: every file read once, the submissions that they make, and the assignment that they were handed in for. Called by collect."""

from __future__ import annotations

from collections.abc import Callable, Collection, Sequence
from dataclasses import dataclass, field
from datetime import tzinfo

from autograder import lms
from autograder.errors import UserError
from autograder.transfer.collection_report import Remarks, describe_clock
from autograder.transfer.group_files import CollectedSubmission, count_votes, group_files
from ffnlab.untrusted_text import in_a_line

MAX_ODD = 20  # lines about what nobody can be said to have handed in
MIN_SHARE = 0.9  # of an export's notebooks, so many must be of one assignment for it to be an export of that


@dataclass
class HandIns:
    """The submissions of an export. The steps that follow find out whose they are, and which of their files counts."""

    submissions: list[CollectedSubmission]
    label: str  # the export's, in the file of decisions
    remarks: Remarks = field(default_factory=Remarks)


def read_hand_ins(
    export: lms.Export,
    archive_name: str,
    assignment: str | None,
    assignments: Sequence[str],
    keep: Callable[[bytes], Callable[[], bytes]],
    settled: Collection[str],
    zone: tzinfo | None,
) -> HandIns:
    """Read all that was handed in. assignment: what it was exported for, where somebody has said so. keep and settled: as `group_files` takes them.

    Raises:
        UserError: it holds several assignments, and nobody has said which one was exported.
    """
    files = [file for file in export.files if not assignment or file.assignment in ("", assignment)]
    submissions = group_files(files, assignments, keep, settled)
    target = assignment or ""
    notes = []
    if not target and not any(submission.first.assignment for submission in submissions):
        target = _find_target(submissions, archive_name)
        if target:
            notes.append(f"read as an export of {target}, because of what its notebooks contain")
    for submission in submissions:
        submission.target = submission.first.assignment or target
    if assignment and not submissions:
        notes.append(f"it has no submission of {assignment}")
    if export.lms.is_local_time:
        notes.append(f"its times name no zone: read as {describe_clock(zone)}")
    label = f"{archive_name} ({target})" if target else archive_name
    return HandIns(submissions, label, Remarks(notes, _doubt_unknown(export)))


def _find_target(submissions: Sequence[CollectedSubmission], archive_name: str) -> str:
    """What nine in ten of the notebooks are of; "" where there are none. Raises UserError: they are of several."""
    votes = count_votes(submissions)
    if not votes:
        return ""
    if max(votes.values()) < MIN_SHARE * votes.total():
        contents = ", ".join(f"{count:,} of {name}" for name, count in votes.most_common())
        raise UserError(f"{archive_name} has {contents}: say with --assignment which one was exported")
    return votes.most_common(1)[0][0]


def _doubt_unknown(export: lms.Export) -> list[str]:
    """A line on each entry that has another pattern than this system's, if they are few."""
    lines = [
        f"{in_a_line(entry.name, 200)}: {f'refused, {entry.trouble}' if entry.trouble else 'not understood'}"
        for entry in export.unknown
    ]
    if len(lines) > MAX_ODD:
        return [*lines[:MAX_ODD], f"{len(lines) - MAX_ODD:,} more are refused or not understood"]
    return lines
