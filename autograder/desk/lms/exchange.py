"""nbgrader's exchange: the folders in `inbound/`, `{user}+{assignment}+{time}+{random}`. Called through autograder.desk.lms.

Source: nbgrader/exchange/default/submit.py, collect.py, release_feedback.py. A page finds its way back by the secret that lies in the folder.
"""

from __future__ import annotations

import re
from collections.abc import Sequence
from datetime import tzinfo
from pathlib import Path

from autograder.desk import handed_in
from autograder.desk.lms.archive import Entry, Refused, same
from autograder.desk.lms.handin import HandIn, Person, moment

NAME, TITLE = "nbgrader", "nbgrader's exchange"
INBOUND = re.compile(
    r"(?P<user>.+)\+(?P<assignment>[^+]+)\+(?P<when>\d{4}-\d\d-\d\d [\d:.]+ [^+]+)(?:\+(?P<random>[^+/]+))?"
)
TIMESTAMP, SECRET = "timestamp.txt", "submission_secret.txt"
SECRET_AS_WRITTEN = re.compile(r"[0-9A-Za-z]{1,256}")


def fits(path: str) -> bool:
    """Whether a path is one of the exchange's."""
    return "/" in path and bool(INBOUND.fullmatch(same(path.split("/")[0])))


def hand_ins(entries: Sequence[Entry], zone: tzinfo | None) -> tuple[list[HandIn], list[str]]:
    """What was handed in, and the entries that are not understood."""
    secrets = {entry.name.split("/")[0]: _secret(entry) for entry in entries if entry.name.endswith("/" + SECRET)}
    found, unknown = [], []
    for entry in entries:
        top, _, below = same(entry.name).partition("/")
        match = INBOUND.fullmatch(top)
        if not match or not (below or entry.is_folder):
            unknown.append(entry.name)
            continue
        if below in (TIMESTAMP, SECRET):
            continue
        at = moment(match["when"])
        found.append(
            HandIn(
                NAME,
                match["user"],
                (Person({"username": match["user"]}),),
                match["user"],
                entry.name,
                "" if entry.is_folder else below,
                entry.read,
                attempt=top,
                at=at,
                assignment=match["assignment"],
                remark="" if at else f"its time, {match['when']}, can't be read",
                back={"secret": secrets.get(entry.name.split("/")[0], "")},
            )
        )
    return found, unknown


def _secret(entry: Entry) -> str:
    try:
        return _as_written(entry.read())
    except Refused:
        return ""


def secret(folder: Path) -> str:
    """The secret in a submission's folder; "" where there is none."""
    try:
        return _as_written(handed_in.read(folder / SECRET, 300))
    except OSError:
        return ""


def _as_written(data: bytes) -> str:
    text = data[:300].decode("ascii", errors="replace").strip()
    return text if SECRET_AS_WRITTEN.fullmatch(text) else ""


def people(sheet: object) -> None:
    """nbgrader has no list of its own."""
    return None
