"""Attaches to another process with ptrace."""

from attacks import Attack

attack = Attack(
    says="not permitted",
    answer="""
import ctypes
import os

libc = ctypes.CDLL(None, use_errno=True)
done = libc.ptrace(16, os.getppid(), 0, 0)
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
