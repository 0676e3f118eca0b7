"""By what a grade is made: the code of this project as this process has it in memory, Python, torch, numpy, and the machine."""

from __future__ import annotations

import hashlib
import platform
from dataclasses import dataclass
from functools import cache
from importlib import metadata

from autograder.engine.released_notebook import template
from autograder.paths import release
from autograder.source_hash import packages


def code_on_disk() -> str:
    """A hash of every .py and .json of both packages and of the course's, in 12 hexadecimal digits: the same wherever they are installed."""
    digest = hashlib.sha256()
    for name, folder in sorted(packages().items()):
        for file in sorted(folder.rglob("*")):
            if file.suffix in {".py", ".json"}:
                content = hashlib.sha256(file.read_bytes()).hexdigest()
                digest.update(f"{name}/{file.relative_to(folder).as_posix()} {content}\n".encode())
    return digest.hexdigest()[:12]


@dataclass(frozen=True)
class Build:
    """What must be the same on two machines for their grades to be the same. All are versions in words, except `code`, a hash."""

    code: str
    python: str
    torch: str
    numpy: str
    machine: str

    def __str__(self) -> str:
        return f"{self.code}, Python {self.python}, torch {self.torch}, numpy {self.numpy}, {self.machine}"


def _version(package: str) -> str:
    return metadata.version(package).split("+")[0]  # "+cpu" is the same torch


HERE = Build(  # taken when this process imports it, as what is in memory stays the same when a file changes
    code_on_disk(),
    ".".join(platform.python_version_tuple()[:2]),
    _version("torch"),
    _version("numpy"),
    platform.machine(),
)


@cache
def describe() -> str:
    """The build of this process in words, with the vector instructions that its torch uses, which may be others on another machine."""
    import torch

    return f"{HERE} {torch.backends.cpu.get_cpu_capability()}"


def difference(other: Build) -> str:
    """Why this process can't grade for one of another build, and what to do, in a line; empty where it can."""
    if other == HERE:
        return "" if code_on_disk() == HERE.code else "its files have changed since it was started: restart this worker"
    if other.code == HERE.code:
        names = [
            name for name in ("python", "torch", "numpy", "machine") if getattr(other, name) != getattr(HERE, name)
        ]
        own_text, other_text = (
            ", ".join(f"{name} {getattr(build, name)}" for name in names) for build in (HERE, other)
        )
        return f"it has {own_text}, and the machine of this command {other_text}: install the same on both"
    if other.code == code_on_disk():
        return "it was started before its files were changed: restart this worker"
    return "it has another version of this project: install the same one on both machines"


@cache
def of_notebook(assignment: str) -> str:
    """A hash of the cells of our copy of an assignment's notebook, against which every submission is read.

    Raises:
        UserError: it has not been built.
    """
    cells = [(cell.kind.value, cell.name, cell.source) for cell in template(release(assignment))]
    return hashlib.sha256(repr(cells).encode()).hexdigest()[:12]
