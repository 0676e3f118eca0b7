"""`check`, `quiz` and `hint`: what a student calls. A check shows a panel, never raises, never writes to stderr, and returns the points."""

from __future__ import annotations

import ast
import os
import re
import warnings
from collections import Counter
from collections.abc import Callable

from IPython.core.getipython import get_ipython
from IPython.display import display

from ffnlab.checking import kept_code, panel, record, reference_files
from ffnlab.checking.comparison import ReferenceOutputs, compare
from ffnlab.checking.verdict import Outcome, Verdict, not_earned
from ffnlab.observation.containment import (
    MAX_CHARACTERS,
    Output,
    Stop,
    TimeUp,
    as_in_a_new_notebook,
    contain,
    default_dtype,
    limit_time,
)
from ffnlab.observation.exercise import Exercise, failure, has_unfinished_line, public_seed
from ffnlab.phrases import plural, sentence
from ffnlab.registry import active_course

CONSOLE_LINES, CONSOLE_LENGTH = 10, 4000  # of what a student's code prints, as much as a panel shows

STOPPED = "Your code was stopped after {}{}"
ENDLESS = (
    "Perhaps a loop never ends, because its condition never becomes false. Or the code is right and needs longer. "
    'Then run `check("{}", …, seconds={:g})` in a cell of your own.'
)
FLOODED = "Your code was stopped because it printed more than {:,} characters{}"
PRINTS = (
    "Perhaps a `print` is in a loop that never ends. Or you print large things to see what your code does; print their shapes instead. "
    'To allow more, run `check("{}", …, characters=10_000_000)` in a cell of your own.'
)
STUCK = 'Stuck? Run `hint("{}")` in a cell of your own.'
ON_PURPOSE = "You are trying out the check, so nothing is recorded."
INTERRUPTED = "You interrupted the check{}, so nothing was recorded."
OTHER_NAME = (
    "Grading looks at what the last `check` of an exercise in the notebook is given. Here that is {}, not what is called `{}`. "
    "Keep this cell if it is to count. If it is not, delete it before you hand in."
)
BROKEN = (
    "Checking your answer ended in {}, so nothing is known about it and nothing was recorded. Your code has probably changed something "
    "that Python or torch needs. Restart the kernel, run the cells above again, and look at what your code does besides computing its result."
)


class NotEarned(AssertionError):
    """Raised by `check` below full marks where FFNLAB_STRICT=1: a wrong solution turns a test run red."""


class Points(float):
    """A number of points: nbgrader reads its text in a cell's last line as partial credit; a reader, whom the panel has told, sees nothing."""

    def _repr_html_(self) -> str:
        return '<style class="ffn-points">.jp-OutputArea-child:has(> * .ffn-points) { display: none }</style>'


def check(
    name: str, answer: object, on_purpose: bool = False, seconds: float | None = None, characters: int = MAX_CHARACTERS
) -> Points:
    """Compare `answer` with the exercise called `name` on its public inputs, and show what was found.

    on_purpose: this answer is wrong on purpose, to see what a check says; it is not recorded and strict runs let it pass.
    seconds, characters: how long the answer's code may run, and how much it may print, before it is stopped; 10 seconds unless the exercise asks for training.

    Returns the points.

    Raises:
        NotEarned: only where the environment says FFNLAB_STRICT=1.
    """
    try:
        exercise = active_course().exercise(name)
        if _collector:
            if not on_purpose:
                _collector(name, answer)
            return Points(exercise.points)
        with as_in_a_new_notebook():
            reference_outputs = reference_files.load_public(name)
    except LookupError as error:
        return _finish(panel.message(f"? {name}: not checked", sentence(str(error.args[0])), Outcome.NOT_GRADED), name)
    try:
        seeds = [public_seed(name, case) for case in range(exercise.cases)]
        verdict, output = examine(exercise, reference_outputs, answer, seeds, seconds or exercise.seconds, characters)
        console_text = output.console.text(CONSOLE_LINES, CONSOLE_LENGTH)
        note = ON_PURPOSE if on_purpose else earlier_version_note(name) or other_name_note(name, answer)
        code_note = ""
        if verdict.outcome is Outcome.EARNED and not on_purpose:
            code_note = kept_code.keep(name, answer, lambda other: _earns(exercise, reference_outputs, other, seeds))
    except BaseException as error:
        kind = type(error).__name__
        text = INTERRUPTED.format(_at(error)) if kind == "KeyboardInterrupt" else BROKEN.format(kind)
        return _finish(panel.message(f"? {name}: not checked", text, Outcome.NOT_GRADED), name)
    more = STUCK.format(name) if exercise.hints else ""
    verdict_panel = panel.of_verdict(
        verdict, exercise.understood, console_text, more, warnings=output.warnings, note=note, code_note=code_note
    )
    if on_purpose:
        display(verdict_panel)
        return Points(verdict.points)
    record.save_verdict(verdict)
    return _finish(verdict_panel, name, verdict)


_collector: Callable[[str, object], None] | None = None


def hand_over_to(collector: Callable[[str, object], None]) -> None:
    """From now on a check looks at nothing: it gives the exercise's name and the answer to `collector`, and returns the exercise's points.

    So it is in grading, where what is right is not in the process that runs a student's code. A check with `on_purpose` gives nothing.
    """
    global _collector
    _collector = collector


def is_collecting() -> bool:
    """Whether checks hand their answers over, as in grading."""
    return _collector is not None


def _earns(exercise: Exercise, reference_outputs: ReferenceOutputs, answer: object, seeds: list[int]) -> bool:
    return (
        examine(exercise, reference_outputs, answer, seeds, exercise.seconds, MAX_CHARACTERS)[0].outcome
        is Outcome.EARNED
    )


def quiz(name: str, answer: object) -> Points:
    """Say whether the chosen option of a quiz is right and, if not, why. Returns the points, as `check` does."""
    return check(name, answer)


def examine(
    exercise: Exercise,
    reference_outputs: ReferenceOutputs,
    answer: object,
    seeds: list[int],
    seconds: float = float("inf"),
    characters: float = float("inf"),
) -> tuple[Verdict, Output]:
    """The verdict on `answer` for the inputs drawn from `seeds`, and what its code printed and was warned of.

    seconds, characters: as much as its code may take, all inputs together.
    """
    with contain(characters) as output:
        with as_in_a_new_notebook():
            inputs = [exercise.inputs(seed, case) for case, seed in enumerate(seeds)]
        try:
            with limit_time(seconds):
                observations = [exercise.observe(answer, case_inputs) for case_inputs in inputs]
        except TimeUp as late:
            symptom = STOPPED.format(plural(f"{seconds:g}", "second"), _at(late))
            return not_earned(exercise, symptom, ENDLESS.format(exercise.name, max(60, 2 * seconds))), output
        except Stop as flood:
            symptom = FLOODED.format(characters, _at(flood))
            return not_earned(exercise, symptom, PRINTS.format(exercise.name)), output
        is_unfinished = has_unfinished_line(answer)
        dtype = default_dtype()
        with as_in_a_new_notebook():
            return compare(exercise, reference_outputs, observations, inputs, is_unfinished, dtype), output


def _at(error: BaseException) -> str:
    """Where the code was, in brackets."""
    line = failure(error).line
    return f" ({line})" if line else ""


def earlier_version_note(name: str) -> str:
    """A sentence that the answer is an older one, where the cell that was run last of those that define `name` has a SyntaxError; else nothing."""
    shell = get_ipython()
    defines = re.compile(rf"^[ \t]*(?:async[ \t]+)?(?:def|class)[ \t]+{name}\b|^{name}[ \t]*=", re.MULTILINE)
    if shell is None or shell.history_manager is None:
        return ""
    cell = next((cell for cell in reversed(shell.history_manager.input_hist_raw) if defines.search(cell)), "")
    try:
        with warnings.catch_warnings(action="ignore"):
            compile(shell.transform_cell(cell), name, "exec", ast.PyCF_ALLOW_TOP_LEVEL_AWAIT, dont_inherit=True)
    except SyntaxError as error:
        where = f" in line {error.lineno}" if error.lineno else ""
        return f"This is an earlier version of `{name}`: the cell with your latest one did not run, because of a SyntaxError{where} ({error.msg})."
    return ""


def other_name_note(name: str, answer: object) -> str:
    """Sentences about which answer counts, where the one that was handed over is not what the notebook calls `name`; else nothing."""
    shell = get_ipython()
    if shell is None or shell.user_ns.get(name, shell) is answer:
        return ""
    names = sorted(
        other
        for other, value in shell.user_ns.items()
        if value is answer and not other.startswith("_") and not isinstance(answer, (int, str, bool, type(None)))
    )
    return OTHER_NAME.format(f"`{names[0]}`" if names else "something else", name)


def _finish(result_panel: panel.Panel, name: str, verdict: Verdict | None = None) -> Points:
    display(result_panel)
    is_earned = verdict is not None and verdict.outcome is Outcome.EARNED
    if os.environ.get("FFNLAB_STRICT") == "1" and not is_earned:
        raise NotEarned(f"{name}: {verdict.message if verdict else result_panel.text}")
    return Points(verdict.points if verdict else 0)


_hint_counts: Counter[str] = Counter()  # how many hints of each exercise this session has seen


def hint(name: str) -> None:
    """Show the next hint for the exercise called `name`; after the last one, all of them again from the first."""
    try:
        hints = active_course().exercise(name).hints
    except LookupError as error:
        display(panel.message(f"? {name}", sentence(str(error.args[0]))))
        return
    if not hints:
        display(panel.message(name, "This exercise has no hints."))
        return
    index = _hint_counts[name] % len(hints)
    _hint_counts[name] += 1
    remainder = len(hints) - index - 1
    rest = f"Run the cell again for the next one; {remainder} left." if remainder else "That was the last one."
    display(panel.message(f"Hint {index + 1} of {len(hints)}: {name}", f"{hints[index]} {rest}"))
