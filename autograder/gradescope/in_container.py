"""What runs in Gradescope's container, from the zip that `autograder gradescope` makes: one submission in, results.json out. run_autograder calls `main`.

Gradescope's contract: gradescope-autograders.readthedocs.io, "specs". A grade is written last and at once; what is our fault writes none, so that
Gradescope calls the run failed, and ends with status 1 and a line that says why.
"""

from __future__ import annotations

import json
import math
import os
import sys
import tempfile
import time
import traceback
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, field, replace
from hashlib import sha256
from importlib import metadata
from pathlib import Path
from typing import Any

import autograder
from autograder import outline, untrusted_files
from autograder.engine import pool
from autograder.engine.graded_submission import GradedSubmission
from autograder.engine.job import Job
from autograder.engine.released_notebook import which
from autograder.engine.submitted_notebook import Unreadable, parse
from autograder.errors import UserError
from autograder.jail.errors import JailBroken
from autograder.jail.limits import MIB, Limits
from autograder.jail.sandbox import Mode
from autograder.keys.problem import KeyProblem
from autograder.paths import release
from autograder.redaction import panels
from autograder.reference import draws
from ffnlab.checking.verdict import Outcome
from ffnlab.untrusted_text import in_a_line

SETTINGS, REFERENCE_FILE = "settings.json", "markings.safetensors"
GRADER_MEMORY = 520 * MIB  # what the processes that grade take, beside a submission's own
MIN_MEMORY = 96 * MIB  # for a submission
MAX_NOTEBOOKS = 50  # in one submission
MAX_METADATA = 64 * MIB  # it holds all earlier results
CGROUPS = ("/sys/fs/cgroup/memory.max", "/sys/fs/cgroup/memory/memory.limit_in_bytes")


@dataclass(frozen=True)
class Settings:
    """What the zip was made with."""

    assignment: str
    seeds: draws.SeedsByExercise  # of the hidden draws
    key: str  # its version
    torch: str
    practice: Sequence[str] = ()  # exercises without points
    extra: Sequence[str] = ()  # those whose points come on top
    by_hand: Mapping[str, float] = field(default_factory=dict)  # questions that a person reads, with their points
    visibility: str = "visible"  # in Gradescope's words
    output_format: str = "text"  # in Gradescope's words
    limits: Mapping[str, Any] = field(default_factory=dict)  # those that are not the usual ones, by name

    @classmethod
    def read(cls, file: Path) -> Settings:
        fields = json.loads(file.read_text(encoding="utf-8"))
        return cls(**{**fields, "seeds": {name: tuple(case_seeds) for name, case_seeds in fields["seeds"].items()}})

    @property
    def max_points(self) -> float:
        """Of the exercises that are graded here; extra credit comes on top."""
        return math.fsum(map(self.max_score, outline.of_notebook(self.assignment)))

    def max_score(self, exercise: outline.Outline) -> float:
        """The maximum of one exercise."""
        return 0.0 if exercise.name in (*self.practice, *self.extra) else round(exercise.points, 6)


@dataclass(frozen=True)
class NotebookToGrade:
    """What is graded of a submission's files: a notebook's bytes, or the reason why there is none; with what its student should know."""

    name: str = ""
    data: bytes = b""
    trouble: str = ""
    notices: tuple[str, ...] = ()


class NotGraded(Exception):
    """Our fault: nobody gets a grade from this run."""


def main() -> None:
    """Grade what lies in the folder that is given, and write its results; with `--check` beside it, try with the notebook as it was handed out."""
    home, *options = sys.argv[1:]
    try:
        run(Path(home), checking="--check" in options)
    except (NotGraded, UserError, JailBroken, KeyProblem) as error:
        _fail(str(error))
    except Exception as error:
        traceback.print_exc()
        _fail(f"{type(error).__name__}: {error}")


def _fail(reason: str) -> None:
    print(f"autograder: NOT GRADED, and the student is not at fault: {in_a_line(reason, 1_000)}")
    print("autograder: no results.json was written, so there is no grade. Fix the cause, and run the autograder again.")
    sys.exit(1)


def run(home: Path, checking: bool = False) -> None:
    """Grade one submission. home: Gradescope's /autograder. Raises NotGraded, and as `pool.grade_one_by_one` does."""
    start = time.monotonic()
    target, about = home / "results" / "results.json", home / "submission_metadata.json"
    target.unlink(missing_ok=True)
    private = Path(__file__).resolve().parents[2] / "class"
    settings = Settings.read(private / SETTINGS)
    version = metadata.version("torch").split("+")[0]
    if version != settings.torch:
        raise NotGraded(f"torch {version} is installed here, but this autograder was made with {settings.torch}")
    if checking:
        grade(settings, release(settings.assignment).read_bytes(), private)
        print(f"autograder: {settings.assignment} can be graded here, in {time.monotonic() - start:.0f} s")
        return
    _keep_others_out(home, target.parent, about)
    notebook = find(settings.assignment, home / "submission")
    graded_submission = None if notebook.trouble else grade(settings, notebook.data, private, about)
    content = results(settings, notebook, graded_submission)
    content["execution_time"] = round(time.monotonic() - start, 1)
    write(target, content)
    print(f"autograder: {content['score']:g} points, in {content['execution_time']:g} s")
    for line in _doubts(settings, about):
        print(f"autograder: {line}")


def _keep_others_out(home: Path, folder: Path, about: Path) -> None:
    """A submission runs as another user: it may neither write results nor read the earlier ones, which may be hidden from its student."""
    folder.mkdir(exist_ok=True)
    home.chmod(0o755)
    folder.chmod(0o755)
    if about.exists():
        about.chmod(0o600)


def write(target: Path, content: Mapping[str, Any]) -> None:
    """Write the results whole or not at all."""
    number, draft = tempfile.mkstemp(dir=target.parent)
    with open(number, "w", encoding="ascii") as file:
        json.dump(content, file, indent=1, allow_nan=False)
        file.flush()
        os.fsync(number)
    os.chmod(draft, 0o644)
    os.replace(draft, target)


def _doubts(settings: Settings, about: Path) -> Iterator[str]:
    """What the instructor should look at: an assignment there that has another maximum than this one."""
    try:
        total = float(json.loads(untrusted_files.read(about, MAX_METADATA))["assignment"]["total_points"])
    except (OSError, ValueError, LookupError, TypeError):
        return
    max_points, by_hand = settings.max_points, math.fsum(settings.by_hand.values())
    if total not in (max_points, max_points + by_hand):
        yield (
            f"the assignment has {total:g} points on Gradescope, and {max_points:g} here"
            + (f", {max_points + by_hand:g} with what a person reads" if by_hand else "")
            + ": set it there"
        )


# What was handed in


def find(assignment: str, folder: Path) -> NotebookToGrade:
    """The notebook of an assignment among what was handed in, whatever it is called: known by its cells, as in a class."""
    file_name, paths = f"{assignment}.ipynb", _notebooks(folder)
    if not paths:
        return NotebookToGrade(trouble=f"Your submission has no notebook. Hand in {file_name}.")
    if len(paths) > MAX_NOTEBOOKS:
        return NotebookToGrade(trouble=f"Your submission has more than {MAX_NOTEBOOKS} notebooks. Hand in {file_name}.")
    identities = {path: _identify(path) for path in paths}
    candidates = [path for path, (notebook, _) in identities.items() if notebook == assignment]
    candidates = candidates or [
        path for path, (notebook, trouble) in identities.items() if not notebook and not trouble
    ]
    if len(candidates) > 1:
        candidates = [path for path in candidates if path.name == file_name] or candidates
    if len(candidates) > 1:
        names = ", ".join(_path_text(path, folder) for path in candidates)
        return NotebookToGrade(trouble=f"Several files could be your {assignment}: {names}. Hand in only one of them.")
    if not candidates:
        sentences = [
            f"{_path_text(path, folder)} {trouble or f'is the notebook {notebook}'}."
            for path, (notebook, trouble) in identities.items()
        ]
        return NotebookToGrade(trouble=" ".join([*sentences[:5], f"Hand in {file_name}."]))
    return _one(
        candidates[0],
        [path for path in paths if path != candidates[0]],
        folder,
        file_name,
        bool(identities[candidates[0]][0]),
    )


def _one(path: Path, others: Sequence[Path], folder: Path, file_name: str, is_known: bool) -> NotebookToGrade:
    """The notebook that is graded, with what its student should know of it."""
    name, notices = _path_text(path, folder), []
    if name != file_name:
        notices.append(f"Graded: {name}.")
    if not is_known:
        notices.append(f"It has hardly any cell of {file_name}. Is it the file that you meant?")
    if others:
        notices.append(f"Ignored: {', '.join(_path_text(other, folder) for other in others)}.")
    return NotebookToGrade(name, untrusted_files.read(path, Limits().file), notices=tuple(notices))


def _notebooks(folder: Path) -> list[Path]:
    """Notebooks below the folder, also with a browser's .txt behind the name; what systems put beside files is none, and no link is followed."""
    paths: list[Path] = []
    for place, folders, names in os.walk(folder):
        folders[:] = sorted(name for name in folders if name[0] != "." and name != "__MACOSX")
        paths += [Path(place, name) for name in sorted(names) if name[0] != "." and ".ipynb" in name.casefold()]
        if len(paths) > MAX_NOTEBOOKS:
            break
    return paths


def _identify(path: Path) -> tuple[str, str]:
    """Which notebook of the course a file is, empty where it is none; and why it can't be read, where it can't."""
    try:
        return which(parse(untrusted_files.read(path, Limits().file), Limits()).cells), ""
    except OSError as error:
        return "", f"can't be read: {error.strerror}"
    except Unreadable as error:
        return "", f"can't be read: {error}"


def _path_text(path: Path, folder: Path) -> str:
    return in_a_line(str(path.relative_to(folder)), 80)


# Its grade


def limits(settings: Settings) -> Limits:
    """What a submission may use in this container."""
    usual = replace(Limits(), **settings.limits)
    return replace(usual, memory=max(MIN_MEMORY, min(usual.memory, _memory() - GRADER_MEMORY)))


def _memory() -> int:
    """Bytes of memory that there are here."""
    sizes = [os.sysconf("SC_PAGE_SIZE") * os.sysconf("SC_PHYS_PAGES")]
    for place in CGROUPS:
        try:
            sizes.append(int(Path(place).read_text(encoding="ascii")))
        except (OSError, ValueError):
            continue
    return min(sizes)


def grade(settings: Settings, data: bytes, private: Path, *more: Path) -> GradedSubmission:
    """The engine's grade of a notebook's bytes. private, more: what no submission may read. Raises NotGraded, and as `pool.grade_one_by_one` does."""
    job = Job(
        settings.assignment,
        data,
        settings.seeds,
        limits(settings),
        settings.key,
        private / REFERENCE_FILE,
        mode=Mode.CONTAINER,
    )
    with pool.on_this_machine(1, job.limits, job.mode, (private, *more)) as team:
        _, graded_submission = next(pool.grade_one_by_one([("it", job)], team), ("it", None))
    if graded_submission is None:
        raise NotGraded("the engine ended without a grade")
    if any(verdict.outcome is Outcome.NOT_GRADED for verdict in graded_submission.verdicts.values()):
        raise NotGraded("; ".join(graded_submission.remarks) or "an exercise could not be judged")
    return graded_submission


# What Gradescope reads


def results(
    settings: Settings, notebook: NotebookToGrade, graded_submission: GradedSubmission | None
) -> dict[str, Any]:
    """All of results.json but the time that it took."""
    tests = [
        _test(settings, number, exercise, graded_submission)
        for number, exercise in enumerate(outline.of_notebook(settings.assignment), 1)
    ]
    score = round(math.fsum(test.get("score", 0.0) for test in tests), 6)
    return {
        "score": score,
        "output": "\n".join(_lines(settings, notebook, graded_submission, score)),
        "output_format": "text",
        "test_output_format": settings.output_format,
        "visibility": settings.visibility,
        "stdout_visibility": "hidden",
        "tests": tests,
        "extra_data": {
            "assignment": settings.assignment,
            "notebook": notebook.name,
            "sha256": sha256(notebook.data).hexdigest() if notebook.name else "",
            "autograder": autograder.__version__,
            "key": settings.key,
            "torch": metadata.version("torch"),
            "python": sys.version.split()[0],
            "jail": Mode.CONTAINER.value,
        },
    }


def _test(
    settings: Settings, number: int, exercise: outline.Outline, graded_submission: GradedSubmission | None
) -> dict[str, Any]:
    """An exercise as one of Gradescope's tests. Where nothing could be read, its output is empty: the reason is said once, above."""
    verdict = graded_submission.verdicts[exercise.name] if graded_submission else None
    test: dict[str, Any] = {
        "name": exercise.name,
        "number": str(number),
        "status": "passed" if verdict and verdict.outcome is Outcome.EARNED else "failed",
        "visibility": settings.visibility,
        "output_format": settings.output_format,
        "output": "",
    }
    if exercise.name not in settings.practice:
        test["score"] = verdict.points if verdict else 0.0
        test["max_score"] = settings.max_score(exercise)
    if verdict:
        panel = panels.panel_for(settings.assignment, verdict)
        test["output"] = panel.html if settings.output_format == "html" else panel.text
        test["extra_data"] = {"outcome": verdict.outcome.value, "mistake": verdict.mistake}
    return test


def _lines(
    settings: Settings, notebook: NotebookToGrade, graded_submission: GradedSubmission | None, score: float
) -> Iterator[str]:
    """What stands above the tests."""
    if notebook.trouble:
        yield notebook.trouble
    yield f"{settings.assignment}: {score:g} of {settings.max_points:g} points."
    if graded_submission:
        remarks = graded_submission.remarks
        yield from (in_a_line(remark) for remark in remarks if not remark.startswith("graded with --jail"))
    yield from notebook.notices
    if settings.practice:
        yield f"Practice, without points: {', '.join(settings.practice)}."
    if settings.extra:
        yield f"Extra credit, on top of the maximum: {', '.join(settings.extra)}."
    if settings.by_hand:
        yield f"Your instructor reads these, so they are not in this score: {', '.join(settings.by_hand)}."
