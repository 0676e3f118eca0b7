"""Gives its processes and threads names that no text can hold, or that look like lines of /proc, and lets them spin."""

from attacks import Attack

attack = Attack(
    says="longer than",
    answer="""
import ctypes
import os
import threading

libc = ctypes.CDLL(None)
NAMES = (b"\\xff\\xfe", b"x) R 1 1 1 1", b"a\\nUid:\\t0\\n", b"\\rTgid:\\t1", b"\\x0cNSpid:\\t7", b"\\x85VmPTE: 9 kB", b"")

def spin(name):
    libc.prctl(15, name, 0, 0, 0)
    while True:
        pass

def hello_shape(x):
    for name in NAMES:
        if os.fork() == 0:
            threading.Thread(target=spin, args=(name[::-1],)).start()
            spin(name)
    spin(NAMES[0])
""",
    twin="""
import ctypes

ctypes.CDLL(None).prctl(15, "Schüler".encode("latin-1"), 0, 0, 0)

def hello_shape(x):
    return tuple(x.shape)
""",
    plain=False,
    exhausts=True,
    beside=True,
)
