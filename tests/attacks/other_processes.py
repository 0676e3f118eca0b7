"""Reads other processes' environments and command lines."""

from attacks import Attack

attack = Attack(
    says="is not right",
    answer="""
import os

found = []
for number in range(1, 5000):
    for name in ("environ", "cmdline", "maps"):
        try:
            found.append(open(f"/proc/{number}/{name}", "rb").read())
        except OSError:
            pass

def hello_shape(x):
    return (len(found), 0, 0)
""",
    twin="""
cores = open("/proc/cpuinfo").read()

def hello_shape(x):
    return tuple(x.shape)
""",
    plain=False,
)
