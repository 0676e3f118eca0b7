"""What a verdict on hidden inputs may tell: what went wrong and roughly by how much, never a value, which handing in again and again would read off.

Numbers are rounded, and a student's own words are shown only as far as they were handed in: an exception's message could spell out an input.

The log, the gradebook's history and the terminal are the instructor's, and keep every digit.
"""

from __future__ import annotations

import re
from dataclasses import replace
from functools import lru_cache

from ffnlab.checking.verdict import AspectVerdict, Verdict
from ffnlab.phrases import QUOTATION
from ffnlab.untrusted_text import clean

MAX_NUMBERS = 12  # in a text; what the graders say has at most half as many
MAX_CHARACTERS = 400
TOKEN = re.compile(r"[A-Za-z_]*\d(?:[\w.,]*\w)?(?:(?<=[eE])[+-]\d+)?")
SIZES = re.compile(r"\d{1,3}(?:x\d{1,3})*|[A-Za-z_]+\d{1,3}")  # 3, 96x128, float32
NUMBER = re.compile(r"(?:\d{1,3}(?:,\d{3})+|\d+)(?:\.\d*)?(?:[eE][+-]?\d+)?")


@lru_cache(maxsize=512)
def redact(verdict: Verdict) -> Verdict:
    """The verdict as a student may read it: numbers have two digits, where a value could be read off them, and words that nobody has looked up are left out."""

    def redact_aspect(aspect: AspectVerdict) -> AspectVerdict:
        text = QUOTATION.sub("…", aspect.raw_symptom or aspect.symptom)
        return replace(aspect, symptom=round_numbers(clean(text)), raw_symptom="")

    return replace(verdict, aspects=tuple(map(redact_aspect, verdict.aspects)))


def round_numbers(text: str) -> str:
    """The text with two digits of each number, sizes excepted; a number in disguise is left out, and so are those that are too many."""
    count = 0

    def round_match(match: re.Match[str]) -> str:
        nonlocal count
        parts = [match[0]] if NUMBER.fullmatch(match[0]) else match[0].split(",")
        count += sum(any(map(str.isdigit, part)) for part in parts)
        return "…" if count > MAX_NUMBERS else ", ".join(map(_rough, parts))  # 100,100 would read as one number

    return TOKEN.sub(round_match, text if len(text) <= MAX_CHARACTERS else text[:MAX_CHARACTERS] + "…")


def _rough(token: str) -> str:
    if SIZES.fullmatch(token) or not any(map(str.isdigit, token)):
        return token
    if not NUMBER.fullmatch(token):
        return "…"
    if len(re.sub(r"[eE].*|\D", "", token).lstrip("0")) <= 2:
        return token
    value = float(f"{float(token.replace(',', '')):.1e}")
    return f"{value:,.0f}" if 100 <= value < 1e9 else f"{value:.2g}"
