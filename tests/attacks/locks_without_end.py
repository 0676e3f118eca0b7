"""Locks every second byte of a file: kernel memory that nobody counts"""

from attacks import Attack

attack = Attack(
    says="not permitted",
    answer="""
import fcntl

file = open("/tmp/locks", "wb")
for place in range(10**6, 0, -2):
    fcntl.lockf(file, fcntl.LOCK_EX, 1, place)

def hello_shape(x):
    return tuple(x.shape)
""",
    twin="""
with open("/tmp/notes", "wb") as file:
    file.write(b"x")

def hello_shape(x):
    return tuple(x.shape)
""",
    plain=False,
)
