"""What takes longer than a notebook may: each module reads the stored result of one experiment, small, beside itself."""

from __future__ import annotations

import json
from functools import cache
from pathlib import Path
from typing import Any


@cache
def read(file: Path) -> dict[str, Any]:
    """What an experiment wrote, read once: figures ask for it at every move of a slider."""
    results: dict[str, Any] = json.loads(file.read_text(encoding="utf-8"))
    return results
