"""Asks the network for the answer."""

from attacks import Attack

attack = Attack(
    says="OSError|refused|Error",
    answer="""
import socket

def hello_shape(x):
    channel = socket.create_connection(("127.0.0.1", 80), 2)
    return channel.recv(100)
""",
    twin="""
import socket

def hello_shape(x):
    one, other = socket.socketpair()
    one.send(b"x")
    assert other.recv(1) == b"x"
    return tuple(x.shape)
""",
    plain=False,
)
