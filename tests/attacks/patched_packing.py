"""Replaces the packing of what is sent to the judge."""

from attacks import Attack

attack = Attack(
    says="read|ended|sent",
    answer="""
import ffnlab.observation.plain_data

ffnlab.observation.plain_data.pack = lambda value: b"\\x00" * 64

def hello_shape(x):
    return (0, 0, 0)
""",
    twin="""
import struct

def hello_shape(x):
    return struct.unpack("=3q", struct.pack("=3q", *x.shape))
""",
)
