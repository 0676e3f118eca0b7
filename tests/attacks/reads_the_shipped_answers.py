"""Reads the outputs that are shipped for `check`."""

from attacks import Attack

attack = Attack(
    says="NoReferenceOutputs",
    answer="""
from ffnlab.checking import reference_files

found = reference_files.load_public("hello_shape")

def hello_shape(x):
    return found.cases[0]["shape"]
""",
    twin="""
import ffnlab.course.atlas  # the course's data can be read

def hello_shape(x):
    return tuple(x.shape)
""",
)
