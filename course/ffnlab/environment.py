"""What the process is for, as the environment says it."""

from __future__ import annotations

import os


def is_unattended() -> bool:
    """Whether nobody reads what a cell shows: the notebook is built, tested, or graded by nbgrader."""
    return os.environ.get("FFNLAB_STRICT") == "1" or "NBGRADER_EXECUTION" in os.environ
