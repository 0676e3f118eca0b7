"""Keeps memory in a file without a name"""

from attacks import system_call

attack = system_call('libc.syscall(319, b"hoard", 0)')
