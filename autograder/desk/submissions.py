"""What was handed in together, and which of it is whose notebook: decided by the cells that a notebook holds, not by what it is called. Called by collect."""

from __future__ import annotations

import hashlib
import re
from collections import Counter
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, field, replace
from functools import partial

from autograder.desk.lms import archive
from autograder.desk.lms.archive import Entry, Refused
from autograder.desk.lms.handin import HandIn
from autograder.desk.roster import Student
from autograder.engine import rebuild
from autograder.jail.limits import Limits
from ffnlab.cleaning import in_a_line

FEWEST = 2  # cells of ours that make a notebook one of ours
RENAMED = re.compile(r"(?P<name>.+?)(?:-\d+| ?\(\d+\))?\.ipynb", re.IGNORECASE)


@dataclass(frozen=True)
class File:
    """A file that was handed in. assignment: whose cells it has, if it is a notebook of ours. trouble: what it is instead, if it should be one."""

    hand_in: HandIn
    digest: str
    size: int
    assignment: str = ""
    trouble: str = ""
    is_broken: bool = False

    @property
    def called(self) -> str:
        return in_a_line(self.hand_in.file.rpartition("/")[2], 80)


@dataclass(frozen=True)
class Asked:
    """Something that a person has to settle, about a file. suggestion: what the answer may be."""

    hand_in: HandIn
    trouble: str
    suggestion: str = ""


@dataclass
class Submission:
    """What somebody handed in at one time. first: its first file, which stands for all of it. expected: the assignment that it was handed in for."""

    first: HandIn
    notebooks: list[File] = field(default_factory=list)
    others: list[File] = field(default_factory=list)
    refused: list[tuple[HandIn, str]] = field(default_factory=list)
    students: list[Student] = field(default_factory=list)
    expected: str = ""
    chosen: File | None = None
    assignment: str = ""  # under which it is kept


def together(hand_ins: Sequence[HandIn], assignments: Sequence[str]) -> list[Submission]:
    """The submissions, with every file read once."""
    found: dict[tuple[str, str], Submission] = {}
    for hand_in in hand_ins:
        submission = found.setdefault((hand_in.who, hand_in.attempt), Submission(hand_in))
        for file in _files(submission, hand_in, assignments):
            is_notebook = file.assignment or (file.trouble and not file.called.casefold().endswith(".json"))
            (submission.notebooks if is_notebook else submission.others).append(file)
    return list(found.values())


def _files(
    submission: Submission, hand_in: HandIn, assignments: Sequence[str], is_inner: bool = False
) -> Iterator[File]:
    """A file, and where it is a zip the notebooks in it: one level."""
    if not hand_in.file:
        return
    try:
        data = hand_in.read()
        name = hand_in.file.rpartition("/")[2].casefold()
        file = File(hand_in, hashlib.sha256(data).hexdigest(), len(data))
        yield _looked_at(file, data, assignments) if ".ipynb" in name or name.endswith(".json") else file
        if not name.endswith(".zip") or is_inner:
            return
        inner = archive.inside(Entry(hand_in.entry, len(data), lambda: data))
    except Refused as reason:
        submission.refused.append((hand_in, str(reason)))
        return
    submission.refused += [(hand_in, f"{name} in it, {reason}") for name, reason in inner.refused]
    for entry in inner.entries:
        if not entry.is_folder and ".ipynb" in entry.name.casefold():
            read = partial(_inner, hand_in, entry.name)  # anew, so that no student's zip stays in memory
            one = replace(hand_in, entry=f"{hand_in.entry}/{entry.name}", file=entry.name, read=read)
            yield from _files(submission, one, assignments, is_inner=True)


def _inner(outer: HandIn, name: str) -> bytes:
    """A file in a zip that a student handed in."""
    return next(one for one in archive.inside(Entry(outer.entry, 0, outer.read)).entries if one.name == name).read()


def _looked_at(file: File, data: bytes, assignments: Sequence[str]) -> File:
    """A file that should be a notebook, with whose it is by most of its cells that are of ours."""
    try:
        cells = rebuild.parse(data, Limits().notebook)
    except rebuild.Unreadable as reason:
        return replace(file, trouble=str(reason), is_broken=True)
    votes = [vote for vote in rebuild.votes(cells) if vote[0] in assignments]
    if not votes or votes[0][1] < FEWEST:
        return replace(file, trouble="not a notebook of this course")
    if len(votes) > 1 and votes[1][1] == votes[0][1]:
        return replace(file, trouble=f"as much of {votes[0][0]} as of {votes[1][0]}")
    return replace(file, assignment=votes[0][0])


def votes_of(submissions: Sequence[Submission]) -> Counter[str]:
    """How many have handed in a notebook of each assignment."""
    return Counter(name for one in submissions for name in {file.assignment for file in one.notebooks} if name)


def choose(submission: Submission, said: Mapping[str, str], assignments: Sequence[str]) -> list[Asked]:
    """Choose the notebook that counts, and say what a person has to look at.

    said: by its name in the archive, of which assignment a person has said that a file is the notebook.
    """
    expected = submission.expected
    submission.assignment = expected if expected in assignments else ""
    asked = [Asked(hand_in, f"refused, {reason}") for hand_in, reason in submission.refused]
    for file in submission.notebooks:
        if name := said.get(file.hand_in.entry):
            submission.chosen, submission.assignment = file, name
    if submission.chosen:
        return asked
    if expected and not submission.assignment:
        return [
            *asked,
            Asked(submission.first, f"handed in as {in_a_line(expected, 80)}, and there is no such assignment"),
        ]
    fitting = [file for file in submission.notebooks if file.assignment == expected]
    fitting = list({file.digest: file for file in reversed(fitting)}.values())[::-1]
    submission.chosen = _by_name(fitting, expected)
    for file in fitting if len(fitting) > 1 else ():
        if submission.chosen is None:
            asked.append(
                Asked(
                    file.hand_in,
                    f"one of {len(fitting)} notebooks of {expected}, and they differ: which one counts?",
                    expected,
                )
            )
        elif file is not submission.chosen:
            asked.append(
                Asked(file.hand_in, f"a second notebook of {expected}, and {submission.chosen.called} counts", expected)
            )
    for file in submission.notebooks:
        if file.assignment not in ("", expected):
            asked.append(Asked(file.hand_in, f"this is {file.assignment}, handed in as {expected}", file.assignment))
        elif file.trouble and (file.is_broken or submission.chosen is None):
            asked.append(Asked(file.hand_in, file.trouble, expected))
    if not submission.notebooks and not submission.refused:
        asked.append(Asked(submission.first, _without_notebook(submission)))
    return asked


def _by_name(fitting: Sequence[File], expected: str) -> File | None:
    """The one with the name that was handed out; else the one that was renamed from it; else, of several, none."""
    exact = [file for file in fitting if file.hand_in.file.rpartition("/")[2] == f"{expected}.ipynb"]
    renamed = [
        file
        for file in fitting
        if (match := RENAMED.fullmatch(file.hand_in.file.rpartition("/")[2])) and match["name"] == expected
    ]
    return next((found[0] for found in (exact, renamed, fitting) if len(found) == 1), None)


def _without_notebook(submission: Submission) -> str:
    names = ", ".join(file.called for file in submission.others[:3])
    if len(submission.others) > 3:
        names += f" and {len(submission.others) - 3} more"
    if not names:
        return submission.first.remark or "nothing but an empty folder"
    return f"no notebook: {names}" + (f" ({submission.first.remark})" if submission.first.remark else "")
