"""What the process is for, as the environment says it, and what follows from that for names in an output."""

from __future__ import annotations

import hashlib
import os
import secrets
from collections import Counter
from pathlib import Path

_uses: Counter[str] = Counter()  # of each name, so far in this process


def is_unattended() -> bool:
    """Whether nobody reads what a cell shows: the notebook is built, tested, or graded by nbgrader."""
    return os.environ.get("FFNLAB_STRICT") == "1" or "NBGRADER_EXECUTION" in os.environ


def element_id(name: str) -> str:
    """An id by which a script finds an element of a cell's output, 12 hexadecimal digits.

    JupyterLab shows several notebooks on one page, and a cell can run twice, so the id is random. A notebook that is built has to be the same bytes each
    time; there the id follows from the notebook's folder, the name, and how many elements of that name came before.
    """
    if not is_unattended():
        return secrets.token_hex(6)
    _uses[name] += 1
    return hashlib.sha256(f"{Path.cwd().name}/{name}/{_uses[name]}".encode()).hexdigest()[:12]
