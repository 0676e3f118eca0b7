"""A dispute in one minute: every attempt with what was seen, and a script that gives the same verdict alone."""

from __future__ import annotations

import json
import runpy
import stat
import subprocess
import sys
from pathlib import Path

import nbformat
import pytest
import torch
from conftest import ROOT, needs_bubblewrap
from fabricated import FFN, FakeAttempt, fabricate, save_grading
from test_marks import give
from typer.testing import CliRunner

from autograder.class_folder import submitted_files
from autograder.class_folder.folder import ClassFolder
from autograder.cli import app
from autograder.engine import program
from autograder.engine.grade_submission import grade_submission
from autograder.engine.graded_submission import GradedSubmission
from autograder.engine.released_notebook import Kind, template
from autograder.errors import UserError
from autograder.gradebook import gradebook
from autograder.gradebook.policy import FILE, Policy
from autograder.jail.limits import Limits
from autograder.jail.sandbox import Jail
from autograder.paths import release
from autograder.reference import draws
from autograder.reports import explain
from ffnlab.registry import active_course

RIGHT = "def ffn_forward(x, W1, b1, W2, b2, act):\n    return act(x @ W1 + b1) @ W2 + b2"
NO_B1 = "def ffn_forward(x, W1, b1, W2, b2, act):\n    return act(x @ W1) @ W2 + b2"
NAME = "ffn_forward"


def run(*arguments: str | Path) -> tuple[int, str]:
    done = CliRunner().invoke(app, ["why", *map(str, arguments)])
    return done.exit_code, done.output + (str(done.exception) if isinstance(done.exception, UserError) else "")


def look(class_folder: ClassFolder, student: str, name: str, policy: Policy | None = None) -> explain.Explanation:
    with gradebook.Book(class_folder) as book:
        return explain.find(book, policy or Policy(), student, name)


@pytest.fixture(scope="module")
def class_folder(tmp_path_factory: pytest.TempPathFactory) -> ClassFolder:
    b1 = {NAME: "b1_missing"}
    folder = fabricate(
        tmp_path_factory.mktemp("class"),
        {
            "zoe": [
                FakeAttempt([], b1, code={NAME: NO_B1, "M2": "Hm."}, days=-1),
                FakeAttempt([NAME], code={NAME: RIGHT, "M2": "It drops out."}),
            ],
            "yan": [FakeAttempt([], b1, code={NAME: NO_B1})],
            "eli": [FakeAttempt(unread="not a notebook")],
        },
    )
    give(folder, "yan", NAME, "Nearly.", manual_score=2.5)
    return folder


# What is said


def test_every_attempt_is_there_with_its_code_and_what_was_seen(class_folder: ClassFolder) -> None:
    status, output = run("zoe", NAME, "--grading", class_folder.path)
    first, second = output.split("Attempt 2 of 2")
    assert status == 0 and "Attempt 1 of 2, handed in 1 Nov 2026, 21:59 UTC" in first
    assert "2     return act(x @ W1) @ W2 + b2" in first and "not earned, 0 of 4 points" in first
    assert "known mistake b1_missing: The mistake is b1_missing." in first
    assert "this one counts" in second and "earned, 4 of 4 points" in second and "In the gradebook: 4 of 4." in second


def test_one_attempt_alone_can_be_asked_for(class_folder: ClassFolder) -> None:
    _, output = run("zoe", NAME, "--attempt", "1", "--grading", class_folder.path)
    assert "Attempt 1 of 2" in output and "Attempt 2 of 2" not in output


def test_what_a_person_gave_is_said(class_folder: ClassFolder) -> None:
    _, output = run("yan", NAME, "--grading", class_folder.path)
    assert "In the gradebook: 2.5 of 4, given by hand. Comment: “Nearly.”" in output


def test_a_question_shows_its_answers_and_that_it_waits(class_folder: ClassFolder) -> None:
    status, output = run("zoe", "M2", "--grading", class_folder.path)
    assert status == 2 and "It drops out." in output and "not read yet; it is worth 3 points" in output


def test_what_was_graded_again_is_the_same_attempt(tmp_path: Path) -> None:
    other = fabricate(tmp_path, {"zoe": [FakeAttempt([NAME], code={NAME: RIGHT})]})
    with gradebook.Book(other, writing=True) as book:
        save_grading(book, "zoe", GradedSubmission(FFN, {}), f"{0:064d}", None)
    graded_attempts = look(other, "zoe", NAME).graded_attempts
    assert [(attempt.number, attempt.again) for attempt in graded_attempts] == [(1, False), (1, True)]


def test_the_rules_of_the_class_are_said(class_folder: ClassFolder) -> None:
    policy = Policy.read(f'attempts = "best"\ndoes_not_count = ["{NAME}"]')
    explanation = look(class_folder, "zoe", NAME, policy)
    assert (
        not explanation.counts
        and explanation.effective_attempt.grading.row_id == explanation.graded_attempts[1].grading.row_id
    )


def test_what_another_of_the_group_handed_in_is_said_to_count(tmp_path: Path) -> None:
    class_folder = fabricate(tmp_path, {"zoe": [FakeAttempt([NAME])], "yan": [FakeAttempt([], days=-1)]})
    (class_folder.path / FILE).write_text('[[groups]]\nstudents = ["zoe", "yan", "xia"]\n', encoding="utf-8")
    _, output = run("yan", NAME, "--grading", class_folder.path)
    assert "this one counts" not in output and "Of this group, zoe's submission counts." in output
    assert "this one counts" in run("zoe", NAME, "--grading", class_folder.path)[1]
    status, output = run("xia", NAME, "--grading", class_folder.path)
    assert status != 0 and "see `autograder why zoe ffn_forward --grading " in output


@pytest.mark.parametrize(
    ("arguments", "message"),
    [
        (["zoee", NAME], "there is no student called 'zoee'; did you mean zoe?"),
        (["zoe", "ffn_foward"], "no exercise or question called 'ffn_foward'; did you mean 'ffn_forward'?"),
        (["zoe", "M1"], "no submission of 01_attention by zoe has been graded"),
        (["zoe", NAME, "--attempt", "3"], "zoe has handed in 02_feed_forward 2 times, so there is no attempt 3"),
        (["zoe", NAME, "--script", "{}/x.py"], "lacks the secret with which 02_feed_forward was graded"),
        (["zoe", "M2", "--script", "{}/x.py"], "a question that a person reads, so there is nothing to run"),
        (
            ["eli", NAME, "--script", "{}/x.py"],
            "the file could not be read, so nothing of it ran; there is nothing to run",
        ),
    ],
)
def test_a_mistake_at_the_keyboard_is_one_clear_line(
    arguments: list[str], message: str, class_folder: ClassFolder, tmp_path: Path
) -> None:
    status, output = run(*(argument.format(tmp_path) for argument in arguments), "--grading", class_folder.path)
    assert status != 0 and message in " ".join(output.split()) and list(tmp_path.iterdir()) == []


# The script


def with_secret(class_folder: ClassFolder) -> ClassFolder:
    """The class's hidden inputs, as grading would have drawn them, without the minutes that this takes."""
    attempts = {exercise.name: 0 for exercise in active_course().exercises_of(FFN)}
    entry = {"secret": "ab" * 32, "attempts": attempts, "holds_for": draws.key_version(FFN)}
    class_folder.draws.write_text(json.dumps({FFN: entry}), encoding="utf-8")
    return class_folder


def notebook_bytes(answer: str, own: str) -> bytes:
    """A notebook in which `helper`, of a cell of the student's own behind the exercise's, decides what the answer does."""
    notebook = nbformat.read(release(FFN), as_version=4)
    place = next(
        n for n, cell in enumerate(notebook.cells) if cell.metadata.get("nbgrader", {}).get("grade_id") == NAME
    )
    notebook.cells[place].source = answer
    notebook.cells.insert(place + 1, nbformat.v4.new_code_cell(own))
    return str(nbformat.writes(notebook)).encode()


@needs_bubblewrap
@pytest.mark.parametrize("there", [True, False], ids=["the file is there", "only what was kept"])
def test_the_script_gives_the_same_verdict_alone(
    there: bool, tmp_path: Path, jail: Jail, capsys: pytest.CaptureFixture[str]
) -> None:
    (tmp_path / "class").mkdir()
    class_folder = with_secret(ClassFolder(tmp_path / "class"))
    data = notebook_bytes(RIGHT.replace("x @ W1 + b1", "helper(x @ W1, b1)"), "helper = lambda h, b: h")
    seeds = {NAME: draws.hidden_seeds(active_course().exercise(NAME), bytes.fromhex("ab" * 32), 0)}
    graded = grade_submission(FFN, data, jail, seeds, (NAME,))
    assert graded.verdicts[NAME].mistake == "b1_missing"
    with gradebook.Book(class_folder, writing=True) as book:
        book.sync_assignment(FFN)
        save_grading(book, "zoe", graded, submitted_files.digest(data), None)
    if there:
        (class_folder.submitted / "zoe" / FFN).mkdir(parents=True)
        (class_folder.submitted / "zoe" / FFN / f"{FFN}.ipynb").write_bytes(data)
    file = tmp_path / "out" / "why.py"
    status, output = run("zoe", NAME, "--script", file, "--grading", class_folder.path)
    assert status == 0 and "run it with Python" in output and stat.S_IMODE(file.stat().st_mode) == 0o600
    text = file.read_text(encoding="utf-8")
    assert "FOR THE INSTRUCTOR ONLY" in text[:600] and ("file is gone" in text) != there
    away = tmp_path / "elsewhere"
    class_folder.path.rename(away)  # alone: neither the class nor its secret is needed
    output = as_a_program(file) if there else in_this_process(file, capsys)
    lines, verdict = output.splitlines(), graded.verdicts[NAME]
    assert lines[0] == f"not earned, {verdict.points:g} of 4 points" and f"b1_missing: {verdict.cause}" in output
    assert lines[-1] == f"when it was graded: {verdict.points:g} points"


def as_a_program(file: Path) -> str:
    done = subprocess.run([sys.executable, str(file)], cwd=ROOT, capture_output=True, text=True, check=False)
    assert done.returncode == 0, done.stdout + done.stderr
    return done.stdout


def in_this_process(file: Path, capsys: pytest.CaptureFixture[str]) -> str:
    capsys.readouterr()
    with pytest.raises(SystemExit) as ended:
        runpy.run_path(str(file), run_name="__main__")
    assert not ended.value.code
    return capsys.readouterr().out


@pytest.mark.parametrize("name", ["ffn_forward", "PositionwiseFeedForward", "is_position_wise", "audit_file", "Block"])
def test_the_inputs_in_a_script_are_those_that_were_drawn(name: str, tmp_path: Path) -> None:
    """Tensors of all kinds, small ones to read and large ones packed, numbers, texts and None."""
    exercise = active_course().exercise(name)
    seeds = draws.development(name)
    inputs = [exercise.inputs(seed, case) for case, seed in enumerate(seeds)]
    source = "from math import inf, nan\nimport torch\nfrom autograder.reports.explain import unpacked\n"
    (tmp_path / "found.py").write_text(f"{source}INPUTS = {explain._in_python(inputs)}\n", encoding="utf-8")
    script_inputs = runpy.run_path(str(tmp_path / "found.py"))["INPUTS"]
    assert explain.is_same_draw(name, seeds, script_inputs)
    assert not explain.is_same_draw(name, [seed + 1 for seed in seeds], script_inputs)
    assert not explain.is_same_draw(name, seeds, script_inputs[:-1])


def test_odd_numbers_survive_the_way_into_a_script() -> None:
    odd = {
        "t": torch.tensor([float("nan"), float("inf"), -0.0]),
        "n": float("nan"),
        "b": torch.tensor([True]),
        "s": "'\"\n",
    }
    names = {"torch": torch, "nan": float("nan"), "inf": float("inf")}
    assert explain._same(odd, eval(explain._in_python(odd), names))


def test_a_students_own_cells_come_back_to_their_places() -> None:
    ours = template(release(FFN))
    data = notebook_bytes(RIGHT, "helper = 1")
    cells = program.plan(FFN, data, Limits()).cells
    stored_cells = gradebook.unpack_cells(gradebook.pack_cells(cells))
    assert stored_cells
    again = explain._in_place(FFN, stored_cells)
    assert [cell.source for cell in again] == [cell.source for cell in cells] and len(again) == len(ours) + 1
    (own,) = [number for number, cell in enumerate(again) if cell.kind is Kind.EXTRA]
    assert again[own - 1].name == NAME and again[own + 1].name == NAME and again[own + 1].kind is Kind.CHECK
