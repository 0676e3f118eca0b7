"""Inside the jail: fresh namespaces for one fork, its own /tmp and /proc, then no capabilities at all. Linux system calls through ctypes."""

from __future__ import annotations

import ctypes
import os
import resource
from collections.abc import Sequence
from pathlib import Path

from autograder.jail.limits import Limits

_libc = ctypes.CDLL(None, use_errno=True)

CLONE_NEWNS, CLONE_NEWUTS, CLONE_NEWIPC, CLONE_NEWPID, CLONE_NEWNET, CLONE_NEWUSER = (
    0x00020000, 0x04000000, 0x08000000, 0x20000000, 0x40000000, 0x10000000,
)  # fmt: skip
MS_RDONLY, MS_NOSUID, MS_NODEV, MS_NOEXEC, MS_REMOUNT, MS_BIND, MS_REC, MS_PRIVATE = (
    1,
    2,
    4,
    8,
    32,
    4096,
    16384,
    1 << 18,
)
PR_SET_DUMPABLE, PR_CAPBSET_DROP, PR_SET_NO_NEW_PRIVS, PR_CAP_AMBIENT, PR_CAP_AMBIENT_CLEAR_ALL = (
    4,
    24,
    38,
    47,
    4,
)
NOBODY = 65534  # the user and the group of that number
CAPABILITY_VERSION_3 = 0x20080522
LAST_CAPABILITY = 63


class IsolationFailed(OSError):
    """A layer of isolation could not be made."""


def undumpable() -> None:
    """No other process may read this one's memory."""
    _prctl(PR_SET_DUMPABLE, 0)


class Namespaces:
    """User, pid, mount, ipc, uts and net namespaces of its own for every fork of this process.

    Making one moves this process into a pid namespace that belongs to its user namespace (bubblewrap's does not always), by forking:
    the process that called this waits for the fork and ends with it.
    """

    def __init__(self) -> None:
        if _libc.unshare(CLONE_NEWPID):
            _fail("unshare")
        child = os.fork()
        if child:
            os.closerange(3, os.sysconf("SC_OPEN_MAX"))
            os.waitpid(child, 0)
            os._exit(0)
        self._own = os.open("/proc/self/ns/pid", os.O_RDONLY | os.O_CLOEXEC)

    def before_fork(self) -> None:
        """The next fork is the first process of a new pid namespace: the kernel wants the choice taken back before it is made anew."""
        if _libc.setns(self._own, CLONE_NEWPID):
            _fail("setns")
        if _libc.unshare(CLONE_NEWPID):
            _fail("unshare")

    def after_fork(self) -> None:
        """In the fork: everything else of its own, and a user namespace too, so that its processes are counted apart from other submissions'."""
        os.close(self._own)
        _prctl(PR_SET_DUMPABLE, 1)  # while it is not, its files in /proc belong to root
        user, group = os.geteuid(), os.getegid()
        if _libc.unshare(CLONE_NEWUSER):
            _fail("unshare")
        Path("/proc/self/setgroups").write_text("deny")
        Path("/proc/self/uid_map").write_text(f"{user} {user} 1")
        Path("/proc/self/gid_map").write_text(f"{group} {group} 1")
        _prctl(PR_SET_DUMPABLE, 0)
        if _libc.unshare(CLONE_NEWNS | CLONE_NEWIPC | CLONE_NEWUTS | CLONE_NEWNET):
            _fail("unshare")


def private_mounts(limits: Limits, keep: Sequence[str]) -> None:
    """A bounded /tmp and /dev/shm of one's own, and a /proc that shows nobody.

    keep: what is mounted below /tmp and must stay in sight (a project or an environment may lie there).
    """
    _mount("none", "/", "", MS_REC | MS_PRIVATE, "")
    kept_open = {path: os.open(path, os.O_PATH | os.O_CLOEXEC) for path in keep}
    kept = {name: Path("/proc", name).read_bytes() for name in ("cpuinfo", "meminfo")}
    _mount("tmpfs", "/tmp", "tmpfs", MS_NOSUID | MS_NODEV, f"size={limits.tmp},nr_inodes=4096,mode=1777")
    for path, number in kept_open.items():
        os.makedirs(path)
        _mount(f"/proc/self/fd/{number}", path, "", MS_BIND | MS_REC, "")
        os.close(number)
    _mount("tmpfs", "/dev/shm", "tmpfs", MS_NOSUID | MS_NODEV, f"size={limits.tmp},nr_inodes=256,mode=1777")
    _mount("tmpfs", "/proc", "tmpfs", MS_NOSUID | MS_NODEV | MS_NOEXEC, "size=1m,nr_inodes=16,mode=755")
    for name, content in kept.items():
        Path("/proc", name).write_bytes(content)
    _mount(
        "tmpfs",
        "/proc",
        "tmpfs",
        MS_REMOUNT | MS_RDONLY | MS_NOSUID | MS_NODEV | MS_NOEXEC,
        "size=1m,nr_inodes=16",
    )


def no_capabilities() -> None:
    """Drop every capability, for good."""
    for capability in range(LAST_CAPABILITY + 1):
        if _libc.prctl(PR_CAPBSET_DROP, capability, 0, 0, 0):
            break  # beyond the last capability this kernel knows; without namespaces there is none to begin with
    _libc.prctl(PR_CAP_AMBIENT, PR_CAP_AMBIENT_CLEAR_ALL, 0, 0, 0)
    _prctl(PR_SET_NO_NEW_PRIVS, 1)
    header = (ctypes.c_uint32 * 2)(CAPABILITY_VERSION_3, 0)
    if _libc.capset(header, (ctypes.c_uint32 * 6)()):
        _fail("capset")


def become_nobody(unreadable: Path) -> str:
    """Become a second user, for good; returns why that can't be done, or that this user could still read `unreadable`, else nothing."""
    if os.geteuid() != 0:
        return "--jail=container needs root inside the container: it runs student code as a second user"
    os.setgroups([])
    os.setresgid(NOBODY, NOBODY, NOBODY)
    os.setresuid(NOBODY, NOBODY, NOBODY)
    if os.access(unreadable, os.R_OK | os.X_OK):
        return f"the second user can read the answer key: chmod -R go-rwx {unreadable}, and the same for solutions/ and grading/"
    return ""


def set_limits(limits: Limits, address_space: int) -> None:
    """Kernel limits of this process: the second line, behind the conductor's own watch. `address_space`: bytes already mapped."""
    memory = address_space + limits.memory
    for which, value in (
        (resource.RLIMIT_AS, memory),
        (resource.RLIMIT_NPROC, limits.processes),
        (resource.RLIMIT_FSIZE, limits.tmp),
        (resource.RLIMIT_NOFILE, 256),
        (resource.RLIMIT_CORE, 0),
        (resource.RLIMIT_MSGQUEUE, 0),
        (resource.RLIMIT_MEMLOCK, 0),
    ):
        resource.setrlimit(which, (value, value))


def mapped_bytes() -> int:
    """How much address space this process has mapped."""
    return int(Path("/proc/self/statm").read_text().split()[0]) * os.sysconf("SC_PAGESIZE")


def _mount(source: str, target: str, kind: str, flags: int, options: str) -> None:
    if _libc.mount(source.encode(), target.encode(), kind.encode(), ctypes.c_ulong(flags), options.encode()):
        _fail(f"mount {target}")


def _prctl(option: int, value: int) -> None:
    if _libc.prctl(option, value, 0, 0, 0):
        _fail(f"prctl {option}")


def _fail(what: str) -> None:
    number = ctypes.get_errno()
    raise IsolationFailed(number, f"{what}: {os.strerror(number)}")
