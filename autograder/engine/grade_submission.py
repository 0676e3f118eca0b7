"""One submission: run in the jail cell by cell, and judged outside at each check. Called by a worker process."""

from __future__ import annotations

import atexit
import builtins
import re
import threading
import time
from collections import defaultdict
from collections.abc import Mapping
from dataclasses import dataclass, replace
from functools import cache, cached_property
from pathlib import Path
from typing import Any

from autograder.engine import absence, judging, outputs, program
from autograder.engine.graded_submission import GradedSubmission, Outputs
from autograder.engine.names import Names, of_source
from autograder.engine.released_notebook import Cell, Kind, squeeze, template
from autograder.engine.submitted_notebook import Unreadable
from autograder.errors import UserError
from autograder.jail.limits import MIB, Limits
from autograder.jail.sandbox import Budget, Jail, JailBroken, JailClient, Overrun, build_probe_request
from autograder.paths import release
from autograder.redaction import quotations
from autograder.reference import compute, draws
from ffnlab.checking.comparison import Inputs
from ffnlab.checking.verdict import Outcome, Verdict, not_attempted, not_earned
from ffnlab.diagnosis import differences, exception_messages
from ffnlab.observation.exercise import Exercise, probe_inputs
from ffnlab.registry import active_course

# Exceptions in which a program ends that misses what ran before it elsewhere.
MISSES_SOMETHING = re.compile(
    r"\b(?:Name|UnboundLocal|Key|Index|Attribute|Assertion|Import|ModuleNotFound|FileNotFound|Lookup)Error\b"
)
MISSING_NAME = re.compile(r"name '(\w{1,60})' is not defined")


def grade_submission(
    assignment: str,
    data: bytes,
    jail: JailClient,
    seeds: draws.SeedsByExercise,
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
    exercises = {e.name: e for e in active_course().exercises_of(assignment) if not only or e.name in only}
    try:
        plan = program.plan(assignment, data, jail.limits)
    except Unreadable as error:
        reason = f"The submission could not be read: {error}."
        verdicts = {name: not_earned(exercise, reason) for name, exercise in exercises.items()}
        return GradedSubmission(assignment, verdicts, remarks=[str(error)])
    reference_source = judging.ReferenceSource(reference_file, seeds) if reference_file else None
    budget = Budget(jail.limits, own_kills)
    with judging.borrow_judge(jail.limits) as free:
        names = _names_by_cell(plan, free, budget, jail.limits)
        with _Session(plan, names, jail, free, budget, reference_source) as session:
            graded_submission = _grade(assignment, session, exercises, seeds)
            may_depend = session.may_depend_on_demonstrations(graded_submission.verdicts)
        if may_depend:  # as in a student's kernel, where all of them have run
            budget.restarts += 1
            with _Session(plan, names, jail, free, budget, reference_source, has_all=True) as session:
                again = _grade(assignment, session, exercises, seeds)
            if again.points > graded_submission.points:
                graded_submission = again
                graded_submission.remarks.append(
                    "the course's demonstrations have run too, because your code depends on them"
                )
    graded_submission.seconds = time.monotonic() - start
    return graded_submission


def _grade(
    assignment: str, session: _Session, exercises: dict[str, Exercise], seeds: draws.SeedsByExercise
) -> GradedSubmission:
    """Run a notebook from top to bottom, and look at an answer at each check of it."""
    plan = session.plan
    graded_submission = GradedSubmission(assignment, {}, plan.cells, remarks=list(plan.remarks))
    for cell in plan.cells:
        checked: tuple[str, ...] = ()
        if session.is_run(cell):
            graded_submission.outputs[cell.id], checked = session.run(cell)
        if cell.kind is Kind.CHECK and not cell.missing and cell.name not in checked:
            checked += (cell.name,)
        for name in dict.fromkeys(checked):  # the jail's word: each of ours is looked at once
            if name in exercises:
                session.look(exercises[name], seeds[name], cell)
    for name, exercise in exercises.items():
        if session.may_find_more(name):
            session.look(exercise, seeds[name])
        look = session.last_look(name)
        graded_submission.verdicts[name], graded_submission.printed[name] = look.verdict, look.printed
        graded_submission.looked_at[name] = look.cell
        if session.looks_differ(name):
            graded_submission.remarks.append(
                f"{name} is checked {len(session.looks[name])} times, and the last check of an answer counts"
            )
    return graded_submission


def _names_by_cell(plan: program.Program, judge: judging.Judge, budget: Budget, limits: Limits) -> Mapping[str, Names]:
    """Which names each cell with code takes and gives, by its id; of ours it is known beforehand. Nothing where that takes too long."""
    code_cells = [cell for cell in plan.cells if cell.cell_type == "code" and cell.source.strip()]
    theirs = [cell for cell in code_cells if not cell.untouched and not cell.has_our_code]
    try:
        found, seconds = judge.names([cell.source for cell in theirs])
    except judging.NotJudged:
        budget.left -= judging.TRIES * limits.judge_seconds
        return {}
    budget.left -= seconds
    names = {cell.id: of_source(cell.source) for cell in code_cells if cell.untouched or cell.has_our_code}
    return names | dict(zip((cell.id for cell in theirs), found, strict=True))


@dataclass(frozen=True)
class _Look:
    """What was found when an answer was looked at."""

    verdict: Verdict
    printed: str
    place: int  # of the cell after which that was, among all
    cell: str  # its id, empty at the end of the notebook
    is_attempt: bool  # whether there was an answer to look at


class _Session:
    """The worker of one submission. When a cell or a probe overruns, a fresh worker replays what ran before, without the culprit."""

    def __init__(
        self,
        plan: program.Program,
        names: Mapping[str, Names],
        jail: JailClient,
        judge: judging.Judge,
        budget: Budget,
        reference_source: judging.ReferenceSource | None = None,
        has_all: bool = False,
    ) -> None:
        """names: as `_names_by_cell`. has_all: whether all demonstrations run, and not only those that the student's code is seen to need."""
        self.plan = plan
        self._cells = plan.cells
        self._places = {cell.id: number for number, cell in enumerate(plan.cells)}
        self._python = plan.python
        self._jail = jail
        self._judge = judge
        self._reference_source = reference_source
        self._room = jail.limits.outputs  # bytes of outputs that there is room for
        self._budget = budget
        self._failed: set[str] = set()  # the ids of the student's cells that ended in an error
        self._history: list[str] = []
        self._trouble: dict[str, str] = {}  # by exercise: why a cell of its answer did not run to its end
        self._meanings: dict[str, str] = {}  # by exercise: what the exception means in which a cell of its answer ended
        self._similar_names: dict[str, str] = {}  # by exercise, which other name was probably meant to be its
        self._lost: dict[str, str] = {}  # by name: why the cell that defines it did not
        self._sources: dict[str, str] = {}  # of the cells that are the student's, by id
        self.looks: dict[str, list[_Look]] = defaultdict(list)
        self._names = names
        self._needed = self._find_needed(has_all)
        self._worker = jail.fork(self._budget)

    def __enter__(self) -> _Session:
        return self

    def __exit__(self, *_: object) -> None:
        self._worker.kill()

    def _find_needed(self, has_all: bool) -> set[str]:
        """The demonstrations that run: those that the student's code needs or, where that is not known, all."""
        if has_all or not self._names:
            return {cell.id for cell in self._demonstrations()}
        return program.needed_demonstrations(self._cells, self._names)

    def _demonstrations(self) -> list[Cell]:
        return [
            cell for cell in self._cells if cell.kind is Kind.DISPLAY and cell.cell_type == "code" and not cell.missing
        ]

    def may_depend_on_demonstrations(self, verdicts: Mapping[str, Verdict]) -> bool:
        """Whether demonstrations that did not run may be why something went wrong: what they define can be read in ways that nobody sees, what they call
        of the student's may remember it, and they set the state of the random numbers. All of that shows as an error.
        """
        if all(self.is_run(cell) for cell in self._demonstrations()):
            return False
        wrong = {
            name
            for name, verdict in verdicts.items()
            if verdict.outcome is Outcome.NOT_EARNED
            and any(MISSES_SOMETHING.search(aspect.symptom) for aspect in verdict.aspects)
        }
        suspects = [cell for cell in self._cells if cell.id in self._failed or not wrong.isdisjoint(cell.answers)]
        return program.may_depend_on_others(suspects, self._cells, self._names, self._failed)

    def is_run(self, cell: Cell) -> bool:
        """Whether a cell runs."""
        return program.runs(cell) or cell.id in self._needed

    def run(self, cell: Cell) -> tuple[Outputs, tuple[str, ...]]:
        """Run a cell. Returns its outputs, an error among them, and the exercises that it called `check` for."""
        if cell.kind is Kind.OURS and not cell.has_our_code:
            self._run(_our_source(cell), cell)  # what a student has taken out of it may be needed all the same
        if not cell.untouched or cell.kind is Kind.EXTRA:
            self._sources[cell.id] = cell.source
        return self._run(cell.source, cell)

    def _run(self, source: str, cell: Cell) -> tuple[Outputs, tuple[str, ...]]:
        names = {*cell.answers} | ({cell.name} if cell.kind in (Kind.SOLUTION, Kind.CHECK) else set())
        try:
            cell_run = self._judge.outputs(self._worker.run_unread(source), self._most())
        except (Overrun, judging.NotJudged) as overrun:
            self._trouble |= dict.fromkeys(names, str(overrun))
            self._lose(cell, f"had to be stopped. {overrun}")
            self._start_again()
            return [_error("Stopped", str(overrun))], ()
        self._history.append(source)
        self._room -= outputs.room(cell_run.outputs)
        for name in names:
            self._trouble.pop(name, None)
            self._meanings.pop(name, None)
        if cell_run.error:
            error_text = differences.describe_exception(cell_run.error)
            limit = self._explain_limit(error_text)
            self._trouble |= dict.fromkeys(names, f"Its cell ended in {error_text}. {limit}".rstrip())
            if cell_run.error.type != "NotImplementedError" and cell.id in self._sources:
                self._failed.add(cell.id)
            meaning = exception_messages.find_meaning(cell_run.error.type, cell_run.error.message)
            cause = self._explain_lost(cell_run.error.message) or (meaning.message if meaning else "")
            self._meanings |= dict.fromkeys(names, cause)
            self._lose(cell, f"ended in {_public_type(cell_run.error.type)}. {cause or limit}".rstrip())
            cell_run.outputs.append(_error(cell_run.error.type, cell_run.error.message))
        else:
            for name in self._names.get(cell.id, Names()).defines:
                self._lost.pop(name, None)
        return cell_run.outputs, cell_run.checked

    def _lose(self, cell: Cell, why: str) -> None:
        """Keep why names that a cell of the student's would have defined are not there."""
        if cell.id in self._sources:
            self._lost |= dict.fromkeys(self._names.get(cell.id, Names()).defines, why)

    def _explain_lost(self, *messages: str) -> str:
        """Why a name is not there that a message of Python's misses, where a cell did not come to define it; else nothing."""
        for match in filter(None, map(MISSING_NAME.search, messages)):
            if why := self._lost.get(match[1]):
                return f"`{match[1]}` belongs to a cell of your notebook that {why}"
        return ""

    def look(self, exercise: Exercise, seeds: draws.Seeds, cell: Cell | None = None) -> None:
        """Probe the answer to an exercise and have judged what it does. cell: after which; None: at the end of the notebook."""
        verdict, printed_text, is_attempt = self._look(exercise, seeds)
        answer = program.answer_source(self._cells, exercise.name)
        verdict = quotations.strip_unquoted(verdict, [answer, *self._sources.values()])
        place = self._places[cell.id] if cell else len(self._cells)
        self.looks[exercise.name].append(_Look(verdict, printed_text, place, cell.id if cell else "", is_attempt))

    def last_look(self, name: str) -> _Look:
        """The look at an answer that counts: the last at which there was one to look at."""
        looks = self.looks[name]
        return next((look for look in reversed(looks) if look.is_attempt), looks[-1])

    def looks_differ(self, name: str) -> bool:
        """Whether an answer was found to be worth different points at different checks."""
        return len({look.verdict.points for look in self.looks[name] if look.is_attempt}) > 1

    def may_find_more(self, name: str) -> bool:
        """Whether another look, at the end of the notebook, may find an answer where none was found: its check is gone, or it stands behind its check."""
        looks = self.looks[name]
        if any(look.is_attempt for look in looks):
            return False
        later = (
            [cell for cell in self._cells[looks[-1].place + 1 :] if self.is_run(cell) and cell.source.strip()]
            if looks
            else []
        )
        unknown = Names(defines=frozenset({name}))
        return not looks or any(name in self._names.get(cell.id, unknown).defines for cell in later)

    def _look(self, exercise: Exercise, seeds: draws.Seeds) -> tuple[Verdict, str, bool]:
        """The verdict on an answer as it is now, with delimiters around the student's own words; what its code printed; and whether there is an answer."""
        try:
            frame = self._worker.probe_unread(_probe_request(exercise.name, seeds))
        except Overrun as overrun:
            self._start_again()
            return not_earned(exercise, str(overrun)), "", True
        try:
            judge_reply = self._judge.judge(exercise.name, seeds, frame, self._reference_source)
        except judging.NotJudged as error:
            self._budget.left -= judging.TRIES * self._jail.limits.judge_seconds
            return not_earned(exercise, f"Its result could not be judged: {error}."), "", True
        # So that no submission keeps the judges busy for longer than its cells may take.
        self._budget.left -= judge_reply.seconds
        printed_text = outputs.shorten(judge_reply.printed, self._most())
        self._room -= outputs.cost(printed_text)
        if judge_reply.verdict and judge_reply.verdict.outcome is Outcome.NOT_ATTEMPTED:
            return self._describe_stub(exercise), printed_text, False
        if judge_reply.verdict:
            symptoms = [aspect.symptom for aspect in judge_reply.verdict.aspects]
            cause = self._explain_lost(*symptoms) or judge_reply.verdict.cause or self._explain_limit(*symptoms)
            return replace(judge_reply.verdict, cause=cause), printed_text, True
        if judge_reply.broken:
            symptom = f"Checking it raised {differences.describe_exception(judge_reply.broken)}."
            return not_earned(exercise, symptom), printed_text, True
        if judge_reply.unreadable:
            symptom = f"What it sent back can't be read: {judge_reply.unreadable}."
            return not_earned(exercise, symptom), printed_text, True
        return self._describe_absence(exercise), printed_text, False

    def _similar_name(self, name: str) -> str:
        """As `absence.similar_name`; looked for once, however often an exercise is looked at."""
        if name not in self._similar_names:
            self._similar_names[name] = absence.similar_name(name, self._own_names)
        return self._similar_names[name]

    @cached_property
    def _own_names(self) -> list[str]:
        """What a student's cells define, in their order, but for the answers to other exercises."""
        theirs = [cell for cell in self._cells if not cell.untouched and not cell.has_our_code]
        exercises = {cell.name for cell in self._cells if cell.kind is Kind.SOLUTION}
        defined = (name for cell in theirs for name in sorted(self._names.get(cell.id, Names()).defines))
        return [name for name in dict.fromkeys(defined) if name not in exercises]

    def _describe_stub(self, exercise: Exercise) -> Verdict:
        """Of an answer that is defined and still raises NotImplementedError."""
        written = program.answer_source(self._cells, exercise.name)
        other = self._similar_name(exercise.name)
        cause = absence.OTHER_NAME.format(exercise.name, other) if other else ""
        if written:
            return not_earned(exercise, absence.unfinished(written), cause)
        return not_earned(exercise, absence.IS_STUB, cause) if cause else not_attempted(exercise, absence.UNTOUCHED)

    def _describe_absence(self, exercise: Exercise) -> Verdict:
        """Of an answer that is not there: what is known of the reason."""
        name = exercise.name
        if name in self._trouble:
            symptom = f"{self._trouble[name]} So `{name}` was never defined."
            newer = program.newer_python(self._python) if "SyntaxError" in symptom else ""
            magics = [absence.foreign_magic(cell.source, name) for cell in self._cells if name in cell.answers]
            causes = (*magics, f"The notebook was {newer}." if newer else "", self._meanings.get(name, ""))
            return not_earned(exercise, symptom, next(filter(None, causes), ""))
        cells = [cell for cell in self._cells if name in cell.answers]
        if cells:
            reason = absence.describe(name, cells[-1].source, self._names.get(cells[-1].id, Names()))
            return not_earned(exercise, absence.IS_NOT_THERE, reason)
        if other := self._similar_name(name):
            return not_earned(exercise, absence.IS_NOT_THERE, absence.OTHER_NAME.format(name, other))
        own = next((cell for cell in self._cells if cell.name == name and cell.kind is Kind.SOLUTION), None)
        is_deleted = own is None or own.missing
        return not_attempted(exercise, absence.DELETED.format(name) if is_deleted else absence.EMPTY)

    def _explain_limit(self, *messages: str) -> str:
        """The limit behind an exception that looks like the machine's fault, in a student's words; empty where there is none."""
        limits = self._jail.limits
        if any("MemoryError" in text for text in messages):
            return f"A submission may use {limits.memory // MIB:,} MiB of memory."
        if any(
            words in text for text in messages for words in ("No space left", "failed writing file", "unexpected pos")
        ):
            return f"A submission may write {limits.tmp // MIB:,} MiB of files."
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


def _public_type(name: str) -> str:
    """The type of an exception where it is Python's own: a student's may have been given any name, after hidden inputs, say."""
    kind = getattr(builtins, name, None)
    return name if isinstance(kind, type) and issubclass(kind, BaseException) else "an error"


@cache
def _our_sources() -> dict[str, str]:
    """By its id, the source of each cell of ours."""
    course = active_course()
    paths = [release(name) for name in course.notebooks if release(name).is_file()]
    return {cell.id: cell.source for path in paths for cell in template(path)}


def _our_source(cell: Cell) -> str:
    return _our_sources()[cell.id]


@cache
def _inputs(name: str, seeds: draws.Seeds) -> list[Inputs]:
    return compute.inputs(active_course().exercise(name), seeds)


@cache
def _probe_request(name: str, seeds: draws.Seeds) -> bytes:
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
    our_cells = template(release(active_course().notebook_of(exercise)))
    imports = next(cell for cell in our_cells if cell.name == "imports")
    stub = next(cell for cell in our_cells if cell.kind is Kind.SOLUTION and cell.name == exercise)
    untouched = not source.strip() or squeeze(stub.source) == squeeze(source)
    answers = () if untouched else (exercise,)
    cell = Cell(Kind.SOLUTION, exercise, "code", source, {}, "answer", untouched=untouched, answers=answers)
    jail = jail or _shared_jail()
    plan = program.Program((imports, cell))
    budget = Budget(jail.limits)
    with (
        judging.borrow_judge(jail.limits) as free,
        _Session(plan, _names_by_cell(plan, free, budget, jail.limits), jail, free, budget) as session,
    ):
        for cell in plan.cells:
            session.run(cell)
        session.look(course_exercise, draws.trial(course_exercise, secret))
        verdict = session.last_look(exercise).verdict
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
