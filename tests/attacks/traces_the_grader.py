"""Traces every call and overwrites what it can."""

from attacks import Attack

attack = Attack(
    says="is not right",
    answer="""
import sys

def trace(frame, event, arg):
    for name in ("points", "outcome", "defined", "expected"):
        if name in frame.f_locals:
            frame.f_locals[name] = 2.0
    return trace

sys.settrace(trace)
sys.setprofile(trace)

def hello_shape(x):
    return (0, 0, 0)
""",
    twin="""
import sys

sys.settrace(None)

def hello_shape(x):
    return tuple(x.shape)
""",
)
