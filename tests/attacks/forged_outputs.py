"""Says that every cell showed far more than a cell may show."""

from attacks import Attack

attack = Attack(
    says="is not right",
    answer="""
from autograder.jail import wire

honest = wire.frame

def forged(message):
    if "outputs" in message:
        message["outputs"] = [{"output_type": "stream", "name": "stdout", "text": "x" * 60_000}] * 20
        message["outputs"] += [{"output_type": "display_data", "data": {"text/html": "<br>\\n" * 100}}] * 20
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
