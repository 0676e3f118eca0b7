"""How what an experiment found is stored."""

from __future__ import annotations

import json
from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import Any

import torch

TORCH = torch.__version__.partition("+")[0]
Rows = Sequence[Any] | Mapping[str, Any]


def write(file: Path, entries: Mapping[str, Any], rows: Mapping[str, Rows] | None = None) -> None:
    """Store what an experiment found as one JSON object, and say how large the file is.

    entries: entries of the object, a line for each. rows: further entries, lists or objects with a line for each of their rows.
    """
    lines = [f"{_json(key)}: {_json(value)}" for key, value in entries.items()]
    lines += [f"{_json(part)}: {_by_rows(value)}" for part, value in (rows or {}).items()]
    file.write_text("{" + ",\n".join(lines) + "}\n", encoding="utf-8")
    print(f"{file.name}: {file.stat().st_size:,} bytes")


def _by_rows(rows: Rows) -> str:
    if isinstance(rows, Mapping):
        return "{\n" + ",\n".join(f"{_json(key)}: {_json(row)}" for key, row in rows.items()) + "\n}"
    return "[\n" + ",\n".join(map(_json, rows)) + "\n]"


def _json(value: Any) -> str:
    return json.dumps(value, ensure_ascii=False, separators=(",", ":"))
