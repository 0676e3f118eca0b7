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
from collections.abc import Iterator, Mapping
from dataclasses import dataclass, replace
from hashlib import sha256
from importlib import metadata
from pathlib import Path
from typing import Any

import autograder
from autograder.desk import handed_in
from autograder.engine import pool, rebuild
from autograder.engine.graded import Graded
from autograder.engine.rebuild import Kind
from autograder.house import UserError, release
from autograder.jail.errors import JailBroken
from autograder.jail.limits import MIB, Limits
from autograder.jail.sandbox import Mode
from autograder.keys.problem import KeyProblem
from autograder.marking import outline
from autograder.marking.withheld import withheld
from ffnlab import exercises, panel
from ffnlab.cleaning import in_a_line
from ffnlab.verdict import Outcome, Verdict

SETTINGS, MARKINGS = "settings.json", "markings.safetensors"
SECONDS = 240.0  # for a submission's own computing: Gradescope ends a run after ten minutes, and half a core takes twice as long
OURS = 520 * MIB  # what the processes that grade take, beside a submission's own
LEAST = 96 * MIB  # of memory for a submission
MOST_FILES = 1_000
NOT_ATTEMPTED = (
    "There is no answer here: the cell is as it was handed out, or it is empty or deleted, or a line "
    "`raise NotImplementedError` (or `...`) is still in it."
)
CGROUPS = ("/sys/fs/cgroup/memory.max", "/sys/fs/cgroup/memory/memory.limit_in_bytes")


@dataclass(frozen=True)
class Settings:
    """What the zip was made with. seeds: of the hidden draws. key: its version. counts, extra: by exercise, whether its points count, or come on top."""

    assignment: str
    seeds: dict[str, tuple[int, ...]]
    key: str
    torch: str
    counts: dict[str, bool]
    extra: dict[str, bool]
    visibility: str = "visible"
    output_format: str = "text"

    @classmethod
    def read(cls, file: Path) -> Settings:
        told = json.loads(file.read_text(encoding="utf-8"))
        return cls(**{**told, "seeds": {name: tuple(drawn) for name, drawn in told["seeds"].items()}})


@dataclass(frozen=True)
class HandedIn:
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
        say(Path(home), checking="--check" in options)
    except (NotGraded, UserError, JailBroken, KeyProblem) as error:
        _fail(str(error))
    except Exception as error:
        traceback.print_exc()
        _fail(f"{type(error).__name__}: {error}")


def _fail(why: str) -> None:
    print(f"autograder: NOT GRADED, by no fault of the student's: {in_a_line(why, 1_000)}", flush=True)
    print(
        "autograder: no results.json was written, so this is no grade: mend it, and run the autograder again.",
        flush=True,
    )
    sys.exit(1)


def say(home: Path, checking: bool = False) -> None:
    """Grade one submission. home: Gradescope's /autograder."""
    start = time.monotonic()
    target = home / "results" / "results.json"
    target.unlink(missing_ok=True)
    private = Path(__file__).resolve().parents[2] / "class"
    settings = Settings.read(private / SETTINGS)
    if metadata.version("torch").split("+")[0] != settings.torch:
        raise NotGraded(
            f"torch {metadata.version('torch')} is installed here, and {settings.torch} was where this was made"
        )
    found = _blank(settings.assignment) if checking else find(settings.assignment, home / "submission")
    graded = None if found.trouble else grade(settings, found.data, private)
    if graded and any(verdict.outcome is Outcome.NOT_GRADED for verdict in graded.verdicts.values()):
        raise NotGraded("; ".join(graded.remarks) or "an exercise could not be judged")
    if checking:
        print(f"autograder: {settings.assignment} can be graded here, in {time.monotonic() - start:.0f} s", flush=True)
        return
    told = results(settings, found, graded, earlier(home / "submission_metadata.json"))
    told["execution_time"] = round(time.monotonic() - start, 1)
    write(target, told)
    print(f"autograder: {told['score']:g} points, in {told['execution_time']:g} s", flush=True)


def write(target: Path, told: Mapping[str, Any]) -> None:
    """Write the results whole or not at all, into a folder that others may write to."""
    target.parent.mkdir(parents=True, exist_ok=True)
    number, draft = tempfile.mkstemp(dir=target.parent)
    with open(number, "w", encoding="ascii") as file:
        json.dump(told, file, indent=1, allow_nan=False)
        file.flush()
        os.fsync(number)
    os.chmod(draft, 0o644)
    os.replace(draft, target)


# What was handed in


def find(assignment: str, folder: Path) -> HandedIn:
    """The notebook of an assignment among what was handed in: the one with its cells, whatever it is called."""
    most, expected = Limits().notebook, f"{assignment}.ipynb"
    files = {path: _read(path, most) for path in _notebooks(folder)}
    if not files:
        return HandedIn(trouble=f"There is no notebook in what you handed in. Hand in {expected}.")
    whose = {path: _whose(data, most) for path, data in files.items()}
    ours = [path for path, name in whose.items() if name == assignment]
    unreadable = [path for path, name in whose.items() if name is None]
    candidates = ours or unreadable
    named = [path for path in candidates if path.name == expected]
    if len(candidates) > 1 and len(named) != 1:
        names = ", ".join(_shown(path, folder) for path in candidates)
        return HandedIn(
            trouble=f"Several files may be your {assignment}: {names}. Hand in one of them, without the others."
        )
    if not candidates:
        return HandedIn(trouble=f"{_others(whose, folder)} Hand in {expected}.")
    chosen = (named or candidates)[0]
    notices = [f"Graded: {_shown(chosen, folder)}."] if chosen.name != expected else []
    rest = [_shown(path, folder) for path in files if path != chosen]
    notices += [f"Not looked at: {', '.join(rest)}."] if rest else []
    return HandedIn(_shown(chosen, folder), files[chosen], notices=tuple(notices))


def _notebooks(folder: Path) -> list[Path]:
    """Notebooks below the folder; what systems put beside files is none, and no link is followed."""
    found: list[Path] = []
    for place, folders, names in os.walk(folder):
        folders[:] = sorted(name for name in folders if name[0] != "." and name != "__MACOSX")
        found += [Path(place, name) for name in sorted(names) if name[0] != "." and name.casefold().endswith(".ipynb")]
        if len(found) > MOST_FILES:
            break
    return found[:MOST_FILES]


def _read(path: Path, most: int) -> bytes:
    try:
        return handed_in.read(path, most)
    except OSError:  # a link, a pipe: not a notebook, as the engine will say
        return b""


def _whose(data: bytes, most: int) -> str | None:
    """Which assignment's exercises a notebook holds, most of them; empty where it holds none; None where it can't be read."""
    try:
        cells = rebuild.parse(data, most)
    except rebuild.Unreadable:
        return None
    there = {cell["grade_id"].removeprefix("check-") for cell in cells} - {""}
    count = {name: len(there & {one.name for one in outline.of_notebook(name)}) for name in exercises.NOTEBOOKS}
    best = max(count, key=lambda name: count[name])
    return best if count[best] else ""


def _others(whose: Mapping[Path, str | None], folder: Path) -> str:
    said = [f"{_shown(path, folder)} is {f'the notebook {name}' if name else 'not a notebook of this course, or its cells have lost their names'}."
            for path, name in list(whose.items())[:5]]  # fmt: skip
    return " ".join(said)


def _shown(path: Path, folder: Path) -> str:
    return in_a_line(str(path.relative_to(folder)), 80)


def _blank(assignment: str) -> HandedIn:
    return HandedIn(f"{assignment}.ipynb", release(assignment).read_bytes())


def earlier(file: Path) -> list[float | None]:
    """The scores of earlier submissions, as Gradescope tells them; None where one has none."""
    try:
        told = json.loads(file.read_text(encoding="utf-8"))["previous_submissions"]
        return [_number(one.get("score")) for one in told]
    except (OSError, ValueError, LookupError, TypeError, AttributeError):
        return []


def _number(text: object) -> float | None:
    try:
        value = float(str(text))
    except ValueError:
        return None
    return value if math.isfinite(value) else None


# Its grade


def limits() -> Limits:
    """What a submission may use in this container."""
    return replace(Limits(), submission_seconds=SECONDS, memory=max(LEAST, min(Limits().memory, _memory() - OURS)))


def _memory() -> int:
    """Bytes of memory that there are here."""
    found = [os.sysconf("SC_PAGE_SIZE") * os.sysconf("SC_PHYS_PAGES")]
    for place in CGROUPS:
        try:
            found.append(int(Path(place).read_text(encoding="ascii")))
        except (OSError, ValueError):
            continue
    return min(found)


def grade(settings: Settings, data: bytes, private: Path) -> Graded:
    """The engine's grade of a notebook's bytes. private: what no submission may read. Raises NotGraded, and as `pool.graded` does."""
    job = pool.Job(
        settings.assignment,
        data,
        settings.seeds,
        limits(),
        settings.key,
        private / MARKINGS,
        mode=Mode.CONTAINER,
    )
    with pool.on_this_machine(1, job.limits, job.mode, (private,)) as team:
        for _, graded in pool.graded([("it", job)], team):
            return graded
    raise NotGraded("the engine has ended without a grade")


def results(settings: Settings, found: HandedIn, graded: Graded | None, before: list[float | None]) -> dict[str, Any]:
    """What Gradescope reads."""
    tests = list(_tests(settings, graded))
    score = round(math.fsum(test.get("score", 0.0) for test in tests), 6)
    trouble = next(iter(graded.verdicts.values())).seen if graded and not graded.cells else found.trouble
    return {
        "score": score,
        "output": "\n".join(_lines(settings, found, graded, trouble, score, before)),
        "output_format": "text",
        "test_output_format": settings.output_format,
        "visibility": settings.visibility,
        "stdout_visibility": "hidden",
        "tests": tests,
        "extra_data": {
            "assignment": settings.assignment,
            "attempt": len(before) + 1,
            "notebook": found.name,
            "sha256": sha256(found.data).hexdigest() if found.name else "",
            "autograder": autograder.__version__,
            "key": settings.key,
            "torch": metadata.version("torch"),
            "python": sys.version.split()[0],
            "jail": Mode.CONTAINER.value,
        },
    }


def _tests(settings: Settings, graded: Graded | None) -> Iterator[dict[str, Any]]:
    """One test an exercise. Where nothing could be read, none of them says so again."""
    for number, exercise in enumerate(outline.of_notebook(settings.assignment), 1):
        verdict = graded.verdicts[exercise.name] if graded else None
        test: dict[str, Any] = {
            "name": exercise.name,
            "number": str(number),
            "status": "passed" if verdict and verdict.outcome is Outcome.EARNED else "failed",
            "visibility": settings.visibility,
            "output_format": settings.output_format,
            "output": "",
            "extra_data": {"outcome": verdict.outcome.value if verdict else "not graded"},
        }
        if settings.counts.get(exercise.name, True):
            test["score"] = verdict.points if verdict else 0.0
            test["max_score"] = 0.0 if settings.extra.get(exercise.name) else round(exercise.points, 6)
        if graded and verdict and graded.cells:
            shown = _panel(settings.assignment, verdict)
            test["output"] = shown.html if settings.output_format == "html" else shown.text
            test["extra_data"]["mistake"] = verdict.mistake
        yield test


def _panel(assignment: str, verdict: Verdict) -> panel.Panel:
    """An exercise's panel, without what hidden inputs could be read off."""
    told = withheld(verdict)
    if told.outcome is Outcome.NOT_ATTEMPTED:
        mark, word = panel.MARKS[told.outcome]
        return panel.message(f"{mark} {told.exercise}: {word}", NOT_ATTEMPTED)
    return panel.of_verdict(told, outline.understood(assignment, told.exercise))


def _lines(
    settings: Settings, found: HandedIn, graded: Graded | None, trouble: str, score: float, before: list[float | None]
) -> Iterator[str]:
    listed = [one for one in outline.of_notebook(settings.assignment) if settings.counts.get(one.name, True)]
    most = math.fsum(one.points for one in listed if not settings.extra.get(one.name))
    if trouble:
        yield trouble
    yield f"{settings.assignment}: {score:g} of {most:g} points."
    if graded and graded.cells:
        yield from map(in_a_line, _remarks(graded))
    yield from found.notices
    left = [one.name for one in outline.of_notebook(settings.assignment) if one not in listed]
    if left:
        yield f"For practice, without points: {', '.join(left)}."
    by_hand = [cell.name for cell in rebuild.template(release(settings.assignment)) if cell.kind is Kind.MANUAL]
    if by_hand:
        yield f"Not in this score, as your instructor reads it: {', '.join(by_hand)}."
    if before:
        scores = ", ".join("–" if one is None else f"{one:g}" for one in before)
        yield f"This is attempt {len(before) + 1}; before: {scores}."


def _remarks(graded: Graded) -> list[str]:
    """What the engine remarked; how it was graded is in the results' data."""
    return [remark for remark in graded.remarks if not remark.startswith("graded with --jail")]
