"""The one function that every text of a submission goes through before it is kept or shown: sources, messages, outputs, names.

What comes out can always be encoded, stored in any database, and printed on any terminal, and says in order what it shows.
"""

from __future__ import annotations

import re

MAX_TEXT = 20_000
CUT = "… (cut)"
SIGN = "\N{REPLACEMENT CHARACTER}"

# What a terminal would obey: colours, cursor moves, titles. Taken out whole, so that "[31m" is not left behind.
_ESCAPES = re.compile(
    r"\x1b(?:\[[0-9:;<=>?]{0,64}[ -/]{0,8}[@-~]|\][^\x07\x1b\n]{0,512}(?:\x07|\x1b\\)|[ -/]{0,8}[0-Z\\^-~])"
)

# Control characters but tab and line feed; lone surrogates, which nothing can encode; marks that turn the order of what follows.
_UNPRINTABLE = re.compile(r"[\x00-\x08\x0b-\x1f\x7f-\x9f\ud800-\udfff\u202a-\u202e\u2066-\u2069\ufffe\uffff]")


def clean(text: str, most: int = MAX_TEXT) -> str:
    """The text with line feeds for all line ends, a sign for what can't be shown, and nothing that a terminal would obey.

    most: characters; of a longer text the beginning is left, with CUT behind it.
    """
    if len(text) > most:
        text = text[: max(0, most - len(CUT))] + CUT
    if text.isascii() and text.isprintable():
        return text
    text = text.replace("\r\n", "\n").replace("\r", "\n").replace("\f", "")
    return _UNPRINTABLE.sub(SIGN, _ESCAPES.sub("", text))


def in_a_line(text: str, most: int = 300) -> str:
    """The cleaned text with a space for every run of white space: what stands in a table, a log or a remark."""
    return clean(" ".join(text[: 4 * most].split()), most)
