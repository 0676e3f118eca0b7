"""`pytest --nearest SECONDS`: the tests nearest to the uncommitted change first, and no new one after so many seconds. Loaded by conftest.py; `make quick`.

How near a test file is: over how many imports it reaches a changed file. A notebook's text is as near as the module of its exercises.
"""

from __future__ import annotations

import subprocess
import time
from collections.abc import Iterable
from functools import cache
from pathlib import Path

import pytest

from autograder import source_hash
from autograder.paths import root
from ffnlab.registry import active_course

FAR = 99


def pytest_addoption(parser: pytest.Parser) -> None:
    parser.addoption(
        "--nearest", type=float, metavar="SECONDS", help="nearest to the uncommitted change first, for so many seconds"
    )


def pytest_collection_modifyitems(config: pytest.Config, items: list[pytest.Item]) -> None:
    if config.getoption("--nearest") is None:
        return
    changed = changed_files()
    near = distances(changed, {item.path for item in items})
    names = exercises_of(changed)
    items[:] = [item for item in items if near[item.path] < FAR]
    items.sort(key=lambda item: (near[item.path], not any(f"[{name}" in item.nodeid for name in names)))
    config.stash[STARTED] = time.monotonic()


STARTED = pytest.StashKey[float]()


def pytest_runtest_setup(item: pytest.Item) -> None:
    seconds = item.config.getoption("--nearest")
    if seconds is not None and time.monotonic() - item.config.stash[STARTED] > seconds:
        pytest.skip(f"{seconds:g} s are over: left for `make test`")


def changed_files() -> set[Path]:
    """What differs from the last commit, new files too; where nothing does, what the last commit changed."""
    for question in (("ls-files", "-mo", "--exclude-standard"), ("diff", "--name-only", "HEAD~1", "HEAD")):
        output = subprocess.run(["git", *question], cwd=root(), capture_output=True, text=True, check=True).stdout
        paths = {(root() / line).resolve() for line in output.splitlines()}
        if paths:
            return paths
    return set()


def exercises_of(changed: Iterable[Path]) -> list[str]:
    """The exercises of the notebooks whose text, exercises or key changed."""
    stems = {path.stem for path in changed}
    return [
        exercise.name
        for notebook, module in active_course().notebooks.items()
        if {notebook, module} & stems
        for exercise in active_course().exercises_of(notebook)
    ]


def distances(changed: set[Path], tests: Iterable[Path]) -> dict[Path, int]:
    """For each test file, over how many imports it reaches something that changed; FAR where it reaches nothing."""
    exercise_files = {
        root() / "solutions" / f"{name}.py": active_course().exercises_file(name) for name in active_course().notebooks
    }
    modules = {exercise_files.get(path, path) for path in changed}
    stems = {path.stem for path in modules}
    return {
        test: 0 if test in changed or test.stem.removeprefix("test_") in stems else _distance(test, modules)
        for test in tests
    }


def _distance(start: Path, changed: set[Path]) -> int:
    files, level, far = {start}, {start}, 0
    while level:
        if level & changed:
            return far
        level = {module for file in level for module in _imported(file)} - files
        files |= level
        far += 1
    return FAR


@cache
def _imported(file: Path) -> frozenset[Path]:
    beside = {path for name in source_hash.imported_names_of(file) if (path := file.parent / f"{name}.py").is_file()}
    return source_hash.imports_of(file) | beside
