"""Many submissions side by side, over `concurrent.futures`: processes on this machine, or a Dask cluster's. A worker that dies costs time, never a grade.

A worker process is trusted: it has a gate to a warm jail, sends student code into it, and judges outside it. It gets a submission's bytes and gives back the
graded notebook and the verdicts; it needs no folder of the class and no gradebook.
"""

from __future__ import annotations

import contextlib
import os
import threading
from collections import deque
from collections.abc import Callable, Iterable, Iterator, Sequence
from concurrent.futures import FIRST_COMPLETED, BrokenExecutor, Executor, Future, ProcessPoolExecutor, wait
from dataclasses import dataclass, replace
from multiprocessing.connection import Connection
from multiprocessing.sharedctypes import Synchronized
from pathlib import Path
from typing import Generic, TypeVar

from autograder.engine import forkserver
from autograder.engine.graded import Graded
from autograder.house import UserError
from autograder.jail.limits import Limits
from autograder.jail.sandbox import Gate, Jail, JailWontStart, Mode
from autograder.keys.problem import KeyProblem
from autograder.marking import draws, outline
from ffnlab.verdict import not_graded

Name = TypeVar("Name")
TRIES = 3  # how often a jail, or the process that holds it, may die over one submission before a person has to look
POLL_SECONDS = 0.2
SHARING = 4  # workers that share a jail: its warm process is busy for a few ms with each fork, a worker with each submission for 150 and more


@dataclass(frozen=True)
class Job:
    """One submission to grade, whole: a worker reads nothing else of the class."""

    assignment: str
    data: bytes
    seeds: draws.Seeds
    limits: Limits
    key: str  # the key's version: a worker that has another one refuses
    markings: Path  # a file of this machine; a worker elsewhere computes what is in it
    only: tuple[str, ...] = ()  # exercises; empty: all
    mode: Mode = Mode.BUBBLEWRAP


def ungraded(job: Job, reason: str) -> Graded:
    """Our fault: every exercise waits for a person."""
    listed = [e for e in outline.of_notebook(job.assignment) if not job.only or e.name in job.only]
    verdicts = {e.name: not_graded(e, f"Not graded, by no fault of yours: {reason}.") for e in listed}
    return Graded(job.assignment, verdicts, remarks=[f"NOT GRADED: {reason}"])


class Team:
    """Who grades, for as many assignments as a command has: an executor, made again when a worker's death has broken it.

    make: makes one. side_by_side: how many submissions it grades at a time. limits, mode: of every job's jail.
    """

    def __init__(self, make: Callable[[], Executor], side_by_side: int, limits: Limits, mode: Mode) -> None:
        self._make = make
        self._executor: Executor | None = None
        self.side_by_side = side_by_side
        self.limits = limits
        self.mode = mode

    def start(self) -> Executor:
        """The executor, which starts by itself where it does not run yet."""
        if self._executor is None:
            self._executor = self._make()
        return self._executor

    def replace(self, broken: Executor) -> None:
        """Make a new executor, unless that has been done."""
        if broken is self._executor:
            self._executor = self._make()

    def submit(self, job: Job) -> tuple[Future[Graded], Executor]:
        """Have a job done: its grade, and who is at it."""
        executor = self.start()
        try:
            return executor.submit(_work, job), executor
        except RuntimeError:  # broken since we last looked
            self.replace(executor)
            executor = self.start()
            return executor.submit(_work, job), executor


@contextlib.contextmanager
def on_this_machine(
    workers: int, limits: Limits, mode: Mode = Mode.BUBBLEWRAP, private: Sequence[Path] = (), also: Sequence[str] = ()
) -> Iterator[Team]:
    """Worker processes here, and the jails that they share. Once started they become warm by themselves, before there is a job. All end when
    this process ends, however it ends, and at once when the context is left by an exception; Ctrl-C is for this process alone. Starting
    raises JailWontStart where bubblewrap is not installed. `also`: modules that the jails import besides the usual ones.
    """
    context = forkserver.start()
    opened = contextlib.ExitStack()
    end, lifeline = context.Pipe(duplex=False)

    def make() -> ProcessPoolExecutor:
        opened.close()  # what dead workers had running in their jails ends with them
        jails = [opened.enter_context(Jail(limits, mode, False, private, also)) for _ in range(0, workers, SHARING)]
        gates, started = [jail.gate() for jail in jails], context.Value("i", 0)
        executor = ProcessPoolExecutor(
            workers, mp_context=context, initializer=_start, initargs=(gates, started, end, private)
        )
        opened.callback(executor.shutdown, cancel_futures=True)  # before its jails: what is in flight may end
        for _ in range(workers):
            executor.submit(os.getpid)  # a pool starts its processes one by one, as jobs come in
        return executor

    with end, lifeline, opened:
        try:
            yield Team(make, workers, limits, mode)
        except BaseException:
            lifeline.close()  # nobody waits for what is in flight
            raise


# What a worker process does is in engine/work.py, which brings torch: it is imported there alone.


def _work(job: Job) -> Graded:
    from autograder.engine import work

    return work.work(job)


def _start(gates: list[Gate], started: Synchronized[int], end: Connection, private: Sequence[Path]) -> None:
    from autograder.engine import work

    work.start(gates, started, end, private)


@contextlib.contextmanager
def on_cluster(address: str, limits: Limits, mode: Mode = Mode.BUBBLEWRAP) -> Iterator[Team]:
    """The workers of a Dask scheduler.

    Raises:
        UserError: Dask is not installed, or nobody answers at the address, or no worker is there.
    """
    try:
        from dask.distributed import Client
    except ImportError:
        raise UserError("--scheduler needs Dask: pip install 'dask[distributed]'") from None
    try:
        client = Client(address, timeout=20)
    except (OSError, ValueError) as error:
        raise UserError(f"no Dask scheduler answers at {address}: {str(error).splitlines()[0]}") from None
    with client:
        threads = sum(client.nthreads().values())
        if not threads:
            raise UserError(
                f"the Dask scheduler at {address} has no workers yet: start some, `dask worker {address} --nthreads 1`"
            )
        yield Team(lambda: client.get_executor(pure=False), threads, limits, mode)


def graded(
    jobs: Iterable[tuple[Name, Job]], team: Team, stop: threading.Event | None = None
) -> Iterator[tuple[Name, Graded]]:
    """The grade of each job, as they come. Jobs are taken as they are needed, so that a class of any size needs the same memory.

    stop: once set, nothing new is started; what is in flight still comes.

    Raises:
        UserError, JailWontStart, KeyProblem: what another try would not mend.
    """
    with _Flight[Name](team) as flight:
        source = iter(jobs)
        while True:
            while not (stop and stop.is_set()) and flight.has_room:
                fresh = next(source, None)
                if fresh is None:
                    break
                flight.submit(_Seat(*fresh))
            if not flight.aboard:
                return
            yield from flight.landed()


@dataclass(frozen=True)
class _Seat(Generic[Name]):
    """A job with its name, and how often a process has died over it."""

    name: Name
    job: Job
    deaths: int = 0


class _Flight(Generic[Name]):
    """What is being graded, and what waits to be graded again, one at a time, because a process died while it was there."""

    def __init__(self, team: Team) -> None:
        self._team = team
        self._flying: dict[Future[Graded], tuple[_Seat[Name], Executor]] = {}
        self._suspects: deque[_Seat[Name]] = deque()

    def __enter__(self) -> _Flight[Name]:
        return self

    def __exit__(self, *_: object) -> None:
        for future in self._flying:
            future.cancel()

    @property
    def aboard(self) -> int:
        return len(self._flying) + len(self._suspects)

    @property
    def has_room(self) -> bool:
        places = 2 * self._team.side_by_side  # for each worker one at work, one waiting
        return not self._suspects and len(self._flying) < places

    def submit(self, seat: _Seat[Name]) -> None:
        future, executor = self._team.submit(seat.job)
        self._flying[future] = (seat, executor)

    def landed(self) -> Iterator[tuple[Name, Graded]]:
        """What has ended by now, waiting a moment for it."""
        if self._suspects and not self._flying:
            self.submit(self._suspects.popleft())
        finished, _ = wait(self._flying, timeout=POLL_SECONDS, return_when=FIRST_COMPLETED)
        for future in finished:
            seat, executor = self._flying.pop(future)
            error = future.exception() if not future.cancelled() else RuntimeError("it was cancelled")
            if error is None:
                yield seat.name, future.result()
            elif isinstance(error, (UserError, JailWontStart, KeyProblem)):
                raise error
            else:
                yield from self._again(seat, executor, error)

    def _again(self, seat: _Seat[Name], executor: Executor, error: BaseException) -> Iterator[tuple[Name, Graded]]:
        if isinstance(error, BrokenExecutor):
            self._team.replace(executor)
        if seat.deaths + 1 < TRIES:
            self._suspects.append(replace(seat, deaths=seat.deaths + 1))
        else:
            yield seat.name, ungraded(seat.job, f"grading it failed {TRIES} times ({type(error).__name__}: {error})")
