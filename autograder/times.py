"""When something was handed in, as people and programs write it: with a month in words, with a zone's name, with more digits than a second has.

What can't be read is never guessed at: a time decides points. Called by untrusted_files and by the systems' modules.
"""

from __future__ import annotations

import re
from collections.abc import Sequence
from datetime import UTC, datetime, timedelta, timezone, tzinfo
from functools import cache
from pathlib import Path
from zoneinfo import ZoneInfo, available_timezones

YEARS = range(2000, 2100)  # beyond, somebody's conversion between time zones overflows
MONTHS = (
    "january januar jänner jaenner", "february februar feber", "march märz maerz", "april", "may mai", "june juni", "july juli",
    "august", "september", "october oktober", "november", "december dezember",
)  # fmt: skip
# As nbgrader writes it, "2026-10-01 10:00:00.000000 UTC", or ISO 8601.
MOMENT = re.compile(
    r"(?P<local>\d{4}-\d\d-\d\d(?:[ T]\d\d:\d\d(?::\d\d(?:[.,]\d{1,9})?)?)?)(?: ?(?P<zone>[+-]\d\d:?\d\d|[A-Za-z][\w/+-]{0,40}))?"
)
OFFSET = re.compile(r"(?P<sign>[+-])(?P<hours>\d\d):?(?P<minutes>\d\d)")
WEEKDAYS = (
    "monday montag", "tuesday dienstag", "wednesday mittwoch", "thursday donnerstag", "friday freitag",
    "saturday samstag sonnabend", "sunday sonntag",
)  # fmt: skip
FILLERS = {"at", "on", "of", "the", "um", "uhr", "am", "den", "der", "dem"}  # "am 4. November" is German
# A clock's time, an offset, a number, a word; else one character that has no place in a time.
TOKENS = re.compile(
    r"(?P<clock>\d{1,2}:\d\d(?::\d\d)?)(?![\d:])|(?P<offset>[+-]\d\d:?\d\d)(?!\d)|(?P<number>\d+)(?:st|nd|rd|th)?"
    r"|(?P<word>[^\W\d_][^\W\d]*(?:/[^\W\d]+)*)|(?P<between>[\s,.]+)|(?P<odd>.)",
    re.DOTALL,
)
WITH_DOTS = re.compile(r"\b([ap])\.\s?m\b\.?", re.IGNORECASE)  # "p.m.", and "p. m."
HALVES = {"am": 0, "pm": 12}
ZONE_SETTING = re.compile(r"""^\s*c\.\w+\.timezone\s*=\s*['"]([^'"\n]{1,60})['"]""", re.MULTILINE)


def parse_moment(text: str, zones: Sequence[tzinfo] = ()) -> datetime | None:
    """A time with its zone, `2026-10-01 10:00:00.000000 UTC`, with the zone's name or in ISO 8601, in UTC; None where it is none, or in years that can't
    be meant. Without a zone it is UTC.

    zones: whose abbreviations may be there, such as CET; nbgrader writes those of the zone that it is configured with.
    """
    match = MOMENT.fullmatch(text.strip())
    if not match:
        return None
    digits = re.sub(r"[.,](\d{1,6})\d*$", lambda part: f".{part[1]:0<6}", match["local"])
    try:
        local = datetime.fromisoformat(digits)
    except ValueError:
        return None
    return _in_utc(local, match["zone"] or "UTC", zones) if local.year in YEARS else None


def _in_utc(local: datetime, name: str, zones: Sequence[tzinfo]) -> datetime | None:
    """A local time of the zone that has this name or abbreviation."""
    zone: tzinfo | None = None
    if offset := OFFSET.fullmatch(name):
        length = timedelta(hours=int(offset["hours"]), minutes=int(offset["minutes"]))
        zone = timezone(-length if offset["sign"] == "-" else length) if length < timedelta(days=1) else None
    elif name in ("UTC", "Z", "GMT"):
        zone = UTC
    elif "/" in name:
        zone = ZoneInfo(name) if name in available_timezones() else None
    else:
        return _abbreviated(local, name, zones)
    try:
        return local.replace(tzinfo=zone).astimezone(UTC) if zone else None
    except OverflowError:
        return None


def _abbreviated(local: datetime, name: str, zones: Sequence[tzinfo]) -> datetime | None:
    """A local time where the zone calls itself so at that time: the same letters mean other zones elsewhere."""
    known = [*zones, *([ZoneInfo(name)] if name in available_timezones() else [])]
    moments = [local.replace(tzinfo=zone, fold=fold) for zone in known for fold in (0, 1)]
    return next((moment.astimezone(UTC) for moment in moments if moment.tzname() == name), None)


def parse_in_words(text: str, zones: Sequence[tzinfo] = ()) -> datetime | None:
    """The local time in a text with a month's name, in English or German and in whichever order, such as `Wednesday, November 4, 2026, 10:15 AM`,
    `Mittwoch, 4. November 2026, 10:15`, or without the weekday; in UTC, with that zone, where it ends with a zone. None where it is none, or could be several,
    and where anything is in it that is not understood: a mark for the afternoon in another language would cost half a day.

    zones: as of `parse_moment`.
    """
    found: dict[str, list[str]] = {}
    months, half, zone, before = [], 0, "", ""
    for match in TOKENS.finditer(WITH_DOTS.sub(r"\1m", text.strip())):
        kind, token = str(match.lastgroup), match[str(match.lastgroup)]
        word = token.casefold()
        if kind == "between":
            continue
        if zone or kind == "odd":  # a zone is the last
            return None
        if kind == "word" and word in HALVES and before == "clock":
            half, kind = 1 + HALVES[word], "half"
        elif kind == "offset" or (kind == "word" and before in ("clock", "half") and not _is_known(word)):
            zone = token
        elif kind == "word" and (month := parse_month(word)):
            months.append(month)
        elif kind == "word" and not _is_known(word):
            return None
        found.setdefault(kind, []).append(token)
        before = kind
    numbers, clocks = found.get("number", []), found.get("clock", [])
    years = [int(number) for number in numbers if len(number) == 4]
    days = [int(number) for number in numbers if len(number) <= 2]
    if not len(clocks) == len(months) == len(years) == len(days) == 1 or len(numbers) != 2:
        return None
    hour, minute, second = map(int, f"{clocks[0]}:0".split(":")[:3])
    if half:
        if not 1 <= hour <= 12:
            return None
        hour = hour % 12 + half - 1
    try:
        local = datetime(years[0], months[0], days[0], hour, minute, second)
    except ValueError:
        return None
    return _in_utc(local, zone if "/" in zone else zone.upper(), zones) if zone else local


def _is_known(word: str) -> bool:
    """Whether a word in a time says nothing, or the day of the week, of which at least two letters are there."""
    is_weekday = len(word) > 1 and any(name.startswith(word) for names in WEEKDAYS for name in names.split())
    return word in FILLERS or is_weekday or parse_month(word) > 0


def parse_month(word: str) -> int:
    """The number of a month in English or German, of which at least three letters are there; 0 where it is none."""
    prefix = word.casefold()
    matches = (n for n, names in enumerate(MONTHS, 1) if any(name.startswith(prefix) for name in names.split()))
    return next(matches, 0) if len(prefix) > 2 else 0


def to_utc(local_time: datetime, zone: tzinfo | None) -> datetime | None:
    """A local time in UTC; None in years that can't be meant. zone: the clock's, or this computer's; not needed for a time with a zone of its own."""
    if local_time.year not in YEARS:
        return None
    try:
        return (local_time.replace(tzinfo=zone) if zone and not local_time.tzinfo else local_time).astimezone(UTC)
    except (OverflowError, ValueError, OSError):
        return None


@cache
def zone_of_nbgrader(config: Path) -> tzinfo | None:
    """The zone in which nbgrader writes times, as its configuration file says; None where it says none that is known."""
    try:
        setting = ZONE_SETTING.search(config.read_text(encoding="utf-8"))
    except (OSError, UnicodeDecodeError):
        return None
    return ZoneInfo(setting[1]) if setting and setting[1] in available_timezones() else None
