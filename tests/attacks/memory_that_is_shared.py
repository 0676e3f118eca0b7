"""Shares memory without a file, and lets go of its own view of it"""

from attacks import Attack

attack = Attack(
    says="not permitted",
    answer="""
import mmap

hoard = []
def hello_shape(x):
    while True:
        hoard.append(mmap.mmap(-1, 2**26))
        hoard[-1].write(bytes(2**26))
        hoard[-1].madvise(mmap.MADV_DONTNEED)
""",
    twin="""
import mmap

def hello_shape(x):
    room = mmap.mmap(-1, 2**20, flags=mmap.MAP_PRIVATE | mmap.MAP_ANONYMOUS)
    room.write(b"x")
    return tuple(x.shape)
""",
    plain=False,
    exhausts=True,
)
