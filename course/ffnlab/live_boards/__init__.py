"""Boards in a notebook: `play` displays one with what was reached on it before, and `veil` displays a text that opens once something is settled.

In a live notebook an output without a picture connects a board with Python, which keeps what was reached and answers what only the reader's code can answer.
"""

from __future__ import annotations

import json
from collections.abc import Callable
from html import escape

from IPython.display import display

from ffnlab import boards
from ffnlab.boards import Board
from ffnlab.checking import record
from ffnlab.checking.panel import message
from ffnlab.drawing import style
from ffnlab.drawing.controls import describe_failure
from ffnlab.drawing.widget_output import show_view
from ffnlab.environment import element_id

# What connects a board with Python is not to be seen. In a notebook that is opened again it would be an error message.
STYLE = """<style>
.jp-OutputArea-child:has(> * .ffn-play) + .jp-OutputArea-child, .ffn-link { display: none }
</style>"""


def play(board: Board | Callable[[], Board]) -> None:
    """Display a board with what was reached on it before.

    board: a function that makes one calls the reader's own code. Where that is not written yet, or raises, this says so in place of the board.
    """
    from ffnlab.live_boards.link import Link

    if callable(board):
        try:
            board = board()
        except Exception as error:  # the reader's own code may do anything
            display(message(*describe_failure(error, "board")))
            return
    token = element_id(board.name)
    html = STYLE + style.dark_sheet() + boards.html(board, token, record.read_goals(board.name))
    display({"text/html": html, "text/plain": board.title}, raw=True)
    show_view(Link(board, token))


def veil(title: str, when: str, of: str, text: str) -> None:
    """Display a text that opens once a goal of a board or a guess is settled, and stays closed before that, also after Run All.

    title: what is seen before, with `when` it opens; neither may give the text away. of: "board.goal", or the name of a guess. text: Markdown.
    """
    from ffnlab.prediction.prediction_widget import markdown_to_html

    board, _, goal = of.partition(".")
    is_open = bool(record.read_goals(board).get(goal, {}).get("how")) if goal else record.read_guess(of) is not None
    token = element_id(f"veil {of}")
    html = (
        f'<style>{boards.css()}</style><details class="ffp ffn-veil" data-token="{token}" {"open" if is_open else ""}>'
        f'<summary>{escape(title)} <span class="ffn-wait">It opens by itself {escape(when)}.</span></summary>{markdown_to_html(text)}</details>'
        f'<script type="module">\nfor (const place of document.querySelectorAll("[data-token=\\"{token}\\"]"))\n'
        f"  if (globalThis.ffnSettled?.has({json.dumps(of)})) place.open = true;\n"
        f"  else document.addEventListener('ffn-settled', (event) => {{ if (event.detail.name === {json.dumps(of)}) place.open = true; }});\n</script>"
    )
    display({"text/html": html, "text/plain": f"{title} It opens by itself {when}."}, raw=True)
