"""Puts filters on sockets, of which the kernel has room for a limited number."""

from attacks import Attack

attack = Attack(
    says="not permitted",
    answer="""
import ctypes
import socket
import struct

code = ctypes.create_string_buffer(struct.pack("=HBBI", 6, 0, 0, 0xFFFF))
program = struct.pack("@HP", 1, ctypes.addressof(code))
try:
    socket.socket(socket.AF_UNIX).setsockopt(socket.SOL_SOCKET, 26, program)  # SO_ATTACH_FILTER
    said = "it worked"
except OSError as error:
    said = str(error)

def hello_shape(x):
    raise OSError(said)
""",
    twin="""
import socket

one, other = socket.socketpair()
one.setsockopt(socket.SOL_SOCKET, socket.SO_SNDBUF, 2**16)

def hello_shape(x):
    return tuple(x.shape)
""",
    plain=False,
)
