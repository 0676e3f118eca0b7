"""Every limit on a submission, in one place; each can be overridden on the command line or in a configuration."""

from __future__ import annotations

from dataclasses import dataclass

MIB = 2**20


@dataclass(frozen=True)
class Limits:
    """Seconds of wall time; bytes; numbers of processes."""

    cell_seconds: float = 60.0
    submission_seconds: float = 300.0
    memory: int = 4096 * MIB
    processes: int = 64
    tmp: int = 64 * MIB
    output: int = 1 * MIB
    notebook: int = 10 * MIB
