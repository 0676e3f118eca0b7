"""What a power cut leaves: what the gradebook says is there is there, and the same command goes on.

A class lies on a disk image of its own. The image is copied while the file system's dirty pages are still in memory, and the copy is mounted: that is what a
machine finds that went off at that moment.
"""

from __future__ import annotations

import os
import shutil
import subprocess
from collections.abc import Callable, Iterator
from pathlib import Path

import pytest
from collection import collect, export
from exports import CLASS, FFN, SYSTEMS, canvas_gradebook
from test_class import grade, graded_here, hand_in

from autograder import untrusted_files
from autograder.class_folder.folder import ClassFolder
from autograder.engine.graded_submission import GradedSubmission
from autograder.files import Batch
from autograder.gradebook.gradebook import Book

__all__ = ["graded_here"]
STUDENTS = [f"student{number}" for number in range(7)]


class Disk:
    """A file system in a file."""

    def __init__(self, folder: Path, kind: str) -> None:
        self.folder, self.kind = folder, kind
        self.image, self.place = folder / "disk", folder / "there"

    def make(self) -> Path:
        """Mount a new one. Returns its folder."""
        with self.image.open("wb") as file:
            file.truncate(320 * 2**20)
        run(f"mkfs.{self.kind}", "-q", str(self.image))
        return mount(self.image, self.place, self.kind)

    def after_a_cut(self) -> Path:
        """What would be on it if the power went now. Returns another folder."""
        count = len(list(self.folder.glob("cut*")))
        copy = self.folder / f"cut{count}"
        shutil.copyfile(self.image, copy)
        return mount(copy, self.folder / f"there{count}", self.kind)


def run(*command: str) -> None:
    subprocess.run(command, check=True, capture_output=True)


def mount(image: Path, place: Path, kind: str) -> Path:
    place.mkdir()
    run("mount", "-o", "loop,nouuid" if kind == "xfs" else "loop", str(image), str(place))
    return place


@pytest.fixture(params=[pytest.param("xfs", marks=pytest.mark.sweep), "ext4"])
def disk(request: pytest.FixtureRequest, tmp_path: Path) -> Iterator[Disk]:
    disk_image = Disk(tmp_path, request.param)
    if shutil.which(f"mkfs.{request.param}") is None:
        pytest.skip(f"mkfs.{request.param} is not installed")
    try:
        disk_image.make()
    except (subprocess.CalledProcessError, PermissionError):
        pytest.skip("a file system in a file can't be mounted here: that takes root and loop devices")
    yield disk_image
    for place in tmp_path.glob("there*"):
        run("umount", str(place))


def empty_files(class_folder: ClassFolder) -> list[Path]:
    return [
        path
        for path in class_folder.path.rglob("*")
        if path.is_file() and not path.stat().st_size and path.name != ".lock"
    ]


def attempts(class_folder: ClassFolder) -> list[str]:
    with Book(class_folder) as book:
        return [attempt.student for attempt in book.history("00_start_here")]


def test_what_was_graded_is_on_the_disk(disk: Disk, graded_here: dict[bytes, GradedSubmission]) -> None:
    class_folder = ClassFolder(disk.place / "class")
    for student in STUDENTS:
        folder = hand_in(class_folder, student, first=True)
        (folder / untrusted_files.TIMESTAMP).write_text("2026-11-01 10:00:00.000000 UTC")
    os.sync()
    summary, _ = grade(class_folder)
    assert summary.graded_count == len(STUDENTS)
    later = ClassFolder(disk.after_a_cut() / "class")
    assert empty_files(later) == [] and attempts(later) == STUDENTS
    assert (later.path / "grading.log").read_text().count("\n") == len(STUDENTS)
    assert grade(later)[0].unchanged_count == len(STUDENTS)


def test_the_same_command_goes_on_wherever_the_power_goes(
    disk: Disk, graded_here: dict[bytes, GradedSubmission], monkeypatch: pytest.MonkeyPatch
) -> None:
    class_folder = ClassFolder(disk.place / "class")
    places: list[Path] = []
    for student in STUDENTS:
        hand_in(class_folder, student, first=True)
    os.sync()
    moments: list[tuple[type, str, Callable[..., object]]] = [
        (Batch, "_put_in_place", Batch._put_in_place),
        (Book, "save_gradings", Book.save_gradings),
    ]
    for kind, name, real in moments:

        def cut_behind(*arguments: object, real: Callable[..., object] = real) -> None:
            real(*arguments)
            if len(places) < 8:
                places.append(disk.after_a_cut())

        monkeypatch.setattr(kind, name, cut_behind)
    grade(class_folder)
    monkeypatch.undo()
    assert len(places) == 8
    for place in places:
        later = ClassFolder(place / "class")
        has = attempts(later) if (later.path / "gradebook.db").exists() else []
        pages = {path.parent.parent.name for path in later.feedback.rglob("*.html") if path.stat().st_size}
        assert set(has) <= pages and len(set(has)) == len(has)


def test_what_was_collected_is_on_the_disk(disk: Disk, tmp_path: Path) -> None:
    archive = export(tmp_path / "a.zip", SYSTEMS[1].files(CLASS))
    list_of = canvas_gradebook(tmp_path / "b.csv", CLASS)
    class_folder = ClassFolder(disk.place / "class")
    placed = collect(class_folder, archive, list_of).placed_count
    later = ClassFolder(disk.after_a_cut() / "class")
    assert empty_files(later) == [] and len(list(later.submitted.glob(f"*/{FFN}/*.ipynb"))) == placed
    assert collect(later, archive).known_count == placed
