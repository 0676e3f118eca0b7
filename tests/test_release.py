"""A release: the same bytes from the same commit, refused where it can't be one, and enough for an instructor without a clone."""

from __future__ import annotations

import ast
import hashlib
import json
import os
import re
import shutil
import subprocess
import sys
import tarfile
import zipfile
from collections.abc import Callable, Iterator
from io import BytesIO
from pathlib import Path

import pytest
from conftest import ROOT, needs_bubblewrap
from uv import find_uv_bin

import autograder
import ffnlab
from autograder import project_files
from autograder.authoring import release
from autograder.class_folder import new_class
from autograder.class_folder.folder import ClassFolder
from autograder.errors import UserError
from autograder.gradebook.gradebook import Book
from ffnlab import registry

VERSION = ffnlab.__version__
NOTEBOOK = "00_start_here"
PERSON = {f"GIT_{role}_{what}": "somebody" for role in ("AUTHOR", "COMMITTER") for what in ("NAME", "EMAIL")}
ANSWER = "def hello_shape(x):\n    return tuple(x.shape)"


def environment(*folders: Path) -> dict[str, str]:
    """The variables of a process that imports what lies in these folders first."""
    left_out = {"PYTHONPATH", "AUTOGRADER_GRADING", registry.VARIABLE}
    variables = {name: value for name, value in os.environ.items() if name not in left_out}
    more = [
        path
        for path in os.environ.get("PYTHONPATH", "").split(os.pathsep)
        if path and not Path(path, "autograder").exists()
    ]
    return variables | PERSON | {"PYTHONPATH": os.pathsep.join([*map(str, folders), *more])}


def run(*words: object, cwd: Path, variables: dict[str, str] | None = None, umask: int = -1) -> str:
    """What a program prints that ends well."""
    process = subprocess.run(
        list(map(str, words)), cwd=cwd, env=variables or environment(ROOT, ROOT / "course"), capture_output=True,
        text=True, check=False, umask=umask,
    )  # fmt: skip
    assert process.returncode == 0, process.stdout + process.stderr
    return process.stdout


@pytest.fixture(scope="module")
def committed(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """A repository with all that is tracked here, as it is now, in one commit."""
    if not (ROOT / ".git").exists():
        pytest.skip("this is no clone")
    folder = tmp_path_factory.mktemp("release") / "committed"
    listed = run("git", "ls-files", "-z", "--cached", "--others", "--exclude-standard", cwd=ROOT).split("\0")
    for name in filter(None, listed):
        if (ROOT / name).is_file():
            (folder / name).parent.mkdir(parents=True, exist_ok=True)
            shutil.copy(ROOT / name, folder / name)
    for words in (("init", "-q"), ("add", "-A"), ("commit", "-q", "-m", "All of it")):
        run("git", *words, cwd=folder)
    return folder


@pytest.fixture(scope="module")
def released(committed: Path) -> Path:
    """The files of a release that was made in a clone."""
    pytest.importorskip("build", reason="build is not installed: pip install -e '.[release]'")
    clone = committed.with_name("clone")
    run("git", "clone", "-q", committed, clone, cwd=committed)
    output = run(sys.executable, "-m", "autograder", "release", VERSION, cwd=clone)
    assert f"git push origin v{VERSION}" in output
    return clone / "release"


@pytest.fixture(scope="module")
def installed(released: Path) -> Path:
    """A folder with both wheels and nothing else. All that they need is this Python's own: a jail shows no other environment than that which runs."""
    folder = released.parents[1] / "installed"
    wheels = sorted(released.glob("*.whl"))
    run(find_uv_bin(), "pip", "install", "--quiet", "--offline", "--no-deps", "--target", folder, *wheels, cwd=released)
    return folder


# One version


@pytest.mark.reads_sources
def test_the_version_is_written_once() -> None:
    assert autograder.__version__ is ffnlab.__version__
    literal = re.compile(rf'["\']{re.escape(VERSION)}["\']')
    files = [*(ROOT / "autograder").rglob("*.py"), *(ROOT / "course" / "ffnlab").rglob("*.py"), ROOT / "pyproject.toml"]
    files += [ROOT / "course" / "pyproject.toml", ROOT / "Makefile", ROOT / "setup.py"]
    assert [file for file in files if literal.search(file.read_text(encoding="utf-8"))] == [ROOT / release.VERSION_FILE]


def test_what_a_release_needs_of_the_changelog_is_there() -> None:
    assert release.section(VERSION)
    assert not release.section("0.0.1") and not release.section(VERSION.replace(".", ","))


# What can't be released


@pytest.fixture
def clone(committed: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    run("git", "clone", "-q", committed, tmp_path / "clone", cwd=tmp_path)
    monkeypatch.chdir(tmp_path / "clone")
    return tmp_path / "clone"


def changes_a_file(clone: Path) -> None:
    (clone / "LICENSE").write_text("none", encoding="utf-8")


def has_a_file_more(clone: Path) -> None:
    (clone / "notes.txt").write_text("to do", encoding="utf-8")


def has_the_tag(clone: Path) -> None:
    run("git", "tag", f"v{VERSION}", cwd=clone)


def says_nothing_of_it(clone: Path) -> None:
    (clone / "CHANGELOG.md").write_text(f"# Changes\n\n## {VERSION}\n\n## 0.1\n\nMore.\n", encoding="utf-8")
    run("git", "commit", "-qam", "Say nothing", cwd=clone)


@pytest.mark.parametrize(
    ("version", "spoil", "line"),
    [
        (VERSION, changes_a_file, "LICENSE is not committed, and a release is made of a commit"),
        (VERSION, has_a_file_more, "notes.txt is not committed, and a release is made of a commit"),
        (VERSION, has_the_tag, f"the tag v{VERSION} exists: take the next version, or, if nobody has it yet, run `git tag -d v{VERSION}`"),
        (VERSION, says_nothing_of_it, f"CHANGELOG.md says nothing below a line “## {VERSION}”: write what people will notice"),
        ("99.0.0", None, f"course/ffnlab/__init__.py says {VERSION}: write 99.0.0 there, and commit"),
        ("one", None, "'one' is no version: write three numbers, such as 1.0.0 or 1.1.0rc1"),
    ],
)  # fmt: skip
def test_what_can_be_no_release_is_one_line_and_nothing_is_made(
    version: str, spoil: Callable[[Path], None] | None, line: str, clone: Path
) -> None:
    if spoil:
        spoil(clone)
    with pytest.raises(UserError) as refusal:
        release.make(version)
    assert str(refusal.value) == line
    assert not (clone / "release").exists()


def test_outside_of_a_clone_there_is_no_release(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    for name in ("solutions", "course"):
        (tmp_path / name).mkdir()
    monkeypatch.chdir(tmp_path)
    with pytest.raises(UserError, match="is no clone: a release is made of a commit"):
        release.make(VERSION)


# What is in it


def test_a_release_is_the_same_bytes_wherever_and_whenever_it_is_made(released: Path, tmp_path: Path) -> None:
    again = tmp_path / "elsewhere" / "another clone"
    run("git", "clone", "-q", "--no-tags", released.parent, again, cwd=released)
    for number, file in enumerate(sorted(again.rglob("*.py"))):
        os.utime(file, (number, number))
    variables = environment(ROOT, ROOT / "course") | {"TZ": "Asia/Tokyo", "PYTHONHASHSEED": "7", "LC_ALL": "C"}
    run(sys.executable, "-m", "autograder", "release", VERSION, cwd=again, variables=variables, umask=0o077)
    first, second = (
        {file.name: hashlib.sha256(file.read_bytes()).hexdigest() for file in folder.iterdir()}
        for folder in (released, again / "release")
    )
    assert first == second
    assert len(first) == 5


def test_a_release_has_what_each_needs_and_sums_that_agree(released: Path) -> None:
    wheels = {f"{name}-{VERSION}-py3-none-any.whl" for name in ("autograder", "ffnlab")}
    names = {file.name for file in released.iterdir()}
    assert names == {"course.zip", "constraints.txt", release.CHECKSUMS, *wheels}
    run("sha256sum", "--check", "--strict", release.CHECKSUMS, cwd=released)
    tag = run("git", "tag", "--list", "-n", f"v{VERSION}", cwd=released)
    assert tag.split() == [f"v{VERSION}", VERSION]
    tracked = run("git", "ls-files", "course/ffnlab", "autograder", cwd=released.parent).splitlines()
    carried = {
        name.replace("ffnlab/", "course/ffnlab/", 1) if name.startswith("ffnlab/") else name
        for wheel in wheels
        for name in zipfile.ZipFile(released / wheel).namelist()
    }
    assert [name for name in tracked if name not in carried] == []
    template = [f"{project_files.TEMPLATE}/{pattern}" for pattern in project_files.TEMPLATE_FILES]
    files = project_files.find(released.parent, *project_files.CLASS_FILES, *template)
    assert {f"autograder/project/{name}" for name in files} == {
        name for name in carried if name.startswith("autograder/project/")
    }


def test_where_a_wheel_is_installed_jupyters_server_leaves_out_what_acts(released: Path) -> None:
    """start.py writes the same file."""
    wheel = zipfile.ZipFile(released / f"ffnlab-{VERSION}-py3-none-any.whl")
    name = f"ffnlab-{VERSION}.data/data/etc/jupyter/jupyter_server_config.d/ffnlab.json"
    extensions = re.search(r"^EXTENSIONS = (.*)$", (ROOT / "course" / "start.py").read_text(encoding="utf-8"), re.M)
    assert extensions and wheel.read(name).decode() == json.dumps(ast.literal_eval(extensions[1]))


def test_what_students_get_of_a_release_has_no_solution(released: Path) -> None:
    for file in (released / "course.zip", released / f"ffnlab-{VERSION}-py3-none-any.whl"):
        names = zipfile.ZipFile(file).namelist()
        assert not [name for name in names if "solutions" in name or "/keys/" in name or "autograder" in name]


# A class without a clone


def hand_in(folder: Path, student: str, answer: str) -> None:
    """Put a student's notebook with one answer where `grade` looks for it."""
    notebook = json.loads((folder / "course" / NOTEBOOK / f"{NOTEBOOK}.ipynb").read_text(encoding="utf-8"))
    for cell in notebook["cells"]:
        if cell["metadata"]["nbgrader"]["grade_id"] == "hello_shape" and answer:
            cell["source"] = answer
    place = folder / "grading" / "submitted" / student / NOTEBOOK
    place.mkdir(parents=True)
    (place / f"{NOTEBOOK}.ipynb").write_text(json.dumps(notebook), encoding="utf-8")


@needs_bubblewrap
def test_a_class_is_graded_with_the_wheels_alone(installed: Path, tmp_path: Path) -> None:
    variables = environment(installed)
    command = (sys.executable, "-m", "autograder")
    where = run(
        sys.executable,
        "-c",
        "import autograder, ffnlab; print(autograder.__file__, ffnlab.__file__)",
        cwd=tmp_path,
        variables=variables,
    )
    assert where.count(str(installed)) == 2
    assert run(*command, "--version", cwd=tmp_path, variables=variables) == f"autograder {VERSION}\n"
    made = run(*command, "new-class", "my class", cwd=tmp_path, variables=variables)
    assert "no student may get it" in made
    folder = tmp_path / "my class"
    assert (folder / "grading").stat().st_mode & 0o077 == 0
    hand_in(folder, "ada", ANSWER)
    hand_in(folder, "ben", "")
    output = run(*command, "grade", cwd=folder, variables=variables)
    assert "2 graded" in output, output
    assert "✔" in next(line for line in output.splitlines() if line.strip().startswith("ada")), output
    assert (folder / "grading" / "feedback" / "ada" / NOTEBOOK / f"{NOTEBOOK}.html").is_file()
    run(*command, "handout", cwd=folder, variables=variables)
    names = {name.partition("/")[2] for name in zipfile.ZipFile(folder / "dist" / "course.zip").namelist()}
    assert {"start.py", "ffnlab/course/answers/02_feed_forward.safetensors", f"{NOTEBOOK}/{NOTEBOOK}.ipynb"} <= names
    assert "wrote" not in run(*command, "new-class", ".", "--update", cwd=folder, variables=variables)


def test_the_handout_of_a_class_without_a_clone_is_that_of_the_release(
    installed: Path, released: Path, tmp_path: Path
) -> None:
    variables = environment(installed)
    run(sys.executable, "-m", "autograder", "new-class", "class", cwd=tmp_path, variables=variables)
    run(sys.executable, "-m", "autograder", "handout", cwd=tmp_path / "class", variables=variables)
    assert (tmp_path / "class" / "dist" / "course.zip").read_bytes() == (released / "course.zip").read_bytes()


def test_elsewhere_a_command_says_how_to_make_a_folder(installed: Path, tmp_path: Path) -> None:
    command = [sys.executable, "-m", "autograder", "grade"]
    process = subprocess.run(
        command, cwd=tmp_path, env=environment(installed), capture_output=True, text=True, check=False
    )
    assert (process.returncode, process.stdout) == (2, "")
    assert "`autograder new-class FOLDER` makes one for a class" in process.stderr


def test_a_class_folder_is_never_made_over_something_and_an_update_leaves_the_class_alone(tmp_path: Path) -> None:
    target = tmp_path / "class"
    with pytest.raises(UserError, match="is not the folder of a class: without --update, the command makes one"):
        new_class.make(target, update=True)
    new_class.make(target)
    with pytest.raises(UserError, match="is already there: name a new folder, or add --update"):
        new_class.make(target)
    with pytest.raises(UserError, match="is in the project's own folder"):
        new_class.make(ROOT / "docs" / "class")
    rules = target / "grading" / "course.toml"
    rules.write_text('time_zone = "Europe/Berlin"\n', encoding="utf-8")
    (target / "docs" / "grading.md").write_text("of an earlier version", encoding="utf-8")
    assert new_class.make(target, update=True) == 1
    assert rules.read_text(encoding="utf-8") == 'time_zone = "Europe/Berlin"\n'
    assert (target / "docs" / "grading.md").read_bytes() == (ROOT / "docs" / "grading.md").read_bytes()


# The next upgrade


def last_tag() -> str:
    """The newest version that was tagged before this one; the last commit, as long as there is none."""
    tags = run("git", "tag", "--list", "v*", "--sort=-version:refname", cwd=ROOT).split()
    return next((tag for tag in tags if tag != f"v{VERSION}"), "HEAD")


@pytest.fixture
def last_release(tmp_path: Path) -> Iterator[Path]:
    """The project as it was released last."""
    if not (ROOT / ".git").exists():
        pytest.skip("this is no clone")
    process = subprocess.run(["git", "archive", last_tag()], cwd=ROOT, capture_output=True, check=True)
    with tarfile.open(fileobj=BytesIO(process.stdout)) as tar:
        tar.extractall(tmp_path / "last", filter="data")
    yield tmp_path / "last"


@pytest.mark.slow
@needs_bubblewrap
def test_a_class_that_the_last_release_graded_goes_on_with_this_version(last_release: Path) -> None:
    """From 1.0.0 on, each version reads the gradebooks of the one before."""
    old = environment(last_release, last_release / "course")
    hand_in(last_release, "ada", ANSWER)
    hand_in(last_release, "ben", "")
    run(sys.executable, "-m", "autograder", "grade", cwd=last_release, variables=old)
    grading = last_release / "grading"
    hand_in(last_release, "cleo", ANSWER)
    output = run(sys.executable, "-m", "autograder", "grade", "--grading", grading, cwd=ROOT)
    assert re.search(r"\d graded", output)
    run(sys.executable, "-m", "autograder", "report", "--grading", grading, cwd=ROOT)
    assert set(Book(ClassFolder(grading)).students()) == {"ada", "ben", "cleo"}
