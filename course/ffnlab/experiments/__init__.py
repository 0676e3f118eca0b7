"""What takes longer than a notebook may: each module runs one experiment and writes its result, small, beside itself."""

from __future__ import annotations

import json
from collections.abc import Sequence
from functools import cache
from pathlib import Path
from typing import Any


@cache
def read(file: Path) -> dict[str, Any]:
    """What an experiment wrote, read once: figures ask for it at every move of a slider."""
    found: dict[str, Any] = json.loads(file.read_text(encoding="utf-8"))
    return found


def write(file: Path, about: dict[str, Any], runs: Sequence[Any]) -> None:
    """Keep what an experiment found, a line for each run, and say how large it is."""
    lines = ",\n".join(json.dumps(run, separators=(",", ":")) for run in runs)
    file.write_text(f'{{"about": {json.dumps(about)},\n"runs": [\n{lines}\n]}}\n', encoding="utf-8")
    print(f"{file.name}: {file.stat().st_size:,} bytes")
