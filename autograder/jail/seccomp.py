"""Inside the jail: a seccomp filter that refuses the system calls by which a process could leave it or touch what all share, and which no exercise needs.

A layer behind the namespaces and the missing capabilities, not instead of them. Classic BPF, see seccomp(2); numbers from the kernel's tables.
"""

from __future__ import annotations

import ctypes
import errno
import platform
import struct
from functools import cache

# name: (x86_64, aarch64); None: there is no such call
REFUSED: dict[str, tuple[int | None, int | None]] = {
    # other processes and the kernel
    "ptrace": (101, 117), "process_vm_readv": (310, 270), "process_vm_writev": (311, 271), "kcmp": (312, 272),
    "pidfd_getfd": (438, 438), "process_madvise": (440, 440), "process_mrelease": (448, 448),
    "perf_event_open": (298, 241), "bpf": (321, 280), "userfaultfd": (323, 282),
    "add_key": (248, 217), "request_key": (249, 218), "keyctl": (250, 219), "syslog": (103, 116),
    "lookup_dcookie": (212, 18), "personality": (135, 92), "modify_ldt": (154, None), "iopl": (172, None),
    "ioperm": (173, None), "vhangup": (153, 58),
    # namespaces, mounts, the machine
    "unshare": (272, 97), "setns": (308, 268), "mount": (165, 40), "umount2": (166, 39), "pivot_root": (155, 41),
    "chroot": (161, 51), "open_tree": (428, 428), "move_mount": (429, 429), "fsopen": (430, 430),
    "fsconfig": (431, 431), "fsmount": (432, 432), "fspick": (433, 433), "mount_setattr": (442, 442),
    "statmount": (457, 457), "listmount": (458, 458), "open_tree_attr": (467, 467),
    "name_to_handle_at": (303, 264), "open_by_handle_at": (304, 265), "quotactl": (179, 60), "quotactl_fd": (443, 443),
    "acct": (163, 89), "swapon": (167, 224), "swapoff": (168, 225), "reboot": (169, 142), "kexec_load": (246, 104),
    "kexec_file_load": (320, 294), "init_module": (175, 105), "finit_module": (313, 273), "delete_module": (176, 106),
    "settimeofday": (164, 170), "clock_settime": (227, 112), "adjtimex": (159, 171), "clock_adjtime": (305, 266),
    "sync": (162, 81), "syncfs": (306, 267),
    # watches and queues, of which a machine or a user has a limited number
    "inotify_init": (253, None), "inotify_init1": (294, 26), "fanotify_init": (300, 262), "fanotify_mark": (301, 263),
    "io_setup": (206, 0), "io_submit": (209, 2), "io_uring_setup": (425, 425), "io_uring_enter": (426, 426),
    "io_uring_register": (427, 427), "mq_open": (240, 180), "msgget": (68, 186), "semget": (64, 190),
    # locks that reach files all share, and of which there may be any number
    "flock": (73, 32),
    # memory that belongs to no process, so that nobody's is seen to grow
    "memfd_create": (319, 279), "memfd_secret": (447, 447), "shmget": (29, 194), "vmsplice": (278, 75),
    "setxattr": (188, 5), "lsetxattr": (189, 6), "fsetxattr": (190, 7), "setxattrat": (463, 463),
    "landlock_create_ruleset": (444, 444), "mbind": (237, 235), "migrate_pages": (256, 238), "move_pages": (279, 239),
    # what the page cache holds, which all share
    "fadvise64": (221, 223), "readahead": (187, 213), "cachestat": (451, 451),
    # filters of its own: the kernel keeps them apart from any process, and has room for a limited number, of which every jail needs one
    "seccomp": (317, 277),
    # a main process that lets its children go first would be clocked wrong
    "setpriority": (141, 140), "sched_setparam": (142, 118), "sched_setscheduler": (144, 119),
    "sched_setattr": (314, 274), "ioprio_set": (251, 30),
}  # fmt: skip
CLONE, CLONE3 = (56, 220), (435, 435)
NEW_NAMESPACES = 0x7E020080  # the CLONE_NEW… flags of clone(2)
# name: (numbers, which argument, values that are refused)
REFUSED_VALUES = {
    # Locks (F_SETLK, F_SETLKW, and those of open files), F_SETLEASE, F_NOTIFY, hints to the disk.
    "fcntl": (
        (72, 25), 1, (6, 7, 37, 38, 1024, 1026, 1036, 1038)
    ),
    "ioctl": ((16, 29), 1, (0x5412, 0x541C)),  # TIOCSTI and TIOCLINUX: typing into a terminal
    "prctl": ((157, 167), 0, (15, 22)),  # PR_SET_NAME, one of several names that other accounts can read, and PR_SET_SECCOMP
    "setsockopt": ((54, 208), 2, (26, 50, 51, 52)),  # SO_ATTACH_FILTER and its kind
    # SIGKILL by which the first process of a pid namespace can end itself, as if from outside: at a limit on CPU time, or in the kernel's name
    "setrlimit": ((160, 164), 0, (0,)),  # RLIMIT_CPU
    "rt_sigqueueinfo": ((129, 138), 1, (9,)), "rt_tgsigqueueinfo": ((297, 240), 2, (9,)),
}  # fmt: skip
# name: (numbers, which argument, value that is refused, unless this argument is a null pointer)
REFUSED_WITH = {
    "prlimit64": ((302, 261), 1, 0, 2),  # RLIMIT_CPU, where a new one is given
    "pidfd_send_signal": ((424, 424), 1, 9, 2),  # SIGKILL, where its sender is given
}
SOCKET, SOCKETPAIR = (41, 198), (53, 199)
UNIX = 1  # the one family of sockets there is
MMAP = (9, 222)
SHARED, ANONYMOUS = 0x01, 0x20  # together: memory that stays when a process lets go of it
AUDIT_ARCH = {"x86_64": 0xC000003E, "aarch64": 0xC00000B7}
X32 = 0x40000000  # system calls of x86_64's 32-bit-pointer interface start here

LOAD, AND, JUMP_EQUAL, JUMP_AT_LEAST, JUMP_ANY_BIT, RETURN = 0x20, 0x54, 0x15, 0x35, 0x45, 0x06
NUMBER, ARCHITECTURE, FIRST_ARGUMENT = 0, 4, 16  # offsets in struct seccomp_data, little-endian
ALLOW, REFUSE, KILL = 0x7FFF0000, 0x00050000, 0x80000000
PR_SET_SECCOMP, SECCOMP_MODE_FILTER = 22, 2


def is_supported() -> bool:
    """Whether there is a table for this processor."""
    return platform.machine() in AUDIT_ARCH


@cache
def program() -> bytes:
    """The filter: another architecture's calls kill; refused calls fail with EPERM; clone3 with ENOSYS, so that libc uses clone."""
    filters = _Program(platform.machine())
    filters.refuse_calls()
    filters.refuse_namespaces()
    filters.refuse_shared_memory()
    filters.refuse_sockets()
    filters.refuse_values()
    filters.add(RETURN, ALLOW)
    return filters.code


class _Program:
    """Instructions of classic BPF, which the kernel runs from the first on. Every call begins with its number loaded."""

    def __init__(self, machine: str) -> None:
        """A program that goes on with the calls of this architecture alone."""
        self.code = b""
        self._column = list(AUDIT_ARCH).index(machine)  # of the tables
        self.add(LOAD, ARCHITECTURE)
        self.add(JUMP_EQUAL, AUDIT_ARCH[machine], 1, 0)
        self.add(RETURN, KILL)
        self.add(LOAD, NUMBER)
        self.add(JUMP_AT_LEAST, X32, 0, 1)
        self._refuse()

    def add(self, code: int, value: int, if_true: int = 0, if_false: int = 0) -> None:
        """One instruction. if_true, if_false: for a jump, how many of the next ones are left out."""
        self.code += struct.pack("=HBBI", code, if_true, if_false, value)

    def _refuse(self, error: int = errno.EPERM) -> None:
        self.add(RETURN, REFUSE | error)

    def _on_call(self, number: int, then: int) -> None:
        """The next `then` lines are for this call alone; they end in a verdict."""
        self.add(JUMP_EQUAL, number, 0, then)

    def _load_argument(self, index: int) -> None:
        self.add(LOAD, FIRST_ARGUMENT + 8 * index)  # its lower half, which is all that the kernel reads of these

    def refuse_calls(self) -> None:
        """Refuse calls, whatever their arguments."""
        for numbers in REFUSED.values():
            number = numbers[self._column]
            if number is not None:
                self._on_call(number, 1)
                self._refuse()
        self._on_call(CLONE3[self._column], 1)
        self._refuse(errno.ENOSYS)

    def refuse_namespaces(self) -> None:
        """Refuse clone where it makes a namespace."""
        self._on_call(CLONE[self._column], 4)
        self._load_argument(0)
        self.add(JUMP_ANY_BIT, NEW_NAMESPACES, 0, 1)
        self._refuse()
        self.add(RETURN, ALLOW)

    def refuse_shared_memory(self) -> None:
        """Refuse memory that stays when a process lets go of it."""
        self._on_call(MMAP[self._column], 5)
        self._load_argument(3)
        self.add(AND, SHARED | ANONYMOUS)
        self.add(JUMP_EQUAL, SHARED | ANONYMOUS, 0, 1)
        self._refuse()
        self.add(RETURN, ALLOW)

    def refuse_sockets(self) -> None:
        """Refuse sockets of other families than the one there is."""
        for numbers in (SOCKET, SOCKETPAIR):
            self._on_call(numbers[self._column], 4)
            self._load_argument(0)
            self.add(JUMP_EQUAL, UNIX, 1, 0)
            self._refuse(errno.EAFNOSUPPORT)
            self.add(RETURN, ALLOW)

    def refuse_values(self) -> None:
        """Refuse calls where an argument has one of some values; some of these calls only where another argument is no null pointer."""
        for numbers, index, values in REFUSED_VALUES.values():
            self._on_call(numbers[self._column], 2 * len(values) + 2)
            self._load_argument(index)
            for value in values:
                self.add(JUMP_EQUAL, value, 0, 1)
                self._refuse()
            self.add(RETURN, ALLOW)
        for numbers, index, value, pointer in REFUSED_WITH.values():
            self._on_call(numbers[self._column], 8)
            self._load_argument(index)
            self.add(JUMP_EQUAL, value, 0, 4)
            self._load_argument(pointer)
            self.add(JUMP_EQUAL, 0, 0, 3)
            self.add(LOAD, FIRST_ARGUMENT + 8 * pointer + 4)  # the upper half of the address
            self.add(JUMP_EQUAL, 0, 0, 1)
            self.add(RETURN, ALLOW)
            self._refuse()


def install() -> None:
    """Filter the system calls of this process and of all that it starts, for good. Needs no_new_privs; does nothing on other processors.

    Raises:
        OSError: the kernel refuses filters.
    """
    if not is_supported():
        return
    code = program()
    buffer = ctypes.create_string_buffer(code, len(code))
    pointer = struct.pack("@HP", len(code) // 8, ctypes.addressof(buffer))
    if ctypes.CDLL(None, use_errno=True).prctl(PR_SET_SECCOMP, SECCOMP_MODE_FILTER, pointer, 0, 0):
        raise OSError(ctypes.get_errno(), "seccomp")
