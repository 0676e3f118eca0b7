"""How the runs of an experiment are stored."""

from __future__ import annotations

import json
from collections.abc import Sequence
from pathlib import Path
from typing import Any

import torch


def write(file: Path, about: dict[str, Any], runs: Sequence[Any]) -> None:
    """Store what an experiment found, a line for each run, with the version of torch, and say how large it is."""
    about = about | {"torch": torch.__version__.partition("+")[0]}
    lines = ",\n".join(json.dumps(run, separators=(",", ":")) for run in runs)
    file.write_text(f'{{"about": {json.dumps(about)},\n"runs": [\n{lines}\n]}}\n', encoding="utf-8")
    print(f"{file.name}: {file.stat().st_size:,} bytes")
