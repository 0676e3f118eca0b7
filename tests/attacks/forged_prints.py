"""Says that its code printed ten million characters when it was called."""

from attacks import Attack

attack = Attack(
    says="is not right",
    answer="""
from autograder.jail import wire

honest = wire.frame

def forged(message):
    if "printed" in message:
        message["printed"] = "x" * 10_000_000
    return honest(message)

wire.frame = forged

def hello_shape(x):
    return (0, 0, 0)
""",
    twin="""
def hello_shape(x):
    print("x" * 50_000)
    return tuple(x.shape)
""",
)
