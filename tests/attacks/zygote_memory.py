"""Reads the memory of the process from which it was forked."""

from attacks import Attack

attack = Attack(
    says="is not right",
    answer="""
import os

for path in ("/proc/1/mem", f"/proc/{os.getppid()}/mem", "/proc/self/mem", "/dev/mem", "/proc/kcore"):
    try:
        open(path, "rb").read(10)
        raise SystemExit(f"{path} can be read")
    except OSError:
        pass

def hello_shape(x):
    return (os.getppid(), 0, 0)
""",
    twin="""
import os

def hello_shape(x):
    assert os.getpid() > 0
    return tuple(x.shape)
""",
    plain=False,
)
