"""Answers that are the same or nearly: groups and pairs for a person to look at, never a verdict. Called by alike_answers.

Winnowing (Schleimer, Wilkerson and Aiken, "Winnowing: local algorithms for document fingerprinting", SIGMOD 2003) over Python's own tokens. White space,
comments and docstrings are left out, and all names that a student is free to choose are one name. What the handout or the answer key has, and what many
in the class have, says nothing about two of them: it is taken out before answers are compared. An inverted index of fingerprints finds the pairs.
That excuses passages and no whole answers: those that are the same from the first token to the last are grouped before, however many have them.
"""

from __future__ import annotations

import builtins
import io
import keyword
import tokenize
from collections import Counter, defaultdict
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass
from functools import lru_cache
from itertools import combinations
from zlib import crc32

GRAM = 10  # tokens in a fingerprint
WINDOW = 4  # of so many neighbours one is kept: every common passage of GRAM + WINDOW − 1 tokens is found
MIN_PRINTS = 10  # fewer that are an answer's own are too little to mean something: about 25 tokens
MIN_SHARE = 0.7  # of the fingerprints of both
COMMON_SHARE = 0.05  # what more than this share of the class has, or more than MAX_COMMON answers, is nobody's own
MIN_COMMON, MAX_COMMON = 4, 20
PRIME, BASE, SPREAD = 2**61 - 1, 1_000_003, 0x9E3779B97F4A7C15
LAST = pow(BASE, GRAM - 1, PRIME)
MAX_CHARACTERS = 64_000  # characters of an answer that are compared; the longest of the answer keys has a tenth of it
MIN_COMMENT = 12  # characters of a comment that two write by chance no more

IGNORED_TOKENS = {tokenize.COMMENT, tokenize.NL, tokenize.ENCODING, tokenize.ENDMARKER, tokenize.TYPE_COMMENT}
STRUCTURE = {tokenize.NEWLINE: ";", tokenize.INDENT: "{", tokenize.DEDENT: "}"}
STANDARD_NAMES = frozenset((*keyword.kwlist, *dir(builtins), "torch", "nn", "F", "math", "np", "numpy"))


@dataclass(frozen=True)
class Pair:
    """Two students with nearly the same answer."""

    exercise: str
    first: str
    second: str
    share: float  # of the fingerprints of both, from 0 to 1
    names: bool  # whether also the names they chose are the same
    comments: int  # how many comments both have, word for word

    def rank(self) -> tuple[object, ...]:
        """By which those that agree in most come first: what is least likely to happen by chance counts most."""
        return (-self.comments, -self.names, -self.share, self.exercise, self.first, self.second)


@dataclass(frozen=True)
class SimilarGroup:
    """Students, three or more, whose answers are the same token by token."""

    exercise: str
    students: tuple[str, ...]
    names: bool  # whether also the names they chose are the same
    comments: int  # how many comments all of them have, word for word

    def rank(self) -> tuple[object, ...]:
        """By which those come first that are least likely to happen by chance."""
        return (-self.comments, -self.names, -len(self.students), self.exercise, self.students)


@dataclass(frozen=True)
class _Answer:
    """An answer as it is compared: its tokens as one number, fingerprints, the names its author chose, its longer comments."""

    tokens: int
    prints: frozenset[int]
    names: frozenset[str]
    comments: frozenset[str]


def find_similar(
    exercise: str, answers: Mapping[str, str], known_sources: Iterable[str]
) -> tuple[list[SimilarGroup], list[Pair]]:
    """The groups of students with the same answer to an exercise, and the pairs with nearly the same, those that share most first.

    answers: what each wrote, by student. known_sources: the handout's cell and every answer of the key, which are nobody's own.
    """
    answer_of = {source: _read(source) for source in set(answers.values())}
    theirs = {student: answer_of[source] for student, source in answers.items()}
    known_answers = [_read(source) for source in known_sources]
    return _groups(exercise, theirs, known_answers), _pairs(exercise, theirs, known_answers)


def _pairs(exercise: str, answers: Mapping[str, _Answer], known_answers: Sequence[_Answer]) -> list[Pair]:
    boilerplate = frozenset().union(*(answer.prints for answer in known_answers))
    holders: dict[int, list[str]] = defaultdict(list)
    for student, answer in answers.items():
        for fingerprint in answer.prints - boilerplate:
            holders[fingerprint].append(student)
    most = min(MAX_COMMON, max(MIN_COMMON, int(COMMON_SHARE * len(answers))))
    rare = {fingerprint: students for fingerprint, students in holders.items() if len(students) <= most}
    own: Counter[str] = Counter(student for students in rare.values() for student in students)
    overlaps: Counter[tuple[str, str]] = Counter()
    for students in rare.values():
        if len(students) > 1:
            overlaps.update(combinations([student for student in students if own[student] >= MIN_PRINTS], 2))
    known_comments = frozenset().union(*(answer.comments for answer in known_answers))
    pairs = []
    for (first, second), count in overlaps.items():
        share = count / (own[first] + own[second] - count)
        if share >= MIN_SHARE:
            mine, theirs = answers[first], answers[second]
            comments = len((mine.comments & theirs.comments) - known_comments)
            pairs.append(Pair(exercise, first, second, share, mine.names == theirs.names, comments))
    return sorted(pairs, key=Pair.rank)


def _groups(exercise: str, answers: Mapping[str, _Answer], known_answers: Sequence[_Answer]) -> list[SimilarGroup]:
    boilerplate = frozenset().union(*(answer.prints for answer in known_answers))
    shapes = {answer.tokens for answer in known_answers}
    same: dict[int, list[str]] = defaultdict(list)
    for student, answer in answers.items():
        if answer.tokens not in shapes and len(answer.prints - boilerplate) >= MIN_PRINTS:
            same[answer.tokens].append(student)
    known_comments = frozenset().union(*(answer.comments for answer in known_answers))
    groups = []
    for students in same.values():
        theirs = [answers[student] for student in students]
        comments = frozenset.intersection(*(answer.comments for answer in theirs)) - known_comments
        names = len({answer.names for answer in theirs}) == 1
        groups.append(SimilarGroup(exercise, tuple(sorted(students)), names, len(comments)))
    return sorted((group for group in groups if len(group.students) > 2), key=SimilarGroup.rank)


def _read(source: str) -> _Answer:
    """What is compared of a source, as far as it can be read as Python, and of a long one its beginning."""
    tokens: list[str] = []
    names: set[str] = set()
    comments: set[str] = set()
    before = ""
    for kind, text in _tokens(source[:MAX_CHARACTERS]):
        if kind == tokenize.COMMENT:
            words = " ".join(text.strip("# \t").split())
            if len(words) >= MIN_COMMENT:
                comments.add(words)
        elif kind in STRUCTURE:
            tokens.append(STRUCTURE[kind])
        elif kind == tokenize.STRING and (not tokens or tokens[-1] in (";", "{", "}", ":")):
            before = ""
            continue  # a docstring, or a text that nothing is done with
        elif kind == tokenize.NAME:
            is_standard = text in STANDARD_NAMES or (before == "." and tokens[-2:-1] != ["self"])
            if not is_standard and text != "self":
                names.add(text)
            tokens.append(text if is_standard or text == "self" else "name")
        elif kind not in IGNORED_TOKENS:
            tokens.append(text)
        before = text
    return _Answer(hash(tuple(tokens)), _prints(tokens), frozenset(names), frozenset(comments))


def _tokens(source: str) -> Iterable[tuple[int, str]]:
    try:
        for token in tokenize.generate_tokens(io.StringIO(source).readline):
            yield token.type, token.string
    except (tokenize.TokenError, SyntaxError):  # what came before it is there
        return


def _prints(tokens: Sequence[str]) -> frozenset[int]:
    """The fingerprints that winnowing keeps: of each window of neighbours the smallest. The same in every run."""
    numbers = [_number(token) for token in tokens]
    if len(numbers) < GRAM:
        return frozenset()
    rolling_hash = sum(number * BASE ** (GRAM - 1 - place) for place, number in enumerate(numbers[:GRAM])) % PRIME
    grams = [rolling_hash]
    for old, new in zip(numbers, numbers[GRAM:], strict=False):
        rolling_hash = ((rolling_hash - old * LAST) * BASE + new) % PRIME
        grams.append(rolling_hash)
    grams = [gram * SPREAD % PRIME for gram in grams]  # so that the smallest is no particular token
    windows = zip(*(grams[place:] for place in range(min(WINDOW, len(grams)))), strict=False)
    return frozenset(map(min, windows))


@lru_cache(100_000)
def _number(token: str) -> int:
    return crc32(token.encode("utf-8", "replace"))
