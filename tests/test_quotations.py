"""Quotation marks around a source's words hold them letter for letter, one sentence at most.

tests/data/quotations/NOTEBOOK.json has every quotation of a notebook from one of the five documents that the course goes through: the words, the number
of the document, and the sentence of the document in which they stand. others.json has whatever else of four words or more is in quotation marks: papers,
what somebody in a task says, what a cell is called.
"""

from __future__ import annotations

import json
import re
from pathlib import Path
from typing import Any

import pytest
from conftest import ROOT

from ffnlab.registry import active_course

DATA = Path(__file__).parent / "data" / "quotations"
NOTEBOOKS = list(active_course().notebooks)
WORDS = 4  # fewer in quotation marks are a term or a title


def plain(text: str) -> str:
    """Words alone: without line breaks, and without the stars and underscores that only say how they are printed."""
    return " ".join(re.sub(r"\*+", "", text).split())


def prose(notebook: str) -> str:
    """The text cells of a notebook, and what its predictions say."""
    cells = (ROOT / "solutions" / f"{notebook}.py").read_text(encoding="utf-8").split("\n# %%")
    texts = [cell.partition("\n")[2] for cell in cells if cell.startswith(" [markdown]")]
    asked = [
        f"{prediction.question}\n{prediction.explanation}"
        for prediction in active_course().predictions_of(notebook).values()
    ]
    return plain("\n".join([re.sub(r"(?m)^# ?", "", text) for text in texts] + asked))


def quotations(notebook: str) -> list[dict[str, Any]]:
    entries: list[dict[str, Any]] = json.loads((DATA / f"{notebook}.json").read_text(encoding="utf-8"))
    return entries


def unknown(text: str, notebook: str) -> list[str]:
    """What is in quotation marks in a text and is none of those that were looked up."""
    others = json.loads((DATA / "others.json").read_text(encoding="utf-8"))[notebook]
    known = [plain(words) for words in (*others, *(entry["quoted"] for entry in quotations(notebook)))]
    long = [words for words in re.findall(r"“([^”]+)”", text) if len(words.split()) >= WORDS]
    return [words for words in long if not any(words.rstrip(".") in k or k in words for k in known)]


@pytest.mark.parametrize("notebook", NOTEBOOKS)
def test_a_quotation_is_in_its_source_letter_for_letter(notebook: str) -> None:
    for entry in quotations(notebook):
        quoted, sentence = plain(entry["quoted"]), plain(entry["context"])
        assert quoted in sentence, quoted
        assert len(re.findall(r"[.!?] +[A-Z]", quoted)) == 0, f"more than one sentence: {quoted}"
        assert str(entry["source"]) in "01234"


@pytest.mark.parametrize("notebook", NOTEBOOKS)
def test_every_quotation_was_looked_up(notebook: str) -> None:
    assert unknown(prose(notebook), notebook) == []


def test_words_that_a_source_does_not_have_are_found() -> None:
    text = plain("The post says: “This applies the *first layer* to all positions at once”, and shows it.")
    assert unknown(text, "02_feed_forward") == ["This applies the first layer to all positions at once"]
