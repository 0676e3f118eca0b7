"""The documentation as pages: the parts of README.md, docs/, CONTRIBUTING.md and course/README.md as they are, in the same places, so that their links hold.

Another course has a front page and what course/README.md says to its students.
"""

from __future__ import annotations

import base64
import re
from collections.abc import Sequence
from html import escape
from pathlib import Path
from typing import Any

import nbformat

from autograder.authoring.stills import PROMISE
from autograder.errors import UserError
from autograder.paths import root
from ffnlab import __version__, boards
from ffnlab.course.boards import creek
from ffnlab.registry import DEFAULT, active_course

DOCS = ("first_week", "grading", "attacks", "gradescope", "jupyterhub", "clusters", "containers")
FOR_AUTHORS = ("architecture", "boards", "lms")
FOR_WHOM = (
    "Twenty minutes, for everybody who has met attention once. This model was trained so that it can be opened. "
    "The first page also shows its twin, which was not."
)
ENDS_IN = (
    "The last notebook opens a published model that is in use everywhere. Your own functions compute its six blocks, and you look for the neuron that "
    "hears *not*."
)
NOT_FOUND_PAGE = """---
orphan: true
---
# This page is not here

It may have moved with a newer edition. [The front page](index.md) has all notebooks.
"""
INVITATION = (
    "Attention is the famous half of a language model. The other half is the **feed-forward network**, FFN for short. What does it know? "
    "Below, a very small Transformer goes on with your sentence. Switch its FFN off."
)
LINK = re.compile(r"!?\[((?:[^\[\]`]|`[^`]*`)*)\]\(([^)\s]+)\)")


def write(source: Path, notebooks: Sequence[str]) -> None:
    """Every page but the notebooks, and what they link to, below `source`. What has not changed is not written again.

    Raises:
        UserError: README.md lacks a part that is a page of its own.
    """
    keep(source / "404.md", NOT_FOUND_PAGE)
    if active_course().package == DEFAULT:
        _write_first_course(source, notebooks)
    else:
        _write_other_course(source, notebooks)


def _write_first_course(source: Path, notebooks: Sequence[str]) -> None:
    readme = (root() / "README.md").read_text(encoding="utf-8")
    keep(source / "index.md", _front(readme, [source / "course" / f"{name}.ipynb" for name in notebooks]))
    for part in ("Student", "Instructor", "Author"):
        keep(
            source / f"{part.lower()}.md",
            _document(f"# For {part.lower()}s\n{_part(readme, part)}", root(), source, source),
        )
    pages = ["CHANGELOG.md", "CONTRIBUTING.md", "course/README.md", *(f"docs/{name}.md" for name in DOCS + FOR_AUTHORS)]
    for page in pages:
        text = (root() / page).read_text(encoding="utf-8")
        keep(source / page, _document(text, (root() / page).parent, (source / page).parent, source))


def _write_other_course(source: Path, notebooks: Sequence[str]) -> None:
    """A front page with a card for each notebook, and what students read first, if there is such a page."""
    students_page = root() / "course" / "README.md"
    trees = [_tree("The course", [f"course/{name}" for name in notebooks])]
    if students_page.is_file():
        text = students_page.read_text(encoding="utf-8")
        keep(source / "course/README.md", _document(text, students_page.parent, source / "course", source))
        trees.append(_tree("Students", ["course/README"]))
    cards = "".join(_card(source / "course" / f"{name}.ipynb") for name in notebooks)
    keep(source / "index.md", f'# {title()}\n\n<ol class="ffn-cards">{cards}</ol>\n\n' + "\n\n".join(trees) + "\n")


def title() -> str:
    """What the course is called: the first heading that its students read, or else its package's name."""
    page = root() / "course" / "README.md"
    text = page.read_text(encoding="utf-8") if page.is_file() else ""
    heading = re.search(r"^# (.+)$", text, re.M)
    return heading[1].strip() if heading else active_course().package


def keep(path: Path, content: str | bytes) -> bool:
    """Write a file where it says something else, or is not there; its time tells Sphinx what has changed. Returns whether it did."""
    data = content.encode() if isinstance(content, str) else content
    if path.is_file() and path.read_bytes() == data:
        return False
    path.parent.mkdir(parents=True, exist_ok=True)
    path.write_bytes(data)
    return True


def _part(readme: str, heading: str) -> str:
    match = re.search(rf"^## {heading}\n(.*?)(?=^## |\Z)", readme, re.S | re.M)
    if not match:
        raise UserError(f"README.md has no part “{heading}”: the site makes a page of it")
    return match[1]


def _document(text: str, home: Path, target_folder: Path, source: Path) -> str:
    """A page's text, with links to pages and to files of docs/, which come along; where another file of the project is named, its name stays."""

    def link(match: re.Match[str]) -> str:
        words, target = match.groups()
        if "://" in target or target.startswith(("#", "mailto:")):
            return match[0]
        path, hash_, part = target.partition("#")
        file = (home / path).resolve()
        inside = file.relative_to(root().resolve())
        if inside.suffix == ".md":
            return match[0] if inside.as_posix() != "README.md" else f"[{words}](/index.md{hash_}{part})"
        if inside.parts[0] == "docs":
            keep(target_folder / path, file.read_bytes())
            return match[0]
        return words

    return LINK.sub(link, _one_title(text))


def _one_title(text: str) -> str:
    """A page has one title: what else stands as high goes one step down, with what is below it."""
    lines = []
    in_code = False
    titles = 0
    for line in text.splitlines():
        in_code ^= line.startswith("```")
        titles += not in_code and line.startswith("# ")
        lower = not in_code and titles > 1 and line.startswith("#")
        lines.append(f"#{line}" if lower else line)
    return "\n".join(lines) + "\n"


def _front(readme: str, notebooks: Sequence[Path]) -> str:
    """The front page: a promise, the creek to play with, the way in, a card for each notebook; and for those who teach, what README.md says first."""
    _, _, words = readme.partition("\n## ")[0].partition("\n")
    words = re.split(r"^(?=\||Two commands)", words, maxsplit=1, flags=re.M)[0].strip()
    cards = "".join(_card(path) for path in notebooks)
    trees = [
        _tree("The course", [f"course/{path.stem}" for path in notebooks]),
        _tree("Students", ["student", "course/README"]),
        _tree("Instructors", ["instructor", *(f"docs/{name}" for name in DOCS)]),
        _tree("Authors", ["author", "CONTRIBUTING", "CHANGELOG", *(f"docs/{name}" for name in FOR_AUTHORS)]),
    ]
    ends_in = f"{ENDS_IN}\n\n" if any(path.stem == "11_real" for path in notebooks) else ""
    return (
        f"# {PROMISE}\n\n{INVITATION}\n\n~~~~~{{raw}} html\n{boards.html(creek.switch())}\n~~~~~\n\n"
        f'<p class="ffn-enter"><a class="ffn-start" href="course/{notebooks[0].stem}.html">Start</a> <span>{FOR_WHOM}</span></p>\n\n'
        f'<ol class="ffn-cards">{cards}</ol>\n\n'
        f"{ends_in}"
        "These pages are for reading and playing. To write code and have it checked, [open the course on your machine](student.md).\n\n"
        f"## You teach?\n\n{words}\n\n[For instructors](instructor.md)\n\n"
        f"[Version {__version__}](CHANGELOG.md)\n\n" + "\n\n".join(trees) + "\n"
    )


def _thumbnail(path: Path, cells: Sequence[Any]) -> str:
    """The first board or figure of a notebook as a small picture, kept beside the front page; nothing where there is none."""
    outputs = [output.get("data", {}).get("text/html", "") for cell in cells for output in cell.get("outputs", [])]
    for html in outputs:
        still = re.search(r'<img class="ffp-still" src="data:image/svg\+xml;base64,([^"]+)"', html)
        svg_match = re.search(r"<svg\b.*?</svg>", html, re.S)
        if not still and not ("ffn-figure" in html and svg_match):
            continue
        svg = base64.b64decode(still[1]) if still else _standing_alone(svg_match[0] if svg_match else "").encode()
        keep(path.parents[1] / "thumbnails" / f"{path.stem}.svg", svg)
        kind = "" if still else ' class="ffn-paper"'
        return f'<img{kind} src="thumbnails/{path.stem}.svg" alt="" loading="lazy">'
    return ""


def _standing_alone(svg: str) -> str:
    """An SVG of a page as a file of its own."""
    return svg if "xmlns=" in svg else svg.replace("<svg", '<svg xmlns="http://www.w3.org/2000/svg"', 1)


def _card(path: Path) -> str:
    cells = nbformat.read(path, as_version=4).cells
    text = "\n".join(cell.source for cell in cells if cell.cell_type == "markdown")
    title = re.search(r"^# (?:\d+ · )?(.*)$", text, re.M)
    minutes = re.search(r"^\| \*\*Time\*\* \| (\d+ minutes)", text, re.M)
    number = path.stem.partition("_")[0]
    return (
        f'<li><a href="course/{path.stem}.html"><span class="ffn-thumbnail">{_thumbnail(path, cells)}</span><span class="ffn-number">{number}</span> '
        f'<span class="ffn-title">{escape(title[1] if title else path.stem)}</span>'
        f'<span class="ffn-minutes">{minutes[1] if minutes else ""}</span></a></li>'
    )


def _tree(caption: str, pages: Sequence[str]) -> str:
    return "\n".join(["```{toctree}", ":hidden:", f":caption: {caption}", "", *pages, "```"])
