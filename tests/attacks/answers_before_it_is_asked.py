"""Sends answers before it is asked, and more of them than questions: one exercise's would count for another."""

from attacks import Attack

attack = Attack(
    says="is not right|can.t be read|untouched|empty or deleted|no answer",
    answer="""
import torch
from autograder.jail import wire

honest = wire.send

def eager(channel, frame):
    honest(channel, frame)
    for shape in ((2, 3, 4), (5, 6, 7)):
        seen = {"x": shape, "x with B = 1": shape, "x with T = 1": shape, "x with d = 1": shape}
        honest(channel, {"defined": True, "observations": [{"shape": seen}] * 2, "printed": ""})

wire.send = eager

def hello_shape(x):
    return (0, 0, 0)
""",
    twin="""
import socket

one, other = socket.socketpair()
one.send(b"an answer")
one.send(b"and another")

def hello_shape(x):
    return tuple(x.shape)
""",
)
