"""Control groups: where the kernel lets us make some it counts, limits and ends a submission; where not, the watch does, and nobody notices.

What needs controllers is tried where this process may have them: `systemd-run --user --scope -p Delegate=yes pytest tests/test_cgroups.py`.
"""

from __future__ import annotations

import contextlib
import json
import os
import re
import resource
import signal
import subprocess
import sys
import time
from collections.abc import Callable, Iterator
from pathlib import Path

import psutil
import pytest
from attacks import EXERCISE, START
from conftest import needs_bubblewrap
from test_jail import run_cell
from test_program import answered

from autograder.engine import doctor
from autograder.engine.grade_submission import grade_submission
from autograder.jail import cgroups, resources, watch
from autograder.jail.errors import JailWontStart
from autograder.jail.limits import MIB, Limits
from autograder.jail.sandbox import Jail, Mode, Overrun
from autograder.reference import draws
from ffnlab.checking.verdict import Outcome
from ffnlab.registry import active_course

pytestmark = needs_bubblewrap
SEEDS = {exercise.name: draws.development(exercise.name) for exercise in active_course().exercises_of(START)}


def holds_soon(condition: Callable[[], bool]) -> bool:
    """Whether it holds within ten seconds: the kernel is a while in ending a process."""
    until = time.monotonic() + 10
    while not condition():
        if time.monotonic() > until:
            return False
        time.sleep(0.01)
    return True


def below(jail: Jail) -> list[Path]:
    """The groups of a jail's forks."""
    assert jail.groups
    return [path for path in jail.groups.folder.iterdir() if path.is_dir()]


def processes(group: Path) -> list[str]:
    """Their numbers."""
    return (group / "cgroup.procs").read_text().split()


@pytest.fixture
def grouped(jail: Jail) -> Jail:
    """A jail whose forks have groups."""
    if jail.groups is None:
        pytest.skip("no control group may be made here")
    return jail


@pytest.fixture
def limited(grouped: Jail) -> Jail:
    """One whose forks the kernel limits."""
    if grouped.groups is None or set(grouped.groups.controllers) != set(cgroups.CONTROLLERS):
        pytest.skip(f"the controllers {cgroups.CONTROLLERS} can't be had here")
    return grouped


@pytest.fixture
def unwatched(monkeypatch: pytest.MonkeyPatch) -> None:
    """The watch never looks: whatever is seen, the kernel has told."""
    monkeypatch.setattr(watch, "POLL_SECONDS", 10**6)


@pytest.fixture
def nowhere(monkeypatch: pytest.MonkeyPatch) -> None:
    """As on a machine where nobody but root may make groups."""
    monkeypatch.setattr(cgroups, "place", lambda: cgroups.Place(Path("/proc"), ()))


def test_computing_that_no_look_has_seen_is_paid_for(grouped: Jail, unwatched: None) -> None:
    source = """
import os, signal, time

signal.signal(signal.SIGCHLD, signal.SIG_IGN)
if os.fork() == 0:
    if os.fork() == 0:
        os.setsid()
        while time.process_time() < 1: pass
    os._exit(0)
"""
    with grouped.worker() as worker:
        worker.run("1")
        before = worker.budget.left
        worker.run(source)
        assert holds_soon(lambda: [str(worker.process)] in [processes(group) for group in below(grouped)])
        worker.run("1")
        assert before - worker.budget.left >= 0.9


def test_processes_that_come_and_go_between_two_looks_are_all_ended() -> None:
    source = """
import os, time
until = time.monotonic() + 60
if os.fork() == 0:
    os.setsid()
    while time.monotonic() < until:  # each is its predecessor's child, which is gone, and nobody's descendant
        if os.fork():
            os._exit(0)
"""
    with Jail(mode=Mode.NONE) as loose:
        if loose.groups is None:
            pytest.skip("no control group may be made here")
        with loose.worker() as worker:
            worker.run(source)
            (group,) = below(loose)
            assert "populated 1" in (group / "cgroup.events").read_text()
        assert holds_soon(lambda: "populated 0" in (group / "cgroup.events").read_text())


def test_a_group_is_gone_when_its_submission_is(grouped: Jail) -> None:
    with grouped.worker() as worker:
        first = {group for group in below(grouped) if str(worker.process) in processes(group)}
        assert len(first) == 1
    for group in first:
        assert holds_soon(lambda group=group: "populated 0" in (group / "cgroup.events").read_text())  # type: ignore[misc]
    with grouped.worker():
        assert not first & set(below(grouped))
    with Jail() as other, other.worker():
        assert other.groups and other.groups.folder.is_dir()
    assert not other.groups.folder.exists()


KILLED = """
import sys, time
from autograder.jail.sandbox import Jail

with Jail() as jail, jail.worker() as worker:
    worker.run("import subprocess; subprocess.Popen(['sleep', '7777'])")
    print(jail.groups.folder, flush=True)
    time.sleep(10**6)
"""


def test_what_a_killed_conductor_leaves_is_removed_by_the_next(grouped: Jail) -> None:
    with subprocess.Popen([sys.executable, "-c", KILLED], stdout=subprocess.PIPE, text=True) as conductor:
        assert conductor.stdout
        left = Path(conductor.stdout.readline().strip())
        with Jail():
            assert left.is_dir() and grouped.groups and grouped.groups.folder.is_dir(), "conductors are at work in them"
        conductor.send_signal(signal.SIGKILL)
    assert left.is_dir()

    def gone() -> bool:
        with Jail(wait=False):
            return not left.exists()

    assert holds_soon(gone)


@pytest.fixture
def without(nowhere: None) -> Iterator[Jail]:
    with Jail(Limits(cell_seconds=1.0)) as plain:
        assert plain.groups is None
        yield plain


def test_where_no_group_may_be_made_everything_is_as_it_was(without: Jail) -> None:
    verdict = grade_submission(START, json.dumps(answered()).encode(), without, SEEDS).verdicts[EXERCISE]
    assert verdict.outcome is Outcome.EARNED
    with without.worker() as worker, pytest.raises(Overrun, match="longer than 1 s"):
        worker.run("while True: pass")


def fails(*_: object) -> None:
    raise OSError("no such device")


@pytest.mark.parametrize("silent", ["seconds", "processes", "ran_out_of_memory"])
def test_a_group_that_stops_telling_costs_nobody_anything(silent: str, monkeypatch: pytest.MonkeyPatch) -> None:
    with Jail(Limits(cell_seconds=2.0)) as hasty, hasty.worker() as worker:
        worker.run("import time\nwhile time.process_time() < 1: pass")
        monkeypatch.setattr(cgroups.ControlGroup, silent, fails)
        left = worker.budget.left
        assert worker.run("1")["error"] is None
        assert left - worker.budget.left < 0.7, "what was paid for is not paid for again"
        with pytest.raises(Overrun, match="longer than 2 s"):
            worker.run("while True: pass")


def test_a_group_that_obeys_nobody_does_no_harm(monkeypatch: pytest.MonkeyPatch) -> None:
    with Jail(Limits(cell_seconds=1.0)) as hasty:
        monkeypatch.setattr(cgroups.ControlGroup, "_write", fails)
        with hasty.worker() as worker:
            worker.run("import os\nif os.fork() == 0:\n    while True: pass")
            family = [psutil.Process(worker.process), *psutil.Process(worker.process).children()]
            with pytest.raises(Overrun, match="longer than 1 s"):
                worker.run("while True: pass")
        assert not psutil.wait_procs(family, timeout=10)[1]


def test_a_fork_that_could_not_be_born_in_its_group_is_moved_there(grouped: Jail) -> None:
    assert grouped.groups
    group = grouped.groups.make()
    assert group
    with subprocess.Popen(["sleep", "6666"]) as process:
        assert group.holds(process.pid) and group.processes() == {process.pid}
        assert group.kill() and process.wait() == -signal.SIGKILL
        assert not group.holds(process.pid), "it has ended"
    group.close()


def test_a_submission_sees_nothing_of_its_group_and_shares_no_namespace(grouped: Jail) -> None:
    places = ["/proc/self", "/proc/1", "/sys", "/sys/fs/cgroup"]
    assert run_cell(grouped, f"import os\nprint([os.path.exists(place) for place in {places}])") == f"{[False] * 4}\n"
    if os.geteuid() == 0:
        with grouped.worker() as first, grouped.worker() as second:
            assert (
                len({os.readlink(f"/proc/{place}/ns/cgroup") for place in ("self", first.process, second.process)}) == 3
            )


def test_memory_is_limited_by_the_kernel(limited: Jail, unwatched: None) -> None:
    source = """
import os, time
for _ in range(3):  # each within what one process may have
    if os.fork() == 0:
        kept = b"1" * (200 * 2**20)
        time.sleep(10**6)
time.sleep(10**6)
"""
    with Jail(Limits(memory=256 * MIB)) as narrow:
        with (
            narrow.worker() as worker,
            pytest.raises(Overrun, match=r"It used more than 256 MiB of memory and was stop"),
        ):
            worker.run(source)
        with narrow.worker() as worker:
            assert worker.run(source.removesuffix("time.sleep(10**6)\n"))["error"] is None
            psutil.wait_procs([psutil.Process(worker.process)], timeout=60)
            with pytest.raises(Overrun, match="256 MiB of memory"):
                worker.run("1")


def test_who_reads_large_files_is_not_stopped(limited: Jail) -> None:
    source = """
import os, torch
folder = os.path.join(os.path.dirname(torch.__file__), "lib")
total = 0
for name in os.listdir(folder):
    if os.path.isdir(os.path.join(folder, name)):
        continue
    with open(os.path.join(folder, name), "rb") as file:
        while part := file.read(2**20):
            total += len(part)
print(total > 256 * 2**20)
"""
    with Jail(Limits(memory=64 * MIB)) as narrow:
        assert run_cell(narrow, source) == "True\n"


def test_processes_are_limited_by_the_kernel(limited: Jail, unwatched: None) -> None:
    source = """
import os, time
made = 0
try:
    while made < 100:
        if os.fork() == 0:
            time.sleep(10**6)
        made += 1
except OSError as error:
    print(error.strerror)
print(made)
"""
    with Jail(Limits(processes=32), Mode.NONE) as narrow:  # here no limit on a user's processes holds, if that is root
        text = run_cell(narrow, source)
    assert text.startswith("Resource temporarily unavailable") and int(text.split()[-1]) <= 32


SCOPE = """
import os, sys
from pathlib import Path
Path(sys.argv[1], "cgroup.procs").write_text(str(os.getpid()))
from autograder.jail import cgroups
if sys.argv[2:]:
    __import__("subprocess").run([sys.executable, "-c", "from autograder.jail import cgroups; print(cgroups.describe())"])
else:
    print(cgroups.describe())
"""


@pytest.mark.parametrize("alone", [True, False])
def test_only_who_is_alone_in_a_group_may_pass_on_its_controllers(limited: Jail, alone: bool) -> None:
    place = cgroups.place()
    assert place
    scope = place.folder / f"a-test-{os.getpid()}"
    scope.mkdir()
    try:
        arguments = [sys.executable, "-c", SCOPE, str(scope), *([] if alone else ["a child"])]
        description = subprocess.run(arguments, capture_output=True, text=True, check=True).stdout
        assert ("limits its memory and pids" in description) is alone
        assert (cgroups.SCOPE_COMMAND in description) is not alone
    finally:
        for folder in (*(path for path in scope.iterdir() if path.is_dir()), scope):
            folder.rmdir()


def test_the_doctor_says_what_there_is(grouped: Jail, monkeypatch: pytest.MonkeyPatch) -> None:
    (groups_finding,) = [finding for finding in doctor.findings() if finding.layer == "control groups"]
    assert groups_finding.ok and "one for each submission: the kernel counts its CPU" in groups_finding.detail
    monkeypatch.setattr(cgroups, "place", lambda: None)
    groups_finding = next(finding for finding in doctor.findings() if finding.layer == "control groups")
    assert groups_finding.ok and "the watch alone" in groups_finding.detail


@pytest.mark.parametrize(("letter", "which", "unit"), [("n", "NOFILE", 1), ("v", "AS", 1024), ("u", "NPROC", 1)])
def test_what_the_shell_does_not_allow_is_said_before_anything_starts(letter: str, which: str, unit: int) -> None:
    limit = getattr(resource, f"RLIMIT_{which}")
    usual = resource.getrlimit(limit)
    with contextlib.ExitStack() as used_up:
        for _ in range(60):
            used_up.enter_context(open(os.devnull))  # so that not one more file can be opened to look around
        used_up.callback(resource.setrlimit, limit, usual)
        resource.setrlimit(limit, (50 * unit, usual[1]))
        with pytest.raises(JailWontStart, match=rf"allows 50: raise it with `ulimit -{letter} \d+`$"):
            Jail()


def test_too_little_memory_is_said_before_anything_starts(tmp_path: Path) -> None:
    memory = cgroups.of_this_process("memory") or cgroups.of_this_process()
    if memory is None or not os.access(memory, os.W_OK) or "memory" not in " ".join(os.listdir(memory)):
        pytest.skip("no control group with a limit of memory can be made here")
    group, home = memory / f"a-test-{os.getpid()}", tmp_path / "submitted" / "ada" / START
    home.mkdir(parents=True)
    (home / f"{START}.ipynb").write_text(json.dumps(answered()))
    group.mkdir()
    try:
        (group / ("memory.max" if (group / "memory.max").exists() else "memory.limit_in_bytes")).write_text(
            str(350 * MIB)
        )
        command = f"echo $$ > {group}/cgroup.procs; exec {sys.executable} -m autograder grade --grading {tmp_path}"
        process = subprocess.run(["sh", "-c", command], capture_output=True, text=True, check=False)
    finally:
        group.rmdir()
    assert process.returncode == 2 and process.stderr.count("\n") == 1, process.stderr
    assert re.search(
        r"grading needs \d+ MiB of memory, and the container or job around this command has 350 MiB", process.stderr
    )


def test_memory_is_the_least_that_a_group_above_allows_and_ends_are_counted(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    own = tmp_path / "pod" / "container"
    own.mkdir(parents=True)
    for folder, most in ((own, "max"), (own.parent, str(3 * 2**30))):
        (folder / "cgroup.procs").touch()
        (folder / "memory.max").write_text(f"{most}\n")
    (own / "memory.events").write_text("low 0\nhigh 0\nmax 9\noom 5\noom_kill 4\noom_group_kill 0\n")
    monkeypatch.setattr(cgroups, "of_this_process", lambda controller="": None if controller else own)
    assert resources.memory() == 3 * 2**30 and resources.kills() == 4
    assert resources.cause(4) == "" and "memory ran out; the container or job" in resources.cause(3)
    assert resources.advice(Limits(memory=256 * MIB), 1) == ""
    advice = resources.advice(Limits(), 2)
    assert advice.startswith(
        "2 workers may use 10.9 GiB of memory, and the container or job around this command has 3.0 GiB."
    )
    assert "To avoid" not in advice, "nothing would"
    assert resources.advice(Limits(), 1).endswith(" To avoid that: `--limit memory=1258291200`.")
    assert resources.advice(Limits(memory=512 * MIB), 2).endswith(" To avoid that: `--workers 1`.")


V1 = "36 31 0:30 / {0}/memory rw,relatime - cgroup cgroup rw,memory\n"


@pytest.mark.parametrize(
    ("cgroup", "root", "folder"),
    [
        ("0::/", "/", "."),
        ("0::/user.slice/a scope", "/", "user.slice/a scope"),
        ("4:memory:/process/1\n0::/process/2", "/", "process/2"),
        ("0::/docker/abc", "/docker/abc", "."),
        ("0::/docker/abc/main", "/docker/abc", "main"),
        ("0::/docker/xyz", "/docker/abc", None),
        ("0::/../other", "/", None),
        ("0::/deleted (deleted)", "/", None),
        ("4:memory:/process/1", "/", None),
    ],
)
def test_the_own_group_is_found_wherever_it_is_mounted(
    cgroup: str, root: str, folder: str | None, tmp_path: Path
) -> None:
    mount = tmp_path / "all groups"
    for name in (".", "user.slice/a scope", "process/2", "main"):
        (mount / name).mkdir(parents=True, exist_ok=True)
        (mount / name / "cgroup.procs").touch()
    point = str(mount).replace(" ", "\\040")
    mountinfo = V1.format(point) + f"41 31 0:38 {root} {point} rw,relatime shared:9 - cgroup2 cgroup2 rw,nsdelegate\n"
    assert cgroups._own(cgroup, mountinfo) == (None if folder is None else mount / folder)
