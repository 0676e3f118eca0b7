"""A judge in a process of its own, which can be killed: it alone reads what a submission sent, and compares it, within limits of time and memory.

Facts are computed from data that a student made: a regular expression of theirs, or shapes that multiply, may take any time and memory. Whoever
grades passes the frame on unread and gets back a verdict in a few plain words. A judge that ends over a frame is replaced, and asked once more;
whatever ends two judges is the submission's own doing and costs that one exercise. Nothing that a submission sends makes a judge end by SIGKILL: whoever
sends that ends the judge from outside, and costs nobody anything.

One warm process (`Judges`) forks the judges, so that a new one is there in milliseconds. A pool's process forks it from itself when it starts,
when it has one thread and everything imported; elsewhere (threads, Dask) it is a program of its own. Judges end with it, and it ends with whoever
started it, however that ends.
"""

from __future__ import annotations

import atexit
import contextlib
import copy
import ctypes
import gc
import hashlib
import json
import os
import resource
import signal
import socket
import struct
import subprocess
import sys
import threading
from collections.abc import Iterator, Sequence
from dataclasses import astuple, dataclass, field
from functools import cache
from pathlib import Path
from typing import Any, Generic, TypeVar

import ffnlab
from autograder.engine import names, outputs
from autograder.jail.errors import JailBroken, OutsideKill
from autograder.jail.limits import MIB, Limits
from autograder.jail.sandbox import KILLS
from autograder.jail.watch import PATIENCE
from autograder.keys.problem import KeyProblem
from autograder.reference import compute, draws, stored
from ffnlab.checking import comparison, verdict
from ffnlab.checking.comparison import Inputs
from ffnlab.checking.verdict import Verdict
from ffnlab.observation import plain_data
from ffnlab.observation.exercise import Aspect
from ffnlab.observation.plain_data import Failure
from ffnlab.registry import active_course
from ffnlab.untrusted_text import clean

Seeds = tuple[int, ...]
Query = TypeVar("Query")
Reply = TypeVar("Reply")
START_SECONDS = 120.0  # until the warm process has forked
PREPARE_SECONDS = (
    3600.0  # until a judge has its reference outputs, which some keys compute for a minute: no data of a student's yet
)
MAX_REPLY = 64 * 2**20  # bytes: outputs are the largest, and bounded below
PR_SET_PDEATHSIG = 1
HEADER = struct.Struct(">II")  # bytes of a request's header and of the frame behind it
FORK = struct.Struct("<iqd")  # which judge to end (0: none); the new one's memory in bytes and seconds
FORK_REPLY = struct.Struct("<ii")  # the new judge's process number, and how the old one ended
READY, PROBLEM = b"r", b"p"
TRIES = 2  # a judge that ends by chance costs nobody anything
OUT_OF_MEMORY = 3
OTHER_DTYPES = ("float64", "float16", "bfloat16")  # that a submission can make torch's default
CACHE_SIZE = 4096  # replies of a few kB each
MAX_CACHE_LENGTH = 2000  # characters that may be printed in them, or bytes sent


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
    """What a judge says of one answer. `defined`: whether there is one; `broken`: why it could not be looked at; `unreadable`: why what was sent is no answer.

    seconds: how long judging took.
    """

    verdict: Verdict | None
    printed: str = ""
    defined: bool = True
    broken: Failure | None = None
    unreadable: str = ""
    seconds: float = 0.0


@dataclass(frozen=True)
class ReferenceSource:
    """Where the reference outputs of an assignment are: in a file of this machine, for these seeds of each exercise."""

    file: Path
    seeds: draws.Seeds


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
            verdict.from_dict(message["verdict"]) if message["verdict"] else None,
            message["printed"],
            message["defined"],
            Failure(*message["broken"]) if message["broken"] else None,
            message["unreadable"],
            message["seconds"],
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
            channel.sendall(HEADER.pack(len(header), len(body)) + header)
            channel.sendall(body)
            problem = _message(channel) if _exactly(channel, 1) == PROBLEM else None
        except OSError as error:
            raise _JudgeLoss(self._end(late=isinstance(error, TimeoutError))) from None
        if problem:
            if problem["kind"] == "key":
                raise KeyProblem(problem["says"])
            raise JudgeBroken(f"a judge has no reference outputs: {problem['kind']}: {problem['says']}")
        try:
            channel.settimeout(PATIENCE * self.limits.judge_seconds)
            return _message(channel)
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
        if os.WIFEXITED(status) and os.WEXITSTATUS(status) == OUT_OF_MEMORY:
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
                    _run_fork_server(inside)
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
        message = FORK.pack(end, limits.judge_memory if limits else 0, limits.judge_seconds if limits else 0.0)
        try:
            with self._lock:
                socket.send_fds(self._control, [message], [channel.fileno()] if channel else [])
                pid, status = FORK_REPLY.unpack(self._control.recv(FORK_REPLY.size))
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
        if _state.judges is None:
            _state.judges = Judges(fork)
            atexit.register(_state.judges.close)


@contextlib.contextmanager
def borrow_judge(limits: Limits) -> Iterator[Judge]:
    """A judge with these limits, for one submission; kept for the next one.

    Raises:
        JudgeBroken: within the context: the judges are started anew when the next one is asked for.
    """
    start_judges()
    with _state.lock:
        candidates = [free for free in _state.free if free.limits == limits]
        if candidates:
            judge = candidates[0]
            _state.free.remove(judge)
        else:
            assert _state.judges
            judge = Judge(_state.judges, limits)
    try:
        yield judge
    except JudgeBroken:
        with _state.lock:
            _state.judges, _state.free = None, []
        raise
    except BaseException:
        judge.close()  # in the middle of a request, perhaps
        raise
    finally:
        with _state.lock:
            if judge.judges is _state.judges:
                _state.free.append(judge)


# The warm process, and the judges that it forks.

PROGRAM = (
    "import json, sys; sys.path[:0] = dict.fromkeys(json.loads(sys.argv[1])); "
    "from autograder.engine import judging; judging.main(int(sys.argv[2]))"
)


def main(control: int) -> None:
    """Fork judges on request until whoever started this goes away."""
    import torch

    torch.set_num_threads(1)
    _serve_fork_requests(socket.socket(fileno=control))


def _run_fork_server(control: socket.socket) -> None:
    """In a fork: forget what the process had open, and serve. Never returns."""
    with contextlib.suppress(BaseException):
        for number in map(int, os.listdir("/proc/self/fd")):
            if number > 2 and number != control.fileno():
                with contextlib.suppress(OSError):
                    os.close(number)
        _serve_fork_requests(control)
    os._exit(0)


def _serve_fork_requests(control: socket.socket) -> None:
    gc.freeze()  # a collection in a judge would touch, and so copy, all that was imported here
    while True:
        message, numbers, _, _ = socket.recv_fds(control, FORK.size, 1)
        if not message:
            return
        end, memory, seconds = FORK.unpack(message)
        status = 0
        if end:
            with contextlib.suppress(OSError):
                os.kill(end, signal.SIGKILL)
                status = os.waitpid(end, 0)[1]
        pid = 0
        if numbers:
            warm = os.getpid()
            pid = os.fork()
            if pid == 0:
                control.close()
                _serve(socket.socket(fileno=numbers[0]), warm, memory, seconds)
            os.close(numbers[0])
        control.send(FORK_REPLY.pack(pid, status))


def _serve(channel: socket.socket, warm: int, memory: int, seconds: float) -> None:
    """Be a judge until the channel closes. Never returns."""
    try:
        ctypes.CDLL(None).prctl(PR_SET_PDEATHSIG, signal.SIGKILL)
        if os.getppid() != warm:
            return
        mapped_bytes = int(Path("/proc/self/statm").read_text().split()[0]) * resource.getpagesize()
        resource.setrlimit(resource.RLIMIT_AS, (mapped_bytes + memory, mapped_bytes + memory))
        resource.setrlimit(resource.RLIMIT_CORE, (0, 0))
        while True:
            sizes = HEADER.unpack(_exactly(channel, HEADER.size))
            header, body = (_exactly(channel, size) for size in sizes)
            request = json.loads(header)
            try:
                comparison_data = _load_reference(request)
            except Exception as error:  # ours: nothing of the student's has been looked at
                kind = "key" if isinstance(error, KeyProblem) else type(error).__name__
                _send_reply(channel, {"kind": kind, "says": str(error)}, PROBLEM)
                continue
            signal.setitimer(signal.ITIMER_PROF, seconds)  # its signal ends this process, whatever that is busy with
            channel.sendall(READY)
            reply = _compare(request, body, comparison_data)
            seconds_left, _ = signal.setitimer(signal.ITIMER_PROF, 0)
            _send_reply(channel, reply | {"seconds": seconds - seconds_left})
    except OSError:
        pass  # nobody asks any more
    except MemoryError:
        os._exit(OUT_OF_MEMORY)
    finally:
        os._exit(1)


def _load_reference(request: dict[str, Any]) -> tuple[comparison.ReferenceOutputs, list[Inputs]] | None:
    """What a request needs that is not the student's, made once."""
    if request["do"] != "judge":
        return None
    name, seeds = request["exercise"], tuple(request["seeds"])
    if "reference" in request:
        file, entries = request["reference"]
        stored.load(Path(file), tuple((exercise, tuple(numbers)) for exercise, numbers in entries))
    return compute.reference_outputs(name, seeds), _inputs(name, seeds)


@cache
def _inputs(name: str, seeds: Seeds) -> list[Inputs]:
    return compute.inputs(active_course().exercise(name), seeds)


def _compare(
    request: dict[str, Any], body: bytes, comparison_data: tuple[comparison.ReferenceOutputs, list[Inputs]] | None
) -> dict[str, Any]:
    if request["do"] == "names":
        found = map(names.of_source, json.loads(body))
        return {"names": [[sorted(one.uses), sorted(one.defines), one.problem] for one in found]}
    if comparison_data is None:
        return outputs.read(body, request["most"])
    exercise = active_course().exercise(request["exercise"])
    reference_outputs, inputs = comparison_data
    aspects = len(inputs) * len(exercise.aspects)
    most = plain_data.Size(
        *((aspects + 1) * each for each in astuple(plain_data.MAX_OBSERVATION))
    )  # and one for what surrounds them
    empty_reply: dict[str, Any] = {"verdict": None, "printed": "", "defined": True, "broken": None, "unreadable": ""}
    try:
        message = plain_data.unpack(body, most)
    except plain_data.Malformed as error:
        return empty_reply | {"unreadable": str(error)}
    fields = message if isinstance(message, dict) else {}
    printed_text = fields.get("printed")
    reply = empty_reply | {
        "printed": clean(printed_text) if isinstance(printed_text, str) else "",
        "defined": fields.get("defined") is True,
        "broken": _texts(fields.get("broken")),
    }
    observations = fields.get("observations")
    if reply["defined"] and _is_well_formed(observations, exercise.aspects, len(inputs)):
        is_unfinished, dtype = fields.get("unfinished") is True, fields.get("default_dtype")
        reply["verdict"] = comparison.compare(
            exercise,
            reference_outputs,
            observations,  # type: ignore[arg-type]
            inputs,
            is_unfinished,
            dtype if dtype in OTHER_DTYPES else comparison.FLOAT32,
        ).as_dict()
    elif reply["defined"] and not reply["broken"]:
        reply["unreadable"] = "there is not one observation for each probe"
    return reply


def _texts(failure: object) -> list[str] | None:
    return [failure.type, failure.message, failure.line] if isinstance(failure, Failure) else None


def _is_well_formed(observations: object, aspects: Sequence[Aspect], cases: int) -> bool:
    return (
        isinstance(observations, list)
        and len(observations) == cases
        and all(isinstance(case, dict) and set(case) == {a.name for a in aspects} for case in observations)
    )


# Between the two: lengths, then JSON, then the frame as it came.


def _send_reply(channel: socket.socket, reply: dict[str, Any], first: bytes = b"") -> None:
    data = json.dumps(reply).encode()
    channel.sendall(first + struct.pack(">I", len(data)) + data)


def _message(channel: socket.socket) -> dict[str, Any]:
    (length,) = struct.unpack(">I", _exactly(channel, 4))
    if length > MAX_REPLY:
        raise ConnectionError("the reply is too long")
    return json.loads(_exactly(channel, length))  # type: ignore[no-any-return]


def _exactly(channel: socket.socket, count: int) -> bytes:
    parts = bytearray()
    while len(parts) < count:
        part = channel.recv(min(count - len(parts), 1 << 20))
        if not part:
            raise ConnectionError("the other side is gone")
        parts += part
    return bytes(parts)
