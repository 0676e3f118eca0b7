"""Stops its own process."""

from attacks import Attack

attack = Attack(
    says="longer than|stood still",
    answer="""
import os
import signal

def hello_shape(x):
    os.kill(os.getpid(), signal.SIGSTOP)
    while True:
        os.kill(0, signal.SIGSTOP)
""",
    twin="""
import time

def hello_shape(x):
    time.sleep(0.1)
    return tuple(x.shape)
""",
    plain=False,
    exhausts=True,
)
