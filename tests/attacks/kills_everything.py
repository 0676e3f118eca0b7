"""Kills every process that it can see."""

from attacks import Attack

attack = Attack(
    says=".",
    answer="""
import os
import signal

def hello_shape(x):
    os.kill(-1, signal.SIGKILL)
    for number in range(2, 40000):
        try:
            os.kill(number, signal.SIGKILL)
        except OSError:
            pass
    return (0, 0, 0)
""",
    twin="""
import subprocess

def hello_shape(x):
    child = subprocess.Popen(["sleep", "60"])
    child.kill()
    child.wait()
    return tuple(x.shape)
""",
    plain=False,
)
