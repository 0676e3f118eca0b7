"""What other accounts of a computer can enter or change: nbgrader's exchange, homes, the project, a class folder. Each with the command that closes it."""

from __future__ import annotations

import grp
import os
import pwd
import shlex
import stat
from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from pathlib import Path

MODES = {"": 0o755, "outbound": 0o755, "inbound": 0o3733, "feedback": 0o711}  # of a course's folders in the exchange
FIRST_USER, NOBODY = 1000, 65534  # where the numbers of people's accounts begin, and one that is nobody's


@dataclass(frozen=True)
class PermissionProblem:
    """What other accounts can do, and the command against it."""

    description: str
    command: str


def find_takeovers(exchange: Path, course: str) -> Iterator[PermissionProblem]:
    """How another account can take the course's place in the exchange, or has done so."""
    if exchange.stat().st_mode & (stat.S_IWOTH | stat.S_ISVTX) == stat.S_IWOTH:
        description = f"in {exchange}, every account can replace the course's folder with one of its own"
        yield PermissionProblem(description, f"as root: {_command('chmod', '1777', exchange)}")
    me = os.geteuid()
    for folder in (exchange, *(exchange / course / name for name in MODES)):
        owner = folder.stat().st_uid if folder.exists() else me
        if owner not in (me, 0) and me != 0:
            description = (
                f"{folder} belongs to {_name(owner)}, who can change what is handed out and read what is handed in"
            )
            move = _command("mv", folder, f"{folder}.{_name(owner)}")
            yield PermissionProblem(
                description, f"if that is the instructors' account, work as {_name(owner)}; if not, as root: {move}"
            )
            return


def find_exchange_problems(exchange: Path, course: str) -> Iterator[PermissionProblem]:
    """What is open in the exchange. Run as the account that owns the course there."""
    if not exchange.is_dir():
        yield PermissionProblem(
            f"{exchange} is missing", f"as root: {_command('install', '-d', '-m', '1777', exchange)}"
        )
        return
    yield from find_takeovers(exchange, course)
    if not (exchange / course).exists():
        me = pwd.getpwuid(os.geteuid()).pw_name
        make = _command("install", "-d", "-o", me, "-m", "755", exchange / course)
        yield PermissionProblem(
            f"{exchange / course} is missing, and the account that makes it owns the course", f"as root: {make}"
        )
    for name, mode in MODES.items():
        folder = exchange / course / name
        if folder.is_dir() and _is_open(folder.stat().st_mode, mode):
            yield PermissionProblem(f"{folder} is open", _command("chmod", f"{mode:o}", folder))


def _is_open(mode: int, norm: int) -> bool:
    """Whether others can do more in a folder than they should, or can remove there what is not theirs."""
    more = mode & ~norm & stat.S_IRWXO
    return bool(more or (mode & stat.S_IWOTH and not mode & stat.S_ISVTX))


def find_home_problems() -> Iterator[PermissionProblem]:
    """People's homes that other people can enter."""
    people = [person for person in pwd.getpwall() if person.pw_uid >= FIRST_USER and person.pw_uid != NOBODY]
    homes = [person.pw_dir for person in people if _is_open_home(person, people)]
    if homes:
        more = f" and {len(homes) - 3} more" if len(homes) > 3 else ""
        description = f"other accounts can enter {', '.join(homes[:3])}{more}, and read answers and secrets there"
        places = sorted({str(Path(home).parent) for home in homes})
        yield PermissionProblem(
            description, f"as root: chmod 700 {' '.join(f'{shlex.quote(place)}/*' for place in places)}"
        )


def _is_open_home(person: pwd.struct_passwd, people: Sequence[pwd.struct_passwd]) -> bool:
    try:
        home = os.stat(person.pw_dir)
        members = set(grp.getgrgid(home.st_gid).gr_mem)
    except (OSError, KeyError):
        return False
    members.update(other.pw_name for other in people if other.pw_gid == home.st_gid)
    group_bits = stat.S_IRWXG if members - {person.pw_name} else 0
    return home.st_uid == person.pw_uid and bool(home.st_mode & (stat.S_IRWXO | group_bits))


def find_path_problems(path: Path, why: str) -> Iterator[PermissionProblem]:
    """Whether others can enter a folder or read a file that is for its owner alone. why: what is in it."""
    if path.exists() and path.stat().st_mode & (stat.S_IRWXG | stat.S_IRWXO):
        mode = "700" if path.is_dir() else "600"
        yield PermissionProblem(f"other accounts can read {path}: {why}", _command("chmod", mode, path))


def _name(number: int) -> str:
    try:
        return pwd.getpwuid(number).pw_name
    except KeyError:
        return f"user {number}"


def _command(*words: str | Path) -> str:
    return shlex.join(str(word) for word in words)
