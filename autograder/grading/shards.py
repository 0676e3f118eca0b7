"""The grades of a part of a class in files: made on any machine, without a gradebook, and entered later where the class is. Called by the command line.

A shard is the students whose names' hash falls to its number, so that any machine knows which they are. A file holds JSON: it can give points, and run no code.
"""

from __future__ import annotations

import glob
import hashlib
import json
import re
import threading
import unicodedata
from collections import defaultdict
from collections.abc import Callable, Iterable, Iterator, Sequence
from dataclasses import asdict, dataclass, field
from pathlib import Path
from typing import Annotated, Any, Literal

from pydantic import Field, TypeAdapter

from autograder import outline, untrusted_files
from autograder.class_folder import submitted_files
from autograder.class_folder.folder import ClassFolder
from autograder.class_folder.submitted_files import Submission
from autograder.engine import fingerprint, preparation, program
from autograder.engine.graded_submission import GradedSubmission
from autograder.engine.job import Job
from autograder.engine.submitted_notebook import Unreadable
from autograder.errors import UserError
from autograder.files import Batch
from autograder.grading import grade_class
from autograder.jail.limits import Limits
from autograder.jail.sandbox import Mode
from autograder.reference import draws, stored
from ffnlab.checking.verdict import Outcome, from_dict
from ffnlab.untrusted_text import in_a_line

FORMAT = 1
MAX_FILE_BYTES = 64 * 2**20  # bytes of a file: outputs are the largest part, and bounded
BATCH_SIZE = 50  # grades that are handed on at a time
ABOUT = ("shard", "student", "submission", "seeds", "version", "verdicts")  # what a file holds
# What it holds besides: these fields of GradedSubmission.
SUBMISSION_FIELDS = ("outputs", "printed", "looked_at", "remarks", "seconds", "host", "build")

Points = Annotated[float, Field(ge=0, allow_inf_nan=False)]


@dataclass
class _Aspect:
    """Of a verdict in a file; what else stands there is passed over."""

    name: str
    points: Points
    max_points: Points
    seen: str = ""
    told: str = ""


@dataclass
class _Verdict:
    exercise: str
    outcome: str
    aspects: list[_Aspect]
    mistake: str | None
    cause: str
    where: str
    likely: bool = False


@dataclass
class _ShardFile:
    """What a file holds. Whoever can write one can give points, and nothing else."""

    format: Literal[1]
    shard: str
    student: str
    submission: str
    seeds: str
    version: str
    verdicts: list[_Verdict]
    outputs: dict[str, list[dict[str, Any]]]
    printed: dict[str, str]
    looked_at: dict[str, str]
    remarks: list[str]
    seconds: Points
    host: str
    build: str


_FILE = TypeAdapter(_ShardFile)


@dataclass(frozen=True)
class Shard:
    """One of `count` parts of a class, numbered from 0 as arrays of jobs are."""

    number: int
    count: int

    @classmethod
    def of(cls, text: str) -> Shard:
        """The shard that is written as 3/10. Raises UserError."""
        match = re.fullmatch(r"(\d{1,5})/(\d{1,5})", text)
        if not match or not int(match[1]) < int(match[2]):
            raise UserError(f"{text} is no shard: write K/N, such as 0/10 to 9/10 for ten shards")
        return cls(int(match[1]), int(match[2]))

    def holds(self, student: str) -> bool:
        return int.from_bytes(hashlib.sha256(student.encode()).digest()[:8], "big") % self.count == self.number

    def __str__(self) -> str:
        return f"{self.number}/{self.count}"


@dataclass
class ShardSummary:
    """What became of a shard."""

    graded_count: int = 0  # now
    there: int = 0  # graded before
    problems: list[str] = field(default_factory=list)  # what could not be graded, a line each


def prepare(class_folder: ClassFolder, assignment: str) -> None:
    """Draw an assignment's hidden inputs and compute their reference outputs, where that has not been done: shards only read them."""
    preparation.prepare(assignment, class_folder.draws, class_folder.path)


def grade(
    class_folder: ClassFolder,
    assignment: str,
    shard: Shard,
    folder: Path,
    grader: grade_class.Grader,
    tell: Callable[[int], None] = lambda total: None,
    stop: threading.Event | None = None,
) -> ShardSummary:
    """Grade the submissions of an assignment that are in a shard, and write a file for each into `folder`. Those that are there already are left.

    tell: called after each, with the number of all in the shard.

    Raises:
        UserError: the hidden inputs have not been drawn, or for another version. KeyboardInterrupt: asked to stop.
    """
    seeds, reference = _load_preparation(class_folder, assignment)
    all_submissions = grade_class.find_submissions(class_folder, assignment)
    submissions = [submission for submission in all_submissions if shard.holds(submission.student)]
    summary = ShardSummary()
    key = draws.key_version(assignment)

    def jobs() -> Iterator[tuple[tuple[Submission, str], Job]]:
        for submission in submissions:
            try:
                data, trouble = submitted_files.read(submission, grader.limits.file)
            except OSError as error:
                summary.problems.append(f"{submission.student}: {untrusted_files.describe_error(error)}")
                tell(len(submissions))
                continue
            digest = submitted_files.digest(data)
            job = Job(assignment, data, seeds, grader.limits, key, reference, mode=grader.mode)
            path = _place(folder, assignment, submission.student, digest)
            if trouble or (path.is_file() and not _difference(_read(path), submission.student, digest, job)):
                summary.there += not trouble  # what is no notebook needs no grading
                tell(len(submissions))
            else:
                yield (submission, digest), job

    for batch in grader.grade_together(jobs(), stop):
        with Batch() as files:
            for (submission, digest), graded_submission in batch:
                if any(verdict.outcome is Outcome.NOT_GRADED for verdict in graded_submission.verdicts.values()):
                    summary.problems.append(f"{submission.student}: {'; '.join(graded_submission.remarks)}")
                else:
                    path = _place(folder, assignment, submission.student, digest)
                    files.write(path, _as_json(shard, submission.student, digest, seeds, graded_submission))
                    summary.graded_count += 1
                tell(len(submissions))
    if stop and stop.is_set():
        raise KeyboardInterrupt
    return summary


def _load_preparation(class_folder: ClassFolder, assignment: str) -> tuple[draws.SeedsByExercise, Path]:
    """The seeds of the hidden inputs, and the file with their reference outputs, as `prepare` has left them."""
    entry = draws.entries(class_folder.draws).get(assignment, {})
    if entry.get("holds_for") == draws.key_version(assignment):
        seeds = draws.ensure_hidden_seeds(assignment, class_folder.draws)
        if (reference := stored.class_file(class_folder.path, assignment, seeds)).is_file():
            return seeds, reference.resolve()
    raise UserError(
        f"{class_folder.path} has no hidden inputs of {assignment} for this version: "
        f"run {class_folder.command(f'shard prepare {assignment}')} where the class is, "
        f"and copy {draws.FILE} and {stored.FOLDER}/ from there"
    )


class ShardReader:
    """Grades in files, in the place of those who would make them.

    missing: the submissions for which no file fits, by shard, a line for each student. limits: of what is read.

    Raises:
        UserError: a folder is not there.
    """

    mode = Mode.BUBBLEWRAP
    run = staticmethod(preparation.run_here)

    def __init__(self, folders: Sequence[Path], limits: Limits) -> None:
        for folder in folders:
            if not folder.is_dir():
                raise UserError(f"{folder} is not a folder: name the one that `autograder shard grade` wrote into")
        self.limits = limits
        self.missing: dict[str, list[str]] = defaultdict(list)
        self._folders = folders
        shards = (
            content["shard"] for folder in folders for path in folder.glob("*/*.json") for content in [_read(path)]
        )
        self._count = Shard.of(next(shards, "0/1")).count

    def start(self) -> None:
        """There is nothing to start."""

    def grade_together(
        self, jobs: Iterable[tuple[tuple[Submission, str], Job]], stop: threading.Event | None = None
    ) -> Iterator[list[tuple[tuple[Submission, str], GradedSubmission]]]:
        """The grades of those jobs for which a file fits, some at a time.

        Raises:
            UserError: a file is damaged, or was made by another version or on other hidden inputs.
        """
        batch: list[tuple[tuple[Submission, str], GradedSubmission]] = []
        for (submission, digest), job in jobs:
            if stop and stop.is_set():
                break
            if graded_submission := self._find(submission.student, digest, job):
                batch.append(((submission, digest), graded_submission))
            if len(batch) == BATCH_SIZE:
                yield batch
                batch = []
        if batch:
            yield batch

    def _find(self, student: str, digest: str, job: Job) -> GradedSubmission | None:
        for folder in self._folders:
            path = _place(folder, job.assignment, student, digest)
            if path.is_file():
                content = _read(path)
                if trouble := _difference(content, student, digest, job):
                    raise UserError(f"{path} {trouble}: remove it, and grade its shard {content['shard']} again")
                try:
                    return _parse_submission(content, job)
                except (KeyError, TypeError, ValueError, AttributeError) as error:
                    raise _damage_error(path, error) from None
        name = f"{glob.escape(student)}.{'?' * DIGEST_LENGTH}.json"  # and not that of a student called "{student}.more"
        others = any(any(folder.glob(f"{job.assignment}/{name}")) for folder in self._folders)
        shards = (Shard(number, self._count) for number in range(self._count))
        shard = next(shard for shard in shards if shard.holds(student))
        self.missing[str(shard)].append(f"{student} (graded on a different submission)" if others else student)
        return None


DIGEST_LENGTH = 16  # of a submission's digest, in a file's name


def _place(folder: Path, assignment: str, student: str, digest: str) -> Path:
    return folder / assignment / f"{student}.{digest[:DIGEST_LENGTH]}.json"


def _as_json(
    shard: Shard, student: str, digest: str, seeds: draws.SeedsByExercise, graded_submission: GradedSubmission
) -> str:
    verdicts = [verdict.as_dict() for verdict in graded_submission.verdicts.values()]
    about = (str(shard), student, digest, _hash(seeds), str(fingerprint.HERE), verdicts)
    texts = (getattr(graded_submission, name) for name in SUBMISSION_FIELDS)
    return json.dumps({"format": FORMAT} | dict(zip((*ABOUT, *SUBMISSION_FIELDS), (*about, *texts), strict=True)))


def _hash(seeds: draws.SeedsByExercise) -> str:
    return hashlib.sha256(json.dumps(seeds, sort_keys=True).encode()).hexdigest()


def _read(path: Path) -> dict[str, Any]:
    """What a file holds. Raises UserError: it is damaged."""
    try:
        content = asdict(_FILE.validate_json(untrusted_files.read(path, MAX_FILE_BYTES), strict=True))
        Shard.of(content["shard"])
        return content
    except (UserError, OSError, ValueError) as error:  # pydantic's ValidationError is one
        raise _damage_error(path, error) from None


def _damage_error(path: Path, error: Exception) -> UserError:
    return UserError(f"{path} can't be read ({type(error).__name__}): remove it, and grade its shard again")


def _difference(content: dict[str, Any], student: str, digest: str, job: Job) -> str:
    """Why a file does not hold the grade of a job; empty where it does."""
    if (content["student"], content["submission"]) != (student, digest):
        return "is about another submission than its name says"
    if content["version"] != str(fingerprint.HERE):
        return f"was made by another version, {in_a_line(str(content['version']), 200)}, and this is {fingerprint.HERE}"
    if content["seeds"] != _hash(job.seeds):
        return "was graded on other hidden inputs than the class has"
    return ""


def _letters(value: object) -> Iterator[str]:
    """The letters of every text in JSON data."""
    if isinstance(value, str):
        yield from value
    elif isinstance(value, (list, dict)):
        for item in value.values() if isinstance(value, dict) else value:
            yield from _letters(item)


def _parse_submission(content: dict[str, Any], job: Job) -> GradedSubmission:
    """The grade in a file. The cells are rebuilt from the submission, so that a page shows what was handed in.

    Raises:
        ValueError: a verdict is of an exercise that is none of the notebook's, is missing, gives other points than there are, or says something else than its
            points do.
    """
    try:
        cells = program.plan(job.assignment, job.data, job.limits).cells
    except Unreadable:
        cells = ()
    verdicts = {verdict.exercise: verdict for verdict in map(from_dict, content["verdicts"])}
    exercises = {exercise.name: exercise for exercise in outline.of_notebook(job.assignment)}
    wanted = set(job.only) or exercises.keys()
    if verdicts.keys() != wanted or len(content["verdicts"]) != len(wanted):
        raise ValueError("verdicts")
    for name, verdict in verdicts.items():
        its = [(aspect.name, float(aspect.max_points)) for aspect in verdict.aspects]
        are_points = all(aspect.points <= aspect.max_points for aspect in verdict.aspects)
        if its != [(aspect.name, float(aspect.points)) for aspect in exercises[name].aspects] or not are_points:
            raise ValueError("points")
        is_full = all(aspect.points == aspect.max_points for aspect in verdict.aspects)
        if exercises[name].points and (verdict.outcome is Outcome.EARNED) != is_full:
            raise ValueError("outcome")
    if any(unicodedata.category(letter) == "Cc" and letter not in "\n\t" for letter in _letters(content["verdicts"])):
        raise ValueError("a control character")  # which a terminal would obey
    return GradedSubmission(job.assignment, verdicts, cells, **{name: content[name] for name in SUBMISSION_FIELDS})
