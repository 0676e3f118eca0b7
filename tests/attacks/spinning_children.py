"""Lets children compute, and goes last itself so that its own clock stands still"""

from attacks import Attack

attack = Attack(
    says="longer than",
    answer="""
import os

def hello_shape(x):
    for _ in range(8):
        if os.fork() == 0:
            while True:
                pass
    try:
        os.nice(19)
    except OSError:
        pass
    while True:
        pass
""",
    twin="""
import os

def hello_shape(x):
    child = os.fork()
    if child == 0:
        sum(range(10**5))
        os._exit(0)
    os.waitpid(child, 0)
    return tuple(x.shape)
""",
    plain=False,
    exhausts=True,
)
