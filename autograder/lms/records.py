"""What an importer makes of an export: its files, and the people whom a list or a gradebook names. Called by the systems' modules and by collect."""

from __future__ import annotations

import re
import unicodedata
from collections.abc import Callable, Mapping
from dataclasses import dataclass, field
from datetime import UTC, datetime, timedelta, tzinfo
from functools import lru_cache

from autograder.times import to_utc


@dataclass(frozen=True)
class Person:
    """Somebody as an LMS knows them."""

    ids: Mapping[str, str]  # by the roster's columns (canvas, moodle, brightspace, sis_id, username, email)
    first: str = ""
    last: str = ""
    name: str = ""  # where only the whole of it is known
    groups: tuple[str, ...] = ()

    def __post_init__(self) -> None:
        object.__setattr__(self, "ids", {key: text for key, text in self.ids.items() if text})

    @property
    def full_name(self) -> str:
        return self.name or " ".join(part for part in (self.first, self.last) if part)


@dataclass(frozen=True)
class ExportedFile:
    """One file of an LMS's export, as somebody handed it in."""

    system: str
    submitter: str  # the export's own token for the person or group, unique in this system
    people: tuple[Person, ...]  # the person, or a group's members; none where the export does not say who they are
    name: str  # of the person or group, as shown
    entry: str  # the file's name in the archive
    file: str  # its name as the student had it; "" where only a folder is there
    read: Callable[[], bytes] = field(repr=False, compare=False)
    submission_id: str = ""  # what tells this person's submissions apart
    handed_in_at: datetime | None = None  # in UTC
    late: bool = False
    group: str = ""
    assignment: str = ""  # as the export names it, where it does by a token of ours
    remark: str = ""
    unreadable_time: str = ""  # what is in the time's place and is none
    doubt: str = ""  # why a person has to say whose it is
    doubtful_time: str = ""  # why a person has to look at its time
    name_time: datetime | None = None  # the time that its name says, where the file system knows of a later one
    laid_by: str = ""  # the accounts that have laid it where it was found, where the system has them
    # Whether the owners of its files confirm whose it is, where the system is one that has owners.
    is_owned: bool = True
    # The same file by other readings of its name, where students can write into what the system puts before it.
    readings: tuple[ExportedFile, ...] = field(default=(), repr=False)
    is_likely: bool = True  # whether, without a roster, this reading may be right
    back: Mapping[str, str] = field(default_factory=dict)  # what else the way back needs

    @property
    def time_note(self) -> str:
        """What is wrong with its time; empty where it has one, or the export has none."""
        return (
            f"its time, {self.unreadable_time}, can't be read" if self.unreadable_time and not self.handed_in_at else ""
        )

    @property
    def token(self) -> str:
        """What tells this file's submission from others of the same name: Canvas writes its name anew when it comes to be late."""
        return self.back.get("attachment") or self.submission_id


def parse_local_time(text: str, pattern: str, zone: tzinfo | None) -> datetime | None:
    """A local time, written by a pattern of `strptime`, in UTC; None where it is none. zone: as in `to_utc`."""
    try:
        return to_utc(datetime.strptime(text, pattern), zone)
    except ValueError:
        return None


def is_in_future(time: datetime) -> bool:
    """Whether a time is later than any clock's now, of whatever zone it was read."""
    return time > datetime.now(UTC) + timedelta(days=1)


@dataclass(frozen=True)
class PersonName:
    """A person's name, as names are compared: without accents, case, spaces and signs, whichever part comes first.

    Anybody can choose how their own is shown. So a name may say who is meant, and alone it never decides.
    """

    text: str

    def __bool__(self) -> bool:
        return bool(fold_name(self.text))

    @property
    def words(self) -> frozenset[str]:
        return fold_words(self.text)

    @property
    def key(self) -> str:
        """The same for all names that look like this one: its letters, in the alphabet's order."""
        return "".join(sorted(fold_name(self.text)))

    def is_like(self, other: PersonName) -> bool:
        """Whether it is the same name, in another writing maybe."""
        mine, theirs = fold_name(self.text), fold_name(other.text)
        if len(mine) != len(theirs) or not mine:
            return bool(mine) and self.words == other.words
        parts = self.text.split()
        turned = (fold_name(" ".join((*parts[place:], *parts[:place]))) for place in range(1, len(parts)))
        return mine == theirs or theirs in turned or self.words == other.words

    def agrees_with(self, other: PersonName) -> bool:
        """Whether it may be the same person's: all words of one are in the other, as where a middle name or a group is left out."""
        mine, theirs = self.words, other.words
        return bool(mine) and (mine <= theirs or (len(theirs) > 1 and theirs <= mine))


@lru_cache(maxsize=100_000)
def fold_name(text: str) -> str:
    """A name as names are compared: without accents, case, spaces and signs."""
    plain = unicodedata.normalize("NFKD", text).casefold()
    return "".join(letter for letter in plain if letter.isalnum())


@lru_cache(maxsize=100_000)
def fold_words(text: str) -> frozenset[str]:
    """The words of a name, as they are compared."""
    parts = re.split(r"[\W_]+", unicodedata.normalize("NFC", text))
    return frozenset(word for part in parts if (word := fold_name(part)))
