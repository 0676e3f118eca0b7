"""Outside the jail: a control group (cgroup v2) for each fork, where this process may make any. Whatever is born in it is counted, limited and
ended with it, by the kernel. Where there is none to be had, the watch alone holds.

Of the groups that are made here, `autograder-…` is a jail's; the process that holds the jail has a lock on it, and every fork has one below it.
Called by sandbox and watch.
"""

from __future__ import annotations

import contextlib
import fcntl
import itertools
import os
import re
import subprocess
import threading
import time
from collections import deque
from collections.abc import Iterator
from dataclasses import dataclass, field
from functools import cache
from pathlib import Path

import psutil

from autograder.jail.limits import Limits

CONTROLLERS = ("memory", "pids")
PREFIX = "autograder-"  # how the name of a group of ours begins
ITSELF = "-itself"  # how that of one ends which holds no submission but ourselves
TRIES = 10
PATIENCE_SECONDS = 1.0  # until a closed jail's group is empty
POLL_SECONDS = 0.005
SCOPE_COMMAND = "systemd-run --user --scope -p Delegate=yes autograder grade …"  # how a user gets limits by the kernel
NONE = "none may be made here: the watch alone counts what a submission uses"

_numbers = itertools.count(1)
_one_at_a_time = threading.Lock()


@dataclass(frozen=True)
class Place:
    """Where this process may make groups. `controllers`: what the kernel limits there, of CONTROLLERS."""

    folder: Path
    controllers: tuple[str, ...]


@dataclass
class Groups:
    """The groups of one jail's forks. It can be handed to another process."""

    folder: Path
    controllers: tuple[str, ...]
    _closed_folders: deque[Path] = field(default_factory=deque)

    def make(self) -> ControlGroup | None:
        """A group for the next fork, if there is one to be had; those that have ended are removed."""
        self.sweep()
        with contextlib.suppress(OSError):
            folder = self.folder / f"{os.getpid()}-{next(_numbers)}"
            folder.mkdir()
            return ControlGroup(folder, self)
        return None

    def sweep(self) -> None:
        """Remove the groups of forks that have ended."""
        for _ in range(len(self._closed_folders)):
            with contextlib.suppress(IndexError):  # another thread was quicker
                folder = self._closed_folders.popleft()
                if not _remove(folder):
                    self._closed_folders.append(folder)

    def forget(self, folder: Path) -> None:
        """This group is to be removed when all in it have ended."""
        self._closed_folders.append(folder)


class ControlGroup:
    """One fork's, and that of everything it starts.

    Its methods raise OSError where the kernel does not tell; `kill` says whether it was done.
    """

    def __init__(self, folder: Path, among: Groups) -> None:
        self.folder = folder
        self.limits_memory = False  # the kernel ends whoever uses too much
        self._among = among
        self._files: dict[str, int] = {}
        try:
            self.number = os.open(folder, os.O_PATH | os.O_DIRECTORY | os.O_CLOEXEC)
        except OSError:
            _remove(folder)
            raise

    def seconds(self) -> float:
        """Of CPU that all have used together, those too that have ended."""
        return _number(self._read("cpu.stat"), b"usage_usec") / 1e6

    def processes(self) -> set[int]:
        """The numbers of all that are running."""
        return set(map(int, self._read("cgroup.procs").split())) - {0}

    def holds(self, process: int) -> bool:
        """Whether that process is in it. Where it could not be born there, as some kernels and containers forbid, it is moved, which takes longer."""
        with contextlib.suppress(OSError):
            if process not in self.processes():
                self._write("cgroup.procs", str(process))
            return True
        return False

    def limit(self, limits: Limits, inherited_bytes: int) -> None:
        """Have the kernel see to memory and processes, as far as there are controllers. `inherited_bytes`: those that it shares with the warm process; where
        it writes to them, they become its own, and are none that it has asked for.
        """
        if "memory" in self._among.controllers:
            with contextlib.suppress(OSError):
                with contextlib.suppress(FileNotFoundError):  # where there is no swap
                    self._write("memory.swap.max", "0")
                self._write("memory.oom.group", "1")
                self._write("memory.max", str(limits.memory + inherited_bytes))
                self.limits_memory = True
        if "pids" in self._among.controllers:
            with contextlib.suppress(OSError):
                self._write("pids.max", str(limits.processes + 1))  # one too many, so that the watch sees it

    def ran_out_of_memory(self) -> bool:
        """Whether the kernel has ended it because it used more than it may, and not because the machine has too little."""
        if not self.limits_memory:
            return False
        events = self._read("memory.events")
        return _number(events, b"oom") > 0 and _number(events, b"oom_kill") > 0

    def kill(self) -> bool:
        """End everything in it, and whatever that is about to start."""
        with contextlib.suppress(OSError):
            self._write("cgroup.kill", "1")
            return True
        return False

    def close(self) -> None:
        """There is nothing more to ask."""
        if self.number >= 0:
            for number in (*self._files.values(), self.number):
                os.close(number)
            self._files, self.number = {}, -1
            self._among.forget(self.folder)

    def _read(self, name: str) -> bytes:
        if name not in self._files:
            self._files[name] = os.open(name, os.O_RDONLY | os.O_CLOEXEC, dir_fd=self.number)
        return os.pread(self._files[name], 65_536, 0)

    def _write(self, name: str, text: str) -> None:
        file = os.open(name, os.O_WRONLY | os.O_CLOEXEC, dir_fd=self.number)
        try:
            os.write(file, text.encode())
        finally:
            os.close(file)


class JailGroup:
    """A jail's group, which is removed when the jail is closed. `groups`: what its gates need."""

    def __init__(self, place: Place) -> None:
        self._folder, self._lock = _make_group(place.folder)
        controllers = []
        for name in place.controllers:
            with contextlib.suppress(OSError):
                (self._folder / "cgroup.subtree_control").write_text(f"+{name}")
                controllers.append(name)
        self.groups = Groups(self._folder, tuple(controllers))

    def close(self) -> None:
        """End whatever still runs in it, and remove it."""
        if self._lock < 0:
            return
        until = time.monotonic() + PATIENCE_SECONDS
        while not _clear_group(self._folder) and time.monotonic() < until:
            time.sleep(POLL_SECONDS)
        os.close(self._lock)
        self._lock = -1


def for_a_jail() -> JailGroup | None:
    """A group for a new jail, if there is one to be had; what processes have left behind that held one and were killed is removed."""
    with contextlib.suppress(OSError):
        location = place()
        if location is not None:
            _clear_up(location.folder)
            return JailGroup(location)
    return None


def describe() -> str:
    """What there is to be had, tried for real, in a line."""
    jail_group = for_a_jail()
    if jail_group is None:
        return NONE
    try:
        group = jail_group.groups.make()
        if group is None:
            return NONE
        with subprocess.Popen(["sleep", "60"], stdin=subprocess.DEVNULL) as trial:
            can_be_entered = group.holds(trial.pid)
            trial.kill()
        group.close()
        if not can_be_entered:
            return NONE
        controllers, missing = jail_group.groups.controllers, set(CONTROLLERS) - set(jail_group.groups.controllers)
        limits = f", limits its {' and '.join(controllers)}," if controllers else ""
        more = ""
        if missing:
            can_be_had = missing <= _find_controllers(jail_group.groups.folder)
            more = (
                f"; for its own limits: `{SCOPE_COMMAND}`"
                if can_be_had
                else "; the watch limits memory and processes, for which the kernel has no controllers here"
            )
        return f"one for each submission: the kernel counts its CPU{limits} and ends all of it{more}"
    finally:
        jail_group.close()


def _find_controllers(folder: Path) -> set[str]:
    """The controllers that the topmost group in sight has."""
    while (folder.parent / "cgroup.controllers").exists():
        folder = folder.parent
    return set((folder / "cgroup.controllers").read_text().split())


@cache
def _place() -> Place | None:
    folder = of_this_process()
    if folder is None or not os.access(folder, os.W_OK):
        return None
    return Place(folder, tuple(_pass_on_controllers(folder)))


def place() -> Place | None:
    """Where this process may make groups; None where it may not. Asked for the first time, this process may go into a group below its own."""
    with _one_at_a_time:
        return _place()


def of_this_process(controller: str = "") -> Path | None:
    """The folder of the group that this process was started in, with all of ours below it; None where there is none in sight."""
    folder = _own(Path("/proc/self/cgroup").read_text(), Path("/proc/self/mountinfo").read_text(), controller)
    if folder and folder.name.startswith(PREFIX) and folder.name.endswith(ITSELF):
        return folder.parent
    return folder


def _own(cgroup: str, mountinfo: str, controller: str = "") -> Path | None:
    """The folder of this process's own group, from /proc/self/cgroup and where the kernel's groups are mounted. `controller`: one of cgroup v1."""
    parts = (line.split(":", 2) for line in cgroup.splitlines())
    paths = [path for _, names, path in parts if controller in names.split(",") and path.startswith("/")]
    for line in mountinfo.splitlines():
        mount, _, kind = line.partition(" - ")
        name, _, options = kind.split(" ", 2)
        if paths and (controller in options.split(",") if controller else name == "cgroup2"):
            root, point = map(_unescape, mount.split(" ")[3:5])
            with contextlib.suppress(ValueError):  # a mount of other groups
                folder = point / Path(paths[0]).relative_to(root)
                if ".." not in folder.parts and (folder / "cgroup.procs").exists():
                    return folder
    return None


def _unescape(path: str) -> str:
    return re.sub(r"\\(\d{3})", lambda code: chr(int(code[1], 8)), path)


def _pass_on_controllers(own: Path) -> Iterator[str]:
    """The controllers that groups below this one get. The kernel has them only below a group in which there is no process."""
    names = (own / "cgroup.controllers").read_text().split()
    for name in CONTROLLERS:
        if name in names and (name in _subtree_controllers(own) or _pass_on(own, name)):
            yield name


def _subtree_controllers(own: Path) -> list[str]:
    return (own / "cgroup.subtree_control").read_text().split()


def _pass_on(own: Path, name: str) -> bool:
    """Give a controller to groups below this one, if all that is in it is this process with what it has started: that goes into a group of its own."""
    for _ in range(TRIES):
        with contextlib.suppress(OSError, psutil.Error):
            processes = {int(number) for number in (own / "cgroup.procs").read_text().split()}
            if not processes <= {os.getpid(), *(child.pid for child in psutil.Process().children(recursive=True))}:
                return False
            if processes:
                itself = own / f"{PREFIX}{os.getpid()}{ITSELF}"
                itself.mkdir(exist_ok=True)
                for number in processes:
                    with contextlib.suppress(ProcessLookupError):
                        (itself / "cgroup.procs").write_text(str(number))
            (own / "cgroup.subtree_control").write_text(f"+{name}")
            return True
    return False


def _make_group(above: Path) -> tuple[Path, int]:
    """A new group, and a lock on it, which the kernel opens however its owner ends."""
    for _ in range(TRIES):
        folder = above / f"{PREFIX}{os.getpid()}-{next(_numbers)}"
        with contextlib.suppress(FileExistsError, FileNotFoundError, BlockingIOError):
            folder.mkdir()
            lock = _lock(folder)
            if folder.exists():  # nobody has cleared it up before it was locked
                return folder, lock
            os.close(lock)
    raise OSError(f"no group could be made in {above}")


def _lock(folder: Path) -> int:
    """Raises BlockingIOError where somebody else has the lock."""
    number = os.open(folder, os.O_RDONLY | os.O_DIRECTORY | os.O_CLOEXEC)
    try:
        fcntl.flock(number, fcntl.LOCK_EX | fcntl.LOCK_NB)
    except OSError:
        os.close(number)
        raise
    return number


def _clear_up(above: Path) -> None:
    """Remove the groups of jails whose process is gone, and end what it has left in them."""
    for folder in above.glob(f"{PREFIX}*"):
        if folder.name.endswith(ITSELF):
            _remove(folder)
            continue
        with contextlib.suppress(OSError):
            lock = _lock(folder)
            _clear_group(folder)
            os.close(lock)


def _clear_group(folder: Path) -> bool:
    """End what is in a jail's group, and remove it with all groups below it. Whether it is gone; what was ended takes the kernel a moment."""
    with contextlib.suppress(OSError):
        (folder / "cgroup.kill").write_text("1")
    with contextlib.suppress(OSError):
        for below in folder.iterdir():
            if below.is_dir():
                _remove(below)
    return _remove(folder)


def _remove(folder: Path) -> bool:
    """Whether a group is gone; one in which something runs stays."""
    with contextlib.suppress(OSError):
        folder.rmdir()
    return not folder.exists()


def _number(content: bytes, name: bytes) -> int:
    """Of a file with a name and a number in each line. Raises OSError where there is none of that name."""
    for line in content.splitlines():
        if line.startswith(name + b" "):
            return int(line.split()[1])
    raise OSError(f"no {name.decode()} in what the kernel tells of a control group")
