"""What a person can mend, told apart from our own faults."""

from __future__ import annotations

import difflib
from collections.abc import Callable, Iterable


class UserError(Exception):
    """Something the person at the keyboard can mend: one clear line, exit status 2."""


def nearest(text: str, known: Iterable[str]) -> list[str]:
    """The known texts that are nearly this one, all that are equally near."""
    close = difflib.get_close_matches(text, list(known), n=4, cutoff=0.6)
    ratios = [difflib.SequenceMatcher(None, one, text).ratio() for one in close]
    return [one for one, ratio in zip(close, ratios, strict=True) if ratio > ratios[0] - 1e-9]


def did_you_mean(text: str, known: Iterable[str], written: Callable[[str], str] = str) -> str:
    """A question for the known texts that are nearest to this one; nothing where none is. written: how one is."""
    meant = sorted(map(written, nearest(text, known)))
    return f"; did you mean {' or '.join(meant)}?" if meant else ""
