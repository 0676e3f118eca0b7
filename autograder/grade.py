"""One submission: rebuilt, run in the jail cell by cell, and judged outside at each check. The conductor."""

from __future__ import annotations

import atexit
import threading
import time
from dataclasses import dataclass, field
from functools import cache
from typing import Any

from autograder import draws, inbox, judge
from autograder.house import UserError, release
from autograder.inbox import Cell, Kind
from autograder.jail.limits import Limits
from autograder.jail.sandbox import Budget, Gate, Jail, JailBroken, Overrun, Worker, question
from ffnlab import exercises
from ffnlab.exercise import Exercise
from ffnlab.plain import Failure
from ffnlab.verdict import Outcome, Verdict, not_attempted, not_earned, not_graded
from ffnlab.verdict import judge as compare

Outputs = list[dict[str, Any]]


@dataclass
class Graded:
    """A graded submission: a verdict for every exercise, and each cell's outputs as they were when it ran."""

    assignment: str
    verdicts: dict[str, Verdict]
    cells: tuple[Cell, ...] = ()
    outputs: dict[str, Outputs] = field(default_factory=dict)  # by cell id
    printed: dict[str, str] = field(default_factory=dict)  # by exercise: what its code printed when it was probed
    remarks: list[str] = field(default_factory=list)
    seconds: float = 0.0

    @property
    def points(self) -> float:
        return sum(verdict.points for verdict in self.verdicts.values())

    @property
    def max_points(self) -> float:
        return sum(verdict.max_points for verdict in self.verdicts.values())


def grade_submission(
    assignment: str, data: bytes, jail: Gate, seeds: draws.Seeds, only: tuple[str, ...] = ()
) -> Graded:
    """Grade the bytes of one submitted notebook on the hidden draws `seeds`. Whatever it contains, this returns.

    only: the exercises to judge; empty for all. The whole notebook runs either way.

    Raises:
        JailBroken: our fault; nothing can be graded.
    """
    start = time.monotonic()
    listed = [e for e in exercises.of_notebook(assignment) if not only or e.name in only]
    names = {exercise.name for exercise in listed}
    try:
        rebuilt = inbox.rebuild(assignment, data, jail.limits.notebook)
    except inbox.Unreadable as error:
        reason = f"The submission could not be read: {error}."
        return Graded(assignment, {e.name: not_earned(e, reason) for e in listed}, remarks=[str(error)])
    graded = Graded(assignment, {}, rebuilt.cells, remarks=list(rebuilt.remarks))
    with _Session(jail) as session:
        for cell in rebuilt.cells:
            if cell.kind is Kind.CHECK:
                if cell.name not in names:
                    continue
                verdict, printed = session.judge(exercises.find(cell.name), seeds[cell.name])
                graded.verdicts[cell.name] = verdict
                graded.printed[cell.name] = printed
            elif cell.kind in (Kind.OURS, Kind.EXTRA) or (cell.kind is Kind.SOLUTION and not cell.missing):
                graded.outputs[cell.id] = session.run(cell)
    for exercise in listed:
        graded.verdicts.setdefault(exercise.name, not_graded(exercise, "Its check is not in our notebook."))
    graded.seconds = time.monotonic() - start
    return graded


class _Session:
    """The worker of one submission. When a cell or a probe overruns, a fresh worker replays what ran before, without the culprit."""

    def __init__(self, jail: Gate) -> None:
        self._jail = jail
        self._budget = Budget(jail.limits.submission_seconds)
        self._worker = jail.fork(self._budget)
        self._history: list[str] = []
        self._trouble: dict[str, str] = {}  # by exercise: why its cell did not run to its end
        self._untouched: set[str] = set()

    def __enter__(self) -> _Session:
        return self

    def __exit__(self, *_: object) -> None:
        self._worker.kill()

    def run(self, cell: Cell) -> Outputs:
        """Run a cell; returns its outputs, an error among them."""
        if cell.untouched:
            self._untouched.add(cell.name)
        try:
            answer = self._worker.run(cell.source)
        except Overrun as overrun:
            self._trouble[cell.name] = str(overrun)
            self._start_again()
            return [_error("Stopped", str(overrun))]
        self._history.append(cell.source)
        error = answer.get("error") or answer.get("broken")
        outputs = _outputs(answer.get("outputs"))
        if isinstance(error, Failure):
            where = f" ({error.line})" if error.line else ""
            self._trouble[cell.name] = f"Its cell ended in {_in_words(error)}{where}."
            outputs.append(_error(error.type, error.message))
        return outputs

    def judge(self, exercise: Exercise, seeds: tuple[int, ...]) -> tuple[Verdict, str]:
        """Probe the answer to an exercise and judge what it does. Returns the verdict and what its code printed."""
        try:
            seen = self._worker.probe(_question(exercise.name, seeds))
        except Overrun as overrun:
            self._start_again()
            return not_earned(exercise, str(overrun)), ""
        printed = seen.get("printed")
        printed = printed if isinstance(printed, str) else ""
        if seen.get("defined") is not True:
            return self._undefined(exercise, seen), printed
        observations = seen.get("observations")
        if not _well_formed(observations, exercise, len(seeds)):
            return not_earned(exercise, "What it computed could not be read."), printed
        verdict = compare(exercise, judge.marking(exercise.name, seeds), observations)  # type: ignore[arg-type]
        return verdict, printed

    def _undefined(self, exercise: Exercise, seen: dict[str, Any]) -> Verdict:
        broken = seen.get("broken")
        if isinstance(broken, Failure):
            return not_earned(exercise, f"Looking at it raised {_in_words(broken)}.")
        trouble = self._trouble.get(exercise.name)
        if trouble:
            return not_earned(exercise, trouble, f"So `{exercise.name}` was never defined.")
        return not_attempted(exercise)

    def _start_again(self) -> None:
        self._worker.kill()
        self._worker = self._jail.fork(self._budget)
        kept: list[str] = []
        for source in self._history:
            try:
                self._worker.run(source)
                kept.append(source)
            except Overrun:
                self._worker.kill()
                self._worker = self._jail.fork(self._budget)
        self._history = kept


@cache
def _question(name: str, seeds: tuple[int, ...]) -> bytes:
    exercise = exercises.find(name)
    return question(name, [exercise.inputs(seed, case) for case, seed in enumerate(seeds)])


def _well_formed(observations: object, exercise: Exercise, cases: int) -> bool:
    return (
        isinstance(observations, list)
        and len(observations) == cases
        and all(isinstance(case, dict) and set(case) == {a.name for a in exercise.aspects} for case in observations)
    )


def _outputs(outputs: object) -> Outputs:
    """A worker's outputs as nbformat's, whatever it sent."""
    safe: Outputs = []
    for output in outputs if isinstance(outputs, list) else []:
        if not isinstance(output, dict):
            continue
        if output.get("output_type") == "stream" and isinstance(output.get("text"), str):
            name = "stderr" if output.get("name") == "stderr" else "stdout"
            safe.append({"output_type": "stream", "name": name, "text": output["text"]})
        elif output.get("output_type") == "display_data" and isinstance(output.get("data"), dict):
            data = {k: v for k, v in output["data"].items() if isinstance(k, str) and isinstance(v, str)}
            safe.append({"output_type": "display_data", "data": data, "metadata": {}})
    return safe


def _in_words(error: Failure) -> str:
    return f"{error.type}: {error.message}" if error.message else error.type


def _error(name: str, message: str) -> dict[str, Any]:
    return {"output_type": "error", "ename": name, "evalue": message, "traceback": [f"{name}: {message}"]}


def grade_answer(exercise: str, source: str, jail: Jail | None = None) -> dict[str, Any]:
    """Grade one answer to one exercise in the jail.

    source: what a student would type in the exercise's cell; the notebook's import cell is run before it.
    Returns {"exercise", "outcome", "points", "max_points", "mistake", "message"}; `mistake` is the known mistake's name or None.

    Raises:
        UserError: there is no such exercise, or the course is not built. JailBroken: the jail can't be started.
    """
    try:
        found = exercises.find(exercise)
    except LookupError as error:
        raise UserError(str(error.args[0])) from None
    notebook = exercises.notebook_of(exercise)
    imports = next(cell for cell in inbox.template(release(notebook)) if cell.name == "imports")
    untouched = any(
        inbox.squeezed(cell.source) == inbox.squeezed(source)
        for cell in inbox.template(release(notebook))
        if cell.kind is Kind.SOLUTION and cell.name == exercise
    )
    cell = Cell(Kind.SOLUTION, exercise, "code", source, {}, "answer", untouched=untouched)
    with _Session(jail or _shared_jail()) as session:
        session.run(imports)
        session.run(cell)
        verdict, _ = session.judge(found, draws.development(exercise))
    return {
        "exercise": exercise,
        "outcome": verdict.outcome.value,
        "points": verdict.points,
        "max_points": verdict.max_points,
        "mistake": verdict.mistake,
        "message": verdict.message,
    }


_starting = threading.Lock()


@cache
def _one_jail() -> Jail:
    jail = Jail(Limits())
    atexit.register(jail.close)
    return jail


def _shared_jail() -> Jail:
    with _starting:
        return _one_jail()


__all__ = ["Graded", "JailBroken", "Outcome", "Worker", "grade_answer", "grade_submission"]
