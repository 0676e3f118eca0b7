"""Whatever dies in the middle of grading a class, every submission is graded exactly once and nothing is lost.

`make soak` repeats the random ones many more times: AUTOGRADER_SOAK is the number of rounds.
"""

from __future__ import annotations

import contextlib
import json
import os
import random
import signal
import subprocess
import sys
import threading
import time
from collections import Counter
from collections.abc import Callable, Iterator
from pathlib import Path

import psutil
import pytest
import sqlalchemy as sa
from attacks import START
from conftest import needs_bubblewrap, often, sleeping
from prepared import give_draws
from test_program import ANSWER as RIGHT
from test_program import answered

from autograder.class_folder import log
from autograder.class_folder.folder import ClassFolder
from autograder.engine import pool, worker_process
from autograder.engine.graded_submission import GradedSubmission
from autograder.engine.job import Job
from autograder.gradebook.gradebook import ATTEMPTS, Book
from autograder.grading import grade_class
from autograder.jail.limits import Limits
from autograder.jail.sandbox import Mode
from autograder.reference import draws
from ffnlab.checking.verdict import Outcome
from ffnlab.registry import active_course

pytestmark = needs_bubblewrap
ROUNDS = int(os.environ.get("AUTOGRADER_SOAK", "1"))
PROGRAM = [sys.executable, "-m", "autograder"]
SEEDS = {exercise.name: draws.development(exercise.name) for exercise in active_course().exercises_of(START)}
WRONG = "def hello_shape(x):\n    B, T, d = x.shape\n    return B, d, T"


def class_of(folder: Path, students: int, pause: float = 0.15, first: bool = False) -> ClassFolder:
    """A class in which every second student is right; each one's cell takes `pause` seconds, so that there is a middle to die in.

    first: no hidden draws were found for it yet.
    """
    class_folder = ClassFolder(folder)
    if not first:
        give_draws(class_folder, START)
    for number in range(students):
        home = class_folder.submitted / f"student{number:03d}" / START
        home.mkdir(parents=True)
        source = f"import time\ntime.sleep({pause})\n" + (WRONG if number % 2 else RIGHT)
        (home / f"{START}.ipynb").write_text(json.dumps(answered(source)), encoding="utf-8")
    return class_folder


def assert_graded_once(class_folder: ClassFolder, students: int) -> None:
    """Every student has one attempt, and in nbgrader's gradebook the score that it earned."""
    with Book(class_folder) as book:
        engine = sa.create_engine(class_folder.db_url)
        with engine.connect() as connection:
            rows = connection.execute(sa.select(ATTEMPTS.c.student, ATTEMPTS.c.record)).all()
        engine.dispose()
        scores = book.automatic_scores(START)
    assert Counter(student for student, _ in rows) == {f"student{number:03d}": 1 for number in range(students)}
    assert not [student for student, record in rows if Outcome.NOT_GRADED.value in record]
    for number in range(students):
        assert scores[f"student{number:03d}"]["check-hello_shape"] == (0.0 if number % 2 else 2.0)
        assert (class_folder.feedback / f"student{number:03d}" / START / f"{START}.html").is_file()


def lines_of(class_folder: ClassFolder) -> int:
    with contextlib.suppress(OSError):
        return len((class_folder.path / log.FILE).read_text(encoding="utf-8").splitlines())
    return 0


def gone(processes: list[psutil.Process]) -> bool:
    """Whether none of them goes on running. Whoever is still importing PyTorch notices afterwards, on a crowded machine after many seconds."""
    _, alive = psutil.wait_procs(processes, timeout=60)
    return not [process for process in alive if process.is_running() and process.status() != psutil.STATUS_ZOMBIE]


@pytest.mark.parametrize("seed", range(ROUNDS))
def test_the_conductor_is_killed_again_and_again(seed: int, tmp_path: Path) -> None:
    students, rng = 24, random.Random(seed)
    class_folder = class_of(tmp_path, students, first=True)
    deaths = 0
    while True:
        running = subprocess.Popen(
            [*PROGRAM, "grade", "--grading", str(tmp_path), "--workers", "2"],
            stdout=subprocess.DEVNULL, stderr=subprocess.PIPE, text=True,
        )  # fmt: skip
        until = lines_of(class_folder) + rng.randint(0, 3) if deaths < 3 else students + 1
        while running.poll() is None and lines_of(class_folder) < until:
            time.sleep(0.02)
        if running.poll() is not None:
            assert running.returncode == 0, running.communicate()[1]
            break
        time.sleep(rng.random() / 10)
        with contextlib.suppress(psutil.Error):
            family = psutil.Process(running.pid).children(recursive=True)
        running.kill()
        running.wait()
        deaths += 1
        assert gone(family), "a worker or a jail outlived its conductor"
    assert deaths == 3
    assert_graded_once(class_folder, students)


def grading(class_folder: ClassFolder) -> tuple[threading.Thread, list[BaseException]]:
    """Grade the class in another thread; what that raises comes into the list."""
    errors: list[BaseException] = []

    def run() -> None:
        try:
            with pool.on_this_machine(2, Limits()) as team:
                grade_class.grade(class_folder, START, team)
        except BaseException as error:
            errors.append(error)

    thread = threading.Thread(target=run)
    thread.start()
    return thread, errors


def newcomers(before: list[psutil.Process], kind: Callable[[psutil.Process], bool]) -> list[psutil.Process]:
    """The processes of a kind that this one has had started since it had only those of `before`: other tests' jails and workers are alive too."""
    processes = []
    for process in psutil.Process().children(recursive=True):
        with contextlib.suppress(psutil.Error):
            if process not in before and kind(process):
                processes.append(process)
    return processes


def is_jail(process: psutil.Process) -> bool:
    return process.name() == "bwrap"


def is_worker(process: psutil.Process) -> bool:
    """Whether the fork server has forked it."""
    return all(
        "multiprocessing.forkserver" in " ".join(ancestor.cmdline())
        for ancestor in (process, process.parent())
        if ancestor
    )


@pytest.mark.parametrize("seed", range(ROUNDS))
@pytest.mark.parametrize("victim", [is_jail, is_worker])
def test_a_jail_or_a_worker_is_killed_in_the_middle(
    victim: Callable[[psutil.Process], bool], seed: int, tmp_path: Path
) -> None:
    students, rng = 12, random.Random(seed)
    class_folder = class_of(tmp_path, students)
    before = psutil.Process().children(recursive=True)
    thread, errors = grading(class_folder)
    for deaths in range(1, 3):
        while thread.is_alive() and lines_of(class_folder) < 4 * deaths - rng.randint(0, 3):
            time.sleep(0.02)
        targets = newcomers(before, victim)
        if targets and thread.is_alive():
            rng.choice(targets).kill()
    thread.join(300)
    assert not thread.is_alive() and not errors, errors
    assert_graded_once(class_folder, students)


def kill_forks(seconds: str, most: int, over: threading.Event) -> None:
    """Kill, as the kernel does when memory runs out, up to `most` forks that wait for a `sleep` of so many seconds."""
    killed: set[int] = set()
    while not over.wait(0.02) and len(killed) < most:
        for process in sleeping(seconds):
            with contextlib.suppress(psutil.Error):
                fork = process.parent()
                if fork and fork.pid not in killed:
                    fork.kill()
                    killed.add(fork.pid)


@contextlib.contextmanager
def killing_forks(seconds: str, most: int) -> Iterator[None]:
    over = threading.Event()
    thread = threading.Thread(target=kill_forks, args=(seconds, most, over))
    thread.start()
    yield
    over.set()
    thread.join()


@pytest.mark.parametrize(
    ("most", "mode"),
    often(
        [(1, Mode.BUBBLEWRAP), (1, Mode.NONE), (99, Mode.BUBBLEWRAP), (99, Mode.NONE)],
        [(1, Mode.NONE), (99, Mode.BUBBLEWRAP)],
    ),
)
def test_a_fork_that_is_killed_from_outside_costs_no_point(most: int, mode: Mode, tmp_path: Path) -> None:
    seconds = f"0.7{most}"
    class_folder = class_of(tmp_path, 6)
    victim = class_folder.submitted / "student002" / START / f"{START}.ipynb"
    victim.write_text(json.dumps(answered(f"import subprocess\nsubprocess.run(['sleep', '{seconds}'])\n{RIGHT}")))
    submissions: dict[str, GradedSubmission] = {}

    def keep(outcome: grade_class.SubmissionOutcome, total: int) -> None:
        if outcome.graded_submission:
            submissions[outcome.submission.student] = outcome.graded_submission

    with pool.on_this_machine(2, Limits(), mode) as team, killing_forks(seconds, most):
        summary = grade_class.grade(class_folder, START, team, tell=keep)
    submission = submissions["student002"]
    verdict = submission.verdicts["hello_shape"]
    if most == 1:
        assert_graded_once(class_folder, 6)
    elif mode is Mode.BUBBLEWRAP:
        assert summary.ungraded_count == 1 and {verdict.outcome for verdict in submission.verdicts.values()} == {
            Outcome.NOT_GRADED
        }
        assert "SIGKILL from outside" in verdict.message and "NOT GRADED" in submission.remarks[0]
        with pool.on_this_machine(2, Limits()) as team:
            again = grade_class.grade(class_folder, START, team, tell=keep)
        assert (again.graded_count, again.unchanged_count) == (1, 5), "the same command tries again"
        assert submissions["student002"].verdicts["hello_shape"].outcome is Outcome.EARNED
    else:
        assert verdict.points == 0 and "ended by SIGKILL" in verdict.message
    assert any("graded a second time" in remark for remark in submission.remarks) is (mode is Mode.NONE)


def test_a_worker_keeps_no_jail_of_limits_that_are_not_asked_for_any_more(monkeypatch: pytest.MonkeyPatch) -> None:
    jails = worker_process._Jails()
    monkeypatch.setattr(worker_process, "_jails", jails)
    before = psutil.Process().children(recursive=True)
    with worker_process._free_jail(Limits(), Mode.NONE) as first:
        first.fork().kill()
    with worker_process._free_jail(Limits(), Mode.NONE) as same:
        assert same is first
    earlier = newcomers(before, lambda process: True)
    with worker_process._free_jail(Limits(cell_seconds=1.0), Mode.NONE) as second:
        assert earlier and gone(earlier) and not jails.free
    second.close()


STUCK = """
import re
from autograder.engine import worker_process
with worker_process._deadlines.of(600), worker_process._deadlines.of(0.5), worker_process._deadlines.of(600):
    re.match(r"(a|a)*b", "a" * 60)  # holds the interpreter
"""


def test_a_process_that_is_stuck_over_a_job_is_ended_at_its_deadline() -> None:
    assert subprocess.run([sys.executable, "-c", STUCK], check=False).returncode == -signal.SIGALRM


def test_a_job_that_is_done_ends_nobody() -> None:
    source = "import threading\nfrom autograder.engine import worker_process\nwith worker_process._deadlines.of(0.2): pass\nthreading.Event().wait(0.5)"
    assert subprocess.run([sys.executable, "-c", source], check=False).returncode == 0


def test_a_second_interrupt_waits_for_nobody(tmp_path: Path) -> None:
    """A submission may take its time; whoever stops the grader does not have to."""
    patient = Limits(cell_seconds=3000.0, submission_seconds=3000.0)
    source = "import time\ntime.sleep(2000)"
    job = Job(START, json.dumps(answered(source)).encode(), SEEDS, patient, draws.key_version(START), tmp_path)
    before = psutil.Process().children(recursive=True)
    with pytest.raises(KeyboardInterrupt), pool.on_this_machine(1, patient) as team:
        future = team.submit(job)
        while not [newcomer for newcomer in newcomers(before, is_jail) if newcomer.children(recursive=True)]:
            time.sleep(0.1)
        workers = newcomers(before, is_worker)
        raise KeyboardInterrupt
    assert not future.done() or future.exception()
    assert workers and gone(workers)


def test_many_workers_have_few_jails_and_grade_in_all_of_them(tmp_path: Path) -> None:
    workers = pool.WORKERS_PER_JAIL + 1
    class_folder = class_of(tmp_path, 3 * workers)
    before = psutil.Process().children(recursive=True)
    with pool.on_this_machine(workers, Limits()) as team:
        team.start()
        jails = newcomers(before, is_jail)
        assert len([jail for jail in jails if jail.parent() == psutil.Process()]) == 2
        grade_class.grade(class_folder, START, team)
    assert_graded_once(class_folder, 3 * workers)
    assert gone(jails)
