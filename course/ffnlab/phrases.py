"""Small pieces of what students read."""

from __future__ import annotations

import re
from collections.abc import Sequence

NEGATIVE = re.compile(r"(?<![\w.)\]-])-(?=\d)")  # the hyphen of a negative number
RAISED = "Your code raised "  # how it begins that an exception is told, after the place


def plural(count: int | str, noun: str, nouns: str = "") -> str:
    """ "1 value", "2 values", "0 values"; `nouns` is a plural that does not end in s: "2 classes".

    count: a text stands where the number is written in another way, as in "1,000 values".
    """
    return f"{count} {noun if count in (1, '1') else nouns or noun + 's'}"


def join_words(parts: Sequence[str]) -> str:
    """ "a", "a and b", "a, b and c"."""
    return " and ".join(filter(None, (", ".join(parts[:-1]), *parts[-1:])))


def in_quotes(text: str) -> str:
    """The text in quotation marks; those in it become single."""
    return f"“{text.translate({ord('“'): '‘', ord('”'): '’'})}”"


def cut(text: str, most: int) -> str:
    """The text, or its first `most` characters with a sign that it goes on; of several clauses the whole ones."""
    if len(text) <= most:
        return text
    return f"{text[: most - 1].rpartition('; ')[0] or text[: most - 1]}…"


def sentence(text: str) -> str:
    """The text with a full stop, where it has no end yet."""
    return text if text.rstrip(CLOSE).endswith((".", "!", "?")) else text + "."


# How it is told where an answer is wrong: in the first case, in which others, and in which it is right; then what is wrong.
LABELS = r"“[^”]*”(?:, “[^”]*”)*(?: and “[^”]*”| and \d+ more)?"
PLACE = re.compile(
    rf"(?P<first>[^:]*?)(?:, and in (?P<others>(?:the|both|all \d+|\d+) other cases?|every case with “[^”]*”)|, also (?P<labels>{LABELS}))?"
    rf"(?:(?:^| )\((?P<right>right: {LABELS})?(?:; )?(?P<where>right (?:where|for) [^:]*?)?\))?(?:: (?P<what>.+))?",
    re.DOTALL,
)


def in_sentences(text: str) -> str:
    """The first wrong case; in sentences of their own, which other cases are wrong, and which are right."""
    match = PLACE.fullmatch(text)
    if not match or not (match["others"] or match["labels"] or match["right"] or match["where"]):
        return sentence(text)
    sentences = [": ".join(filter(None, (match["first"], match["what"])))]
    if others := match["others"]:
        is_singular = others.startswith(("the", "every"))
        sentences.append(f"{others[0].upper()}{others[1:]} {'fails' if is_singular else 'fail'}, too")
    elif labels := match["labels"]:
        sentences.append(f"{labels} {'fails' if labels.count('“') == 1 else 'fail'}, too")
    if right := match["right"]:
        labels = right.removeprefix("right: ")
        sentences.append(f"{labels} {'is' if labels.count('“') == 1 else 'are'} right")
    if match["where"]:
        sentences.append(f"It is {match['where']}")
    return " ".join(map(sentence, sentences))


def capitalise(text: str) -> str:
    """The text with a capital where it begins with a word such as "the"; names of code, such as x and out, stay as they are."""
    return re.sub(r"^(?:an?|the|all|both|no|what|every|some|one|it) ", lambda match: match[0].capitalize(), text)


def with_minus(text: str) -> str:
    """The text with a minus sign before its negative numbers, except in code, in quotations and in what an exception says."""
    ours, *error = re.split(f"({RAISED})", text, maxsplit=1)
    parts = re.split(r"(`[^`]*`|“[^”]*”|'[^']*'|\([A-Z]\w*: .*)", ours)
    return "".join([*(part if index % 2 else NEGATIVE.sub("−", part) for index, part in enumerate(parts)), *error])


# A student's own words in a text of ours, between delimiters: what a page may show of them is decided where the submission is at hand.
TYPE, LINE, TEXT = "t", "l", "w"  # the name of an exception's type, a line of code with its number, anything else
OPEN, CLOSE = "\ue000", "\ue001"
QUOTATION = re.compile(f"{OPEN}(.)([^{OPEN}{CLOSE}]*){CLOSE}", re.DOTALL)


def quote(text: str, kind: str = TEXT) -> str:
    """The text between delimiters that say whose it is."""
    return OPEN + kind + re.sub(f"[{OPEN}{CLOSE}]", "", text) + CLOSE


def without_delimiters(text: str) -> str:
    """The text as it is read."""
    return QUOTATION.sub(lambda match: match[2], text)
