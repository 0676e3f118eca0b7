"""Attacks on what all submissions share: the Python environment, libraries, devices, mounts, and the kernel itself."""

from attacks import Attack, system_call, with_first_cells

writes_into_the_environment = Attack(
    "Writes into the Python environment that grades",
    says="is not right",
    mark=r"attack: refused in [1-9]",
    answer="""
import os
import sys

refused = []
for folder in (sys.prefix, sys.base_prefix, "/usr/lib", os.path.dirname(os.__file__), *filter(None, sys.path)):
    try:
        open(os.path.join(folder, "an_attack_was_here.py"), "w").close()
    except OSError:
        refused.append(folder)
        continue
    if not folder.startswith("/tmp"):
        raise SystemExit(f"{folder} can be written")

print("attack: refused in", len(refused), "folders")

def hello_shape(x):
    return (0, 0, 0)
""",
    twin="""
import os

def hello_shape(x):
    open(os.path.expanduser("~/notes"), "w").close()
    return tuple(x.shape)
""",
    plain=False,
)

changes_a_device = Attack(
    "Changes who may use /dev/null, and when it was last changed",
    says="Read-only",
    answer="""
import os

try:
    os.chmod("/dev/null", 0o600)
except OSError as error:
    refused = error
    os.utime("/dev/null")

def hello_shape(x):
    return tuple(x.shape)
""",
    twin="""
nowhere = open("/dev/null", "w")
nowhere.write("x")
nowhere.close()

def hello_shape(x):
    return tuple(x.shape)
""",
    plain=False,
)


flags_of_open_files = Attack(
    "Leaves a note for whoever runs next, in the flags of a file that was open before it began",
    says="is not right",
    mark="ended without an answer",
    answer="""
import fcntl
import os

noted = fcntl.fcntl(1, fcntl.F_GETFL) & os.O_NONBLOCK

def hello_shape(x):
    return tuple(x.shape) if noted else (0, 0, 0)
""",
    submission=lambda notebook: with_first_cells(
        notebook, "import fcntl, os\nfcntl.fcntl(1, fcntl.F_SETFL, os.O_NONBLOCK)\nos._exit(0)"
    ),
    twin_submission=lambda notebook: with_first_cells(
        notebook, "import fcntl, os\nfcntl.fcntl(open('/tmp/notes', 'w'), fcntl.F_SETFL, os.O_APPEND)"
    ),
    plain=False,
)

locks_a_library = Attack(
    "Locks a file of a library, which other submissions read too",
    says="not permitted",
    answer="""
import fcntl
import os

file = open(os.__file__, "rb")
fcntl.flock(file, fcntl.LOCK_EX)

def hello_shape(x):
    return tuple(x.shape)
""",
    twin="""
import os

text = open(os.__file__, "rb").read()

def hello_shape(x):
    return tuple(x.shape)
""",
    plain=False,
)

file_lease = Attack(
    "Takes a lease on a file that honest notebooks open, which makes them wait",
    says="not permitted",
    answer="""
import fcntl
import os

file = os.open(os.__file__, os.O_RDONLY)
fcntl.fcntl(file, fcntl.F_SETLEASE, fcntl.F_RDLCK)

def hello_shape(x):
    return tuple(x.shape)
""",
    twin="""
import fcntl
import os

file = os.open(os.__file__, os.O_RDONLY)
flags = fcntl.fcntl(file, fcntl.F_GETFL)

def hello_shape(x):
    return tuple(x.shape)
""",
    plain=False,
)

directory_notification = Attack(
    "Has itself told what others open in the folder of a library",
    says="not permitted",
    answer="""
import fcntl
import os

folder = os.open(os.path.dirname(os.__file__), os.O_RDONLY)
fcntl.fcntl(folder, fcntl.F_NOTIFY, fcntl.DN_ACCESS | fcntl.DN_MULTISHOT)

def hello_shape(x):
    return tuple(x.shape)
""",
    twin="""
import fcntl
import os

folder = os.open(os.path.dirname(os.__file__), os.O_RDONLY)
fcntl.fcntl(folder, fcntl.F_SETFD, fcntl.FD_CLOEXEC)

def hello_shape(x):
    return tuple(x.shape)
""",
    plain=False,
)

evicts_what_all_share = Attack(
    "Wants the kernel to forget torch's libraries, over and over, which all submissions read",
    says="longer than",
    answer="""
import ctypes
import mmap
import os

import torch

libc = ctypes.CDLL(None)
libc.mmap.restype = ctypes.c_void_p
folder = os.path.join(os.path.dirname(torch.__file__), "lib")
files = [os.open(os.path.join(folder, name), os.O_RDONLY) for name in os.listdir(folder) if ".so" in name][:20]

def refused(hint):
    try:
        return hint() is not None
    except OSError:
        return True

assert all(refused(lambda: os.posix_fadvise(file, 0, 0, os.POSIX_FADV_DONTNEED)) for file in files)

def hello_shape(x):
    page = mmap.mmap(-1, 2**20, mmap.MAP_PRIVATE)
    while True:
        for file in files:
            size = min(os.fstat(file).st_size, 2**25)
            at = ctypes.c_void_p(libc.mmap(None, ctypes.c_size_t(size), 1, 2, file, ctypes.c_long(0)))
            for advice in (20, 21, 9, 4):  # MADV_COLD, MADV_PAGEOUT, MADV_REMOVE, MADV_DONTNEED
                libc.madvise(at, ctypes.c_size_t(size), advice)
            libc.munmap(at, ctypes.c_size_t(size))
            libc.fsync(file)
            libc.sync_file_range(file, ctypes.c_long(0), ctypes.c_long(0), 7)
            refused(lambda: os.preadv(file, [page], 0, 0x80))  # RWF_DONTCACHE
""",
    twin="""
import mmap
import os

import torch

file = os.open(torch.__file__, os.O_RDONLY)

def hello_shape(x):
    with mmap.mmap(file, 0, prot=mmap.PROT_READ) as page:
        page.madvise(mmap.MADV_SEQUENTIAL)
        assert len(page.read()) == os.fstat(file).st_size
    return tuple(x.shape)
""",
    plain=False,
    exhausts=True,
    beside=True,
)

mounts = system_call("Mounts a file system over the course", 'libc.mount(b"none", b"/tmp", b"tmpfs", 0, b"")')

new_user_namespace = system_call("Makes a user namespace, in which it would be root", "libc.unshare(0x10000000)")

calls_for_administrators = Attack(
    "Tries the system calls by which one looks into other processes, namespaces, files by handle, and the kernel",
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
