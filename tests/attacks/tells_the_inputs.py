"""Raises and prints the hidden inputs, to read them on its feedback page and come back with them"""

from attacks import Attack

attack = Attack(
    says="0\\.12",
    answer="""
def hello_shape(x):
    print(x)
    raise ValueError(f"{x.flatten()[0].item() * 0 + 0.123456789:.9f}")
""",
    twin="""
def hello_shape(x):
    print(x)
    return tuple(x.shape)
""",
)
