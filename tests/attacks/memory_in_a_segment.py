"""Keeps memory in a System V segment"""

from attacks import system_call

attack = system_call("libc.shmget(0, 1 << 28, 0o1600)")
