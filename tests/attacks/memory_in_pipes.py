"""Puts large pages into pipes, which keep them when the process has given them back"""

from attacks import system_call

attack = system_call("libc.syscall(278, 1, None, 0, 0)")
