"""Promises a long frame and sends it byte by byte, without end."""

from attacks import CHANNEL, Attack

attack = Attack(
    says="longer than",
    answer=CHANNEL
    + """
import struct

def hello_shape(x):
    channel.sendall(struct.pack(">I", 10_000_000))
    while True:
        channel.sendall(b"x")
""",
    twin="""
import sys

def hello_shape(x):
    for _ in range(10_000):
        sys.stdout.write("x")
        sys.stdout.flush()
    return tuple(x.shape)
""",
    plain=False,
    exhausts=True,
)
