"""Small pieces of what students read."""

from __future__ import annotations

import re

RAISED = "Your code raised "  # how it begins that an exception is told, after the place


def counted(values: int) -> str:
    """ "1 value", "2 values"."""
    return f"{values} value{'' if values == 1 else 's'}"


def cut(text: str, most: int) -> str:
    """The text, or its first `most` characters with a sign that it goes on; of several clauses the whole ones."""
    if len(text) <= most:
        return text
    return f"{text[: most - 1].rpartition('; ')[0] or text[: most - 1]}…"


def sentence(text: str) -> str:
    """The text with a full stop, where it has no end yet."""
    return text if text.rstrip(CLOSE).endswith((".", "!", "?")) else text + "."


# A student's own words in a text of ours, between marks: what a page may show of them is decided where the submission is at hand.
TYPE, LINE, TEXT = "t", "l", "w"  # the name of an exception's type, a line of code with its number, anything else
OPEN, CLOSE = "\ue000", "\ue001"
QUOTATION = re.compile(f"{OPEN}(.)([^{OPEN}{CLOSE}]*){CLOSE}", re.DOTALL)


def quoted(text: str, kind: str = TEXT) -> str:
    """The text between marks that say whose it is."""
    return OPEN + kind + re.sub(f"[{OPEN}{CLOSE}]", "", text) + CLOSE


def without_marks(text: str) -> str:
    """The text as it is read."""
    return QUOTATION.sub(lambda found: found[2], text)
