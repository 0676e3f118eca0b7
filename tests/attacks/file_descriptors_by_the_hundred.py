"""Sends hundreds of open files along the channel."""

from attacks import CHANNEL, Attack

attack = Attack(
    says="can.t be read|ended|is not right|no answer",
    answer=CHANNEL
    + """
import struct

files = [os.open("/dev/null", os.O_RDONLY) for _ in range(100)]
sent = 0
try:
    for _ in range(50):
        socket.send_fds(channel, [struct.pack(">I", 1) + b"x"], files, socket.MSG_DONTWAIT)
        sent += len(files)
except OSError:
    pass

def hello_shape(x):
    socket.send_fds(channel, [struct.pack(">I", 1) + b"x"], files)
    return (0, 0, 0)
""",
    twin="""
import os
import socket

one, other = socket.socketpair()
socket.send_fds(one, [b"x"], [os.open("/dev/null", os.O_RDONLY) for _ in range(100)])

def hello_shape(x):
    return tuple(x.shape)
""",
    plain=False,
)
