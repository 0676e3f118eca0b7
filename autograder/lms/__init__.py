"""What learning management systems export, and what they take back: one small module a system, and the registry of them, `SYSTEMS`.

A system is recognised by its tokens and structure, never by a name alone; what has another pattern is reported, not guessed. docs/lms.md says how to add one.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, replace
from datetime import tzinfo

from autograder.errors import UserError
from autograder.lms.archive import MAX_WRAPPERS, Archive, ArchiveEntry, is_packed
from autograder.lms.base import IdScope, Lms
from autograder.lms.blackboard import Blackboard
from autograder.lms.brightspace import Brightspace
from autograder.lms.canvas import Canvas
from autograder.lms.exchange import Exchange
from autograder.lms.gradescope import Gradescope
from autograder.lms.moodle import Moodle
from autograder.lms.records import ExportedFile
from ffnlab.untrusted_text import in_a_line

SYSTEMS: dict[str, Lms] = {  # in the order in which they are asked, where as many names fit two of them
    system.name: system for system in (Gradescope(), Moodle(), Blackboard(), Exchange(), Brightspace(), Canvas())
}


@dataclass(frozen=True)
class Export:
    """An export as it was understood."""

    system: str
    files: tuple[ExportedFile, ...]
    unknown: tuple[ArchiveEntry, ...]  # those that have another pattern

    @property
    def lms(self) -> Lms:
        return SYSTEMS[self.system]


def find(name: str) -> Lms:
    """The system of this name. Raises UserError: there is none."""
    if name not in SYSTEMS:
        raise UserError(f"there is no system called {in_a_line(name, 60)!r}; there are: {', '.join(SYSTEMS)}")
    return SYSTEMS[name]


def is_submission(folder: str) -> bool:
    """Whether a folder of this name is a student's own, in an export of a system that has such."""
    return any(system.has_folder_names and system.fits(f"{folder}/") for system in SYSTEMS.values())


def by_rank() -> list[Lms]:
    """The systems as people are shown them, the most usual first."""
    return sorted(SYSTEMS.values(), key=lambda system: (system.rank, system.title))


def systems_with_numbers() -> list[Lms]:
    """Those whose own number of a student is on the roster, in the order of its columns."""
    return sorted((system for system in by_rank() if system.number), key=lambda system: system.number)


def has_several(key: str) -> bool:
    """Whether a student may have several ids in this column of the roster."""
    return key in SYSTEMS and SYSTEMS[key].number > IdScope.USER


def read(archive: Archive, zone: tzinfo | None = None) -> Export:
    """Whose export it is, and the files in it.

    zone: of the clock behind times that name none; this computer's where it is None.

    Raises:
        UserError: it is no export that is known here.
    """
    if archive.is_open and not archive.entries:
        return Export(Exchange.name, (), ())
    for depth in range(MAX_WRAPPERS + 1):
        entries = _strip_folders(archive.entries, depth)
        if entries is None:
            break
        tops = {entry.name.split("/")[0] for entry in entries}
        match_counts = {
            name: len({entry.name.split("/")[0] for entry in entries if system.fits(entry.name)})
            for name, system in SYSTEMS.items()
        }
        best = max(match_counts, key=lambda name: match_counts[name])
        is_most = 2 * match_counts[best] >= len(tops)
        if archive.is_open and match_counts[Exchange.name]:  # what else lies there, anybody may have put there
            best = Exchange.name
            is_most = True
        if is_most and entries:
            files, unknown = SYSTEMS[best].exported_files(entries, zone)
            entries_by_name = {entry.name: entry for entry in entries}
            return Export(best, tuple(files), tuple(entries_by_name[name] for name in unknown))
    *first, last = (system.title for system in SYSTEMS.values())
    titles = f"{', '.join(first)} or {last}"
    contents = f"{len(archive.entries):,} files" if archive.entries else "nothing that can be read"
    refused = next((entry for entry in archive.entries if entry.trouble), None)
    refusal = f"; refused: {in_a_line(refused.name, 200)} ({refused.trouble})" if refused else ""
    advice = "if the LMS is in another language, set it to English and download it again"
    raise UserError(f"{archive.name} has {contents} and is not an export of {titles}{refusal}; {advice}")


def attribute_to_nobody(export: Export) -> Export:
    """The export with each unknown entry that may be a notebook as somebody's, of whom a person has to say who it is."""
    doubt = f"{export.lms.title} does not say in its usual way whose this is: write whose it is"
    odd = [entry for entry in export.unknown if ".ipynb" in entry.name.casefold() or is_packed(entry.name)]
    files = []
    for entry in odd:
        top, _, below = entry.name.partition("/")
        files.append(
            ExportedFile(
                export.system, top, (), top, entry.name, below or top, entry.read, submission_id=top, doubt=doubt
            )
        )
    others = tuple(entry for entry in export.unknown if entry not in odd)
    return Export(export.system, (*export.files, *files), others)


def _strip_folders(entries: Sequence[ArchiveEntry], depth: int) -> list[ArchiveEntry] | None:
    """The entries with their names below so many outer folders, in which D2L writes a date; None where they have not all the same."""
    paths = [entry.name.split("/") for entry in entries]
    if any(len(path) <= depth or path[:depth] != paths[0][:depth] for path in paths):
        return None
    return [
        replace(
            entry, name="/".join(path[depth:]), owners=entry.owners[depth:], change_times=entry.change_times[depth:]
        )
        for entry, path in zip(entries, paths, strict=True)
    ]
