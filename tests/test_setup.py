"""The set-up: two packages and their versions, who may import whom, the Makefile, the doctor."""

from __future__ import annotations

import ast
import contextlib
import importlib.metadata
import json
import os
import re
import resource
import shlex
import shutil
import stat
import subprocess
import sys
import tomllib
import zipfile
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest
import typer
import yaml
from packaging.requirements import Requirement
from packaging.specifiers import SpecifierSet
from packaging.utils import canonicalize_name
from traitlets.config.loader import PyFileConfigLoader
from uv import find_uv_bin

from autograder.authoring.handout import handout
from ffnlab import doctor as student_doctor

ROOT = Path(__file__).resolve().parents[1]
COURSE = ROOT / "course"
PROXY = ".venv/hub/node_modules/.bin/configurable-http-proxy"
LEFT_OUT = shutil.ignore_patterns(".venv", "__pycache__", ".ipynb_checkpoints", ".progress*", "*.egg-info")
TARGETS = ["setup", "lab", "grade", "test", "build", "matrix", "bench", "handout"]


def project(folder: Path) -> dict[str, Any]:
    table: dict[str, Any] = tomllib.loads((folder / "pyproject.toml").read_text(encoding="utf-8"))
    return table


def requirements(folder: Path, *extras: str) -> dict[str, Requirement]:
    """What a package asks for, by name; the two of this project, which are not on an index, left out."""
    table = project(folder)["project"]
    lines = list(table["dependencies"])
    for extra in extras:
        lines += table["optional-dependencies"][extra]
    by_name = {canonicalize_name(line.name): line for line in map(Requirement, lines)}
    return {str(name): line for name, line in by_name.items() if name not in ("ffnlab", "autograder")}


def pins(file: Path) -> dict[str, str]:
    lines = [line for line in file.read_text(encoding="utf-8").splitlines() if not line.startswith("#")]
    assert all(line.count("==") == 1 for line in lines), "a constraint pins exactly one version"
    return {str(canonicalize_name(name)): version for name, version in (line.split("==") for line in lines)}


# Versions


def test_the_page_on_how_the_project_is_built_can_be_read_in_a_terminal() -> None:
    lines = (ROOT / "docs" / "architecture.md").read_text(encoding="utf-8").splitlines()
    assert not [line for line in lines if len(line) > 120]


def test_conda_gets_the_same_ranges_as_pip() -> None:
    environment = yaml.safe_load((ROOT / "environment.yml").read_text(encoding="utf-8"))
    conda = [Requirement(entry) for entry in environment["dependencies"] if isinstance(entry, str)]
    ranges = {str(canonicalize_name(entry.name)): entry.specifier for entry in conda}
    ranges["torch"] = ranges.pop("pytorch")
    python = ranges.pop("python")
    del ranges["pip"]
    needs = requirements(COURSE) | requirements(ROOT)
    assert ranges == {name: requirement.specifier for name, requirement in needs.items()}
    assert {python} == {SpecifierSet(project(folder)["project"]["requires-python"]) for folder in (ROOT, COURSE)}


def test_conda_installs_this_projects_two_packages_with_pip() -> None:
    environment = yaml.safe_load((ROOT / "environment.yml").read_text(encoding="utf-8"))
    assert {"pip": ["-e ./course", "-e ."]} in environment["dependencies"]


@pytest.mark.parametrize(
    ("folder", "extras"),
    [(COURSE, ()), (ROOT, ("test", "dask", "hub", "postgresql", "report"))],
    ids=["ffnlab", "autograder"],
)
def test_every_direct_dependency_is_pinned_within_its_range(folder: Path, extras: tuple[str, ...]) -> None:
    versions = pins(folder / "constraints.txt")
    for name, requirement in requirements(folder, *extras).items():
        assert name in versions, f"constraints.txt lacks {name}"
        assert requirement.specifier.contains(versions[name]), f"{name} {versions[name]} is not in {requirement}"


def supported_pythons(folder: Path) -> list[str]:
    """The oldest Python of each minor version that a package promises to run on."""
    python_range = Requirement(f"python{project(folder)['project']['requires-python']}").specifier
    return [f"3.{minor}.0" for minor in range(30) if python_range.contains(f"3.{minor}.0")]


@pytest.mark.parametrize("folder", [COURSE, ROOT], ids=["ffnlab", "autograder"])
def test_every_pin_can_be_installed_on_every_python_that_is_promised(folder: Path) -> None:
    pythons = supported_pythons(folder)
    assert (pythons[0], pythons[-1]) == ("3.11.0", "3.14.0")
    for name, version in pins(folder / "constraints.txt").items():
        distribution = next(iter(importlib.metadata.distributions(name=name)), None)
        if not distribution:  # is for another Python than this one
            continue
        assert distribution.version.partition("+")[0] == version, f"another {name} is installed than the pinned one"
        needs = str(distribution.metadata.json.get("requires_python", ""))
        missing = [python for python in pythons if not SpecifierSet(needs).contains(python)]
        assert not missing, f"{name}=={version} needs Python {needs}"


@pytest.mark.parametrize("python", ["3.11.0", "3.14.0"])
def test_the_pins_resolve_on_the_oldest_and_the_newest_python(python: str) -> None:
    lines = "\n".join(map(str, requirements(COURSE).values()))
    command = [find_uv_bin(), "pip", "compile", "-", "--quiet", "--only-binary", ":all:", "--python-version", python]
    command += ["--constraint", str(COURSE / "constraints.txt"), "--python-platform", "x86_64-manylinux_2_28"]
    process = subprocess.run(command, input=lines, capture_output=True, text=True, check=False)
    if re.search("dns error|error sending request|timed out", process.stderr):
        pytest.skip(f"no package index can be reached: {process.stderr.splitlines()[-1].strip()}")
    assert process.returncode == 0, process.stderr


def test_one_python_more_than_is_promised_is_looked_for() -> None:
    """No page gives a reason that the index contradicts; and what has become possible is named, until somebody has tried it."""
    oldest_after = f"3.{int(supported_pythons(COURSE)[-1].split('.')[1]) + 1}.0"
    minor = oldest_after.removesuffix(".0")
    pages = [ROOT / "README.md", COURSE / "start.py", *(ROOT / "docs").glob("*.md")]
    reasons = [
        path.name
        for path in pages
        if re.search(rf"no build for Python ({re.escape(minor)}|\{{)", path.read_text(encoding="utf-8"))
    ]
    assert not reasons, f"no reason is known why Python {minor} should not do"
    lines = "\n".join(f"{name}{requirement.specifier}" for name, requirement in requirements(COURSE).items())
    command = [
        find_uv_bin(),
        "pip",
        "compile",
        "-",
        "--quiet",
        "--only-binary",
        ":all:",
        "--python-version",
        oldest_after,
    ]
    process = subprocess.run(
        [*command, "--python-platform", "x86_64-manylinux_2_28"],
        input=lines,
        capture_output=True,
        text=True,
        check=False,
    )
    if re.search("dns error|error sending request|timed out", process.stderr):
        pytest.skip(f"no package index can be reached: {process.stderr.splitlines()[-1].strip()}")
    if process.returncode == 0:
        torch = next(line for line in process.stdout.splitlines() if line.startswith("torch=="))
        pytest.skip(
            f"it has become possible: on Python {minor} everything resolves, with {torch}; try it, then promise it"
        )


def test_a_student_gets_the_versions_that_the_project_tested() -> None:
    assert pins(COURSE / "constraints.txt").items() <= pins(ROOT / "constraints.txt").items()


@pytest.mark.parametrize("folder", [ROOT, COURSE], ids=["autograder", "ffnlab"])
def test_every_package_folder_is_installed(folder: Path) -> None:
    top = "ffnlab" if folder == COURSE else "autograder"
    there = {".".join(init.parent.relative_to(folder).parts) for init in (folder / top).rglob("__init__.py")}
    assert there == set(project(folder)["tool"]["setuptools"]["packages"])


# The Makefile


def documented_calls() -> list[tuple[str, str]]:
    """Each `make TARGET ARGS=…` of the documentation: the target, and the arguments."""
    pages = [ROOT / "README.md", ROOT / "CONTRIBUTING.md", ROOT / "Makefile", *sorted((ROOT / "docs").glob("*.md"))]
    text = "\n".join(path.read_text(encoding="utf-8") for path in pages)
    calls = re.findall(r'make ([a-z]+) ARGS=(?:"([^"]*)"|([\w./-]+))', text)
    return sorted({(target, quoted or word) for target, quoted, word in calls})


def commands_of(target: str, arguments: str) -> list[list[str]]:
    """The project's own commands that a target runs, word by word, without running them."""
    process = run(shutil.which("make") or "make", "-n", target, f"ARGS={arguments}")
    assert process.returncode == 0, process.stderr
    lines = re.findall(r"^\.venv/bin/autograder (.*)$", process.stdout.replace("\\\n", " "), re.MULTILINE)
    return [shlex.split(line) for line in lines]


def options_of(command: str) -> set[str]:
    from autograder import cli

    group = typer.main.get_command(cli.app)
    parameters = group.commands[command].params  # type: ignore[attr-defined]
    return {option for parameter in parameters for option in parameter.opts}


@pytest.mark.parametrize(("target", "arguments"), documented_calls())
def test_what_the_documentation_hands_on_reaches_the_command_that_takes_it(target: str, arguments: str) -> None:
    commands = commands_of(target, arguments.replace("…", "x"))
    for command, *words in commands:
        unknown = [word for word in words if word.startswith("--") and word not in options_of(command)]
        assert not unknown, f"`make {target}` hands {unknown} to `autograder {command}`"
    if target not in ("lab", "test", "quick", "sweep"):
        assert any(set(shlex.split(arguments.replace("…", "x"))) <= set(words) for _, *words in commands)


@pytest.mark.parametrize("target", ["handout", "site"])
def test_arguments_are_for_the_last_step_alone(target: str) -> None:
    *before, last = commands_of(target, "--mine")
    assert last[0] == target and "--mine" in last
    assert before and not any("--mine" in words for words in before)


# Imports


def imports(file: Path, root: Path, *, at_import_time: bool = False) -> Iterator[str]:
    """The absolute names of the modules that a file imports; `from a import b` counts as both a and a.b."""
    package = file.relative_to(root).with_suffix("").parts[:-1]
    tree = ast.parse(file.read_text(encoding="utf-8"), str(file))
    for node in tree.body if at_import_time else ast.walk(tree):
        if isinstance(node, ast.Import):
            yield from (alias.name for alias in node.names)
        elif isinstance(node, ast.ImportFrom):
            base = list(package[: len(package) - node.level + 1]) if node.level else []
            module = ".".join(base + ([node.module] if node.module else []))
            yield module
            yield from (f"{module}.{alias.name}" for alias in node.names)


def sources(folder: Path) -> list[Path]:
    return [file for file in sorted(folder.rglob("*.py")) if ".venv" not in file.parts]


def within(name: str, package: str) -> bool:
    return name == package or name.startswith(f"{package}.")


@pytest.mark.reads_sources
def test_what_students_get_imports_nothing_of_the_autograder() -> None:
    """The package is in the contracts below; this is about what lies beside it."""
    for file in sorted(COURSE.glob("*.py")):
        wrong = [name for name in imports(file, COURSE) if within(name, "autograder")]
        assert not wrong, f"{file.relative_to(ROOT)} imports {wrong}"


@pytest.mark.reads_sources
def test_no_room_imports_from_one_above_it() -> None:
    """The contracts stand in pyproject.toml; a room that none of them has is told too."""
    process = run(Path(sys.executable).with_name("lint-imports"), "--no-cache")
    assert process.returncode == 0, process.stdout


PRINTS = re.compile(r"\bprint\(|\btyper\.echo\(|\bsys\.std(?:out|err)\.write\(")


@pytest.mark.reads_sources
def test_the_command_line_says_who_else_prints() -> None:
    """Its first lines name each module that prints, and a reader who looks for a text finds it there."""
    package = ROOT / "autograder"
    code = {path.relative_to(package).as_posix(): _without_texts(path) for path in package.rglob("*.py")}
    printing = {name for name, text in code.items() if PRINTS.search(text) and not name.startswith(("cli/", "keys/"))}
    first_lines = ast.get_docstring(ast.parse((package / "cli" / "__init__.py").read_text(encoding="utf-8"))) or ""
    told = set(re.findall(r"`([\w/]+(?:\.py|/))`", first_lines))
    assert {name for name in printing if not name.startswith(tuple(told))} == set()
    assert {name for name in told if not any(module.startswith(name) for module in printing)} == set()


def _without_texts(path: Path) -> str:
    """A module's code without texts, some of which are code that is run elsewhere."""
    tree = ast.parse(path.read_text(encoding="utf-8"))
    for node in ast.walk(tree):
        if isinstance(node, ast.Constant) and isinstance(node.value, str):
            node.value = ""
    return ast.unparse(tree)


def _rooms(package: Path) -> set[str]:
    return {path.parent.name for path in package.glob("*/__init__.py")}


def test_the_page_on_architecture_names_every_room_and_no_file_that_is_not_there() -> None:
    page = (ROOT / "docs" / "architecture.md").read_text(encoding="utf-8")
    blocks = [
        {line.split()[0] for line in block.strip().splitlines() if not line.startswith(" ")}
        for block in page.split("```")[1::2]
    ]
    assert blocks[:2] == [_rooms(ROOT / "autograder"), _rooms(COURSE / "ffnlab")]
    homes = (ROOT, ROOT / "autograder", ROOT / "docs", COURSE, COURSE / "ffnlab")
    names = set(re.findall(r"(?<![\w/])([\w/]+(?:/(?=`)|\.(?:py|html|js|toml)\b))", page)) - {
        "solutions/NOTEBOOK.py",
        "keys/NOTEBOOK/EXERCISE.py",
        "submitted/STUDENT/ASSIGNMENT/",
    }
    missing = {name for name in names if not any((home / name).exists() for home in homes)}
    assert len(names) > 30 and missing == set()


def test_the_jail_may_import_nothing_of_the_autograder() -> None:
    contracts = tomllib.loads((ROOT / "pyproject.toml").read_text(encoding="utf-8"))["tool"]["importlinter"][
        "contracts"
    ]
    (jail,) = (contract for contract in contracts if contract.get("source_modules") == ["autograder.jail"])
    package = ROOT / "autograder"
    modules = {path.stem for path in package.iterdir() if path.suffix == ".py" or (path / "__init__.py").is_file()}
    allowed = {"jail", "__init__", "__main__"}
    assert set(jail["forbidden_modules"]) == {f"autograder.{name}" for name in modules - allowed}


@pytest.mark.reads_sources
def test_the_name_of_a_class_is_defined_once() -> None:
    places_by_class: dict[str, list[str]] = {}
    for folder in ("autograder", "course", "tests"):
        for file in (ROOT / folder).rglob("*.py"):
            for node in ast.walk(ast.parse(file.read_text(encoding="utf-8"))):
                if isinstance(node, ast.ClassDef):
                    places_by_class.setdefault(node.name, []).append(f"{file.relative_to(ROOT)}:{node.lineno}")
    assert {name: places for name, places in places_by_class.items() if len(places) > 1} == {}


WITHOUT_TORCH = """
import sys
from autograder import cli
from autograder.grading import grade_class
from autograder.gradebook import gradebook
from autograder.class_folder import log
from autograder.reports import class_table
from autograder.engine import forkserver, pool
found = {"torch", "numpy"} & set(sys.modules)
assert not found, found
"""


def test_a_conductor_needs_no_torch() -> None:
    process = run(sys.executable, "-c", WITHOUT_TORCH)
    assert process.returncode == 0, process.stdout


@pytest.mark.parametrize("file", [COURSE / "start.py", COURSE / "ffnlab" / "doctor.py"], ids=lambda file: file.name)
def test_a_broken_installation_stops_neither_start_nor_doctor(file: Path) -> None:
    names = {name.split(".")[0] for name in imports(file, COURSE, at_import_time=True)}
    assert names <= sys.stdlib_module_names


def test_start_uses_the_standard_library_only() -> None:
    names = {name for file in ("start.py", "installer.py", "bring.py") for name in imports(COURSE / file, COURSE)}
    assert {name.split(".")[0] for name in names} - {"bring", "installer"} <= sys.stdlib_module_names


@pytest.mark.reads_sources
@pytest.mark.parametrize("folder", [COURSE / "ffnlab", ROOT / "autograder"], ids=lambda folder: folder.name)
def test_what_a_package_imports_it_declares(folder: Path) -> None:
    declared = set(requirements(COURSE))
    if folder.name == "autograder":
        # It needs ffnlab, so it may use what ffnlab brings.
        declared |= set(requirements(ROOT, "dask", "postgresql", "site"))
    # Stills are drawn by those who make boards, with what the tests install.
    drawing = {"autograder/authoring/stills.py": {"playwright"}}
    distributions = importlib.metadata.packages_distributions()
    ours = {"ffnlab", "autograder", "__future__"} | sys.stdlib_module_names
    for file in sources(folder):
        for name in {name.split(".")[0] for name in imports(file, folder.parent)} - ours:
            owners = {str(canonicalize_name(owner)) for owner in distributions.get(name, [name])}
            assert owners & (declared | drawing.get(str(file.relative_to(ROOT)), set())), (
                f"{file.relative_to(ROOT)} imports {name}, which nothing declares"
            )


# The doctor


def run(*command: str | Path, cwd: Path = ROOT, **environment: str) -> subprocess.CompletedProcess[str]:
    clean = {name: value for name, value in os.environ.items() if name not in ("PYTHONPATH", "VIRTUAL_ENV")}
    return subprocess.run(
        [str(part) for part in command],
        cwd=cwd,
        env=clean | environment,
        stdin=subprocess.DEVNULL,
        stdout=subprocess.PIPE,
        stderr=subprocess.STDOUT,
        text=True,
        encoding="utf-8",
        check=False,
    )


def program(folder: Path, name: str, body: str = "") -> None:
    """A stand-in for a program, as a shell script."""
    folder.mkdir(parents=True, exist_ok=True)
    (folder / name).write_text(f"#!/bin/sh\n{body}\n", encoding="utf-8")
    (folder / name).chmod(0o755)


def test_the_doctor_names_a_fix_for_everything_that_is_missing(tmp_path: Path) -> None:
    bare = run(sys.executable, "-I", "-S", COURSE / "ffnlab" / "doctor.py", cwd=tmp_path)
    lines = bare.stdout.splitlines()
    failures = [number for number, line in enumerate(lines) if line.startswith("[FAIL]")]
    assert bare.returncode == 1
    assert "Traceback" not in bare.stdout
    for name in requirements(COURSE):
        assert any(lines[number].startswith(f"[FAIL] {name} is missing") for number in failures)
    assert all(lines[number + 1].startswith("       ") for number in failures), "each failure has its fix"


def test_the_doctor_can_be_asked_before_anything_is_installed() -> None:
    bare = run(sys.executable, "-S", "-m", "ffnlab.doctor", cwd=COURSE)
    assert "[FAIL] torch is missing" in bare.stdout
    assert "Traceback" not in bare.stdout


def test_a_brief_doctor_gives_one_line_to_all_that_is_well_and_each_failure_its_own(
    capsys: pytest.CaptureFixture[str], tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.chdir(COURSE / "00_start_here")
    assert student_doctor.doctor(brief=True)
    (line,) = capsys.readouterr().out.splitlines()
    assert re.fullmatch(r"\[OK\]   all \d+ checks passed: doctor\(\) lists them", line)
    monkeypatch.chdir(tmp_path)  # no folder of a course
    assert not student_doctor.doctor(brief=True)
    failure, fix, rest = capsys.readouterr().out.splitlines()
    assert failure.startswith("[FAIL] this folder is not in the course") and fix.startswith("       ")
    assert rest.startswith("[OK]") and "all" not in rest.split()[1]


# The Makefile


def test_make_alone_says_what_there_is_to_make() -> None:
    lines = run("make", "--no-print-directory").stdout.splitlines()
    for target in TARGETS:
        assert sum(line.startswith(f"  make {target} ") for line in lines) == 1


def test_make_setup_is_silent_when_there_is_nothing_to_do(tmp_path: Path) -> None:
    shutil.copy(ROOT / "Makefile", tmp_path)
    (tmp_path / "course").mkdir()
    for file in ("pyproject.toml", "constraints.txt", "course/pyproject.toml", "course/constraints.txt"):
        shutil.copy(ROOT / file, tmp_path / file)
    (tmp_path / ".venv").mkdir()
    (tmp_path / ".venv" / "autograder-installed.txt").touch()
    for name in ("bwrap", "newuidmap", "chromium", "npm"):
        program(tmp_path / "bin", name)
    path = f"{tmp_path / 'bin'}{os.pathsep}{os.environ['PATH']}"
    result = run("make", "--no-print-directory", "setup", cwd=tmp_path, PATH=path)
    assert (result.returncode, result.stdout) == (0, "")


def test_make_test_installs_the_hubs_proxy_where_there_is_npm_and_goes_on_where_that_fails(tmp_path: Path) -> None:
    shutil.copy(ROOT / "Makefile", tmp_path)
    program(tmp_path / "bin", "npm", f'echo "$@" >> {tmp_path}/calls; exit 1')
    path = f"{tmp_path / 'bin'}{os.pathsep}{os.environ['PATH']}"
    old = ("-o", "system", "-o", ".venv/autograder-installed.txt")
    result = run("make", "--no-print-directory", *old, PROXY, cwd=tmp_path, PATH=path)
    assert result.returncode == 0 and "the tests with a JupyterHub" in result.stdout
    assert "--prefix .venv/hub configurable-http-proxy@" in (tmp_path / "calls").read_text(encoding="utf-8")


@pytest.fixture
def bare_system(tmp_path: Path) -> Path:
    """A folder of programs that has what the Makefile needs, and nothing that it installs."""
    tools = tmp_path / "bin"
    tools.mkdir()
    for name in ("bash", "cut", "make"):
        executable = shutil.which(name)
        assert executable
        (tools / name).symlink_to(executable)
    program(tools, "id", "echo 1000")
    return tools


def test_a_missing_system_package_is_named_with_what_is_skipped(bare_system: Path) -> None:
    result = run("make", "--no-print-directory", "system", PATH=str(bare_system))
    assert result.stdout.splitlines() == [
        "bubblewrap is missing; skipped without it: grading in the jail, and its tests",
        "uidmap is missing; skipped without it: grading as another user than root",
        "chromium is missing; skipped without it: the tests in a browser",
        "postgresql is missing; skipped without it: the tests with a PostgreSQL gradebook",
        "npm is missing; skipped without it: the tests with a JupyterHub, and whether everybody can use the desk's pages",
        "xfsprogs is missing; skipped without it: what a power cut leaves on XFS",
    ]


def test_root_gets_missing_system_packages_installed(bare_system: Path, tmp_path: Path) -> None:
    program(bare_system, "id", "echo 0")
    program(bare_system, "bwrap")
    program(bare_system, "apt-get", f'echo "$@" >> {tmp_path}/calls')
    run("make", "--no-print-directory", "system", PATH=str(bare_system))
    calls = (tmp_path / "calls").read_text(encoding="utf-8").splitlines()
    assert calls == [
        "-qq update",
        "-qq install -y uidmap",
        "-qq install -y chromium",
        "-qq install -y postgresql",
        "-qq install -y npm",
        "-qq install -y xfsprogs",
    ]


def test_make_test_ends_with_what_failed_and_what_was_skipped(tmp_path: Path) -> None:
    program(tmp_path / "bin", "ruff")
    program(tmp_path / "bin", "mypy", "exit 1")
    program(
        tmp_path / "bin",
        "pytest",
        'echo "SKIPPED [2] tests/test_browser.py:9: no chromium"; echo "2 skipped"',
    )
    result = run("make", "--no-print-directory", "-o", "setup", "-o", PROXY, "test", f"BIN={tmp_path / 'bin'}")
    assert result.returncode != 0
    lines = [line for line in result.stdout.splitlines() if not line.startswith("make")]
    assert lines[lines.index("── run") :] == [
        "── run",
        "  ok      ruff check",
        "  ok      ruff format",
        "  ok      pytest",
        "  FAILED  mypy",
        "  ok      nbval on the solutions",
        "── left for make sweep: a JupyterHub, CONTRIBUTING.md step by step, nine notebooks in a browser, "
        "kept answers on draws for which the record is up to date, and a few long tests",
        "── skipped",
        "  [2] tests/test_browser.py:9: no chromium",
        "  [2] tests/test_browser.py:9: no chromium",
    ]


def test_the_handout_is_the_same_whatever_working_left_behind(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    shutil.copytree(COURSE, tmp_path / "course", ignore=LEFT_OUT)
    (tmp_path / "solutions").mkdir()
    monkeypatch.chdir(tmp_path)
    first = handout(tmp_path / "dist" / "course.zip")
    content = first.read_bytes()
    names = {name.partition("/")[2] for name in zipfile.ZipFile(first).namelist()}
    assert {"start.py", "bring.py", "constraints.txt", "ffnlab/checking/checks.py"} <= names
    for junk in (
        ".venv/bin/python",
        "ffnlab/__pycache__/checks.pyc",
        ".progress.json",
        ".predictions.json",
        ".boards.json",
        "my_transformer.py",
        "my_transformer.pt",
        "ffnlab.egg-info/PKG-INFO",
        "02_feed_forward/.ipynb_checkpoints/a.ipynb",
        "02_feed_forward/02_feed_forward.before.ipynb",
        "02_feed_forward/02_feed_forward.before-2.ipynb",
    ):
        (tmp_path / "course" / junk).parent.mkdir(parents=True, exist_ok=True)
        (tmp_path / "course" / junk).write_text("junk", encoding="utf-8")
    (tmp_path / "course" / "start.py").touch()
    assert handout(tmp_path / "dist" / "again.zip").read_bytes() == content
    with resource_limit(resource.RLIMIT_FSIZE, 2**16), pytest.raises(OSError, match="File too large"):
        handout(first, ["01_attention"])
    assert first.read_bytes() == content, "a disk that is full leaves the earlier zip as it was"


@contextlib.contextmanager
def resource_limit(which: int, limit: int) -> Iterator[None]:
    """This process with a lower limit for a while."""
    before = resource.getrlimit(which)
    resource.setrlimit(which, (limit, before[1]))
    try:
        yield
    finally:
        resource.setrlimit(which, before)


def test_continuous_integration_runs_make_test() -> None:
    script = ROOT / ".ci" / "run"
    assert script.stat().st_mode & stat.S_IXUSR
    assert script.read_text(encoding="utf-8").splitlines()[-1] == "exec make test"


# nbgrader


@pytest.mark.parametrize("grading", ["grading", "grading/sample"])
def test_nbgrader_finds_this_projects_folders(grading: str, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    shutil.copy(ROOT / "nbgrader_config.py", tmp_path)
    monkeypatch.setenv("PATH", os.environ["PATH"])  # the file changes it; put it back afterwards
    monkeypatch.delenv("AUTOGRADER_GRADING", raising=False)
    if grading != "grading":
        monkeypatch.setenv("AUTOGRADER_GRADING", grading)
    folders = PyFileConfigLoader("nbgrader_config.py", str(tmp_path)).load_config().CourseDirectory
    assert folders.root == str(tmp_path)
    assert (folders.source_directory, folders.release_directory) == ("solutions", "course")
    assert folders.submitted_directory == f"{grading}/submitted"
    assert folders.db_url == f"sqlite:///{tmp_path}/{grading}/gradebook.db"
    assert (tmp_path / grading).is_dir(), "SQLite does not make the folder of its file"


# All of it together


@pytest.mark.slow
@pytest.mark.timeout(1200)
def test_a_notebook_works_where_only_the_course_is_installed(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("PYTHONDONTWRITEBYTECODE", "1")
    course = tmp_path / "course"
    shutil.copytree(COURSE, course, ignore=LEFT_OUT)
    installing = run(sys.executable, course / "start.py", "--set-up", cwd=tmp_path)
    if "Failed to establish a new connection" in installing.stdout:
        pytest.skip("no package index can be reached")
    assert installing.returncode == 0, installing.stdout[-3000:]
    announcement = re.search(r"to download, ([\d.]+) GB on disk", installing.stdout)
    assert announcement, "the size is named before it begins"
    there = sum(path.lstat().st_size for path in (course / ".venv").rglob("*")) / 1e9
    assert 0.85 < there / float(announcement[1]) < 1.15
    for name in ("torch", "matplotlib", "ipykernel"):
        bytecode = list((course / ".venv").glob(f"lib/*/site-packages/{name}/__pycache__/*.pyc"))
        assert bytecode, f"every process that imports {name} would compile it again"
    python = course / ".venv" / "bin" / "python"

    keys = run(python, "-c", "import autograder", cwd=course)
    assert "No module named 'autograder'" in keys.stdout

    doctor = run(python, "-m", "ffnlab.doctor", cwd=course)
    assert doctor.returncode == 0, doctor.stdout

    notebook = course / "02_feed_forward" / "02_feed_forward.ipynb"
    cells = json.loads(notebook.read_text(encoding="utf-8"))
    cell(cells, "ffn_forward")["source"] = (
        "def ffn_forward(x, W1, b1, W2, b2, act):\n    return act(x @ W1 + b1) @ W2 + b2"
    )
    notebook.write_text(json.dumps(cells), encoding="utf-8")
    execution = run(python, "-m", "nbconvert", "--to", "notebook", "--execute", "--inplace", notebook, cwd=course)
    assert execution.returncode == 0, execution.stdout[-3000:]
    answered_notebook = json.loads(notebook.read_text(encoding="utf-8"))
    assert "ffn_forward: earned" in json.dumps(cell(answered_notebook, "check-ffn_forward")["outputs"])
    assert "ffn_backward: not attempted" in json.dumps(cell(answered_notebook, "check-ffn_backward")["outputs"])


def cell(notebook: dict[str, Any], grade_id: str) -> dict[str, Any]:
    """The cell of a notebook that nbgrader knows by this name."""
    cells: list[dict[str, Any]] = [
        cell for cell in notebook["cells"] if cell["metadata"].get("nbgrader", {}).get("grade_id") == grade_id
    ]
    assert len(cells) == 1
    return cells[0]
