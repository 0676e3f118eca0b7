"""What was handed in together, and which of it is whose notebook: decided by the cells that a notebook holds, not by what it is called. Called by collect."""

from __future__ import annotations

import hashlib
import re
from collections import Counter
from collections.abc import Collection, Iterator, Mapping, Sequence
from dataclasses import dataclass, field, replace
from functools import partial

from autograder.class_folder.roster import Student
from autograder.engine.program import is_untouched
from autograder.engine.released import votes as votes_of
from autograder.engine.submitted import Unreadable, parse
from autograder.jail.limits import Limits
from autograder.lms import archive
from autograder.lms.archive import ArchiveEntry, Refused, normalize_name
from autograder.lms.records import ExportedFile
from ffnlab.untrusted_text import in_a_line

MIN_CELLS = 2  # cells of ours that make a notebook one of ours
MAX_NOTEBOOKS = 20  # of one submission that are read, and
MAX_NOTEBOOK_BYTES = 2 * Limits().notebook  # all together
LIMIT_TEXT = f"at most {MAX_NOTEBOOKS} of a submission are, with {MAX_NOTEBOOK_BYTES / 2**20:.0f} MiB in all"
MAX_LINES = 3  # that a person gets for one submission, each about a file; more become one
RENAMED = re.compile(r"(?P<name>.+?)(?:-\d+| ?\(\d+\))?\.ipynb", re.IGNORECASE)


@dataclass(frozen=True)
class NotebookFile:
    """A file that was handed in. assignment: whose cells it has, if it is a notebook of ours. trouble: what it is instead, if it should be one.

    is_untouched: whether it is a notebook of ours without an answer in it.
    """

    exported_file: ExportedFile
    digest: str
    size: int
    assignment: str = ""
    trouble: str = ""
    is_broken: bool = False
    is_untouched: bool = False

    @property
    def base_name(self) -> str:
        return in_a_line(self.exported_file.file.rpartition("/")[2], 80)


@dataclass(frozen=True)
class UnresolvedFile:
    """Something that a person has to decide, about a file. suggestion: what the answer may be."""

    exported_file: ExportedFile
    trouble: str
    suggestion: str = ""


@dataclass
class CollectedSubmission:
    """A submission, as its files in the export make it. first: its first file, which stands for all of it. target: the assignment that it was handed in for."""

    first: ExportedFile
    notebooks: list[NotebookFile] = field(default_factory=list)
    others: list[NotebookFile] = field(default_factory=list)
    refusals: list[tuple[ExportedFile, str]] = field(default_factory=list)
    students: list[Student] = field(default_factory=list)
    target: str = ""
    notebook_count: int = 0  # looked at so far, and their bytes
    byte_count: int = 0
    choice: NotebookFile | None = None
    assignment: str = ""  # under which it is kept

    def may_read(self, size: int) -> bool:
        """Whether one more notebook of so many bytes is looked at; it is counted then."""
        if self.notebook_count == MAX_NOTEBOOKS or (
            self.notebook_count and self.byte_count + size > MAX_NOTEBOOK_BYTES
        ):
            return False
        self.notebook_count, self.byte_count = self.notebook_count + 1, self.byte_count + size
        return True


class _LastZip:
    """The zip of a student's that was read from last. It is kept open, as its files come one after another; and it alone, as each is in memory."""

    def __init__(self, exempt_entries: Collection[str]) -> None:
        self.exempt_entries = exempt_entries
        self._outer: ExportedFile | None = None
        self._zip = archive.Archive("")

    def open(self, outer: ExportedFile) -> archive.Archive:
        """What lies in it. Raises Refused: it can't be read."""
        if self._outer is not outer:
            self._outer, self._zip = None, archive.Archive("")
            self._zip = archive.open_inner_zip(ArchiveEntry(outer.entry, 0, outer.read))
            self._outer = outer
        return self._zip

    def read(self, outer: ExportedFile, name: str) -> bytes:
        """A file in it. Raises Refused."""
        return next(entry for entry in self.open(outer).entries if entry.name == name).read()


def group_files(
    exported_files: Sequence[ExportedFile], assignments: Sequence[str], exempt_entries: Collection[str] = ()
) -> list[CollectedSubmission]:
    """The submissions, with every file read once. exempt_entries: names in the archive of files that are looked at, however many there are."""
    submissions: dict[tuple[str, str], CollectedSubmission] = {}
    zips = _LastZip(exempt_entries)
    for exported_file in exported_files:
        submission = submissions.setdefault(
            (exported_file.who, exported_file.submission_id), CollectedSubmission(exported_file)
        )
        for file in _read_files(submission, exported_file, assignments, zips):
            is_notebook = file.assignment or (file.trouble and not file.base_name.casefold().endswith(".json"))
            (submission.notebooks if is_notebook else submission.others).append(file)
    return list(submissions.values())


def _read_files(
    submission: CollectedSubmission, exported_file: ExportedFile, assignments: Sequence[str], zips: _LastZip
) -> Iterator[NotebookFile]:
    """A file, and where it is a zip the notebooks in it: one level."""
    if not exported_file.file:
        return
    try:
        data = exported_file.read()
        name = exported_file.file.rpartition("/")[2].casefold()
        file = NotebookFile(exported_file, hashlib.sha256(data).hexdigest(), len(data))
        if ".ipynb" not in name and not name.endswith(".json"):
            yield file
        elif normalize_name(exported_file.entry) in zips.exempt_entries or submission.may_read(len(data)):
            yield _inspect(file, data, assignments)
        else:
            yield replace(file, trouble=f"not read: {LIMIT_TEXT}", is_broken=True)
        if name.endswith(".zip"):
            yield from _read_zip(submission, exported_file, assignments, zips)
    except Refused as reason:
        submission.refusals.append((exported_file, str(reason)))


def _read_zip(
    submission: CollectedSubmission, outer: ExportedFile, assignments: Sequence[str], zips: _LastZip
) -> Iterator[NotebookFile]:
    """The notebooks in a zip; of very many those whose names are the most like ours. Raises Refused: the zip can't be read."""
    inner_archive = zips.open(outer)
    submission.refusals += [(outer, f"{name} in it, {reason}") for name, reason in inner_archive.refusals]
    notebooks = [one for one in inner_archive.entries if not one.is_folder and ".ipynb" in one.name.casefold()]
    notebooks.sort(key=lambda one: _original_name(one.name) not in assignments)
    skip_count = 0
    for entry in notebooks:
        is_exempt = normalize_name(f"{outer.entry}/{entry.name}") in zips.exempt_entries
        if not is_exempt and not submission.may_read(entry.size):
            skip_count += 1
            continue
        exported_file = replace(
            outer, entry=f"{outer.entry}/{entry.name}", file=entry.name, read=partial(zips.read, outer, entry.name)
        )
        try:
            data = entry.read()
        except Refused as reason:
            submission.refusals.append((exported_file, str(reason)))
        else:
            yield _inspect(NotebookFile(exported_file, hashlib.sha256(data).hexdigest(), len(data)), data, assignments)
    if skip_count:
        why = f"{skip_count:,} of the {len(notebooks):,} notebooks in it were not read: {LIMIT_TEXT}"
        submission.refusals.append((outer, why))


def _inspect(file: NotebookFile, data: bytes, assignments: Sequence[str]) -> NotebookFile:
    """A file that should be a notebook, with whose it is by most of its cells that are of ours."""
    try:
        notebook = parse(data, Limits())
    except Unreadable as reason:
        return replace(file, trouble=str(reason), is_broken=True)
    votes = [vote for vote in votes_of(notebook.cells) if vote[0] in assignments]
    if not votes or votes[0][1] < MIN_CELLS:
        return replace(file, trouble="not a notebook of this course")
    if len(votes) > 1 and votes[1][1] == votes[0][1]:
        return replace(file, trouble=f"it has as much of {votes[0][0]} as of {votes[1][0]}")
    name = votes[0][0]
    return replace(file, assignment=name, is_untouched=is_untouched(name, notebook))


def count_votes(submissions: Sequence[CollectedSubmission]) -> Counter[str]:
    """How many have handed in a notebook of each assignment."""
    return Counter(
        name for one in submissions for name in {file.assignment for file in _drop_untouched(one.notebooks)} if name
    )


def _drop_untouched(notebooks: Sequence[NotebookFile]) -> Sequence[NotebookFile]:
    """Without those in which nothing was done, where in another one something was."""
    return [file for file in notebooks if not file.is_untouched] or notebooks


def choose(
    submission: CollectedSubmission, assignment_by_entry: Mapping[str, str], assignments: Sequence[str]
) -> list[UnresolvedFile]:
    """Choose the notebook that counts, and say what a person has to look at: in a line a file, or in one for all where they are many.

    assignment_by_entry: by its name in the archive, of which assignment a person has said that a file is the notebook.
    """
    unresolved_files = _choose(submission, assignment_by_entry, assignments)
    if len(unresolved_files) <= MAX_LINES:
        return unresolved_files
    one = next((one for one in unresolved_files if one.suggestion), unresolved_files[0])
    first = one.trouble if one.trouble.endswith("?") else f"{one.trouble}."
    more = f"{len(unresolved_files) - 1:,} more of its files need a look; if another one counts, write its name in the column file"
    return [replace(one, trouble=f"{first} {more}")]


def _choose(
    submission: CollectedSubmission, assignment_by_entry: Mapping[str, str], assignments: Sequence[str]
) -> list[UnresolvedFile]:
    target = submission.target
    submission.assignment = target if target in assignments else ""
    unresolved_files = [
        UnresolvedFile(exported_file, f"refused, {reason}") for exported_file, reason in submission.refusals
    ]
    for file in submission.notebooks:
        if name := assignment_by_entry.get(file.exported_file.entry):
            submission.choice, submission.assignment = file, name
    if submission.choice:
        return unresolved_files
    if target and not submission.assignment:
        return [
            *unresolved_files,
            UnresolvedFile(submission.first, f"handed in as {in_a_line(target, 80)}, but there is no such assignment"),
        ]
    candidates = _drop_untouched([file for file in submission.notebooks if file.assignment == target])
    candidates = list({file.digest: file for file in reversed(candidates)}.values())[::-1]
    submission.choice = _choose_by_name(candidates, target)
    for file in candidates if len(candidates) > 1 else ():
        if submission.choice is None:
            unresolved_files.append(
                UnresolvedFile(
                    file.exported_file,
                    f"one of {len(candidates)} notebooks of {target}, and they differ: which one counts?",
                    target,
                )
            )
        elif file is not submission.choice:
            unresolved_files.append(
                UnresolvedFile(
                    file.exported_file, f"a second notebook of {target}; {submission.choice.base_name} counts", target
                )
            )
    for file in submission.notebooks:
        if file.assignment not in ("", target):
            if submission.choice and file.is_untouched:
                continue
            unresolved_files.append(
                UnresolvedFile(
                    file.exported_file, f"this is {file.assignment}, but it was handed in as {target}", file.assignment
                )
            )
        elif file.trouble and (file.is_broken or submission.choice is None):
            unresolved_files.append(UnresolvedFile(file.exported_file, file.trouble, target))
    if not submission.notebooks and not submission.refusals:
        unresolved_files.append(UnresolvedFile(submission.first, _describe_missing_notebook(submission)))
    return unresolved_files


def _choose_by_name(candidates: Sequence[NotebookFile], target: str) -> NotebookFile | None:
    """The one with the name that was handed out; else the one that was renamed from it; else, of several, none."""
    exact = [file for file in candidates if file.exported_file.file.rpartition("/")[2] == f"{target}.ipynb"]
    copies = [file for file in candidates if _original_name(file.exported_file.file) == target]
    return next((files[0] for files in (exact, copies, candidates) if len(files) == 1), None)


def _original_name(file: str) -> str:
    """What a file's name may have been before a browser or an LMS numbered it, without the extension; "" where it is no notebook's."""
    match = RENAMED.fullmatch(file.rpartition("/")[2])
    return match["name"] if match else ""


def _describe_missing_notebook(submission: CollectedSubmission) -> str:
    names = ", ".join(file.base_name for file in submission.others[:3])
    if len(submission.others) > 3:
        names += f" and {len(submission.others) - 3} more"
    remark = submission.first.remark or submission.first.time_note
    if not names:
        return remark or "nothing but an empty folder"
    remark = f" ({remark})" if remark else ""
    return f"no notebook: {names}{remark}; ask for the file {submission.target or 'NOTEBOOK'}.ipynb itself"
