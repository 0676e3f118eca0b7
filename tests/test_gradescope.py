"""Gradescope: the zip that `autograder gradescope` makes, unpacked and run in a folder laid out like its container, and the results that Gradescope reads.

Gradescope itself, its image and its network can't be had here; docs/gradescope.md says so.
"""

from __future__ import annotations

import ast
import importlib.metadata
import json
import os
import shutil
import stat
import subprocess
import sys
import tempfile
import zipfile
from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import pytest
from conftest import ROOT, skip_where_others_cannot_read
from packaging.utils import canonicalize_name
from test_program import ANSWER, answered
from typer.testing import CliRunner

from autograder import keys, outline
from autograder.class_folder.folder import ClassFolder
from autograder.cli import app
from autograder.engine.graded_submission import GradedSubmission
from autograder.errors import UserError
from autograder.gradebook.policy import Policy
from autograder.gradescope import build_zip as zips
from autograder.gradescope import in_container
from autograder.jail.limits import MIB
from autograder.keys.key import Answer
from autograder.paths import release
from autograder.reference import draws
from ffnlab.checking.verdict import not_attempted, not_earned
from ffnlab.registry import active_course

START, OTHER = "00_start_here", "02_feed_forward"
SECRET = "5ec4e7" * 10 + "abcd"  # of a class, which no zip may hold
# What Gradescope knows: gradescope-autograders.readthedocs.io, "specs"
VISIBILITIES = {"visible", "hidden", "after_due_date", "after_published"}
FORMATS = {"text", "html", "simple_format", "md", "ansi"}
KNOWN = {
    "score", "execution_time", "output", "output_format", "test_output_format", "test_name_format", "visibility",
    "stdout_visibility", "extra_data", "tests", "leaderboard",
}  # fmt: skip
KNOWN_OF_A_TEST = {
    "score", "max_score", "status", "name", "name_format", "number", "output", "output_format", "tags", "visibility", "extra_data",
}  # fmt: skip
ABOUT = {
    "id": 7,
    "created_at": "2026-11-22T14:22:32.365935-07:00",
    "assignment": {"id": 25, "course_id": 3, "title": "Start here", "due_date": None, "total_points": "20.0"},
    "users": [{"id": 1, "email": "ana@example.edu", "name": "Ana Ruiz"}],
    "previous_submissions": [{"submission_time": "2026-11-21T10:00:00.0-07:00", "score": 0.0, "results": {}}],
}


def as_bytes(notebook: object) -> bytes:
    return json.dumps(notebook).encode()


def solved() -> bytes:
    return as_bytes(answered(ANSWER))


def find_mistake(name: str) -> Answer:
    """A mistake of the answer keys by its name."""
    return next(answer for answer in keys.find("hello_shape").mistakes if answer.mistake == name)


@dataclass(frozen=True)
class ContainerRun:
    """How run_autograder ended: its status, what it printed for the instructor, and results.json, if there is one."""

    status: int
    printed: str
    results: dict[str, Any] | None

    @property
    def valid_results(self) -> dict[str, Any]:
        assert self.results is not None and self.status == 0, self.printed
        return self.results

    def test(self, name: str) -> dict[str, Any]:
        return next(test for test in self.valid_results["tests"] if test["name"] == name)


@dataclass(frozen=True)
class Container:
    """Gradescope's folders."""

    home: Path
    zip: Path  # what was uploaded
    build_output: str  # what making it printed

    def script(self, name: str) -> subprocess.CompletedProcess[str]:
        environment = {"AUTOGRADER_HOME": str(self.home), "AUTOGRADER_PYTHON": sys.executable, "PATH": os.defpath}
        return subprocess.run(
            ["bash", self.home / name],
            cwd=self.home,
            env=environment,
            stdin=subprocess.DEVNULL,
            stdout=subprocess.PIPE,
            stderr=subprocess.STDOUT,
            text=True,
            timeout=120,
            check=False,
        )

    def grade(self, files: dict[str, bytes]) -> ContainerRun:
        """Hand in these files, as Gradescope does."""
        target = self.home / "results" / "results.json"
        for folder in ("submission", "results"):
            shutil.rmtree(self.home / folder, ignore_errors=True)
            (self.home / folder).mkdir()
        (self.home / "results").chmod(0o777)
        target.write_text('{"score": 100}')  # of an earlier run: never to be taken for this one's
        about = self.home / "submission_metadata.json"
        about.write_bytes(as_bytes(ABOUT))
        about.chmod(0o666)
        for name, data in files.items():
            path = self.home / "submission" / name
            path.parent.mkdir(parents=True, exist_ok=True)
            path.write_bytes(data)
        process = self.script("run_autograder")
        return ContainerRun(
            process.returncode, process.stdout, json.loads(target.read_text()) if target.exists() else None
        )


@pytest.fixture(scope="module")
def folder() -> Iterator[Path]:
    """A folder that other users may pass through, as they may through Gradescope's /autograder."""
    with tempfile.TemporaryDirectory(prefix="gradescope-") as name:
        Path(name).chmod(0o755)
        yield Path(name)


@pytest.fixture(scope="module")
def class_folder(folder: Path) -> ClassFolder:
    """A class with a secret of its own."""
    (folder / "class").mkdir(mode=0o700)
    class_with_secret = ClassFolder(folder / "class")
    seeds = {exercise.name: 0 for exercise in outline.of_notebook(START)}
    entry = {"secret": SECRET, "attempts": seeds, "holds_for": draws.key_version(START)}
    class_with_secret.draws.write_text(json.dumps({START: entry}))
    return class_with_secret


@pytest.fixture(scope="module")
def build(folder: Path, class_folder: ClassFolder) -> tuple[Path, str]:
    """The zip as the command makes it, and what that prints."""
    target = folder / "upload" / "autograder.zip"
    result = CliRunner().invoke(app, ["gradescope", START, "--to", str(target), "--grading", str(class_folder.path)])
    assert result.exit_code == 0, result.output
    return target, result.output


@pytest.fixture(scope="module")
def content(build: tuple[Path, str]) -> dict[str, bytes]:
    """The zip's files by their names."""
    with zipfile.ZipFile(build[0]) as archive:
        return {name: archive.read(name) for name in archive.namelist() if not name.endswith("/")}


@pytest.fixture(scope="module")
def container(folder: Path, build: tuple[Path, str]) -> Container:
    """Gradescope's container after its image was built: unpacked without the modes, and set up."""
    if os.geteuid() != 0:
        pytest.skip("only root can run submissions as other users, as Gradescope's container does")
    if any(not parent.stat().st_mode & 1 for parent in folder.parents):
        pytest.skip(f"other users can't pass through to {folder}")
    skip_where_others_cannot_read()
    home = folder / "autograder"
    (home / "source").mkdir(parents=True)
    with zipfile.ZipFile(build[0]) as archive:
        archive.extractall(home / "source")
    shutil.copy(build[0], home / "source.zip")
    (home / "source.zip").chmod(0o644)
    new_container = Container(home, *build)
    shutil.copy(home / "source" / "run_autograder", home)  # as Gradescope does
    process = new_container.script("source/setup.sh")
    assert process.returncode == 0, process.stdout
    assert f"{START} can be graded here" in process.stdout
    return new_container


# The zip


def test_making_it_says_what_the_form_on_gradescope_asks_for(build: tuple[Path, str]) -> None:
    assert "Autograder points, for Gradescope's form: 6\n" in build[1]
    assert "It contains answers" in build[1]


def test_the_zip_is_for_its_owner_alone_and_small(build: tuple[Path, str]) -> None:
    assert stat.S_IMODE(build[0].stat().st_mode) == 0o600
    assert build[0].stat().st_size < 2 * MIB


def test_both_scripts_stand_at_the_zips_root_and_can_be_run(build: tuple[Path, str]) -> None:
    with zipfile.ZipFile(build[0]) as archive:
        modes = {entry.filename: stat.S_IMODE(entry.external_attr >> 16) for entry in archive.infolist()}
    assert {name for name, mode in modes.items() if mode & 0o111} == {
        "setup.sh",
        "run_autograder",
        "project/solutions/",
    }
    assert {name for name in modes if "/" not in name} == {"setup.sh", "run_autograder"}
    assert {mode for name, mode in modes.items() if not mode & 0o111} == {0o600}


def test_the_zip_holds_one_key_and_nothing_that_grading_does_not_need(content: dict[str, bytes]) -> None:
    ours = {name.removeprefix("project/autograder/") for name in content if name.startswith("project/autograder/")}
    rooms = {name.split("/")[0] for name in ours if "/" in name}
    assert rooms == {"engine", "gradescope", "jail", "keys", "redaction", "reference"}
    assert {name for name in ours if name.startswith("gradescope/")} == {
        "gradescope/__init__.py", "gradescope/in_container.py",
    }  # fmt: skip
    assert {name for name in ours if name.startswith("keys/")} == {  # the outline says names and points, and no answer
        "keys/__init__.py", "keys/key.py", "keys/outline.json", "keys/problem.py", "keys/table.py", "keys/start_here/__init__.py",
        *(f"keys/start_here/{name}.py" for name in ("deciding_pair", "feeling", "hello_shape", "quizzes")),
    }  # fmt: skip
    beside = {name for name in content if not name.startswith(("project/autograder/", "project/course/"))}
    assert beside == {
        "setup.sh", "run_autograder", "project/constraints.txt", "project/requirements.txt",
        "project/class/settings.json", "project/class/markings.safetensors",
    }  # fmt: skip
    course = {name for name in content if name.startswith("project/course/")}
    assert {Path(name).suffix for name in course} == {".py", ".json", ".ipynb", ".js", ".css", ".safetensors"}
    assert not [name for name in course if "/answers/" in name and not name.endswith(".py")], "no shipped answer"
    notebooks = {name: data for name, data in content.items() if name.endswith(".ipynb")}
    assert notebooks == {
        f"project/course/{name}/{name}.ipynb": release(name).read_bytes() for name in active_course().notebooks
    }


def test_the_zip_holds_no_secret_of_a_class(content: dict[str, bytes], class_folder: ClassFolder) -> None:
    settings = json.loads(content["project/class/settings.json"])
    theirs = draws.ensure_hidden_seeds(START, class_folder.draws)
    assert not {seed for seeds in theirs.values() for seed in seeds} & {
        seed for seeds in settings["seeds"].values() for seed in seeds
    }
    assert not [name for name, data in content.items() if SECRET.encode() in data or bytes.fromhex(SECRET) in data]


# What files in the zip import where nobody asks for it there: in nbgrader's commands, in the doctor for students' JupyterLab.
NOT_ASKED_FOR = {"nbgrader", "jupyter_client", "jupyter_core"}


def imported(source: bytes) -> Iterator[str]:
    """The packages that a file imports, wherever in it."""
    for node in ast.walk(ast.parse(source)):
        if isinstance(node, ast.Import):
            yield from (alias.name.partition(".")[0] for alias in node.names)
        elif isinstance(node, ast.ImportFrom) and node.module and not node.level:
            yield node.module.partition(".")[0]


def test_what_is_installed_there_is_what_the_zips_files_import() -> None:
    files = {name: data for assignment in active_course().notebooks for name, data in zips.files(assignment)}
    ours = {"autograder", "ffnlab"} | sys.stdlib_module_names
    names = {name for file, data in files.items() if file.endswith(".py") for name in imported(data)} - ours
    assert names >= NOT_ASKED_FOR, "the list above is out of date"
    owners = importlib.metadata.packages_distributions()
    assert {str(canonicalize_name(owners[name][0])) for name in names - NOT_ASKED_FOR} == set(zips.REQUIREMENTS)
    assert files["project/requirements.txt"].decode().split() == list(zips.REQUIREMENTS)


def test_what_is_installed_there_has_a_version_that_the_project_tested() -> None:
    names = {line.partition("==")[0] for line in (ROOT / "constraints.txt").read_text(encoding="utf-8").splitlines()}
    assert set(zips.REQUIREMENTS) <= {str(canonicalize_name(name)) for name in names if name and name[0] != "#"}


def test_a_class_says_what_counts() -> None:
    policy = Policy.read('does_not_count = ["quiz_*", "M2"]\nextra_credit = ["DeepFFN"]')
    settings = zips.settings_of(OTHER, policy, {})
    assert settings.practice == ["quiz_rank", "quiz_bias"]
    assert (settings.extra, settings.by_hand, settings.max_points) == (["DeepFFN"], {}, 25.0)
    assert zips.settings_of(OTHER, Policy(), {}).by_hand == {"M2": 3.0}


@pytest.mark.parametrize(
    ("visibility", "output_format", "toml", "says"),
    [
        ("shown", "text", "", "'shown' is not one of visible, after_due_date"),
        ("visible", "pdf", "", "'pdf' is not one of text, html"),
        (
            "visible",
            "text",
            'notebooks = ["01_attention"]',
            "course.toml names the class's notebooks, and 00_start_here is not among them",
        ),
    ],
)
def test_what_cannot_be_is_refused_in_one_line(
    tmp_path: Path, visibility: str, output_format: str, toml: str, says: str
) -> None:
    if toml:
        (tmp_path / "course.toml").write_text(toml)
    with pytest.raises(UserError, match=says):
        zips.make(START, tmp_path / "a.zip", ClassFolder(tmp_path), visibility, output_format)
    assert not (tmp_path / "a.zip").exists()


# Building the image


def program(folder: Path, name: str, body: str) -> None:
    """A stand-in for a program, as a shell script."""
    folder.mkdir(parents=True, exist_ok=True)
    (folder / name).write_text(f"#!/bin/sh\n{body}\n")
    (folder / name).chmod(0o755)


def test_a_python_that_other_users_could_take_over_is_replaced_by_a_newer_one(tmp_path: Path) -> None:
    tools, home = tmp_path / "bin", tmp_path / "autograder"
    for part in ("autograder/jail", "course/ffnlab"):
        (home / "source" / "project" / part).mkdir(parents=True)
    program(home / "source", "run_autograder", f'echo check "$@" >> {tmp_path}/calls')
    for name in ("bash", "chmod", "find", "mkdir", "cp"):
        (tools / name).parent.mkdir(exist_ok=True)
        (tools / name).symlink_to(str(shutil.which(name)))
    inside = f'echo "$@" >> {tmp_path}/calls'
    program(tmp_path, "inside", inside)
    program(
        tools,
        "python3.11",
        f'case "$1" in -c) [ -e {tmp_path}/newer ];; *) mkdir -p "$3/bin"; cp {tmp_path}/inside "$3/bin/python";; esac',
    )
    program(
        tools,
        "apt-get",
        f'echo apt-get "$@" >> {tmp_path}/calls; case "$*" in *python3.1[23]*|*"python3 "*) exit 1;; esac',
    )
    program(tools, "add-apt-repository", f'echo add "$@" >> {tmp_path}/calls; : > {tmp_path}/newer')
    (tmp_path / "setup.sh").write_bytes(zips._template("setup.sh"))
    process = subprocess.run(
        ["bash", tmp_path / "setup.sh"],
        env={"PATH": str(tools), "AUTOGRADER_HOME": str(home)},
        capture_output=True,
        text=True,
        check=False,
    )
    assert process.returncode == 0, process.stderr
    calls = (tmp_path / "calls").read_text().splitlines()
    assert calls.index("apt-get -qq install -y python3.11 python3.11-venv") < calls.index("add -y ppa:deadsnakes/ppa")
    assert [call for call in calls if call.startswith("-m pip install")]
    assert calls[-1] == "check --check"


def test_other_users_can_read_the_jail_and_the_course_and_nothing_else(container: Container) -> None:
    open_to_all = set()
    for place, folders, names in os.walk(container.home):
        folders[:] = [name for name in folders if Path(place, name).stat().st_mode & 0o001]
        open_to_all |= {Path(place, name) for name in names if Path(place, name).stat().st_mode & 0o004}
    source = container.home / "source"
    public_folders = (source / "project/autograder/jail", source / "project/course/ffnlab")
    rest = {path for path in open_to_all if not any(folder in path.parents for folder in public_folders)}
    assert {path.name for path in rest} - {"submission_metadata.json", "results.json"} == {"setup.sh", "run_autograder"}
    experiments = source / "project/course/ffnlab/course/experiments"
    # The models that the notebooks look into.
    models = {
        experiments / "world.safetensors",
        experiments / "fact_stores.safetensors",
        experiments / "twin.safetensors",
        experiments / "real.safetensors",
    }
    assert not [path for path in open_to_all - models if path.suffix in (".safetensors", ".zip")]


# What Gradescope reads


def test_a_right_submission(container: Container) -> None:
    run = container.grade({f"{START}.ipynb": solved()})
    assert run.valid_results["score"] == 2.0
    assert run.test("hello_shape") | {"output": "", "extra_data": {}} == {
        "name": "hello_shape", "number": "1", "status": "passed", "score": 2.0, "max_score": 2.0,
        "visibility": "visible", "output_format": "text", "output": "", "extra_data": {},
    }  # fmt: skip
    assert "hello_shape: earned, 2 of 2 points" in run.test("hello_shape")["output"]
    assert "score" not in run.test("quiz_hidden"), "quizzes do not count"
    assert run.valid_results["output"].startswith(f"{START}: 2 of 6 points.\n")
    assert "the assignment has 20 points on Gradescope, and 6 here: set it there" in run.printed
    assert conforms(run.valid_results)
    results = container.home / "results"
    assert os.listdir(results) == ["results.json"]
    assert [stat.S_IMODE(path.stat().st_mode) for path in (results, results / "results.json")] == [0o755, 0o644]


def conforms(results: dict[str, Any]) -> bool:
    """Whether these are results as Gradescope documents them."""
    assert set(results) <= KNOWN
    assert isinstance(results["score"], float) and results["execution_time"] >= 0
    assert {results["output_format"], results["test_output_format"]} <= FORMATS
    assert results["visibility"] in VISIBILITIES and results["stdout_visibility"] == "hidden"
    for test in results["tests"]:
        assert set(test) <= KNOWN_OF_A_TEST
        assert test["status"] in ("passed", "failed") and test["visibility"] in VISIBILITIES
    return bool(sum(test.get("score", 0.0) for test in results["tests"]) == pytest.approx(results["score"]))


def test_a_mistake_is_named_and_what_lies_beside_the_notebook_is_said(container: Container) -> None:
    mistake = find_mistake("swapped")
    files = {"work/mine.ipynb": as_bytes(answered(mistake.source)), "notes.ipynb": as_bytes({"cells": []})}
    run = container.grade(files)
    entry = run.test("hello_shape")
    assert (run.valid_results["score"], entry["status"], entry["extra_data"]["mistake"]) == (0.0, "failed", "swapped")
    assert mistake.message in entry["output"]
    assert "Graded: work/mine.ipynb.\nIgnored: notes.ipynb." in run.valid_results["output"]
    assert conforms(run.valid_results)


@pytest.mark.parametrize(
    ("files", "says"),
    [
        ({}, f"Your submission has no notebook. Hand in {START}.ipynb."),
        ({f"{START}.ipynb": b'{"cells": ['}, f"{START}.ipynb can't be read: not a notebook: broken JSON"),
        ({f"{START}.ipynb": release(OTHER).read_bytes()}, f"{START}.ipynb is the notebook {OTHER}."),
    ],
    ids=["nothing", "broken", "another notebook"],
)
def test_what_cannot_be_graded_gets_no_points_and_one_reason(
    container: Container, files: dict[str, bytes], says: str
) -> None:
    run = container.grade(files)
    assert run.valid_results["output"].startswith(says)
    assert run.valid_results["score"] == 0.0
    assert [(test["status"], test["output"]) for test in run.valid_results["tests"]] == [("failed", "")] * 4
    assert conforms(run.valid_results)


HOSTILE = """
import os, pathlib, signal
home, got = pathlib.Path({home!r}), []

def tried(name, what):
    try:
        what()
        got.append(name)
    except OSError:
        pass

project = home / "source" / "project"
for name in ("autograder/keys/start_here/feeling.py", "class/settings.json", "class/markings.safetensors", "autograder/reference/compute.py"):
    tried(name, (project / name).read_bytes)
for name in ("autograder/keys", "class", "solutions", "autograder"):
    tried(name, lambda: os.listdir(project / name))
tried("source.zip", (home / "source.zip").read_bytes)
tried("earlier results", (home / "submission_metadata.json").read_bytes)
tried("results", lambda: (home / "results" / "results.json").write_text('{{"score": 100}}'))
tried("another results", lambda: os.rename(home / "results", home / "mine"))
tried("run_autograder", lambda: (home / "source" / "run_autograder").write_text("exit 0"))
for number in map(int, filter(str.isdigit, os.listdir("/proc"))):
    if number != os.getpid():
        tried(f"signal {{number}}", lambda: os.kill(number, signal.SIGKILL))
        tried(f"memory {{number}}", lambda: open(f"/proc/{{number}}/mem", "rb").close())
raise RuntimeError(f"got {{got}}") if got else RuntimeError("got nothing")  # a page shows only what stands here
"""


def test_a_hostile_submission_reads_nothing_writes_nothing_and_ends_nobody(container: Container) -> None:
    run = container.grade({f"{START}.ipynb": as_bytes(answered(HOSTILE.format(home=str(container.home))))})
    assert "RuntimeError: got nothing" in run.test("hello_shape")["output"]
    assert run.valid_results["score"] == 0.0
    assert conforms(run.valid_results)


BOMB = "import os\nwhile True:\n    try:\n        os.fork()\n    except OSError:\n        pass"


@contextmanager
def changed(container: Container, **settings: object) -> Iterator[None]:
    """The zip's settings, for a while with others among them."""
    file = container.home / "source" / "project" / "class" / "settings.json"
    before = file.read_text()
    file.write_text(json.dumps(json.loads(before) | settings))
    try:
        yield
    finally:
        file.write_text(before)


def test_a_fork_bomb_costs_its_own_exercise_and_results_are_written(container: Container) -> None:
    with changed(container, limits={"cell_seconds": 2.0, "processes": 24}):
        run = container.grade({f"{START}.ipynb": as_bytes(answered(BOMB))})
    output = run.test("hello_shape")["output"]
    assert "It ran longer than 2 s" in output or "more than 24 processes" in output
    assert run.valid_results["score"] == 0.0
    assert conforms(run.valid_results)


def test_what_is_our_fault_is_no_grade(container: Container) -> None:
    with changed(container, torch="0.1"):
        run = container.grade({f"{START}.ipynb": solved()})
    assert (run.status, run.results) == (1, None)
    assert "NOT GRADED, and the student is not at fault: torch " in run.printed


def test_without_isolation_nobody_is_graded(container: Container) -> None:
    private = container.home / "source" / "project" / "class"
    private.chmod(0o755)
    try:
        run = container.grade({f"{START}.ipynb": solved()})
    finally:
        private.chmod(0o700)
    assert (run.status, run.results) == (1, None)
    assert "can be read" in run.printed


# In this process: what was handed in, and what is said of it


def handed_in(folder: Path, **files: bytes) -> in_container.NotebookToGrade:
    for name, data in files.items():
        path = folder / name.replace("__", "/").replace("_ipynb", ".ipynb")
        path.parent.mkdir(parents=True, exist_ok=True)
        path.write_bytes(data)
    return in_container.find(START, folder)


def test_of_two_notebooks_the_one_with_the_assignments_name_is_graded(tmp_path: Path) -> None:
    (tmp_path / f"{START}.ipynb").write_bytes(solved())
    notebook_file = handed_in(tmp_path, copy_ipynb=solved())
    assert (notebook_file.name, notebook_file.notices) == (f"{START}.ipynb", ("Ignored: copy.ipynb.",))


def test_between_two_notebooks_that_may_both_be_it_nothing_is_guessed(tmp_path: Path) -> None:
    notebook_file = handed_in(tmp_path, a_ipynb=solved(), b_ipynb=solved())
    assert notebook_file.trouble.startswith(f"Several files could be your {START}: a.ipynb, b.ipynb.")


def test_html_alone_and_what_systems_leave_behind_is_no_notebook(tmp_path: Path) -> None:
    (tmp_path / "page.html").write_text("<p>")
    (tmp_path / "__MACOSX").mkdir()
    (tmp_path / "__MACOSX" / f"._{START}.ipynb").write_bytes(b"x")
    (tmp_path / ".ipynb_checkpoints").mkdir()
    (tmp_path / ".ipynb_checkpoints" / f"{START}.ipynb").write_bytes(solved())
    assert handed_in(tmp_path).trouble.startswith("Your submission has no notebook")


def test_what_a_browser_wrote_behind_the_name_does_not_hide_a_notebook(tmp_path: Path) -> None:
    (tmp_path / f"{START}.ipynb.txt").write_bytes(solved())
    assert handed_in(tmp_path).trouble == ""


def test_a_link_is_not_followed(tmp_path: Path) -> None:
    (tmp_path / f"{START}.ipynb").symlink_to(release(START))
    assert f"{START}.ipynb can't be read" in handed_in(tmp_path).trouble


def test_a_notebook_that_lost_its_cells_is_graded_with_a_word_of_doubt(tmp_path: Path) -> None:
    notebook_file = handed_in(tmp_path, mine_ipynb=as_bytes({"cells": [{"cell_type": "code", "source": ANSWER}]}))
    assert notebook_file.notices == (
        "Graded: mine.ipynb.",
        f"It has hardly any cell of {START}.ipynb. Is it the file that you meant?",
    )


def test_a_folder_full_of_notebooks_is_not_read_through(tmp_path: Path) -> None:
    for number in range(in_container.MAX_NOTEBOOKS + 1):
        (tmp_path / f"{number}.ipynb").write_bytes(solved())
    assert handed_in(tmp_path).trouble.startswith("Your submission has more than 50 notebooks")


def test_extra_credit_comes_on_top_practice_has_no_points_and_a_person_reads_the_rest() -> None:
    settings = zips.settings_of(OTHER, Policy.read('extra_credit = ["DeepFFN"]'), {}, "after_due_date", "html")
    verdicts = {
        exercise.name: not_attempted(active_course().exercise(exercise.name)) for exercise in outline.of_notebook(OTHER)
    }
    results = in_container.results(
        settings, in_container.NotebookToGrade("a.ipynb", b"x"), GradedSubmission(OTHER, verdicts)
    )
    tests = {test["name"]: test for test in results["tests"]}
    assert (tests["DeepFFN"]["score"], tests["DeepFFN"]["max_score"]) == (0.0, 0.0)
    assert "max_score" not in tests["quiz_rank"]
    assert {results["visibility"], *(test["visibility"] for test in tests.values())} == {"after_due_date"}
    assert tests["ffn_forward"]["output"].startswith("<div") and tests["ffn_forward"]["output_format"] == "html"
    lines = results["output"].splitlines()
    assert lines[0] == f"{OTHER}: 0 of 25 points."
    assert "Extra credit, on top of the maximum: DeepFFN." in lines
    assert "Your instructor reads these, so they are not in this score: M2." in lines


def test_numbers_of_hidden_inputs_are_rounded_and_markup_stays_text() -> None:
    settings = zips.settings_of(START, Policy(), {}, output_format="html")
    symptom = "It returned 3.14159265 <script>alert(1)</script>"
    verdicts = {
        exercise.name: not_earned(active_course().exercise(exercise.name), symptom)
        for exercise in outline.of_notebook(START)
    }
    results = in_container.results(settings, in_container.NotebookToGrade(), GradedSubmission(START, verdicts))
    output = results["tests"][0]["output"]
    assert "3.1 " in output and "3.14" not in output and "<script" not in output


@pytest.mark.parametrize(("there", "left"), [(768, 248), (200, 96), (24_000, 4096)])
def test_a_submission_gets_the_memory_that_grading_leaves(
    monkeypatch: pytest.MonkeyPatch, there: int, left: int
) -> None:
    monkeypatch.setattr(in_container, "_memory", lambda: there * MIB)
    limits = in_container.limits(zips.settings_of(START, Policy(), {}))
    assert (limits.memory, limits.submission_seconds) == (left * MIB, 240.0)
