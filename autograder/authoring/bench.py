"""`make bench`: how fast grading is here. One class, one machine, one run: plain nbgrader, otter-grader, our engine, and our engine on a Dask cluster.

Each grades in processes of its own, started from nothing, so that its start counts too.
"""

from __future__ import annotations

import contextlib
import io
import os
import platform
import shutil
import subprocess
import sys
import tempfile
import threading
import time
from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass
from pathlib import Path

import psutil
from rich import box
from rich.console import Console
from rich.table import Table

from autograder.authoring import plain_nbgrader, sample
from autograder.class_folder import submitted_files
from autograder.class_folder.folder import ClassFolder
from autograder.engine import preparation
from autograder.errors import UserError
from autograder.gradebook import gradebook
from autograder.jail.limits import MIB
from autograder.reference import draws, stored
from ffnlab.phrases import plural
from ffnlab.registry import active_course

SAMPLE_SECONDS = 0.5


@dataclass(frozen=True)
class Measurement:
    """One way of grading one class, measured. CPU is the whole machine's: leave it alone meanwhile."""

    how: str
    submissions: int
    seconds: float
    cpu: float
    each: Sequence[float] = ()  # seconds of each submission, where the grader tells them
    conductor: float = 0.0  # peak resident MiB of the command's own process
    workers: float = 0.0  # peak proportional MiB of all that it started

    @property
    def per_minute(self) -> float:
        return 60 * self.submissions / self.seconds


def run(
    console: Console,
    assignment: str,
    students: int,
    plain: int,
    growth: Sequence[int],
    picture: Path | None,
    otter: Path | None = None,
) -> None:
    """Grade a fresh sample class in each way; print a table, with each rate's ratio to plain nbgrader's.

    students: how many our engine grades. plain: how many plain nbgrader grades, since it takes seconds for each; these are all
    whole notebooks, as an odd one may end its run.
    growth: sizes of classes that our engine grades besides. picture: where to draw how time and memory grow.
    otter: the command `otter` of an environment that has the course too; it grades as many as plain nbgrader.

    Raises:
        UserError: the course is not built, or a grader fails.
    """
    cores = os.cpu_count() or 1
    console.print(
        f"{platform.machine()}, {cores} cores, {psutil.virtual_memory().total / 2**30:.0f} GiB, Python {platform.python_version()}; "
        f"load before: {os.getloadavg()[0]:.1f}"
    )
    with tempfile.TemporaryDirectory() as folder:
        home = Path(folder)
        runs = [_measure("nbgrader autograde", home, assignment, plain, _plain_alone, odd=False)]
        runs.append(_measure("nbgrader autograde, after autograder grade", home, assignment, plain, _plain, odd=False))
        if otter:
            runs.append(_measure("otter run", home, assignment, plain, _otter(otter), odd=False))
        for count in sorted({1, cores}):
            how = f"autograder grade, {plural(count, 'worker')}"
            runs.append(_measure(how, home, assignment, students, _engine("--workers", str(count))))
        with contextlib.suppress(UserError):
            for count in (1, 2):
                with cluster(home, count) as (address, _):
                    how = f"on a Dask cluster, {plural(count, 'worker')}"
                    runs.append(_measure(how, home, assignment, students, _engine("--scheduler", address)))
        console.print(_table(f"{assignment}: a sample class", runs, runs[0]))
        growth_measurements = []
        for size in growth:
            growth_measurements.append(_measure(f"{size:,} submissions", home, assignment, size, _engine()))
            console.print(_table("", growth_measurements[-1:], runs[0]))
    if picture and len(growth_measurements) > 1:
        draw(growth_measurements, picture)
        console.print(f"drawn: {picture}")


def _table(title: str, runs: Sequence[Measurement], base: Measurement) -> Table:
    table = Table(box=box.SIMPLE_HEAD, title=title, title_justify="left")
    table.add_column("how")
    for name in [
        "submissions",
        "seconds",
        "a minute",
        "ratio",
        "CPU each",
        "p50",
        "p95",
        "p99",
        "conductor",
        "workers",
    ]:
        table.add_column(name, justify="right")
    for measurement in runs:
        each = sorted(measurement.each)
        quantiles = [f"{each[min(len(each) - 1, int(q * len(each)))]:.2f} s" if each else "" for q in (0.5, 0.95, 0.99)]
        table.add_row(
            measurement.how, f"{measurement.submissions:,}",
            f"{measurement.seconds:.1f}", f"{measurement.per_minute:,.0f}",
            f"{measurement.per_minute / base.per_minute:.1f} ×",
            f"{measurement.cpu / measurement.submissions:.2f} s", *quantiles,
            f"{measurement.conductor:.0f} MiB" if each else "", f"{measurement.workers:,.0f} MiB" if each else "",
        )  # fmt: skip
    return table


Grade = Callable[[ClassFolder, str], list[float]]


def _measure(how: str, home: Path, assignment: str, students: int, grade: Grade, odd: bool = True) -> Measurement:
    class_folder = ClassFolder(home / "class")
    for path in class_folder.path.iterdir() if class_folder.path.is_dir() else ():
        if path.name not in (draws.FILE, stored.FOLDER):
            shutil.rmtree(path) if path.is_dir() else path.unlink()
    sample.make(class_folder, students, only=[assignment], odd=odd)
    preparation.prepare(assignment, class_folder.draws, class_folder.path)  # once a class, whoever grades it
    with _memory() as peak:
        cpu_before = _machine_cpu()
        start = time.perf_counter()
        each = grade(class_folder, assignment)
        seconds = time.perf_counter() - start
        cpu = _machine_cpu() - cpu_before
    return Measurement(how, students, seconds, cpu, each, *peak)


def _machine_cpu() -> float:
    times = psutil.cpu_times()
    return float(times.user + times.nice + times.system)


@contextlib.contextmanager
def _memory() -> Iterator[list[float]]:
    """Peak MiB of the commands that this process runs from now on, and of all else that it has started (a cluster, workers, jails), sampled."""
    me = psutil.Process()
    peak = [0.0, 0.0]
    stop = threading.Event()
    before = me.children()

    def watch() -> None:
        while not stop.wait(SAMPLE_SECONDS):
            commands = [process for process in me.children() if process not in before]
            conductor = sum(_mebibytes(process, "rss") for process in commands)
            others = [process for process in me.children(recursive=True) if process not in commands]
            peak[:] = max(peak[0], conductor), max(peak[1], sum(_mebibytes(process, "pss") for process in others))

    thread = threading.Thread(target=watch, daemon=True)
    thread.start()
    try:
        yield peak
    finally:
        stop.set()
        thread.join()


def _mebibytes(process: psutil.Process, kind: str) -> float:
    """`kind`: rss, or pss, in which what several processes share is counted once."""
    with contextlib.suppress(psutil.Error):
        return float(getattr(process.memory_full_info(), kind)) / MIB
    return 0.0


def _plain(class_folder: ClassFolder, assignment: str) -> list[float]:
    plain_nbgrader.autograde(class_folder, assignment)
    return []


def _plain_alone(class_folder: ClassFolder, assignment: str) -> list[float]:
    """Plain nbgrader where `autograder grade` has never run: each notebook computes the reference outputs for itself."""
    cache_folder = (class_folder.path / stored.FOLDER).rename(class_folder.path.with_name("reference_outputs"))
    try:
        return _plain(class_folder, assignment)
    finally:
        cache_folder.rename(class_folder.path / stored.FOLDER)


def _engine(*options: str) -> Grade:
    """The command `autograder grade` with these options."""

    def grade(class_folder: ClassFolder, assignment: str) -> list[float]:
        _call(Path(sys.executable).parent / "autograder", "grade", assignment, "--grading", class_folder.path, *options)
        with gradebook.Book(class_folder) as book:
            return [attempt.seconds for attempt in book.latest(assignment)]

    return grade


OTTER_TEST = """from otter.test_files import test_case

OK_FORMAT = False
name, points = {name!r}, {points!r}


@test_case(points=points)
def earned(env):
    assert env["check"](name, env[name]) == points
"""


def _otter(program: Path) -> Grade:
    """otter-grader's `otter run`, one submission after the other (its `otter grade` needs a Docker engine), asking `check` for each exercise."""

    def grade(class_folder: ClassFolder, assignment: str) -> list[float]:
        with tempfile.TemporaryDirectory() as folder:
            tests, config = Path(folder, "tests"), Path(folder, "autograder.zip")
            tests.mkdir()
            for exercise in active_course().exercises_of(assignment):
                (tests / f"{exercise.name}.py").write_text(
                    OTTER_TEST.format(name=exercise.name, points=exercise.points)
                )
            _call(
                program, "generate", "-t", tests, "-o", config, "--no-config", "--no-requirements", "--no-environment"
            )
            for submission in submitted_files.find(class_folder, assignment):
                _call(program, "run", "-a", config, "-o", folder, "--no-logo", submission.path)
        return []

    return grade


def _call(program: Path, *arguments: object) -> None:
    """Run a program to its end. Raises UserError with its last line where it fails."""
    process = subprocess.run(
        [str(program), *map(str, arguments)], capture_output=True, text=True, check=False, stdin=subprocess.DEVNULL
    )
    if process.returncode:
        last = (process.stderr or process.stdout).strip().splitlines() or ["it said nothing"]
        raise UserError(f"{program.name} {arguments[0]} failed: {last[-1]}")


@contextlib.contextmanager
def cluster(home: Path, workers: int) -> Iterator[tuple[str, list[subprocess.Popen[bytes]]]]:
    """A Dask scheduler and workers of one thread each, as processes on this machine: its address, and the workers.

    Raises:
        UserError: Dask is not installed.
    """
    try:
        from dask.distributed import Client
    except ImportError:
        raise UserError("Dask is not installed") from None
    file = home / "scheduler.json"
    file.unlink(missing_ok=True)
    dask = [sys.executable, "-m", "dask"]
    where = ["--host", "127.0.0.1", "--no-dashboard", "--scheduler-file", str(file)]
    commands = [[*dask, "scheduler", *where, "--port", "0"]]
    commands += [[*dask, "worker", *where, "--nthreads", "1", "--no-nanny"]] * workers
    processes: list[subprocess.Popen[bytes]] = []
    try:
        for command in commands:
            processes.append(subprocess.Popen(command, stdout=subprocess.DEVNULL, stderr=subprocess.DEVNULL, cwd=home))
            while not file.is_file() and processes[0].poll() is None:
                time.sleep(0.1)
        with contextlib.redirect_stderr(io.StringIO()), Client(scheduler_file=str(file)) as client:
            client.wait_for_workers(workers, timeout=120)
            address = str(client.scheduler.address)
        yield address, processes[1:]
    finally:
        for process in reversed(processes):
            process.kill()
            process.wait()


def draw(measurements: Sequence[Measurement], path: Path) -> None:
    """Two panels: seconds and the conductor's memory against the number of submissions."""
    import matplotlib.pyplot as plt

    from ffnlab.drawing import style

    style.use()
    sizes = [measurement.submissions for measurement in measurements]
    figure, (left, right) = plt.subplots(1, 2, figsize=(9, 3.6), constrained_layout=True)
    left.loglog(sizes, [measurement.seconds for measurement in measurements], "o-")
    left.loglog(
        sizes, [size / measurements[-1].per_minute * 60 for size in sizes], ":", color=style.MUTED, label="proportional"
    )
    left.set(title="Time", xlabel="submissions", ylabel="seconds")
    left.legend()
    right.semilogx(sizes, [measurement.conductor for measurement in measurements], "o-")
    most = max(measurement.conductor for measurement in measurements)
    right.set(title="The conductor's memory", xlabel="submissions", ylabel="MiB", ylim=(0, 1.2 * most))
    path.parent.mkdir(parents=True, exist_ok=True)
    figure.savefig(path, dpi=130)
    plt.close(figure)
