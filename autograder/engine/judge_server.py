"""Runs in the warm process, which forks judges, and in each judge, which alone reads what a submission sent and compares it.

Facts are computed from data that a student made: a regular expression of theirs, or shapes that multiply, may take any time and memory. So each
judge has limits of both, and can be killed. `judging` starts the warm process and asks the judges.
"""

from __future__ import annotations

import contextlib
import ctypes
import gc
import json
import os
import resource
import signal
import socket
import struct
from collections.abc import Sequence
from dataclasses import astuple
from functools import cache
from pathlib import Path
from typing import Any

from autograder.engine import names, outputs
from autograder.keys.problem import KeyProblem
from autograder.reference import compute, stored
from autograder.reference.draws import Seeds
from ffnlab.checking import comparison
from ffnlab.checking.comparison import Inputs
from ffnlab.observation import hidden_parameters, plain_data
from ffnlab.observation.exercise import Aspect
from ffnlab.observation.plain_data import Failure
from ffnlab.registry import active_course
from ffnlab.untrusted_text import clean

# Which judge to end (0: none); the new one's memory in bytes and seconds.
FORK = struct.Struct("<iqd")
# The new judge's process number, and how the old one ended.
FORK_REPLY = struct.Struct("<ii")
# Bytes of a request's header and of the frame behind it.
HEADER = struct.Struct(">II")
# A judge's first byte: it has all that it needs, or it says what is wrong on our side.
READY, PROBLEM = b"r", b"p"
# Bytes: outputs are the largest, and `outputs` bounds them.
MAX_REPLY = 64 * 2**20
# A judge's exit status.
OUT_OF_MEMORY = 3
# Of Linux's prctl: the signal that a process gets when its parent ends.
PR_SET_PDEATHSIG = 1
# What a submission can make torch's default.
OTHER_DTYPES = ("float64", "float16", "bfloat16")


def main(control: int) -> None:
    """Fork judges on request until whoever started this goes away."""
    import torch

    torch.set_num_threads(1)
    _serve_fork_requests(socket.socket(fileno=control))


def run_fork_server(control: socket.socket) -> None:
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
            sizes = HEADER.unpack(read_exactly(channel, HEADER.size))
            header, body = (read_exactly(channel, size) for size in sizes)
            request = json.loads(header)
            try:
                comparison_data = _load_reference(request)
            except Exception as error:  # ours: nothing of the student's has been looked at
                kind = "key" if isinstance(error, KeyProblem) else type(error).__name__
                _send_reply(channel, {"kind": kind, "says": str(error)}, PROBLEM)
                continue
            signal.setitimer(signal.ITIMER_PROF, seconds)  # its signal ends this process, whatever that is busy with
            channel.sendall(READY)
            reply = _answer(request, body, comparison_data)
            seconds_left, _ = signal.setitimer(signal.ITIMER_PROF, 0)
            _send_reply(channel, reply | {"seconds": seconds - seconds_left})
    except OSError:
        pass  # nobody asks any more
    except MemoryError:
        os._exit(OUT_OF_MEMORY)
    finally:
        os._exit(1)


ComparisonData = tuple[comparison.ReferenceOutputs, list[Inputs]]


def _load_reference(request: dict[str, Any]) -> ComparisonData | None:
    """What a request needs that is not the student's, made once."""
    if request["do"] != "judge":
        return None
    name, seeds = request["exercise"], tuple(request["seeds"])
    if "reference" in request:
        file, entries = request["reference"]
        stored.load_file(Path(file), tuple((exercise, tuple(numbers)) for exercise, numbers in entries))
    return compute.reference_outputs(name, seeds), _inputs(name, seeds)


@cache
def _inputs(name: str, seeds: Seeds) -> list[Inputs]:
    return compute.inputs(active_course().exercise(name), seeds)


def _answer(request: dict[str, Any], body: bytes, comparison_data: ComparisonData | None) -> dict[str, Any]:
    """What is asked of a judge: the names in some cells, what a cell has shown, or a verdict. body: what came from the student's side."""
    if request["do"] == "names":
        return _names_of_cells(body)
    if comparison_data is None:
        return outputs.read(body, request["most"])
    return _judge(request["exercise"], body, *comparison_data)


def _names_of_cells(body: bytes) -> dict[str, Any]:
    """The names that each cell uses and defines, and why one can't be compiled."""
    found = map(names.of_source, json.loads(body))
    return {"names": [[sorted(cell.uses), sorted(cell.defines), cell.problem] for cell in found]}


def _judge(
    name: str, body: bytes, reference_outputs: comparison.ReferenceOutputs, inputs: list[Inputs]
) -> dict[str, Any]:
    """The verdict on what the probes of an exercise observed, with what else came beside it."""
    exercise = active_course().exercise(name)
    aspects = len(inputs) * len(exercise.aspects)
    # Of each observation, and one for what surrounds them.
    most = plain_data.Size(*((aspects + 1) * limit for limit in astuple(plain_data.MAX_OBSERVATION)))
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
    names = {aspect.name for aspect in aspects}
    return (
        isinstance(observations, list)
        and len(observations) == cases
        and all(isinstance(case, dict) and set(case) - {hidden_parameters.KEY} == names for case in observations)
    )


# Between this process and the one that grades: lengths, then JSON, then the frame as it came.


def _send_reply(channel: socket.socket, reply: dict[str, Any], first: bytes = b"") -> None:
    data = json.dumps(reply).encode()
    channel.sendall(first + struct.pack(">I", len(data)) + data)


def read_reply(channel: socket.socket) -> dict[str, Any]:
    """What `_send_reply` has sent. Raises OSError where the other side is gone, or sends too much."""
    (length,) = struct.unpack(">I", read_exactly(channel, 4))
    if length > MAX_REPLY:
        raise ConnectionError("the reply is too long")
    return json.loads(read_exactly(channel, length))  # type: ignore[no-any-return]


def read_exactly(channel: socket.socket, count: int) -> bytes:
    """So many bytes. Raises OSError where the other side ends before."""
    parts = bytearray()
    while len(parts) < count:
        part = channel.recv(min(count - len(parts), 1 << 20))
        if not part:
            raise ConnectionError("the other side is gone")
        parts += part
    return bytes(parts)
