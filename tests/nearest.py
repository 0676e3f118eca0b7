"""`pytest --nearest SECONDS`: the tests nearest to the uncommitted change first, for so many seconds since pytest began. Loaded by conftest.py; `make quick`.

How near a test file is: over how many imports it reaches a changed file. A notebook's text is as near as the module of its exercises, a template as the
modules of its room. A test that is marked `reads_sources` reads files that it does not import, and is nearest to every change of Python. A file that
reaches nothing is not imported. How long a test took when it last ran is kept in pytest's cache, by every run: one that
would not end in time is not begun.
"""

from __future__ import annotations

import re
import subprocess
import time
from collections.abc import Iterable
from functools import cache
from pathlib import Path

import psutil
import pytest

from autograder import source_hash
from autograder.paths import root
from ffnlab.registry import active_course

FAR = 99
READS_SOURCES = "reads_sources"  # the mark of a test that looks at every source, whatever it imports
TESTS = Path(__file__).resolve().parent


def pytest_addoption(parser: pytest.Parser) -> None:
    parser.addoption(
        "--nearest", type=float, metavar="SECONDS", help="nearest to the uncommitted change first, for so many seconds"
    )


@pytest.hookimpl(tryfirst=True)
def pytest_configure(config: pytest.Config) -> None:
    if config.getoption("--nearest") is not None:
        config.stash[CHANGED] = changed_files()


def pytest_ignore_collect(collection_path: Path, config: pytest.Config) -> bool | None:
    """Leave out a file that reaches nothing of the change: to import all of them takes longer than many a test."""
    is_test = collection_path.suffix == ".py" and collection_path.name.startswith("test_")
    changed = config.stash.get(CHANGED, None)
    if changed is None or not is_test:
        return None
    return None if reaches(changed, collection_path) else True


def pytest_collection_modifyitems(config: pytest.Config, items: list[pytest.Item]) -> None:
    changed = config.stash.get(CHANGED, None)
    if changed is None:
        return
    by_file = distances(changed, {item.path for item in items})
    near = {item: nearness(item, by_file[item.path], changed) for item in items}
    far = [item for item in items if near[item] == FAR]  # of a file that is read for those of its tests that are marked
    config.hook.pytest_deselected(items=far)
    items[:] = [item for item in items if near[item] < FAR]
    names = exercises_of(changed)
    # Of equally near tests, first those of the file that is called after what has changed, as test_real.py after solutions/11_real.py.
    own = {f"test_{re.sub(r'^[0-9]+_', '', file.stem)}" for file in changed}
    items.sort(
        key=lambda item: (
            near[item], item.path.stem not in own, not any(f"[{name}" in item.nodeid for name in names),
        )
    )  # fmt: skip
    config.stash[KNOWN] = _known_seconds(config)
    end = psutil.Process().create_time() + config.getoption("--nearest")
    config.stash[END] = max(end, time.time() + AT_LEAST)


@pytest.hookimpl(tryfirst=True)
def pytest_runtest_protocol(item: pytest.Item) -> bool | None:
    """Leave a test out without a report: to report thousands as skipped takes seconds, too."""
    end = item.config.stash.get(END, None)
    if end is None:
        return None
    left = end - time.time()
    unknown = SLOW if item.get_closest_marker("slow") else 0.0
    if left > item.config.stash[KNOWN].get(item.nodeid, unknown):
        return None
    _left_out.append(item.nodeid)
    return True


def pytest_terminal_summary(terminalreporter: pytest.TerminalReporter, config: pytest.Config) -> None:
    seconds = config.getoption("--nearest")
    if seconds is not None and not _called and not _left_out:
        terminalreporter.write_line("no test file reaches what has changed: left for `make test`")
    if _left_out:
        terminalreporter.write_line(f"{len(_left_out)} would not have ended within {seconds:g} s: left for `make test`")


def pytest_runtest_logreport(report: pytest.TestReport) -> None:
    _taken[report.nodeid] = _taken.get(report.nodeid, 0.0) + report.duration
    if report.when == "call" and not report.skipped:
        _called.add(report.nodeid)


def pytest_sessionfinish(session: pytest.Session) -> None:
    """Keep how long each test took that was run: in one process, and not in those of pytest-xdist. That a change reaches no test is no failure."""
    if session.config.getoption("--nearest") is not None and session.exitstatus == pytest.ExitCode.NO_TESTS_COLLECTED:
        session.exitstatus = pytest.ExitCode.OK
    if hasattr(session.config, "workerinput") or not _called:
        return
    taken = {name: round(_taken[name], 1) for name in _called}
    if cache := getattr(session.config, "cache", None):
        cache.set(SECONDS, _known_seconds(session.config) | taken)


CHANGED = pytest.StashKey[set[Path]]()
KNOWN = pytest.StashKey[dict[str, float]]()
END = pytest.StashKey[float]()  # when the last test shall have ended, in seconds since 1970
AT_LEAST = 10.0  # seconds for the tests themselves, where a crowded machine took all the time to read them
SECONDS = "nearest/seconds"  # in pytest's cache
SLOW = 60.0  # what a test takes that is marked so and was never run here
_taken: dict[str, float] = {}  # seconds of each test in this run, what was made for it included
_called: set[str] = set()
_left_out: list[str] = []


def _known_seconds(config: pytest.Config) -> dict[str, float]:
    """How long each test took when it last ran."""
    cache = getattr(config, "cache", None)
    known: dict[str, float] = cache.get(SECONDS, {}) if cache else {}
    return known


def changed_files() -> set[Path]:
    """What differs from the last commit, staged or not, new files too; where nothing does, what the last commit changed."""
    changed = _git("diff", "--name-only", "HEAD") | _git("ls-files", "--others", "--exclude-standard")
    return changed or _git("diff", "--name-only", "HEAD~1", "HEAD")


def _git(*words: str) -> set[Path]:
    """The files that a command of git names."""
    output = subprocess.run(["git", *words], cwd=root(), capture_output=True, text=True, check=True).stdout
    return {(root() / line).resolve() for line in output.splitlines()}


def exercises_of(changed: Iterable[Path]) -> list[str]:
    """The exercises whose own key changed, and those of the notebooks whose text or exercises did."""
    stems = {path.stem for path in changed}
    return [
        exercise.name
        for notebook, module in active_course().notebooks.items()
        for exercise in active_course().exercises_of(notebook)
        if {notebook, module, exercise.name} & stems
    ]


def distances(changed: set[Path], tests: Iterable[Path]) -> dict[Path, int]:
    """For each test file, over how many imports it reaches something that changed; FAR where it reaches nothing."""
    modules = set().union(*map(_reachable_stand_ins, changed))
    stems = {path.stem for path in modules}
    return {
        test: 0
        if test.stem.removeprefix("test_") in stems
        else min((far for module, far in _reach(test).items() if module in modules), default=FAR)
        for test in tests
    }


def reaches(changed: set[Path], test: Path) -> bool:
    """Whether a test file has a test that depends on something that changed."""
    is_marked = f"mark.{READS_SOURCES}" in test.read_text(encoding="utf-8")
    return (is_marked and _has_python(changed)) or distances(changed, [test])[test] < FAR


def nearness(item: pytest.Item, distance: int, changed: set[Path]) -> int:
    """How near a test is to the change. distance: that of its file."""
    return 0 if _has_python(changed) and item.get_closest_marker(READS_SOURCES) else distance


def _has_python(changed: Iterable[Path]) -> bool:
    return any(path.suffix == ".py" for path in changed)


def _stand_ins(path: Path) -> set[Path]:
    """The modules that a test imports where it depends on this file: the file itself, or those that load it by its name."""
    course = active_course()
    parts = path.relative_to(root()).parts
    for notebook, module in course.notebooks.items():
        if notebook in parts or path.stem == notebook:  # a notebook, or its source
            return {course.exercises_file(notebook), TESTS / "test_build.py"}
        if "keys" in parts and module in parts:
            return {path, course.exercises_file(notebook), TESTS / "test_matrix.py"}
    if path.suffix == ".py" and path.parent.parent == TESTS:  # an attack: its package loads it
        return {path, path.parent / "__init__.py"}
    return {path} if path.suffix == ".py" else set()


def _reachable_stand_ins(path: Path) -> set[Path]:
    """As `_stand_ins`; where no test imports one of these, the modules of the nearest folder of which a test imports one: they read a template, a script
    or a picture beside them, or load a module by its name.
    """
    modules = _stand_ins(path)
    for folder in path.parents:
        if modules & _imported_by_tests():
            return modules
        if folder == root():
            break
        modules = set(folder.glob("*.py"))
    return {TESTS / "test_setup.py"}


@cache
def _imported_by_tests() -> frozenset[Path]:
    """The test files and all modules that they reach."""
    return frozenset(module for test in TESTS.glob("test_*.py") for module in _reach(test))


@cache
def _reach(start: Path) -> dict[Path, int]:
    """By module that a file imports, directly or through others: over how many imports."""
    reached, level, far = {start: 0}, {start}, 0
    while level:
        far += 1
        level = {module for file in level for module in _imported(file)} - reached.keys()
        reached |= dict.fromkeys(level, far)
    return reached


@cache
def _imported(file: Path) -> frozenset[Path]:
    beside = {
        path
        for name in source_hash.imported_names_of(file)
        for path in (file.parent / f"{name}.py", file.parent / name / "__init__.py")
        if path.is_file()
    }
    return source_hash.imports_of(file) | beside
