"""Attacks on the channel between the jail and the judge: forged answers, answers that never end, and a channel that is shut or flooded."""

import textwrap

from attacks import CHANNEL, EXERCISE, Attack, with_first_cells
from autograder.reference import draws
from ffnlab.registry import active_course

CASES = len(draws.hidden_seeds(active_course().exercise(EXERCISE), b""))  # on which a grade rests

PERFECT = f"""
from autograder.jail import wire
from ffnlab.observation.exercise import public_seed
from ffnlab.registry import active_course

exercise = active_course().exercise({EXERCISE!r})
known = [exercise.inputs(public_seed(exercise.name, case), case) for case in range({CASES})]
observations = [exercise.observe(lambda x: tuple(x.shape), inputs) for inputs in known]
perfect = {{"defined": True, "observations": observations, "printed": "attack: sent ahead"}}
"""  # what a cell begins with that forges what the right answer would send, if the inputs were those that everybody knows


def forging(field: str, statements: str) -> str:
    """An answer that changes every message to the process outside that has this field, just before it is packed."""
    forge = textwrap.indent(statements.strip("\n"), " " * 8)
    return f"""
from autograder.jail import wire

honest = wire.frame

def forged(message):
    if "{field}" in message:
{forge}
    return honest(message)

wire.frame = forged

def hello_shape(x):
    return (0, 0, 0)
"""


file_descriptors = Attack(
    "Writes a forged answer to every open file descriptor, and reads from them",
    says="is not right",
    mark="attack: sent ahead",
    answer=PERFECT
    + """
import os

for number in range(3, 256):
    try:
        os.set_blocking(number, False)
        os.write(number, 2 * wire.frame(perfect))  # for the cell, and for the question that comes next
        os.read(number, 1000)
    except OSError:
        pass
    try:
        os.set_blocking(number, True)  # so that whoever serves the channel goes on
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

answers_before_it_is_asked = Attack(
    "Sends answers before it is asked, and more of them than questions: one exercise's would count for another",
    says="is not right",
    mark="attack: sent ahead",
    answer=PERFECT
    + """
honest = wire.send

def eager(channel, frame):
    honest(channel, frame)
    for _ in range(2):
        honest(channel, perfect)

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

forged_frame = Attack(
    "Answers with a frame that is larger than any answer",
    says="can.t be read: 50,",
    answer=forging("outputs", 'message["outputs"] = ["x" * 50_000_000]'),
    twin="""
def hello_shape(x):
    print("x" * 50_000)
    return tuple(x.shape)
""",
    exhausts=True,
)

forged_outputs = Attack(
    "Says that every cell showed far more than a cell may show",
    says="is not right",
    mark="x{1000}",
    answer=forging(
        "outputs",
        """
message["outputs"] = [{"output_type": "stream", "name": "stdout", "text": "x" * 60_000}] * 20
message["outputs"] += [{"output_type": "display_data", "data": {"text/html": "<br>\\n" * 100}}] * 20
""",
    ),
    twin="""
def hello_shape(x):
    print("x" * 50_000)
    return tuple(x.shape)
""",
    exhausts=True,
)

forged_prints = Attack(
    "Says that its code printed ten million characters when it was called",
    says="is not right",
    mark="x{1000}",
    answer=forging("printed", 'message["printed"] = "x" * 10_000_000'),
    twin="""
def hello_shape(x):
    print("x" * 50_000)
    return tuple(x.shape)
""",
)

forged_messages = Attack(
    "Says that it raised an exception with a message of 400 kB, on which a regular expression takes its time",
    says="can't be read: too deep or too large",
    answer=forging(
        "observations",
        """
from ffnlab.observation.plain_data import Failure

message["observations"] = [{"shape": Failure("'" * 400_000, "a.b" * 100_000 + "'" * 100_000)}] * len(message["observations"])
""",
    ),
    twin="""
def hello_shape(x):
    try:
        raise ValueError("'" * 400_000)
    except ValueError:
        return tuple(x.shape)
""",
)

forged_texts = Attack(
    "Sends texts that can't be encoded, stored or shown: lone surrogates, NUL, and marks that turn the order of what follows",
    says="raised E�",
    answer=forging(
        "observations",
        """
from ffnlab.observation.plain_data import Failure

bad = "\\ud800\\x00\\u202e\\x1b[31m"
message["observations"] = [{"shape": Failure("E" + bad, bad, bad)}] * len(message["observations"])
message["printed"] = bad
""",
    ),
    twin="""
def hello_shape(x):
    print("größe → ✔ 😀 שלום")
    return tuple(x.shape)
""",
)

promised_frame = Attack(
    "Promises a long frame and sends it byte by byte, without end",
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

LONG = "#" * 2_000_000

unread_request = Attack(
    "Does not read what it is asked, which is more than the kernel keeps for it",
    says="longer than",
    answer=f"def hello_shape(x):\n    return tuple(x.shape)\n{LONG}",
    submission=lambda notebook: with_first_cells(
        notebook, "import time\nfrom autograder.jail import wire\nwire.receive = lambda *_: time.sleep(10**6)"
    ),
    twin=f"def hello_shape(x):\n    return tuple(x.shape)  {LONG}",
    plain=False,
    exhausts=True,
)

SIDES = ("SHUT_WR", "SHUT_RD", "SHUT_RDWR")

half_closed_channel = Attack(
    "Shuts the channel down on one side and keeps it open on the other",
    says="ended without an answer",
    answer=CHANNEL
    + """
import time

def hello_shape(x):
    channel.shutdown(socket.SHUT_WR)
    time.sleep(1)
    return tuple(x.shape)
""",
    submission=lambda notebook: with_first_cells(
        notebook, *(f"{CHANNEL}\nchannel.shutdown(socket.{side})" for side in SIDES)
    ),
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

file_descriptors_by_the_hundred = Attack(
    "Sends hundreds of open files along the channel",
    says="can.t be read|ended|is not right|no answer",
    mark="can.t be read|ended without an answer",
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

signals_while_it_answers = Attack(
    "Lets a timer strike every millisecond whose handler raises, and has signals written into the channel",
    says="ended|can.t be read|sent|Looking at it raised|is not right|raised|longer than",
    mark="ended without an answer|can.t be read|raised",
    answer=CHANNEL
    + """
import fcntl
import signal

def strike(*_):
    raise KeyboardInterrupt

def hello_shape(x):
    signal.signal(signal.SIGALRM, strike)
    signal.signal(signal.SIGCHLD, strike)
    fcntl.fcntl(number, fcntl.F_SETFL, os.O_NONBLOCK)
    signal.set_wakeup_fd(number, warn_on_full_buffer=False)
    signal.setitimer(signal.ITIMER_REAL, 0.001, 0.001)
    return (0, 0, 0)
""",
    twin="""
import signal

struck = []
signal.signal(signal.SIGALRM, lambda *_: struck.append(1))
signal.setitimer(signal.ITIMER_REAL, 0.001, 0.001)

def hello_shape(x):
    return tuple(x.shape)
""",
)
