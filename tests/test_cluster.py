"""Grading on a Dask cluster: schedulers and workers are processes, some with other code, some without a jail, and whatever ends, nothing is lost."""

from __future__ import annotations

import contextlib
import json
import os
import re
import shutil
import signal
import socket
import subprocess
import sys
import sysconfig
import threading
import time
from collections.abc import Callable, Iterator, Sequence
from concurrent.futures import Future
from dataclasses import replace
from pathlib import Path

import psutil
import pytest
from attacks import START
from conftest import ROOT, needs_bubblewrap
from test_program import answered
from test_survival import PROGRAM, assert_graded_once, class_of, lines_of

pytest.importorskip("distributed", reason="Dask is not installed: pip install 'dask[distributed]'")

from autograder.class_folder.folder import ClassFolder
from autograder.engine import cluster, fingerprint, pool
from autograder.engine.graded_submission import GradedSubmission
from autograder.engine.job import Job
from autograder.errors import UserError
from autograder.grading import grade_class
from autograder.jail.limits import Limits
from autograder.jail.sandbox import Mode

pytestmark = needs_bubblewrap
DASK = [sys.executable, "-m", "dask"]
# Dask in an interpreter that finds what is installed beside this project, but not this project.
DASK_ALONE = [
    sys.executable, "-I", "-S", "-c",
    f"import sys; sys.path.append({sysconfig.get_path('purelib')!r}); import importlib.util as found; "
    "assert not found.find_spec('autograder'); from dask.__main__ import main; main()",
]  # fmt: skip


class Machines:
    """A scheduler and its workers on loopback: processes that end with the test."""

    def __init__(self, folder: Path) -> None:
        self.folder = folder
        self.file = folder / "scheduler.json"
        self._running: list[subprocess.Popen[bytes]] = []

    def scheduler(self, program: Sequence[str] = DASK, **settings: str) -> subprocess.Popen[bytes]:
        self.file.unlink(missing_ok=True)
        options = ["--host", "127.0.0.1", "--port", "0", "--no-dashboard", "--scheduler-file", str(self.file)]
        process = self.start([*program, "scheduler", *options], **settings)
        while not self.file.is_file():
            assert process.poll() is None
            time.sleep(0.05)
        return process

    @property
    def address(self) -> str:
        return str(json.loads(self.file.read_text())["address"])

    def worker(self, program: Sequence[str] = DASK, **settings: str) -> subprocess.Popen[bytes]:
        options = ["--scheduler-file", str(self.file), "--nthreads", "1", "--no-nanny", "--no-dashboard"]
        return self.start([*program, "worker", *options], **settings)

    def start(self, command: Sequence[str], **settings: str) -> subprocess.Popen[bytes]:
        out = (self.folder / f"process{len(self._running)}.log").open("wb")
        process = subprocess.Popen(
            command, stdout=out, stderr=out, cwd=self.folder, env=os.environ | settings, start_new_session=True
        )
        self._running.append(process)
        return process

    def end(self) -> None:
        for process in reversed(self._running):
            with contextlib.suppress(ProcessLookupError):
                os.killpg(process.pid, signal.SIGKILL)
            process.wait()


@pytest.fixture
def machines(tmp_path: Path) -> Iterator[Machines]:
    (tmp_path / "machines").mkdir()
    processes = Machines(tmp_path / "machines")
    try:
        yield processes
    finally:
        processes.end()


@contextlib.contextmanager
def team_of(machines: Machines, lines: list[str], **how: object) -> Iterator[pool.GradingPool]:
    with cluster.on_cluster(machines.address, Limits(), say=lines.append, **how) as team:  # type: ignore[arg-type]
        yield team


def grade(
    class_folder: ClassFolder,
    team: pool.GradingPool,
    tell: Callable[[int], None] = lambda done: None,
    force: bool = False,
) -> list[grade_class.SubmissionOutcome]:
    """Grade the class; `tell` hears how many are done."""
    done: list[grade_class.SubmissionOutcome] = []

    def count(outcome: grade_class.SubmissionOutcome, _: int) -> None:
        done.append(outcome)
        tell(len(done))

    grade_class.grade(class_folder, START, team, grade_class.GradeOptions(force=force), count)
    return done


def until(holds: Callable[[], object], team: pool.GradingPool | None = None) -> None:
    for _ in range(600):
        if holds():
            return
        if team:
            team.attend()
        time.sleep(0.1)
    raise AssertionError("it has not come to that in a minute")


@pytest.mark.sweep
def test_workers_come_late_freeze_and_end_and_the_scheduler_knows_nothing_of_this_project(
    machines: Machines, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(cluster, "SILENT_SECONDS", 1.0)
    students, lines = 16, list[str]()
    class_folder = class_of(tmp_path / "class", students)
    machines.scheduler(DASK_ALONE, DASK_DISTRIBUTED__SCHEDULER__WORKER_TTL="3s")
    workers = [machines.worker()]

    def come_later() -> None:
        until(lambda: "no workers at the moment; waiting" in lines)
        workers.append(machines.worker())

    def tell(done: int) -> None:
        if done == 2:
            workers.append(machines.worker())
        elif done == 3:
            until(lambda: team.side_by_side == 2, team)
            workers[0].send_signal(signal.SIGSTOP)  # what it was given is graded by the other
        elif done == 10:
            for worker in workers:
                worker.kill()
            threading.Thread(target=come_later).start()

    with team_of(machines, lines) as team:
        done = grade(class_folder, team, tell)
    assert len(done) == students and len(workers) == 3
    assert_graded_once(class_folder, students)
    assert {
        (outcome.graded_submission.host, outcome.graded_submission.build)
        for outcome in done
        if outcome.graded_submission
    } == {(os.uname().nodename, fingerprint.describe())}


PRIVATE = Path(sys.prefix, "bin", "activate")  # a submission can read it as long as nobody says that it is private
ASKS = """
import sys
assert "wave" in sys.modules, "wave was not imported beforehand"
try:
    read = open({path!r}).read()
except OSError:
    read = ""
assert not read, "it can be read"
def hello_shape(x):
    return tuple(x.shape)
"""


@pytest.mark.sweep
def test_what_is_not_as_it_should_be_is_left_out_and_named(machines: Machines, tmp_path: Path) -> None:
    copy, bare = tmp_path / "copy", tmp_path / "bare"
    for package in ("autograder", "course"):
        shutil.copytree(ROOT / package, copy / package, ignore=shutil.ignore_patterns("__pycache__"))
    (copy / "solutions").mkdir()
    bare.mkdir()
    another = {"PYTHONPATH": f"{copy}:{copy / 'course'}"}
    machines.scheduler()
    good, stale = machines.worker(), machines.worker(**another)
    lines: list[str] = []
    class_folder = ClassFolder(tmp_path / "class")
    home = class_folder.submitted / "ada" / START
    home.mkdir(parents=True)
    (home / f"{START}.ipynb").write_text(json.dumps(answered(ASKS.format(path=str(PRIVATE)))), encoding="utf-8")
    with team_of(machines, lines, private=(PRIVATE,), also=("wave",)) as team:
        (ada,) = grade(class_folder, team)
        assert ada.graded_submission
        assert ada.graded_submission.points == 2, ada.graded_submission.verdicts["hello_shape"].message
        until(lambda: team.side_by_side == 2, team)
    assert all(line.startswith(("no workers at", "no worker is ready yet")) for line in lines), lines

    file = copy / "autograder" / "engine" / "grade_submission.py"
    file.write_text(file.read_text() + "# changed\n")
    machines.worker(**another)
    machines.worker(PATH=str(bare))
    machines.worker(DASK_ALONE)
    with team_of(machines, lines) as team:
        (ada,) = grade(class_folder, team, force=True)
        until(lambda: sum("left out" in line for line in lines) == 4, team)
        assert team.side_by_side == 1
        host = os.uname().nodename
        for of_whom, problem in {
            f"{host} is left out: its files have changed": "restart this worker",
            f"{host} is left out: it has another version of this project": "install the same one",
            f"{host} is left out: bubblewrap is not installed": "apt-get install bubblewrap",
            "127.0.0.1 is left out: it has another version of this project, or none (No module named 'autograder')": "install",
        }.items():
            assert len([line for line in lines if line.startswith(of_whom) and problem in line]) == 1, lines
        good.kill()
        with pytest.raises(UserError, match=f"no worker at {machines.address} can grade. {host}: "):
            grade(class_folder, team, force=True)
    assert stale.poll() is None


def commands_of_the_page() -> list[str]:
    """The commands for Dask in docs/clusters.md, in their order, one text a block."""
    page = (ROOT / "docs" / "clusters.md").read_text(encoding="utf-8").partition("## With Dask")[2]
    return re.findall(r"^```sh\n(.*?)^```", page, re.MULTILINE | re.DOTALL)


def says_http(port: int) -> bool:
    """Whether what listens there is not encrypted."""
    try:
        with socket.create_connection(("127.0.0.1", port), 5) as client:
            client.sendall(b"GET / HTTP/1.0\r\n\r\n")
            return client.recv(5) == b"HTTP/"
    except OSError:
        return False


@pytest.mark.sweep
@pytest.mark.skipif(shutil.which("openssl") is None, reason="openssl is not installed")
def test_the_page_s_way_with_tls_works_as_it_stands_there(machines: Machines, tmp_path: Path) -> None:
    with socket.create_server(("127.0.0.1", 0)) as free:
        port = free.getsockname()[1]
    for name in ("course", "solutions"):
        (machines.folder / name).symlink_to(ROOT / name)
    (machines.folder / ".venv").symlink_to(sys.prefix)
    class_folder = class_of(machines.folder / "grading", 4)
    certificate, scheduler, workers, command = (
        block.replace("192.0.2.10", "127.0.0.1").replace("8786", str(port)) for block in commands_of_the_page()
    )

    def run(line: str) -> subprocess.CompletedProcess[str]:
        return subprocess.run(["sh", "-c", line], cwd=machines.folder, capture_output=True, text=True, check=False)

    assert run(certificate).returncode == 0
    assert (machines.folder / "cluster.pem").stat().st_mode & 0o777 == 0o600
    started = [machines.start(["sh", "-c", line]) for line in (scheduler, workers)]
    done = run(command)
    assert done.returncode == 0 and "4 graded" in done.stdout, done.stderr
    assert "not encrypted" not in done.stdout
    assert_graded_once(class_folder, 4)
    listening = {
        connection.laddr
        for started_process in started
        for process in (
            psutil.Process(started_process.pid),
            *psutil.Process(started_process.pid).children(recursive=True),
        )
        for connection in process.net_connections("tcp")
        if connection.status == psutil.CONN_LISTEN
    }
    assert len(listening) > 4
    assert not [address for address in listening if not address.ip.startswith("127.") and says_http(address.port)], (
        "a dashboard"
    )
    for address, reason in {
        f"tls://127.0.0.1:{port}": "tls:// needs three settings, DASK_DISTRIBUTED__COMM__TLS__CA_FILE",
        f"tcp://127.0.0.1:{port}": "If it uses TLS, its address begins with tls://",
    }.items():
        with pytest.raises(UserError, match=reason):
            cluster.on_cluster(address, Limits()).__enter__()


def test_no_scheduler_at_an_address_is_one_clear_line(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(cluster, "CONNECT_SECONDS", 1)
    with pytest.raises(UserError, match=r"no Dask scheduler answers at tcp://127.0.0.1:9: .*(refused|after 1 s)$"):
        cluster.on_cluster("tcp://127.0.0.1:9", Limits()).__enter__()


def test_code_that_has_changed_since_it_was_imported_is_another_than_that_on_the_disk(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    now = fingerprint.HERE
    assert fingerprint.difference(now) == ""
    assert "torch 1.0" in fingerprint.difference(replace(now, torch="1.0"))
    monkeypatch.setattr(fingerprint, "code_on_disk", lambda: "pulled")
    assert "restart this worker" in fingerprint.difference(replace(now, code="pulled"))
    assert "install the same one" in fingerprint.difference(replace(now, code="another"))


def test_the_scheduler_ends_and_the_same_command_goes_on(machines: Machines, tmp_path: Path) -> None:
    students = 12
    class_folder = class_of(tmp_path / "class", students)
    scheduler = machines.scheduler()
    machines.worker()

    def command() -> subprocess.Popen[str]:
        return subprocess.Popen(
            [*PROGRAM, "grade", "--grading", str(class_folder.path), "--scheduler", machines.address],
            stdout=subprocess.PIPE, stderr=subprocess.PIPE, text=True,
        )  # fmt: skip

    running = command()
    until(lambda: lines_of(class_folder) >= 3)
    scheduler.kill()
    killed = time.monotonic()
    _, error = running.communicate()
    assert running.returncode == 2 and error.count("\n") == 1, error
    assert f"is gone: {lines_of(class_folder)} submissions are graded and saved. Start it and its workers" in error
    assert time.monotonic() < killed + 10 and lines_of(class_folder) < students
    machines.scheduler()
    machines.worker()
    running = command()
    out, error = running.communicate()
    assert running.returncode == 0 and "unchanged since last time" in out, error
    assert_graded_once(class_folder, students)


@pytest.mark.sweep
def test_an_adaptive_cluster_starts_workers_for_what_waits_and_ctrl_c_waits_for_what_was_begun(tmp_path: Path) -> None:
    from dask.distributed import LocalCluster

    students = 40
    lines = list[str]()
    stop = threading.Event()
    class_folder = class_of(tmp_path / "class", students, pause=0.5)
    wanted: list[int] = []  # how many workers Dask would have, when a grade comes while there are two
    after: list[str] = []

    def tell(outcome: grade_class.SubmissionOutcome, _: int) -> None:
        if stop.is_set():
            after.append(outcome.submission.student)
        elif team.side_by_side == 2:
            wanted.append(adaptive.scheduler.adaptive_target())
            if len(wanted) >= 4 and wanted[-1] > 2:  # by now each of the two has one that it grades, and one that waits
                stop.set()

    with LocalCluster(0, threads_per_worker=1, dashboard_address=None, local_directory=str(tmp_path)) as adaptive:
        adaptive.adapt(minimum=0, maximum=2)
        team_of_it = cluster.on_cluster(adaptive.scheduler_address, Limits(), say=lines.append)
        with team_of_it as team, pytest.raises(KeyboardInterrupt):
            grade_class.grade(class_folder, START, team, tell=tell, stop=stop)
    assert wanted[-1] > 2, "it has not heard that more is to be graded than it has workers for"
    assert len(after) <= 2, "it waited for what nobody had begun"
    assert lines_of(class_folder) < students


class Failing(pool.GradingPool):
    """A team to which everything happens alike."""

    side_by_side = 2

    def __init__(self, outcomes: list[str | GradedSubmission]) -> None:
        super().__init__(Limits(), Mode.BUBBLEWRAP)
        self.outcomes = outcomes

    def start(self) -> None: ...

    def submit(self, job: Job) -> Future[GradedSubmission]:
        future = Future[GradedSubmission]()
        outcome = self.outcomes[int(job.data)]
        if isinstance(outcome, GradedSubmission):
            future.set_result(outcome)
        else:
            future.set_exception(pool.WorkerDied(f"host{len(self.outcomes)}", outcome))
        return future


def try_grading(outcomes: list[str | GradedSubmission]) -> list[bool]:
    """Who of those with these outcomes gets a grade, in the order in which they come."""
    empty = Job(START, b"", {}, Limits(), "", Path())
    jobs = [(n, replace(empty, data=str(n).encode())) for n in range(len(outcomes))]
    return [not graded.remarks for _, graded in pool.grade_one_by_one(jobs, Failing(outcomes))]


def test_what_fails_alike_for_the_first_submissions_is_not_theirs() -> None:
    good = GradedSubmission(START, {})
    with pytest.raises(
        UserError, match=r"the first 3 submissions .* for the same reason, .* no torch. Nothing was written"
    ):
        try_grading(["no torch"] * 5)
    assert try_grading(["no torch"] * 2) == [False] * 2
    assert try_grading(["no torch", "no numpy", "no disk", "no bwrap"]) == [False] * 4
    assert sorted(try_grading([good] + ["no torch"] * 5)) == [False] * 5 + [True]
