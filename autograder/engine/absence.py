"""Why there is no answer to be looked at, as far as that is known, in a student's words. Nothing here runs anything of a submission."""

from __future__ import annotations

import difflib
import unicodedata
from collections.abc import Sequence

from autograder.engine.names import CELL_MAGIC, KEEPS_NAMES, READS_NAMES, Names
from ffnlab.phrases import join_words
from ffnlab.untrusted_text import in_a_line

UNTOUCHED = "Its cell is as it was handed out."
STILL_RAISES = "It still raises NotImplementedError."
STILL_DOTS = "It is still `...`, or has a line `...`."
CALLS_STUB = "It calls something that still raises NotImplementedError."
EMPTY = "Its cell is empty."
DELETED = "Its cell was deleted, and nothing in the notebook is called `{}`."
IS_STUB = "It raises NotImplementedError, as it was handed out."
IS_NOT_THERE = "There is nothing to look at."
OTHER_NAME = "There is no answer called `{0}`, but the notebook defines {1}. Grading takes what is called `{0}`, or what the last check of it is given."
LIKE = 0.75  # of two names, as difflib has it
MAX_NAMES = 3
MAX_LENGTH = 60  # of a name that is compared, or shown,
MAX_COMPARED = 500  # and how many are


def similar_name(name: str, own_names: Sequence[str]) -> str:
    """Of the names that a student's cells define, one that was probably meant to be `name`, for a sentence; empty where there is none."""
    plain = name.casefold().replace("_", "")
    for other in [own_name for own_name in own_names if len(own_name) <= MAX_LENGTH][:MAX_COMPARED]:
        other_plain = other.casefold().replace("_", "")
        is_like = difflib.SequenceMatcher(None, plain, other_plain).ratio() >= LIKE
        if other != name and (is_like or other_plain.startswith(plain)):
            return show(other)
    return ""


def describe(name: str, source: str, names: Names) -> str:
    """Why `name` is not there although something was typed in its cell, which ran to its end. names: what the cell defines."""
    if foreign := foreign_magic(source, name):
        return foreign
    magic = CELL_MAGIC.match(source)
    if magic and magic[1] not in KEEPS_NAMES:
        return f"Its cell begins with `%%{magic[1]}`, which keeps nothing that the cell defines. So `{name}` is not defined."
    if name in names.defines:
        return f"Its cell defined `{name}`, and it is not there any more where its check stands."
    others = [show(other) for other in sorted(names.defines) if not other.startswith("_")][:MAX_NAMES]
    if others:
        return f"Its cell ran, but it defines {join_words(others)}, and nothing is called `{name}`."
    return f"Its cell ran, but it defines nothing called `{name}`."


def unfinished(source: str) -> str:
    """What is to be said of an answer in which something was written, and which is called unfinished."""
    if "NotImplementedError" in source:
        return STILL_RAISES
    return STILL_DOTS if "..." in source else CALLS_STUB


def foreign_magic(source: str, name: str) -> str:
    """What is to be said of a cell that begins with a magic which makes it no Python of this notebook; empty of any other."""
    magic = CELL_MAGIC.match(source)
    if not magic or magic[1] in READS_NAMES:
        return ""
    return f"Its cell begins with `%%{magic[1]}`, so it does not run as Python of this notebook, and `{name}` is not defined."


def show(name: str) -> str:
    """A name for a sentence, with the letters in it that look like others."""
    name = in_a_line(name, MAX_LENGTH)
    odd = next((letter for letter in name if not letter.isascii()), "")
    if not odd:
        return f"`{name}`"
    return f"`{name}` (its “{odd}” is {unicodedata.name(odd, 'an unusual letter')})"
