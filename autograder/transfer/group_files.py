"""What was handed in together, and which of it is whose notebook: decided by the cells that a notebook holds, not by what it is called. Called by collect."""

from __future__ import annotations

import codecs
import hashlib
import re
from collections import Counter, defaultdict
from collections.abc import Callable, Collection, Iterator, Mapping, Sequence
from dataclasses import dataclass, field, replace

from autograder.class_folder.roster import Student
from autograder.engine.program import is_untouched, newer_python
from autograder.engine.released_notebook import votes as votes_of
from autograder.engine.submitted_notebook import Unreadable, parse
from autograder.jail.limits import MIB, Limits
from autograder.lms import archive
from autograder.lms.archive import ArchiveEntry, Refused, normalize_name
from autograder.lms.records import ExportedFile
from ffnlab.untrusted_text import in_a_line

MIN_CELLS = 2  # cells of ours that make a notebook one of ours
MAX_NOTEBOOKS = 20  # of one submission that are read, and
MAX_NOTEBOOK_BYTES = 2 * Limits().file  # all together
MAX_FILES = 1_000  # of one submission that are read, those first that are called notebooks, until they have
MAX_FILE_BYTES = 256 * MIB  # all together
# Of all submissions of one person's or account's: a file with holes in it takes room here that it took nobody there.
MAX_BYTES_OF_ONE = 1024 * MIB
LIMIT_TEXT = f"at most {MAX_NOTEBOOKS} of a submission are, with {MAX_NOTEBOOK_BYTES / 2**20:.0f} MiB in all"
MAX_DEPTH = 3  # of zips in zips that are opened,
MAX_PACKED = 20  # and how many of a submission, with
MAX_PACKED_BYTES = 256 * MIB  # all together
MAX_LINES = 3  # that a person gets for one submission, each about a file; more become one
RENAMED = re.compile(r"(?P<name>.+?)(?:-\d+| ?\(\d+\))?\.ipynb(?:\.txt|\.json)?", re.IGNORECASE)


@dataclass(frozen=True)
class NotebookFile:
    """A file that was handed in."""

    exported_file: ExportedFile
    digest: str
    size: int
    assignment: str = ""  # whose cells it has, if it is a notebook of ours
    trouble: str = ""  # what it is instead, if it should be one
    is_broken: bool = False
    is_untouched: bool = False  # whether it is a notebook of ours without an answer in it
    newer_python: str = ""  # what is to be said where it was written with a newer one than ours

    @property
    def can_count(self) -> bool:
        """Whether a person can make it count: what is called a notebook, and what can be read as one, whatever it is called."""
        return not self.is_broken or ".ipynb" in self.base_name.casefold()

    @property
    def base_name(self) -> str:
        return in_a_line(self.exported_file.file.rpartition("/")[2], 80)


@dataclass(frozen=True)
class UnresolvedFile:
    """Something that a person has to decide, about a file."""

    exported_file: ExportedFile
    trouble: str
    suggestion: str = ""  # what the answer may be


@dataclass
class CollectedSubmission:
    """A submission, as its files in the export make it."""

    first: ExportedFile  # its first file, which stands for all of it
    notebooks: list[NotebookFile] = field(default_factory=list)
    others: list[NotebookFile] = field(default_factory=list)
    refusals: list[tuple[ExportedFile, str]] = field(default_factory=list)
    students: list[Student] = field(default_factory=list)
    target: str = ""  # the assignment that it was handed in for
    notebook_count: int = 0  # looked at so far, and their bytes
    byte_count: int = 0
    packed_count: int = 0  # of packed files in packed files, opened so far, and their bytes
    packed_byte_count: int = 0
    file_count: int = 0  # read so far, and their bytes
    file_byte_count: int = 0
    choice: NotebookFile | None = None
    assignment: str = ""  # under which it is kept

    def may_read(self, size: int) -> bool:
        """Whether one more notebook of so many bytes is looked at; it is counted then."""
        if self.notebook_count == MAX_NOTEBOOKS or (
            self.notebook_count and self.byte_count + size > MAX_NOTEBOOK_BYTES
        ):
            return False
        self.notebook_count += 1
        self.byte_count += size
        return True

    def may_open(self, size: int) -> bool:
        """Whether one more packed file, in another one, is opened; it is counted then."""
        if self.packed_count == MAX_PACKED or self.packed_byte_count + size > MAX_PACKED_BYTES:
            return False
        self.packed_count += 1
        self.packed_byte_count += size
        return True


class _Packed:
    """The packed files of a student's that are being read: kept open, as their files come one after another, and these alone, as each is in memory."""

    def __init__(self, settled: Collection[str]) -> None:
        self.settled = settled
        self._outer: ExportedFile | None = None
        self._archives: dict[str, archive.Archive] = {}

    def open(self, outer: ExportedFile, path: tuple[str, ...]) -> archive.Archive:
        """What is in a student's packed file or, along a path, in one that is in it. Raises Refused: it can't be read."""
        if self._outer is not outer:
            self._outer = outer
            self._archives = {}
        key = "/".join(path)
        if key not in self._archives:
            entry = ArchiveEntry(outer.entry, 0, outer.read)
            if path:
                entry = next(inner for inner in self.open(outer, path[:-1]).entries if inner.name == path[-1])
            self._archives[key] = archive.open_packed(entry)
        return self._archives[key]


def group_files(
    exported_files: Sequence[ExportedFile],
    assignments: Sequence[str],
    keep: Callable[[bytes], Callable[[], bytes]],
    settled: Collection[str] = (),
) -> list[CollectedSubmission]:
    """The submissions, with every file read once.

    keep: takes what was read, and returns what reads it again. settled: names in the archive of files that a person has called a notebook: they are looked at,
    however many there are and whatever they are called.
    """
    by_submission: dict[tuple[str, str], list[ExportedFile]] = {}
    for exported_file in exported_files:
        by_submission.setdefault((exported_file.submitter, exported_file.submission_id), []).append(exported_file)
    packed = _Packed(settled)
    byte_counts: dict[str, int] = defaultdict(int)
    submissions = []
    for files in by_submission.values():
        whose = files[0].laid_by or files[0].submitter
        room = MAX_BYTES_OF_ONE - byte_counts[whose]
        submission = _read_submission(files, assignments, keep, packed, room)
        byte_counts[whose] += submission.file_byte_count
        submissions.append(submission)
    return submissions


def _read_submission(
    exported_files: Sequence[ExportedFile],
    assignments: Sequence[str],
    keep: Callable[[bytes], Callable[[], bytes]],
    packed: _Packed,
    room: int,
) -> CollectedSubmission:
    """room: how many bytes may still be read of what these people have handed in."""
    submission = CollectedSubmission(exported_files[0])
    skip_count = 0
    most = min(MAX_FILE_BYTES, room)
    for exported_file in sorted(exported_files, key=lambda file: not _is_called_notebook(file.file)):
        is_settled = normalize_name(exported_file.entry) in packed.settled
        is_full = submission.file_count >= MAX_FILES or submission.file_byte_count >= most
        if is_full and not is_settled:
            skip_count += 1
            continue
        for file, data in _read_files(submission, exported_file, assignments, packed):
            kept_file = replace(file, exported_file=replace(file.exported_file, read=keep(data)))
            if file.assignment or file.trouble:
                submission.notebooks.append(kept_file)
            else:
                submission.others.append(kept_file)
    if skip_count:
        why = f"{skip_count:,} of its {len(exported_files):,} files were not read: at most {MAX_FILES:,} are, or {MAX_FILE_BYTES / MIB:.0f} MiB"
        if most < MAX_FILE_BYTES:
            why += f", and {MAX_BYTES_OF_ONE / MIB:,.0f} MiB of all that one person hands in"
        submission.refusals.append((submission.first, why))
    return submission


def _read_files(
    submission: CollectedSubmission, exported_file: ExportedFile, assignments: Sequence[str], packed: _Packed
) -> Iterator[tuple[NotebookFile, bytes]]:
    """A file, and where others are packed in it the notebooks among them, with their bytes."""
    if not exported_file.file:
        return
    try:
        data = exported_file.read()
        submission.file_count += 1
        submission.file_byte_count += len(data)
        file = NotebookFile(exported_file, hashlib.sha256(data).hexdigest(), len(data))
        is_settled = normalize_name(exported_file.entry) in packed.settled
        if not (is_settled or _may_be_notebook(exported_file.file, data)):
            yield file, data
        elif is_settled or submission.may_read(len(data)):
            yield _inspect(file, data, assignments, is_settled), data
        else:
            yield replace(file, trouble=f"not read: {LIMIT_TEXT}", is_broken=True), data
        if archive.is_packed(exported_file.file):
            yield from _read_packed(submission, replace(exported_file, read=lambda: data), assignments, packed)
    except Refused as reason:
        submission.refusals.append((exported_file, str(reason)))


def _is_called_notebook(name: str) -> bool:
    return ".ipynb" in name.rpartition("/")[2].casefold()


def _may_be_notebook(name: str, data: bytes) -> bool:
    """Whether a file is looked at as a notebook: by its name, or because it begins as one does."""
    if archive.is_packed(name):
        return False
    return _is_called_notebook(name) or data[:100].removeprefix(codecs.BOM_UTF8).lstrip()[:1] == b"{"


def _read_packed(
    submission: CollectedSubmission,
    outer: ExportedFile,
    assignments: Sequence[str],
    packed: _Packed,
    path: tuple[str, ...] = (),
) -> Iterator[tuple[NotebookFile, bytes]]:
    """The notebooks in a packed file, with their bytes; of very many those whose names are the most like ours. Raises Refused: it can't be read."""
    inner_archive = packed.open(outer, path)
    inside = "".join(f"{name}/" for name in path)
    files = [entry for entry in inner_archive.entries if not entry.is_folder]
    candidates = [
        entry for entry in files if _may_be_packed_notebook(entry.name, f"{outer.entry}/{inside}{entry.name}", packed)
    ]
    candidates.sort(
        key=lambda entry: (_original_name(entry.name) not in assignments, not entry.name.casefold().endswith(".ipynb"))
    )
    skip_count = 0
    for entry in candidates:
        place = f"{outer.entry}/{inside}{entry.name}"
        is_settled = normalize_name(place) in packed.settled
        if not is_settled and not submission.may_read(entry.size):
            skip_count += 1
            continue
        exported_file = replace(outer, entry=place, file=f"{inside}{entry.name}")
        try:
            data = entry.read()
        except Refused as reason:
            submission.refusals.append((exported_file, str(reason)))
            continue
        if is_settled or _may_be_notebook(entry.name, data):
            file = NotebookFile(exported_file, hashlib.sha256(data).hexdigest(), len(data))
            yield _inspect(file, data, assignments, is_settled), data
    if skip_count:
        why = f"{skip_count:,} of the {len(candidates):,} notebooks in it were not read: {LIMIT_TEXT}"
        submission.refusals.append((outer, why))
    for entry in files:
        if not archive.is_packed(entry.name):
            continue
        if len(path) + 1 == MAX_DEPTH or not submission.may_open(entry.size):
            why = f"{inside}{entry.name} in it was not opened: of a submission at most {MAX_PACKED} packed files are, {MAX_DEPTH} deep"
            submission.refusals.append((outer, why))
            continue
        try:
            yield from _read_packed(submission, outer, assignments, packed, (*path, entry.name))
        except Refused as reason:
            submission.refusals.append((outer, f"{inside}{entry.name} in it: {reason}"))


def _may_be_packed_notebook(name: str, place: str, packed: _Packed) -> bool:
    """Whether a file in a packed one is read, to see whether it is a notebook: of a whole project, very few."""
    is_named_so = ".ipynb" in name.casefold() or name.casefold().endswith((".json", ".txt"))
    return (is_named_so and not archive.is_packed(name)) or normalize_name(place) in packed.settled


def _inspect(file: NotebookFile, data: bytes, assignments: Sequence[str], is_settled: bool = False) -> NotebookFile:
    """A file that may be a notebook, with whose it is by most of its cells that are of ours. One that is not called so, and is none, is another file."""
    is_called_so = _is_called_notebook(file.exported_file.file)
    try:
        notebook = parse(data, Limits())
    except Unreadable as reason:
        return replace(file, trouble=str(reason), is_broken=True) if is_called_so or is_settled else file
    votes = [vote for vote in votes_of(notebook.cells) if vote[0] in assignments]
    if not votes or votes[0][1] < MIN_CELLS:
        return replace(file, trouble="not a notebook of this course")
    if len(votes) > 1 and votes[1][1] == votes[0][1]:
        return replace(file, trouble=f"it has as much of {votes[0][0]} as of {votes[1][0]}")
    name = votes[0][0]
    newer = newer_python(notebook.python)
    return replace(file, assignment=name, is_untouched=is_untouched(name, notebook), newer_python=newer)


def count_votes(submissions: Sequence[CollectedSubmission]) -> Counter[str]:
    """How many have handed in a notebook of each assignment."""
    votes = Counter[str]()
    for submission in submissions:
        names = {file.assignment for file in _drop_untouched(submission.notebooks)}
        votes.update(names - {""})
    return votes


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
    shown = next((unresolved for unresolved in unresolved_files if unresolved.suggestion), unresolved_files[0])
    first = shown.trouble if shown.trouble.endswith("?") else f"{shown.trouble}."
    more = f"{len(unresolved_files) - 1:,} more of its files need a look; if another one counts, write its name in the column file"
    return [replace(shown, trouble=f"{first} {more}")]


def _choose(
    submission: CollectedSubmission, assignment_by_entry: Mapping[str, str], assignments: Sequence[str]
) -> list[UnresolvedFile]:
    target = submission.target
    submission.assignment = target if target in assignments else ""
    unresolved_files = [
        UnresolvedFile(exported_file, f"refused, {reason}") for exported_file, reason in submission.refusals
    ]
    for file in submission.notebooks:
        if (name := assignment_by_entry.get(file.exported_file.entry)) and file.can_count:
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
            trouble = f"one of {len(candidates)} notebooks of {target}, and they differ: which one counts?"
            unresolved_files.append(UnresolvedFile(file.exported_file, trouble, target))
        elif file is not submission.choice:
            trouble = f"a second notebook of {target}; {submission.choice.base_name} counts"
            unresolved_files.append(UnresolvedFile(file.exported_file, trouble, target))
    for file in submission.notebooks:
        if file.assignment not in ("", target):
            if submission.choice and file.is_untouched:
                continue
            trouble = f"this is {file.assignment}, but it was handed in as {target}"
            unresolved_files.append(UnresolvedFile(file.exported_file, trouble, file.assignment))
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
    if any(file.base_name.casefold().endswith(archive.NOT_OPENED) for file in submission.others):
        return f"no notebook that can be opened here: {names}{remark}; ask for the file {submission.target or 'NOTEBOOK'}.ipynb itself, or for a zip"
    return f"no notebook: {names}{remark}; ask for the file {submission.target or 'NOTEBOOK'}.ipynb itself"
