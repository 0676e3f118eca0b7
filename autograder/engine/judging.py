"""Runs in the process that grades: it asks a judge, which is a process of its own, to read what a submission sent and to compare it.

Whoever grades passes the frame on unread and gets back a verdict in a few plain words. A judge that ends over a frame is replaced, and asked once
more; whatever ends two judges is the submission's own doing and costs that one exercise. Nothing that a submission sends makes a judge end by SIGKILL:
whoever sends that ends the judge from outside, and costs nobody anything.

One warm process (`Judges`) forks the judges, so that a new one is there in milliseconds. A pool's process forks it from itself when it starts,
when it has one thread and everything imported; elsewhere (threads, Dask) it is a program of its own. Judges end with it, and it ends with whoever
started it, however that ends. What the warm process and the judges run is `judge_server`.
"""

from __future__ import annotations

import atexit
import contextlib
import copy
import hashlib
import json
import os
import signal
import socket
import struct
import subprocess
import sys
import threading
from collections.abc import Iterator, Sequence
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any, Generic, TypeVar

import ffnlab
from autograder.engine import judge_server, names, outputs
from autograder.jail.errors import JailBroken, OutsideKill
from autograder.jail.limits import MIB, Limits
from autograder.jail.sandbox import KILLS
from autograder.jail.watch import PATIENCE
from autograder.keys.problem import KeyProblem
from autograder.reference.draws import Seeds, SeedsByExercise
from ffnlab.checking import verdict
from ffnlab.checking.verdict import Verdict
from ffnlab.observation.plain_data import Failure
from ffnlab.registry import active_course

Query = TypeVar("Query")
Reply = TypeVar("Reply")
# Seconds until the warm process has forked.
START_SECONDS = 120.0
# Seconds until a judge has its reference outputs, which some keys compute for a minute: no data of a student's yet.
PREPARE_SECONDS = 3600.0
# A judge that ends by chance costs nobody anything.
TRIES = 2
# Replies of a few kB each.
CACHE_SIZE = 4096
# Characters that may be printed in them, or bytes sent.
MAX_CACHE_LENGTH = 2000
# The warm process where it is a program of its own. Its arguments: where to import from, and the number of the control socket.
PROGRAM = (
    "import json, sys; sys.path[:0] = dict.fromkeys(json.loads(sys.argv[1])); "
    "from autograder.engine import judge_server; judge_server.main(int(sys.argv[2]))"
)


class JudgeBroken(JailBroken):
    """There is no judge to be had: our fault, like a broken jail."""


class NotJudged(Exception):
    """Two judges ended over the same frame; `str()` says how."""


class _JudgeFailure(Exception):
    """A judge ended over a frame; `str()` says how."""


class _JudgeLoss(Exception):
    """A judge ended before it looked at the frame; `str()` says how."""


@dataclass(frozen=True)
class JudgeReply:
    """What a judge says of one answer."""

    verdict: Verdict | None
    printed: str = ""
    defined: bool = True  # whether there is an answer
    broken: Failure | None = None  # why it could not be looked at
    unreadable: str = ""  # why what was sent is no answer
    seconds: float = 0.0  # how long judging took


@dataclass(frozen=True)
class ReferenceSource:
    """Where the reference outputs of an assignment are: in a file of this machine, for these seeds of each exercise."""

    file: Path
    seeds: SeedsByExercise


class Judge:
    """One judge, seen from outside."""

    def __init__(self, judges: Judges, limits: Limits) -> None:
        self.judges = judges
        self.limits = limits
        self.pid = 0  # of its process, or of the last one that has not been replaced yet
        self._channel: socket.socket | None = None

    def judge(
        self, exercise: str, seeds: Seeds, frame: bytes, reference_source: ReferenceSource | None = None
    ) -> JudgeReply:
        """Have judged what a worker sent when it was asked for `exercise` on the draws of `seeds`.

        reference_source: where its reference outputs are; without, or where that file is not, the judge computes them.

        Raises:
            NotJudged: two judges ended over it. JudgeBroken: there is none to be had. KeyProblem: the truth itself raises.
        """
        query = (exercise, seeds, hashlib.blake2b(frame).digest())
        earlier_reply = self.judges.judge_replies.get(query)
        if earlier_reply:
            return earlier_reply
        header: dict[str, Any] = {"do": "judge", "exercise": exercise, "seeds": seeds}
        if reference_source:
            header["reference"] = [str(reference_source.file), list(reference_source.seeds.items())]
        message = self._ask(header, frame)
        reply = JudgeReply(
            verdict=verdict.from_dict(message["verdict"]) if message["verdict"] else None,
            printed=message["printed"],
            defined=message["defined"],
            broken=Failure(*message["broken"]) if message["broken"] else None,
            unreadable=message["unreadable"],
            seconds=message["seconds"],
        )
        if len(reply.printed) <= MAX_CACHE_LENGTH:
            self.judges.judge_replies.put(query, reply)
        return reply

    def outputs(self, frame: bytes, most: int) -> outputs.CellRun:
        """What a cell showed and how it ended, from what a worker sent when it had run it. most: bytes of outputs to keep. Raises as `judge`."""
        query = (most, frame)
        reply = self.judges.cell_runs.get(query)
        if reply is None:
            reply = self._ask({"do": "outputs", "most": most}, frame)
            if len(frame) <= MAX_CACHE_LENGTH:
                self.judges.cell_runs.put(query, reply)
        error = Failure(*reply["error"]) if reply["error"] else None
        return outputs.CellRun(copy.deepcopy(reply["outputs"]), error, tuple(reply["checked"]))

    def names(self, sources: Sequence[str]) -> tuple[list[names.Names], float]:
        """Which names the code of cells takes from the notebook and gives it, and the seconds that it took to find out. Raises as `judge`."""
        message = self._ask({"do": "names"}, json.dumps(sources).encode())
        found = [names.Names(frozenset(uses), frozenset(defines), text) for uses, defines, text in message["names"]]
        return found, message["seconds"]

    def close(self) -> None:
        """The judge ends by itself."""
        if self._channel is not None:
            self._channel.close()
            self._channel = None

    def _ask(self, header: dict[str, Any], body: bytes) -> dict[str, Any]:
        failures = losses = kills = 0
        while True:
            try:
                return self._once(json.dumps(header).encode(), body)
            except _JudgeFailure as failure:
                failures += 1
                if failures == TRIES:
                    raise NotJudged(str(failure)) from None
            except _JudgeLoss as loss:
                losses += 1
                if losses == TRIES:
                    raise JudgeBroken(f"a judge ended before it had looked at anything: {loss}") from None
            except OutsideKill:
                kills += 1
                if kills == TRIES:
                    raise

    def _once(self, header: bytes, body: bytes) -> dict[str, Any]:
        channel = self._channel or self._start()
        channel.settimeout(PREPARE_SECONDS)
        try:
            channel.sendall(judge_server.HEADER.pack(len(header), len(body)) + header)
            channel.sendall(body)
            is_ready = judge_server.read_exactly(channel, 1) != judge_server.PROBLEM
            problem = None if is_ready else judge_server.read_reply(channel)
        except OSError as error:
            raise _JudgeLoss(self._end(late=isinstance(error, TimeoutError))) from None
        if problem:
            if problem["kind"] == "key":
                raise KeyProblem(problem["says"])
            raise JudgeBroken(f"a judge has no reference outputs: {problem['kind']}: {problem['says']}")
        try:
            channel.settimeout(PATIENCE * self.limits.judge_seconds)
            return judge_server.read_reply(channel)
        except TimeoutError:
            self._end(late=True)
            raise _JudgeFailure(self._late()) from None
        except OSError:
            raise _JudgeFailure(self._end()) from None

    def _late(self) -> str:
        return f"judging it takes longer than {self.limits.judge_seconds:g} s"

    def _start(self) -> socket.socket:
        own_end, judge_end = socket.socketpair()
        with judge_end:
            self.pid, _ = self.judges.request(self.pid, judge_end, self.limits)
        self._channel = own_end
        return own_end

    def _end(self, late: bool = False) -> str:
        """Have the judge killed; returns how it had ended, in words. Raises OutsideKill where SIGKILL had, and it was not `late`."""
        self.close()
        pid, self.pid = self.pid, 0
        _, status = self.judges.request(pid)
        if os.WIFSIGNALED(status) and os.WTERMSIG(status) in KILLS and not late:
            raise OutsideKill(
                "SIGKILL from outside ended the process that judges it; the kernel does that when memory runs out"
            )
        if os.WIFSIGNALED(status) and os.WTERMSIG(status) == signal.SIGPROF:
            return self._late()
        if os.WIFEXITED(status) and os.WEXITSTATUS(status) == judge_server.OUT_OF_MEMORY:
            return f"judging it takes more than {self.limits.judge_memory // MIB:,} MiB of memory"
        return "the process that judges it crashes"


class _BoundedCache(Generic[Query, Reply]):
    """What judges said of the last few thousand things that were sent. Many of a class send the same bytes: a right answer's, or a cell's that shows nothing.
    What is said of them depends on nothing else, the seconds that judging takes included, so that the budget of a submission does not depend on others.
    """

    def __init__(self) -> None:
        self._replies: dict[Query, Reply] = {}
        self._lock = threading.Lock()

    def get(self, query: Query) -> Reply | None:
        """What was said of it, if it has been kept."""
        return self._replies.get(query)

    def put(self, query: Query, reply: Reply) -> None:
        """Keep it, for as long as there is room."""
        with self._lock:
            self._replies[query] = reply
            if len(self._replies) > CACHE_SIZE:
                del self._replies[next(iter(self._replies))]


class Judges:
    """The warm process that forks judges, for all threads of this process. `fork`: from this process, which must have one thread only."""

    def __init__(self, fork: bool = False) -> None:
        self.judge_replies = _BoundedCache[tuple[str, Seeds, bytes], JudgeReply]()
        self.cell_runs = _BoundedCache[tuple[int, bytes], dict[str, Any]]()
        self._lock = threading.Lock()
        self._control, inside = socket.socketpair(socket.AF_UNIX, socket.SOCK_SEQPACKET)
        self._control.settimeout(START_SECONDS)
        self._process: subprocess.Popen[bytes] | None = None
        with inside:
            if fork:
                if os.fork() == 0:
                    judge_server.run_fork_server(inside)
            else:
                course = active_course()
                roots = (Path(__file__).resolve().parents[2], Path(ffnlab.__file__).resolve().parents[1])
                places = [*map(str, (*roots, course.import_folder, course.keys_import_folder))]
                self._process = subprocess.Popen(
                    [sys.executable, "-I", "-c", PROGRAM, json.dumps(places), str(inside.fileno())],
                    pass_fds=[inside.fileno()],
                    stdin=subprocess.DEVNULL,
                    stdout=subprocess.DEVNULL,
                    stderr=subprocess.DEVNULL,
                    start_new_session=True,  # Ctrl-C is for whoever started it
                )

    def request(self, end: int, channel: socket.socket | None = None, limits: Limits | None = None) -> tuple[int, int]:
        """End the judge of that process number (0: none), and fork one that serves `channel`. Returns the new one's number and the old one's status."""
        memory = limits.judge_memory if limits else 0
        seconds = limits.judge_seconds if limits else 0.0
        message = judge_server.FORK.pack(end, memory, seconds)
        try:
            with self._lock:
                socket.send_fds(self._control, [message], [channel.fileno()] if channel else [])
                pid, status = judge_server.FORK_REPLY.unpack(self._control.recv(judge_server.FORK_REPLY.size))
        except (OSError, struct.error) as error:
            raise JudgeBroken(f"the warm process of the judges is gone ({error})") from None
        return pid, status

    def close(self) -> None:
        """End the warm process, and every judge with it."""
        self._control.close()
        if self._process:
            self._process.wait()


@dataclass
class _ProcessState:
    """The judges of this process, and those that nobody is asking at the moment."""

    judges: Judges | None = None
    free: list[Judge] = field(default_factory=list)
    lock: threading.Lock = field(default_factory=threading.Lock)


_state = _ProcessState()


def start_judges(fork: bool = False) -> None:
    """Start the warm process, unless it runs. `fork`: from this process, while it has one thread only."""
    with _state.lock:
        _ensure_judges(fork)


def _ensure_judges(fork: bool = False) -> Judges:
    """The warm process, started if there is none. Whoever calls this holds the lock: another thread may find it broken at any time."""
    if _state.judges is None:
        _state.judges = Judges(fork)
        atexit.register(_state.judges.close)
    return _state.judges


@contextlib.contextmanager
def borrow_judge(limits: Limits) -> Iterator[Judge]:
    """A judge with these limits, for one submission; kept for the next one.

    Raises:
        JudgeBroken: within the context: the judges are started anew when the next one is asked for.
    """
    with _state.lock:
        judges = _ensure_judges()
        candidates = [free for free in _state.free if free.limits == limits]
        if candidates:
            judge = candidates[0]
            _state.free.remove(judge)
        else:
            judge = Judge(judges, limits)
    try:
        yield judge
    except JudgeBroken:
        with _state.lock:
            if judge.judges is _state.judges:  # not those that another thread has started anew meanwhile
                _state.judges, _state.free = None, []
        raise
    except BaseException:
        judge.close()  # in the middle of a request, perhaps
        raise
    finally:
        with _state.lock:
            if judge.judges is _state.judges:
                _state.free.append(judge)
