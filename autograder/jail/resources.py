"""Outside the jail: whether the memory of this machine, and what the shell allows, are enough to grade with; and whether memory has run out."""

from __future__ import annotations

import contextlib
import re
import resource
from collections.abc import Iterator
from pathlib import Path

import psutil

from autograder.jail import cgroups
from autograder.jail.errors import JailWontStart
from autograder.jail.isolate import FILES
from autograder.jail.limits import MIB, Limits
from ffnlab.phrases import plural

GIB = 1024 * MIB
MIN_MEMORY = 640 * MIB  # with less, the kernel ends one of our processes before the first submission is graded
# Bytes that our processes take in all, and that each worker adds, beside its submission and its judge.
GRADER_MEMORY, WORKER_MEMORY = (650 * MIB, 160 * MIB)
BASE_ADDRESSES = 3 * GIB // 2  # bytes of addresses, twice what a fork and a judge have before they begin
SHELL_LIMITS = {  # limits of the shell, by the letter that its ulimit has for them, with their units
    "n": (resource.RLIMIT_NOFILE, 1, "open files"),
    "v": (resource.RLIMIT_AS, 1024, "KiB of virtual memory"),
    "u": (resource.RLIMIT_NPROC, 1, "processes"),
    "f": (resource.RLIMIT_FSIZE, 1024, "KiB in a file"),
}
OOM_KILL = re.compile(r"^oom_kill (\d+)$", re.MULTILINE)


def check_capacity(limits: Limits | None = None) -> None:
    """Check whether there is enough to grade with: for submissions with these limits, or at least for our own processes.

    Raises:
        JailWontStart: there is not; the line says of what.
    """
    needs = {"n": FILES}  # of a fork; each process of ours opens fewer
    if limits:
        addresses = BASE_ADDRESSES + max(limits.memory, limits.judge_memory)
        needs |= {"v": addresses, "u": limits.processes, "f": limits.tmp}
    for letter, least in needs.items():
        which, unit, what = SHELL_LIMITS[letter]
        limit, _ = resource.getrlimit(which)
        if limit != resource.RLIM_INFINITY and limit < least:
            raise JailWontStart(
                f"grading needs {least // unit} {what}, and this shell allows {limit // unit}: "
                f"raise it with `ulimit -{letter} {least // unit}`"
            )
    if memory() < MIN_MEMORY:  # last, as it opens files, of which the shell may allow too few
        raise JailWontStart(f"grading needs {MIN_MEMORY // MIB} MiB of memory, and {_describe_memory()}")


def advice(limits: Limits, workers: int) -> str:
    """What there is to say before grading where so many workers, each at its limits, may use more memory than there is; else nothing."""
    beside, room = limits.judge_memory + WORKER_MEMORY, memory() - GRADER_MEMORY
    each = limits.memory + beside
    if workers * each <= room:
        return ""
    ways = [f"`--workers {room // each}`"] if each <= room else []
    room_each = (room // workers - beside) // (100 * MIB) * 100 * MIB
    ways += [f"`--limit memory={room_each}`"] if room_each > 0 else []
    most = (GRADER_MEMORY + workers * each) / GIB
    message = f"{plural(workers, 'worker')} may use {most:.1f} GiB of memory, and {_describe_memory()}. "
    message += "If memory runs out, the submission that was stopped is graded again, alone."
    return message + (f" To avoid that: {' or '.join(ways)}." if ways else "")


def memory() -> int:
    """Bytes that this process and all that it starts may have: the machine's, or fewer where a control group sets a limit."""
    return min([psutil.virtual_memory().total, *_limits_of_groups()])


def kills() -> int:
    """How many processes the kernel has ended because memory ran out: in this process's control group, or where that does not tell, on the machine."""
    for folder, name in (
        (cgroups.of_this_process("memory"), "memory.oom_control"),
        (cgroups.of_this_process(), "memory.events"),
    ):
        with contextlib.suppress(OSError):
            if folder and (match := OOM_KILL.search((folder / name).read_text())):
                return int(match[1])
    match = OOM_KILL.search(Path("/proc/vmstat").read_text())
    return int(match[1]) if match else 0


def cause(before: int) -> str:
    """Why one of our processes may have ended, to be put behind what says so. `before`: what `kills` said before it began."""
    return f", because memory ran out; {_describe_memory()}" if kills() > before else ""


def _describe_memory() -> str:
    machine = psutil.virtual_memory().total
    available = memory()
    where = "this machine has" if available == machine else "the container or job around this command has"
    return f"{where} {available / GIB:.1f} GiB" if available >= GIB else f"{where} {available // MIB} MiB"


def _limits_of_groups() -> Iterator[int]:
    """What control groups set, v1 or v2: that of this process, and those above it as far as they are in sight."""
    with contextlib.suppress(OSError):
        folder = cgroups.of_this_process("memory")
        for line in (folder / "memory.stat").read_text().splitlines() if folder else ():
            if line.startswith("hierarchical_memory_limit "):
                yield int(line.split()[1])
    folder = cgroups.of_this_process()
    while folder and (folder / "cgroup.procs").exists():
        with contextlib.suppress(OSError, ValueError):  # the topmost has none; "max"
            yield int((folder / "memory.max").read_text())
        folder = folder.parent
