"""In a worker process: one submission after the other is graded in a jail that it shares with others or makes itself. Called by pool."""

from __future__ import annotations

import contextlib
import gc
import itertools
import multiprocessing
import os
import signal
import threading
import time
from collections.abc import Iterator, Sequence
from dataclasses import dataclass, field
from multiprocessing.connection import Connection
from multiprocessing.connection import wait as wait_for
from multiprocessing.sharedctypes import Synchronized
from pathlib import Path

import torch

from autograder.engine import judging
from autograder.engine.grade_submission import grade_submission
from autograder.engine.graded_submission import GradedSubmission
from autograder.engine.job import TRIES, Job, build_ungraded
from autograder.errors import UserError
from autograder.jail.errors import JailBroken, JailRefuses, JailWontStart, OutsideKill
from autograder.jail.limits import Limits
from autograder.jail.sandbox import Jail, JailClient, Mode
from autograder.jail.watch import PATIENCE
from autograder.reference import draws

# A job may take this many times a submission's limit by the wall's clock: running it PATIENCE times, judging it too.
OVERTIME = 2 * PATIENCE


def grade_job(job: Job) -> GradedSubmission:
    """Grade one submission in this process's jail; where the jail breaks, again in a new one; in the end leave it to a person.

    Raises:
        UserError: this worker's copy of the course is not the conductor's. JailWontStart: there is no jail to be had here. OutsideKill: try it
        again when nothing else is being graded, as memory may have run out.
    """
    torch.set_num_threads(1)
    if draws.key_version(job.assignment) != job.key:
        raise UserError("a worker has another version of the course than this machine: install the same one on both")
    failure: JailBroken | None = None
    killed = False
    for _ in range(TRIES):
        try:
            with _deadlines.of(OVERTIME * job.limits.submission_seconds), _free_jail(job.limits, job.mode) as jail:
                certain = jail.knows_outside_kills
                graded_submission = grade_submission(
                    job.assignment, job.data, jail, job.seeds, job.only, job.reference_file, killed
                )
                if killed:
                    graded_submission.remarks.append(
                        "graded a second time: the first time something ended its process by SIGKILL, itself or another program"
                    )
                if job.mode is not Mode.BUBBLEWRAP:
                    graded_submission.remarks.append(f"graded with --jail={job.mode}")
                return graded_submission
        except JailRefuses:
            raise
        except OutsideKill as error:
            if certain:
                raise
            failure, killed = error, True
        except JailBroken as error:
            failure = error
    if isinstance(failure, JailWontStart):
        raise failure
    return build_ungraded(job, str(failure))


class _Deadlines:
    """Until when the jobs of this process must be done. The kernel's own timer ends the process then, whatever it is busy with: its
    submissions are tried again elsewhere. All that a submission does has limits of its own; this is for what nobody has thought of.
    """

    def __init__(self) -> None:
        self._numbers = itertools.count()
        self._running: dict[int, float] = {}
        self._lock = threading.Lock()

    @contextlib.contextmanager
    def of(self, seconds: float) -> Iterator[None]:
        """One job's, by the wall's clock."""
        with self._lock:
            number = next(self._numbers)
            self._running[number] = time.monotonic() + seconds
            self._set()
        try:
            yield
        finally:
            with self._lock:
                del self._running[number]
                self._set()

    def _set(self) -> None:
        """SIGALRM, for which nobody here has a handler, at the first deadline of all."""
        first = min(self._running.values(), default=None)
        signal.setitimer(signal.ITIMER_REAL, 0 if first is None else max(0.001, first - time.monotonic()))


_deadlines = _Deadlines()


@dataclass
class _Jails:
    """The gates of this process that nobody is using: in a pool's process one to a jail that several share, under Dask one a thread, to its own jail."""

    free: list[JailClient] = field(default_factory=list)
    private: Sequence[Path] = ()  # what a jail made here must hide
    also: Sequence[str] = ()  # modules that it imports besides the usual ones
    lock: threading.Lock = field(default_factory=threading.Lock)


_jails = _Jails()


@contextlib.contextmanager
def _free_jail(limits: Limits, mode: Mode) -> Iterator[JailClient]:
    """A gate to a warm jail of this kind, kept for the next submission; a broken one is closed, and those of another kind, which are of earlier
    commands.
    """
    with _jails.lock:
        matches = [jail for jail in _jails.free if (jail.limits, jail.mode) == (limits, mode)]
        others = [jail for jail in _jails.free if jail not in matches]
        jail = matches.pop() if matches else None
        _jails.free = matches
        setup = _jails.private, _jails.also
    for other in others:
        other.close()
    jail = jail or Jail(limits, mode, True, *setup)
    try:
        yield jail
    except OutsideKill:
        with _jails.lock:
            _jails.free.append(jail)
        raise
    except BaseException:
        jail.close()
        raise
    with _jails.lock:
        if setup == (_jails.private, _jails.also):
            _jails.free.append(jail)
            return
    jail.close()


def warm_up(limits: Limits, mode: Mode, private: Sequence[Path], also: Sequence[str]) -> None:
    """Have a jail and a judge ready, and try whether they work. Every jail made from now on hides `private`, besides what earlier ones had to hide.

    Raises:
        JailBroken, Overrun: they don't.
    """
    with _jails.lock:
        setup = tuple(dict.fromkeys((*_jails.private, *private))), tuple(dict.fromkeys((*_jails.also, *also)))
        old_jails: list[JailClient] = []
        if setup != (_jails.private, _jails.also):
            old_jails, _jails.free = _jails.free, []
            _jails.private, _jails.also = setup
    for jail in old_jails:
        jail.close()
    judging.start_judges()  # becomes warm while the jail does
    for trial in range(1, TRIES + 1):
        try:
            with _free_jail(limits, mode) as free, judging.borrow_judge(limits) as judge, free.worker() as fork:
                judge.outputs(fork.run_unread("pass"), limits.output)
                return
        except JailWontStart:
            raise
        except JailBroken:
            if trial == TRIES:
                raise


def start(gates: list[JailClient], counter: Synchronized[int], end: Connection, private: Sequence[Path]) -> None:
    """Become a worker of a pool: take one of the `gates`, of which each worker takes another; end when `end` does."""
    gc.freeze()  # a collection would touch, and so copy, all that the fork server has imported
    signal.signal(signal.SIGINT, signal.SIG_IGN)
    judging.start_judges(fork=True)  # while there is one thread
    threading.Thread(target=_end_with_conductor, args=(end,), daemon=True).start()
    with counter.get_lock():
        place = counter.value % len(gates)
        counter.value += 1
    _jails.private = private
    _jails.free.append(gates.pop(place))
    for other in gates:
        other.close()


def _end_with_conductor(lifeline: Connection) -> None:
    """End at once when the conductor has ended, or has let go of the line to its workers."""
    conductor = multiprocessing.parent_process()
    assert conductor is not None
    wait_for([conductor.sentinel, lifeline])
    os._exit(1)  # its judges and the jail end with the process that started them
