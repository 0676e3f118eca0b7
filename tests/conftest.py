"""What several tests share: a warm jail, a class made from the answer keys, and what is skipped where bubblewrap is missing."""

from __future__ import annotations

import shutil
import time
from collections.abc import Collection, Iterator
from pathlib import Path
from typing import Any

import psutil
import pytest
import torch

from autograder.engine import pool
from autograder.jail.limits import Limits
from autograder.jail.sandbox import Jail

pytest_plugins = ["nearest"]
torch.set_num_threads(1)  # the tensors are small, and tests run in several processes
ROOT = Path(__file__).resolve().parent.parent
needs_bubblewrap = pytest.mark.skipif(shutil.which("bwrap") is None, reason="bubblewrap is not installed")
# The longest first, so that the processes end together; all else stays in its order behind them.
LONGEST = (
    "test_browser", "test_setup", "test_contributing", "test_grading", "test_matrix", "test_attacks", "test_hub",
    "test_first_week", "test_formgrader", "test_survival", "test_cluster", "test_site", "test_cli", "test_build",
    "test_gradescope", "test_desk", "test_boards", "test_river_board", "test_fold_board", "test_figure_widget", "test_class_report",
)  # fmt: skip
needs_chromium = pytest.mark.skipif(shutil.which("chromium") is None, reason="chromium is not installed")


def skip_where_others_cannot_read() -> None:
    """In a container another user runs submissions, and has to reach Python and the course."""
    if not all(folder.stat().st_mode & 0o001 for folder in (ROOT, *ROOT.parents)):
        pytest.skip(f"only its owner can enter a folder above {ROOT.name}: clone it elsewhere to run this")


def often(cases: Collection[Any], chosen: Collection[Any]) -> list[Any]:
    """The cases of a test, of which `make test` runs those chosen and `make sweep` all."""
    assert all(case in cases for case in chosen)
    rare = pytest.mark.sweep
    return [
        case if case in chosen else pytest.param(*(case if isinstance(case, tuple) else [case]), marks=rare)
        for case in cases
    ]


def pytest_addoption(parser: pytest.Parser) -> None:
    parser.addoption("--everything", action="store_true", help="run all cases of each test, as `make sweep` does")


def pytest_collection_modifyitems(config: pytest.Config, items: list[pytest.Item]) -> None:
    """Leaves out what only a sweep runs. What shares something costly, as a notebook that was run in a browser, stands together."""
    if not config.getoption("--everything"):
        left = [item for item in items if item.get_closest_marker("sweep")]
        config.hook.pytest_deselected(items=left)
        items[:] = [item for item in items if not item.get_closest_marker("sweep")]
    if config.getoption("--nearest") is None:
        order = {file: place for place, file in enumerate(LONGEST)}
        shared = {item: _shared(item) for item in items}
        items.sort(key=lambda item: (order.get(shared[item][0], len(LONGEST)), shared[item]))


def _shared(item: pytest.Item) -> tuple[str, str]:
    """The file of a test, and the notebook that it works on in a browser."""
    if item.path.stem != "test_browser":
        return item.path.stem, ""
    asked = getattr(item, "callspec", None)
    return item.path.stem, str(asked.params.get("name", "")) if asked else "02_feed_forward"


def sleeping(seconds: str) -> list[psutil.Process]:
    """The processes of this machine that are a `sleep` of so many seconds."""
    return [process for process in psutil.process_iter(["cmdline"]) if process.info["cmdline"] == ["sleep", seconds]]


def seen_sleeping(seconds: str) -> bool:
    """Whether one shows up: `Popen` returns while the kernel is still writing the new program's command line."""
    for _ in range(200):
        if sleeping(seconds):
            return True
        time.sleep(0.05)
    return False


def outliving(seconds: str) -> list[psutil.Process]:
    """Those that are still there when the kernel has had its time: it is a while in ending a process, whose memory goes first."""
    return psutil.wait_procs(sleeping(seconds), timeout=10)[1]


@pytest.fixture(scope="session")
def jail() -> Iterator[Jail]:
    """One warm jail with the usual limits, for all tests."""
    if shutil.which("bwrap") is None:
        pytest.skip("bubblewrap is not installed")
    with Jail(Limits()) as warm:
        yield warm


@pytest.fixture(scope="session")
def strict_jail() -> Iterator[Jail]:
    """A warm jail with limits so low that a test reaches them in seconds."""
    if shutil.which("bwrap") is None:
        pytest.skip("bubblewrap is not installed")
    tight = Limits(
        cell_seconds=5.0, submission_seconds=60.0, memory=512 * 2**20, processes=32, tmp=8 * 2**20, output=10_000
    )
    with Jail(tight) as warm:
        yield warm


@pytest.fixture(scope="session")
def team() -> Iterator[pool.GradingPool]:
    """Two workers with the usual limits, for all tests that grade classes."""
    if shutil.which("bwrap") is None:
        pytest.skip("bubblewrap is not installed")
    with pool.on_this_machine(2, Limits()) as both:
        yield both


@pytest.fixture(autouse=True)
def at_home(monkeypatch: pytest.MonkeyPatch) -> None:
    """Tests run in the project's folder and never in strict mode, unless they say so."""
    monkeypatch.chdir(ROOT)
    monkeypatch.delenv("FFNLAB_STRICT", raising=False)
    monkeypatch.delenv("AUTOGRADER_GRADING", raising=False)
