"""Keeps memory in Landlock rules, which no process seems to have"""

from attacks import system_call

attack = system_call("libc.syscall(444, ctypes.byref(ctypes.c_uint64(1)), 8, 0)")
