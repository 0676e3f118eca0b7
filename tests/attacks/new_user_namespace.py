"""Makes a user namespace, in which it would be root."""

from attacks import system_call

attack = system_call("libc.unshare(0x10000000)")
