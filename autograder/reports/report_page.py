"""A report as one HTML file: it holds its pictures, runs nothing and asks for nothing. Called by `autograder report`. What came from students is escaped."""

from __future__ import annotations

import re
import statistics
from collections.abc import Sequence
from functools import cache
from importlib import resources

import jinja2
from markupsafe import Markup, escape

from autograder.gradebook.not_handed_in import address
from autograder.gradebook.policy_words import format_time
from autograder.gradebook.scores import Score
from autograder.reports import plots
from autograder.reports.report_parts import AssignmentReport, AttemptsReport, ClassReport, ExerciseReport, StudentReport
from ffnlab.checking.verdict import Outcome
from ffnlab.phrases import plural

MAX_CHART_MISTAKES = 12  # mistakes
MAX_NAMES = 12  # in a sentence
MAX_STICKY_ROWS = 2_000  # of a table; in longer ones the names do not stay in place
SIGNS = {
    Outcome.EARNED: "✔",
    Outcome.NOT_EARNED: "✘",
    Outcome.NOT_ATTEMPTED: "○",
    Outcome.NOT_GRADED: "?",
}


def page(report: ClassReport) -> str:
    """The report as HTML."""
    charts = {assignment.name: _plots(assignment) for assignment in report.assignments}
    sizes = {"max_chart_mistakes": MAX_CHART_MISTAKES, "max_sticky_rows": MAX_STICKY_ROWS}
    return _template().render(report=report, charts=charts, term=_term(report), **sizes).lstrip()


@cache
def _template() -> jinja2.Template:
    text = resources.files("autograder.reports").joinpath("templates/report.html").read_text(encoding="utf-8")
    environment = jinja2.Environment(
        autoescape=True, trim_blocks=True, lstrip_blocks=True, undefined=jinja2.StrictUndefined
    )
    filters = (of, some, address, percent, points, format_time, quartiles, cell, number, words, breaks)
    environment.filters |= {filter.__name__: filter for filter in filters}
    return environment.from_string(text)


def cell(student: StudentReport, exercise: ExerciseReport) -> str:
    """A cell of the table."""
    return format_score(student.scores.get(exercise.name), student.outcomes.get(exercise.name))


def format_score(score: Score | None, outcome: Outcome | None) -> str:
    """Points, and how they came about. outcome: how an exercise ended; None for a question."""
    if score is None:
        return "–"
    if score.waits:
        return "to read" if is_to_read(score, outcome) else "?"
    sign = "✎" if score.by_hand else SIGNS[outcome] if outcome else ""
    return sign if sign == "○" else f"{score.score:g}\N{NO-BREAK SPACE}{sign}".rstrip()


def is_to_read(score: Score, outcome: Outcome | None) -> bool:
    """Whether an answer waits for a person to read it, and not for us to grade it."""
    return score.waits and (score.by_hand or outcome is None)


def words(text: str) -> Markup:
    """A message with what stands between backticks as code."""
    return Markup(re.sub(r"`([^`]+)`", r"<code>\1</code>", str(escape(text))))


def breaks(name: str) -> Markup:
    """A name with places at which a narrow column may break it."""
    return Markup(re.sub(r"(?<=_)|(?<=[a-z])(?=[A-Z])", "<wbr>", str(escape(name))))


def number(value: float | None, digits: int = 2) -> str:
    return "–" if value is None else f"{value:.{digits}f}".replace("-", "−")


# Sentences and charts.


def of(count: int, what: str) -> str:
    """ "1 student", "1,200 students"."""
    return plural(f"{count:,}", what)


def some(names: Sequence[str], most: int = MAX_NAMES) -> str:
    """The first of many names in a sentence."""
    more = f" and {len(names) - most:,} more" if len(names) > most else ""
    return ", ".join(names[:most]) + more


def points(value: float) -> str:
    """A number of points, which may lie between two that occur: to a hundredth."""
    return f"{round(value, 2):g}"


def quartiles(values: Sequence[float]) -> tuple[float, float, float]:
    """Below which a quarter, a half and three quarters of the values lie, between the two nearest where it falls between; of one value, that."""
    if len(values) < 2:
        return (values[0],) * 3
    low, middle, high = statistics.quantiles(values, n=4, method="inclusive")
    return low, middle, high


def percent(share: float) -> str:
    return f"{100 * share:.0f}\N{NO-BREAK SPACE}%"


def _plots(report: AssignmentReport) -> dict[str, plots.Plot | None]:
    """The charts, each with a sentence that says the same; None where there are no numbers for one."""
    name = "n" + re.sub(r"\W", "", report.name)
    return {
        "mistakes": _mistakes(f"{name}-mistakes", report),
        "exercises": _exercises(f"{name}-exercises", report),
        "scores": _scores(f"{name}-scores", report),
        "days": _days(f"{name}-days", report),
    }


def _mistakes(name: str, report: AssignmentReport) -> plots.Plot | None:
    if not report.mistakes:
        return None
    first = report.mistakes[0]
    past_count = sum(mistake.past for mistake in report.mistakes)
    words = (
        f"The class made {of(len(report.mistakes), 'known mistake')}. "
        f"The most frequent one, by {of(first.students, 'student')}, is in {first.exercise}: {first.message}"
    )
    if past_count:
        are = "is" if past_count == 1 else "are"
        words += f" {of(past_count, 'mistake')} of an earlier attempt {are} gone in the latest."
    rows = []
    for number, mistake in enumerate(report.mistakes[:MAX_CHART_MISTAKES], 1):
        rows.append((f"{number}  {mistake.exercise}: {mistake.message}", mistake.now, mistake.past))
    return plots.stacks(name, rows, ("in the latest attempt", "only in an earlier one"), words)


def _exercises(name: str, report: AssignmentReport) -> plots.Plot | None:
    ranking = sorted((exercise.share, exercise.name) for exercise in report.exercises if exercise.share is not None)
    if not ranking:
        return None
    (low, hardest), (high, easiest) = ranking[0], ranking[-1]
    words = (
        f"{easiest} went best, with {percent(high)} of its points earned; {hardest} was hardest, with {percent(low)}."
    )
    if low == high:
        words = f"{percent(low)} of the points were earned" + (" in each exercise." if len(ranking) > 1 else ".")
    return plots.shares(name, [(exercise.name, exercise.share) for exercise in report.exercises], words)


def _scores(name: str, report: AssignmentReport) -> plots.Plot | None:
    scores = report.points
    whole = report.whole
    if not (scores and whole):
        return None
    low, middle, high = quartiles(scores)
    most = sum(1 for score in scores if score >= whole)
    words = (
        f"Half of the {of(len(scores), 'student')} have {points(middle)} of {points(whole)} points or more; "
        f"the middle half is between {points(low)} and {points(high)}. "
        f"{of(most, 'student') if most else 'Nobody'} {'have' if most > 1 else 'has'} all points."
    )
    return plots.histogram(name, scores, whole, "points that count", words)


def _days(name: str, report: AssignmentReport) -> plots.Plot | None:
    if not report.attempts.days:
        return None
    due = report.due.date() if report.due else None
    return plots.over_time(name, report.attempts.days, due, _over_time(report.attempts))


def _over_time(attempts: AttemptsReport) -> str:
    """What the chart of days shows."""
    busiest = max(attempts.days, key=lambda day: sum(attempts.days[day]))
    students = sum(new for new, _ in attempts.days.values())
    sentence = (
        f"{of(students, 'student')} handed in {of(attempts.count, 'attempt')}. "
        f"The busiest day was {busiest.day} {busiest:%B}, with {sum(attempts.days[busiest]):,}."
    )
    if attempts.again:
        same = attempts.again - attempts.better - attempts.worse
        sentence += (
            f" {of(attempts.again, 'student')} handed in again: {attempts.better:,} ended with more points than at first, "
            f"{same:,} with as many, {attempts.worse:,} with fewer."
        )
    if not attempts.has_times:
        sentence += " Where a time of submission is unknown, the chart shows when it was graded."
    return sentence


def _term(report: ClassReport) -> plots.Plot | None:
    shares = [100 * grade.course_grade.share for grade in report.course_grades if grade.course_grade.share is not None]
    if not shares:
        return None
    low, middle, high = quartiles(shares)
    words = (
        f"Over all notebooks, half of the {of(len(shares), 'student')} have {middle:.0f}\N{NO-BREAK SPACE}% or more; "
        f"the middle half is between {low:.0f} and {high:.0f}\N{NO-BREAK SPACE}%."
    )
    return plots.histogram("term", shares, 100.0, "percent of what counts", words)
