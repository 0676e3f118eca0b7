"""What a person can mend, told apart from our own faults."""

from __future__ import annotations

import difflib
from collections.abc import Callable, Iterable


class UserError(Exception):
    """Something the person at the keyboard can mend: one clear line, exit status 2."""


def find_nearest(text: str, candidates: Iterable[str]) -> list[str]:
    """The known texts that are nearly this one, all that are equally near."""
    close = difflib.get_close_matches(text, list(candidates), n=4, cutoff=0.6)
    ratios = [difflib.SequenceMatcher(None, candidate, text).ratio() for candidate in close]
    return [candidate for candidate, ratio in zip(close, ratios, strict=True) if ratio > ratios[0] - 1e-9]


def suggest_nearest(text: str, candidates: Iterable[str], quote: Callable[[str], str] = str) -> str:
    """A hint at the known texts that are nearest to this one; nothing where none is. quote: how one is written."""
    suggestions = sorted(map(quote, find_nearest(text, candidates)))
    return f"; did you mean {' or '.join(suggestions)}?" if suggestions else ""
