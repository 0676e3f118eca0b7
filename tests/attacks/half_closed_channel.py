"""Shuts the channel down on one side and keeps it open on the other."""

import nbformat

from attacks import CHANNEL, Attack, Notebook

SIDES = ("SHUT_WR", "SHUT_RD", "SHUT_RDWR")


def shutting(notebook: Notebook) -> Notebook:
    """A cell for each side, before all others."""
    sources = [f"{CHANNEL}\nchannel.shutdown(socket.{side})" for side in SIDES]
    notebook["cells"][1:1] = [{**nbformat.v4.new_code_cell(source)} for source in sources]
    return notebook


attack = Attack(
    says="ended without an answer",
    answer=CHANNEL
    + """
import time

def hello_shape(x):
    channel.shutdown(socket.SHUT_WR)
    time.sleep(1)
    return tuple(x.shape)
""",
    submission=shutting,
    twin="""
import socket

one, other = socket.socketpair()
one.shutdown(socket.SHUT_WR)
assert other.recv(1) == b""

def hello_shape(x):
    return tuple(x.shape)
""",
    plain=False,
)
