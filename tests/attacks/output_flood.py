"""Prints without end."""

from attacks import Attack

attack = Attack(
    says="longer|[Mm]emory",
    answer="""
def hello_shape(x):
    while True:
        print("x" * 100_000)
""",
    twin="""
def hello_shape(x):
    print("x" * 3_000_000)
    return tuple(x.shape)
""",
    exhausts=True,
)
