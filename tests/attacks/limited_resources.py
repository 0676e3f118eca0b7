"""Attacks that use up what a machine has only so much of: disk space, files, terminals, locks, timers, filters and kernel queues."""

from attacks import Attack, system_call

disk_fill = Attack(
    "Fills the disk",
    says="No space",
    answer="""
import errno

def hello_shape(x):
    number = 0
    while True:
        try:
            with open(f"/tmp/fill{number}", "wb", buffering=0) as file:
                while True:
                    file.write(bytes(2**20))
        except OSError as error:
            if error.errno != errno.EFBIG:
                raise
        number += 1
""",
    twin="""
def hello_shape(x):
    with open("/tmp/notes", "w") as file:
        file.write(str(x.shape))
    return tuple(x.shape)
""",
    plain=False,
    exhausts=True,
)

inode_fill = Attack(
    "Makes files without end",
    says="OSError|No space|longer",
    answer="""
def hello_shape(x):
    number = 0
    while True:
        open(f"/tmp/{number}", "w").close()
        number += 1
""",
    twin="""
import tempfile

def hello_shape(x):
    with tempfile.TemporaryDirectory() as folder:
        open(f"{folder}/notes", "w").close()
    return tuple(x.shape)
""",
    plain=False,
    exhausts=True,
)

terminals_without_end = Attack(
    "Opens terminals until the machine has no more",
    says="OSError",
    answer="""
import os

found = []
while len(found) < 100:
    found.append(os.openpty())

def hello_shape(x):
    return tuple(x.shape)
""",
    twin="""
import os

one, other = os.openpty()

def hello_shape(x):
    os.write(other, b"x")
    assert os.read(one, 1) == b"x"
    return tuple(x.shape)
""",
    plain=False,
)

locks_without_end = Attack(
    "Locks every second byte of a file: kernel memory that nobody counts",
    says="not permitted",
    answer="""
import fcntl

file = open("/tmp/locks", "wb")
for place in range(10**6, 0, -2):
    fcntl.lockf(file, fcntl.LOCK_EX, 1, place)

def hello_shape(x):
    return tuple(x.shape)
""",
    twin="""
with open("/tmp/notes", "wb") as file:
    file.write(b"x")

def hello_shape(x):
    return tuple(x.shape)
""",
    plain=False,
)

timers_without_end = Attack(
    "Makes timers by the thousand, and lets threads wait on many addresses at once",
    says="longer than",
    mark=r"attack: [1-9]\d* timers, and many addresses at once: Resource temporarily unavailable",
    answer="""
import ctypes
import os
import struct
import threading

libc = ctypes.CDLL(None, use_errno=True)
room = ctypes.create_string_buffer(64)
made = 0
while made < 100_000 and libc.timer_create(1, struct.pack("@Qii48x", 0, 0, 1), room) == 0:  # SIGEV_NONE
    made += 1
assert made < 2_000

words = (ctypes.c_uint32 * 128)()
place = ctypes.addressof(words)
waiters = b"".join(struct.pack("=QQII", 1, place + 4 * index, 2, 0) for index in range(128))

def wait():
    libc.syscall(449, waiters, 128, 0, 0, 0)  # futex_waitv: returns at once, as no word has the value it waits for

def storm():
    while True:
        wait()

wait()
print(f"attack: {made} timers, and many addresses at once: {os.strerror(ctypes.get_errno())}")

def hello_shape(x):
    for _ in range(8):
        threading.Thread(target=storm).start()
    storm()
""",
    twin="""
import signal

seen = []
signal.signal(signal.SIGALRM, lambda *_: seen.append(1))
signal.setitimer(signal.ITIMER_REAL, 0.001)

def hello_shape(x):
    return tuple(x.shape)
""",
    plain=False,
    exhausts=True,
)

exhausts_aio = system_call(
    "Sets up asynchronous input and output, of which a machine has a limited number",
    "libc.syscall(206, 128, ctypes.byref(ctypes.c_ulong(0)))",
)

exhausts_inotify = system_call("Takes one of the few inotify instances that a user may have", "libc.inotify_init1(0)")

io_uring = system_call("Sets up io_uring", "libc.syscall(425, 8, ctypes.create_string_buffer(200))")

message_queue = system_call("Opens a message queue of the kernel", 'libc.mq_open(b"/an_attack", 0o102, 0o600, None)')

filters_of_its_own = Attack(
    "Hoards filters of system calls, which belong to no process and of which the kernel has room for a limited number",
    says="not permitted, not permitted",
    answer="""
import ctypes
import os
import struct

libc = ctypes.CDLL(None, use_errno=True)
code = ctypes.create_string_buffer(struct.pack("=HBBI", 6, 0, 0, 0x7FFF0000))
program = ctypes.create_string_buffer(struct.pack("@HP", 1, ctypes.addressof(code)))

def said(result):
    return "it worked" if result >= 0 else os.strerror(ctypes.get_errno()).removeprefix("Operation ")

tried = [said(libc.syscall(317, 1, 8, program)), said(libc.prctl(22, 2, program, 0, 0))]

def hello_shape(x):
    raise OSError(", ".join(tried))
""",
    twin="""
import ctypes

libc = ctypes.CDLL(None)

def hello_shape(x):
    assert libc.prctl(21, 0, 0, 0, 0) in (0, 2)  # PR_GET_SECCOMP: whether there is a filter
    return tuple(x.shape)
""",
    plain=False,
)

filters_on_sockets = Attack(
    "Puts filters on sockets, of which the kernel has room for a limited number",
    says="not permitted",
    answer="""
import ctypes
import socket
import struct

code = ctypes.create_string_buffer(struct.pack("=HBBI", 6, 0, 0, 0xFFFF))
program = struct.pack("@HP", 1, ctypes.addressof(code))
try:
    socket.socket(socket.AF_UNIX).setsockopt(socket.SOL_SOCKET, 26, program)  # SO_ATTACH_FILTER
    said = "it worked"
except OSError as error:
    said = str(error)

def hello_shape(x):
    raise OSError(said)
""",
    twin="""
import socket

one, other = socket.socketpair()
one.setsockopt(socket.SOL_SOCKET, socket.SO_SNDBUF, 2**16)

def hello_shape(x):
    return tuple(x.shape)
""",
    plain=False,
)
