"""Tries the system calls by which one looks into other processes, namespaces, files by handle, and the kernel."""

from attacks import Attack

attack = Attack(
    says="none worked",
    answer="""
import ctypes
import platform

libc = ctypes.CDLL(None, use_errno=True)
room = ctypes.create_string_buffer(4096)
CALLS = {  # by name: the number on x86_64 and on aarch64, and arguments that would work where it is allowed
    "bpf": (321, 280, 0, room, 100), "userfaultfd": (323, 282, 1), "perf_event_open": (298, 241, room, 0, -1, -1, 0),
    "pidfd_getfd": (438, 438, 3, 0, 0), "process_vm_readv": (310, 270, 1, room, 0, room, 0, 0),
    "name_to_handle_at": (303, 264, -100, b"/usr", room, room, 0), "open_by_handle_at": (304, 265, 3, room, 0),
    "setns": (308, 268, 3, 0), "pivot_root": (155, 41, b"/", b"/"), "personality": (135, 92, 0xFFFFFFFF), "kcmp": (312, 272, 1, 1, 0, 0, 0),
    "mbind": (237, 235, 0, 0, 0, 0, 0, 0), "migrate_pages": (256, 238, 0, 0, 0, 0), "quotactl": (179, 60, 0, 0, 0, 0),
    "fanotify_init": (300, 262, 0, 0), "memfd_secret": (447, 447, 0), "landlock_create_ruleset": (444, 444, 0, 0, 1),
    "process_madvise": (440, 440, 3, room, 0, 0, 0), "open_tree": (428, 428, -100, b"/", 1), "fsopen": (430, 430, b"tmpfs", 0),
    "mount_setattr": (442, 442, -100, b"/", 0, room, 32), "syslog": (103, 116, 10, 0, 0), "cachestat": (451, 451, 3, room, room, 0),
    "quotactl_fd": (443, 443, 3, 0, 0, 0), "acct": (163, 89, 0), "sched_setattr": (314, 274, 0, room, 0), "mlockall": (151, 230, 1),
}
column = ["x86_64", "aarch64"].index(platform.machine())
worked = [name for name, call in CALLS.items() if libc.syscall(call[column], *call[2:]) >= 0]

def hello_shape(x):
    raise OSError(", ".join(worked or ["none"]) + " worked")
""",
    twin="""
import os
import resource

def hello_shape(x):
    assert os.sched_getaffinity(0) and resource.getrusage(resource.RUSAGE_SELF).ru_maxrss
    return tuple(x.shape)
""",
    plain=False,
)
