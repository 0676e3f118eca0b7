"""Looks for a process that listens on an abstract socket."""

from attacks import Attack

attack = Attack(
    says="refused",
    answer="""
import socket

def hello_shape(x):
    channel = socket.socket(socket.AF_UNIX)
    channel.settimeout(2)
    channel.connect("\\0an-attack-listens-here")
    return channel.recv(100)
""",
    twin="""
import socket

here = socket.socket(socket.AF_UNIX)
here.bind("/tmp/mine")

def hello_shape(x):
    return tuple(x.shape)
""",
    plain=False,
)
