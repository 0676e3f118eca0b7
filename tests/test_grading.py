"""Grading: answers one at a time and a whole class; fair where nbgrader is not, the same scores where it is."""

from __future__ import annotations

import json
import shutil
from pathlib import Path
from typing import Any, Never

import nbformat
import pytest
from conftest import needs_bubblewrap, often
from test_program import ANSWER as RIGHT
from test_program import answered, blank, place

from autograder import keys
from autograder.authoring import build, plain_nbgrader, sample
from autograder.class_folder import log, submitted_files
from autograder.class_folder.folder import ClassFolder
from autograder.engine import pool
from autograder.engine.grade_submission import GradedSubmission, grade_answer, grade_submission
from autograder.errors import UserError
from autograder.gradebook import gradebook
from autograder.grading import feedback, grade_class
from autograder.jail.sandbox import Jail
from autograder.keys.key import Answer, Key
from autograder.paths import release
from autograder.rechecking import recheck
from autograder.reference import compute, stored
from autograder.reference.draws import hidden_seeds, public_seeds
from ffnlab.checking import reference_files
from ffnlab.checking.checks import examine
from ffnlab.checking.verdict import Outcome
from ffnlab.observation.exercise import Exercise
from ffnlab.registry import active_course

pytestmark = needs_bubblewrap
START, FFN = "00_start_here", "02_feed_forward"
SEEDS = {name: hidden_seeds(exercise, b"a test's secret") for name, exercise in active_course().exercises.items()}
KNOWN_ANSWERS = [
    (key, answer) for name in (START, FFN) for key in keys.of_notebook(name) for answer in key.rights + key.mistakes
]
FIRST = [(key, answer) for key, answer in KNOWN_ANSWERS if answer in (key.rights[0], key.mistakes[0])]


def graded(jail: Jail, source: str) -> GradedSubmission:
    return grade_submission(START, json.dumps(answered(source)).encode(), jail, SEEDS)


@pytest.mark.parametrize(
    ("key", "answer"), often(KNOWN_ANSWERS, FIRST), ids=lambda x: getattr(x, "name", None) or x.exercise.name
)
def test_every_kept_answer_as_typed_gets_its_verdict_in_the_jail(key: Key, answer: Answer, jail: Jail) -> None:
    result = grade_answer(key.exercise.name, answer.source, jail)
    if answer.kind == "right":
        assert (result["outcome"], result["points"]) == ("earned", key.exercise.points), result["message"]
    else:
        assert result["outcome"] == "not earned" and result["mistake"] == answer.mistake, result
        assert answer.message in result["message"]


def stub(name: str) -> str:
    """The cell of an exercise as it is handed out."""
    notebook = json.loads(release(active_course().notebook_of(name)).read_text(encoding="utf-8"))
    return "".join(notebook["cells"][place(notebook, name)]["source"])


def is_code(exercise: Exercise) -> bool:
    return not exercise.name.startswith("quiz_")


@pytest.mark.parametrize(
    "name", [e.name for each in (START, FFN) for e in filter(is_code, active_course().exercises_of(each))]
)
def test_the_untouched_stub_is_not_attempted(name: str, jail: Jail) -> None:
    assert grade_answer(name, stub(name), jail)["outcome"] == "not attempted"


@pytest.mark.parametrize("name", [e.name for e in filter(is_code, active_course().exercises.values())])
def test_the_untouched_stub_is_not_attempted_for_a_student(name: str) -> None:
    """On the public draws, whose reference outputs are there: outside of the jail, where nothing else is decided."""
    exercise = active_course().exercise(name)
    cells = build.cells_of(active_course().notebook_of(name))
    namespace: dict[str, Any] = {"__name__": "student"}
    exec(cells["imports"] + "\n" + stub(name), namespace)
    verdict, _ = examine(exercise, reference_files.load_public(name), namespace[name], list(public_seeds(exercise)))
    assert verdict.outcome is Outcome.NOT_ATTEMPTED, verdict.message


def test_an_answer_that_does_not_parse_says_where(jail: Jail) -> None:
    result = grade_answer("hello_shape", "def hello_shape(x)\n    return x.shape", jail)
    assert result["outcome"] == "not earned" and "SyntaxError" in result["message"]


def test_an_answer_of_another_name_was_attempted_and_its_name_is_told(jail: Jail) -> None:
    answer = grade_answer("hello_shape", "def hello(x):\n    return x.shape", jail)
    assert answer["outcome"] == "not earned"
    assert answer["cause"] == "Its cell ran, but it defines `hello`, and nothing is called `hello_shape`."


def test_an_unknown_exercise_is_one_clear_line(jail: Jail) -> None:
    with pytest.raises(UserError, match="did you mean 'hello_shape'"):
        grade_answer("hello_shap", RIGHT, jail)


@pytest.mark.parametrize(
    "source",
    [
        f"import warnings\n{RIGHT}".replace("return", "warnings.warn('look out'); return"),
        f"import sys\n{RIGHT}".replace("return", "print('50%', file=sys.stderr); return"),
        f"print('hello')\n{RIGHT}",
        f"%matplotlib inline\n{RIGHT}",
        f"from __future__ import annotations\n{RIGHT}",
        f"from math import *\n{RIGHT}",
        "hello_shape = lambda x: tuple(x.shape)",
        "class Shape:\n    def __call__(self, x):\n        return tuple(x.shape)\nhello_shape = Shape()",
        RIGHT.replace("\n", "\r\n"),
        "def hello_shape(x):\n    größe = x.shape\n    return tuple(größe)",
    ],
)
def test_unusual_but_right_answers_earn_full_marks(jail: Jail, source: str) -> None:
    verdict = graded(jail, source).verdicts["hello_shape"]
    assert verdict.outcome is Outcome.EARNED, verdict.message


@pytest.mark.parametrize(
    "source",
    [
        "import os\nos._exit(0)",
        "import ffnlab\nffnlab.check = lambda *a: 2.0\ndef hello_shape(x):\n    return 1",
        "class Yes(tuple):\n    def __eq__(self, other): return True\ndef hello_shape(x):\n    return Yes((0, 0, 0))",
        "import torch\ntorch.equal = torch.allclose = lambda *a, **k: True\ndef hello_shape(x):\n    return (0, 0, 0)",
        "get_ipython().input_transformers_cleanup.append(lambda lines: [])\ndef hello_shape(x):\n    return (0, 0, 0)",
        "def hello_shape(x):\n    get_ipython().displayhook(2)\n    return (0, 0, 0)",
        "from ffnlab.observation.exercise import Exercise\nExercise.observe = lambda *a: {'shape': True}\nhello_shape = 1",
        "import ffnlab.observation.plain_data\nffnlab.observation.plain_data.pack = lambda value: b'forged'\ndef hello_shape(x):\n    return 1",
    ],
)
def test_forged_answers_earn_nothing_and_the_run_goes_on(jail: Jail, source: str) -> None:
    submission = graded(jail, source)
    assert submission.verdicts["hello_shape"].points == 0
    assert submission.verdicts["hello_shape"].outcome in (Outcome.NOT_EARNED, Outcome.NOT_ATTEMPTED)
    assert graded(jail, RIGHT).verdicts["hello_shape"].outcome is Outcome.EARNED


def test_a_cell_that_kills_the_worker_costs_only_its_own_exercise(jail: Jail) -> None:
    notebook = answered(RIGHT)
    killer = {"cell_type": "code", "source": "import os\nos._exit(1)", "metadata": {}}
    notebook["cells"].insert(place(notebook, "quiz_hidden"), killer)
    notebook["cells"][place(notebook, "quiz_hidden")]["source"] = "quiz_hidden = 'B'"
    submission = grade_submission(START, json.dumps(notebook).encode(), jail, SEEDS)
    assert {name: verdict.outcome for name, verdict in submission.verdicts.items()} == {
        "hello_shape": Outcome.EARNED,
        "feeling": Outcome.NOT_ATTEMPTED,
        "deciding_pair": Outcome.NOT_ATTEMPTED,
        "quiz_hidden": Outcome.EARNED,
    }


def test_an_endless_answer_costs_its_exercise_and_says_so(strict_jail: Jail) -> None:
    notebook = answered("def hello_shape(x):\n    while True: pass")
    notebook["cells"][place(notebook, "quiz_hidden")]["source"] = "quiz_hidden = 'B'"
    submission = grade_submission(START, json.dumps(notebook).encode(), strict_jail, SEEDS)
    assert "longer than" in submission.verdicts["hello_shape"].symptom
    assert submission.verdicts["quiz_hidden"].outcome is Outcome.EARNED


@pytest.mark.parametrize(
    "source",
    ["kept = bytearray(10**10)\n" + RIGHT, "def hello_shape(x):\n    return tuple(bytearray(10**10))"],
    ids=["in its cell", "when called"],
)
def test_a_limit_that_an_exception_came_from_is_told(source: str, strict_jail: Jail) -> None:
    message = graded(strict_jail, source).verdicts["hello_shape"].message
    assert "MemoryError" in message and "A submission may use 512 MiB of memory." in message


def test_the_place_in_a_broken_file_is_told_in_full(jail: Jail) -> None:
    data = json.dumps({"cells": ["x"] * 20_000}).encode()[:-5]
    (remark,) = grade_submission(START, data, jail, SEEDS).remarks
    assert f"char {len(data)}" in remark or f"char {len(data) - 1}" in remark, remark


@pytest.mark.parametrize("data", [b"", b"not json", b"[]", b'{"cells": []}', b"\x00" * 100])
def test_a_broken_submission_gets_a_line_and_no_points(jail: Jail, data: bytes) -> None:
    submission = grade_submission(START, data, jail, SEEDS)
    assert submission.points == 0 and submission.remarks
    assert set(submission.verdicts) == {"hello_shape", "feeling", "deciding_pair", "quiz_hidden"}


def test_grading_again_gives_the_same_grade(jail: Jail) -> None:
    first, second = (graded(jail, "def hello_shape(x):\n    B, T, d = x.shape\n    return B, d, T") for _ in range(2))
    assert first.verdicts == second.verdicts


def test_html_of_a_submission_is_escaped_in_the_feedback(jail: Jail) -> None:
    source = (
        "print('<script>alert(1)</script>')\ndef hello_shape(x):\n    raise ValueError('<script>alert(2)</script>')"
    )
    page = feedback.feedback_page("<b>eve", graded(jail, source))
    assert "<script>" not in page and "<b>eve" not in page and "&lt;script&gt;alert(2)" in page


# A whole class, once by our engine and once by plain nbgrader.

UNFAIR = {  # nbgrader 0.9.6 gives these no grade at all, and stops before the students that come after them
    "emeka": "an exercise's cell was copied, with its metadata",
    "goran": "the `grade` flag of a check was switched off",
    "ivo": "the file breaks off in the middle",
}
LESS = {"fatima": "two exercises' cells have changed places, so nbgrader runs a check before its answer"}


@pytest.fixture(scope="module")
def class_folder(tmp_path_factory: pytest.TempPathFactory) -> ClassFolder:
    place = ClassFolder(tmp_path_factory.mktemp("class"))
    sample.make(place, 12)
    return place


def graded_by(
    class_folder: ClassFolder, assignment: str, team: pool.GradingPool, **how: Any
) -> dict[str, grade_class.SubmissionOutcome]:
    """What became of each student's submission."""
    outcomes: dict[str, grade_class.SubmissionOutcome] = {}
    options = grade_class.GradeOptions(**how)
    grade_class.grade(
        class_folder,
        assignment,
        team,
        options,
        lambda outcome, _: outcomes.update({outcome.submission.student: outcome}),
    )
    return outcomes


@pytest.fixture(scope="module")
def outcomes(class_folder: ClassFolder, team: pool.GradingPool) -> dict[str, grade_class.SubmissionOutcome]:
    return graded_by(class_folder, FFN, team)


def test_every_submission_of_a_class_is_graded_whatever_is_wrong_with_it(
    outcomes: dict[str, grade_class.SubmissionOutcome],
) -> None:
    assert len(outcomes) == 12 and all(outcome.graded_submission for outcome in outcomes.values())
    assert outcomes["ada"].graded_submission and outcomes["ada"].graded_submission.points == sum(
        e.points for e in active_course().exercises_of(FFN)
    )
    assert outcomes["ben"].graded_submission
    assert {v.outcome for v in outcomes["ben"].graded_submission.verdicts.values()} == {Outcome.NOT_ATTEMPTED}
    assert outcomes["chloe"].graded_submission and all(
        v.mistake for v in outcomes["chloe"].graded_submission.verdicts.values()
    )


def test_the_gradebook_holds_the_scores_and_waits_for_a_person_where_one_must_read(
    class_folder: ClassFolder, outcomes: dict[str, grade_class.SubmissionOutcome]
) -> None:
    with gradebook.Book(class_folder) as book:
        scores = book.automatic_scores(FFN)
    for student, outcome in outcomes.items():
        assert outcome.graded_submission
        for name, verdict in outcome.graded_submission.verdicts.items():
            assert scores[student][f"check-{name}"] == verdict.points
    assert scores["ben"]["M2"] == 0


def test_what_has_not_changed_is_not_graded_again(
    class_folder: ClassFolder, outcomes: dict[str, grade_class.SubmissionOutcome], team: pool.GradingPool
) -> None:
    assert all(outcome.graded_submission is None for outcome in graded_by(class_folder, FFN, team).values())
    again = graded_by(class_folder, FFN, team, student="ada", force=True)["ada"]
    assert (
        again.graded_submission
        and outcomes["ada"].graded_submission
        and again.graded_submission.verdicts == outcomes["ada"].graded_submission.verdicts
    )


def test_one_exercise_can_be_judged_again_while_the_other_verdicts_stay(
    class_folder: ClassFolder, outcomes: dict[str, grade_class.SubmissionOutcome], team: pool.GradingPool
) -> None:
    again = graded_by(class_folder, FFN, team, student="chloe", exercise="ffn_forward")["chloe"]
    assert again.graded_submission and outcomes["chloe"].graded_submission
    assert {n: (v.points, v.mistake) for n, v in again.graded_submission.verdicts.items()} == {
        n: (v.points, v.mistake) for n, v in outcomes["chloe"].graded_submission.verdicts.items()
    }
    with pytest.raises(UserError, match="no exercise called"):
        graded_by(class_folder, FFN, team, exercise="relu")


def test_the_log_has_a_line_a_submission(
    class_folder: ClassFolder, outcomes: dict[str, grade_class.SubmissionOutcome]
) -> None:
    lines = (class_folder.path / log.FILE).read_text(encoding="utf-8").splitlines()
    for student, outcome in outcomes.items():
        assert outcome.graded_submission
        (first, *_) = [line.split("  ") for line in lines if line.split("  ")[1] == student]
        assert first[2:4] == [FFN, f"{outcome.graded_submission.points:g}/{outcome.graded_submission.max_points:g}"]


def test_the_graded_notebook_is_a_valid_one(
    class_folder: ClassFolder, outcomes: dict[str, grade_class.SubmissionOutcome]
) -> None:
    for student in outcomes:
        path = class_folder.autograded / student / FFN / f"{FFN}.ipynb"
        nbformat.validate(nbformat.read(path, as_version=4))


def test_every_student_gets_a_page_with_the_named_mistakes(
    class_folder: ClassFolder, outcomes: dict[str, grade_class.SubmissionOutcome]
) -> None:
    page = (class_folder.feedback / "chloe" / FFN / f"{FFN}.html").read_text(encoding="utf-8")
    for exercise in active_course().exercises_of(FFN):
        assert f'id="{exercise.name}"' in page
    titles = ("What is wrong", "Likely cause", "Why not")
    assert sum(map(page.count, titles)) >= len(active_course().exercises_of(FFN))


@pytest.fixture(scope="module")
def plain(
    class_folder: ClassFolder,
    outcomes: dict[str, grade_class.SubmissionOutcome],
    tmp_path_factory: pytest.TempPathFactory,
) -> ClassFolder:
    """The same class with the same hidden draws, and their reference outputs, for plain nbgrader."""
    place = ClassFolder(tmp_path_factory.mktemp("plain"))
    sample.make(place, 12)
    shutil.copy(class_folder.draws, place.draws)
    shutil.copytree(class_folder.path / stored.FOLDER, place.path / stored.FOLDER)
    return place


def test_under_plain_nbgrader_markings_that_a_class_has_kept_are_not_computed_again(
    class_folder: ClassFolder, outcomes: dict[str, grade_class.SubmissionOutcome], monkeypatch: pytest.MonkeyPatch
) -> None:
    def computed(name: str, seeds: tuple[int, ...]) -> Never:
        raise AssertionError(f"the reference outputs of {name} were computed")

    compute.clear_cache()
    monkeypatch.setattr(compute, "_compute", computed)
    monkeypatch.setattr(stored, "root", lambda: class_folder.path)  # which keeps none of development
    with pytest.raises(AssertionError, match="ffn_forward were computed"):
        recheck("ffn_forward", build.solution_answer("ffn_forward").answer)
    monkeypatch.chdir(class_folder.autograded / "ada" / FFN)
    assert (
        recheck("ffn_forward", build.solution_answer("ffn_forward").answer)
        == active_course().exercise("ffn_forward").points
    )


@pytest.mark.sweep
@pytest.mark.parametrize("count", [4, 12])
def test_plain_nbgrader_gives_the_same_scores_where_it_gives_one(
    count: int, class_folder: ClassFolder, plain: ClassFolder, tmp_path: Path
) -> None:
    ours = plain_nbgrader.scores(class_folder, FFN)
    fair = [*LESS, *sorted(set(ours) - set(LESS) - set(UNFAIR))][:count]
    aside = set(ours) - set(fair)
    for student in aside:
        (plain.submitted / student).rename(tmp_path / student)
    log = plain_nbgrader.autograde(plain, FFN)
    for student in aside:
        (tmp_path / student).rename(plain.submitted / student)
    theirs = plain_nbgrader.scores(plain, FFN)
    assert set(theirs) == set(fair), log[-2000:]
    for student in set(theirs) - set(LESS):
        assert theirs[student] == pytest.approx(ours[student]), student
    for student in LESS:
        assert sum(theirs[student].values()) < sum(ours[student].values())


@pytest.mark.parametrize("student", often(list(UNFAIR), ["ivo"]))
def test_plain_nbgrader_gives_no_grade_where_ours_does(
    student: str, class_folder: ClassFolder, plain: ClassFolder
) -> None:
    plain_nbgrader.autograde(plain, FFN, student)
    assert not (plain.autograded / student / FFN / f"{FFN}.ipynb").exists()
    assert student in plain_nbgrader.scores(class_folder, FFN)


def test_a_class_without_submissions_is_one_clear_line(tmp_path: Path) -> None:
    with pytest.raises(UserError, match="no folder"):
        submitted_files.find(ClassFolder(tmp_path), FFN)
    (tmp_path / "submitted").mkdir()
    with pytest.raises(UserError, match="no submission"):
        submitted_files.find(ClassFolder(tmp_path), FFN)
    with pytest.raises(UserError, match="no assignment called"):
        submitted_files.find(ClassFolder(tmp_path), "77_nothing")


def test_a_submission_without_its_notebook_is_graded_as_such(tmp_path: Path, team: pool.GradingPool) -> None:
    folder = tmp_path / "submitted" / "zoe" / START
    folder.mkdir(parents=True)
    (outcome,) = graded_by(ClassFolder(tmp_path), START, team).values()
    assert (
        outcome.graded_submission
        and outcome.graded_submission.points == 0
        and "no notebook" in outcome.graded_submission.remarks[0]
    )
    (folder / "my_work.ipynb").write_text(json.dumps(answered(RIGHT)), encoding="utf-8")
    (outcome,) = graded_by(ClassFolder(tmp_path), START, team).values()
    assert (
        outcome.graded_submission
        and outcome.graded_submission.points == 2
        and "my_work.ipynb" in outcome.graded_submission.remarks[0]
    )


def test_a_link_out_of_the_class_is_not_followed(tmp_path: Path) -> None:
    secret = tmp_path / "secret.ipynb"
    secret.write_text(json.dumps(blank()), encoding="utf-8")
    folder = tmp_path / "submitted" / "eve" / START
    folder.mkdir(parents=True)
    (folder / f"{START}.ipynb").symlink_to(secret)
    (submission,) = submitted_files.find(ClassFolder(tmp_path), START)
    assert submission.path is None
