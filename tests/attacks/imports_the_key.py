"""Imports the answer key."""

from attacks import Attack

attack = Attack(
    says="ModuleNotFoundError",
    answer="""
import autograder.keys.start_here as key

def hello_shape(x):
    return key.truth(x)
""",
    twin="""
import ffnlab.course.exercises.start_here as public  # how it is asked is no secret

def hello_shape(x):
    return tuple(x.shape)
""",
)
