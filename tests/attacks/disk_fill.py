"""Fills the disk."""

from attacks import Attack

attack = Attack(
    says="OSError|longer|File too large|No space",
    answer="""
def hello_shape(x):
    with open("/tmp/fill", "wb") as file:
        while True:
            file.write(bytes(2**20))
""",
    twin="""
def hello_shape(x):
    with open("/tmp/notes", "w") as file:
        file.write(str(x.shape))
    return tuple(x.shape)
""",
    plain=False,
    exhausts=True,
)
