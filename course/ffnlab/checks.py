"""`check`, `quiz` and `hint`: what a student calls. A check shows a panel, never raises, never writes to stderr, and returns the points."""

from __future__ import annotations

import contextlib
import io
import os
import warnings
from collections import Counter
from collections.abc import Iterator

from IPython.display import display

from ffnlab import answers, exercises, panel, record
from ffnlab.comparing import Marking, judge
from ffnlab.exercise import Exercise, public_seed
from ffnlab.verdict import Outcome, Verdict
from ffnlab.words import sentence

MAX_PRINTED = 4000  # characters of a student's own output that a panel shows


class NotEarned(AssertionError):
    """Raised by `check` below full marks where FFNLAB_STRICT=1: a wrong solution turns a test run red."""


class Points(float):
    """A number of points: nbgrader reads its text in a cell's last line as partial credit; a reader, whom the panel has told, sees nothing."""

    def _repr_html_(self) -> str:
        return ""


def check(name: str, answer: object, on_purpose: bool = False) -> Points:
    """Compare `answer` with the exercise called `name` on its public inputs, and show what was found.

    on_purpose: this answer is wrong on purpose, to see what a check says; it is not recorded and strict runs let it pass.

    Returns the points.

    Raises:
        NotEarned: only where the environment says FFNLAB_STRICT=1.
    """
    try:
        exercise = exercises.find(name)
        marking = answers.load(name)
    except LookupError as error:
        return _finish(panel.message(f"? {name}: not checked", sentence(str(error.args[0])), Outcome.NOT_GRADED), name)
    seeds = [public_seed(name, case) for case in range(exercise.cases)]
    verdict, printed = examine(exercise, marking, answer, seeds)
    more = f'Stuck? `hint("{name}")` in a cell of your own.' if exercise.hints else ""
    shown = panel.of_verdict(verdict, exercise.understood, printed, more)
    if on_purpose:
        display(shown)
        return Points(verdict.points)
    record.keep(verdict)
    return _finish(shown, name, verdict)


def quiz(name: str, answer: object) -> Points:
    """Say whether the chosen option of a question is right and, if not, why. Returns the points, as `check` does."""
    return check(name, answer)


def examine(exercise: Exercise, marking: Marking, answer: object, seeds: list[int]) -> tuple[Verdict, str]:
    """The verdict on `answer` for the inputs drawn from `seeds`, and what the answer's code printed or warned."""
    with captured() as printed:
        inputs = [exercise.inputs(seed, case) for case, seed in enumerate(seeds)]
        observations = [exercise.observe(answer, given) for given in inputs]
        verdict = judge(exercise, marking, observations, inputs)
    text = printed.getvalue()
    return verdict, text if len(text) <= MAX_PRINTED else f"{text[:MAX_PRINTED]}… (cut)"


@contextlib.contextmanager
def captured() -> Iterator[io.StringIO]:
    """Everything that student code prints, warns or draws as a progress bar, kept away from stderr."""
    text = io.StringIO()
    with contextlib.redirect_stdout(text), contextlib.redirect_stderr(text), warnings.catch_warnings():
        warnings.simplefilter("default")  # once for each place
        yield text


def _finish(shown: panel.Panel, name: str, verdict: Verdict | None = None) -> Points:
    display(shown)
    earned = verdict is not None and verdict.outcome is Outcome.EARNED
    if os.environ.get("FFNLAB_STRICT") == "1" and not earned:
        raise NotEarned(f"{name}: {verdict.message if verdict else shown.text}")
    return Points(verdict.points if verdict else 0)


_shown: Counter[str] = Counter()  # how many hints of each exercise this session has seen


def hint(name: str) -> None:
    """Show the next hint for the exercise called `name`; after the last one, all of them again from the first."""
    try:
        hints = exercises.find(name).hints
    except LookupError as error:
        display(panel.message(f"? {name}", sentence(str(error.args[0]))))
        return
    if not hints:
        display(panel.message(name, "This exercise has no hints."))
        return
    index = _shown[name] % len(hints)
    _shown[name] += 1
    left = len(hints) - index - 1
    rest = f"Run the cell again for the next ({left} left)." if left else "That was the last one."
    display(panel.message(f"Hint {index + 1} of {len(hints)}: {name}", f"{hints[index]} {rest}"))
