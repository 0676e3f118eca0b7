"""Puts modules of its own in place of the judge's."""

from attacks import Attack

attack = Attack(
    says="is not right",
    answer="""
import sys
import types

fake = types.ModuleType("autograder.engine.judging")
fake.judge = lambda *args, **kwargs: 2.0
for name in ("autograder.engine.judging", "autograder.keys", "ffnlab.checking.verdict", "ffnlab.course.answers", "json", "math"):
    sys.modules[name] = fake

def hello_shape(x):
    return (0, 0, 0)
""",
    twin="""
import sys

assert "torch" in sys.modules

def hello_shape(x):
    return tuple(x.shape)
""",
)
