"""What is wrong with an answer key, apart from key.py, which brings torch."""

from __future__ import annotations

from pathlib import Path


class KeyProblem(Exception):
    """An answer key that can't be used: which one, and why. file and line: of the row, if one in a table of slips is at fault."""

    def __init__(self, problem: str, file: str = "", line: int = 0) -> None:
        super().__init__(problem, file, line)  # as it is made again in another process
        self.problem = problem
        self.file = file
        self.line = line

    def __str__(self) -> str:
        return f"{Path(self.file).name}, line {self.line}: {self.problem}" if self.file else self.problem
