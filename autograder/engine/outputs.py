"""What a cell showed, as nbformat's outputs: only known kinds, cleaned, and no more than the grader keeps, whatever the worker that ran it sent."""

from __future__ import annotations

import base64
import binascii
from dataclasses import dataclass
from typing import Any

from autograder.engine.graded_submission import Outputs
from autograder.jail import wire
from ffnlab.observation import plain_data
from ffnlab.observation.plain_data import Failure
from ffnlab.untrusted_text import CUT, clean

LINE = 16  # bytes that a line feed counts for: a notebook on disk has a line of its own for each line of text
PLACE = 2000  # bytes of a notebook's room that an output takes beside its own: on every page that is made of the notebook it has a place for itself
MAX_PIXELS = 20_000_000  # a picture of few bytes can unfold to any size in the reader's browser


@dataclass(frozen=True)
class CellRun:
    """What a cell showed, the error that it ended in, and the exercises that it called `check` for, in their order."""

    outputs: Outputs
    error: Failure | None
    checked: tuple[str, ...] = ()


def read(frame: bytes, most: int) -> dict[str, Any]:
    """A worker's answer about a cell, as JSON data: its outputs, at most so many bytes of them, and its error. Whatever the frame is, this returns."""
    try:
        answer = plain_data.unpack(frame, plain_data.Size(values=1000, bytes=0, characters=len(frame)))
    except plain_data.Malformed as problem:
        return {"outputs": [], "error": ["Unreadable", str(problem), ""], "checked": []}
    fields = answer if isinstance(answer, dict) else {}
    error, checked = fields.get("error") or fields.get("broken"), fields.get("checked")
    return {
        "outputs": bound_outputs(fields.get("outputs"), most),
        "error": [error.type, error.message, error.line] if isinstance(error, Failure) else None,
        "checked": [name for name in checked if isinstance(name, str)] if isinstance(checked, list) else [],
    }


def bound_outputs(outputs: object, most: int) -> Outputs:
    """The outputs that can stand in a graded notebook, the first of them, at most `most` bytes."""
    safe: Outputs = []
    for output in outputs[: wire.MAX_DISPLAYS + 2] if isinstance(outputs, list) else []:
        if not isinstance(output, dict):
            continue
        if output.get("output_type") == "stream" and isinstance(output.get("text"), str):
            name = "stderr" if output.get("name") == "stderr" else "stdout"
            text = shorten(_render_stream(output["text"]), most)
            most -= cost(text)
            safe.append({"output_type": "stream", "name": name, "text": text})
        elif output.get("output_type") == "display_data" and isinstance(output.get("data"), dict):
            data: dict[str, str] = {}
            for kind, content in output["data"].items():
                content = _clean_content(kind, content)
                if content and cost(content) <= most:
                    data[kind] = content
                    most -= cost(content)
            if data:
                safe.append({"output_type": "display_data", "data": data, "metadata": {}})
        if most <= 0:
            break
    return safe


def size(outputs: Outputs) -> int:
    """How many bytes outputs count for."""
    texts = [output.get("text", "") for output in outputs]
    return sum(map(cost, texts)) + sum(cost(text) for o in outputs for text in o.get("data", {}).values())


def room(outputs: Outputs) -> int:
    """How much of a notebook's room outputs take."""
    return size(outputs) + PLACE * len(outputs)


def cost(text: str) -> int:
    """How many bytes a text counts for."""
    return len(text.encode("utf-8", "replace")) + LINE * text.count("\n")


def shorten(text: str, most: int) -> str:
    """The beginning of a cleaned text that counts for no more than `most` bytes, or a few more with the sign that it was cut."""
    if cost(text) <= most:
        return text
    low, high = 0, len(text)
    while low < high:
        middle = (low + high + 1) // 2
        low, high = (middle, high) if cost(text[:middle]) <= most else (low, middle - 1)
    return text[:low] + CUT


def _render_stream(text: str) -> str:
    """A stream as a notebook shows it: a progress bar's last state on each line."""
    lines = text.replace("\r\n", "\n").split("\n")
    return clean("\n".join(line.rstrip("\r").rpartition("\r")[2] for line in lines), len(text))


def _clean_content(kind: object, content: object) -> str:
    if kind not in wire.MIME_TYPES or not isinstance(content, str):
        return ""
    if kind == "image/png":
        return content if _is_picture(content) else ""
    return clean(content, len(content))


def _is_picture(content: str) -> bool:
    """Whether this is a PNG in base64 that a reader can afford to see: its header stands at its beginning."""
    try:
        data = base64.b64decode("".join(content.split()), validate=True)
    except (ValueError, binascii.Error):
        return False
    if data[:8] != b"\x89PNG\r\n\x1a\n" or data[12:16] != b"IHDR":
        return False
    width, height = int.from_bytes(data[16:20], "big"), int.from_bytes(data[20:24], "big")
    return 0 < width * height <= MAX_PIXELS
