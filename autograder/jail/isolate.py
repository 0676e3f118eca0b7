"""Inside the jail: fresh namespaces for one fork, its own /tmp and /proc, a user id of its own, then no capabilities. Linux system calls through ctypes."""

from __future__ import annotations

import contextlib
import ctypes
import errno
import os
import resource
import shutil
import signal
import struct
import tempfile
from collections.abc import Sequence
from pathlib import Path

from autograder.jail.limits import MIB, Limits

_libc = ctypes.CDLL(None, use_errno=True)
_libc_as_python = ctypes.PyDLL(None)  # no other thread of Python's runs during a call
_libc_as_python.syscall.restype = ctypes.c_long

CLONE_NEWNS, CLONE_NEWCGROUP, CLONE_NEWUTS, CLONE_NEWIPC, CLONE_NEWPID, CLONE_NEWNET, CLONE_NEWUSER = (
    0x00020000, 0x02000000, 0x04000000, 0x08000000, 0x20000000, 0x40000000, 0x10000000,
)  # fmt: skip
CLONE_CHILD_CLEARTID, CLONE_CHILD_SETTID, CLONE_INTO_CGROUP = 0x00200000, 0x01000000, 0x200000000
CLONE3 = 435  # on every processor
CLONE_ARGUMENTS = struct.Struct("11Q")  # flags, pidfd, child_tid, parent_tid, exit_signal, five unused ones, cgroup
MS_RDONLY, MS_NOSUID, MS_NODEV, MS_NOEXEC, MS_REMOUNT, MS_BIND, MS_REC, MS_PRIVATE = (
    1, 2, 4, 8, 32, 4096, 16384, 1 << 18,
)  # fmt: skip
PR_SET_DUMPABLE, PR_CAPBSET_DROP, PR_SET_NO_NEW_PRIVS, PR_CAP_AMBIENT, PR_CAP_AMBIENT_CLEAR_ALL = 4, 24, 38, 47, 4
PR_GET_TID_ADDRESS = 40
MADV_COLLAPSE = 25
STUDENT = 1000  # the user and the group that a submission sees itself as
TERMINALS = 8  # IPython gives every command of the shell one
CAPABILITY_VERSION_3 = 0x20080522
LAST_CAPABILITY = 63
SIGNALS = 1024  # waiting signals and timers
FILES = 256  # that may be open
SOONER = 100  # thousandths of all memory, by which a process seems larger when the kernel looks for one to end


class IsolationFailed(OSError):
    """A layer of isolation could not be made."""


def go_sooner() -> None:
    """When memory runs out, have the kernel end this process, and what it starts, before the one that has started it: the command, which can say
    what has happened, goes after those that grade, and these after a submission.
    """
    with contextlib.suppress(OSError):
        file = Path("/proc/self/oom_score_adj")
        file.write_text(str(min(1000, int(file.read_text()) + SOONER)))


def undumpable() -> None:
    """No other process may read this one's memory."""
    _prctl(PR_SET_DUMPABLE, 0)


class RotatingUserIds:
    """The kernel's user ids that submissions get, each another: they go round, and one that is in use is left out."""

    def __init__(self, first: int, count: int) -> None:
        self._ids = range(first, first + count)
        self._turn = 0

    def next(self) -> int:
        """An id under which nothing runs."""
        for _ in self._ids:
            number = self._ids[self._turn]
            self._turn = (self._turn + 1) % len(self._ids)
            try:
                os.getpriority(os.PRIO_USER, number)
            except ProcessLookupError:
                return number
        raise IsolationFailed(errno.EAGAIN, "every user id for submissions is in use")


def become(number: int) -> None:
    """Become this user, with a group of the same number and no other, for good."""
    os.setgroups([])
    os.setresgid(number, number, number)
    os.setresuid(number, number, number)


def own_folder(user: int) -> str:
    """A folder that this user alone may look into."""
    folder = tempfile.mkdtemp(prefix="submission-")
    os.chown(folder, user, user)
    return folder


def live_in(folder: str) -> None:
    """What a program writes by itself goes into this folder."""
    for name in ("HOME", "TMPDIR", "MPLCONFIGDIR", "IPYTHONDIR", "TORCHINDUCTOR_CACHE_DIR"):
        os.environ[name] = folder
    tempfile.tempdir = folder


def end_user(user: int, folder: str) -> None:
    """End whatever runs as this user, and remove its folder and what it has left where everybody may write."""
    child = os.fork()
    if child == 0:
        try:
            become(user)
            os.kill(-1, signal.SIGKILL)  # everything that this user may send a signal to, but this process
        finally:
            os._exit(0)
    os.waitpid(child, 0)
    shutil.rmtree(folder, ignore_errors=True)
    for place in ("/tmp", "/var/tmp", "/dev/shm"):
        for entry in os.scandir(place):
            with contextlib.suppress(FileNotFoundError):  # others remove theirs meanwhile
                if entry.stat(follow_symlinks=False).st_uid != user:
                    continue
                if entry.is_dir(follow_symlinks=False):
                    shutil.rmtree(entry.path, ignore_errors=True)
                else:
                    os.unlink(entry.path)


def forget_open_files(channel: int) -> None:
    """Close what was open before the fork but the channel: what is shared has flags and a position that one submission could set for the next."""
    os.closerange(0, channel)
    os.closerange(channel + 1, os.sysconf("SC_OPEN_MAX"))
    for mode in (os.O_RDONLY, os.O_WRONLY, os.O_WRONLY):
        os.set_inheritable(os.open(os.devnull, mode), True)


def fork(group: int | None = None) -> int:
    """`os.fork`; the child is born in the control group whose folder is open under that number, where the kernel can do that.

    To be moved there later would take ten times as long: the kernel then waits until no processor is about to fork.
    """
    place = None if group is None else _own_number()
    if group is None or place is None:
        return os.fork()
    flags = CLONE_INTO_CGROUP | CLONE_CHILD_SETTID | CLONE_CHILD_CLEARTID  # the latter two as the C library's fork does
    arguments = CLONE_ARGUMENTS.pack(flags, 0, place, 0, signal.SIGCHLD, 0, 0, 0, 0, 0, group)
    ctypes.pythonapi.PyOS_BeforeFork()
    child = _libc_as_python.syscall(ctypes.c_long(CLONE3), arguments, ctypes.c_size_t(len(arguments)))
    if child == 0:
        ctypes.pythonapi.PyOS_AfterFork_Child()
        return 0
    ctypes.pythonapi.PyOS_AfterFork_Parent()
    return int(child) if child > 0 else os.fork()


def _own_number() -> int | None:
    """Where the C library keeps this process's number, which a child has to find its own in; None where that is not known, or there are threads,
    for which the C library's fork does more.
    """
    place = ctypes.c_void_p()
    if _libc.prctl(PR_GET_TID_ADDRESS, ctypes.byref(place), 0, 0, 0) or not place.value:
        return None
    alone = len(os.listdir("/proc/self/task")) == 1
    return place.value if alone and ctypes.c_int.from_address(place.value).value == os.getpid() else None


class Namespaces:
    """Pid, mount, ipc, uts, net and user namespaces of its own for every fork of this process.

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
        for path in Path("/dev").iterdir():
            if path.is_char_device() and not path.is_symlink():
                _mount("none", str(path), "", MS_REMOUNT | MS_BIND | MS_RDONLY | MS_NOSUID | _locked_flags(path), "")

    def before_fork(self) -> None:
        """The next fork is the first process of a new pid namespace: the kernel wants the choice taken back before it is made anew."""
        if _libc.setns(self._own, CLONE_NEWPID):
            _fail("setns")
        if _libc.unshare(CLONE_NEWPID):
            _fail("unshare")

    def after_fork(self, user: int, limits: Limits, keep: Sequence[str]) -> None:
        """In the fork: everything else of its own, and then another user.

        The user namespace comes last: what was unshared and mounted before belongs to an outer one, in which student code has no rights
        whatever it becomes in its own.
        """
        if _libc.unshare(CLONE_NEWNS | CLONE_NEWIPC | CLONE_NEWUTS | CLONE_NEWNET):
            _fail("unshare")
        _libc.unshare(CLONE_NEWCGROUP)  # of no consequence where the kernel has none: no control group is in sight
        myself = os.open("/proc/self", os.O_PATH | os.O_DIRECTORY)
        private_mounts(limits, keep)
        become(user)
        _prctl(PR_SET_DUMPABLE, 1)  # while it is not, its files in /proc belong to root
        if _libc.unshare(CLONE_NEWUSER):
            _fail("unshare")
        for name, line in (
            ("setgroups", "deny"),
            ("uid_map", f"{STUDENT} {user} 1"),
            ("gid_map", f"{STUDENT} {user} 1"),
        ):
            file = os.open(name, os.O_WRONLY, dir_fd=myself)
            os.write(file, line.encode())
            os.close(file)
        os.close(myself)
        _prctl(PR_SET_DUMPABLE, 0)


def private_mounts(limits: Limits, keep: Sequence[str]) -> None:
    """A bounded /tmp and /dev/shm of one's own, terminals of one's own, and a /proc that shows nobody.

    keep: what is mounted below /tmp and must stay in sight (a project or an environment may lie there).
    """
    _mount("none", "/", "", MS_REC | MS_PRIVATE, "")
    descriptors = {path: os.open(path, os.O_PATH | os.O_CLOEXEC) for path in keep}
    proc_files = {name: Path("/proc", name).read_bytes() for name in ("cpuinfo", "meminfo")}
    tmp = f"size={limits.tmp},mode=1777"
    _mount("tmpfs", "/tmp", "tmpfs", MS_NOSUID | MS_NODEV, f"{tmp},nr_inodes=4096")
    for path, number in descriptors.items():
        os.makedirs(path)
        _mount(f"/proc/self/fd/{number}", path, "", MS_BIND | MS_REC, "")
        os.close(number)
    _mount("tmpfs", "/dev/shm", "tmpfs", MS_NOSUID | MS_NODEV, f"{tmp},nr_inodes=256")
    _mount("devpts", "/dev/pts", "devpts", MS_NOSUID | MS_NOEXEC, f"newinstance,ptmxmode=0666,mode=620,max={TERMINALS}")
    small = "size=1m,nr_inodes=16,mode=755"
    _mount("tmpfs", "/proc", "tmpfs", MS_NOSUID | MS_NODEV | MS_NOEXEC, small)
    for name, content in proc_files.items():
        Path("/proc", name).write_bytes(content)
    _mount("tmpfs", "/proc", "tmpfs", MS_REMOUNT | MS_RDONLY | MS_NOSUID | MS_NODEV | MS_NOEXEC, small)


def _locked_flags(path: Path) -> int:
    """Of a mount's flags those that may not be taken from it."""
    flags = os.statvfs(path).f_flag
    relatime = 1 << 12, 1 << 21  # ST_RELATIME, MS_RELATIME
    same = MS_NOSUID | MS_NODEV | MS_NOEXEC | 1 << 10 | 1 << 11  # the last two: no access times
    return flags & same | (relatime[1] if flags & relatime[0] else 0)


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


def set_limits(limits: Limits, address_space: int) -> None:
    """Kernel limits of this process: the second line, behind the watch outside. `address_space`: bytes already mapped."""
    memory, most = address_space + limits.memory, resource.getrlimit(resource.RLIMIT_SIGPENDING)[1]
    for which, value in (
        (resource.RLIMIT_AS, memory),
        (resource.RLIMIT_NPROC, limits.processes),
        (resource.RLIMIT_FSIZE, limits.tmp),
        (resource.RLIMIT_NOFILE, FILES),
        (resource.RLIMIT_CORE, 0),
        (resource.RLIMIT_MSGQUEUE, 0),
        (resource.RLIMIT_MEMLOCK, 0),
        (resource.RLIMIT_SIGPENDING, SIGNALS if most == resource.RLIM_INFINITY else min(SIGNALS, most)),
    ):
        resource.setrlimit(which, (value, value))


def mapped_bytes() -> int:
    """How much address space this process has mapped."""
    return int(Path("/proc/self/statm").read_text().split()[0]) * os.sysconf("SC_PAGESIZE")


def in_huge_pages() -> None:
    """Put this process's memory into huge pages, where the kernel has them: a fork copies, and its end clears, a table of every page there is.

    What a fork then writes to is still copied in small pages. Nothing depends on it: a kernel that knows no such request says no.
    """
    huge = 2 * MIB
    for line in Path("/proc/self/maps").read_text().splitlines():
        addresses, access, _, _, file, *name = line.split()
        if access[1] == "w" and file == "0" and name in ([], ["[heap]"]):
            first, end = (int(address, 16) for address in addresses.split("-"))
            first, end = -(-first // huge) * huge, end // huge * huge
            if first < end:
                _libc.madvise(ctypes.c_void_p(first), ctypes.c_size_t(end - first), MADV_COLLAPSE)


def _mount(source: str, target: str, kind: str, flags: int, options: str) -> None:
    if _libc.mount(source.encode(), target.encode(), kind.encode(), ctypes.c_ulong(flags), options.encode()):
        _fail(f"mount {target}")


def _prctl(option: int, value: int) -> None:
    if _libc.prctl(option, value, 0, 0, 0):
        _fail(f"prctl {option}")


def _fail(call: str) -> None:
    number = ctypes.get_errno()
    raise IsolationFailed(number, f"{call}: {os.strerror(number)}")
