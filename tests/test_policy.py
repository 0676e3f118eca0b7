"""course.toml: what a class has agreed on is read with clear errors, and applied to scores without changing them."""

from __future__ import annotations

import re
from datetime import UTC, datetime, timedelta
from pathlib import Path

import pytest
from conftest import ROOT
from fabricated import DUE, FFN, FakeAttempt, fabricate
from hypothesis import given
from hypothesis import strategies as st
from nbgrader.api import Gradebook

from autograder.class_folder.folder import ClassFolder
from autograder.class_folder.policy_file import format_value
from autograder.class_folder.roster import Roster, Student
from autograder.class_folder.student_lookup import StudentLookup
from autograder.errors import UserError, suggest_nearest
from autograder.gradebook import gradebook
from autograder.gradebook.policy import FILE, Grade, Policy
from autograder.gradebook.scores import Score, Scores
from autograder.paths import assignments

SCORES = {
    "ffn_forward": Score("ffn_forward", 4.0, 4.0),
    "DeepFFN": Score("DeepFFN", 3.0, 4.0),
    "quiz_rank": Score("quiz_rank", 1.0, 1.0),
    "M2": Score("M2", 0.0, 3.0, waits=True),
}


def rules(text: str = "", due: str = "2026-11-02T23:59:59") -> Policy:
    """A class in Berlin with a due date for notebook 02; `text` comes before it."""
    return Policy.read(f'time_zone = "Europe/Berlin"\n{text}\n[assignments.{FFN}]\ndue = {due}\n')


def grade(policy: Policy, scores: Scores = SCORES, student: str = "zoe", **late: float) -> Grade:
    return policy.grade(FFN, scores, DUE + timedelta(**late), student)


# The file


def test_without_a_file_all_notebooks_count_and_quizzes_do_not(tmp_path: Path) -> None:
    policy = Policy.of(ClassFolder(tmp_path))
    assert list(policy.notebooks) == assignments() and policy.due(FFN) is None
    total = policy.grade(FFN, SCORES, DUE, "zoe")
    assert (total.points, total.max_points, total.waiting, total.whole) == (7.0, 8.0, 3.0, 11.0)
    assert total.not_counted == ("quiz_rank",) and not total.late and str(total) == "7/8 + 3 to read"


def test_the_documented_example_is_valid_and_every_rule_in_it_is_explained() -> None:
    text = (ROOT / "docs" / FILE).read_text(encoding="utf-8")
    policy = Policy.read(text)
    assert policy.notebooks == ("00_start_here", "01_attention", FFN, "03_activations")
    assert policy.due("01_attention", "zoe@example.edu") == policy.in_class_zone(
        datetime(2026, 11, 9, 22, 59, 59, 999999)
    )
    assert policy.due(FFN, "ben") == policy.in_class_zone(datetime(2026, 11, 9, 17)), (
        "nobody in the group has an extension"
    )
    assert policy.attempts(FFN) == "latest" and policy.attempts("03_activations") == "best"
    lines = [line.split("#")[0].strip() for line in text.splitlines()]
    for key in (
        "time_zone",
        "notebooks",
        "does_not_count",
        "extra_credit",
        "grace",
        "attempts",
        "weight",
        "language_models",
        "[late]",
    ):
        place = next(number for number, line in enumerate(lines) if line.startswith(key))
        assert text.splitlines()[place - 1].startswith("#"), f"{key} has no comment above it"


@pytest.mark.parametrize(
    ("text", "message"),
    [
        ("late.percent_a_day = 120", "late.percent_a_day is 120; a number from 0 to 100 was expected"),
        ('language_models = ""', 'language_models is ""; a text of at most 5,000 characters was expected'),
        ("late.percent_a_day = true", "late.percent_a_day is true; a number from 0 to 100 was expected"),
        ("late.percent_aday = 2", 'late has no key "percent_aday"; did you mean "percent_a_day"?'),
        ("[late]\npercent_a_day = 1\npoints_a_day = 2", "set percent_a_day or points_a_day, not both"),
        ("lates = 3", 'there is no key "lates"; did you mean "late"?'),
        ('time_zone = "Berlin"', 'was expected; did you mean "Europe/Berlin"?'),
        ('notebooks = ["02_feed_foward"]', 'did you mean "02_feed_forward"?'),
        ('does_not_count = ["quiz_rnak"]', 'does_not_count has "quiz_rnak"'),
        ('extra_credit = ["DeepFNN"]', 'did you mean "DeepFFN"?'),
        (f"assignments.{FFN}.due = 2026-11-02", "without a time zone: write time_zone"),
        (f'assignments.{FFN}.due = "soon"', f'assignments.{FFN}.due is "soon"; a date such as 2026-11-02'),
        (f"assignments.{FFN}.duedate = 2026-11-02", f'assignments.{FFN} has no key "duedate"; did you mean "due"?'),
        (f'extensions.zoe.{FFN} = "3 days"', f"which has no due date: set assignments.{FFN}.due"),
        ('extensions.zoe = "3 days"', 'extensions.zoe is "3 days"; a table such as'),
        ("grace = 15", 'grace is 15; a text such as "15 minutes"'),
        ('[[groups]]\nstudents = ["a"]\n[[groups]]\nstudents = ["a"]', "a is in groups number 1 and 2"),
        (f"assignments.{FFN}.weight = 2", "has a weight and 00_start_here has none"),
        ("x = ", "is not TOML"),
        (f"weight = {'9' * 5_000}", "is not TOML: Exceeds the limit"),
        (f"weight = 0x{'f' * 4_000}", "weight is a very large number; a number from 0 to 1,000,000 was expected"),
        (f"notebooks = {'[' * 20_000}{']' * 20_000}", "is nested too deeply"),
        ("weight = 1e300", "weight is 1e+300; a number from 0 to 1,000,000 was expected"),
    ],
)
def test_what_can_not_be_is_refused_in_one_line_that_says_where(text: str, message: str, tmp_path: Path) -> None:
    (tmp_path / FILE).write_text(text, encoding="utf-8")
    with pytest.raises(UserError) as error:
        Policy.of(ClassFolder(tmp_path))
    line = str(error.value)
    assert message in line and line.startswith(str(tmp_path / FILE)) and "\n" not in line


@given(
    st.recursive(
        st.none() | st.booleans() | st.integers() | st.text(max_size=9), lambda values: st.lists(values, max_size=2)
    )
)
def test_whatever_stands_there_is_taken_or_refused(value: object) -> None:
    def toml(item: object) -> str:
        if isinstance(item, list):
            return f"[{', '.join(map(toml, item))}]"
        text = "".join(f"\\U{ord(c):08X}" for c in item) if isinstance(item, str) else ""
        return f'"{text}"' if isinstance(item, str) else str(item).lower()

    for key in ("notebooks", "late", "grace", "assignments", "extensions.zoe", "groups", "weight", "time_zone"):
        try:
            Policy.read(f"{key} = {toml(value)}")
        except UserError as error:
            assert len(str(error).splitlines()) == 1


def test_a_name_that_nobody_has_is_a_doubt_and_no_error() -> None:
    policy = rules(f'extensions.zoee.{FFN} = "2 days"\nextensions.yan.{FFN} = 2026-11-01')
    first, second = policy.doubts(["zoe", "yan"])
    assert 'extensions.zoee names "zoee"' in first and first.endswith("so it has no effect; did you mean zoe?")
    assert "before the due date" in second


# Lateness

LATE = st.builds(
    lambda kind, a_day, floor, last: f"late = {{ {kind} = {a_day}, floor = {floor}{f', last_day = {last}' if last else ''} }}",
    st.sampled_from(["percent_a_day", "points_a_day"]), st.integers(0, 100), st.integers(0, 100), st.none() | st.integers(1, 9),
)  # fmt: skip
SECONDS = st.integers(-86_400, 20 * 86_400)
POINTS = st.lists(st.tuples(st.integers(0, 8), st.integers(0, 8), st.booleans()), max_size=6)


def build_scores(points: list[tuple[int, int, bool]], prefix: str = "e") -> Scores:
    return {
        f"{prefix}{n}": Score(f"{prefix}{n}", min(score, most) / 2, most / 2, waits=waits)
        for n, (score, most, waits) in enumerate(points)
    }


@given(LATE, POINTS, SECONDS, SECONDS)
def test_handing_in_later_never_gains_a_point(late: str, points: list[tuple[int, int, bool]], a: int, b: int) -> None:
    policy = rules(late)
    scores = build_scores(points)
    sooner, later = (grade(policy, scores, seconds=s) for s in sorted((a, b)))
    assert sooner.points >= later.points and sooner.days_late <= later.days_late
    assert (sooner.max_points, sooner.waiting) == (later.max_points, later.waiting)


@given(LATE, st.integers(0, 100), POINTS, SECONDS)
def test_what_counts_never_falls_below_the_floor(
    late: str, floor: int, points: list[tuple[int, int, bool]], s: int
) -> None:
    total = grade(rules(re.sub(r"floor = \d+", f"floor = {floor}", late)), build_scores(points), seconds=s)
    if not total.beyond:
        assert total.points >= total.earned * floor / 100 - 1e-6
    assert 0 <= total.points <= total.earned and total.points == pytest.approx(total.earned - total.penalty)


@given(LATE, POINTS, SECONDS, st.integers(1, 40) | st.dates(datetime(2026, 10, 1).date(), datetime(2026, 12, 1).date()))
def test_an_extension_never_costs_anybody(
    late: str, points: list[tuple[int, int, bool]], s: int, until: object
) -> None:
    extension = f'"{until} days"' if isinstance(until, int) else str(until)
    with_it = rules(f"{late}\nextensions.zoe.{FFN} = {extension}\n[[groups]]\nstudents = ['zoe', 'yan']")
    scores = build_scores(points)
    for student in ("zoe", "yan"):
        assert (
            grade(with_it, scores, student, seconds=s).points >= grade(rules(late), scores, student, seconds=s).points
        )
    assert grade(with_it, scores, "ada", seconds=s) == grade(rules(late), scores, "ada", seconds=s)


AROUND_A_CHANGE_OF_THE_CLOCK = {  # due in Berlin, the extension: its end in UTC
    ("2026-03-29T01:30:00", "2 hours"): datetime(2026, 3, 29, 2, 30),
    ("2026-10-25T01:30:00", "2 hours"): datetime(2026, 10, 25, 1, 30),
    ("2026-10-25T01:30:00", "90 minutes"): datetime(2026, 10, 25, 1, 0),
    ("2026-10-24T12:00:00", "24 hours"): datetime(2026, 10, 25, 10, 0),
    ("2026-10-24T12:00:00", "1 day"): datetime(2026, 10, 25, 11, 0),
    ("2026-10-24T02:30:00", "1 day"): datetime(2026, 10, 25, 1, 30),  # an hour that is there twice: the later one
    ("2026-10-25T02:30:00", "0 days"): datetime(2026, 10, 25, 1, 30),
    ("2026-03-29T02:30:00", "0 days"): datetime(2026, 3, 29, 1, 30),  # an hour that is not there: 03:30
}


@pytest.mark.parametrize(("case", "end"), AROUND_A_CHANGE_OF_THE_CLOCK.items(), ids=str)
def test_hours_pass_while_the_clock_changes_and_days_are_the_calendars(
    case: tuple[str, str], end: datetime, tmp_path: Path
) -> None:
    due, extension = case
    policy = rules(f'late.percent_a_day = 10\nextensions.zoe.{FFN} = "{extension}"', due)
    assert not policy.grade(FFN, SCORES, end, "zoe").days_late
    assert policy.grade(FFN, SCORES, end + timedelta(seconds=1), "zoe").days_late == 1
    class_folder = fabricate(tmp_path, {"zoe": [FakeAttempt()]})
    with gradebook.Book(class_folder, writing=True) as book:
        policy.enter_dates(book, FFN)
    with Gradebook(class_folder.db_url) as book:
        submission = book.find_submission(FFN, "zoe")
        assert submission.duedate == end, "nbgrader adds them up in UTC"


@given(LATE, POINTS, POINTS, SECONDS)
def test_what_does_not_count_changes_neither_points_nor_maximum(
    late: str, points: list[tuple[int, int, bool]], quizzes: list[tuple[int, int, bool]], s: int
) -> None:
    policy = rules(late)
    scores = build_scores(points)
    with_quizzes = grade(policy, {**scores, **build_scores(quizzes, "quiz_")}, seconds=s)
    without = grade(policy, scores, seconds=s)
    for name in ("points", "max_points", "waiting", "whole", "earned", "penalty"):
        assert getattr(with_quizzes, name) == getattr(without, name)
    assert with_quizzes.not_counted == tuple(f"quiz_{n}" for n in range(len(quizzes)))


def test_a_penalty_is_visible_as_such() -> None:
    total = grade(rules("late.percent_a_day = 10"), SCORES, days=1, hours=3)
    assert total.late == "late by 2 days: −20\N{NO-BREAK SPACE}%, −1.4 points" and total.points == 5.6
    assert str(total) == "5.6/8 (−1.4 late) + 3 to read"
    assert total.lines()[0].endswith("It was due 2 Nov 2026, 23:59 CET and was handed in 4 Nov 2026, 02:59 CET.")
    assert grade(rules("late.points_a_day = 1"), SCORES, days=2).late == "late by 2 days: −2 points"
    too_late = grade(rules("[late]\npercent_a_day = 10\nlast_day = 2"), SCORES, days=2, seconds=1)
    assert too_late.points == 0 and too_late.late == "late by 3 days: too late to count, −7 points"


def test_grace_is_on_time_and_beyond_it_the_due_date_counts() -> None:
    policy = rules('grace = "1 hour"\nlate.percent_a_day = 10')
    assert grade(policy, hours=1).days_late == 0
    assert grade(policy, hours=1, seconds=1).days_late == 1
    assert grade(policy, days=1, seconds=1).days_late == 2


def test_the_night_in_which_the_clocks_change_is_one_day() -> None:
    policy = rules("late.percent_a_day = 10", due="2026-10-24T23:59:59")
    same_time = datetime(2026, 10, 25, 22, 59, 59, tzinfo=UTC)  # 25 hours later, at the same time on the wall
    assert policy.grade(FFN, SCORES, same_time, "zoe").days_late == 1
    assert policy.grade(FFN, SCORES, same_time + timedelta(seconds=1), "zoe").days_late == 2


def test_without_a_time_or_a_due_date_nobody_is_late() -> None:
    policy = rules("late.percent_a_day = 10")
    assert policy.grade(FFN, SCORES, None, "zoe").points == 7
    assert Policy.read("late.percent_a_day = 10").grade(FFN, SCORES, DUE + timedelta(days=9), "zoe").points == 7


# What counts, and how much


def test_extra_credit_is_on_top() -> None:
    total = grade(Policy.read('extra_credit = ["DeepFFN", "02_feed_forward/M2"]'))
    assert (total.points, total.max_points, total.extra, total.whole, total.waiting) == (7.0, 4.0, 3.0, 4.0, 3.0)
    assert total.on_top == ("DeepFFN", "M2")


def test_the_best_attempt_counts_after_its_own_lateness(tmp_path: Path) -> None:
    """Attempts: 8 points in time, 11 two days late at 40 % a day, 3 in time."""
    class_folder = fabricate(
        tmp_path,
        {
            "zoe": [
                FakeAttempt(["ffn_forward", "DeepFFN"]),
                FakeAttempt(["ffn_forward", "DeepFFN", "collapse_linear"], days=2),
                FakeAttempt(["collapse_linear"]),
            ]
        },
    )
    late = 'late.percent_a_day = 40\nattempts = "best"'
    with gradebook.Book(class_folder) as book:
        gradings = [grading for grading, _ in book.history_with_cells(FFN, "zoe")]
        scores = book.scores(FFN, ["zoe"])["zoe"]
        best = rules(late).choose_attempt(FFN, gradings, scores, "zoe")
        latest = rules(late.replace("best", "latest")).choose_attempt(FFN, gradings, scores, "zoe")
        free = Policy.read('attempts = "best"').choose_attempt(FFN, gradings, scores, "zoe")
    assert (best.grading, best.grade.points) == (gradings[0], 8.0)
    assert (latest.grading, latest.grade.points) == (gradings[2], 3.0)
    assert (free.grading, free.grade.points) == (gradings[1], 11.0)


def test_what_one_of_a_group_hands_in_counts_for_all(tmp_path: Path) -> None:
    class_folder = fabricate(
        tmp_path, {"zoe": [FakeAttempt(["ffn_forward"])], "yan": [FakeAttempt(["DeepFFN", "collapse_linear"])]}
    )
    policy = Policy.read('[[groups]]\nstudents = ["zoe", "yan", "xia"]')
    with gradebook.Book(class_folder) as book:
        effective_attempts = {
            student: policy.choose_attempt(
                FFN,
                [grading for grading, _ in book.history_with_cells(FFN, student)],
                book.scores(FFN)[student],
                student,
            )
            for student in ("zoe", "yan")
        }
    group_attempts = policy.share_in_groups(FFN, effective_attempts)
    assert {
        student: (attempt.by, attempt.grade.points) for student, attempt in group_attempts.items()
    } == dict.fromkeys(("zoe", "yan", "xia"), ("yan", 7.0))


def test_a_term_adds_points_up_or_weighs_shares() -> None:
    def worth(points: float, most: float) -> Grade:
        return Grade("", points=points, max_points=most, waiting=0.0, whole=most, earned=points)

    grades = {"01_attention": worth(5, 20), FFN: worth(10, 10), "03_activations": None}
    text = 'time_zone = "UTC"\nassignments.03_activations.due = 2026-11-16\n'
    before, after = datetime(2026, 11, 10, tzinfo=UTC), datetime(2026, 11, 17, tzinfo=UTC)
    assert Policy.read(text).course_grade(grades, "zoe", before).share == 0.5
    whole = Policy.read(text).course_grade(grades, "zoe", after)
    assert whole.max_points == 20 + 10 + 34 and whole.points == 15, "what was due and is not there counts as nothing"
    by_weight = Policy.read(f"weight = 1\n{text}assignments.{FFN}.weight = 2")
    assert by_weight.course_grade(grades, "zoe", before).share == pytest.approx((0.25 + 2 * 1) / 3)
    assert by_weight.course_grade(grades, "zoe", after).share == pytest.approx((0.25 + 2 * 1 + 0) / 4)


def test_nbgrader_learns_due_dates_and_extensions(tmp_path: Path) -> None:
    class_folder = fabricate(tmp_path, {"zoe": [FakeAttempt(["ffn_forward"])], "yan": [FakeAttempt()]})
    policy = rules(f'extensions.zoe.{FFN} = "3 days"')
    with gradebook.Book(class_folder, writing=True) as book:
        policy.enter_dates(book, FFN)
    with Gradebook(class_folder.db_url) as book:
        assert book.find_assignment(FFN).duedate == DUE.replace(tzinfo=None)
        assert book.find_submission(FFN, "zoe").extension == timedelta(days=3)
        assert book.find_submission(FFN, "yan").extension is None


def test_where_two_names_are_equally_near_both_are_asked_about() -> None:
    assert (
        suggest_nearest("S0003", ["S00003", "S00053", "S00100"], format_value) == '; did you mean "S00003" or "S00053"?'
    )
    assert suggest_nearest("ada", ["zoe"], format_value) == ""


def test_a_student_is_found_by_whatever_a_person_types() -> None:
    roster = Roster()
    for student, first, last, username in (
        ("01048211", "Ana María", "Ruiz", "aruiz"),
        ("zhang-1", "Wei", "Zhang", "wzhang1"),
        ("zhang-2", "Wei", "Zhang", "wzhang2"),
    ):
        cells = {"first_name": first, "last_name": last, "username": username, "email": f"{username}@uni.example"}
        roster._add(Student(student, cells))
    directory = StudentLookup(roster, {"ben": "Ben Bora", "01048211": ""})
    for text in ("01048211", "Ana Maria Ruiz", "Ruiz, Ana María", "ARUIZ", "aruiz@uni.example"):
        assert directory.find(text) == "01048211", text
    assert directory.find("ben bora") == directory.find("ben") == "ben"
    for text, message in (
        ("Wei Zhang", "2 students are called 'Wei Zhang'; did you mean Wei Zhang (zhang-1) or Wei Zhang (zhang-2)?"),
        ("Ruiz", "there is no student called 'Ruiz'; did you mean Ana María Ruiz (01048211)?"),
        ("1048211", "there is no student called '1048211'; did you mean Ana María Ruiz (01048211)?"),
        ("Unheard-of", "there is no student called 'Unheard-of'"),
    ):
        with pytest.raises(UserError) as error:
            directory.find(text)
        assert str(error.value) == message


def test_two_names_of_one_student_are_one_clear_line(tmp_path: Path) -> None:
    class_folder = ClassFolder(tmp_path)
    (tmp_path / "roster.csv").write_text("student,username\nS1,ada\nS2,ben\n", encoding="utf-8")
    for rules_text, message in (
        (f"extensions.ada.{FFN} = '1 day'\nextensions.S1.{FFN} = '2 days'", "are both about S1"),
        ("[[groups]]\nstudents = ['ada', 'S2']\n[[groups]]\nstudents = ['S1']", "S1 is in groups number 1 and 2"),
    ):
        due = f"time_zone = 'UTC'\nassignments.{FFN}.due = 2026-11-19\n"
        (tmp_path / "course.toml").write_text(due + rules_text, encoding="utf-8")
        with pytest.raises(UserError, match=message):
            Policy.of(class_folder)
