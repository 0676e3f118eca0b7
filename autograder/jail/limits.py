"""Every limit on a submission, in one place; each can be overridden on the command line or in a configuration."""

from __future__ import annotations

from dataclasses import dataclass

MIB = 2**20


@dataclass(frozen=True)
class Limits:
    """Seconds of wall time; bytes; numbers of processes and of restarts."""

    cell_seconds: float = 60.0
    submission_seconds: float = 300.0
    memory: int = 4096 * MIB
    processes: int = 64
    tmp: int = 64 * MIB
    output: int = 1 * MIB  # of one cell
    outputs: int = 8 * MIB  # of a submission's cells and probes together
    observed: int = 16 * MIB  # what is observed of one answer
    file: int = 64 * MIB  # of a notebook as it was handed in, with all that its cells showed
    notebook: int = 10 * MIB  # of its cells' text and pictures, which is what is kept of it
    judge_seconds: float = 10.0  # of computing, to judge one answer
    judge_memory: int = 1024 * MIB  # of the process that judges
    restarts: int = 32  # how often a submission whose process has ended, or was stopped, is started again
