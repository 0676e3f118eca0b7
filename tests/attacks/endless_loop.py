"""Never ends."""

from attacks import Attack

attack = Attack(
    says="longer than",
    answer="""
def hello_shape(x):
    while True:
        pass
""",
    twin="""
def hello_shape(x):
    while True:
        return tuple(x.shape)
""",
    plain=False,
    exhausts=True,
)
