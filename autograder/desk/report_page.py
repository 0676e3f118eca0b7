"""A report as one HTML file: it holds its pictures, runs nothing and asks for nothing. Called by `autograder report`. What came from students is escaped."""

from __future__ import annotations

import re
from collections.abc import Sequence
from functools import cache
from importlib import resources

import jinja2
from markupsafe import Markup, escape

from autograder.desk import plots
from autograder.desk.class_report import Assignment, Exercise, Report, Student, quartiles
from autograder.desk.policy import moment
from ffnlab.verdict import Outcome

MOST_IN_CHART = 12  # mistakes
MOST_NAMES = 12  # in a sentence
SIGNS = {
    Outcome.EARNED.value: "✔",
    Outcome.NOT_EARNED.value: "✘",
    Outcome.NOT_ATTEMPTED.value: "○",
    Outcome.NOT_GRADED.value: "?",
}


def page(report: Report) -> str:
    """The report as HTML."""
    charts = {one.name: _plots(one) for one in report.assignments}
    return _template().render(report=report, charts=charts, term=_term(report), most_in_chart=MOST_IN_CHART).lstrip()


@cache
def _template() -> jinja2.Template:
    text = resources.files("autograder.desk").joinpath("templates/report.html").read_text(encoding="utf-8")
    environment = jinja2.Environment(autoescape=True, trim_blocks=True, lstrip_blocks=True)
    filters = (of, some, percent, points, moment, quartiles, cell, number, words, breaks)
    environment.filters |= {filter.__name__: filter for filter in filters}
    return environment.from_string(text)


def cell(student: Student, exercise: Exercise) -> str:
    """A cell of the table: points, and how they came about."""
    mark = student.marks.get(exercise.name)
    if mark is None:
        return "–"
    if mark.waits:
        return "to read" if exercise.by_hand else "?"
    sign = "✎" if mark.by_hand else SIGNS.get(student.outcomes.get(exercise.name, ""), "")
    return sign if sign == "○" else f"{mark.score:g}\N{NO-BREAK SPACE}{sign}".rstrip()


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
    return f"{count:,} {what}{'' if count == 1 else 's'}"


def some(names: Sequence[str], most: int = MOST_NAMES) -> str:
    """The first of many names in a sentence."""
    return ", ".join(names[:most]) + (f" and {len(names) - most:,} more" if len(names) > most else "")


def points(value: float) -> str:
    """A number of points, which may lie between two that occur: to a hundredth."""
    return f"{round(value, 2):g}"


def percent(share: float) -> str:
    return f"{100 * share:.0f}\N{NO-BREAK SPACE}%"


def _plots(report: Assignment) -> dict[str, plots.Plot]:
    found = {}
    name = "n" + re.sub(r"\W", "", report.name)
    if report.points and report.whole:
        low, middle, high = quartiles(report.points)
        most = sum(1 for one in report.points if one >= report.whole)
        words = (
            f"Half of the {of(len(report.points), 'student')} have {points(middle)} points or more, out of {points(report.whole)}; "
            f"the middle half is between {points(low)} and {points(high)}. "
            f"{of(most, 'student') if most else 'Nobody'} {'have' if most > 1 else 'has'} all points."
        )
        found["scores"] = plots.histogram(f"{name}-scores", report.points, report.whole, "points that count", words)
    rated = [exercise for exercise in report.exercises if exercise.share is not None]
    if rated:
        hardest, easiest = min(rated, key=lambda e: e.share or 0), max(rated, key=lambda e: e.share or 0)
        words = (
            f"{easiest.name} went best, with {percent(easiest.share or 0)} of its points earned; "
            f"{hardest.name} was hardest, with {percent(hardest.share or 0)}."
        )
        found["exercises"] = plots.shares(f"{name}-exercises", [(e.name, e.share) for e in report.exercises], words)
    shown = report.mistakes[:MOST_IN_CHART]
    if shown:
        first = shown[0]
        gone = sum(mistake.gone for mistake in report.mistakes)
        words = (
            f"{of(len(report.mistakes), 'known mistake')} {'was' if len(report.mistakes) == 1 else 'were'} made. "
            f"Most often, by {of(first.students, 'student')}, in {first.exercise}: {first.message}"
        ) + (
            f" {of(gone, 'time')} a mistake was there in an earlier attempt and is gone in the latest." if gone else ""
        )
        rows = [(f"{number}  {m.exercise}: {m.message}", m.now, m.gone) for number, m in enumerate(shown, 1)]
        found["mistakes"] = plots.stacks(
            f"{name}-mistakes", rows, ("in the latest attempt", "gone since an earlier one"), words
        )
    if report.days:
        found["days"] = plots.over_time(
            f"{name}-days", report.days, report.due.date() if report.due else None, _over_time(report)
        )
    return found


def _over_time(report: Assignment) -> str:
    """What the chart of days shows."""
    busiest = max(report.days, key=lambda day: sum(report.days[day]))
    students = sum(new for new, _ in report.days.values())
    said = (
        f"{of(students, 'student')} handed in, {of(report.hand_ins, 'time')} in all; "
        f"most on {busiest.day} {busiest:%B} ({sum(report.days[busiest]):,})."
    )
    if report.again:
        same = report.again - report.better - report.worse
        said += (
            f" {of(report.again, 'student')} handed in again: {report.better:,} ended with more points than at first, "
            f"{same:,} with as many, {report.worse:,} with fewer."
        )
    if not report.times_known:
        said += " Where it is not known when something was handed in, this is when it was graded."
    return said


def _term(report: Report) -> plots.Plot | None:
    shares = [100 * one.term.share for one in report.terms if one.term.share is not None]
    if not shares:
        return None
    low, middle, high = quartiles(shares)
    words = (
        f"Over all notebooks, half of the {of(len(shares), 'student')} have {middle:.0f}\N{NO-BREAK SPACE}% or more; "
        f"the middle half is between {low:.0f} and {high:.0f}\N{NO-BREAK SPACE}%."
    )
    return plots.histogram("term", shares, 100.0, "percent of what counts", words)
