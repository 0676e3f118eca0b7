"""Mounts a file system over the course."""

from attacks import system_call

attack = system_call('libc.mount(b"none", b"/tmp", b"tmpfs", 0, b"")')
