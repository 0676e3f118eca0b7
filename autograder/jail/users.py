"""Outside the jail: the kernel's user ids under which submissions run. Every submission gets one of its own, which is nobody else's.

A jail has a user namespace in which 0 is the grader, so that what the grader may read can be mounted, and in which 1 to COUNT are ids that no
account has. Root writes that map by itself; other users need the program newuidmap, and a range of ids in /etc/subuid and /etc/subgid.
"""

from __future__ import annotations

import contextlib
import fcntl
import os
import pwd
import re
import shutil
import stat
import subprocess
import sys
from collections.abc import Iterator
from pathlib import Path
from typing import BinaryIO

from autograder.jail.errors import JailWontStart

COUNT = 1024  # for one jail. They go round: one that is still in use is left out
UNUSED = range(0x7000_0000, 0x7001_0000)  # systemd's table of ids leaves 0x70000000 to 0x7fffffff to nobody
HELPER = """
import ctypes, os, sys
libc = ctypes.CDLL(None, use_errno=True)
if libc.unshare(0x10000000):
    sys.exit("user namespaces are not allowed here: " + os.strerror(ctypes.get_errno()))
os.write(1, b"u")
os.read(0, 1)
"""


class UserIds:
    """A block of ids that no other jail of this machine has while this object is open: `first` and COUNT - 1 more.

    apart: whether they get a user namespace, in which they are 1 to COUNT; `namespace` is then its file descriptor.

    Raises:
        JailWontStart: there are none to be had; the line says what to do.
    """

    def __init__(self, apart: bool) -> None:
        if not apart and os.geteuid() != 0:
            raise JailWontStart("--jail=container needs root inside the container: it runs student code as other users")
        users, groups = ranges("uid"), ranges("gid")
        self._lock, block = _reserve(min(len(users), len(groups)) // COUNT, users.start)
        self.first = users.start + block * COUNT
        self.namespace = -1
        if apart:
            try:
                self.namespace = _namespace(self.first, groups.start + block * COUNT)
            except BaseException:
                self._lock.close()
                raise

    def close(self) -> None:
        """Others may have the ids: nothing runs under them any more."""
        if self.namespace >= 0:
            os.close(self.namespace)
            self.namespace = -1
        self._lock.close()


def ranges(kind: str) -> range:
    """The ids that submissions may get, users' or groups'. `kind`: "uid" or "gid".

    Raises:
        JailWontStart: this user has none.
    """
    user = os.geteuid()
    me = _name(user)
    ids = _longest_range(Path(f"/etc/sub{kind}"), (me, str(user)))
    if user == 0:
        return ids or _spare(kind)
    if shutil.which(f"new{kind}map") is None:
        raise JailWontStart(f"new{kind}map is not installed: `apt-get install uidmap` (or your system's package)")
    if len(ids) < COUNT:
        raise JailWontStart(
            f"{me} has no user ids for submissions in /etc/sub{kind}: "
            f"`sudo usermod --add-subuids 100000-165535 --add-subgids 100000-165535 {me}`, with a range that nobody else has there"
        )
    return ids


def _name(user: int) -> str:
    try:
        return pwd.getpwuid(user).pw_name
    except KeyError:
        return str(user)


def _longest_range(file: Path, names: tuple[str, ...]) -> range:
    """The longest range that the file gives to one of the names."""
    longest = range(0)
    try:
        lines = file.read_text(encoding="utf-8").splitlines()
    except OSError:
        return longest
    for line in lines:
        name, _, numbers = line.partition(":")
        start, _, count = numbers.partition(":")
        if name in names and start.isdecimal() and count.isdecimal():
            longest = max(longest, range(int(start), int(start) + int(count)), key=len)
    return longest


def _spare(kind: str) -> range:
    """Ids that no account has, for root: in a container, some from the upper half of those that it was given."""
    largest = range(0)
    for line in Path(f"/proc/self/{kind}_map").read_text().splitlines():
        start, _, count = (int(part) for part in line.split())
        if start <= UNUSED.start and UNUSED.stop <= start + count:
            return UNUSED
        largest = max(largest, range(start, start + count), key=len)
    spare = largest[len(largest) // 2 : len(largest) * 3 // 4]  # 65534, at the end, is nobody
    if len(spare) < COUNT:
        raise JailWontStart(f"this container has too few user ids for submissions: /proc/self/{kind}_map")
    return spare


def _reserve(blocks: int, start: int) -> tuple[BinaryIO, int]:
    """A block of ids that no other jail of this account has: who has a block holds the lock on its file, which the kernel frees however its owner ends.

    Graders of another home, as in another container, begin with another block, and what runs under an id shows that its block is in use.
    """
    folder = _lock_folder()
    first = os.stat("/proc/self/ns/net").st_ino
    for turn in range(blocks):
        block = (first + turn) % blocks
        ids = range(start + block * COUNT, start + (block + 1) * COUNT)
        path = folder / f"user-ids-{ids.start}.lock"
        try:
            lock = open(os.open(path, os.O_RDWR | os.O_CREAT | os.O_NOFOLLOW | os.O_CLOEXEC, 0o600), "r+b")  # noqa: SIM115 - its owner closes it
        except (OSError, ValueError) as error:  # the latter where it is a pipe
            reason = getattr(error, "strerror", "") or str(error)
            raise JailWontStart(f"{path} can't be opened ({reason}): remove it") from None
        try:
            fcntl.flock(lock, fcntl.LOCK_EX | fcntl.LOCK_NB)
        except BlockingIOError:
            lock.close()
            continue
        except OSError as error:
            lock.close()
            raise JailWontStart(f"{path} can't be locked: {error.strerror}") from None
        if any(user in ids for user in _in_use()):
            lock.close()
            continue
        return lock, block
    raise JailWontStart(f"all {blocks * COUNT:,} user ids for submissions are in use by other jails")


def _lock_folder() -> Path:
    """A folder of this account's own on this machine, into which nobody else can write: names that everybody could take would keep graders from starting."""
    me = os.geteuid()
    home = Path(pwd.getpwuid(me).pw_dir) if _name(me) != str(me) else Path.home()
    here = Path("/run") if me == 0 else Path(f"/run/user/{me}")
    trouble = ""
    for folder in (here / "autograder", home / ".cache" / "autograder"):
        try:
            folder.mkdir(mode=0o700, parents=folder.parent.name == ".cache", exist_ok=True)
            state = os.lstat(folder)
        except OSError as error:
            trouble = f"{folder}: {error.strerror}"
            continue
        if stat.S_ISDIR(state.st_mode) and state.st_uid == me and not state.st_mode & 0o022:
            return folder
        trouble = f"{folder} is not a folder that only {_name(me)} can write into"
    raise JailWontStart(f"there is no folder for the locks on user ids ({trouble})")


def _in_use() -> Iterator[int]:
    """The user ids of all processes in sight."""
    for status in Path("/proc").glob("[0-9]*/status"):
        with contextlib.suppress(FileNotFoundError, ProcessLookupError, PermissionError):
            for line in re.findall(rb"^Uid:(.*)$", status.read_bytes(), re.MULTILINE):
                yield from map(int, line.split())


def _namespace(first_user: int, first_group: int) -> int:
    """A user namespace as a file descriptor: 0 is this process's user and group, 1 to COUNT are the ids from `first_…` on."""
    with subprocess.Popen(
        [sys.executable, "-I", "-S", "-c", HELPER],
        stdin=subprocess.PIPE,
        stdout=subprocess.PIPE,
        stderr=subprocess.PIPE,
    ) as helper:
        assert helper.stdin and helper.stdout and helper.stderr
        if helper.stdout.read(1) != b"u":
            raise JailWontStart(helper.stderr.read().decode(errors="replace").strip()[:300] or "no user namespace")
        for kind, own, first in (("uid", os.geteuid(), first_user), ("gid", os.getegid(), first_group)):
            _map(kind, helper.pid, [(0, own, 1), (1, first, COUNT)])
        return os.open(f"/proc/{helper.pid}/ns/user", os.O_RDONLY | os.O_CLOEXEC)


def _map(kind: str, process: int, lines: list[tuple[int, int, int]]) -> None:
    if os.geteuid() == 0:
        try:
            text = "".join(f"{inner} {outer} {count}\n" for inner, outer, count in lines)
            Path(f"/proc/{process}/{kind}_map").write_text(text)
        except OSError as error:
            raise JailWontStart(f"root may not give out user ids here: {error}") from None
        return
    numbers = [str(number) for line in lines for number in line]
    result = subprocess.run(
        [f"new{kind}map", str(process), *numbers], capture_output=True, text=True, check=False, stdin=subprocess.DEVNULL
    )
    if result.returncode:
        raise JailWontStart(f"new{kind}map failed: {result.stderr.strip()[:300] or result.returncode}")
