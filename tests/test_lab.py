"""Pictures of a browser that is too busy for them: what a person looks at decides no test, and what is compared is tried again."""

from __future__ import annotations

import re
from pathlib import Path
from typing import Any

import pytest
from conftest import ROOT

pytest.importorskip("playwright", reason="playwright is not installed")
import lab
from playwright.sync_api import Error


class Busy:
    """A page, or a part of one, that refuses so many pictures and then shows these, the last of them for good."""

    def __init__(self, refusals: int, *pictures: bytes) -> None:
        self.refusals = refusals
        self.pictures = list(pictures)

    def screenshot(self) -> bytes:
        if self.refusals:
            self.refusals -= 1
            raise Error("Page.screenshot: Protocol error (Page.captureScreenshot): Unable to capture screenshot")
        return self.pictures.pop(0) if len(self.pictures) > 1 else self.pictures[0]


@pytest.fixture(autouse=True)
def pictures(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    """The folder of the pictures, and no waiting between two tries."""
    monkeypatch.setattr(lab, "SCREENSHOTS", tmp_path / "screenshots")
    monkeypatch.setattr(lab, "PAUSE", 0.0)
    return tmp_path / "screenshots"


def test_a_picture_for_a_person_is_tried_again(pictures: Path) -> None:
    page: Any = Busy(lab.TRIES - 1, b"a picture")
    lab.keep_picture(page, "desk")
    assert (pictures / "desk.png").read_bytes() == b"a picture"


def test_a_picture_for_a_person_decides_no_test(pictures: Path, capsys: pytest.CaptureFixture[str]) -> None:
    page: Any = Busy(lab.TRIES, b"never seen")
    lab.keep_picture(page, "desk")
    assert "desk.png could not be taken: Page.screenshot: Protocol error" in capsys.readouterr().out
    assert not pictures.exists()


def test_a_picture_that_is_compared_is_tried_again_and_may_fail() -> None:
    late: Any = Busy(lab.TRIES - 1, b"a picture")
    assert lab.taken_picture(late) == b"a picture"
    refused: Any = Busy(lab.TRIES, b"never seen")
    with pytest.raises(Error, match="Unable to capture"):
        lab.taken_picture(refused)


def test_a_browser_that_draws_late_has_changed_the_picture_all_the_same() -> None:
    late: Any = Busy(1, b"before", b"before", b"after")
    assert lab.looks_different(late, b"before")
    same: Any = Busy(0, b"before")
    assert not lab.looks_different(same, b"before")


def test_no_other_test_takes_pictures_by_itself() -> None:
    taken_by = [
        file.name
        for file in sorted((ROOT / "tests").glob("*.py"))
        if re.search(r"\.screenshot\(", file.read_text(encoding="utf-8"))
    ]
    assert taken_by == ["lab.py"]
