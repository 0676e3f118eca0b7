"""The report on a class: its numbers are those that one counts by hand, it shows nothing that acts, and it points at likeness without judging it."""

from __future__ import annotations

import csv
import io
import json
import math
import random
import re
import stat
import statistics
import time
from collections.abc import Iterator
from dataclasses import fields, replace
from html.parser import HTMLParser
from itertools import pairwise
from pathlib import Path
from typing import Any

import pytest
from conftest import ROOT, needs_chromium
from fabricated import DUE, FFN, FakeAttempt, fabricate, graded, save_grading
from nbgrader.api import Gradebook
from rich.console import Console
from test_desk import AXE, violations
from typer.testing import CliRunner

from autograder import outline
from autograder.class_folder.folder import ClassFolder
from autograder.cli import app
from autograder.errors import UserError
from autograder.gradebook import gradebook
from autograder.gradebook.gradebook import Grading
from autograder.gradebook.policy import FILE, EffectiveAttempt, Grade, Policy
from autograder.gradebook.scores import Score
from autograder.grading import feedback
from autograder.reports import class_report, class_table, data_files, report_page, similarity
from autograder.reports.exercise_statistics import ExerciseStatistics
from autograder.reports.report_parts import AssignmentReport, ClassReport
from autograder.reports.report_rows import ReportRow
from autograder.reports.shown_text import without_comments
from autograder.reports.student_history import ReadAttempt, StudentHistory
from ffnlab.checking.verdict import Outcome

EVIL = "</pre><script>alert(1)</script><img src=x onerror=alert(2)>"
MISSING_B1 = "def ffn_forward(x, W1, b1, W2, b2, act):\n    return act(x @ W1) @ W2 + b2  # written by Ada Lovelace"
EVERYTHING = [exercise.name for exercise in outline.of_notebook(FFN)]
WHOLE = 29  # points of notebook 02 without quizzes and without its question M2


def the_class() -> dict[str, list[FakeAttempt]]:
    """Points without quizzes: ada 29, ben 4 (before: a mistake), cas 3, dee 0, eli 0 (unreadable), fay 2 and one exercise that we could not grade."""
    b1 = {"ffn_forward": "b1_missing"}
    return {
        "ada": [FakeAttempt(EVERYTHING, code={"M2": "It drops out."})],
        "ben": [
            FakeAttempt([], b1, code={"ffn_forward": f"{MISSING_B1}\n# {EVIL}"}, days=-1),
            FakeAttempt(["ffn_forward"], code={"ffn_forward": "right"}, days=1),
        ],
        "cas": [FakeAttempt(["collapse_linear"], b1, code={"ffn_forward": MISSING_B1, "M2": EVIL})],
        "dee": [
            FakeAttempt(
                [],
                {**b1, "collapse_linear": "only_the_matrix"},
                code={"collapse_linear": f"def collapse_linear(x):\n    {EVIL}"},
            )
        ],
        "eli": [FakeAttempt(unread="not a notebook: broken JSON")],
        "fay": [
            FakeAttempt(
                [], half=["DeepFFN"], broken=["collapse_linear"], remarks=[f"the notebook is called fay {EVIL}.ipynb"]
            )
        ],
    }


@pytest.fixture(scope="module")
def class_folder(tmp_path_factory: pytest.TempPathFactory) -> ClassFolder:
    folder = fabricate(tmp_path_factory.mktemp("class"), the_class())
    (folder.path / FILE).write_text(
        f'time_zone = "UTC"\nlate.percent_a_day = 25\nassignments.{FFN}.due = {DUE:%Y-%m-%dT%H:%M:%S}\n',
        encoding="utf-8",
    )
    return folder


def report_of(
    class_folder: ClassFolder, *assignments: str, hide: bool = False, policy: Policy | None = None
) -> ClassReport:
    with gradebook.Book(class_folder) as book:
        return class_report.build_report(
            class_folder, book, policy or Policy.of(class_folder), assignments or (FFN,), hide, with_rows=True
        )


def read_answers(class_folder: ClassFolder, question: str, points: float) -> None:
    """What a person does in formgrader: read everybody's answer, and give so many points."""
    with Gradebook(class_folder.db_url) as nbgraders:
        for submission in nbgraders.assignment_submissions(FFN):
            grade = nbgraders.find_grade(question, FFN, FFN, submission.student.id)
            grade.manual_score, grade.needs_manual_grade = points, False
        nbgraders.db.commit()


def cells_of_exercise(page: str, name: str) -> dict[str, str]:
    """What the table of exercises has about one of them, by the titles of its columns."""
    (head,) = re.findall(r'<thead><tr><th scope="col">Exercise</th>.*?</thead>', page, re.DOTALL)
    (line,) = re.findall(rf'<tr><th scope="row">{name}</th>.*?</tr>', page, re.DOTALL)
    titles = re.findall(r'<th scope="col" class="n">(.*?)</th>', head)
    cells = re.findall(r'<td class="n">(.*?)</td>', line)
    return dict(zip(titles, cells, strict=True))


@pytest.fixture(scope="module")
def whole(class_folder: ClassFolder) -> ClassReport:
    return report_of(class_folder)


@pytest.fixture(scope="module")
def report(whole: ClassReport) -> AssignmentReport:
    return whole.assignments[0]


# Numbers


def test_scores_are_those_that_count(report: AssignmentReport) -> None:
    """ben's four points came a day late, for 25 %."""
    assert {student.label: student.grade.points for student in report.students} == {
        "ada": 29, "ben": 3, "cas": 3, "dee": 0, "eli": 0, "fay": 2,
    }  # fmt: skip
    assert report.whole == WHOLE + 3 and report_page.quartiles(report.points) == (0.5, 2.5, 3.0)
    assert report.late == [("ben", "late by 1 day: −25\N{NO-BREAK SPACE}%, −1 point")]


def test_difficulty_is_the_share_of_points_and_discrimination_the_correlation_with_the_rest(
    report: AssignmentReport,
) -> None:
    """ffn_forward: ada and ben 4 of 4; cas, dee and fay 0; eli's file could not be read. The rest of ada's points is 27, of the others' 0, 3, 0, 2."""
    forward = next(exercise for exercise in report.exercises if exercise.name == "ffn_forward")
    assert forward.answers == 5 and forward.share == pytest.approx(8 / 20)
    assert forward.outcomes == {"earned": 2, "not earned": 2, "not attempted": 1} and forward.unknown_mistakes == 0
    assert forward.discrimination == pytest.approx(56.8 / math.sqrt(19.2 * 537.2))
    trace = next(exercise for exercise in report.exercises if exercise.name == "collapse_linear")
    assert (trace.answers, trace.waiting) == (4, 1) and trace.share == pytest.approx(6 / 12)
    deep = next(exercise for exercise in report.exercises if exercise.name == "DeepFFN")
    assert deep.unknown_mistakes == 1, "fay's is wrong in part, and no known mistake explains it"
    question = next(exercise for exercise in report.exercises if exercise.name == "M2")
    assert question.by_hand and question.waiting == 2 and question.share is None, "nobody has read them yet"


def test_statistics_count_students_without_a_gradebook() -> None:
    """Five students with 0 to 4 of 4 points in one exercise, and as many in another; a sixth whose file could not be read."""
    statistics_of = ExerciseStatistics(FFN, {"ffn_forward": 4.0, "ffn_trace": 4.0}, Policy())
    for points in (0.0, 1.0, 2.0, 3.0, 4.0, None):
        verdicts: dict[str, dict[str, Any]] = {"ffn_forward": {"outcome": "not earned", "mistake": None}}
        grading = Grading(1, "ada", "", "", "", 0.0, 0.0, 8.0, verdicts, [])
        scores = {name: Score(name, points or 0.0, 4.0) for name in ("ffn_forward", "ffn_trace")}
        effective = EffectiveAttempt(grading, scores, Grade.nothing(FFN, 8.0), "ada")
        cells = () if points is None else None
        statistics_of.note(StudentHistory("ada", [ReadAttempt(grading, cells, None)], effective, scores))
    forward, trace = statistics_of.reports()
    assert (forward.answers, forward.share, forward.unknown_mistakes) == (5, 0.5, 5)
    assert forward.discrimination == pytest.approx(1) and trace.outcomes == {None: 5}


@pytest.mark.parametrize(("attempts", "count"), [("latest", 2), ("best", 3)])
def test_who_earned_an_exercise_only_after_a_named_mistake_is_counted(
    attempts: str, count: int, tmp_path: Path
) -> None:
    """ben and ida; with "best" also jon, who undid it. gus had it before, hal's mistake has no name, and kim never earned it."""
    right, mistaken = FakeAttempt(["ffn_forward"]), FakeAttempt([], {"ffn_forward": "b1_missing"})
    unnamed, unread = FakeAttempt(half=["ffn_forward"]), FakeAttempt(unread="not a notebook")
    histories = {
        "ben": [mistaken, right],
        "gus": [right, mistaken, right],
        "hal": [unnamed, unread, right],
        "ida": [mistaken, unnamed, unread, right, right],
        "jon": [mistaken, right, mistaken],
        "kim": [mistaken, unnamed],
    }
    folder = fabricate(tmp_path / "class", histories)
    (folder.path / FILE).write_text(f'attempts = "{attempts}"\n', encoding="utf-8")
    whole = report_of(folder)
    forward = next(exercise for exercise in whole.assignments[0].exercises if exercise.name == "ffn_forward")
    assert forward.earned_after_mistake == count
    rows = [row for row in whole.rows if row.exercise == "ffn_forward" and row.earned_after_mistake]
    assert [(row.student, row.attempt) for row in rows] == [("ben", 2), ("ida", 4), ("ida", 5), ("jon", 2)]
    assert sum(row.attempt_counts for row in rows) == count
    assert cells_of_exercise(report_page.page(whole), "ffn_forward")["after a named mistake"] == str(count)


def test_a_question_has_dashes_for_what_only_an_exercise_has(whole: ClassReport) -> None:
    cells = cells_of_exercise(report_page.page(whole), "M2")
    assert [title for title, cell in cells.items() if cell == "–"][-5:] == [
        "✔ right",
        "after a named mistake",
        "✘ not right",
        "with no known mistake",
        "○ not attempted",
    ]


def test_how_an_exercise_ended_is_asked_of_the_grading() -> None:
    """What a verdict lacks, and an exercise without one, has the same answer for everybody who asks."""
    wrong = {"outcome": "not earned", "mistake": "b1_missing", "cause": "b1 is missing."}
    verdicts: dict[str, dict[str, Any]]
    verdicts = {"ffn_forward": wrong, "DeepFFN": {"outcome": "earned", "mistake": None, "cause": ""}}
    grading = Grading(1, "ada", "", "", "", 0.0, 0.0, 8.0, verdicts, [])
    assert grading.outcome("ffn_forward") is Outcome.NOT_EARNED and grading.outcome("DeepFFN") is Outcome.EARNED
    assert (grading.mistake("ffn_forward"), grading.cause("ffn_forward")) == ("b1_missing", "b1 is missing.")
    assert (grading.mistake("DeepFFN"), grading.cause("DeepFFN")) == ("", "")
    assert (grading.outcome("M2"), grading.mistake("M2"), grading.cause("M2")) == (None, "", "")


def test_mistakes_are_counted_with_an_example_and_those_that_went_away(report: AssignmentReport) -> None:
    first, second = report.mistakes
    assert (first.exercise, first.name, first.now, first.past) == ("ffn_forward", "b1_missing", 2, 1)
    assert (second.exercise, second.name, second.now, second.past) == ("collapse_linear", "only_the_matrix", 1, 0)
    assert first.by == "cas" and [line.own for line in first.example] == [False, True], (
        "the first line is the handout's"
    )


def test_what_a_person_must_look_at_is_listed(report: AssignmentReport) -> None:
    assert report.waiting == {"M2": ["ada", "cas"]} and report.not_graded == 1 and report.unreadable_count == 1
    reasons = dict(report.to_look_at)
    assert set(reasons) == {"eli", "fay"}
    assert "could not be read; not a notebook" in reasons["eli"] and "not graded: collapse_linear" in reasons["fay"]


def test_a_file_that_cannot_be_read_takes_nothing_from_the_attempt_that_counts(tmp_path: Path) -> None:
    """With "best", ada's first attempt counts: she is among those who answered, and her newest file is still listed."""
    attempts = [FakeAttempt(earned=("ffn_forward",)), FakeAttempt(unread="not a notebook", days=0.01)]
    folder = fabricate(tmp_path, {"ada": attempts})
    (folder.path / FILE).write_text('attempts = "best"\n', encoding="utf-8")
    report = report_of(folder).assignments[0]
    forward = next(exercise for exercise in report.exercises if exercise.name == "ffn_forward")
    assert forward.answers == 1 and forward.outcomes == {"earned": 1} and report.unreadable_count == 0
    assert "could not be read" in dict(report.to_look_at)["ada"]


def test_attempts_over_time_and_what_became_of_them(report: AssignmentReport) -> None:
    attempts = report.attempts
    assert (attempts.count, attempts.again, attempts.better, attempts.worse) == (7, 1, 1, 0)
    assert {day.day: both for day, both in attempts.days.items()} == {1: (1, 0), 2: (5, 0), 3: (0, 1)}


@pytest.mark.parametrize(
    ("rules", "better", "worse"),
    [
        ("", 2, 1),
        ('attempts = "best"\n', 2, 0),
        (f"late.points_a_day = 4\nassignments.{FFN}.due = {DUE:%Y-%m-%dT%H:%M:%SZ}\n", 1, 1),
    ],
    ids=["latest", "best", "late"],
)
def test_more_than_at_first_is_said_of_points_that_count(rules: str, better: int, worse: int, tmp_path: Path) -> None:
    """ada solves a quiz, which is practice; ben an exercise of 4 points, a day late; cas one in time; dee loses one."""
    folder = fabricate(
        tmp_path,
        {
            "ada": [FakeAttempt(), FakeAttempt(["quiz_rank"], days=0.01)],
            "ben": [FakeAttempt(), FakeAttempt(["ffn_forward"], days=1)],
            "cas": [FakeAttempt(days=-2), FakeAttempt(["ffn_forward"], days=-1)],
            "dee": [FakeAttempt(["ffn_forward", "quiz_rank"], days=-2), FakeAttempt(["quiz_rank"], days=-1)],
        },
    )
    (folder.path / FILE).write_text(rules, encoding="utf-8")
    (report,) = report_of(folder).assignments
    attempts = report.attempts
    assert (attempts.again, attempts.better, attempts.worse) == (4, better, worse)


def test_grading_again_is_no_new_attempt(tmp_path: Path) -> None:
    class_folder = fabricate(tmp_path, {"ada": [FakeAttempt([])]})
    with gradebook.Book(class_folder, writing=True) as book:
        save_grading(book, "ada", graded(FakeAttempt(["ffn_forward"])), "0" * 64, None)
    (report,) = report_of(class_folder).assignments
    assert report.attempts.count == 1 and report.students[0].grade.points == 4 and report.students[0].attempt_count == 1


def test_a_term_has_every_notebook_and_every_student(tmp_path: Path) -> None:
    class_folder = fabricate(tmp_path, {"ada": [FakeAttempt(["ffn_forward"])], "ben": [FakeAttempt([])]})
    fabricate(tmp_path, {"ada": [FakeAttempt(["hello_shape"])], "cas": [FakeAttempt(["hello_shape"])]}, "00_start_here")
    report = report_of(class_folder, "00_start_here", FFN)
    results = {
        student.label: (student.course_grade.points, student.course_grade.max_points)
        for student in report.course_grades
    }
    assert results == {"ada": (6, 38), "ben": (0, 38), "cas": (2, 38)}, "what was not handed in counts as nothing"
    page = report_page.page(report)
    assert 'id="00_start_here"' in page and f'id="{FFN}"' in page and 'id="term"' in page


def test_what_was_not_graded_is_refused(class_folder: ClassFolder) -> None:
    with pytest.raises(UserError, match="01_attention has not been graded"):
        report_of(class_folder, "01_attention")


# The page


class _Page(HTMLParser):
    """The elements of a page, with their attributes, and how wide each row of each table is."""

    def __init__(self, text: str) -> None:
        super().__init__()
        self.elements: list[tuple[str, dict[str, str | None]]] = []
        self.widths: list[list[int]] = []  # of each table, by row, the columns that its cells take
        self.feed(text)

    def handle_starttag(self, tag: str, attrs: list[tuple[str, str | None]]) -> None:
        attributes = dict(attrs)
        self.elements.append((tag, attributes))
        if tag == "table":
            self.widths.append([])
        elif tag == "tr":
            self.widths[-1].append(0)
        elif tag in ("th", "td"):
            self.widths[-1][-1] += int(attributes.get("colspan") or 1)

    def all(self, *tags: str) -> Iterator[dict[str, str | None]]:
        return (attributes for tag, attributes in self.elements if tag in tags)


@pytest.mark.parametrize("hide", [False, True])
def test_the_page_runs_nothing_and_asks_for_nothing(hide: bool, class_folder: ClassFolder) -> None:
    text = report_page.page(report_of(class_folder, hide=hide))
    page = _Page(text)
    tags = {tag for tag, _ in page.elements}
    assert not tags & {"script", "img", "link", "iframe", "object", "form", "base"}
    assert all(not name.startswith("on") for _, attributes in page.elements for name in attributes)
    (policy,) = [m["content"] for m in page.all("meta") if m.get("http-equiv") == "Content-Security-Policy"]
    assert policy == "default-src 'none'; style-src 'unsafe-inline'"
    for _, attributes in page.elements:
        for name in ("href", "xlink:href", "src"):
            assert (attributes.get(name) or "#").startswith("#")
    assert "url(http" not in text and "@import" not in text


def test_the_page_can_be_read_without_seeing_it(whole: ClassReport) -> None:
    page = _Page(report_page.page(whole))
    levels = [int(tag[1]) for tag, _ in page.elements if re.fullmatch(r"h[1-6]", tag)]
    assert levels[0] == 1 and all(after <= before + 1 for before, after in pairwise(levels))
    names = [attributes["id"] for _, attributes in page.elements if "id" in attributes]
    assert len(names) == len(set(names))
    assert all(svg["role"] == "img" and svg["aria-label"] for svg in page.all("svg"))
    assert all(cell.get("scope") in ("col", "row") for cell in page.all("th"))
    assert len(list(page.all("table"))) == len(list(page.all("caption"))) == 4
    assert len(list(page.all("figure"))) == len(list(page.all("figcaption"))) == 4


def test_every_row_of_a_table_is_as_wide_as_its_head(class_folder: ClassFolder, tmp_path: Path) -> None:
    """Of one assignment, which has a question that a person reads, and of a term, in which somebody handed in less than the others."""
    term = fabricate(tmp_path, {"ada": [FakeAttempt(["ffn_forward"])], "ben": [FakeAttempt()]})
    fabricate(tmp_path, {"ada": [FakeAttempt(["hello_shape"])]}, "00_start_here")
    for report in (report_of(class_folder), report_of(term, "00_start_here", FFN)):
        tables = _Page(report_page.page(report)).widths
        assert tables and all(len(rows) > 1 for rows in tables)
        assert [sorted(set(rows)) for rows in tables if len(set(rows)) > 1] == []


def test_every_chart_says_in_words_what_it_shows(whole: ClassReport) -> None:
    page = report_page.page(whole)
    for sentence in (
        "The class made 2 known mistakes. The most frequent one, by 3 students, is in ffn_forward: The mistake is b1_missing.",
        "1 mistake of an earlier attempt is gone in the latest.",
        "Half of the 6 students have 2.5 of 32 points or more; the middle half is between 0.5 and 3.",
        "6 students handed in 7 attempts. The busiest day was 2 November, with 5. 1 student handed in again: 1 ended with more points than at first",
        "collapse_linear went best, with 50\N{NO-BREAK SPACE}% of its points earned",
    ):
        assert sentence in page, sentence


@needs_chromium
def test_the_page_shows_a_large_class_in_a_box_that_scrolls(tmp_path: Path) -> None:
    """Four thousand lines, in a real browser: no error, no request, the head of the table stays."""
    from playwright.sync_api import sync_playwright

    class_folder = fabricate(tmp_path, {"ada": [FakeAttempt(EVERYTHING)]})
    report = report_of(class_folder)
    (students,) = [assignment.students for assignment in report.assignments]
    report.assignments[0].students = students * 4000
    file = tmp_path / "report.html"
    file.write_text(report_page.page(report), encoding="utf-8")
    with sync_playwright() as playwright:
        flags = ["--no-sandbox", "--disable-gpu", "--disable-quic", "--no-first-run", "--disable-background-networking"]
        browser = playwright.chromium.launch(executable_path="/usr/bin/chromium", args=flags)
        page = browser.new_page(viewport={"width": 1100, "height": 900})
        trouble: list[str] = []
        page.on("console", lambda message: trouble.append(message.text))
        page.on("request", lambda request: trouble.append(request.url))
        page.goto(file.as_uri())
        box = page.locator(".tall")
        box.evaluate("box => box.scrollTo(0, 1e6)")
        tops = page.evaluate(
            "['.tall', '.tall thead th'].map(one => document.querySelector(one).getBoundingClientRect().top)"
        )
        assert page.locator(".tall tbody tr").count() == 4000
        assert abs(tops[0] - tops[1]) < 3 and trouble == [file.as_uri()]
        assert page.evaluate("document.documentElement.scrollWidth <= innerWidth")
        browser.close()


@needs_chromium
@pytest.mark.skipif(not AXE.is_file(), reason="axe-core is not installed: `make hub`, with npm")
def test_everybody_can_read_a_report_and_a_feedback_page(class_folder: ClassFolder, tmp_path: Path) -> None:
    """All that is folded is open; a report of one notebook and one of a term."""
    pytest.importorskip("playwright", reason="playwright is not installed")
    from lab import browser

    term = fabricate(tmp_path, {"ada": [FakeAttempt(["ffn_forward"])], "ben": [FakeAttempt()]})
    fabricate(tmp_path, {"ada": [FakeAttempt(["hello_shape"])]}, "00_start_here")
    sheets = [report_page.page(report_of(class_folder)), report_page.page(report_of(term, "00_start_here", FFN))]
    sheets += [feedback.feedback_page("cas", graded(attempts[-1])) for attempts in the_class().values()]
    with browser() as chromium:
        for width in (1280, 390):
            for number, text in enumerate(sheets):
                file = tmp_path / f"{number}.html"
                file.write_text(text.replace("<details", "<details open"), encoding="utf-8")
                page = chromium.new_page(viewport={"width": width, "height": 900})
                page.goto(file.as_uri())
                assert page.evaluate("document.documentElement.scrollWidth") <= width
                assert violations(page) == []
                page.close()


# Names


def test_with_hidden_names_nothing_says_who_somebody_is(class_folder: ClassFolder) -> None:
    report = report_of(class_folder, hide=True)
    everything = report_page.page(report) + data_files.as_csv(report.rows)
    for name in ("ada", "ben", "cas", "dee", "eli", "fay", "Lovelace"):
        assert not re.search(rf"\b{name}\b", everything, re.IGNORECASE), name
    assert "Student 3" in everything and "act(x @ W1) @ W2 + b2" in everything


def test_numbers_follow_no_order_that_somebody_knows(class_folder: ClassFolder) -> None:
    orders = {tuple(sorted(report_of(class_folder, hide=True).labels.items())) for _ in range(4)}
    assert len(orders) > 1


def test_real_names_are_shown_beside_ids_and_hidden_with_them(tmp_path: Path) -> None:
    class_folder = fabricate(
        tmp_path, {"s1": [FakeAttempt([], {"ffn_forward": "b1"}, code={"ffn_forward": "lovelace = Ada = max(1, 2)"})]}
    )
    with gradebook.Book(class_folder, writing=True) as book:
        book.upsert_students({"s1": {"first_name": "Ada", "last_name": "Lovelace"}})
    assert "Ada Lovelace (s1)" in report_page.page(report_of(class_folder))
    page = report_page.page(report_of(class_folder, hide=True))
    assert "ovelace" not in page and "s1" not in page and "max(1, 2)" in page


def test_a_student_who_was_taken_out_of_the_gradebook_is_hidden_as_well(tmp_path: Path) -> None:
    """The attempts stay, so the id can stand in what others wrote, in code and in the name of a file."""
    ada = FakeAttempt([], {"ffn_forward": "b1"}, code={"ffn_forward": "zoe_s7 = max(1, 2)\ny = zoe"})
    ada = replace(ada, remarks=["it looks like the file of zoe"])
    folder = fabricate(tmp_path, {"ada": [ada], "zoe": [FakeAttempt(["ffn_forward"])]})
    with Gradebook(folder.db_url) as nbgraders:
        nbgraders.remove_student("zoe")
    assert "zoe" in report_page.page(report_of(folder))
    page = report_page.page(report_of(folder, hide=True))
    assert not re.search(r"\bzoe\b", page) and "max(1, 2)" in page


@pytest.mark.parametrize(
    ("source", "bare_code"),
    [
        ("x = 1  # by Zoe\ny = 2\n", "x = 1  \ny = 2\n"),
        ('def f():\n    """By Zoe Miller."""\n    return "ok"\n', 'def f():\n    "…"\n    return "ok"\n'),
        ("x = 1\ny = (  # Zoe", "x = 1\ny = (  "),
        ('x = 1\ny = """Zoe', ""),
    ],
)
def test_comments_and_texts_are_left_out(source: str, bare_code: str) -> None:
    text = without_comments(source)
    assert "Zoe" not in text and (not bare_code or text == bare_code or text == bare_code.splitlines(keepends=True)[0])


# Alike

LONG = """def is_spread(weights, limit=0.5, rounds=12):
    total = 0.0
    largest = weights[0]
    for step in range(rounds):
        share = weights[step % len(weights)] / (1 + step)
        if share > limit and step not in (3, 5, 8):
            total += share**2 - 0.25 * largest
            largest = max(largest, share)
        elif share < -limit:
            total -= abs(share) * (rounds - step)
    return total / rounds, largest, [w for w in weights if w * largest > total]
"""
RENAMED = (
    LONG.replace("total", "acc")
    .replace("largest", "top")
    .replace("share", "part")
    .replace("step", "i")
    .replace("    ", "  ")
    + "# my own work\n"
)
OTHER = """def is_spread(weights, limit=0.5, rounds=12):
    values = sorted(weights, reverse=True)
    spread = values[0] - values[-1]
    while rounds and spread > limit:
        rounds -= 1
        values = [0.5 * (a + b) for a, b in zip(values, values[1:] + values[:1])]
        spread = min(spread, values[0] - values[-1])
    return spread, values, {"rounds": rounds, "limit": limit, "ok": spread <= limit}
"""
STUB = "def is_spread(weights, limit=0.5, rounds=12):\n    raise NotImplementedError\n"


def test_a_copy_with_other_names_is_a_pair_and_independent_work_is_none() -> None:
    (pair,) = similarity.find_similar("is_spread", {"ada": LONG, "ben": RENAMED, "cas": OTHER}, [STUB])[1]
    assert (pair.first, pair.second) == ("ada", "ben") and pair.share > 0.9 and not pair.names and not pair.comments
    (same,) = similarity.find_similar(
        "is_spread", {"ada": LONG + "# the same odd comment", "ben": LONG + "#the same  odd comment"}, [STUB]
    )[1]
    assert same.names and same.comments == 1, "names and comments that agree are said"


def test_what_the_handout_or_the_marking_guide_has_is_no_hint() -> None:
    assert similarity.find_similar("is_spread", {"ada": LONG, "ben": RENAMED}, [STUB, LONG])[1] == []


def test_short_answers_are_no_hint() -> None:
    short = "def is_spread(weights):\n    return max(weights) - min(weights) > 0.5\n"
    assert similarity.find_similar("is_spread", {"ada": short, "ben": short}, [STUB])[1] == []


def test_what_many_have_is_no_hint() -> None:
    answers = {f"s{number}": LONG for number in range(30)}
    assert similarity.find_similar("is_spread", answers, [STUB])[1] == []
    assert len(similarity.find_similar("is_spread", dict(list(answers.items())[:3]), [STUB])[1]) == 3


@pytest.mark.parametrize(("ring", "size"), [(5, 24), (21, 24), (16, 300), (3, 3)])
def test_a_ring_of_any_size_is_one_group(ring: int, size: int) -> None:
    answers = {f"s{number:03}": (LONG, RENAMED)[number % 2] + "# the same odd comment\n" for number in range(ring)}
    answers |= {f"t{number:03}": OTHER.replace("0.5 ", f"{number}.5 ") for number in range(size - ring)}
    (group, *rest) = similarity.find_similar("is_spread", answers, [STUB])[0]
    assert len(group.students) == ring and not group.names and group.comments == 1 and not rest
    assert similarity.find_similar("is_spread", answers, [STUB, LONG])[0] == [], "what the key has is nobody's own"
    short = dict.fromkeys(answers, "def is_spread(weights):\n    return max(weights) - min(weights) > 0.5\n")
    assert similarity.find_similar("is_spread", short, [STUB])[0] == []


def test_an_answer_of_megabytes_is_said_and_costs_no_more_than_others(tmp_path: Path) -> None:
    began = time.process_time()
    for much in ("x=1;" * 2_000_000, "(" * 8_000_000):
        similarity.find_similar("f", {"ada": much, "ben": much, "cas": much}, [])
    assert time.process_time() - began < 10, "43 s for one of them when all of it was read"
    code = {"DeepFFN": "x=1;" * 500_000}
    (report,) = report_of(fabricate(tmp_path, {"ada": [FakeAttempt(["DeepFFN"], code=code)]})).assignments
    assert (
        "ada",
        "DeepFFN is unusually long, 2.0 million characters, so only its beginning is compared with others'",
    ) in report.to_look_at


@pytest.mark.parametrize("source", ["", "(", "'''", "def f(:\n\t  x\n y", "\x00", "x = 1\n\\", "🙂 = 'ok"])
def test_what_is_no_python_breaks_nothing(source: str) -> None:
    assert similarity.find_similar("f", {"ada": source, "ben": source}, [source])[1] == []


def test_a_thousand_answers_take_seconds() -> None:
    rng = random.Random(1)
    lines = LONG.splitlines()
    answers = {}
    for number in range(1000):
        own = [f"    v{n} = weights[{rng.randrange(99)}] * {rng.random():.4f} - limit" for n in range(6)]
        answers[f"s{number}"] = "\n".join([lines[0], *own, *rng.sample(lines[1:], 6)])
    answers["copy"] = answers["s7"].replace("v3", "w")
    pairs = similarity.find_similar("is_spread", answers, [STUB])[1]
    assert ("s7", "copy") in {(pair.first, pair.second) for pair in pairs}


def test_pairs_are_shown_as_a_place_to_look_and_groups_are_not(tmp_path: Path) -> None:
    code = {"DeepFFN": LONG.replace("is_spread", "DeepFFN")}
    class_folder = fabricate(
        tmp_path, {student: [FakeAttempt(["DeepFFN"], code=code)] for student in ("ada", "ben", "cas")}
    )
    (report,) = report_of(class_folder, policy=Policy.read('[[groups]]\nstudents = ["ada", "ben", "cas"]')).assignments
    assert not report.alike.pairs and not report.alike.groups
    page = report_page.page(report_of(class_folder))
    assert "This is a place to look, not a verdict" in page and "pairs of students" not in page
    assert "DeepFFN: 3 students, the same from beginning to end, also the names they chose: ada, ben, cas" in page
    class_folder = fabricate(
        tmp_path / "two", {student: [FakeAttempt(["DeepFFN"], code=code)] for student in ("ada", "ben", "cas")[:2]}
    )
    page = report_page.page(report_of(class_folder))
    assert "This is a place to look, not a verdict" in page and "1 pair of students" in page


# Going on


def test_the_csv_has_a_line_for_each_exercise_of_each_hand_in_and_no_formula(whole: ClassReport) -> None:
    rows = list(csv.DictReader(io.StringIO(data_files.as_csv(whole.rows).removeprefix("\ufeff"))))
    assert len(rows) == 6 * (len(EVERYTHING) + 1) + len(EVERYTHING), "M2 stands with the latest attempts alone"
    (before,) = [r for r in rows if r["student"] == "ben" and r["attempt"] == "1" and r["exercise"] == "ffn_forward"]
    assert (before["latest"], before["attempt_counts"]) == ("0", "0")
    assert (before["points"], before["mistake"]) == ("0", "b1_missing")
    (after,) = [r for r in rows if r["student"] == "ben" and r["attempt"] == "2" and r["exercise"] == "ffn_forward"]
    assert (after["latest"], after["attempt_counts"]) == ("1", "1")
    assert (after["points"], after["outcome"]) == ("4", "earned")
    assert {r["exercise_counts"] for r in rows if r["exercise"].startswith("quiz_")} == {"0"}
    assert {r["exercise_counts"] for r in rows if not r["exercise"].startswith("quiz_")} == {"1"}
    assert {r["attempt_counts"] for r in rows if r["student"] == "ada"} == {"1"}, "of practice, too"
    texts: dict[str, Any] = {"student": "=1+1", "exercise": "@x", "mistake": "+", "message": "-"}
    row = replace(whole.rows[0], **texts, points=-1.5, max_points=2.0, earned_after_mistake=True, by_hand=False)
    (cells,) = csv.DictReader(io.StringIO(data_files.as_csv([row]).removeprefix("\ufeff")))
    assert {name: cells[name] for name in texts} == {name: f"'{text}" for name, text in texts.items()}
    assert (cells["points"], cells["max_points"]) == ("-1.5", "2")
    assert (cells["earned_after_mistake"], cells["by_hand"]) == ("1", "0")


def test_the_documentation_has_every_column_of_both_tables() -> None:
    text = (ROOT / "docs" / "grading.md").read_text(encoding="utf-8")
    section = text.partition("## The report's data\n")[2].partition("\n## ")[0]
    columns = re.findall(r"^\| `([^`]+)` \|", section, re.MULTILINE)
    grades = [f"ASSIGNMENT {title}" for title in data_files.GRADE_COLUMNS]
    assert columns == [*data_files.COLUMNS, *data_files.STUDENT_COLUMNS, *grades]


@pytest.mark.parametrize("attempts", ["latest", "best"])
def test_the_notebook_reads_the_csv_and_counts_the_same(
    attempts: str, tmp_path: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    """gus undoes in the second attempt what was right in the first; what a person gave for M2 counts with either."""
    first = FakeAttempt(["ffn_forward"], code={"M2": "It drops out."}, days=-1)
    students = the_class() | {"gus": [first, FakeAttempt(["ffn_trace"], {"ffn_forward": "b1_missing"})]}
    folder = fabricate(tmp_path / "class", students)
    (folder.path / FILE).write_text(f'attempts = "{attempts}"\n', encoding="utf-8")
    read_answers(folder, "M2", 2.0)
    whole = report_of(folder)
    (tmp_path / "class.csv").write_text(data_files.as_csv(whole.rows), encoding="utf-8")
    notebook = json.loads(data_files.as_notebook("class.csv"))
    monkeypatch.chdir(tmp_path)
    names: dict[str, Any] = {}
    for cell in notebook["cells"]:
        if cell["cell_type"] == "code":
            exec(compile("".join(cell["source"]), "a cell", "exec"), names)
    output = capsys.readouterr().out
    (report,) = whole.assignments
    # The page: ffn_forward 4 of 4 by ada and ben, and by gus in the attempt that is no longer the latest; eli's file could not be read.
    assert f"{ {'latest': 33, 'best': 50}[attempts] }%  {FFN}  ffn_forward" in output
    shares = {exercise.name: exercise.share for exercise in report.exercises if exercise.share is not None}
    assert {name: share for (_, name), share in names["shares"].items()} == pytest.approx(shares) and "M2" in shares
    earned = {student.label: student.grade.earned for student in report.students}
    assert {student: points for (_, student), points in names["points"].items()} == earned
    assert f"{FFN}: 7 students, median {statistics.median(earned.values()):g}" in output
    assert {name: len(messages) for (_, name), messages in names["told"].items()} == {
        mistake.name: mistake.now for mistake in report.mistakes
    }
    assert "   3  ffn_forward: The mistake is b1_missing." in output
    kinds = {"int": int, "bool": int, "float": float, "str": str}
    for column in fields(ReportRow):
        assert {type(row[column.name]) for row in names["rows"]} == {kinds[str(column.type)]}, column.name
    values = [tuple(row[name] for name in data_files.WHOLE_NUMBERS) for row in names["rows"]]
    assert values == [tuple(int(getattr(row, name)) for name in data_files.WHOLE_NUMBERS) for row in whole.rows]
    if "counting_table" in names:  # pandas is an extra
        outcomes = names["counting_table"].groupby(["exercise", "outcome"]).size()
        forward = next(exercise for exercise in report.exercises if exercise.name == "ffn_forward")
        assert outcomes["ffn_forward"].to_dict() == dict(forward.outcomes)


def test_a_question_that_is_still_being_read_has_no_share_in_the_notebook_either(
    whole: ClassReport, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Those who wrote nothing are settled first, and would stand for all."""
    (tmp_path / "class.csv").write_text(data_files.as_csv(whole.rows), encoding="utf-8")
    monkeypatch.chdir(tmp_path)
    names: dict[str, Any] = {}
    for cell in json.loads(data_files.as_notebook("class.csv"))["cells"]:
        if cell["cell_type"] == "code":
            exec(compile("".join(cell["source"]), "a cell", "exec"), names)
    shares = {exercise.name: exercise.share for exercise in whole.assignments[0].exercises}
    assert shares["M2"] is None and (FFN, "M2") not in names["shares"]


# The command


def run(*arguments: str | Path) -> tuple[int, str]:
    result = CliRunner().invoke(app, [str(argument) for argument in arguments])
    return result.exit_code, result.output + (
        f"{type(result.exception).__name__}: {result.exception}" if result.exception else ""
    )


def test_the_command_writes_files_for_their_owner_and_says_what_waits(
    class_folder: ClassFolder, tmp_path: Path
) -> None:
    files = [tmp_path / name for name in ("page.html", "rows.csv", "on.ipynb")]
    status, output = run(
        "report", FFN, "--grading", class_folder.path, "--to", files[0], "--csv", files[1], "--notebook", files[2]
    )
    assert status == 2 and f"{FFN}: 1 submission could not be graded in full" in output
    assert "6 students, 2 known mistakes, 2 answers to read, 2 submissions to look at" in " ".join(output.split())
    assert all(stat.S_IMODE(file.stat().st_mode) == 0o600 for file in files)
    assert "rows.csv" in files[2].read_text(encoding="utf-8")
    assert not (class_folder.path / "report.html").exists()


def test_where_nothing_waits_the_command_ends_well_and_its_page_lies_in_the_class(tmp_path: Path) -> None:
    class_folder = fabricate(tmp_path / "class", {"ada": [FakeAttempt(["ffn_forward"])]})
    status, output = run("report", "--grading", class_folder.path)
    assert status == 0 and (class_folder.path / "report.html").is_file(), output


@pytest.mark.parametrize(
    ("arguments", "message"),
    [
        (["02_feed_foward"], "there is no assignment called '02_feed_foward'"),
        (["01_attention"], "01_attention has not been graded"),
        ([FFN, "--to", str(ROOT)], "is a folder; give the name of a file"),
    ],
)
def test_a_mistake_at_the_keyboard_is_one_clear_line(
    arguments: list[str], message: str, class_folder: ClassFolder
) -> None:
    _, output = run("report", *arguments, "--grading", class_folder.path)
    assert f"UserError: {output.partition('UserError: ')[2]}" in output and message in output


def test_a_report_on_nothing_makes_no_gradebook(tmp_path: Path) -> None:
    _, output = run("report", "--grading", tmp_path)
    assert "nothing has been graded" in output and list(tmp_path.iterdir()) == []


# What a policy makes of scores, elsewhere


def test_a_feedback_page_shows_what_counts_and_what_being_late_costs() -> None:
    paper = graded(FakeAttempt(["ffn_forward", "quiz_rank"], code={"ffn_forward": "right", "M2": "It drops out."}))
    policy = Policy.read(f"late.percent_a_day = 25\nassignments.{FFN}.due = 2026-11-02T22:59:59Z")
    grade = policy.grade(FFN, feedback.combine_scores(paper), DUE.replace(day=4), "ben")
    page = feedback.feedback_page("ben", paper, grade=grade)
    assert "2 of 29 points, 3 not read yet" in page
    assert "Late by 2 days: −50\N{NO-BREAK SPACE}%, −2 points. It was due 2 Nov 2026, 22:59 UTC" in page
    assert "For practice, not for points: quiz_rank, quiz_bias." in page and "earned, for practice" in page
    assert ">−2</td>" in page and feedback.feedback_page("ben", paper) != page


def test_the_table_on_the_terminal_shows_what_counts(class_folder: ClassFolder) -> None:
    console = Console(width=200, file=io.StringIO())
    with gradebook.Book(class_folder) as book:
        grades = Policy.of(class_folder).grades(book, FFN)
        class_table.print_class(console, FFN, book.latest(FFN), book.scores(FFN), grades=grades)
    output = console.file.getvalue()  # type: ignore[attr-defined]
    assert "3/29 (−1 late)" in output or "3/32 (−1 late)" in output
    assert "For practice, not for points: quiz_rank, quiz_bias" in output
