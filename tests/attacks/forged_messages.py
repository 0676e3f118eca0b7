"""Says that it raised an exception with a message of 400 kB, on which a regular expression takes its time."""

from attacks import Attack

attack = Attack(
    says="can't be read: too deep or too large",
    answer="""
from autograder.jail import wire

honest = wire.frame

def forged(message):
    if "observations" in message:
        from ffnlab.observation.plain_data import Failure

        message["observations"] = [{"shape": Failure("'" * 400_000, "a.b" * 100_000 + "'" * 100_000)}] * len(message["observations"])
    return honest(message)

wire.frame = forged

def hello_shape(x):
    return (0, 0, 0)
""",
    twin="""
def hello_shape(x):
    try:
        raise ValueError("'" * 400_000)
    except ValueError:
        return tuple(x.shape)
""",
)
