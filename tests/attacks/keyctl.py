"""Asks the kernel's key ring."""

from attacks import Attack

attack = Attack(
    says="not permitted",
    answer="""
import ctypes
import os

libc = ctypes.CDLL(None, use_errno=True)
done = libc.syscall(250, 0, -3, 1)
if done >= 0:
    raise SystemExit("it worked")
error = os.strerror(ctypes.get_errno())

def hello_shape(x):
    raise OSError(error)
""",
    twin="""
import ctypes

libc = ctypes.CDLL(None)

def hello_shape(x):
    assert libc.getpid() > 0
    return tuple(x.shape)
""",
    plain=False,
)
