"""Takes all the memory there is."""

from attacks import Attack

attack = Attack(
    says="memory|MemoryError|ended",
    answer="""
def hello_shape(x):
    hoard = []
    while True:
        hoard.append(bytearray(16 * 2**20))
""",
    twin="""
def hello_shape(x):
    room = bytearray(64 * 2**20)
    return tuple(x.shape)
""",
    plain=False,
    exhausts=True,
)
