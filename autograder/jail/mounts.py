"""Outside the jail: what a submission sees of the disk. The system, Python's own folders and the course without its answers, all read-only;
what is ours to keep is covered wherever it lies below one of them.
"""

from __future__ import annotations

import os
import sys
from collections.abc import Sequence
from pathlib import Path

import ffnlab
from ffnlab.registry import active_course

JAIL = Path(__file__).resolve().parent  # …/autograder/jail
FFNLAB = Path(ffnlab.__file__).resolve().parent
SYSTEM = ("bin", "sbin", "lib", "lib32", "lib64", "libx32")
DEVICES = ("null", "full", "random", "urandom", "tty")  # not zero: memory mapped from it would belong to no process


def options(private: Sequence[Path], tmp: int) -> list[str]:
    """bubblewrap's options. `private`: files and folders that must not be seen; `tmp`: bytes that the warm process may write."""
    arguments = ["--size", str(tmp), "--tmpfs", "/tmp"]
    for name in SYSTEM:
        link = Path("/", name)
        if link.is_symlink():
            arguments += ["--symlink", os.readlink(link), str(link)]
    arguments += ["--dir", "/etc"]
    for file in ("/etc/ld.so.cache", "/etc/fonts", "/etc/alternatives", "/etc/localtime"):
        arguments += ["--ro-bind-try", file, file]
    covered_folders: list[Path] = []
    # What lies in another comes after it.
    for path in sorted(mounted_paths() | covers(private), key=lambda path: len(path.parts)):
        if path in mounted_paths():
            # Bubblewrap would keep others out where they are kept out of a parent.
            for folder in reversed(path.parents):
                arguments += ["--dir", str(folder)]
            arguments += ["--ro-bind", str(path), str(path)]
        elif path.is_dir():
            arguments += ["--tmpfs", str(path)]
            covered_folders.append(path)
        else:
            arguments += ["--ro-bind", "/dev/null", str(path)]
    arguments += [
        "--proc",
        "/proc",
        "--tmpfs",
        "/dev",
        "--dir",
        "/dev/shm",
        "--dir",
        "/dev/pts",
        "--symlink",
        "pts/ptmx",
        "/dev/ptmx",
    ]
    for name in DEVICES:
        arguments += ["--dev-bind", f"/dev/{name}", f"/dev/{name}"]
    for place in (*covered_folders, "/dev", "/"):
        arguments += ["--remount-ro", str(place)]
    return arguments


def private(more: Sequence[Path] = ()) -> list[Path]:
    """What no submission may read: of the project, this copy and the one that the command was called in; and `more`."""
    places = {JAIL.parents[1], Path.cwd(), *Path.cwd().parents}
    projects = [place for place in places if (place / "solutions").is_dir() and (place / "course").is_dir()]
    inside = [project / name for project in projects for name in ("solutions", "grading", "tests", ".markings", ".git")]
    keys = {JAIL.parent / "keys", active_course().keys_folder or JAIL.parent / "keys"}
    return [part for path in (*keys, *inside, *more) if path.exists() for part in _apart(path.resolve())]


def _apart(path: Path) -> list[Path]:
    """A path; or, where something lies in it that is mounted, what else lies in it."""
    if path in mounted_paths():
        return []
    if any(path in place.parents for place in mounted_paths()):
        return [part for child in path.iterdir() for part in _apart(child)]
    return [path]


def mounted_paths() -> set[Path]:
    """What is mounted."""
    system = {Path("/", name) for name in SYSTEM if Path("/", name).is_dir() and not Path("/", name).is_symlink()}
    python = {Path(prefix).resolve() for prefix in (sys.base_prefix, sys.prefix)}
    return (
        system
        | python
        | {Path("/usr"), FFNLAB, active_course().folder, JAIL, *active_course().reference_folder.glob("__init__.py")}
    )


def covers(private: Sequence[Path]) -> set[Path]:
    """What is covered: of what is private, and of this package, all that lies in something mounted."""
    keys = active_course().keys_folder
    hidden_paths = {
        active_course().reference_folder,
        JAIL.parent,
        *(path.resolve() for path in private),
        *([keys] if keys else []),
    }
    all_paths = hidden_paths | mounted_paths()

    def in_sight(path: Path) -> bool:
        return next((above in mounted_paths() for above in path.parents if above in all_paths), False)

    return {path for path in hidden_paths - mounted_paths() if path.exists() and in_sight(path)}


def below_tmp() -> list[str]:
    """The outermost of the mounted folders that lie below /tmp."""
    below = sorted(str(path) for path in mounted_paths() if str(path).startswith("/tmp/") and path.is_dir())
    return [path for path in below if not any(path.startswith(other + "/") for other in below)]
