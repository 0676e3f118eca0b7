"""Inside the jail: what must hold where a submission runs, tried for real. Each jail's first fork tries them before any submission; one that
does not hold stops grading, and `autograder doctor` shows them one by one.
"""

from __future__ import annotations

import ctypes
import errno
import importlib.util
import os
import resource
import socket
import sys
from collections.abc import Callable, Sequence
from pathlib import Path

from autograder.jail import isolate, seccomp

_libc = ctypes.CDLL(None, use_errno=True)


def no_network() -> None:
    """Neither a socket to reach it, nor an address to reach."""
    try:
        socket.create_connection(("127.0.0.1", 9), 1)
    except OSError as error:
        assert not isinstance(error, ConnectionRefusedError), "the machine's own network answers"
    else:
        raise AssertionError("something answers on port 9")


def no_other_process() -> None:
    """It is the first of its pid namespace, and its /proc shows nobody."""
    assert os.getpid() == 1, f"its number is {os.getpid()}"
    assert not [name for name in os.listdir("/proc") if name.isdigit()], "/proc shows processes"


def a_user_of_its_own() -> None:
    """It has a user id for itself, sees itself as somebody ordinary, and is in no group of the grader's."""
    assert os.getuid() == os.geteuid() == isolate.STUDENT, f"it is user {os.getuid()}"
    assert not os.getgroups(), f"it is in the groups {os.getgroups()}"
    for node in ("/dev/null", sys.executable):
        assert os.stat(node).st_uid != os.getuid(), f"{node} belongs to it"


def a_user_id_of_its_own() -> None:
    """It is not the grader, and in no group of the grader's."""
    assert os.getuid() == os.geteuid() != 0, "it runs as root"
    assert not os.getgroups(), f"it is in the groups {os.getgroups()}"


def no_answers() -> None:
    """Nothing of the autograder but the jail, no keys, and no shipped reference outputs."""
    from ffnlab.registry import active_course

    course = active_course()
    assert importlib.util.find_spec("autograder.keys") is None, "the keys can be imported"
    assert course.keys_folder is None, "the course's keys can be imported"
    answer_files = [file.name for file in course.reference_folder.glob("*.safetensors")]
    assert not answer_files, f"{answer_files[0]} is there"


def reads_what_it_needs() -> None:
    """What was imported belongs to the grader: others must be able to read it, as much of it is read when it is first used."""
    for name in ("torch", "numpy", "matplotlib", "IPython", "ffnlab", "autograder.jail"):
        file = sys.modules[name].__file__
        assert file and os.access(file, os.R_OK), (
            f"{file} can't be read by other users than you: `chmod -R go+rX` its folder, and every folder of the project and of Python's"
        )


def only_tmp_can_be_written() -> None:
    """Nothing can be written but /tmp, nor touched."""
    for place in ("/usr", sys.prefix, os.path.dirname(os.__file__), "/", "/dev", "/proc"):
        assert not os.access(place, os.W_OK), f"{place} can be written"
    try:
        os.utime("/dev/null")
        raise AssertionError("a device can be touched")
    except OSError as error:
        assert error.errno == errno.EROFS, error
    Path("/tmp/mine").touch()
    os.remove("/tmp/mine")


def no_capability() -> None:
    """No namespace and no mount can be made."""
    assert _libc.unshare(0x00020000) != 0, "it can make a namespace"
    assert _libc.mount(b"none", b"/tmp", b"tmpfs", 0, b"") != 0, "it can mount"
    capabilities = (ctypes.c_uint32 * 6)()
    _libc.capget((ctypes.c_uint32 * 2)(isolate.CAPABILITY_VERSION_3, 0), capabilities)
    assert not any(capabilities), "it has capabilities"


def system_calls_are_filtered() -> None:
    """io_uring, and every family of sockets but one, stand for the rest."""
    if seccomp.is_supported():
        assert _libc.syscall(425, 1, None) == -1 and ctypes.get_errno() == errno.EPERM, "io_uring"
        assert _libc.socket(socket.AF_INET, socket.SOCK_DGRAM, 0) == -1, "a socket"


def memory_is_bounded() -> None:
    """The kernel's limits are set."""
    for limit in (resource.RLIMIT_AS, resource.RLIMIT_NPROC, resource.RLIMIT_FSIZE):
        assert resource.getrlimit(limit)[1] != resource.RLIM_INFINITY, "there is no limit"


BUBBLEWRAP: dict[str, Callable[[], None]] = {
    "no network": no_network,
    "no other process in sight": no_other_process,
    "a user id of its own": a_user_of_its_own,
    "no answers, no keys": no_answers,
    "the course can be read": reads_what_it_needs,
    "nothing can be written but /tmp": only_tmp_can_be_written,
    "no capability": no_capability,
    "system calls are filtered": system_calls_are_filtered,
    "memory is bounded": memory_is_bounded,
}
CONTAINER = {
    "a user id of its own": a_user_id_of_its_own,
    "the course can be read": reads_what_it_needs,
    "system calls are filtered": system_calls_are_filtered,
    "memory is bounded": memory_is_bounded,
}
NONE = {"memory is bounded": memory_is_bounded}
OF_MODE = {"bubblewrap": BUBBLEWRAP, "container": CONTAINER, "none": NONE}
PRIVATE = "nothing of the class can be read"


def nothing_private(private: Sequence[str]) -> None:
    """Answers, keys, other submissions, the gradebook: whatever the process outside names as private can't be read."""
    for path in private:
        assert not _readable(path), f"{path} can be read: `chmod -R go-rwx {path}`"


def _readable(path: str) -> bool:
    """Whether there is anything to read; in an empty folder, or under /dev/null, there is not."""
    if os.path.isdir(path):
        return bool(os.listdir(path)) if os.access(path, os.R_OK) else os.access(path, os.X_OK)  # names may be guessed
    return os.path.isfile(path) and os.access(path, os.R_OK)


def of_mode(mode: str, private: Sequence[str]) -> dict[str, Callable[[], None]]:
    """By what it is called: what must hold. `mode`: of sandbox.Mode; `private`: paths that a submission may not read."""
    every = dict(OF_MODE[mode])
    if mode != "none":
        every[PRIVATE] = lambda: nothing_private(private)
    return every


def problem(mode: str, private: Sequence[str]) -> str:
    """What does not hold here, in a line; empty when everything does."""
    for name, proof in of_mode(mode, private).items():
        try:
            proof()
        except Exception as error:
            return f"“{name}” does not hold: {error or type(error).__name__}"
    return ""
