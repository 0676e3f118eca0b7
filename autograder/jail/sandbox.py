"""Outside the jail, on the conductor's side: starts bubblewrap with the warm process in it, and hands out workers, one fork each."""

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
from collections.abc import Iterator
from dataclasses import asdict, dataclass
from enum import StrEnum
from pathlib import Path
from types import TracebackType
from typing import Any, Self

import psutil

import ffnlab
from autograder.jail import wire
from autograder.jail.limits import MIB, Limits
from ffnlab import plain

HERE = Path(__file__).resolve().parent  # …/autograder/jail
LAB = Path(ffnlab.__file__).resolve().parent
START_SECONDS = 120.0
CREDENTIALS = struct.Struct(
    "3i"
)  # of whoever sent a message: its process's number as the kernel translates it for us, user and group
TICKS = os.sysconf("SC_CLK_TCK")
PATIENCE = 10  # on a crowded machine a request may take this many times its limit by the wall's clock


class JailBroken(RuntimeError):
    """The jail can't be started or has died: our fault, never the student's. One line, with what to do."""


class JailWontStart(JailBroken):
    """There is no jail to be had on this machine as it is."""


class Overrun(Exception):
    """A submission went beyond a limit, or its process died; `str()` says which in a student's words."""


class Mode(StrEnum):
    """How student code is kept in."""

    BUBBLEWRAP = "bubblewrap"  # namespaces, no network, no other files: the jail
    CONTAINER = "container"  # a container of yours around all of this; here only a second user, who can't read the keys
    NONE = "none"  # nothing but time and memory limits: for submissions that you trust


PROGRAM = (
    "import gc, sys; gc.disable(); sys.path[:0] = [sys.argv.pop(1), sys.argv.pop(1)]; import json; "
    "from autograder.jail import zygote; from autograder.jail.limits import Limits; "
    "zygote.main(int(sys.argv[1]), Limits(**json.loads(sys.argv[2])), sys.argv[3], json.loads(sys.argv[4]))"
)
SETTINGS = {
    "PATH": f"{Path(sys.prefix).resolve()}/bin:/usr/bin:/bin", "HOME": "/tmp", "USER": "student", "LANG": "C.UTF-8",
    "MPLCONFIGDIR": "/tmp/matplotlib", "IPYTHONDIR": "/tmp/ipython", "MPLBACKEND": "agg", "TORCHINDUCTOR_CACHE_DIR": "/tmp",
    "OMP_NUM_THREADS": "1", "MKL_NUM_THREADS": "1", "OPENBLAS_NUM_THREADS": "1", "PYTHONDONTWRITEBYTECODE": "1",
}  # fmt: skip


def command(mode: Mode, control: int, limits: Limits) -> list[str]:
    """The command line of the warm process."""
    if mode is Mode.BUBBLEWRAP:
        return _in_bubblewrap(control, limits)
    return _program(control, limits, mode, [])


def _program(control: int, limits: Limits, mode: Mode, keep: list[str]) -> list[str]:
    return [
        str(Path(sys.prefix) / "bin" / "python"), "-I", "-B", "-c", PROGRAM, str(HERE.parent.parent), str(LAB.parent),
        str(control), json.dumps(asdict(limits)), mode.value, json.dumps(keep),
    ]  # fmt: skip


def _in_bubblewrap(control: int, limits: Limits) -> list[str]:
    """What is mounted, what is shared (nothing), what runs."""
    bwrap = shutil.which("bwrap")
    if bwrap is None:
        raise JailWontStart("bubblewrap is not installed: `apt-get install bubblewrap` (or your system's package)")
    mounted: list[str] = ["--size", str(limits.tmp), "--tmpfs", "/tmp", "--ro-bind", "/usr", "/usr"]
    for name in ("bin", "sbin", "lib", "lib32", "lib64", "libx32"):
        link = Path("/", name)
        if link.is_symlink():
            mounted += ["--symlink", os.readlink(link), str(link)]
        elif link.is_dir():
            mounted += ["--ro-bind", str(link), str(link)]
    for path in ("/etc/ld.so.cache", "/etc/fonts", "/etc/alternatives", "/etc/localtime"):
        mounted += ["--ro-bind-try", path, path]
    for prefix in dict.fromkeys(str(Path(p).resolve()) for p in (sys.base_prefix, sys.prefix)):
        if not prefix.startswith("/usr/") and prefix != "/usr":
            mounted += ["--ro-bind", prefix, prefix]
    mounted += ["--ro-bind", str(LAB), str(LAB), "--tmpfs", str(LAB / "answers")]
    mounted += ["--ro-bind", str(LAB / "answers" / "__init__.py"), str(LAB / "answers" / "__init__.py")]
    mounted += ["--ro-bind", str(HERE), str(HERE)]
    settings = [part for name, value in SETTINGS.items() for part in ("--setenv", name, value)]
    return [
        bwrap, "--unshare-user", "--uid", "1000", "--gid", "1000", "--unshare-ipc", "--unshare-pid", "--unshare-net",
        "--unshare-uts", "--unshare-cgroup-try", "--hostname", "jail", "--die-with-parent", "--new-session", "--clearenv",
        *settings, *mounted, "--proc", "/proc", "--dev", "/dev",
        "--remount-ro", str(LAB / "answers"), "--remount-ro", "/dev", "--remount-ro", "/",
        "--chdir", "/tmp", "--cap-drop", "ALL", "--cap-add", "CAP_SYS_ADMIN", "--cap-add", "CAP_SETPCAP",
        *_program(control, limits, Mode.BUBBLEWRAP, _below_tmp(mounted)),
    ]  # fmt: skip


def _below_tmp(mounted: list[str]) -> list[str]:
    """The outermost of the mounted folders that lie below /tmp."""
    paths = [path for option, path in zip(mounted, mounted[2:], strict=False) if option == "--ro-bind"]
    below = sorted({path for path in paths if path.startswith("/tmp/") and Path(path).is_dir()})
    return [path for path in below if not any(path.startswith(other + "/") for other in below)]


class Gate:
    """The way to a warm process, which forks for whoever asks. It can be handed to another process while that is being started."""

    def __init__(self, control: socket.socket, limits: Limits, mode: Mode) -> None:
        self._control = control
        self.limits = limits
        self.mode = mode

    def close(self) -> None:
        """Ask for nothing more."""
        self._control.close()

    @contextlib.contextmanager
    def worker(self) -> Iterator[Worker]:
        """A fresh fork; when the context ends, it and everything it started end."""
        worker = self.fork()
        try:
            yield worker
        finally:
            worker.kill()

    def fork(self, budget: Budget | None = None) -> Worker:
        """A fresh fork. `budget`: what its submission may still spend, shared with the forks before it.

        Raises:
            JailBroken: the warm process is gone, or the fork could not be isolated.
        """
        ours, theirs = socket.socketpair()
        ours.setsockopt(socket.SOL_SOCKET, socket.SO_PASSCRED, 1)
        ours.settimeout(START_SECONDS)
        self._control.settimeout(START_SECONDS)
        try:
            socket.send_fds(self._control, [b"f"], [theirs.fileno()])
            theirs.close()
            first, credentials, _, _ = ours.recvmsg(500, socket.CMSG_SPACE(CREDENTIALS.size))
        except OSError as error:
            ours.close()
            raise JailBroken(f"the jail's warm process is gone ({error})") from None
        finally:
            theirs.close()
        if first != wire.ISOLATED:
            ours.close()
            problem = first.decode(errors="replace") or "the warm process is gone"
            raise JailBroken(f"a worker could not be isolated: {problem}")
        budget = budget or Budget(self.limits.submission_seconds)
        number, _, _ = CREDENTIALS.unpack(credentials[0][2])
        return Worker(ours, _process(number), self.limits, budget, alone=self.mode is Mode.BUBBLEWRAP)


class Jail(Gate):
    """One warm process under bubblewrap, and the gate to it. Use as a context manager; `worker()` gives a fresh fork for one submission.

    wait: until it is warm. Without, the first fork waits.

    Raises:
        JailWontStart: there is no jail to be had here; without `wait`, the first fork may say less of it.
    """

    def __init__(self, limits: Limits | None = None, mode: Mode = Mode.BUBBLEWRAP, wait: bool = True) -> None:
        control, inside = socket.socketpair()
        super().__init__(control, limits or Limits(), mode)
        try:
            self._process = subprocess.Popen(
                command(mode, inside.fileno(), self.limits),
                env=SETTINGS,
                pass_fds=[inside.fileno()],
                stdin=subprocess.DEVNULL,
                stdout=subprocess.DEVNULL,
                stderr=subprocess.PIPE,
                start_new_session=True,  # Ctrl-C at the terminal is for the conductor, who finishes what is in flight
            )
        finally:
            inside.close()
        if wait:
            self._wait()

    def _wait(self) -> None:
        self._control.settimeout(START_SECONDS)
        try:
            with self._control.makefile("rb") as lines:
                first = lines.readline(500)
        except OSError:
            first = b""
        if first != b"ready\n":
            self._process.kill()
            said = (self._process.stderr.read() if self._process.stderr else b"").decode(errors="replace").strip()
            last = first.decode(errors="replace").strip() or (
                said.splitlines()[-1] if said else "it did not start in time"
            )
            self._control.close()
            raise JailWontStart(f"the jail does not start: {last} (`autograder doctor` tells more)")

    def gate(self) -> Gate:
        """A gate for another process."""
        return Gate(self._control, self.limits, self.mode)

    def __enter__(self) -> Self:
        return self

    def __exit__(self, kind: type[BaseException] | None, error: BaseException | None, tb: TracebackType | None) -> None:
        self.close()

    def close(self) -> None:
        """End the warm process and all that it started."""
        super().close()
        self._process.kill()
        self._process.wait()
        if self._process.stderr:
            self._process.stderr.close()


def _process(number: int) -> psutil.Process | None:
    with contextlib.suppress(psutil.Error):
        return psutil.Process(number)
    return None


@dataclass
class Budget:
    """How many seconds a submission has left, over all its forks."""

    left: float


def question(exercise: str, inputs: list[dict[str, Any]]) -> bytes:
    """What a worker is asked about an exercise: the same bytes for every submission that is judged on these inputs."""
    return wire.frame({"do": "probe", "exercise": exercise, "inputs": inputs})


class Worker:
    """One fork, seen from outside: asks it to run cells and to answer probes, and holds it to its limits."""

    def __init__(
        self, channel: socket.socket, process: psutil.Process | None, limits: Limits, budget: Budget, alone: bool
    ) -> None:
        self._channel = channel
        self._process = process
        self._alone = alone  # in a pid namespace, as its first process
        self._limits = limits
        self._budget = budget
        self._clock = _Clock(process)
        self._baseline = _memory(process) if process else 0  # what a fork inherits and never touches again

    def run(self, source: str) -> dict[str, Any]:
        """Run one cell: its outputs, its error, its seconds. Raises Overrun."""
        return self._ask({"do": "run", "source": source})

    def probe(self, question: bytes) -> dict[str, Any]:
        """What the student's answer does on a question's inputs. Raises Overrun."""
        return self._ask(question)

    def kill(self) -> None:
        """End the process and everything it started: in the jail the kernel sees to that, as it is the first of its pid namespace."""
        if self._process is not None:
            with contextlib.suppress(psutil.Error, ProcessLookupError):
                started = [] if self._alone else self._process.children(recursive=True)
                for process in (self._process, *started):
                    process.send_signal(signal.SIGKILL)
        self._channel.close()
        self._clock.close()

    def _ask(self, request: dict[str, Any] | bytes) -> dict[str, Any]:
        seconds = min(self._limits.cell_seconds, self._budget.left)
        if seconds <= 0:
            raise Overrun(f"The submission took longer than {self._limits.submission_seconds:g} s in all.")
        clock = self._clock
        clock.start()

        def patience() -> None:
            if clock.spent() > seconds:
                raise Overrun(f"It ran longer than {seconds:.3g} s and was stopped.")
            self._hold_to_limits()

        try:
            self._channel.settimeout(PATIENCE * seconds)
            wire.send(self._channel, request)
            return wire.receive(self._channel, patience)
        except wire.Late:
            raise Overrun("The process that ran it stood still and was stopped.") from None
        except wire.Closed:
            raise Overrun("The process that ran it ended without a word.") from None
        except plain.Malformed as error:
            raise Overrun(f"What it sent back can't be read: {error}.") from None
        finally:
            self._budget.left -= clock.spent()

    def _hold_to_limits(self) -> None:
        """Sum the memory and count the threads of the fork and of all that it started.

        Raises:
            Overrun: it is beyond a limit; it has been killed.
        """
        if self._process is None:
            return
        try:
            family = [self._process, *self._process.children(recursive=True)]
        except psutil.Error:
            return
        threads = sum(_threads(process) for process in family)
        memory = sum(max(0, _memory(process) - self._baseline) for process in family)
        if threads > self._limits.processes:
            self.kill()
            raise Overrun(f"It started more than {self._limits.processes} processes or threads and was stopped.")
        if memory > self._limits.memory:
            self.kill()
            raise Overrun(f"It used more than {self._limits.memory // MIB:,} MiB of memory and was stopped.")


class _Clock:
    """How long requests to a process take: what it computes or sleeps, but not what it waits for a core that others are using."""

    def __init__(self, process: psutil.Process | None) -> None:
        self._files: list[int] = []
        if process is not None:
            with contextlib.suppress(OSError):
                for name in ("stat", "schedstat"):
                    self._files.append(os.open(f"/proc/{process.pid}/{name}", os.O_RDONLY))
        self.start()

    def close(self) -> None:
        while self._files:
            os.close(self._files.pop())

    def start(self) -> None:
        """A new request begins."""
        self._started = time.monotonic()
        self._computed, self._waited = self._read() or (0.0, 0.0)

    def spent(self) -> float:
        """Seconds; at least a tenth of what the wall's clock shows, and all of that once the process is gone."""
        wall = time.monotonic() - self._started
        now = self._read()
        if now is None:
            return wall
        computed, waited = now
        return max(computed - self._computed, wall - (waited - self._waited), wall / PATIENCE)

    def _read(self) -> tuple[float, float] | None:
        """Seconds that the process has computed on all its threads, and that its first thread has waited for a core."""
        try:
            stat, schedule = (os.pread(file, 4096, 0) for file in self._files)
            user, system = stat.rpartition(b")")[2].split()[11:13]
            return (int(user) + int(system)) / TICKS, int(schedule.split()[1]) / 1e9
        except (OSError, ValueError, IndexError):
            return None


def _threads(process: psutil.Process) -> int:
    try:
        return int(process.num_threads())
    except psutil.Error:
        return 0


def _memory(process: psutil.Process) -> int:
    try:
        memory = process.memory_info()
        return int(memory.rss - memory.shared)
    except psutil.Error:
        return 0
