"""Boards: pictures that a reader plays. Each is a module in JavaScript that computes everything itself, so it needs no kernel.

`html` gives one as plain HTML with its script inside. So it plays in JupyterLab and Notebook 7, in a notebook that was saved and opened again, and in what
nbconvert or the site make of it. Where no script runs, as in a notebook that is not trusted, its still picture is seen. `ffnlab.play` displays it in a
notebook, with what was reached on it before. docs/boards.md says how an author makes one.
"""

from __future__ import annotations

import base64
import json
import re
from collections.abc import Callable, Mapping, Sequence
from dataclasses import asdict, dataclass, field
from functools import cache
from html import escape
from pathlib import Path
from typing import Any

from ffnlab import palette

HERE = Path(__file__).parent
IMPORT = re.compile(r'^import \{[^}]*\} from "\./(\w+)\.js";\n', re.MULTILINE)
EXPORT = re.compile(r"^export (?:const|class|function) (\w+)", re.MULTILINE)
COMMENT = re.compile(r"^\s*//.*\n", re.MULTILINE)
EXPORTS = re.compile(r"export\{([^}]*)\};\s*$")  # as a bundler writes them


@dataclass(frozen=True)
class Flag:
    """That a goal can't be reached, and why."""

    reasons: tuple[str, ...]  # three to choose from
    right: int  # the place of the true one; -1 where the goal can be reached after all
    why: str = ""  # what is said when the flag is right
    nudge: str = ""  # what is said when it is wrong; it gives neither the reason nor the answer

    def __post_init__(self) -> None:
        if not -1 <= self.right < len(self.reasons):
            raise ValueError(f"a flag with {len(self.reasons)} reasons has no reason {self.right}")


@dataclass(frozen=True)
class Goal:
    """What a reader is to reach on a board."""

    name: str  # that of the board's own function which says when it is reached
    text: str  # the task
    after: str = ""  # what is said once it is reached; never before
    # The smallest number known to do it, of `unit`, where the function gives a number. The reader's own is shown beside it.
    record: float | None = None
    unit: str = ""
    flag: Flag | None = None


@dataclass(frozen=True)
class Board:
    """A board with what it shows."""

    module: Path  # its file, NAME.js; a NAME.css beside it, or beside a file that it imports, belongs to it
    name: str  # unique in the course, as what was reached is kept by it
    title: str  # what it is, for who can't see it
    data: Mapping[str, Any]  # JSON data for the module
    goals: Sequence[Goal] = ()
    still: Path | None = None  # the SVG file of its picture, at the start or where `still_state` differs from it
    still_state: Mapping[str, Any] = field(default_factory=dict)
    # By name, what Python answers to a question of the board: a function from JSON data to JSON data.
    answers: Mapping[str, Callable[[Any], Any]] = field(default_factory=dict)

    def spec(
        self,
        token: str = "",
        results: Mapping[str, Any] | None = None,
        state: Mapping[str, Any] | None = None,
    ) -> dict[str, Any]:
        """What the script gets, as JSON data. The parameters are those of `html`."""
        goals = [{key: value for key, value in asdict(goal).items() if value is not None} for goal in self.goals]
        return {
            "name": self.name,
            "title": self.title,
            "data": dict(self.data),
            "goals": goals,
            "results": dict(results or {}),
            "state": dict(state or {}),
            "token": token or self.name,
        }


@cache
def scripts(module: Path) -> tuple[Path, ...]:
    """The files of a board's script, each behind those that it imports, from beside it or from here: the runtime's first, its own module last."""
    paths: dict[str, Path] = {}

    def add(file: Path) -> None:
        for stem in IMPORT.findall(file.read_text(encoding="utf-8")):
            near = file.with_name(f"{stem}.js")
            if stem not in paths:
                add(near if near.is_file() else HERE / near.name)
        paths[file.stem] = file

    add(HERE / "runtime.js")
    add(module)
    return tuple(paths.values())


def sheets(module: Path | None = None) -> tuple[Path, ...]:
    """The files of the sheet of all boards, and of that of one: each script's, in the order of the scripts."""
    own = [file.with_suffix(".css") for file in scripts(module)] if module else []
    return (HERE / "boards.css", *(sheet for sheet in own if sheet.is_file()))


@cache
def script(module: Path) -> str:
    """A board's module with all that it imports, as one text without imports that defines `board` and `mount`."""
    return "\n".join(_wrap_file(file.read_text(encoding="utf-8")) for file in scripts(module))


def _wrap_file(text: str) -> str:
    """One file as a function of its own, so that no name of it meets another file's: its exports become constants."""
    body = IMPORT.sub("", text)
    if export_list := EXPORTS.search(body):
        pairs = [pair.split(" as ") for pair in export_list[1].split(",")]
        exports = {pair[-1]: pair[0] for pair in pairs}
        body = body[: export_list.start()]
    else:
        exports = {name: name for name in EXPORT.findall(body)}
        body = COMMENT.sub("", body.replace("\nexport ", "\n"))
    members = ", ".join(f"{public}: {private}" for public, private in exports.items())
    return f"const {{ {', '.join(exports)} }} = (() => {{\n{body}\nreturn {{ {members} }};\n}})();"


@cache
def css(module: Path | None = None) -> str:
    """The colours, the sheet of all boards, and that of one."""
    return palette.sheet(" .ffp", still=".ffp.ffp-still") + "".join(
        sheet.read_text(encoding="utf-8") for sheet in sheets(module)
    )


def still(board: Board) -> str:
    """The picture of a board at its start, as an image that needs no script; before it is drawn, its title."""
    if board.still is None or not board.still.is_file():
        return f'<p class="ffp-still">{escape(board.title)}</p>'
    source = base64.b64encode(board.still.read_bytes()).decode()
    return f'<img class="ffp-still" src="data:image/svg+xml;base64,{source}" alt="{escape(board.title)}" style="max-width:100%">'


def html(
    board: Board, token: str = "", results: Mapping[str, Any] | None = None, state: Mapping[str, Any] | None = None
) -> str:
    """A board as HTML that stands alone.

    token: names this output, so that its script finds it and the browser remembers it. results: by goal, what was reached before.
    state: what differs from the start when it is shown.
    """
    spec = board.spec(token, results, state)
    data = json.dumps(spec, ensure_ascii=False).replace("</", "<\\/")
    name = spec["token"]
    return (
        f'<style>{css(board.module)}</style><div class="ffn-play" data-token="{name}">{still(board)}</div>\n'
        f'<script type="module">\n{script(board.module)}\nconst spec = {data};\n'
        f"for (const place of document.querySelectorAll('[data-token=\"{name}\"]')) mount(place, spec, board);\n</script>"
    )
