"""Forks without end."""

from attacks import Attack

attack = Attack(
    says="processes|longer|ended",
    answer="""
import os

def hello_shape(x):
    while True:
        try:
            os.fork()
        except OSError:
            pass
""",
    twin="""
import os

def hello_shape(x):
    child = os.fork()
    if child == 0:
        os._exit(0)
    os.waitpid(child, 0)
    return tuple(x.shape)
""",
    plain=False,
    exhausts=True,
)
