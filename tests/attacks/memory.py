"""Attacks that take memory: all there is, or in places where it is not counted as theirs."""

from attacks import NAMED, Attack, system_call

memory_bomb = Attack(
    "Takes all the memory there is",
    says="memory|MemoryError|ended",
    answer="""
def hello_shape(x):
    hoard = []
    while True:
        hoard.append(bytearray(16 * 2**20))
""",
    twin="""
def hello_shape(x):
    room = bytearray(64 * 2**20)
    return tuple(x.shape)
""",
    plain=False,
    exhausts=True,
)

deep_recursion = Attack(
    "Recurses until the stack ends",
    says="ended|RecursionError|memory",
    answer="""
import sys

sys.setrecursionlimit(10**9)

def down(n):
    return down(n + 1)

def hello_shape(x):
    return down(0)
""",
    twin="""
def down(n):
    return 0 if n == 0 else down(n - 1)

def hello_shape(x):
    down(500)
    return tuple(x.shape)
""",
    exhausts=True,
)

hidden_by_its_name = Attack(
    "Gives its process a name that can't be read, so that its memory would not be counted",
    says="384 MiB of memory",
    mark="attack: a process is called b'.*xff'",
    answer=NAMED
    + r"""
HOARD = "import time; hoard = [bytearray(b'x' * 2**24) for _ in range(14)]; time.sleep(60)"
path = named(b"\xff")

def hello_shape(x):
    programs = [subprocess.Popen([path, "-S", "-c", HOARD]) for _ in range(2)]
    for program in programs:
        program.wait()
    return (0, 0, 0)
""",
    twin=NAMED
    + r"""
path = named(b"\xff")

def hello_shape(x):
    assert subprocess.run([path, "-S", "-c", "room = bytearray(2**20)"]).returncode == 0
    return tuple(x.shape)
""",
    plain=False,
    exhausts=True,
)

memory_of_other_programs = Attack(
    "Starts programs, each of which takes less memory than the warm process has",
    says="MiB of memory",
    answer="""
import subprocess
import sys

hoard = "import time; room = bytearray(150 * 2**20); time.sleep(60)"

def hello_shape(x):
    programs = [subprocess.Popen([sys.executable, "-S", "-c", hoard]) for _ in range(4)]
    for program in programs:
        program.wait()
    return tuple(x.shape)
""",
    twin="""
import subprocess
import sys

def hello_shape(x):
    program = subprocess.run([sys.executable, "-S", "-c", "room = bytearray(2**20)"])
    assert program.returncode == 0
    return tuple(x.shape)
""",
    plain=False,
    exhausts=True,
)

memory_that_is_shared = Attack(
    "Shares memory without a file, and lets go of its own view of it",
    says="not permitted",
    answer="""
import mmap

hoard = []
def hello_shape(x):
    while True:
        hoard.append(mmap.mmap(-1, 2**26))
        hoard[-1].write(bytes(2**26))
        hoard[-1].madvise(mmap.MADV_DONTNEED)
""",
    twin="""
import mmap

def hello_shape(x):
    room = mmap.mmap(-1, 2**20, flags=mmap.MAP_PRIVATE | mmap.MAP_ANONYMOUS)
    room.write(b"x")
    return tuple(x.shape)
""",
    plain=False,
    exhausts=True,
)

memory_in_memfd = system_call("Keeps memory in a file without a name", 'libc.syscall(319, b"hoard", 0)')

memory_in_a_segment = system_call("Keeps memory in a System V segment", "libc.shmget(0, 1 << 28, 0o1600)")

memory_in_pipes = system_call(
    "Puts large pages into pipes, which keep them when the process has given them back",
    "libc.syscall(278, 1, None, 0, 0)",
)

memory_in_sockets = Attack(
    "Fills sockets that nobody reads",
    says="MiB of memory|processes|unavailable",
    answer="""
import os
import socket

def hello_shape(x):
    hoard = []
    while True:
        child = os.fork()
        if child == 0:
            try:
                while True:
                    one, other = socket.socketpair()
                    one.setsockopt(socket.SOL_SOCKET, socket.SO_SNDBUF, 2**22)
                    one.setblocking(False)
                    hoard += [one, other]
                    try:
                        while True:
                            one.send(bytes(2**16))
                    except BlockingIOError:
                        pass
            except OSError:
                while True:
                    pass
""",
    twin="""
import socket

def hello_shape(x):
    one, other = socket.socketpair()
    one.send(bytes(2**12))
    assert len(other.recv(2**12)) == 2**12
    return tuple(x.shape)
""",
    plain=False,
    exhausts=True,
)

memory_in_a_ruleset = system_call(
    "Keeps memory in Landlock rules, which no process seems to have",
    "libc.syscall(444, ctypes.byref(ctypes.c_uint64(1)), 8, 0)",
)
