"""Ends the process that runs it."""

from attacks import Attack

attack = Attack(
    says="ended",
    answer="""
import os

def hello_shape(x):
    os._exit(0)
""",
    twin="""
def hello_shape(x):
    try:
        raise SystemExit
    except SystemExit:
        return tuple(x.shape)
""",
)
