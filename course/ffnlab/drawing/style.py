"""Colours and type of every figure, in SVG and in matplotlib. Notebooks call `style.use()` once.

A colour means one thing, the same as everywhere in the course (`ffnlab/palette.py`):

- blue and orange: the sign of a number. `signed` and `diverging` give them, and nothing else does;
- green, CHOSEN: what this figure is about: what a control has chosen, what was kept, the curve that was computed;
- purple, LOST: what is wrong, dropped or forgotten;
- grey, REFERENCE, dashed as a line: what it is compared with;
- SERIES: things that are told apart by their names. A figure with these has neither CHOSEN nor LOST: its chosen one is
  thicker, bold or framed. ATTENTION, FFN and AROUND (embeddings, norms) are the parts of a model everywhere.

Direction, label, dash or marker always says it a second time. Fillings are `pale`.
"""

from __future__ import annotations

from functools import cache
from pathlib import Path
from typing import Any

from ffnlab import palette

_COLOURS = {name: colour.upper() for name, colour in palette.LIGHT.items()}
POSITIVE = _COLOURS["plus"]
NEGATIVE = _COLOURS["minus"]
NEUTRAL = "#9AA3AE"  # a value of exactly zero, a silent neuron
INK = _COLOURS["ink"]
MUTED = _COLOURS["muted"]  # second-rank text: 5.9 to 1 on paper
RULE = _COLOURS["rule"]  # axes, grid, edges of boxes
TINT = _COLOURS["tint"]  # backgrounds and grid inside a figure
GHOST = "#DCE1E7"  # what was there before
PAPER = _COLOURS["paper"]

CHOSEN = _COLOURS["right"]
LOST = _COLOURS["wrong"]
REFERENCE = MUTED
EXPERTS = tuple(_COLOURS[f"s{number}"] for number in range(1, 9))  # expert 0 is everywhere of the same colour
SERIES = EXPERTS[:6]
FFN, ATTENTION, AROUND = _COLOURS["ffn"], _COLOURS["attention"], NEUTRAL

FONT = "system-ui, -apple-system, 'Segoe UI', Roboto, 'Helvetica Neue', Arial, sans-serif"


def diverging(value: float, limit: float) -> str:
    """The colour of a value, from -limit (orange) over 0 (paper) to limit (blue), and no further."""
    if not limit > 0:
        raise ValueError(f"the limit of a colour scale must be positive, not {limit}")
    return palette.mix(PAPER, POSITIVE if value >= 0 else NEGATIVE, min(abs(value) / limit, 1.0)).upper()


def signed(value: float) -> str:
    """The colour of a bar: positive, negative, or neutral at exactly zero."""
    return POSITIVE if value > 0 else NEGATIVE if value < 0 else NEUTRAL


def pale(colour: str, share: float = 0.2) -> str:
    """A colour as a filling, on which ink can be read: `share` of it on paper."""
    return palette.mix(PAPER, colour, share).upper()


SETTINGS: dict[str, Any] = {  # of matplotlib; the colours of lines are set in `use`
    "axes.axisbelow": True,
    "axes.edgecolor": MUTED,
    "axes.facecolor": PAPER,
    "axes.grid": True,
    "axes.labelcolor": INK,
    "axes.labelsize": 12,
    "axes.spines.right": False,
    "axes.spines.top": False,
    "axes.titlelocation": "left",
    "axes.titlesize": 13,
    "axes.titleweight": "bold",
    "figure.dpi": 110,
    "figure.facecolor": PAPER,
    "figure.figsize": (6.4, 3.6),
    "font.size": 12,
    "grid.color": RULE,
    "grid.linewidth": 0.6,
    "image.cmap": "RdBu",
    "legend.frameon": False,
    "lines.linewidth": 2.0,
    "savefig.facecolor": PAPER,
    "text.color": INK,
    "xtick.color": MUTED,
    "xtick.labelcolor": INK,
    "ytick.color": MUTED,
    "ytick.labelcolor": INK,
}


@cache
def dark_sheet() -> str:
    """A style sheet, as HTML, for what is drawn on paper when the page around it is dark. One of them serves a whole page."""
    return f"<style>{Path(__file__).with_name('dark.css').read_text(encoding='utf-8')}</style>"


def use() -> None:
    """Gives matplotlib the course's colours, type and axes; in a notebook its pictures are sharp on fine screens, too."""
    import matplotlib as mpl
    from cycler import cycler
    from IPython.core.getipython import get_ipython
    from matplotlib_inline.config import InlineBackend

    lines = ["-", "--", "-.", ":", (0, (5, 1, 1, 1, 1, 1)), (0, (1, 1))]
    settings: Any = SETTINGS | {"axes.prop_cycle": cycler(color=SERIES) + cycler(linestyle=lines)}
    mpl.rcParams.update(settings)
    shell = get_ipython()
    if shell is not None:  # two pixels for each, whether or not a picture was drawn before
        shell.config.InlineBackend.figure_formats = {"retina"}
        if InlineBackend.initialized():
            InlineBackend.instance().figure_formats = {"retina"}
