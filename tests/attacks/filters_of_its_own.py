"""Hoards filters of system calls, which belong to no process and of which the kernel has room for a limited number."""

from attacks import Attack

attack = Attack(
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
