"""The writing of what was collected, in an order that can be broken off anywhere: what a later step refers to is on the disk before. Called by collect."""

from __future__ import annotations

import hashlib
import shutil
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, field

from autograder import lms, untrusted_files
from autograder.class_folder import manifest as manifest_file
from autograder.class_folder.decisions import Decision, Decisions
from autograder.class_folder.folder import ClassFolder
from autograder.class_folder.manifest import NOTHING, Manifest
from autograder.class_folder.roster import Roster, Student
from autograder.files import Batch
from autograder.lms.base import IdScope
from autograder.lms.exchange import SECRET
from autograder.startup import pause_gc
from autograder.transfer.group_files import CollectedSubmission
from autograder.transfer.numbering import PendingWrite

EMPTIED = hashlib.sha256().hexdigest()  # of a notebook that a power cut has emptied
BATCH_SIZE = 100  # files that are written at a time


@dataclass(frozen=True)
class Plan:
    """What is to be written: the files, and after them all that refers to them."""

    class_folder: ClassFolder
    writes: Sequence[PendingWrite]
    roster: Roster
    manifests: Mapping[str, Manifest]  # with what is to be placed
    submissions: Sequence[CollectedSubmission]
    decisions: Decisions
    label: str  # of the export, in the file of decisions
    pending_decisions: Sequence[Decision]


@dataclass
class Placed:
    """What has come into submitted/, and a line on each place where something else was in the way."""

    count: int = 0
    doubts: list[str] = field(default_factory=list)


def carry_out(plan: Plan, tell: Callable[[int, int], None]) -> Placed:
    """Write all of it. tell: is called with the number of files written, and of all."""
    manifests = plan.manifests.values()
    total = len(plan.writes) + sum(len(manifest.placing) for manifest in manifests)
    with Batch(BATCH_SIZE) as files:
        for count, write in enumerate(plan.writes, 1):
            files.write(write.manifest.path(plan.class_folder, write.record), write.read())
            tell(count, total)
    plan.roster.save(plan.class_folder)
    for manifest in manifests:
        manifest.save(plan.class_folder)
    placed = _place_attempts(plan, lambda count: tell(len(plan.writes) + count, total))
    enter_students(plan)
    for manifest in manifests:
        manifest.placing = {}
        manifest.save(plan.class_folder)
    plan.decisions.save(plan.class_folder, plan.label, plan.pending_decisions)
    return placed


def _place_attempts(plan: Plan, tell: Callable[[int], None]) -> Placed:
    placed = Placed()
    with Batch(BATCH_SIZE) as files:
        for manifest in plan.manifests.values():
            for student, number in manifest.placing.items():
                _place_attempt(files, plan.class_folder, manifest, student, number, placed)
                tell(placed.count)
    return placed


def _place_attempt(
    files: Batch, class_folder: ClassFolder, manifest: Manifest, student: str, number: int, placed: Placed
) -> None:
    """Put an attempt where grading finds it, with its time and its secret, unless something else has come there meanwhile."""
    folder = class_folder.submitted / student / manifest.assignment
    path = folder / f"{manifest.assignment}.ipynb"
    records = {record.number: record for record in manifest.records.get(student, ())}
    record = records.get(number)
    if record is None and number != NOTHING:
        return
    if any(part.is_symlink() for part in (folder.parent, folder, path)) or (path.exists() and not path.is_file()):
        placed.doubts.append(f"{path} is a link or not a regular file, so nothing was put there")
        return
    there = hashlib.sha256(path.read_bytes()).hexdigest() if path.exists() else ""
    if there not in {"", EMPTIED, *(record.sha256 for record in records.values())}:
        placed.doubts.append(f"{path} was changed meanwhile, so it was left alone")
        return
    if record is None:
        for name in (path.name, untrusted_files.TIMESTAMP, SECRET):
            files.remove(folder / name)
        return
    if there != record.sha256:
        files.write(path, manifest.path(class_folder, record).read_bytes())
    if record.when:
        files.write(folder / untrusted_files.TIMESTAMP, manifest_file.stamp(record.when))
    elif there != record.sha256:
        files.remove(folder / untrusted_files.TIMESTAMP)
    files.write(folder / SECRET, record.back.get("secret", ""))
    placed.count += 1


def enter_students(plan: Plan) -> None:
    """Enter into the gradebook names and ids of those who have handed something in, and take out what was withdrawn."""
    ids = dict.fromkeys(student.id for submission in plan.submissions for student in submission.students)
    withdrawals = [
        (manifest.assignment, student, digests)
        for manifest in plan.manifests.values()
        for student in manifest.placing
        if (digests := manifest.find_withdrawals(student))
    ]
    if not ids and not withdrawals:
        return
    with pause_gc():
        from autograder.gradebook import gradebook

    class_folder = plan.class_folder
    with gradebook.Book(class_folder, writing=True) as book:
        book.upsert_students({student_id: _describe_student(plan.roster.students[student_id]) for student_id in ids})
        for assignment, student, digests in withdrawals:
            if book.withdraw(assignment, student, digests):
                for place in (class_folder.feedback, class_folder.autograded):
                    shutil.rmtree(place / student / assignment, ignore_errors=True)


def _describe_student(student: Student) -> dict[str, str]:
    """What nbgrader's gradebook keeps of a student besides the id."""
    cells = student.cells
    fields = {name: cells.get(name, "") for name in ("first_name", "last_name", "email")}
    own = [system.name for system in lms.systems_with_numbers() if system.number is not IdScope.ASSIGNMENT]
    number = next((cells[key] for key in (*own, "sis_id", "username") if cells.get(key)), "")
    return fields | {"lms_user_id": number}
