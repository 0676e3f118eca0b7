"""Outside the jail, in the process that holds it: starts bubblewrap with the warm process in it, and hands out its forks, one for each submission."""

from __future__ import annotations

import contextlib
import json
import os
import shutil
import signal
import socket
import struct
import subprocess
import sys
import time
from collections.abc import Iterator, Sequence
from dataclasses import asdict
from enum import StrEnum
from pathlib import Path
from types import TracebackType
from typing import Any, Self

from autograder.jail import cgroups, mounts, resources, seccomp, users, wire
from autograder.jail.errors import JailBroken, JailRefuses, JailWontStart, OutsideKill, Overrun
from autograder.jail.limits import MIB, Limits
from autograder.jail.watch import PATIENCE, Budget, Watch
from ffnlab.registry import VARIABLE, active_course

START_SECONDS = 120.0
# Of whoever sent a message: its process's number as the kernel translates it for us, user and group.
CREDENTIALS = struct.Struct("3i")
KILLS = (signal.SIGKILL, signal.SIGTERM)  # what whoever wants memory back sends
ESCAPE_BYTES = 14  # bytes of a frame that one character of an output can take
HEADROOM = 65_536  # bytes of a frame beside outputs or observations


class Mode(StrEnum):
    """How student code is kept in."""

    BUBBLEWRAP = "bubblewrap"  # namespaces, no network, no other files: the jail
    CONTAINER = "container"  # a container of yours around all of this; here only a second user, who can't read the keys
    NONE = "none"  # nothing but time and memory limits: for submissions that you trust


PROGRAM = (
    "import gc, json, sys; gc.disable(); sys.path[:0] = json.loads(sys.argv.pop(1)); "
    "from autograder.jail import warm_process; from autograder.jail.limits import Limits; "
    "control, mode, limits, *rest = map(json.loads, sys.argv[1:]); warm_process.main(control, mode, Limits(**limits), *rest)"
)
SETTINGS = {  # of the environment; beside them the course
    "PATH": f"{Path(sys.prefix).resolve()}/bin:/usr/bin:/bin", "HOME": "/tmp", "USER": "student", "LANG": "C.UTF-8",
    "MPLCONFIGDIR": "/tmp/matplotlib", "IPYTHONDIR": "/tmp/ipython", "MPLBACKEND": "agg", "TORCHINDUCTOR_CACHE_DIR": "/tmp",
    "OMP_NUM_THREADS": "1", "MKL_NUM_THREADS": "1", "OPENBLAS_NUM_THREADS": "1", "PYTHONDONTWRITEBYTECODE": "1",
}  # fmt: skip


def _settings() -> dict[str, str]:
    return SETTINGS | {VARIABLE: active_course().package}


def _program(*arguments: object) -> list[str]:
    """The command line of the warm process. The arguments are warm_process.main's."""
    python = str(Path(sys.prefix) / "bin" / "python")
    places = dict.fromkeys(map(str, (mounts.JAIL.parents[1], mounts.FFNLAB.parent, active_course().import_folder)))
    return [python, "-I", "-B", "-c", PROGRAM, *(json.dumps(argument) for argument in ([*places], *arguments))]


def _in_bubblewrap(program: list[str], namespace: int, limits: Limits, private: Sequence[Path]) -> list[str]:
    """The command line that runs it with a disk of its own, as user 0 of the user namespace, and shares nothing."""
    bwrap = shutil.which("bwrap")
    if bwrap is None:
        raise JailWontStart("bubblewrap is not installed: `apt-get install bubblewrap` (or your system's package)")
    settings = [part for name, value in _settings().items() for part in ("--setenv", name, value)]
    capabilities = ("CAP_SYS_ADMIN", "CAP_SETPCAP", "CAP_SETUID", "CAP_SETGID")
    return [
        bwrap, "--userns", str(namespace), "--uid", "0", "--gid", "0", "--unshare-ipc", "--unshare-pid", "--unshare-net",
        "--unshare-uts", "--hostname", "jail", "--die-with-parent", "--new-session", "--clearenv",
        *settings, *mounts.options(private, limits.tmp), "--chdir", "/tmp", "--cap-drop", "ALL",
        *(part for name in capabilities for part in ("--cap-add", name)), *program,
    ]  # fmt: skip


class JailClient:
    """The way to a warm process, which forks for whoever asks. It can be handed to another process while that is being started."""

    def __init__(
        self, control: socket.socket, limits: Limits, mode: Mode, groups: cgroups.Groups | None = None
    ) -> None:
        self._control = control
        self.limits = limits
        self.mode = mode
        self.groups = groups

    @property
    def knows_outside_kills(self) -> bool:
        """Whether no submission can end its own fork by SIGKILL. The fork is the first process of its pid namespace, and the kernel ends that by
        SIGKILL from outside alone, except for a limit on its CPU time or a signal that passes for the kernel's, both of which seccomp refuses.
        """
        return self.mode is Mode.BUBBLEWRAP and seccomp.is_supported()

    def close(self) -> None:
        """Ask for nothing more."""
        self._control.close()

    @contextlib.contextmanager
    def worker(self) -> Iterator[JailFork]:
        """A fresh fork; when the context ends, it and everything it started end."""
        with self.fork() as worker:
            yield worker

    def fork(self, budget: Budget | None = None) -> JailFork:
        """A fresh fork. `budget`: what its submission may still spend, shared with the forks before it; when it is spent, there is no fork, and
        every request says so.

        Raises:
            JailBroken: the warm process is gone, or the fork could not be isolated. JailRefuses: no fork of it ever could.
        """
        budget = budget or Budget(self.limits)
        start = time.monotonic()
        budget.restarts -= 1
        if budget.overspent():
            return JailFork(None, None, self.limits, budget)
        worker = self._request_fork(budget)
        if budget.restarts < self.limits.restarts:  # the first fork is on us
            budget.left -= time.monotonic() - start
        return worker

    def _request_fork(self, budget: Budget) -> JailFork:
        with contextlib.ExitStack() as undo, contextlib.ExitStack() as transfer:
            try:
                own_end, fork_end = socket.socketpair()
                undo.callback(own_end.close)
                transfer.callback(fork_end.close)
                ending, to_tell = os.pipe()
                undo.callback(os.close, ending)
                transfer.callback(os.close, to_tell)
            except OSError as error:
                raise JailBroken(f"this process can't open another file ({error.strerror})") from None
            own_end.setsockopt(socket.SOL_SOCKET, socket.SO_PASSCRED, 1)
            own_end.settimeout(START_SECONDS)
            self._control.settimeout(START_SECONDS)
            group = self.groups.make() if self.groups else None
            if group:
                undo.callback(group.close)
            try:
                numbers = [fork_end.fileno(), to_tell, *([group.number] if group else [])]
                socket.send_fds(self._control, [b"f"], numbers)
                transfer.close()
                first, credentials, _, _ = own_end.recvmsg(1000, socket.CMSG_SPACE(CREDENTIALS.size))
            except OSError as error:
                raise JailBroken(f"the jail's warm process is gone ({error})") from None
            if first.startswith(wire.REFUSED):
                raise JailRefuses(_start_failure(first.removeprefix(wire.REFUSED)))
            if first != wire.ISOLATED:
                problem = first.decode(errors="replace") or "the warm process is gone"
                raise JailBroken(f"a worker could not be isolated: {problem}")
            process, user, _ = CREDENTIALS.unpack(credentials[0][2])
            if group and not group.holds(process):
                group.close()
                group = None
            try:
                own, apart = None if self.mode is Mode.NONE else user, self.mode is Mode.BUBBLEWRAP
                watch = Watch(process, own, apart, self.limits, budget, group, ending)
            except (OSError, RuntimeError) as error:  # the latter where there can be no more threads
                raise JailBroken(f"a worker could not be watched ({error})") from None
            undo.pop_all()  # from here on they are the worker's
        return JailFork(own_end, watch, self.limits, budget)


def _start_failure(problem: bytes) -> str:
    return f"the jail does not start: {problem.decode(errors='replace').strip()} (`autograder doctor` says more)"


class Jail(JailClient):
    """One warm process under bubblewrap, and the gate to it. Use as a context manager; `worker()` gives a fresh fork for one submission.

    wait: until it is warm. Without, the first fork waits. private: what no submission may read. also: modules that it imports besides the usual ones.

    Raises:
        JailWontStart: there is no jail to be had here; without `wait`, the first fork may say less of it.
    """

    def __init__(
        self,
        limits: Limits | None = None,
        mode: Mode = Mode.BUBBLEWRAP,
        wait: bool = True,
        private: Sequence[Path] = (),
        also: Sequence[str] = (),
    ) -> None:
        limits = limits or Limits()
        resources.check_capacity(limits)
        self._kills = resources.kills()
        control, inside = socket.socketpair()
        super().__init__(control, limits, mode)
        self._users: users.UserIds | None = None
        self._group = cgroups.for_a_jail()
        self.groups = self._group.groups if self._group else None
        try:
            if mode is not Mode.NONE:
                self._users = users.UserIds(apart=mode is Mode.BUBBLEWRAP)
            paths = mounts.private(private)
            self.private = [str(path) for path in paths]
            self._process = self._start(inside.fileno(), paths, also)
        except BaseException:
            self.close()
            raise
        finally:
            inside.close()
        if wait:
            self._wait()

    def _start(self, control: int, private: list[Path], also: Sequence[str]) -> subprocess.Popen[bytes]:
        descriptors, keep, ids = [control], [], []
        if self._users and self.mode is Mode.BUBBLEWRAP:
            descriptors, keep, ids = [control, self._users.namespace], mounts.below_tmp(), [1, users.COUNT]
        elif self._users:
            ids = [self._users.first, users.COUNT]
        command = _program(control, self.mode.value, asdict(self.limits), keep, ids, self.private, list(also))
        if self._users and self.mode is Mode.BUBBLEWRAP:
            command = _in_bubblewrap(command, self._users.namespace, self.limits, private)
        return subprocess.Popen(
            command,
            env=_settings(),
            pass_fds=descriptors,
            stdin=subprocess.DEVNULL,
            stdout=subprocess.DEVNULL,
            stderr=subprocess.PIPE,
            start_new_session=True,  # Ctrl-C at the terminal is for the conductor, who finishes what is in flight
        )

    def _wait(self) -> None:
        self._control.settimeout(START_SECONDS)
        problem = "it ended before it was warm"
        try:
            with self._control.makefile("rb") as lines:
                first = lines.readline(1000)
        except TimeoutError:
            first, problem = b"", "it did not start in time"
        except OSError:
            first = b""
        if first != b"ready\n":
            self._process.kill()
            stderr_text = (
                (self._process.stderr.read() if self._process.stderr else b"").decode(errors="replace").strip()
            )
            problem = stderr_text.splitlines()[-1] if stderr_text else problem + resources.cause(self._kills)
            self.close()
            raise JailWontStart(_start_failure(first.strip() or problem.encode()))

    def gate(self) -> JailClient:
        """A gate for another process."""
        return JailClient(self._control, self.limits, self.mode, self.groups)

    def __enter__(self) -> Self:
        return self

    def __exit__(self, kind: type[BaseException] | None, error: BaseException | None, tb: TracebackType | None) -> None:
        self.close()

    def close(self) -> None:
        """End the warm process and all that it started."""
        super().close()
        process = getattr(self, "_process", None)
        if process is not None:
            process.kill()
            process.wait()
            process.stderr.close()
        if self._group:
            self._group.close()
        if self._users:
            self._users.close()


def build_probe_request(exercise: str, inputs: list[dict[str, Any]]) -> bytes:
    """What a fork is asked about an exercise: the same bytes for every submission that is judged on these inputs."""
    return wire.frame({"do": "probe", "exercise": exercise, "inputs": inputs})


class JailFork:
    """One fork, seen from outside: asks it to run cells and to answer probes. Without a fork, as its budget is spent, every request says so."""

    def __init__(self, channel: socket.socket | None, watch: Watch | None, limits: Limits, budget: Budget) -> None:
        self._channel = channel
        self._watch = watch
        self._limits = limits
        self.budget = budget

    def __enter__(self) -> Self:
        return self

    def __exit__(self, kind: type[BaseException] | None, error: BaseException | None, tb: TracebackType | None) -> None:
        self.kill()

    @property
    def process(self) -> int:
        """The fork's number; 0 without one."""
        return self._watch.main if self._watch else 0

    def run(self, source: str) -> dict[str, Any]:
        """Run one cell: its outputs and its error. Raises Overrun. For sources that are trusted; else `run_unread`."""
        return wire.read(self.run_unread(source))

    def probe(self, request: bytes) -> dict[str, Any]:
        """What an answer does on a request's inputs. Raises Overrun. For answers that are trusted; else `probe_unread`."""
        return wire.read(self.probe_unread(request))

    def run_unread(self, source: str) -> bytes:
        """Run one cell: what came back, to be read where it can do no harm. Raises Overrun."""
        return self._ask({"do": "run", "source": source}, ESCAPE_BYTES * self._limits.output + HEADROOM)

    def probe_unread(self, request: bytes) -> bytes:
        """What the student's answer does on a request's inputs, likewise. Raises Overrun."""
        return self._ask(request, self._limits.observed + HEADROOM)

    def kill(self) -> None:
        """End the process and everything it started."""
        if self._watch:
            self._watch.close()
        if self._channel:
            self._channel.close()

    def _ask(self, request: dict[str, Any] | bytes, most: int) -> bytes:
        if self._channel is None or self._watch is None or self.budget.left <= 0:
            raise Overrun(self.budget.overspent())
        seconds = min(self._limits.cell_seconds, self.budget.left)
        self._watch.begin(seconds)
        try:
            self._channel.settimeout(PATIENCE * seconds)
            wire.send(self._channel, request)
            return wire.receive_frame(self._channel, most, self._raise_if_stopped)
        except wire.WireTimeout:
            self._watch.why()
            self._raise_if_stopped()
            raise Overrun("The process that ran it hung and was stopped.") from None
        except wire.Closed:
            self._raise_if_ended_from_outside()
            raise Overrun("The process that ran it ended without an answer.") from None
        except wire.TooLarge as error:
            raise Overrun(f"What it sent back can't be read: {error}.") from None
        except OSError as error:
            raise JailBroken(f"a worker can't be spoken to ({error.strerror})") from None
        finally:
            self._watch.end()

    def _raise_if_stopped(self) -> None:
        assert self._watch
        if self._watch.fault:
            raise JailBroken(self._watch.fault)
        if self._watch.reason:
            raise Overrun(self._watch.reason)

    def _raise_if_ended_from_outside(self) -> None:
        """Return if that was its own doing, as it is too where it has only closed the channel.

        Raises:
            Overrun: the watch has, or the kernel, for a limit's sake. OutsideKill: somebody else. JailBroken: the warm process has ended as well.
        """
        assert self._watch
        self._raise_if_stopped()
        is_ending = self._watch.is_ending()  # before why: if the watch ends it here, the reason is there then
        self._watch.why()
        self._raise_if_stopped()
        status = self._watch.status(START_SECONDS) if is_ending else 0
        if os.WIFSIGNALED(status) and os.WTERMSIG(status) in KILLS:
            name = signal.Signals(os.WTERMSIG(status)).name
            if self.budget.own_kills:
                raise Overrun(f"The process that ran it was ended by {name}.")
            mebibytes = self._watch.most_memory // MIB
            usage = f", which had used {mebibytes:,} MiB of memory" if mebibytes else ""
            raise OutsideKill(
                f"{name} from outside ended its process{usage}; the kernel does that when memory runs out"
            )


__all__ = [
    "Budget", "Jail", "JailBroken", "JailClient", "JailFork", "JailWontStart", "Mode", "Overrun", "build_probe_request",
]  # fmt: skip
