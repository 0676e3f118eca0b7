"""Gives its process a name that can't be read, so that its memory would not be counted."""

from attacks import Attack

attack = Attack(
    says="384 MiB of memory",
    answer="""
import ctypes
import time

ctypes.CDLL(None).prctl(15, b"\\xff", 0, 0, 0)

def hello_shape(x):
    hoard = [bytearray(b"x" * 2**24) for _ in range(24)]
    time.sleep(1)
    return (0, 0, 0)
""",
    twin="""
import ctypes

ctypes.CDLL(None).prctl(15, b"\\xff", 0, 0, 0)

def hello_shape(x):
    hoard = [bytearray(b"x" * 2**24) for _ in range(4)]
    return tuple(x.shape)
""",
    plain=False,
    exhausts=True,
)
