"""The command line as a user meets it: bad input is one clear line and exit status 2, nothing is lost, help is there."""

from __future__ import annotations

import io
import json
import os
import re
import shutil
import signal
import subprocess
import sys
import time
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest
from conftest import ROOT, needs_bubblewrap, often
from prepared import give_draws
from rich.console import Console
from test_program import ANSWER, answered
from typer.testing import CliRunner

from autograder import cli
from autograder.class_folder.folder import ClassFolder
from autograder.gradebook.gradebook import Grading
from autograder.reports import class_table
from ffnlab.registry import active_course

START = "00_start_here"


def autograder(*arguments: str, cwd: Path = ROOT, **environment: str) -> tuple[int, str, str]:
    """Exit status, output and errors of the command."""
    done = subprocess.run(
        [sys.executable, "-m", "autograder", *arguments],
        cwd=cwd,
        env=os.environ | environment,
        capture_output=True,
        text=True,
        check=False,
    )
    return done.returncode, done.stdout, done.stderr


@pytest.fixture
def command(monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]) -> Callable[..., tuple[int, str, str]]:
    """The same in this process, which has everything imported already."""

    def run(*arguments: str) -> tuple[int, str, str]:
        monkeypatch.setattr(sys, "argv", ["autograder", *arguments])
        with pytest.raises(SystemExit) as end:
            cli.main()
        assert isinstance(end.value.code, int)
        return end.value.code, *capsys.readouterr()

    return run


def test_notebooks_are_read_without_a_grammar_of_addresses() -> None:
    """Building it takes longer than all else that importing nbgrader does. A fresh process: a plugin of pytest's has imported it into this one."""
    program = (
        "import autograder, nbformat, sys; print('rfc3987_syntax.syntax_helpers' in sys.modules, nbformat.validate)"
    )
    done = subprocess.run([sys.executable, "-c", program], capture_output=True, text=True, check=True)
    assert done.stdout.startswith("False <function validate")


@pytest.mark.parametrize(
    ("arguments", "words"),
    [
        (("grade", "99_nothing"), "no assignment called '99_nothing'"),
        (("grade", "--grading", "no/such/folder"), "mkdir no/such/folder"),
        (("answer", "ffn_forwrd", "README.md"), "did you mean 'ffn_forward'"),
        (("answer", "ffn_forward", "no_such_file.py"), "can't be read"),
        (("answers", "no/such/folder"), "is not a folder"),
        (("answers", "docs"), "has no <exercise>/*.py"),
        (("matrix", "no_such_exercise"), "no exercise called"),
        (("build", "99_nothing"), "no solutions/99_nothing.py"),
        (("grade", "02_feed_forwrd"), "did you mean 02_feed_forward?"),
        (("give-back", "moodle", "02"), "did you mean 02_feed_forward?"),
        (("give-back", "moodl", "02_feed_forward"), "there is no system called 'moodl'"),
        (("bench", "99_nothing"), "no assignment called '99_nothing'"),
        (("grade", "00_start_here", "--exercise", "ffn_forward"), "ffn_forward is an exercise of 02_feed_forward"),
        (("grade", "--limit", "memory=0.5"), "unless it counts seconds, whole"),
        (("handout", "docs"), "docs is a folder; give the name of a file"),
        (("sample", "--grading", "README.md"), "README.md is not a folder"),
    ],
)
def test_bad_input_is_one_clear_line_and_exit_status_2(
    arguments: tuple[str, ...], words: str, command: Callable[..., tuple[int, str, str]]
) -> None:
    status, _, errors = command(*arguments)
    assert status == 2 and errors.count("\n") == 1 and words in errors, errors


def test_bad_input_is_told_to_whoever_started_the_command() -> None:
    status, _, errors = autograder("grade", "99_nothing")
    assert (status, errors.count("\n")) == (2, 1)
    assert errors.startswith("autograder: there is no assignment called '99_nothing'")


def test_outside_the_project_it_says_so(tmp_path: Path) -> None:
    status, _, errors = autograder("grade", "--grading", str(tmp_path), cwd=tmp_path)
    assert status == 2 and "nothing to grade" in errors


def test_wrong_words_are_one_line_that_names_the_help(command: Callable[..., tuple[int, str, str]]) -> None:
    lines = {
        ("why",): "autograder: missing argument 'student'. See `autograder why --help`\n",
        ("sample", "4", "--students", "3"): "autograder: no such option: --students. See `autograder sample --help`\n",
        ("shrd",): "autograder: no such command 'shrd'. Did you mean 'shard'? See `autograder --help`\n",
    }
    for arguments, line in lines.items():
        assert command(*arguments) == (2, "", line)


@pytest.mark.parametrize(
    "name",
    [
        "grade", "shard", "shard prepare", "shard grade", "shard enter", "answer", "answers", "build", "matrix", "sample", "bench", "handout",
        "doctor",
    ],
)  # fmt: skip
def test_every_command_has_help(name: str, command: Callable[..., tuple[int, str, str]]) -> None:
    status, output, _ = command(*name.split(), "--help")
    assert status == 0 and f"Usage: autograder {name} " in output and output.count("\n") < 45


OPTIONS = {
    "grade": "grading student exercise force workers scheduler db-url jail limit start-anew dry-run forget-manual help",
    "shard prepare": "grading start-anew db-url help",
    "shard grade": "to grading workers jail limit help",
    "shard enter": "assignment grading force limit start-anew dry-run db-url help",
    "sample": "grading seed help",
}


@pytest.mark.parametrize("name", OPTIONS)
def test_each_way_to_grade_shows_the_options_that_it_needs_and_no_others(
    name: str, command: Callable[..., tuple[int, str, str]]
) -> None:
    _, output, _ = command(*name.split(), "--help")
    assert re.findall(r"^  --([a-z-]+)", output, re.MULTILINE) == OPTIONS[name].split()


@pytest.fixture(scope="module")
def project_copy(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """A copy of the project, which compiles its own modules once."""
    project = tmp_path_factory.mktemp("project")
    for part in ("autograder", "course", "solutions"):
        shutil.copytree(ROOT / part, project / part, ignore=shutil.ignore_patterns("__pycache__", ".venv"))
    return project


SLIP_OF_NOTHING = 'hello_shape.slip("nowhere", "A message.", of=unpacked, replace={"not in it": ""})\n'
ROW_OF_NOTHING = 'hello_shape.slips("""\nin not in it\nnowhere: 0\n    A message.\n""")\n'
FAULTS = ("def broken(:\n", SLIP_OF_NOTHING, ROW_OF_NOTHING, "undefined_name\n", "1 / 0\n")


@pytest.mark.parametrize("fault", often(FAULTS, FAULTS[:3]))
def test_a_fault_in_a_key_is_one_line_with_its_place(fault: str, project_copy: Path) -> None:
    name = "autograder/keys/start_here/hello_shape.py"
    (project_copy / name).write_text((ROOT / name).read_text(encoding="utf-8") + fault, encoding="utf-8")
    path = os.pathsep.join([str(project_copy), str(project_copy / "course")])
    status, _, errors = autograder("matrix", "hello_shape", cwd=project_copy, PYTHONPATH=path)
    assert status == 2 and errors.count("\n") == 1 and "keys/start_here/hello_shape.py, line" in errors, errors
    assert errors.count("hello_shape.py, line") == 1 and "KeyProblem" not in errors, errors


@needs_bubblewrap
def test_one_answer_is_one_json_object(tmp_path: Path) -> None:
    file = tmp_path / "mine.py"
    file.write_text("def hello_shape(x):\n    B, T, d = x.shape\n    return B, d, T", encoding="utf-8")
    status, output, _ = autograder("answer", "hello_shape", str(file), "--json")
    result = json.loads(output)
    assert status == 0
    assert {k: result[k] for k in ("exercise", "outcome", "points", "max_points", "mistake")} == {
        "exercise": "hello_shape", "outcome": "not earned", "points": 0.0, "max_points": 2.0, "mistake": "swapped",
    }  # fmt: skip
    assert "batch, tokens, features" in result["message"]


@needs_bubblewrap
def test_many_answers_are_one_json_line_each_with_the_files_name(
    tmp_path: Path, command: Callable[..., tuple[int, str, str]]
) -> None:
    (tmp_path / "hello_shape").mkdir()
    (tmp_path / "quiz_rank").mkdir()
    (tmp_path / "hello_shape" / "a.py").write_text(ANSWER, encoding="utf-8")
    (tmp_path / "hello_shape" / "b.py").write_text("", encoding="utf-8")
    (tmp_path / "quiz_rank" / "c.py").write_text("quiz_rank = 'A'", encoding="utf-8")
    status, output, _ = command("answers", str(tmp_path), "--json")
    results = [json.loads(line) for line in output.splitlines()]
    assert status == 0
    assert [(r["file"], r["outcome"], r["mistake"]) for r in results] == [
        ("hello_shape/a.py", "earned", None),
        ("hello_shape/b.py", "not attempted", None),
        ("quiz_rank/c.py", "not earned", "option_A"),
    ]


@needs_bubblewrap
def test_answers_are_graded_on_the_draws_of_any_secret_with_what_was_seen_in_each_aspect(
    tmp_path: Path, command: Callable[..., tuple[int, str, str]]
) -> None:
    """The same secret gives the same in another process."""
    (tmp_path / "ffn_forward").mkdir()
    (tmp_path / "ffn_forward" / "a.py").write_text(
        "def ffn_forward(x, W1, b1, W2, b2, act):\n    return act(x @ W1 + b1) @ W2 - 3 * b2", encoding="utf-8"
    )
    results: list[dict[str, Any]] = []
    secrets = (("--secret", "one"), ("--secret", "one"), ("--secret", "another"), ())
    for run, secret in zip((autograder, command, command, command), secrets, strict=True):
        status, output, _ = run("answers", str(tmp_path), "--json", *secret)
        assert status == 0
        results.append(json.loads(output))
    assert results[0] == results[1] and results[0]["where"]
    assert len({result["aspects"][0]["seen"] for result in results[1:]}) == 3, "each secret has inputs of its own"
    assert [aspect["name"] for aspect in results[0]["aspects"]] == ["values", "gradients", "any leading shape"]
    assert all(aspect["seen"] and aspect["points"] < aspect["max_points"] for aspect in results[0]["aspects"])


@needs_bubblewrap
def test_answers_to_several_exercises_side_by_side_are_all_printed(tmp_path: Path) -> None:
    names = ("ffn_forward", "ffn_backward", "collapse_linear", "DeepFFN")
    for name in names:
        (tmp_path / name).mkdir()
        (tmp_path / name / "a.py").write_text("", encoding="utf-8")
    status, output, _ = autograder("answers", str(tmp_path), "--workers", "2")
    assert status == 0 and [line.split("/")[0] for line in output.splitlines()] == sorted(names), output


def test_a_sample_class_never_takes_the_place_of_submissions(tmp_path: Path) -> None:
    folder = tmp_path / "submitted" / "zoe" / START
    folder.mkdir(parents=True)
    status, _, errors = autograder("sample", "2", "--grading", str(tmp_path))
    assert status == 2 and "is not empty" in errors and folder.is_dir()


def test_a_new_sample_class_knows_nobody_of_the_one_before(
    tmp_path: Path, command: Callable[..., tuple[int, str, str]], monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.chdir(tmp_path)
    for folder in ("course", "solutions"):
        (tmp_path / folder).symlink_to(ROOT / folder)
    assert command("sample", "3")[0] == 0
    place = tmp_path / "grading" / "sample"
    made = ["gradebook.db", "grading.log", f"feedback/chloe/{START}/page.html", f"autograded/chloe/{START}/n.ipynb"]
    for file in (*made, "hidden_draws.json"):
        (place / file).parent.mkdir(parents=True, exist_ok=True)
        (place / file).touch()
    assert command("sample", "2")[0] == 0
    assert sorted(path.name for path in (place / "submitted").iterdir()) == ["ada", "ben"]
    assert (place / "hidden_draws.json").exists() and not any((place / file).exists() for file in made)


@pytest.mark.parametrize("width", [80, 200])
def test_the_table_shows_every_total_in_full(width: int) -> None:
    longest = max(active_course().notebooks, key=lambda name: len(active_course().exercises_of(name)))
    verdicts = {e.name: {"outcome": "not earned", "points": 1.5} for e in active_course().exercises_of(longest)}
    attempt = Grading(1, "student01", "", "", "", 0.2, 12.5, 30.0, verdicts, ["deleted: quiz_rank"])
    console = Console(width=width, file=io.StringIO())
    class_table.print_class(console, longest, [attempt], {})
    output = console.file.getvalue()  # type: ignore[attr-defined]
    assert "12.5/30" in output and "…" not in output and "deleted: quiz_rank" in output, output
    assert all(name in output or width == 200 for name in verdicts)
    assert output.count("1.5") == len([e for e in active_course().exercises_of(longest) if e.points])


@needs_bubblewrap
def test_a_jail_that_does_not_start_is_one_clear_line_and_grades_nobody(tmp_path: Path) -> None:
    give_draws(ClassFolder(tmp_path), START)
    fake = tmp_path / "bin" / "bwrap"
    fake.parent.mkdir()
    fake.write_text("#!/bin/sh\necho 'bwrap: No permissions to create new namespace' >&2\nexit 1\n", encoding="utf-8")
    fake.chmod(0o755)
    folder = tmp_path / "submitted" / "zoe" / START
    folder.mkdir(parents=True)
    (folder / f"{START}.ipynb").write_text(json.dumps(answered(ANSWER)), encoding="utf-8")
    path = f"{fake.parent}{os.pathsep}{os.environ['PATH']}"
    status, _, errors = autograder("grade", START, "--grading", str(tmp_path), PATH=path)
    assert status == 2 and "No permissions to create new namespace" in errors and errors.count("\n") == 1, errors
    assert not (tmp_path / "feedback").exists()


@needs_bubblewrap
def test_a_class_is_graded_from_the_command_line(tmp_path: Path) -> None:
    folder = tmp_path / "submitted" / "zoe" / START
    folder.mkdir(parents=True)
    (folder / f"{START}.ipynb").write_text(json.dumps(answered()), encoding="utf-8")
    status, output, _ = autograder("grade", "--grading", str(tmp_path))
    assert status == 0 and "zoe" in output and "2/6" in output and "1 graded" in output
    status, output, _ = autograder("grade", "--grading", str(tmp_path))
    assert status == 0 and "1 unchanged" in output
    status, _, errors = autograder("grade", "--grading", str(tmp_path), "--student", "nobody")
    assert status == 2 and "there is no student called 'nobody'" in errors
    assert (tmp_path / "grading.log").read_text(encoding="utf-8").count("zoe") == 1


@needs_bubblewrap
def test_the_doctor_finds_every_layer() -> None:
    status, output, _ = autograder("doctor")
    assert status == 0, output
    assert "[FAIL]" not in output and output.count("[OK]") >= 10


@needs_bubblewrap
def test_ctrl_c_saves_what_is_graded_and_the_same_command_grades_the_rest(tmp_path: Path) -> None:
    give_draws(ClassFolder(tmp_path), START)
    for number in range(16):
        folder = tmp_path / "submitted" / f"student{number:02d}" / START
        folder.mkdir(parents=True)
        (folder / f"{START}.ipynb").write_text(json.dumps(answered()), encoding="utf-8")
    command = [sys.executable, "-m", "autograder", "grade", "--grading", str(tmp_path)]
    running = subprocess.Popen(command, cwd=ROOT, stdout=subprocess.PIPE, stderr=subprocess.PIPE, text=True)
    while running.poll() is None and not list((tmp_path / "feedback").glob("*/*/*.html")):
        time.sleep(0.01)
    running.send_signal(signal.SIGINT)
    _, message = running.communicate(timeout=120)
    assert running.returncode == 130 and "what was graded is saved" in message, message
    status, table, errors = autograder("grade", "--grading", str(tmp_path))
    assert status == 0 and table.count("2/6") == 16, table + errors
    saved = re.search(r"(\d+) graded, (\d+) unchanged", table)
    assert saved and int(saved[1]) + int(saved[2]) == 16 and int(saved[2]) >= 1


def test_help_lists_every_command_once_by_who_uses_it() -> None:
    help_text = CliRunner().invoke(cli.app, ["--help"]).output
    commands = help_text[help_text.index("For instructors") :].splitlines()
    listed = [line.split()[0] for line in commands if re.match(r"  [a-z]", line)]
    there = [
        command.name or command.callback.__name__.replace("_", "-")
        for command in cli.app.registered_commands
        if command.callback
    ]
    there += [str(group.name) for group in cli.app.registered_groups]
    assert sorted(listed) == sorted(there) and "..." not in "".join(commands)
    assert help_text.index("For instructors") < help_text.index("For authors") < help_text.index("For maintainers")
