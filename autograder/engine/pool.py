"""Many submissions side by side, over `concurrent.futures`: processes on this machine, or a Dask cluster's. A worker that dies costs time, never a grade.

A worker process is trusted: it has a gate to a warm jail, sends student code into it, and judges outside it. It gets a submission's bytes and gives back the
graded notebook and the verdicts; it needs no folder of the class and no gradebook.
"""

from __future__ import annotations

import contextlib
import os
import socket
import threading
from abc import ABC, abstractmethod
from collections import deque
from collections.abc import Callable, Iterable, Iterator, Sequence
from concurrent.futures import FIRST_COMPLETED, BrokenExecutor, Executor, Future, ProcessPoolExecutor, wait
from dataclasses import dataclass, replace
from multiprocessing.connection import Connection
from multiprocessing.sharedctypes import Synchronized
from pathlib import Path
from typing import Any, Generic, TypeVar

from autograder.engine import forkserver
from autograder.engine.graded_submission import GradedSubmission
from autograder.engine.job import TRIES, Job, build_ungraded
from autograder.engine.preparation import run_here
from autograder.errors import UserError
from autograder.jail import resources
from autograder.jail.limits import Limits
from autograder.jail.sandbox import Jail, JailBroken, JailClient, JailWontStart, Mode
from autograder.keys.problem import KeyProblem

Name = TypeVar("Name")
T = TypeVar("T")
SAME_FAILURES = 3  # so many submissions that fail in the same way before any is graded: it is not their doing
POLL_SECONDS = 0.2
WORKERS_PER_JAIL = 4  # which share it: its warm process is busy for a few ms with each fork, a worker with each submission for 150 and more


class GradingPool(ABC):
    """Who grades, for as many assignments as a command has. limits, mode: of every job's jail. count: how many grades it has made so far."""

    def __init__(self, limits: Limits, mode: Mode) -> None:
        self.limits = limits
        self.mode = mode
        self.count = 0

    @abstractmethod
    def start(self) -> None:
        """Become warm, before there is a job, and return at once."""

    @property
    @abstractmethod
    def side_by_side(self) -> int:
        """How many submissions it grades at a time, as things are now."""

    @abstractmethod
    def submit(self, job: Job) -> Future[GradedSubmission]:
        """Have a job done."""

    def run(self, function: Callable[..., T], *arguments: Any) -> Future[T]:
        """Have a function of ours called, by a worker where that is faster than here."""
        return run_here(function, *arguments)

    def grade_together(
        self, jobs: Iterable[tuple[Name, Job]], stop: threading.Event | None = None
    ) -> Iterator[list[tuple[Name, GradedSubmission]]]:
        """As the function of that name."""
        return grade_together(jobs, self, stop)

    def attend(self) -> None:  # noqa: B027
        """Look after those who grade; called again and again while there are jobs. Raises UserError where there is no going on."""

    def cancel(self, futures: Sequence[Future[GradedSubmission]]) -> None:
        """Cancel the jobs that nobody has begun. `futures`: of all that have not ended, in the order in which they were submitted."""
        for future in futures:
            future.cancel()


class _Processes(GradingPool):
    """Worker processes of this machine: an executor, made again when the death of one of them has broken it."""

    def __init__(self, make: Callable[[], Executor], side_by_side: int, limits: Limits, mode: Mode) -> None:
        super().__init__(limits, mode)
        self._make = make
        self._executor: Executor | None = None
        self._side_by_side = side_by_side

    def start(self) -> None:
        if self._executor is None:
            self._executor = self._make()

    @property
    def side_by_side(self) -> int:
        return self._side_by_side

    def submit(self, job: Job) -> Future[GradedSubmission]:
        return self.run(grade_here, job)

    def run(self, function: Callable[..., T], *arguments: Any) -> Future[T]:
        self.start()
        assert self._executor
        try:
            return self._executor.submit(function, *arguments)
        except RuntimeError:  # a worker has died since, and the executor takes nothing more
            self._executor = self._make()
            return self._executor.submit(function, *arguments)


@contextlib.contextmanager
def on_this_machine(
    workers: int, limits: Limits, mode: Mode = Mode.BUBBLEWRAP, private: Sequence[Path] = (), also: Sequence[str] = ()
) -> Iterator[GradingPool]:
    """Worker processes here, and the jails that they share. Once started they become warm by themselves, before there is a job. All end when
    this process ends, however it ends, and at once when the context is left by an exception; Ctrl-C is for this process alone. Starting
    raises JailWontStart where bubblewrap is not installed. `also`: modules that the jails import besides the usual ones.
    """
    context = forkserver.start()
    stack = contextlib.ExitStack()
    end, lifeline = context.Pipe(duplex=False)
    kills = resources.kills()

    def make() -> ProcessPoolExecutor:
        stack.close()  # what dead workers had running in their jails ends with them
        jails = [
            stack.enter_context(Jail(limits, mode, wait=False, private=private, also=also))
            for _ in range(0, workers, WORKERS_PER_JAIL)
        ]
        gates = [jail.gate() for jail in jails]
        counter = context.Value("i", 0)
        executor = ProcessPoolExecutor(
            workers, mp_context=context, initializer=_start, initargs=(gates, counter, end, private)
        )
        stack.callback(executor.shutdown, cancel_futures=True)  # before its jails: what is in flight may end
        try:
            for _ in range(workers):
                executor.submit(os.getpid)  # a pool starts its processes one by one, as jobs come in
        except (EOFError, OSError, BrokenExecutor):
            raise JailWontStart("a worker ended before it began" + resources.cause(kills)) from None
        return executor

    with end, lifeline, stack:
        try:
            yield _Processes(make, workers, limits, mode)
        except BaseException:
            lifeline.close()  # nobody waits for what is in flight
            raise


# What a worker process does is in engine/worker_process.py, which brings torch: it is imported there alone.


def grade_here(job: Job) -> GradedSubmission:
    """Grade one submission in this process, and note where that was."""
    from autograder.engine import fingerprint, worker_process

    graded_submission = worker_process.grade_job(job)
    graded_submission.host = socket.gethostname()
    graded_submission.build = fingerprint.describe()
    return graded_submission


def _start(gates: list[JailClient], counter: Synchronized[int], end: Connection, private: Sequence[Path]) -> None:
    from autograder.engine import worker_process

    worker_process.start(gates, counter, end, private)


def grade_one_by_one(
    jobs: Iterable[tuple[Name, Job]], team: GradingPool, stop: threading.Event | None = None
) -> Iterator[tuple[Name, GradedSubmission]]:
    """As `grade_together`, one by one."""
    for batch in grade_together(jobs, team, stop):
        yield from batch


def grade_together(
    jobs: Iterable[tuple[Name, Job]], team: GradingPool, stop: threading.Event | None = None
) -> Iterator[list[tuple[Name, GradedSubmission]]]:
    """The grade of each job, as they come: all that have come by the time that the next ones are asked for. Jobs are taken as they are needed, so that
    a class of any size needs the same memory.

    stop: once set, nothing new is started, and what nobody has begun is left; what is under way still comes.

    Raises:
        UserError, JailWontStart, KeyProblem: what another try would not mend.
    """
    with _InFlight[Name](team) as in_flight:
        source = iter(jobs)
        while True:
            is_stopped = stop is not None and stop.is_set()
            if is_stopped:
                in_flight.leave_what_waits()
            while not is_stopped and in_flight.has_room:
                fresh = next(source, None)
                if fresh is None:
                    break
                in_flight.submit(_Pending(*fresh))
            if not in_flight.count:
                if batch := list(in_flight.failed_jobs()):
                    yield batch
                return
            if batch := list(in_flight.collect()):
                yield batch


class WorkerDied(Exception):
    """The process that graded a submission has ended, or grading it has failed there. host: of which machine; reason: how."""

    def __init__(self, host: str, reason: str) -> None:
        super().__init__(f"{host}: {reason}")
        self.reason = reason


@dataclass(frozen=True)
class _Pending(Generic[Name]):
    """A job with its name, and how often a process has died over it."""

    name: Name
    job: Job
    deaths: int = 0


class _InFlight(Generic[Name]):
    """What is being graded, and what waits to be graded again, one at a time, because a process died while it was there."""

    def __init__(self, team: GradingPool) -> None:
        self._team = team
        self._running: dict[Future[GradedSubmission], _Pending[Name]] = {}
        self._retry_alone: deque[_Pending[Name]] = deque()
        self._failures: list[tuple[_Pending[Name], BaseException]] = []  # held back until something has been graded
        self._leaving = False

    def __enter__(self) -> _InFlight[Name]:
        return self

    def __exit__(self, *_: object) -> None:
        for future in self._running:
            future.cancel()

    @property
    def count(self) -> int:
        return len(self._running) + len(self._retry_alone)

    @property
    def has_room(self) -> bool:
        places = 2 * max(1, self._team.side_by_side)  # for each worker one at work, one waiting
        return not self._retry_alone and len(self._running) < places

    def submit(self, pending: _Pending[Name]) -> None:
        self._running[self._team.submit(pending.job)] = pending

    def leave_what_waits(self) -> None:
        if not self._leaving:
            self._leaving = True
            self._team.cancel(list(self._running))
        self._retry_alone.clear()

    def collect(self) -> Iterator[tuple[Name, GradedSubmission]]:
        """What has ended by now, waiting a moment for it."""
        if self._retry_alone and not self._running:
            self.submit(self._retry_alone.popleft())
        self._team.attend()
        futures, _ = wait(self._running, timeout=POLL_SECONDS, return_when=FIRST_COMPLETED)
        for future in futures:
            pending = self._running.pop(future)
            if future.cancelled() and self._leaving:
                continue
            error = future.exception() if not future.cancelled() else RuntimeError("it was cancelled")
            if error is None:
                yield from self.failed_jobs()
                self._team.count += 1
                yield pending.name, future.result()
            elif isinstance(error, (UserError, JailWontStart, KeyProblem)):
                raise error
            else:
                yield from self._again(pending, error)

    def _again(self, pending: _Pending[Name], error: BaseException) -> Iterator[tuple[Name, GradedSubmission]]:
        if pending.deaths + 1 < TRIES:
            self._retry_alone.append(replace(pending, deaths=pending.deaths + 1))
            return
        self._failures.append((pending, error))
        if self._team.count:
            yield from self.failed_jobs()
        elif len(self._failures) == SAME_FAILURES:
            if len({_reason(failure) for _, failure in self._failures}) == 1:
                raise UserError(
                    f"the first {SAME_FAILURES} submissions could not be graded, all for the same reason, so the students are not at fault: "
                    f"{_in_words(error)}. Nothing was written for them"
                )
            yield from self.failed_jobs()

    def failed_jobs(self) -> Iterator[tuple[Name, GradedSubmission]]:
        """The submissions that were tried often enough, for a person to look at."""
        while self._failures:
            pending, error = self._failures.pop(0)
            yield pending.name, build_ungraded(pending.job, f"grading it failed {TRIES} times ({_in_words(error)})")


def _reason(error: BaseException) -> str:
    """An error's text without what differs from one worker to the next."""
    return error.reason if isinstance(error, WorkerDied) else f"{type(error).__name__}: {error}"


def _in_words(error: BaseException) -> str:
    return str(error) if isinstance(error, (WorkerDied, JailBroken)) else _reason(error)
