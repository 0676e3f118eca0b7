"""Outside the jail: the watch over one submission, from its fork to its end, whether a request is under way or not.

It sums what the whole family uses, every process under the submission's user id, whoever started it, ended ones too; and it ends the
submission that goes beyond a limit. Where it has a control group of its own, the kernel tells whose family a process is and what all have computed, to
the microsecond, and ends all at once.
"""

from __future__ import annotations

import contextlib
import errno
import os
import re
import select
import signal
import threading
import time
from pathlib import Path
from typing import NamedTuple

import psutil

from autograder.jail import wire
from autograder.jail.cgroups import ControlGroup
from autograder.jail.errors import JailBroken
from autograder.jail.limits import MIB, Limits

TICKS = os.sysconf("SC_CLK_TCK")
POLL_SECONDS = 0.1
PATIENCE = 10  # on a crowded machine a request may take this many times its limit by the wall's clock
FULL_SCAN_INTERVAL = 20  # scans, after which all processes of the machine are gone through, and not only the new ones
TRIES = 10  # to find a process's ancestors while these end
MAX_NEW_PROCESSES = 1000  # since the last scan: from here on it is quicker to go through all
PF_EXITING = 0x4  # of the kernel's flags of a thread
EXACT_MEMORY_INTERVAL = 20  # times what taking it took, until the exact memory is taken again, unless much has changed
RESIDENT = re.compile(rb"^(?:RssAnon|RssShmem|VmPTE):\s+(\d+) kB", re.MULTILINE)
PROPORTIONAL = re.compile(r"^Pss_(?:Anon|Shmem): +(\d+) kB", re.MULTILINE)


class Budget:
    """What a submission may still spend, over all its forks: seconds, and how often it may be forked again.

    own_kills: whether SIGKILL, where it comes from nobody here, counts as the submission's own doing.
    """

    def __init__(self, limits: Limits, own_kills: bool = False) -> None:
        self._limits = limits
        self.own_kills = own_kills
        self.left = limits.submission_seconds
        self.restarts = limits.restarts + 1  # the first fork is none

    def overspent(self) -> str:
        """Why there is nothing left, in a student's words; empty while there is."""
        if self.left <= 0:
            return f"The submission took longer than {self._limits.submission_seconds:g} s in all."
        if self.restarts < 0:
            return f"Its process ended, or had to be stopped, more than {self._limits.restarts} times: no more of it was run."
        return ""


class _Member(NamedTuple):
    """A process of the family, as it was when it was last looked at."""

    start_time: str  # tells it from another one that gets the same number later
    own: float  # seconds of CPU, on all its threads
    children: float  # of its children that have ended, if it has waited for them
    threads: int
    memory: int  # bytes


class ProcessTree:
    """All processes of one submission.

    main: the fork. user: the user id that is theirs alone; None where they share the grader's. apart: whether they have namespaces of their own.
    group: the control group in which they were born, if there is one.
    """

    def __init__(self, main: int, user: int | None, apart: bool, group: ControlGroup | None = None) -> None:
        self.main = main
        self.computed = 0.0  # seconds of CPU, of all that have ever been seen; in a group, of all
        self.hidden = False  # whether a process may have come and gone since the last look, unseen
        self._user = user
        self._apart = apart
        self._group = group
        self._members: dict[int, _Member] = {}
        self._scan_count = 0
        self._newest = self._newest_before = main  # process of the machine at the last look, and at the one before
        self._newest_inside = 1  # process of the family, as its own pid namespace counts
        self._depth = len(_read_status(main).get(b"NSpid", b"1").split())  # of the pid namespace that it is in
        sees = f"/proc/{main}/root"  # the files as the fork sees them
        self._files = [f"{sees}/{folder}" for folder in ("tmp", "dev/shm")]
        self._open: list[int] = []
        self._socket = 2 * _largest_buffer()  # bytes that one may hold, at the most
        self.inherited = 0  # bytes that it was forked with
        try:
            for name in ("stat", "schedstat"):
                self._open.append(os.open(f"/proc/{main}/{name}", os.O_RDONLY | os.O_CLOEXEC))
            self.refresh_members()
        except BaseException:
            self.close()
            raise
        self.inherited = self.memory()

    def close(self) -> None:
        """There is nothing more to look at."""
        while self._open:
            os.close(self._open.pop())

    def refresh_members(self) -> None:
        """Look at every process."""
        numbers = self._all()
        ended_seconds = sum(
            member.own + member.children for number, member in self._members.items() if number not in numbers
        )
        self.hidden = self._group is None and (self.hidden or any(number not in numbers for number in self._members))
        before, self._members = self._members, {}
        waited_for = 0.0
        for number in numbers:
            now = _read(number)
            if now is None:
                continue
            earlier = before.get(number)
            if earlier is None or earlier.start_time != now.start_time:
                earlier = _Member(now.start_time, own=0.0, children=0.0, threads=0, memory=0)
            self.computed += max(0.0, now.own - earlier.own)
            waited_for += max(0.0, now.children - earlier.children)
            self._members[number] = now
        self.computed += max(0.0, waited_for - ended_seconds)  # what ended ones used after they were last seen
        self._ask_the_group()

    def refresh_main(self) -> None:
        """Bring `computed` up to date for the process that serves requests: as often as there are requests, this has to be quick."""
        member = self._members.get(self.main)
        with contextlib.suppress(OSError, ValueError, IndexError):
            now = _parse_member(os.pread(self._open[0], 4096, 0), 0)
            if member:
                self.computed += max(0.0, now.own - member.own)
                self._members[self.main] = member._replace(own=now.own)
        self._ask_the_group()

    def wait_seconds(self) -> float | None:
        """Seconds that the first thread of its first process has waited for a core; None when that has ended."""
        try:
            return int(os.pread(self._open[1], 4096, 0).split()[1]) / 1e9
        except (OSError, ValueError, IndexError):
            return None

    def threads(self) -> int:
        """Of all processes together."""
        return sum(member.threads for member in self._members.values())

    def memory(self) -> int:
        """Bytes, or more: a page that several processes share is counted for each."""
        return sum(member.memory for member in self._members.values()) + self._beside() - self.inherited

    def exact_memory(self) -> int:
        """Bytes, each page counted once. Takes milliseconds for each process."""
        total = self._beside() - self.inherited // 2  # what it has from the warm process it shares at least with that
        for number in self._members:
            try:
                parts = PROPORTIONAL.findall(Path(f"/proc/{number}/smaps_rollup").read_text())
            except OSError:
                parts = []
            total += 1024 * sum(map(int, parts)) if parts else self._members[number].memory
        return total

    def kill(self) -> None:
        """End all: those in the group, or all that are known. In a pid namespace of theirs, the kernel ends all when the first one ends."""
        if self._group is not None and self._group.kill():
            return
        for number, member in self._members.items():
            now = _read(number)
            if now is not None and now.start_time == member.start_time:
                with contextlib.suppress(ProcessLookupError, PermissionError):
                    os.kill(number, signal.SIGKILL)

    def _all(self) -> set[int]:
        """The numbers of all its processes."""
        if self._group is not None:
            with contextlib.suppress(OSError):
                return self._group.processes()
            self._group = None  # as without one from here on
        if self._user is None:
            return self._descendants()
        newest = _newest_process()
        first = self._newest_before + 1  # one that was being made at the last look may only show now
        self._newest_before, self._newest = self._newest, newest
        self._scan_count += 1
        if self._scan_count % FULL_SCAN_INTERVAL and first <= newest + 1 <= first + MAX_NEW_PROCESSES:
            candidates = set(range(first, newest + 1))
        else:
            candidates = {int(name) for name in os.listdir("/proc") if name.isdecimal()}
        known_numbers = {number for number in (self.main, *self._members) if os.path.exists(f"/proc/{number}")}
        fresh = {number: inside for number in candidates - known_numbers if (inside := self._number_inside(number))}
        newest_inside = max(self._newest_inside, *fresh.values(), 0)
        if self._apart:
            self.hidden = self.hidden or newest_inside - self._newest_inside > len(fresh) + self.threads()
        self._newest_inside = newest_inside
        return known_numbers | set(fresh)

    def _ask_the_group(self) -> None:
        """Whatever was seen of processes, the kernel knows better what all of them have computed."""
        if self._group is not None:
            try:
                self.computed = self._group.seconds()
            except OSError:
                self._group = None

    def _number_inside(self, number: int) -> int:
        """A process's number in its own pid namespace; 0 if it is none of the family's, or a thread.

        Another jail may use the same user ids, where a container or a network namespace hides it from this one.
        """
        status = _read_status(number)
        if status.get(b"Tgid") != str(number).encode() or not status.get(b"Uid", b"").startswith(
            f"{self._user}\t".encode()
        ):
            return 0
        inside = status.get(b"NSpid", b"1").split()
        if self._apart:
            return int(inside[-1]) if self._descends(number) else 0
        return int(inside[-1]) if len(inside) == self._depth else 0

    def _descends(self, number: int) -> bool:
        """Whether a process descends from the fork. All do in a pid namespace, where the first process inherits the children of those that end."""
        for _ in range(TRIES):
            above = number
            while status := _read_status(above):
                above = int(status[b"PPid"])
                if above in (0, self.main):
                    return above == self.main
            if above == number:
                return False
        return False

    def _descendants(self) -> set[int]:
        try:
            return {self.main, *(child.pid for child in psutil.Process(self.main).children(recursive=True))}
        except psutil.Error:
            return set()

    def _beside(self) -> int:
        """Bytes that are in no process: in files, which lie in memory, and in sockets, of which the kernel tells the number alone."""
        total = 0
        if self._apart:
            with contextlib.suppress(OSError):
                for place in self._files:
                    disk = os.statvfs(place)
                    total += (disk.f_blocks - disk.f_bfree) * disk.f_frsize
                match = re.match(r"sockets: used (\d+)", Path(f"/proc/{self.main}/net/sockstat").read_text())
                total += int(match[1]) * self._socket if match else 0
        return total


class Watch:
    """Looks at a family every POLL_SECONDS, in a thread of its own, and ends it when it goes beyond a limit; `reason` then says which. It also ends
    what can't be watched; `fault` then says why not, which is nothing that the family has done.

    ending: the pipe in which the warm process tells how the fork has ended. The watch closes it, and the group.

    Raises:
        OSError, RuntimeError: the fork has ended, or this process may have no more files or threads; nothing is closed then.
    """

    def __init__(
        self,
        main: int,
        user: int | None,
        apart: bool,
        limits: Limits,
        budget: Budget,
        group: ControlGroup | None,
        ending: int,
    ) -> None:
        self.reason = ""
        self.fault = ""
        self.most_memory = 0  # bytes, at any look
        self.main = main
        self._limits = limits
        self._budget = budget
        self._group = group
        with contextlib.ExitStack() as undo:
            self._handle = os.pidfd_open(main)
            undo.callback(os.close, self._handle)
            self._family = ProcessTree(main, user, apart, group)
            undo.callback(self._family.close)
            if group is not None:
                group.limit(limits, self._family.inherited)
            self._request: _Request | None = None
            self._charged = self._family.computed
            self._exact_at = self._exact_of = self._exact = 0.0
            self._lock = threading.Lock()
            self._ended = threading.Event()
            threading.Thread(target=self._run, daemon=True).start()
            self._ending = ending
            undo.pop_all()

    def begin(self, seconds: float) -> None:
        """A request begins, which may take so long."""
        with self._lock:
            self._family.refresh_main()
            self._charge_what_was_not_asked_for()
            self._family.hidden = False
            self._request = _Request(self._family, seconds)

    def end(self) -> None:
        """The request has ended."""
        with self._lock:
            self._family.refresh_main()
            if self._request:
                self._budget.left -= self._request.seconds_spent()
            self._request, self._charged = None, self._family.computed

    def why(self) -> str:
        """Why it has ended, as far as that was for a limit's sake, in a student's words; else empty."""
        with self._lock:
            self.reason = self.reason or self._out_of_memory()
            return self.reason

    def is_ending(self) -> bool:
        """Whether the fork has ended, or all its threads are about to.

        Raises:
            JailBroken: the kernel does not tell.
        """
        if _is_readable(self._handle, 0):
            return True
        try:
            for stat in Path(f"/proc/{self.main}/task").glob("*/stat"):
                with contextlib.suppress(FileNotFoundError, ProcessLookupError):
                    if not int(stat.read_bytes().rpartition(b")")[2].split()[6]) & PF_EXITING:
                        return False
        except OSError as error:
            raise JailBroken(f"it can't be seen whether a worker has ended ({error.strerror})") from None
        return True

    def status(self, seconds: float) -> int:
        """How the fork has ended, as waitpid(2) says it. `seconds`: how long its end may take.

        Raises:
            JailBroken: the warm process does not say, because it has ended too.
        """
        data = os.read(self._ending, wire.STATUS.size) if _is_readable(self._ending, seconds) else b""
        if len(data) < wire.STATUS.size:
            raise JailBroken("the jail's warm process is gone")
        return int(wire.STATUS.unpack(data)[0])

    def close(self) -> None:
        """End the family, and the watch."""
        self._ended.set()
        with self._lock:
            if self._handle >= 0:
                self._kill()
                self._family.close()
                os.close(self._handle)
                os.close(self._ending)
                self._handle = self._ending = -1
                if self._group is not None:
                    self._group.close()

    def _run(self) -> None:
        while not self._ended.wait(POLL_SECONDS):
            with self._lock:
                if self._ended.is_set():
                    return
                try:
                    self.reason = self._check_limits()
                except Exception as error:  # never go on unwatched
                    self.fault = f"a worker can't be watched any longer ({type(error).__name__}: {error})"
                if self.reason or self.fault:
                    self._kill()
                    return

    def _check_limits(self) -> str:
        """What limit it is beyond, in a student's words; empty while it is beyond none."""
        limits, family = self._limits, self._family
        family.refresh_members()
        memory = family.memory()
        self.most_memory = max(self.most_memory, memory)
        if self._request is None:
            self._charge_what_was_not_asked_for()
            if self._budget.left <= 0:
                return self._budget.overspent()
        elif self._request.seconds_spent() > self._request.seconds:
            return f"It ran longer than {self._request.seconds:.3g} s and was stopped."
        if family.threads() > limits.processes:
            return f"It started more than {limits.processes} processes or threads and was stopped."
        if self._group is not None and self._group.limits_memory:
            return self._out_of_memory()
        if memory > limits.memory and self._exactly(memory) > limits.memory:
            return self._too_much_memory()
        return ""

    def _too_much_memory(self) -> str:
        return f"It used more than {self._limits.memory // MIB:,} MiB of memory and was stopped."

    def _out_of_memory(self) -> str:
        """What is to be said if the kernel has ended it for its memory; else empty."""
        with contextlib.suppress(OSError):
            if self._group is not None and self._group.ran_out_of_memory():
                return self._too_much_memory()
        return ""

    def _charge_what_was_not_asked_for(self) -> None:
        """Between requests a submission may compute, in threads and processes that it has started: it pays for that, but not for our time."""
        self._budget.left -= self._family.computed - self._charged
        self._charged = self._family.computed

    def _exactly(self, memory: int) -> float:
        """The exact memory, looked at again when it is time for that, or when more was added."""
        start = time.monotonic()
        if start > self._exact_at or memory > 1.1 * self._exact_of:
            self._exact, self._exact_of = self._family.exact_memory(), memory
            self._exact_at = start + EXACT_MEMORY_INTERVAL * (time.monotonic() - start)
        return self._exact

    def _kill(self) -> None:
        with contextlib.suppress(ProcessLookupError):
            signal.pidfd_send_signal(self._handle, signal.SIGKILL)
        self._family.kill()


class _Request:
    """How long a request takes: what the family computes or sleeps, but not what it waits for a core that others are using."""

    def __init__(self, family: ProcessTree, seconds: float) -> None:
        self.seconds = seconds  # it may take
        self._family = family
        self._started = time.monotonic()
        self._computed = family.computed
        self._wait_seconds = family.wait_seconds() or 0.0

    def seconds_spent(self) -> float:
        """Seconds; at least a tenth of what the wall's clock shows. All of that, when the first process is gone, or when others of the family may
        have kept it waiting and have ended before they were seen.
        """
        wall = time.monotonic() - self._started
        waiting_seconds = self._family.wait_seconds()
        if waiting_seconds is None or self._family.hidden:
            waiting_seconds = self._wait_seconds
        return max(
            self._family.computed - self._computed, wall - (waiting_seconds - self._wait_seconds), wall / PATIENCE
        )


def _read(number: int) -> _Member | None:
    """A process as it is now; None if it has ended. Its name, of whatever bytes, is its own choice, whoever's process it is: nothing is decoded."""
    try:
        with open(f"/proc/{number}/stat", "rb") as stat, open(f"/proc/{number}/status", "rb") as status:
            return _parse_member(stat.read(), 1024 * sum(map(int, RESIDENT.findall(status.read()))))
    except OSError as error:
        _raise_if_ours(error)
    except (ValueError, IndexError):
        pass
    return None


def _read_status(number: int) -> dict[bytes, bytes]:
    """What the kernel tells of a process; nothing where it has ended."""
    try:
        status = Path(f"/proc/{number}/status").read_bytes()
    except OSError as error:
        _raise_if_ours(error)
        return {}
    return dict(line.split(b":\t", 1) for line in status.split(b"\n") if b":\t" in line)


def _raise_if_ours(error: OSError) -> None:
    """That this process can't open a file says nothing of the one that it wants to look at."""
    if error.errno in (errno.EMFILE, errno.ENFILE, errno.ENOMEM):
        raise error


def _is_readable(number: int, seconds: float) -> bool:
    poll = select.poll()
    poll.register(number, select.POLLIN)
    return bool(poll.poll(1000 * seconds))


def _parse_member(stat: bytes, memory: int) -> _Member:
    parts = stat.rpartition(b")")[2].split()
    user, system, children_user, children_system = (int(part) / TICKS for part in parts[11:15])
    return _Member(
        start_time=parts[19].decode(),
        own=user + system,
        children=children_user + children_system,
        threads=int(parts[17]),
        memory=memory,
    )


def _largest_buffer() -> int:
    try:
        return int(Path("/proc/sys/net/core/wmem_max").read_text())
    except OSError:  # in some containers
        return 212_992  # the kernel's own default


def _newest_process() -> int:
    """The number that this machine gave last."""
    return int(Path("/proc/loadavg").read_text().split()[-1])
