"""Sends texts that can't be encoded, stored or shown: lone surrogates, NUL, and marks that turn the order of what follows."""

from attacks import Attack

attack = Attack(
    says="raised E�",
    answer="""
from autograder.jail import wire

honest = wire.frame

def forged(message):
    if "observations" in message:
        from ffnlab.observation.plain_data import Failure

        bad = "\\ud800\\x00\\u202e\\x1b[31m"
        message["observations"] = [{"shape": Failure("E" + bad, bad, bad)}] * len(message["observations"])
        message["printed"] = bad
    return honest(message)

wire.frame = forged

def hello_shape(x):
    return (0, 0, 0)
""",
    twin="""
def hello_shape(x):
    print("größe → ✔ 😀 שלום")
    return tuple(x.shape)
""",
)
