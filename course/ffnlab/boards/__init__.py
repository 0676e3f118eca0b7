"""Boards: pictures that a reader plays. Each is a module in JavaScript that computes everything itself, so it needs no kernel.

`show` displays one as plain HTML with its script inside. So it plays in JupyterLab and Notebook 7, in a notebook that was saved and opened
again, and in what nbconvert or the site make of it. Where no script runs, as in a notebook that is not trusted, its still picture is seen. In a live notebook a
second, invisible output connects it with Python, which keeps what was reached and answers questions that only the reader's own code can answer.

docs/boards.md says how an author makes one.
"""

from __future__ import annotations

import base64
import json
import re
import secrets
from collections.abc import Callable, Mapping, Sequence
from dataclasses import asdict, dataclass, field
from functools import cache
from html import escape
from pathlib import Path
from typing import Any

HERE = Path(__file__).parent
IMPORT = re.compile(r'^import \{[^}]*\} from "\./(\w+)\.js";\n', re.MULTILINE)
EXPORT = re.compile(r"^export (?=(?:const|class|function) )", re.MULTILINE)
EXPORTS = re.compile(r"export\{([^}]*)\};\s*$")  # as a bundler writes them
STYLE = """<style>
.jp-OutputArea-child:has(> * .ffn-play) + .jp-OutputArea-child, .ffn-link { display: none }
</style>"""  # what connects a board with Python is not to be seen


@dataclass(frozen=True)
class Flag:
    """That a goal can't be reached, and why.

    reasons: three to choose from. right: the place of the true one; -1 where the goal can be reached after all.
    why: what is said when the flag is right. nudge: what is said when it is wrong; it gives neither the reason nor the answer.
    """

    reasons: tuple[str, ...]
    right: int
    why: str = ""
    nudge: str = ""

    def __post_init__(self) -> None:
        if not -1 <= self.right < len(self.reasons):
            raise ValueError(f"a flag with {len(self.reasons)} reasons has no reason {self.right}")


@dataclass(frozen=True)
class Goal:
    """What a reader is to reach on a board.

    name: that of the board's own function which says when it is reached. text: the task. after: what is said once it is reached; never before.
    record: the smallest number known to do it, of `unit`, where the function gives a number; the reader's own is shown beside it.
    """

    name: str
    text: str
    after: str = ""
    record: float | None = None
    unit: str = ""
    flag: Flag | None = None


@dataclass(frozen=True)
class Play:
    """A board with what it shows. board: its module, as `script` takes it. name: unique in the course, as what was reached is kept by it.

    title: what it is, for who can't see it. data: JSON data for the module.
    answers: by name, what Python answers to a question of the board: a function from JSON data to JSON data.
    """

    board: str | Path
    name: str
    title: str
    data: Mapping[str, Any]
    goals: Sequence[Goal] = ()
    answers: Mapping[str, Callable[[Any], Any]] = field(default_factory=dict)

    def spec(self, token: str = "", kept: Mapping[str, Any] | None = None) -> dict[str, Any]:
        """What the script gets, as JSON data. kept: by goal, what was reached before."""
        goals = [{key: value for key, value in asdict(goal).items() if value is not None} for goal in self.goals]
        return {
            "name": self.name,
            "title": self.title,
            "data": dict(self.data),
            "goals": goals,
            "kept": dict(kept or {}),
            "token": token or self.name,
        }


@cache
def script(board: str | Path) -> str:
    """A board's module with all that it imports, as one text without imports that defines `board` and `mount`.

    board: the name of a module here, or the file of one elsewhere, which may import the modules here.
    """
    texts: dict[str, str] = {}

    def add(file: Path) -> None:
        text = file.read_text(encoding="utf-8")
        for imported in IMPORT.findall(text):
            near = file.with_name(f"{imported}.js")
            if imported not in texts:
                add(near if near.is_file() else HERE / near.name)
        texts[file.stem] = text

    add(HERE / "runtime.js")
    add(board if isinstance(board, Path) else HERE / f"{board}.js")
    return "\n".join(_linked(text) for text in texts.values())


def _linked(text: str) -> str:
    """One file as a function of its own, so that no name of it meets another file's: its exports become constants."""
    body = IMPORT.sub("", text)
    bundled = EXPORTS.search(body)
    if bundled:
        pairs = [pair.split(" as ") for pair in bundled[1].split(",")]
        exported = {pair[-1]: pair[0] for pair in pairs}
        body = body[: bundled.start()]
    else:
        exported = {found: found for found in re.findall(r"^export (?:const|class|function) (\w+)", body, re.MULTILINE)}
        body = EXPORT.sub("", body)
    body = re.sub(r"^\s*//.*\n", "", body, flags=re.MULTILINE) if not bundled else body
    pairs_text = ", ".join(f"{public}: {private}" for public, private in exported.items())
    return f"const {{ {', '.join(exported)} }} = (() => {{\n{body}\nreturn {{ {pairs_text} }};\n}})();"


@cache
def css() -> str:
    return (HERE / "boards.css").read_text(encoding="utf-8")


def still(name: str, title: str) -> str:
    """The picture of a board at its start, as an image that needs no script; before it is drawn, its title."""
    file = HERE / "stills" / f"{name}.svg"
    if not file.is_file():
        return f'<p class="ffp-still">{escape(title)}</p>'
    source = base64.b64encode(file.read_bytes()).decode()
    return (
        f'<img class="ffp-still" src="data:image/svg+xml;base64,{source}" alt="{escape(title)}" style="max-width:100%">'
    )


def html(play: Play, token: str = "", kept: Mapping[str, Any] | None = None) -> str:
    """A board as HTML that stands alone. token: names this output, so that its script finds it and the browser remembers it."""
    name = token or play.name
    spec = json.dumps(play.spec(name, kept), ensure_ascii=False).replace("</", "<\\/")
    return (
        f'<style>{css()}</style>{STYLE}<div class="ffn-play" data-token="{name}">{still(play.name, play.title)}</div>\n'
        f'<script type="module">\n{script(play.board)}\nconst spec = {spec};\n'
        f"for (const place of document.querySelectorAll('[data-token=\"{name}\"]')) mount(place, spec, board);\n</script>"
    )


def show(play: Play) -> None:
    """Displays a board in a notebook, with what was reached on it before."""
    from IPython.display import display

    from ffnlab import record

    token = secrets.token_hex(6)
    display({"text/html": html(play, token, record.goals(play.name)), "text/plain": play.title}, raw=True)
    from ffnlab.boards.link import Link

    live, metadata = Link(play, token)._repr_mimebundle_() or ({}, {})
    view = "application/vnd.jupyter.widget-view+json"
    display({view: live[view]}, raw=True, metadata=metadata)


def veil(of: str, text: str, title: str = "") -> None:
    """Displays text that opens once a goal of a board ("board.goal") or a guess ("guess") is settled, and stays closed before that, also after Run All.

    text: Markdown. title: what is seen before; it must not give the text away.
    """
    from IPython.display import display

    from ffnlab import record
    from ffnlab.guessing import markdown

    board, _, goal = of.partition(".")
    done = bool(record.goals(board).get(goal, {}).get("how")) if goal else record.guess(of) is not None
    token = secrets.token_hex(6)
    shown = title or "This opens when you have settled it."
    html_text = (
        f'<style>{css()}</style><details class="ffp ffn-veil" data-token="{token}" {"open" if done else ""}>'
        f"<summary>{escape(shown)}</summary>{markdown(text)}</details>"
        f'<script type="module">\nfor (const place of document.querySelectorAll("[data-token=\\"{token}\\"]"))\n'
        f"  if (globalThis.ffnSettled?.has({json.dumps(of)})) place.open = true;\n"
        f"  else document.addEventListener('ffn-settled', (event) => {{ if (event.detail.name === {json.dumps(of)}) place.open = true; }});\n</script>"
    )
    display({"text/html": html_text, "text/plain": shown}, raw=True)
