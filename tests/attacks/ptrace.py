"""Attaches to another process with ptrace."""

from attacks import system_call

attack = system_call("libc.ptrace(16, os.getppid(), 0, 0)")
