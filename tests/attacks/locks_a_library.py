"""Locks a file of a library, which other submissions read too"""

from attacks import Attack

attack = Attack(
    says="not permitted",
    answer="""
import fcntl
import os

file = open(os.__file__, "rb")
fcntl.flock(file, fcntl.LOCK_EX)

def hello_shape(x):
    return tuple(x.shape)
""",
    twin="""
import os

text = open(os.__file__, "rb").read()

def hello_shape(x):
    return tuple(x.shape)
""",
    plain=False,
)
