"""One colour a meaning: boards, figures, panels, predictions and the site show the same one for the same thing, in light and in dark."""

from __future__ import annotations

import ast
import colorsys
import io
import itertools
import math
import re
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import nbformat
import pytest
from conftest import needs_chromium
from PIL import Image

from autograder.paths import assignments, solution
from ffnlab import boards, palette
from ffnlab.checking import panel
from ffnlab.checking.verdict import Outcome
from ffnlab.drawing import style
from ffnlab.prediction import prediction_widget
from ffnlab.registry import active_course

ROOT = Path(__file__).resolve().parent.parent
COURSE = ROOT / "course" / "ffnlab"
HEX = re.compile(r"#(?:[0-9a-fA-F]{8}|[0-9a-fA-F]{6}|[0-9a-fA-F]{3,4})\b(?![0-9a-zA-Z_-])")
# What may name a colour that is in no table of meanings: by file, the colour and why.
OWN = {
    "palette.py": {*palette.LIGHT.values(), *palette.DARK.values()},
    "drawing/style.py": {"#9aa3ae", "#dce1e7"},  # what is neither of two signs, and what was there before
    "course/boards/boxes.css": {"#1a1400"},  # words on a lamp that is lit, which is light in the dark, too
    "course/boards/creek.css": {"#1a1400"},
    "course/boards/ears.css": {"#1a1400"},
}


def sources() -> list[Path]:
    """Everything that can name a colour a student sees."""
    files = [path for kind in ("py", "js", "css") for path in COURSE.rglob(f"*.{kind}") if path.name != "d3.js"]
    return files + [path for path in (ROOT / "autograder" / "site").rglob("*") if path.suffix in (".py", ".js", ".css")]


@pytest.mark.reads_sources
def test_no_file_but_the_palette_names_a_colour() -> None:
    assert len(sources()) > 100
    for path in sources():
        name = path.relative_to(COURSE).as_posix() if COURSE in path.parents else path.name
        text = path.read_text(encoding="utf-8")
        colours = {colour.lower() for colour in HEX.findall(text)} - OWN.get(name, set())
        assert not colours, f"{name} names {', '.join(sorted(colours))}: take a meaning from ffnlab/palette.py"


def test_what_is_drawn_in_python_has_the_colours_of_the_palette() -> None:
    meanings = {
        "plus": style.POSITIVE, "minus": style.NEGATIVE, "right": style.CHOSEN, "wrong": style.LOST, "ink": style.INK, "muted": style.MUTED,
        "rule": style.RULE, "tint": style.TINT, "paper": style.PAPER, "ffn": style.FFN, "attention": style.ATTENTION,
        **{f"s{n}": colour for n, colour in enumerate(style.EXPERTS, 1)},
    }  # fmt: skip
    assert {name: colour.lower() for name, colour in meanings.items()} == {
        name: palette.LIGHT[name] for name in meanings
    }
    assert {*palette.LIGHT} - {*meanings} == {"lamp", "press", "on-press"}  # of boards and controls alone
    assert style.EXPERTS[: len(style.SERIES)] == style.SERIES
    earned, missed = panel.COLOURS[Outcome.EARNED], panel.COLOURS[Outcome.NOT_EARNED]
    assert (earned, missed) == (palette.LIGHT["right"], palette.LIGHT["wrong"])


def test_every_variable_that_is_used_is_set_somewhere() -> None:
    """A name that nobody sets would be no colour at all, and no error."""
    texts = [path.read_text(encoding="utf-8") for path in sources()]
    uses = {name for text in texts for name in re.findall(r"var\((--[a-z0-9-]+)", text)}
    definitions = {f"--{name}" for name in palette.LIGHT} | {
        name for text in texts for name in re.findall(r"(--[a-z0-9-]+)(?=[\"'`]?\s*[:,\]])", text)
    }
    unset = {name for name in uses - definitions if not name.startswith(("--jp-", "--color-"))}  # those are of others
    assert len(uses) > 25 and not unset


def test_the_table_of_meanings_has_every_colour() -> None:
    table = (ROOT / "docs" / "boards.md").read_text(encoding="utf-8").partition("## Colours")[2]
    names = set(re.findall(r"`--([a-z0-9-]+)`", table)) | {f"s{n}" for n in range(1, 9)}
    assert {*palette.LIGHT} <= names


# The word for each colour, as a text may say it: a colour that two words could mean, or none, can't be found in a picture.
WORDS = {
    "green": ("right", "s3"), "pink": ("wrong", "s7"), "blue": ("plus", "press", "s1"), "orange": ("minus", "s2"),
    "violet": ("ffn", "s5"), "brown": ("attention", "s6"), "red": ("s4",), "yellow": ("lamp",), "teal": ("s8",), "grey": ("muted", "rule", "tint"),
}  # fmt: skip
COLOUR_WORD = re.compile(
    r"\b(blue|red|green|orange|violet|purple|brown|teal|yellow|gr[ae]y|pink|magenta|cyan|turquoise|lilac)\b", re.I
)
# Hues, in degrees.
HUES = {
    "red": 0,
    "orange": 25,
    "brown": 35,
    "yellow": 42,
    "green": 155,
    "teal": 192,
    "blue": 208,
    "violet": 258,
    "pink": 325,
}
NEAR = 3  # cells between a text and the picture that it speaks of


def hue(colour: str) -> float:
    return 360 * colorsys.rgb_to_hsv(*(int(colour[i : i + 2], 16) / 255 for i in (1, 3, 5)))[0]


def test_a_colour_has_the_name_that_its_hue_has() -> None:
    for word, meanings in WORDS.items():
        for meaning in meanings:
            away = abs(hue(palette.LIGHT[meaning]) - HUES.get(word, 0))
            assert word == "grey" or min(away, 360 - away) <= 30, (word, meaning)


def colour_words(text: str) -> set[str]:
    return {word.lower() for word in COLOUR_WORD.findall(text)}


def test_figures_and_guesses_name_colours_of_the_palette_alone() -> None:
    """What is said in a picture, below it, or in a guess."""
    for folder in ("figures", "predictions", "boards", "exercises"):
        for path in sorted((COURSE / "course" / folder).glob("*.py")):
            tree = ast.parse(path.read_text(encoding="utf-8"))
            for node in ast.walk(tree):
                if isinstance(node, ast.Constant) and isinstance(node.value, str):
                    unknown = colour_words(node.value) - WORDS.keys()
                    assert not unknown, f"{path.name}:{node.lineno} names {unknown}: the palette has {', '.join(WORDS)}"
    for path in sorted((COURSE / "course" / "boards").glob("*.js")):
        for literal in re.findall(r'"[^"\n]*"|`[^`]*`', path.read_text(encoding="utf-8")):
            assert colour_words(literal) <= WORDS.keys(), (path.name, literal)


NEUTRAL = {palette.LIGHT[name] for name in ("ink", "muted", "rule", "tint", "paper")} | OWN["drawing/style.py"]


def is_called(colour: str, word: str) -> bool:
    """Whether a colour, or a paler one, has this name."""
    red, green, blue = (int(colour[i : i + 2], 16) / 255 for i in (1, 3, 5))
    angle, saturation, value = colorsys.rgb_to_hsv(red, green, blue)
    if word == "grey":
        return saturation < 0.25 and 0.2 < value < 0.97
    if colour in NEUTRAL:
        return False
    away = min(abs(360 * angle - hue(palette.LIGHT[meaning])) for meaning in WORDS[word])
    return saturation > 0.04 and min(away, 360 - away) < 8


def shows(cell: Any, word: str) -> bool:
    """Whether a cell's picture has a colour of that name. A board has all of the palette; a plot those of series, and those that its code names."""
    if cell.cell_type != "code":
        return False
    bundles = [output.get("data", {}) for output in cell.outputs]
    pictures = "".join(str(content) for data in bundles for kind, content in data.items() if "png" not in kind).lower()
    if word == "green" and "anatomy.block(" in cell.source:  # in notebook 00 no part is marked yet
        return True
    # A picture of signed numbers, none of which need be negative at the start.
    if word == "orange" and shows(cell, "blue"):
        return True
    if "play(" in cell.source or any(is_called(colour, word) for colour in re.findall(r"#[0-9a-f]{6}\b", pictures)):
        return True
    of_series = word == "grey" or any(meaning.startswith("s") for meaning in WORDS[word])
    return "plt." in cell.source and (of_series or f"tab:{word}" in cell.source)


@pytest.mark.parametrize("name", assignments())
def test_a_text_names_a_colour_that_is_in_a_picture_near_it(name: str) -> None:
    cells = nbformat.read(solution(name), as_version=4).cells
    for index, cell in enumerate(cells):
        if cell.cell_type != "markdown":
            continue
        words = colour_words(cell.source)
        assert words <= WORDS.keys(), (index, words)
        near = cells[max(0, index - NEAR) : index + NEAR + 1]
        missing = [word for word in words if not any(shows(other, word) for other in near)]
        assert not missing, f"{name}, cell {index}, {missing}: {cell.source[:80]!r}"


def distance(first: str, second: str) -> float:
    """How far two colours are from one another in CIELAB; 2.3 can just be told apart."""

    def lab(colour: str) -> tuple[float, float, float]:
        parts = [int(colour[i : i + 2], 16) / 255 for i in (1, 3, 5)]
        r, g, b = (part / 12.92 if part <= 0.04045 else ((part + 0.055) / 1.055) ** 2.4 for part in parts)
        x, y, z = (
            part ** (1 / 3) if part > 0.008856 else 7.787 * part + 16 / 116
            for part in (
                (0.4124564 * r + 0.3575761 * g + 0.1804375 * b) / 0.95047,
                0.2126729 * r + 0.7151522 * g + 0.0721750 * b,
                (0.0193339 * r + 0.1191920 * g + 0.9503041 * b) / 1.08883,
            )
        )
        return 116 * y - 16, 500 * (x - y), 200 * (y - z)

    return math.dist(lab(first), lab(second))


def test_greys_are_nearly_those_of_the_filter_and_colours_are_exactly_those() -> None:
    for name, light in palette.LIGHT.items():
        if name in ("lamp", "on-press"):
            continue
        far = distance(palette.DARK[name], palette.in_the_dark(light))
        assert far <= (5 if name in ("ink", "muted", "rule", "tint", "paper") else 0), name
    dark = f"invert({palette.INVERSION:g}) hue-rotate(180deg) brightness({palette.BRIGHTNESS:g})"
    assert f"filter: {dark};" in (COURSE / "drawing" / "dark.css").read_text(encoding="utf-8")


@pytest.mark.parametrize("colours", [palette.LIGHT, palette.DARK], ids=["light", "dark"])
def test_what_is_opposite_is_told_apart(colours: dict[str, str]) -> None:
    pairs = [("right", "wrong"), ("plus", "minus"), ("ffn", "attention"), ("right", "minus"), ("wrong", "plus")]
    pairs += [("ffn", other) for other in ("plus", "press", "right", "wrong", "s1")]
    for first, second in [*pairs, *itertools.combinations([f"s{n}" for n in range(1, 9)], 2)]:
        assert distance(colours[first], colours[second]) > 20, (first, second)


@pytest.fixture(scope="module")
def chromium() -> Iterator[Any]:
    pytest.importorskip("playwright", reason="playwright is not installed")
    from lab import browser

    with browser() as opened:
        yield opened


def pixel(page: Any, selector: str) -> str:
    """The colour near the left edge of an element, halfway down, as it is on the screen."""
    from lab import taken_picture

    image = Image.open(io.BytesIO(taken_picture(page.locator(selector).first))).convert("RGB")
    colour: Any = image.getpixel((2, image.height // 2))
    return "#" + "".join(f"{part:02x}" for part in colour)


@needs_chromium
@pytest.mark.parametrize("theme", ["light", "dark"])
def test_a_page_shows_each_meaning_in_one_colour(theme: str, chromium: Any) -> None:
    """On boards, in figures, panels and predictions, and on the site itself: by pixels."""
    colours = palette.DARK if theme == "dark" else palette.LIGHT
    neutral = ("lamp", "on-press", "ink", "muted", "rule", "tint", "paper")
    meanings = [name for name in palette.LIGHT if name not in neutral]
    square = "display: inline-block; width: 20px; height: 20px"
    variables = "".join(f'<i class="{name}" style="{square}; background: var(--{name})"></i>' for name in meanings)
    rects = "".join(
        f'<rect class="{name}" x="{24 * n}" width="20" height="20" fill="{palette.LIGHT[name]}"/>'
        for n, name in enumerate(meanings)
    )
    prediction = active_course().prediction("gpt3_ffn_share")
    page = chromium.new_page(viewport={"width": 900, "height": 900})
    page.set_content(
        f'<!doctype html><body data-theme="{theme}"><style>{boards.css()}{palette.sheet()}</style>{style.dark_sheet()}'
        f'<div id="site">{variables}</div><div class="ffp" id="board">{variables}</div>'
        f'<div class="ffn-wide"><figure><svg id="figure" width="800" height="20">{rects}</svg></figure></div>'
        f'<div id="right">{panel.box(Outcome.EARNED, "earned", "")}</div>'
        f'<div id="wrong">{panel.box(Outcome.NOT_EARNED, "not yet", "")}</div>'
        f'<div class="ffn-predict"><div class="ffn-here">{prediction_widget.saved_html(prediction)}</div></div>'
    )
    places = {f"#{place} .{name}": name for place in ("site", "board", "figure") for name in meanings}
    places |= {f"#{name} > .ffnlab-panel": name for name in ("right", "wrong")} | {".ffn-here > div": "press"}
    pixels = {place: pixel(page, place) for place in places}
    page.close()
    far = {place: pixels[place] for place, name in places.items() if distance(pixels[place], colours[name]) > 2}
    assert not far
