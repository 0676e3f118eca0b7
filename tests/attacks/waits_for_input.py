"""Waits for somebody to type."""

from attacks import Attack

attack = Attack(
    says="EOFError",
    answer="""
def hello_shape(x):
    return input("Points? ")
""",
    twin="""
def hello_shape(x, ask=input):
    return tuple(x.shape)
""",
    plain=False,
)
