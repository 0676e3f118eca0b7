"""The images and the services that open the course without installing: as far as they can be tried where there is no Docker."""

from __future__ import annotations

import json
import os
import re
import shlex
import subprocess
import sys
from pathlib import Path

import pytest
from conftest import ROOT
from IPython.core.interactiveshell import InteractiveShell

PAGE = (ROOT / "docs" / "containers.md").read_text(encoding="utf-8")
DOCKERFILE = (ROOT / "Dockerfile").read_text(encoding="utf-8")
DEVELOPMENT_CONTAINERS = sorted((ROOT / ".devcontainer").rglob("devcontainer.json"))
# Of the specification's properties, those that are used here: https://containers.dev/implementors/json_reference
KNOWN = {
    "name", "build", "workspaceMount", "workspaceFolder", "remoteUser", "runArgs", "containerEnv", "postCreateCommand", "postAttachCommand",
    "forwardPorts", "portsAttributes", "hostRequirements", "customizations",
}  # fmt: skip


def stages() -> dict[str, str]:
    """The Dockerfile's parts, by name."""
    parts = re.split(r"^FROM (?:\S+) AS (\w+)\n", DOCKERFILE, flags=re.M)
    return dict(zip(parts[1::2], parts[2::2], strict=True))


def read_with_comments(file: Path) -> dict[str, object]:
    """JSON in which a line may be a comment."""
    lines = file.read_text(encoding="utf-8").splitlines()
    content: dict[str, object] = json.loads("\n".join(line for line in lines if not line.lstrip().startswith("//")))
    return content


# The Dockerfile


def test_all_that_an_image_copies_is_there_and_not_left_out() -> None:
    left_out = (ROOT / ".dockerignore").read_text(encoding="utf-8").split()
    copied = re.findall(r"^COPY (\S+) ", DOCKERFILE, re.M)
    assert copied == ["course", "."]
    assert "course" not in left_out and all((ROOT / name).exists() for name in copied)
    assert {".git", ".venv", "grading", "dist"} <= set(left_out), "no class and no environment goes into an image"


def test_the_instructors_image_has_the_programs_that_grading_needs() -> None:
    makefile = (ROOT / "Makefile").read_text(encoding="utf-8")
    table = re.search(r"^define GRADING_PROGRAMS\n(.*?)^endef", makefile, re.S | re.M)
    assert table
    needed = {line.split("|")[0] for line in table[1].splitlines()}
    assert needed <= set(stages()["instructor"].split())


def test_what_other_accounts_must_not_read_is_closed_in_the_image() -> None:
    closed = re.search(r"chmod -R go-rwx (.*)$", stages()["instructor"], re.M)
    assert closed
    folders = [Path(name).relative_to("/opt/autograder") for name in closed[1].split()]
    assert {str(folder) for folder in folders} == {"autograder/keys", "solutions", "course/ffnlab/course/answers"}
    assert all((ROOT / folder).is_dir() for folder in folders)


def test_the_images_call_start_py_with_options_that_it_has() -> None:
    for line in re.findall(r"start\.py ([^&\n]*)", DOCKERFILE):
        options = [word for word in shlex.split(line) if word.startswith("--")]
        output = subprocess.run(
            [sys.executable, str(ROOT / "course" / "start.py"), "--help"], capture_output=True, text=True, check=True
        )
        assert options and all(option in output.stdout for option in options)


# Codespaces


@pytest.mark.parametrize("file", DEVELOPMENT_CONTAINERS, ids=lambda file: file.parent.name)
def test_a_development_container_names_what_there_is(file: Path) -> None:
    content = read_with_comments(file)
    build = content["build"]
    assert isinstance(build, dict) and set(content) <= KNOWN
    assert (file.parent / build["dockerfile"]).resolve() == ROOT / "Dockerfile"
    assert (file.parent / build["context"]).resolve() == ROOT
    assert build["target"] in stages()
    folder = Path(str(content["workspaceFolder"])).relative_to("/workspace")
    assert (ROOT / folder).is_dir()


def test_the_options_that_let_the_jail_work_are_those_of_the_page() -> None:
    grading = read_with_comments(ROOT / ".devcontainer" / "grading" / "devcontainer.json")
    options = grading["runArgs"]
    assert isinstance(options, list)
    command = next(line for line in PAGE.replace("\\\n", " ").splitlines() if "--cap-add SYS_ADMIN" in line)
    words = re.findall(r"--(?:security-opt|cap-add) \S+", command)
    assert words == [f"{name} {value}" for name, value in zip(options[::2], options[1::2], strict=True)]


# Binder


def test_binder_installs_what_is_there_with_a_python_that_the_course_knows() -> None:
    folder = ROOT / "binder"
    lines = (folder / "requirements.txt").read_text(encoding="utf-8").splitlines()
    assert [line for line in lines if not line.startswith("#")][1:] == ["-c course/constraints.txt", "./course"]
    version = (folder / "runtime.txt").read_text(encoding="utf-8").strip().removeprefix("python-")
    assert version in ("3.11", "3.12", "3.13", "3.14")
    after = folder / "postBuild"
    assert os.access(after, os.X_OK)
    subprocess.run(["bash", "-n", str(after)], check=True)


# Colab


def test_the_first_cell_for_colab_installs_the_course_and_runs_in_a_plain_ipython(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    cell = re.search(r"## Colab\n.*?```python\n(.*?)```", PAGE, re.S)
    assert cell
    asked: list[str] = []
    monkeypatch.chdir(tmp_path)
    monkeypatch.setitem(sys.modules, "__main__", sys.modules["__main__"])  # a shell puts its own there
    shell = InteractiveShell()
    shell.magics_manager.magics["line"]["pip"] = asked.append
    result = shell.run_cell(cell[1])
    assert result.success
    (line,) = asked
    source = re.search(r'"ffnlab @ git\+URL#subdirectory=(\S+)"', line)
    assert source and (ROOT / source[1] / "pyproject.toml").is_file()


def test_links_lead_to_notebooks_that_there_are() -> None:
    for path in re.findall(r"(course/\w+/\w+\.ipynb|lab/tree/REPO/\w+/\w+\.ipynb)", PAGE):
        name = path.removeprefix("lab/tree/REPO/").removeprefix("course/")
        assert (ROOT / "course" / name).is_file(), path
