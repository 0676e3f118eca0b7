"""The documentation as pages: the parts of README.md, docs/, CONTRIBUTING.md and course/README.md as they are, in the same places, so that their links hold."""

from __future__ import annotations

import re
from collections.abc import Sequence
from html import escape
from pathlib import Path

import nbformat

from autograder.errors import UserError
from autograder.paths import root

DOCS = ("first_week", "grading", "attacks", "gradescope", "jupyterhub", "clusters")
FOR_AUTHORS = ("architecture", "lms")
SUBJECT = "02_feed_forward"
LINK = re.compile(r"!?\[((?:[^\[\]`]|`[^`]*`)*)\]\(([^)\s]+)\)")


def write(source: Path, notebooks: Sequence[str]) -> None:
    """Every page but the notebooks, and what they link to, below `source`. What has not changed is not written again.

    Raises:
        UserError: README.md lacks a part that is a page of its own.
    """
    readme = (root() / "README.md").read_text(encoding="utf-8")
    keep(source / "index.md", _front(readme, [source / "course" / f"{name}.ipynb" for name in notebooks]))
    for part in ("Student", "Instructor", "Author"):
        keep(
            source / f"{part.lower()}.md",
            _document(f"# For {part.lower()}s\n{_part(readme, part)}", root(), source, source),
        )
    pages = ["CONTRIBUTING.md", "course/README.md", *(f"docs/{name}.md" for name in DOCS + FOR_AUTHORS)]
    for page in pages:
        text = (root() / page).read_text(encoding="utf-8")
        keep(source / page, _document(text, (root() / page).parent, (source / page).parent, source))


def keep(path: Path, content: str | bytes) -> bool:
    """Write a file where it says something else, or is not there; its time tells Sphinx what has changed. Returns whether it did."""
    data = content.encode() if isinstance(content, str) else content
    if path.is_file() and path.read_bytes() == data:
        return False
    path.parent.mkdir(parents=True, exist_ok=True)
    path.write_bytes(data)
    return True


def _part(readme: str, heading: str) -> str:
    found = re.search(rf"^## {heading}\n(.*?)(?=^## |\Z)", readme, re.S | re.M)
    if not found:
        raise UserError(f"README.md has no part “{heading}”: the site makes a page of it")
    return found[1]


def _document(text: str, home: Path, there: Path, source: Path) -> str:
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
            keep(there / path, file.read_bytes())
            return match[0]
        return words

    return LINK.sub(link, _one_title(text))


def _one_title(text: str) -> str:
    """A page has one title: what else stands as high goes one step down, with what is below it."""
    lines, in_code, titles = [], False, 0
    for line in text.splitlines():
        in_code ^= line.startswith("```")
        titles += not in_code and line.startswith("# ")
        lower = not in_code and titles > 1 and line.startswith("#")
        lines.append(f"#{line}" if lower else line)
    return "\n".join(lines) + "\n"


def _front(readme: str, notebooks: Sequence[Path]) -> str:
    """The front page: what README.md says first, a figure to touch, and a card for each notebook."""
    title, _, words = readme.partition("\n## ")[0].partition("\n")
    words = re.split(r"^(?=\||Two commands)", words, maxsplit=1, flags=re.M)[0].strip()
    cards = "".join(_card(path) for path in notebooks)
    trees = [
        _tree("The course", [f"course/{path.stem}" for path in notebooks]),
        _tree("Students", ["student", "course/README"]),
        _tree("Instructors", ["instructor", *(f"docs/{name}" for name in DOCS)]),
        _tree("Authors", ["author", "CONTRIBUTING", *(f"docs/{name}" for name in FOR_AUTHORS)]),
    ]
    return (
        f"{title}\n\n{words}\n\n{_figure(notebooks)}\n\n"
        "These pages are the course to be read: every figure moves, and every question can be answered here. "
        "To write code and have it checked, [open it on your machine](student.md).\n\n"
        f'<ol class="ffn-cards">{cards}</ol>\n\n' + "\n\n".join(trees) + "\n"
    )


def _figure(notebooks: Sequence[Path]) -> str:
    """The first figure of the notebook that is most about the course's subject, where it is on the site."""
    for path in notebooks:
        if path.stem != SUBJECT:
            continue
        outputs = [output for cell in nbformat.read(path, as_version=4).cells for output in cell.get("outputs", [])]
        found = [html for output in outputs if "ffn-figure" in (html := output.get("data", {}).get("text/html", ""))]
        return str(found[0]).replace('data-frames="../', 'data-frames="') if found else ""
    return ""


def _card(path: Path) -> str:
    text = "\n".join(cell.source for cell in nbformat.read(path, as_version=4).cells if cell.cell_type == "markdown")
    title = re.search(r"^# (?:\d+ · )?(.*)$", text, re.M)
    minutes = re.search(r"^\| \*\*Time\*\* \| (\d+ minutes)", text, re.M)
    number = path.stem.partition("_")[0]
    return (
        f'<li><a href="course/{path.stem}.html"><span class="ffn-number">{number}</span> '
        f'<span class="ffn-title">{escape(title[1] if title else path.stem)}</span>'
        f'<span class="ffn-minutes">{minutes[1] if minutes else ""}</span></a></li>'
    )


def _tree(caption: str, pages: Sequence[str]) -> str:
    return "\n".join(["```{toctree}", ":hidden:", f":caption: {caption}", "", *pages, "```"])
