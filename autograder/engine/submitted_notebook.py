"""Bytes that somebody handed in become a notebook's cells. Nothing in them can make this raise anything but `Unreadable`."""

from __future__ import annotations

import base64
import json
import re
import sys
from collections.abc import Iterator
from dataclasses import dataclass
from typing import Any
from urllib.parse import quote

from autograder.jail.limits import MIB, Limits
from ffnlab.untrusted_text import SIGN, in_a_line

MAX_CELLS = 2000
MAX_PICTURES = 20  # of a cell
MAX_TOKENS = 2_000_000  # strings and brackets of a large file: each becomes an object of Python's, which takes twenty times its room
PICTURE = re.compile(r"data:image/(?:png|jpeg|gif|webp|svg\+xml);base64,[A-Za-z0-9+/=]+")
PICTURE_TAG = re.compile(
    rf"<img\b[^<>]{{0,500}}?\bsrc\s{{0,9}}=\s{{0,9}}[\"']?(?P<address>{PICTURE.pattern.removesuffix('+')}++)[\"']?[^<>]{{0,500}}>",
    re.IGNORECASE,
)
NOT_IN_LABEL = re.compile(r"[\[\]<>`*_\\]")
# Nothing can encode one; other odd characters are as good in a program as any.
LONE_SURROGATE = re.compile("[\ud800-\udfff]")
# A string, also one without an end, or a bracket. No part of it is ever tried in two ways, so that any text takes time by its length.
TOKEN = re.compile(r'"[^"\\]*+(?:\\.[^"\\]*+)*+(?:"|\\?\Z)|[\[\]{}]', re.DOTALL)
KINDS = {
    b"PK\3\4": "a zip, or a document of an office program",
    b"%PDF": "a PDF",
    b"\x1f\x8b": "a gz",
    b"\x89PNG": "a picture",
    b"\xff\xd8\xff": "a picture",
    b"bplist00": "what iCloud leaves in the place of a file that it has moved away: open it once, so that it comes back",
    b"BZh": "a bz2",
    b"\xfd7zXZ": "an xz",
}
VERSION = re.compile(r"3\.\d{1,2}(?:\.\d{1,3})?")


class Unreadable(Exception):
    """A submission that is not a notebook; one line says in what way."""


@dataclass(frozen=True)
class SubmittedCell:
    """A cell as it was handed in."""

    cell_type: str
    source: str  # with the pictures that were pasted in
    grade_id: str = ""  # its name for nbgrader; empty where it has none
    id: str = ""  # empty where it has none


@dataclass(frozen=True)
class SubmittedNotebook:
    """A notebook as it was handed in."""

    cells: tuple[SubmittedCell, ...]
    python: str = ""  # the version that its kernel had, as in "3.12.4"; empty where it does not say


def parse(data: bytes, limits: Limits) -> SubmittedNotebook:
    """The notebook in these bytes, whatever its format's minor version. What its cells showed counts for nothing, however much it is.

    Raises:
        Unreadable: in what way it is not a notebook, or too large.
    """
    if len(data) > limits.file:
        raise Unreadable(f"too large: {len(data) / MIB:,.1f} MiB, at most {limits.file / MIB:g} MiB")
    if not data.strip():
        raise Unreadable("the file is empty")
    for sign, kind in KINDS.items():
        if data.startswith(sign):
            raise Unreadable(f"not a notebook but {kind}")
    try:
        text = data.decode("utf-8-sig")
    except UnicodeDecodeError:
        text = _decode_utf16(data)
    notebook = _load(text, limits.notebook)
    cells = notebook.get("cells")
    if cells is None and isinstance(notebook.get("worksheets"), list):
        cells = [c for sheet in notebook["worksheets"] if isinstance(sheet, dict) for c in _list(sheet.get("cells"))]
    if not isinstance(cells, list):
        raise Unreadable("not a notebook: it has no list of cells")
    if len(cells) > MAX_CELLS:
        raise Unreadable(f"too many cells: {len(cells):,}, at most {MAX_CELLS:,}")
    read_cells, room = [], limits.notebook
    for cell in cells:
        if isinstance(cell, dict):
            read_cells.append(_cell(cell, room))
            room -= len(read_cells[-1].source.encode("utf-8", "replace"))
    if room < 0:
        size = (limits.notebook - room) / MIB
        raise Unreadable(f"too large: its cells hold {size:,.1f} MiB of text, at most {limits.notebook / MIB:g} MiB")
    return SubmittedNotebook(tuple(read_cells), _python_version(notebook))


def _decode_utf16(data: bytes) -> str:
    """A text that Windows' PowerShell has written."""
    try:
        if data[:2] in (b"\xff\xfe", b"\xfe\xff"):
            return data.decode("utf-16")
    except UnicodeDecodeError:
        pass
    raise Unreadable("not a notebook: it is not UTF-8 text")


def _load(text: str, most: int) -> dict[str, Any]:
    """The JSON object in a text; of a large one without what its cells showed."""
    if len(text) > most:
        text = without_outputs(text)
        if len(text) > 4 * most:  # as many escapes as there can be in that much text
            raise Unreadable(
                f"too large: {len(text) / MIB:,.1f} MiB without what its cells show, at most {most / MIB:g} MiB"
            )
    try:
        notebook = json.loads(text)
    except RecursionError:
        raise Unreadable("not a notebook: nested too deeply") from None
    except json.JSONDecodeError as error:
        is_cut = error.pos >= len(text.rstrip()) - 1 or error.msg.startswith("Unterminated string")
        broken = f"broken JSON{', its end is missing' if is_cut else ''} ({in_a_line(str(error), 120)})"
        raise Unreadable(_what_it_is(text) or f"not a notebook: {broken}") from None
    except ValueError as error:  # a number with too many digits, say
        raise Unreadable(f"not a notebook: {in_a_line(str(error), 120)}") from None
    if not isinstance(notebook, dict):
        raise Unreadable("not a notebook: a JSON object was expected")
    return notebook


def _what_it_is(text: str) -> str:
    """What a text is that is no JSON, as far as its beginning tells."""
    first = text.lstrip()[:2000].lower()
    if first.startswith(("<!doctype html", "<html", "<?xml")):
        return "not a notebook but a web page, as when a link was saved in place of its file"
    if re.search(r"^<{7} ", text, re.MULTILINE) and re.search(r"^>{7} ", text, re.MULTILINE):
        return "not a notebook yet: Git's marks of a merge conflict, <<<<<<< and >>>>>>>, are in it"
    if first.startswith("version https://git-lfs"):
        return "not a notebook but Git LFS's pointer to one"
    if re.match(r"(?:\[internetshortcut\]\s*url=)?https?://", first):
        return "not a notebook but a link to one: what a link leads to can't be read here"
    return ""


def without_outputs(text: str) -> str:
    """The text of a notebook with an empty list in the place of all that its cells have shown, and without the state of its widgets.

    Only strings and brackets are looked at, so that this takes little room, whatever the text is.

    Raises:
        Unreadable: it has too many of them.
    """
    kept, place, depth, hidden, key = list[str](), 0, 0, 0, ""
    for count, token in enumerate(TOKEN.finditer(text)):
        if count == MAX_TOKENS:
            raise Unreadable(f"too many parts: more than {MAX_TOKENS:,} texts, lists and objects")
        sign = token[0]
        if sign[0] == '"':
            if not hidden:
                key = sign if len(sign) < 20 else ""
        elif sign in "[{":
            depth += 1
            is_shown = sign == "[" and key == '"outputs"' and depth in (4, 6)  # of a cell, in formats 4 and 3
            is_state = sign == "{" and key == '"widgets"' and depth == 3
            if not hidden and (is_shown or is_state):
                kept.append(text[place : token.end()])
                hidden = depth
            key = ""
        else:
            if depth == hidden:
                place, hidden = token.start(), 0
            depth -= 1
            key = ""
    return text if hidden else "".join((*kept, text[place:]))


def _list(value: object) -> list[Any]:
    return value if isinstance(value, list) else []


def _python_version(notebook: dict[str, Any]) -> str:
    metadata = notebook.get("metadata")
    language = metadata.get("language_info") if isinstance(metadata, dict) else None
    version = language.get("version") if isinstance(language, dict) and language.get("name") == "python" else None
    return version if isinstance(version, str) and VERSION.fullmatch(version) else ""


def _cell(cell: dict[str, Any], room: int) -> SubmittedCell:
    """A cell. room: as many bytes as its pictures may have."""
    source = cell.get("source", cell.get("input", ""))
    if isinstance(source, list):
        source = "".join(part for part in source if isinstance(part, str))
    text = LONE_SURROGATE.sub(SIGN, source) if isinstance(source, str) else ""
    if cell.get("cell_type") in ("markdown", "raw"):
        attachments = cell.get("attachments")
        text = with_pictures(text, attachments if isinstance(attachments, dict) else {}, room)
    metadata = cell.get("metadata")
    nbgrader_fields = metadata.get("nbgrader") if isinstance(metadata, dict) else None
    grade_id = nbgrader_fields.get("grade_id") if isinstance(nbgrader_fields, dict) else None
    return SubmittedCell(
        cell["cell_type"] if isinstance(cell.get("cell_type"), str) else "code",
        text.replace("\r\n", "\n").replace("\r", "\n"),
        grade_id if isinstance(grade_id, str) else "",
        cell["id"] if isinstance(cell.get("id"), str) else "",
    )


def with_pictures(source: str, attachments: dict[str, Any], room: int = sys.maxsize) -> str:
    """A Markdown source in which each attached picture, and each in a tag, is written as `![label](data:…)`: only sources travel further.

    A picture that the source does not mention in a way that is known here stands at its end; of what can't be shown a sentence says so.
    room: bytes for pictures; of one that does not fit a sentence says so too.
    """
    source = PICTURE_TAG.sub(lambda match: f"![{_words_of(match[0])}]({match['address']})", source)
    for name, data in list(attachments.items())[:MAX_PICTURES]:
        address, kind = _address(data)
        if not kind:
            continue
        label, shown = NOT_IN_LABEL.sub(" ", in_a_line(name, 100)), ""
        if not address:
            shown = f"*(a file, {label}, of the type {in_a_line(kind, 40)}, which can't be shown here; it is in the file that was handed in)*"
        elif len(address) > room:
            size = 3 / 4 * len(address) / MIB
            shown = f"*(a picture of {size:.1f} MiB, too large to be shown; it is in the file)*"
        else:
            room -= len(address)
        found = next(filter(None, (mention.search(source) for mention in _mentions(name))), None)
        words = _words_of(found[0]) if found else label
        shown = shown or f"![{words or label}]({address})"
        start, end = found.span() if found else (len(source), len(source))
        source = source[:start] + ("" if found else "\n\n") + shown + source[end:]
    return source


def _words_of(mention: str) -> str:
    """The words with which a picture is mentioned: in brackets or as a tag's, and its title."""
    words = re.findall(
        r"!\[([^\[\]]*)\]|\b(?:alt|title)\s*=\s*[\"']([^\"'<>]*)[\"']|\s[\"']([^\"']*)[\"']\s*\)$", mention
    )
    return NOT_IN_LABEL.sub(" ", " ".join(filter(None, (text for texts in words for text in texts))))[:300]


def _address(data: object) -> tuple[str, str]:
    """Of an attachment, the data URI of the first picture in it that can be shown, empty where none can, and its type, empty where nothing is there."""
    kinds = {kind: content for kind, content in data.items() if isinstance(kind, str)} if isinstance(data, dict) else {}
    for kind, content in kinds.items():
        text = "".join(filter(_is_text, content)) if isinstance(content, list) else content
        if not isinstance(text, str):
            continue
        if text.lstrip().startswith("<"):  # a drawing as it is
            text = base64.b64encode(text.encode("utf-8", "replace")).decode()
        address = f"data:{kind};base64,{''.join(text.split())}"
        if PICTURE.fullmatch(address):
            return address, kind
    return "", next(iter(kinds), "")


def _mentions(name: str) -> Iterator[re.Pattern[str]]:
    """The ways in which a Markdown source shows an attachment: as an image, with a title perhaps, or with a tag."""
    for written in dict.fromkeys((name, quote(name, errors="replace"), quote(name, safe="()'!*~", errors="replace"))):
        target = rf"attachment:{re.escape(written)}"
        yield re.compile(
            rf"!\[[^\[\]\n]{{0,300}}\]\(\s{{0,9}}<?{target}>?(?:\s{{1,9}}(?:\"[^\"\n]{{0,300}}\"|'[^'\n]{{0,300}}'))?\s{{0,9}}\)"
        )
        yield re.compile(
            rf"<img\b[^<>]{{0,500}}?\bsrc\s{{0,9}}=\s{{0,9}}[\"']?{target}[\"']?(?![^<>\s\"'/])[^<>]{{0,500}}>",
            re.IGNORECASE,
        )


def _is_text(value: object) -> bool:
    return isinstance(value, str)
