"""Writes a forged answer to every open file descriptor, and reads from them."""

from attacks import Attack

attack = Attack(
    says="can't be read|ended",
    answer="""
import json
import os
import struct

forged = json.dumps({"outcome": "earned", "points": 2.0}).encode()
for number in range(3, 256):
    try:
        os.set_blocking(number, False)
        os.write(number, struct.pack(">I", len(forged)) + forged)
        os.read(number, 1000)
    except OSError:
        pass

def hello_shape(x):
    return (0, 0, 0)
""",
    twin="""
import os

reading, writing = os.pipe()

def hello_shape(x):
    os.write(writing, b"x")
    assert os.read(reading, 1) == b"x"
    return tuple(x.shape)
""",
    plain=False,
)
