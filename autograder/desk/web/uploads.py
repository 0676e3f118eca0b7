"""What was handed to the desk in a form: kept in the class's folder until it has been used, under names of ours."""

from __future__ import annotations

import re
import secrets
import shutil
import time
from pathlib import Path
from typing import BinaryIO

from autograder.house import Class, UserError, make_folder
from ffnlab.cleaning import in_a_line

MOST = 2 * 2**30  # bytes of an upload
DAY = 24 * 3600.0
NAME = re.compile(r"[0-9a-f]{16}-[A-Za-z0-9_.()-]{1,100}")


def folder(school: Class) -> Path:
    """Where uploads lie; those of yesterday go."""
    place = school.folder / "uploads"
    make_folder(place)
    for old in place.iterdir():
        if time.time() - old.stat().st_mtime > DAY:
            shutil.rmtree(old) if old.is_dir() else old.unlink()
    return place


def save(school: Class, name: str, content: BinaryIO) -> Path:
    """Keep an upload. `name`: what its sender calls it, of which the end is kept.

    Raises:
        UserError: it is empty, or too large.
    """
    safe = re.sub(r"[^A-Za-z0-9_.()-]+", "_", name)[-100:] or "upload"
    path = folder(school) / f"{secrets.token_hex(8)}-{safe}"
    path.touch(mode=0o600)
    size = 0
    with path.open("wb") as file:
        while part := content.read(1 << 20):
            size += len(part)
            if size > MOST:
                break
            file.write(part)
    if not 0 < size <= MOST:
        path.unlink()
        raise UserError(f"{in_a_line(name, 80)} is {'empty' if not size else f'larger than {MOST // 2**30} GiB'}")
    return path


def find(school: Class, name: str) -> Path:
    """An upload that was kept.

    Raises:
        UserError: it is not there (any more).
    """
    path = folder(school) / name
    if not NAME.fullmatch(name) or not path.is_file():
        raise UserError("the file that you handed in is not here any more: choose it again")
    return path


def shown(path: Path) -> str:
    """What its sender called it."""
    return path.name[17:]
