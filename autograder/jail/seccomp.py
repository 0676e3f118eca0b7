"""Inside the jail: a seccomp filter that refuses the system calls by which a process could leave it and which no exercise needs.

A layer behind the namespaces and the missing capabilities, not instead of them. Classic BPF, see seccomp(2); numbers from the kernel's tables.
"""

from __future__ import annotations

import ctypes
import errno
import platform
import struct

# name: (x86_64, aarch64)
REFUSED = {
    "ptrace": (101, 117), "process_vm_readv": (310, 270), "process_vm_writev": (311, 271), "kcmp": (312, 272),
    "pidfd_getfd": (438, 438), "perf_event_open": (298, 241), "bpf": (321, 280), "userfaultfd": (323, 282),
    "add_key": (248, 217), "request_key": (249, 218), "keyctl": (250, 219),
    "io_uring_setup": (425, 425), "io_uring_enter": (426, 426), "io_uring_register": (427, 427),
    "unshare": (272, 97), "setns": (308, 268), "mount": (165, 40), "umount2": (166, 39), "pivot_root": (155, 41),
    "chroot": (161, 51), "open_tree": (428, 428), "move_mount": (429, 429), "fsopen": (430, 430),
    "fsconfig": (431, 431), "fsmount": (432, 432), "fspick": (433, 433), "mount_setattr": (442, 442),
    "name_to_handle_at": (303, 264), "open_by_handle_at": (304, 265), "quotactl": (179, 60), "acct": (163, 89),
    "swapon": (167, 224), "swapoff": (168, 225), "reboot": (169, 142), "kexec_load": (246, 104),
    "kexec_file_load": (320, 294), "init_module": (175, 105), "finit_module": (313, 273), "delete_module": (176, 106),
    "settimeofday": (164, 170), "clock_settime": (227, 112), "adjtimex": (159, 171),
}  # fmt: skip
CLONE, CLONE3 = (56, 220), (435, 435)
NEW_NAMESPACES = 0x7E020080  # the CLONE_NEW… flags of clone(2)
AUDIT_ARCH = {"x86_64": 0xC000003E, "aarch64": 0xC00000B7}
X32 = 0x40000000  # system calls of x86_64's 32-bit-pointer interface start here

LOAD, JUMP_EQUAL, JUMP_AT_LEAST, JUMP_ANY_BIT, RETURN = 0x20, 0x15, 0x35, 0x45, 0x06
NUMBER, ARCHITECTURE, FIRST_ARGUMENT = 0, 4, 16  # offsets in struct seccomp_data, little-endian
ALLOW, REFUSE, KILL = 0x7FFF0000, 0x00050000, 0x80000000
PR_SET_SECCOMP, SECCOMP_MODE_FILTER = 22, 2


def supported() -> bool:
    """Whether there is a table for this processor."""
    return platform.machine() in AUDIT_ARCH


def program() -> bytes:
    """The filter: another architecture's calls kill; refused calls fail with EPERM; clone3 with ENOSYS, so that libc uses clone."""
    column = list(AUDIT_ARCH).index(platform.machine())
    lines: list[bytes] = []

    def add(code: int, value: int, if_true: int = 0, if_false: int = 0) -> None:
        lines.append(struct.pack("=HBBI", code, if_true, if_false, value))

    def when_equal(number: int, verdict: int) -> None:
        add(JUMP_EQUAL, number, 0, 1)
        add(RETURN, verdict)

    add(LOAD, ARCHITECTURE)
    add(JUMP_EQUAL, AUDIT_ARCH[platform.machine()], 1, 0)
    add(RETURN, KILL)
    add(LOAD, NUMBER)
    add(JUMP_AT_LEAST, X32, 0, 1)
    add(RETURN, REFUSE | errno.EPERM)
    for numbers in REFUSED.values():
        when_equal(numbers[column], REFUSE | errno.EPERM)
    when_equal(CLONE3[column], REFUSE | errno.ENOSYS)
    add(JUMP_EQUAL, CLONE[column], 0, 3)
    add(LOAD, FIRST_ARGUMENT)
    add(JUMP_ANY_BIT, NEW_NAMESPACES, 0, 1)
    add(RETURN, REFUSE | errno.EPERM)
    add(RETURN, ALLOW)
    return b"".join(lines)


def install() -> None:
    """Filter the system calls of this process and of all that it starts, for good. Needs no_new_privs; does nothing on other processors.

    Raises:
        OSError: the kernel refuses filters.
    """
    if not supported():
        return
    code = program()
    buffer = ctypes.create_string_buffer(code, len(code))
    pointer = struct.pack("@HP", len(code) // 8, ctypes.addressof(buffer))
    if ctypes.CDLL(None, use_errno=True).prctl(PR_SET_SECCOMP, SECCOMP_MODE_FILTER, pointer, 0, 0):
        raise OSError(ctypes.get_errno(), "seccomp")
