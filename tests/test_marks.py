"""What a person gives in formgrader: it stays whatever is graded again, it is in the total and on the page, and exercises may come and go."""

from __future__ import annotations

import io
import json
from pathlib import Path
from typing import Any

import nbformat
import pytest
import sqlalchemy as sa
from fabricated import save_grading
from nbgrader.api import Gradebook
from rich.console import Console
from test_program import place

from autograder.class_folder.folder import ClassFolder
from autograder.engine import program
from autograder.engine.graded_submission import GradedSubmission
from autograder.files import Batch
from autograder.gradebook import gradebook
from autograder.gradebook.scores import Score, total
from autograder.grading import feedback
from autograder.jail.limits import Limits
from autograder.paths import release, solution
from autograder.reports import class_table
from ffnlab.checking.verdict import AspectVerdict, Outcome, Verdict, not_earned
from ffnlab.registry import active_course

FFN = "02_feed_forward"
LISTED = active_course().exercises_of(FFN)
QUESTION, EXERCISE = "M2", "ffn_forward"


def paper(answer: str = "It drops out the hidden layer.", earned: bool = True) -> GradedSubmission:
    """A graded submission of notebook 02: every exercise right, or none; and the question that a person reads answered."""
    notebook = json.loads(release(FFN).read_text(encoding="utf-8"))
    notebook["cells"][place(notebook, QUESTION)]["source"] = answer
    notebook["cells"][place(notebook, EXERCISE)]["source"] = "def ffn_forward(*all):\n    return 'my own code'"
    cells = program.plan(FFN, json.dumps(notebook).encode(), Limits()).cells
    right = {e.name: Verdict(e.name, Outcome.EARNED, (AspectVerdict("all", e.points, e.points),)) for e in LISTED}
    return GradedSubmission(
        FFN, right if earned else {e.name: not_earned(e, "It is not right.") for e in LISTED}, cells
    )


@pytest.fixture
def class_folder(tmp_path: Path) -> ClassFolder:
    """A class in which zoe and yan have been graded once."""
    folder = ClassFolder(tmp_path)
    with gradebook.Book(folder, writing=True) as book:
        book.sync_assignment(FFN)
        for student in ("zoe", "yan"):
            enter(folder, book, student, paper())
    return folder


def enter(class_folder: ClassFolder, book: gradebook.Book, student: str, graded: GradedSubmission) -> None:
    """As grading does it."""
    scores = book.scores(FFN, [student]).get(student, {})
    with Batch() as files:
        feedback.write(files, class_folder, student, graded, None, scores)
    save_grading(book, student, graded, "0" * 64, None)


def give(class_folder: ClassFolder, student: str, name: str, comment: str = "", **scores: Any) -> None:
    """As formgrader does it."""
    with Gradebook(class_folder.db_url) as book:
        cell = "check-" + name if name in {e.name for e in LISTED} else name
        grade = book.find_grade(cell, FFN, FFN, student)
        for what, number in scores.items():
            setattr(grade, what, number)
        grade.needs_manual_grade = False
        book.find_comment(name, FFN, FFN, student).manual_comment = comment
        book.db.commit()


def page(class_folder: ClassFolder, student: str = "zoe") -> str:
    return (class_folder.feedback / student / FFN / f"{FFN}.html").read_text(encoding="utf-8")


def again(class_folder: ClassFolder) -> feedback.RewriteSummary:
    with gradebook.Book(class_folder) as book:
        return feedback.rewrite(class_folder, FFN, book)


FULL = sum(e.points for e in LISTED)


def test_an_answer_waits_for_a_person_and_the_total_says_so(class_folder: ClassFolder) -> None:
    with gradebook.Book(class_folder) as book:
        scores = book.scores(FFN)
        assert str(total(scores["zoe"])) == f"{FULL:g}/{FULL:g} + 3 to read"
        console = Console(width=200, file=io.StringIO())
        class_table.print_class(console, FFN, book.latest(FFN), scores)
        output = console.file.getvalue()  # type: ignore[attr-defined]
    assert f"{FULL:g}/{FULL:g} + 3 to read" in output and "2 answers wait for a person" in output
    assert f"{FULL:g} of {FULL:g} points, 3 not read yet" in page(class_folder)


def test_what_a_person_gave_is_in_the_total_and_on_the_page(class_folder: ClassFolder) -> None:
    give(class_folder, "zoe", QUESTION, "Nearly: <b>where</b> is it?", manual_score=2.0)
    give(class_folder, "zoe", EXERCISE, manual_score=1.5)
    give(class_folder, "yan", QUESTION, manual_score=3.0, extra_credit=0.5)
    assert again(class_folder).page_count == 2
    points = next(e.points for e in LISTED if e.name == EXERCISE)
    assert f"{FULL - points + 1.5 + 2:g} of {FULL + 3:g} points" in page(class_folder) and "not read yet" not in page(
        class_folder
    )
    assert "Nearly: &lt;b&gt;where&lt;/b&gt; is it?" in page(class_folder) and "scored by your instructor" in page(
        class_folder
    )
    assert f"{FULL + 3.5:g} of {FULL + 3:g} points" in page(class_folder, "yan") and "+0.5 extra credit" in page(
        class_folder, "yan"
    )
    assert "my own code" in page(class_folder), "what the student wrote is still there"


def test_what_a_person_gave_counts_on_after_every_regrade_of_the_same_answers(class_folder: ClassFolder) -> None:
    give(class_folder, "zoe", QUESTION, "Good.", manual_score=2.0)
    give(class_folder, "zoe", EXERCISE, manual_score=1.5)
    for _ in range(2):
        with gradebook.Book(class_folder, writing=True) as book:
            book.sync_assignment(FFN)
            enter(class_folder, book, "zoe", paper(earned=False))
            scores = book.scores(FFN, ["zoe"])["zoe"]
        assert not scores[QUESTION].waits and not scores[EXERCISE].waits
    # An attempt before it is graded too, because the best counts.
    with gradebook.Book(class_folder, writing=True) as book:
        save_grading(book, "zoe", paper("Something else."), "1" * 64, None, is_earlier_attempt=True)
        enter(class_folder, book, "zoe", paper())
        assert not book.scores(FFN, ["zoe"])["zoe"][QUESTION].waits


def test_another_answer_asks_a_person_to_look_again_and_the_same_one_after_it_too(class_folder: ClassFolder) -> None:
    give(class_folder, "zoe", QUESTION, "Good.", manual_score=2.0)
    for answer in ("It drops nothing.", "It drops nothing.", "It drops out the hidden layer."):
        with gradebook.Book(class_folder, writing=True) as book:
            enter(class_folder, book, "zoe", paper(answer))
            score = book.scores(FFN, ["zoe"])["zoe"][QUESTION]
        assert score.waits and (score.score, score.comment) == (2.0, "Good.")


def test_grading_again_keeps_what_a_person_gave(class_folder: ClassFolder) -> None:
    give(class_folder, "zoe", QUESTION, "Good.", manual_score=2.0)
    give(class_folder, "zoe", EXERCISE, manual_score=1.5)
    with gradebook.Book(class_folder, writing=True) as book:
        book.sync_assignment(FFN)
        enter(class_folder, book, "zoe", paper(earned=False))
        scores = book.scores(FFN, ["zoe"])["zoe"]
    assert (scores[QUESTION].score, scores[QUESTION].comment, scores[EXERCISE].score) == (2.0, "Good.", 1.5)
    assert "Good." in page(class_folder) and f"3.5 of {FULL + 3:g} points" in page(class_folder)


def test_what_a_person_gave_can_be_taken_back(class_folder: ClassFolder) -> None:
    give(class_folder, "zoe", QUESTION, "Good.", manual_score=2.0)
    give(class_folder, "zoe", EXERCISE, manual_score=1.5, extra_credit=1.0)
    give(class_folder, "yan", QUESTION, "Yes.", manual_score=3.0)
    with gradebook.Book(class_folder, writing=True) as book:
        assert book.forget_manual(FFN, "zoe") == 2
        scores = book.scores(FFN)
    assert str(total(scores["zoe"])) == f"{FULL:g}/{FULL:g} + 3 to read" and not scores["zoe"][QUESTION].comment
    assert scores["yan"][QUESTION].comment == "Yes."


def test_every_attempt_keeps_its_code(class_folder: ClassFolder) -> None:
    with gradebook.Book(class_folder, writing=True) as book:
        enter(class_folder, book, "zoe", paper("Another answer."))
        (_, first), (_, second) = book.history_with_cells(FFN, "zoe")
        assert first and second
        answers = [{cell.name: cell.source for cell in code}[QUESTION] for code in (first, second)]
    assert answers == ["It drops out the hidden layer.", "Another answer."]


def test_a_gradebook_of_the_first_edition_is_completed_and_its_pages_stay(class_folder: ClassFolder) -> None:
    before = page(class_folder)
    engine = sa.create_engine(class_folder.db_url)
    with engine.begin() as connection:
        connection.execute(sa.text("ALTER TABLE autograder_attempt DROP COLUMN code"))
    engine.dispose()
    done = again(class_folder)
    assert (done.page_count, done.missing) == (0, ["yan", "zoe"]) and page(class_folder) == before
    with gradebook.Book(class_folder, writing=True) as book:
        enter(class_folder, book, "zoe", paper())
    assert again(class_folder).missing == ["yan"]


def test_a_file_that_could_not_be_read_has_a_page_again_with_its_comment(class_folder: ClassFolder) -> None:
    unread = GradedSubmission(FFN, {e.name: not_earned(e, "There is no notebook in the submission.") for e in LISTED})
    with gradebook.Book(class_folder, writing=True) as book:
        enter(class_folder, book, "zoe", unread)
    give(class_folder, "zoe", EXERCISE, "Please hand in the notebook.")
    assert again(class_folder).page_count == 2
    assert page(class_folder).count("There is no notebook") == 1 and "Please hand in the notebook." in page(
        class_folder
    )


# Exercises come and go.


@pytest.fixture
def changed(class_folder: ClassFolder, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> ClassFolder:
    """The class after `quiz_kinds` of notebook 02 has become `quiz_new`, with two points."""
    (name,) = [e.name for e in LISTED if e.name.startswith("quiz_")][:1]
    text = (
        solution(FFN)
        .read_text(encoding="utf-8")
        .replace(f'"{name}"', '"quiz_new"')
        .replace(f"check-{name}", "check-quiz_new")
    )
    notebook = nbformat.reads(text, as_version=4)
    for cell in notebook.cells:
        if cell.metadata.get("nbgrader", {}).get("grade_id") == "check-quiz_new":
            cell.metadata.nbgrader.points = 2
    path = tmp_path / "changed.ipynb"
    nbformat.write(notebook, path)
    monkeypatch.setattr(gradebook, "solution", lambda assignment: path)
    return class_folder


def test_exercises_come_and_go_although_somebody_was_graded(changed: ClassFolder) -> None:
    (gone,) = [e.name for e in LISTED if e.name.startswith("quiz_")][:1]
    give(changed, "zoe", QUESTION, "Good.", manual_score=2.0)
    with gradebook.Book(changed, writing=True) as book:
        book.sync_assignment(FFN)
        book.sync_assignment(FFN)
        scores = book.scores(FFN)
        assert gone not in scores["zoe"] and scores["zoe"]["quiz_new"] == Score("quiz_new", 0.0, 2.0, waits=True)
        assert scores["zoe"][QUESTION].comment == "Good.", "what a person gave elsewhere stays"
        graded = paper()
        graded.verdicts["quiz_new"] = Verdict("quiz_new", Outcome.EARNED, (AspectVerdict("choice", 2.0, 2.0),))
        del graded.verdicts[gone]
        enter(changed, book, "zoe", graded)
        assert book.scores(FFN, ["zoe"])["zoe"]["quiz_new"].score == 2.0
    with Gradebook(changed.db_url) as nbgraders:
        names = {cell.name for cell in nbgraders.find_notebook(FFN, FFN).grade_cells}
        assert "check-quiz_new" in names and f"check-{gone}" not in names
        assert nbgraders.find_submission(FFN, "zoe").score == pytest.approx(FULL - 1 + 2 + 2)
