"""Is an answer of one line of nine megabytes, each character of which takes five on a page."""

from attacks import Attack

LINE = 9_000_000

attack = Attack(
    says="is not right",
    answer=f"def hello_shape(x):\n    return (0, 0, 0)  # {'<' * LINE}",
    twin=f"def hello_shape(x):\n    return tuple(x.shape)  # {'x' * LINE}",
    plain=False,
)
