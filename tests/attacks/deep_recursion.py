"""Recurses until the stack ends."""

from attacks import Attack

attack = Attack(
    says="ended|RecursionError|memory",
    answer="""
import sys

sys.setrecursionlimit(10**9)

def down(n):
    return down(n + 1)

def hello_shape(x):
    return down(0)
""",
    twin="""
def down(n):
    return 0 if n == 0 else down(n - 1)

def hello_shape(x):
    down(500)
    return tuple(x.shape)
""",
    exhausts=True,
)
