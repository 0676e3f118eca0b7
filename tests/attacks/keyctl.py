"""Asks the kernel's key ring."""

from attacks import system_call

attack = system_call("libc.syscall(250, 0, -3, 1)")
