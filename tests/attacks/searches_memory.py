"""Looks through every object in memory for the answer key."""

from attacks import Attack

attack = Attack(
    says="is not right",
    answer="""
import gc

def hello_shape(x):
    for thing in gc.get_objects():
        if type(thing).__name__ in ("Key", "ReferenceOutputs", "KnownMistake", "Answer"):
            return thing
    return (0, 0, 0)
""",
    twin="""
import gc

gc.collect()

def hello_shape(x):
    return tuple(x.shape)
""",
)
