"""What learning management systems export, and what they take back: one small module a system. Called by collect, roster and give_back.

A system is recognised by its tokens and structure, never by a name alone; what has another pattern is reported, not guessed.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, replace
from datetime import tzinfo
from types import ModuleType

from autograder.desk.lms import blackboard, brightspace, canvas, exchange, gradescope, moodle
from autograder.desk.lms.archive import Archive, Entry
from autograder.desk.lms.handin import HandIn
from autograder.house import UserError

SYSTEMS: dict[str, ModuleType] = {  # in the order in which they are asked, where as many names fit two of them
    module.NAME: module for module in (gradescope, moodle, blackboard, exchange, brightspace, canvas)
}
WRAPPERS = 2  # outer folders that somebody's unpacking, or D2L, put around an export


@dataclass(frozen=True)
class Export:
    """An export as it was understood. unknown: entries that have another pattern."""

    system: str
    hand_ins: tuple[HandIn, ...]
    unknown: tuple[str, ...]

    @property
    def title(self) -> str:
        return str(SYSTEMS[self.system].TITLE)


def read(archive: Archive, zone: tzinfo | None = None) -> Export:
    """Whose export it is, and what was handed in.

    zone: of the clock behind times that name none; this computer's where it is None.

    Raises:
        UserError: it is no export that is known here.
    """
    for depth in range(WRAPPERS + 1):
        entries = _below(archive.entries, depth)
        if entries is None:
            break
        tops = {entry.name.split("/")[0] for entry in entries}
        fitting = {
            name: len({entry.name.split("/")[0] for entry in entries if module.fits(entry.name)})
            for name, module in SYSTEMS.items()
        }
        system = max(fitting, key=lambda name: fitting[name])
        if 2 * fitting[system] >= len(tops) and entries:
            found, unknown = SYSTEMS[system].hand_ins(entries, zone)
            return Export(system, tuple(found), tuple(unknown))
    titles = ", ".join(str(module.TITLE) for module in SYSTEMS.values())
    held = f"{len(archive.entries):,} files" if archive.entries else "nothing that can be read"
    refused = f"; refused: {archive.refused[0][0]} ({archive.refused[0][1]})" if archive.refused else ""
    advice = "if the LMS is in another language, set it to English and download it again"
    raise UserError(f"{archive.name} holds {held}, and is no export that is known here: {titles}{refused}; {advice}")


def _below(entries: Sequence[Entry], depth: int) -> list[Entry] | None:
    """The entries with their names below so many outer folders, in which D2L writes a date; None where they have not all the same."""
    parts = [entry.name.split("/") for entry in entries]
    if any(len(found) <= depth or found[:depth] != parts[0][:depth] for found in parts):
        return None
    return [
        replace(entry, name="/".join(found[depth:]), owners=entry.owners[depth:], changed=entry.changed[depth:])
        for entry, found in zip(entries, parts, strict=True)
    ]
