"""Answers with a frame that is larger than any answer."""

from attacks import Attack

attack = Attack(
    says="can.t be read: 50,",
    answer="""
from autograder.jail import wire

honest = wire.frame

def forged(message):
    if "outputs" in message:
        message["outputs"] = ["x" * 50_000_000]
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
    exhausts=True,
)
