"""Small pieces of what students read."""

from __future__ import annotations

RAISED = "Your code raised "  # how it begins that an exception is told, after the place


def counted(values: int) -> str:
    """ "1 value", "2 values"."""
    return f"{values} value{'' if values == 1 else 's'}"


def cut(text: str, most: int) -> str:
    """The text, or its first `most` characters with a sign that it goes on."""
    return text if len(text) <= most else f"{text[: most - 1]}…"


def sentence(text: str) -> str:
    """The text with a full stop, where it has no end yet."""
    return text if text.endswith((".", "!", "?")) else text + "."
