"""When something was handed in: read in every way in which people and programs write it, never guessed at, and never called on time unasked."""

from __future__ import annotations

from datetime import UTC, datetime, tzinfo
from pathlib import Path
from zoneinfo import ZoneInfo

import pytest
from fabricated import FakeAttempt, fabricate
from test_cli import autograder

from autograder import times, untrusted_files
from autograder.class_folder.folder import ClassFolder
from autograder.gradebook import gradebook, policy_words
from autograder.gradebook.policy import Policy

BERLIN, LOS_ANGELES = ZoneInfo("Europe/Berlin"), ZoneInfo("America/Los_Angeles")
FFN = "02_feed_forward"


@pytest.mark.parametrize(
    ("text", "zones", "expected"),
    [
        ("2026-10-01 10:00:00.000000 Europe/Berlin", (), datetime(2026, 10, 1, 8, tzinfo=UTC)),
        ("2026-10-01 10:00:00.000000 America/Los_Angeles", (), datetime(2026, 10, 1, 17, tzinfo=UTC)),
        ("2026-10-01 10:00:00 CEST", (BERLIN,), datetime(2026, 10, 1, 8, tzinfo=UTC)),
        ("2026-10-01 10:00:00 PDT", (BERLIN, LOS_ANGELES), datetime(2026, 10, 1, 17, tzinfo=UTC)),
        ("2026-10-25 02:30:00 CET", (BERLIN,), datetime(2026, 10, 25, 1, 30, tzinfo=UTC)),
        ("2026-10-25 02:30:00 CEST", (BERLIN,), datetime(2026, 10, 25, 0, 30, tzinfo=UTC)),
        ("2026-12-01 10:00:00 CET", (), datetime(2026, 12, 1, 9, tzinfo=UTC)),
        ("2026-07-01 10:00:00 CET", (BERLIN,), None),  # in July, nobody's clock there shows CET
        ("2026-10-01 10:00:00 IST", (BERLIN,), None),  # India's, Ireland's or Israel's
        ("2026-10-01 10:00:00 Nowhere/At_All", (), None),
        ("2026-10-01 10:00:00 ../../etc/localtime", (), None),
        ("2026-10-01 10:00:00.123456789 UTC", (), datetime(2026, 10, 1, 10, 0, 0, 123456, tzinfo=UTC)),
        ("2026-10-01T10:00:00.5Z", (), datetime(2026, 10, 1, 10, 0, 0, 500000, tzinfo=UTC)),
        ("2026-10-01 10:00 +9999", (), None),
        ("0001-01-01 00:00 +1400", (), None),
    ],
)
def test_a_zone_s_name_is_known_or_the_time_is_not(
    text: str, zones: tuple[tzinfo, ...], expected: datetime | None
) -> None:
    assert times.parse_moment(text, zones) == expected


@pytest.mark.parametrize(
    ("text", "expected"),
    [
        ("Wednesday, November 4, 2026, 10:15 AM", datetime(2026, 11, 4, 10, 15)),
        ("wednesday, november 4, 2026, 10:15 pm", datetime(2026, 11, 4, 22, 15)),
        ("Wednesday, 4 November 2026, 12:15 AM", datetime(2026, 11, 4, 0, 15)),
        ("Sonntag, 4. Jänner 2026, 9:05", datetime(2026, 1, 4, 9, 5)),
        ("4 Nov 2026, 10:15:30", datetime(2026, 11, 4, 10, 15, 30)),
        ("Wednesday, November 4, 2026 10:15:00 AM", datetime(2026, 11, 4, 10, 15)),
        ("um 12:15 Uhr am 4. März 2026", datetime(2026, 3, 4, 12, 15)),
        ("04/11/2026, 10:15", None),  # the month is no word
        ("Wednesday, 4 November 2026", None),
        ("4 November 2026, 13:15 PM", None),
        ("31 November 2026, 10:15", None),
        ("mercredi 4 novembre 26, 10:15", None),
        ("March 1, May 2, 2026, 10:15", None),
        ("Thursday, 4 November 2026, 10:15 p. m.", datetime(2026, 11, 4, 22, 15)),
        ("4th of November 2026 at 10:15", datetime(2026, 11, 4, 10, 15)),
        ("Mi, 4. Nov. 2026 um 10:15 Uhr", datetime(2026, 11, 4, 10, 15)),
        # What is not understood is never left out of it.
        ("4 November 2026, 10:15 nachm.", None),
        ("4 November 2026, 10:15 μ.μ.", None),
        ("4 November 2026, 10:15 下午", None),
        ("4 November 2026, 10:15 م", None),
        ("4 November 2026, 10:15 PMish", None),
        ("4 November 2026, PM 10:15", None),
        ("4 November 2026, 10:15 in the evening", None),
        ("about 4 November 2026, 10:15", None),
        ("4 November 2026, 10:15 (Berlin)", None),
        ("4 November 2026, 10:15~", None),
        ("4 November 2026, 10:15:30:00", None),
        ("4 November 2026, 10:15 IST", None),
        ("4 November 2026, 10:15 UTC PM", None),
        # A zone at its end counts.
        ("Wednesday, 4 November 2026, 11:50 PM PST", datetime(2026, 11, 5, 7, 50, tzinfo=UTC)),
        ("4 November 2026 10:15 CET", datetime(2026, 11, 4, 9, 15, tzinfo=UTC)),
        ("4 November 2026 10:15 utc", datetime(2026, 11, 4, 10, 15, tzinfo=UTC)),
        ("4 November 2026 10:15 GMT", datetime(2026, 11, 4, 10, 15, tzinfo=UTC)),
        ("4 November 2026 10:15 +0530", datetime(2026, 11, 4, 4, 45, tzinfo=UTC)),
        ("4 November 2026 10:15 Europe/Berlin", datetime(2026, 11, 4, 9, 15, tzinfo=UTC)),
        ("4 July 2026 10:15 CET", None),
    ],
)
def test_where_the_month_is_a_word_its_place_does_not_matter(text: str, expected: datetime | None) -> None:
    assert times.parse_in_words(text, [BERLIN, LOS_ANGELES]) == expected


@pytest.mark.parametrize(
    ("data", "expected_time", "unreadable"),
    [
        ("2026-10-01 10:00:00 UTC\r\n".encode("utf-16"), datetime(2026, 10, 1, 10), ""),
        ("\ufeff2026-10-01 10:00:00 UTC".encode(), datetime(2026, 10, 1, 10), ""),
        (b"Thursday, October 1, 2026 10:00:00 AM", datetime(2026, 10, 1, 8), ""),
        (b"2026-10-01 10:00:00 CEST", datetime(2026, 10, 1, 8), ""),
        ("gestern früh".encode(), None, "gestern früh"),
        (b"\xff\xff\x00", None, "\N{REPLACEMENT CHARACTER}" * 3),
        (b"\n", None, "a blank line"),
        (b"x" * 500, None, "x" * 73 + "… (cut)"),
    ],
)
def test_what_is_no_time_is_kept_in_its_own_words(
    data: bytes, expected_time: datetime | None, unreadable: str, tmp_path: Path
) -> None:
    (tmp_path / untrusted_files.TIMESTAMP).write_bytes(data)
    assert untrusted_files.read_timestamp(tmp_path, BERLIN) == untrusted_files.Timestamp(expected_time, unreadable)
    (tmp_path / untrusted_files.TIMESTAMP).unlink()
    assert untrusted_files.read_timestamp(tmp_path, BERLIN) == untrusted_files.Timestamp()


def test_nbgrader_s_own_zone_is_read_from_its_configuration(tmp_path: Path) -> None:
    config = tmp_path / "nbgrader_config.py"
    assert times.zone_of_nbgrader(config) is None
    other = tmp_path / "other.py"
    other.write_text("c = get_config()\nc.Exchange.timezone = 'America/Los_Angeles'\n", encoding="utf-8")
    assert times.zone_of_nbgrader(other) == LOS_ANGELES


NONE = "not known to be on time, because there is no time of submission, so nothing was taken off"
UNREADABLE = "not known to be on time, because its time can't be read (“gestern früh”), so nothing was taken off"


@pytest.mark.parametrize("whose", ["all", "one"])
def test_none_unreadable_and_on_time_are_three_things_everywhere(whose: str, tmp_path: Path) -> None:
    class_folder = ClassFolder(tmp_path / "class")
    class_folder.path.mkdir()
    rules = f"time_zone = 'UTC'\nlate = {{ percent_a_day = 10 }}\nassignments.{FFN}.due = 2026-11-19\n"
    (class_folder.path / "course.toml").write_text(rules, encoding="utf-8")
    students = ["none", "unreadable"]
    if whose == "one":
        students.append("known")
    fabricate(
        class_folder.path, {name: [FakeAttempt(earned=("ffn_forward",), timed=name == "known")] for name in students}
    )
    for name in students:
        (class_folder.submitted / name / FFN).mkdir(parents=True, exist_ok=True)
    (class_folder.submitted / "unreadable" / FFN / "timestamp.txt").write_text("gestern früh", encoding="utf-8")
    with gradebook.Book(class_folder) as book:
        policy = Policy.of(class_folder)
        grades = policy.grades(book, FFN)
    assert grades["none"].timeliness == NONE
    assert grades["unreadable"].timeliness == UNREADABLE
    assert whose == "all" or grades["known"].timeliness == "on time"
    line = policy_words.describe_lateness_not_counted(policy, FFN, grades)
    assert "1 student has no time of submission (none)" in line
    assert "The time of 1 student can't be read (unreadable: “gestern früh”)" in line
    assert f"submitted/STUDENT/{FFN}/timestamp.txt" in line and f"autograder grade {FFN}" in line
    assert any(NONE in sentence for sentence in grades["none"].lines())
    assert any(UNREADABLE in sentence for sentence in grades["unreadable"].lines())
    words = ("--grading", str(class_folder.path))
    status, out, _ = autograder("report", FFN, *words)
    assert status == 2 and "has no time of submission" in out and "can't be read" in out
    status, out, _ = autograder("why", "unreadable", "ffn_forward", *words)
    assert "handed in at a time that can't be read, “gestern früh”" in out and UNREADABLE in " ".join(out.split())
