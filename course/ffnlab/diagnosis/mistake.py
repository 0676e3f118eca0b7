"""A known mistake, and the cause that is named for a wrong answer. Nothing here needs torch: who reads verdicts need not compute."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from ffnlab.observation.plain_data import Plain

COMMON_PREFIX = "general: "  # how the name of a mistake begins that is not of one exercise alone


@dataclass(frozen=True)
class KnownMistake:
    """A known wrong answer: the message that names it, and its facts in each case, in the aspects in which it is wrong."""

    name: str
    message: str
    cases: Sequence[Mapping[str, Plain]]


@dataclass(frozen=True)
class Cause:
    """What is told of a wrong answer: the name under which it is counted, and the message."""

    name: str
    message: str
    sure: bool = False  # the answer computes what the mistake computes, in numbers that could not agree by chance
    likely: bool = False  # another mistake may look the same, so that this one is no more than likely
