"""Our commands, as nbgrader's classes run them and formgrader's dialogs show what they say."""

from __future__ import annotations

import subprocess
import sys
from typing import Any


def run_command(*arguments: str) -> dict[str, Any]:
    """Run our command; what formgrader's dialogs show of it."""
    process = subprocess.run(
        [sys.executable, "-m", "autograder", *arguments],
        stdin=subprocess.DEVNULL,
        stdout=subprocess.PIPE,
        stderr=subprocess.STDOUT,
        text=True,
        check=False,
    )
    error = (
        {} if process.returncode == 0 else {"error": (process.stdout.strip().splitlines() or ["it said nothing"])[-1]}
    )
    return {"success": not error, "log": process.stdout, **error}
