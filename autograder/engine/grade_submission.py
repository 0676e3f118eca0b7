"""One submission: rebuilt, run in the jail cell by cell, and judged outside at each check. Called by a worker process."""

from __future__ import annotations

import atexit
import threading
import time
from dataclasses import replace
from functools import cache
from pathlib import Path
from typing import Any

from autograder.engine import judging, outputs, rebuild
from autograder.engine.graded_submission import GradedSubmission, Outputs
from autograder.engine.rebuild import Cell, Kind
from autograder.errors import UserError
from autograder.jail.limits import MIB, Limits
from autograder.jail.sandbox import Budget, Jail, JailBroken, JailClient, Overrun, build_probe_request
from autograder.marking import draws, quotations, reference
from autograder.paths import release
from ffnlab.checking.comparison import Inputs
from ffnlab.checking.verdict import Outcome, Verdict, not_attempted, not_earned, not_graded
from ffnlab.diagnosis import differences
from ffnlab.observation.exercise import Exercise, probe_inputs
from ffnlab.registry import active_course


def grade_submission(
    assignment: str,
    data: bytes,
    jail: JailClient,
    seeds: draws.Seeds,
    only: tuple[str, ...] = (),
    reference_file: Path | None = None,
    own_kills: bool = False,
) -> GradedSubmission:
    """Grade the bytes of one submitted notebook on the hidden draws `seeds`. Whatever it contains, this returns.

    only: the exercises to judge; empty for all. The whole notebook runs either way. reference_file: with the reference outputs on those
    draws; the judge computes what it does not find. own_kills: whether SIGKILL from nobody here costs the exercise in which it came.

    Raises:
        JailBroken: our fault; nothing can be graded.
    """
    start = time.monotonic()
    exercises = [e for e in active_course().exercises_of(assignment) if not only or e.name in only]
    names = {exercise.name for exercise in exercises}
    try:
        rebuilt = rebuild.rebuild(assignment, data, jail.limits.notebook)
    except rebuild.Unreadable as error:
        reason = f"The submission could not be read: {error}."
        return GradedSubmission(assignment, {e.name: not_earned(e, reason) for e in exercises}, remarks=[str(error)])
    graded_submission = GradedSubmission(assignment, {}, rebuilt.cells, remarks=list(rebuilt.remarks))
    reference_source = judging.ReferenceSource(reference_file, seeds) if reference_file else None
    with judging.borrow_judge(jail.limits) as free, _Session(jail, free, reference_source, own_kills) as session:
        for cell in rebuilt.cells:
            if cell.kind is Kind.CHECK:
                if cell.name not in names:
                    continue
                verdict, printed_text = session.judge(active_course().exercise(cell.name), seeds[cell.name])
                graded_submission.verdicts[cell.name] = verdict
                graded_submission.printed[cell.name] = printed_text
            elif cell.kind in (Kind.OURS, Kind.EXTRA) or (cell.kind is Kind.SOLUTION and not cell.missing):
                graded_submission.outputs[cell.id] = session.run(cell)
    for exercise in exercises:
        graded_submission.verdicts.setdefault(exercise.name, not_graded(exercise, "Its check is not in our notebook."))
    graded_submission.seconds = time.monotonic() - start
    return graded_submission


class _Session:
    """The worker of one submission. When a cell or a probe overruns, a fresh worker replays what ran before, without the culprit."""

    def __init__(
        self,
        jail: JailClient,
        judge: judging.Judge,
        reference_source: judging.ReferenceSource | None = None,
        own_kills: bool = False,
    ) -> None:
        self._jail = jail
        self._judge = judge
        self._reference_source = reference_source
        self._room = jail.limits.outputs  # bytes of outputs that there is room for
        self._budget = Budget(jail.limits, own_kills)
        self._worker = jail.fork(self._budget)
        self._history: list[str] = []
        self._trouble: dict[str, str] = {}  # by exercise: why its cell did not run to its end
        self._sources: dict[str, str] = {}  # of the cells that are the student's, by name

    def __enter__(self) -> _Session:
        return self

    def __exit__(self, *_: object) -> None:
        self._worker.kill()

    def run(self, cell: Cell) -> Outputs:
        """Run a cell; returns its outputs, an error among them."""
        if cell.kind is not Kind.OURS:
            self._sources[cell.name] = cell.source
        try:
            cell_run = self._judge.outputs(self._worker.run_unread(cell.source), self._most())
        except (Overrun, judging.NotJudged) as overrun:
            self._trouble[cell.name] = str(overrun)
            self._start_again()
            return [_error("Stopped", str(overrun))]
        self._history.append(cell.source)
        self._room -= outputs.room(cell_run.outputs)
        if cell_run.error:
            error_text = differences.describe_exception(cell_run.error)
            self._trouble[cell.name] = f"Its cell ended in {error_text}. {self._explain_limit(error_text)}".rstrip()
            cell_run.outputs.append(_error(cell_run.error.type, cell_run.error.message))
        return cell_run.outputs

    def judge(self, exercise: Exercise, seeds: tuple[int, ...]) -> tuple[Verdict, str]:
        """Probe the answer to an exercise and have judged what it does. Returns the verdict and what its code printed."""
        verdict, printed_text = self._judge_unread(exercise, seeds)
        own = self._sources.get(exercise.name, "")
        return quotations.strip_unquoted(verdict, [own, *self._sources.values()]), printed_text

    def _judge_unread(self, exercise: Exercise, seeds: tuple[int, ...]) -> tuple[Verdict, str]:
        """The same, with delimiters around the student's own words."""
        try:
            frame = self._worker.probe_unread(_probe_request(exercise.name, seeds))
        except Overrun as overrun:
            self._start_again()
            return not_earned(exercise, str(overrun)), ""
        try:
            judge_reply = self._judge.judge(exercise.name, seeds, frame, self._reference_source)
        except judging.NotJudged as error:
            self._budget.left -= judging.TRIES * self._jail.limits.judge_seconds
            return not_earned(exercise, f"Its result could not be judged: {error}."), ""
        self._budget.left -= (
            judge_reply.seconds
        )  # so that no submission keeps the judges busy for longer than its cells may take
        printed_text = outputs.shorten(judge_reply.printed, self._most())
        self._room -= outputs.cost(printed_text)
        if judge_reply.verdict:
            limit = self._explain_limit(*(aspect.symptom for aspect in judge_reply.verdict.aspects))
            return replace(judge_reply.verdict, cause=judge_reply.verdict.cause or limit), printed_text
        if judge_reply.broken:
            return not_earned(
                exercise, f"Checking it raised {differences.describe_exception(judge_reply.broken)}."
            ), printed_text
        if judge_reply.unreadable:
            return not_earned(exercise, f"What it sent back can't be read: {judge_reply.unreadable}."), printed_text
        trouble = self._trouble.get(exercise.name)
        if trouble:
            return not_earned(exercise, f"{trouble} So `{exercise.name}` was never defined."), printed_text
        return not_attempted(exercise), printed_text

    def _explain_limit(self, *messages: str) -> str:
        """The limit behind an exception that looks like the machine's fault, in a student's words; empty where there is none."""
        limits = self._jail.limits
        if any("MemoryError" in text for text in messages):
            return f"A submission may use {limits.memory // MIB:,} MiB of memory."
        if any("Resource temporarily unavailable" in text for text in messages):
            return f"A submission may have {limits.processes} processes and threads."
        return ""

    def _most(self) -> int:
        return max(0, min(self._jail.limits.output, self._room))

    def _start_again(self) -> None:
        self._worker.kill()
        self._worker = self._jail.fork(self._budget)
        history: list[str] = []
        for source in self._history:
            try:
                self._worker.run_unread(source)
                history.append(source)
            except Overrun:
                self._worker.kill()
                self._worker = self._jail.fork(self._budget)
        self._history = history


@cache
def _inputs(name: str, seeds: tuple[int, ...]) -> list[Inputs]:
    return reference.inputs(active_course().exercise(name), seeds)


@cache
def _probe_request(name: str, seeds: tuple[int, ...]) -> bytes:
    return build_probe_request(name, [probe_inputs(case) for case in _inputs(name, seeds)])


def _error(name: str, message: str) -> dict[str, Any]:
    return {"output_type": "error", "ename": name, "evalue": message, "traceback": [f"{name}: {message}"]}


def grade_answer(exercise: str, source: str, jail: Jail | None = None, secret: str | None = None) -> dict[str, Any]:
    """Grade one answer to one exercise in the jail.

    source: what a student would type in the exercise's cell; the notebook's import cell is run before it.
    secret: the draws are those of a class with this secret, any text, in place of those on which the notebooks are validated.
    Returns {"exercise", "outcome", "points", "max_points", "mistake", "message", "cause", "where", "aspects"}: `mistake` is the name of the mistake or None,
    `message` all that a student is told, and `aspects` a dict for each with its "name", "points", "max_points", and what was "seen" in it.

    Raises:
        UserError: there is no such exercise, or the course is not built. JailBroken: the jail can't be started, or
        what runs in it was ended from outside.
    """
    try:
        course_exercise = active_course().exercise(exercise)
    except LookupError as error:
        raise UserError(str(error.args[0])) from None
    notebook = active_course().notebook_of(exercise)
    imports = next(cell for cell in rebuild.template(release(notebook)) if cell.name == "imports")
    untouched = any(
        rebuild.squeeze(cell.source) == rebuild.squeeze(source)
        for cell in rebuild.template(release(notebook))
        if cell.kind is Kind.SOLUTION and cell.name == exercise
    )
    cell = Cell(Kind.SOLUTION, exercise, "code", source, {}, "answer", untouched=untouched)
    jail = jail or _shared_jail()
    with judging.borrow_judge(jail.limits) as free, _Session(jail, free) as session:
        session.run(imports)
        session.run(cell)
        verdict, _ = session.judge(course_exercise, draws.trial(course_exercise, secret))
    fields = verdict.as_dict()
    return {
        name: fields[name]
        for name in ("exercise", "outcome", "points", "max_points", "mistake", "message", "cause", "where", "aspects")
    }


_start_lock = threading.Lock()


@cache
def _one_jail() -> Jail:
    jail = Jail(Limits())
    atexit.register(jail.close)
    return jail


def _shared_jail() -> Jail:
    with _start_lock:
        return _one_jail()


__all__ = ["GradedSubmission", "JailBroken", "Outcome", "grade_answer", "grade_submission"]
