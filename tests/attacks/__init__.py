"""What must not work: attacks on the exercise `hello_shape`, each with what it is expected to earn and to be told, in one module for each theme.

Each has an allowed twin beside it: something honest that looks like it and must earn full marks.

To add an attack, write one block in the module of its theme: `its_name = Attack("What it tries", …)`. No two attacks share a name.

Each shows that it has come to its hostile step, or it could rot and still earn nothing: by what only such an attack is told (`says`), or by its `mark`.
"""

from __future__ import annotations

import importlib
import json
import pkgutil
from collections.abc import Callable
from dataclasses import dataclass, field
from typing import Any

import nbformat
from test_program import ANSWER, answered

from autograder.jail.limits import MIB, Limits

Notebook = dict[str, Any]
START, EXERCISE = "00_start_here", "hello_shape"
NARROW = Limits(  # an attack on a resource ends in a second or two
    cell_seconds=3.0, submission_seconds=30.0, memory=384 * MIB, processes=24, tmp=8 * MIB, output=100_000, restarts=8
)

CHANNEL = """
import os
import socket
import stat

def is_socket(number):
    try:
        return stat.S_ISSOCK(os.fstat(number).st_mode)
    except OSError:
        return False

number = next(filter(is_socket, range(256)))
channel = socket.socket(fileno=os.dup(number))
"""  # what a cell begins with that finds the way to the process outside

NAMED = r"""
import os
import subprocess
import sys

ASK = "import ctypes; name = ctypes.create_string_buffer(16); ctypes.CDLL(None).prctl(16, name); print(name.value)"

def named(name):
    path = b"/tmp/" + name
    os.symlink(sys.executable, path)
    asked = subprocess.run([path, "-S", "-c", ASK], capture_output=True, text=True)
    print("attack: a process is called", asked.stdout)
    return path
"""  # what a cell begins with that starts Python under names of its own: a process is called like the file by which its program was started


@dataclass(frozen=True)
class Attack:
    """One attack: what is typed into the exercise's cell, or a whole submission made from an answered notebook."""

    tries: str  # what it tries, as docs/attacks.md shows it: without a full stop
    says: str  # a regular expression that the student's message or the remark for the instructor must match
    # A regular expression for what shows that its hostile step was reached, in all that is kept of it. Empty: `says` is, and so must not be what
    # any wrong answer is told. An attack whose message tells nothing prints what its step has brought about.
    mark: str = ""
    answer: str = "def hello_shape(x):\n    return (0, 0, 0)"
    submission: Callable[[Notebook], bytes | Notebook] | None = None
    files: dict[str, str] = field(default_factory=dict)  # beside the notebook
    twin: str = ANSWER
    twin_submission: Callable[[Notebook], bytes | Notebook] | None = None
    points: float = 0.0
    exhausts: bool = False  # whether it goes for a resource, and so is tried under narrow limits
    plain: bool = True  # whether plain nbgrader can be shown it without harm to the machine
    beside: bool = False  # whether it aims at those who are graded at the same time

    def data(self) -> bytes:
        """The submitted bytes."""
        return _bytes(self.answer, self.submission)

    def sign(self) -> str:
        """A regular expression that nothing but its hostile step leaves behind."""
        return self.mark or self.says

    def twin_data(self) -> bytes:
        """The allowed twin's bytes."""
        return _bytes(self.twin, self.twin_submission)


def system_call(tries: str, call: str) -> Attack:
    """An attack that makes one system call, which the kernel must refuse. `call`: as libc's function, or by its number."""
    source = f"""
import ctypes
import os

libc = ctypes.CDLL(None, use_errno=True)
if {call} >= 0:
    raise SystemExit("it worked")
error = os.strerror(ctypes.get_errno())

def hello_shape(x):
    raise OSError(error)
"""
    twin = """
import ctypes

libc = ctypes.CDLL(None)

def hello_shape(x):
    assert libc.getpid() > 0
    return tuple(x.shape)
"""
    return Attack(tries, says="not permitted", answer=source, twin=twin, plain=False)


def _bytes(answer: str, submission: Callable[[Notebook], bytes | Notebook] | None) -> bytes:
    notebook = answered(answer.strip("\n"))
    made = notebook if submission is None else submission(notebook)
    return made if isinstance(made, bytes) else json.dumps(made).encode()


def with_first_cells(notebook: Notebook, *sources: str) -> Notebook:
    """A notebook with a code cell for each source, before all others but its title."""
    notebook["cells"][1:1] = [{**nbformat.v4.new_code_cell(source)} for source in sources]
    return notebook


def themes() -> dict[str, dict[str, Attack]]:
    """By theme, which is a module's name: its attacks by name, in the order of the module."""
    found = {}
    for module in pkgutil.iter_modules(__path__):
        loaded = importlib.import_module(f"{__name__}.{module.name}")
        found[module.name] = {name: value for name, value in vars(loaded).items() if isinstance(value, Attack)}
    return found


def every() -> dict[str, Attack]:
    """All attacks by name, in alphabetical order."""
    found = {name: attack for theme in themes().values() for name, attack in theme.items()}
    return dict(sorted(found.items()))
