"""Colours and type of every figure, in SVG and in matplotlib. Notebooks call `style.use()` once.

A colour means one thing (all are Okabe and Ito's, safe for the colour-blind, some darker so that words can be written in them):

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

POSITIVE = "#0072B2"
NEGATIVE = "#D55E00"
NEUTRAL = "#9AA3AE"  # a value of exactly zero, a silent neuron
INK = "#1F2933"
MUTED = "#5B6673"  # second-rank text: 5.9 to 1 on paper
RULE = "#CBD2D9"  # axes, grid, edges of boxes
TINT = "#EDF0F3"  # backgrounds and grid inside a figure
GHOST = "#DCE1E7"  # what was there before
PAPER = "#FFFFFF"

CHOSEN = "#007F5B"
LOST = "#A9457F"
REFERENCE = MUTED
SERIES = ("#2E86C1", "#9A6A00", "#009E73", "#B14A88", "#56504A", "#7B5EA7")
FFN, ATTENTION, AROUND = SERIES[0], SERIES[1], NEUTRAL

FONT = "system-ui, -apple-system, 'Segoe UI', Roboto, 'Helvetica Neue', Arial, sans-serif"


def _mix(low: str, high: str, share: float) -> str:
    ends = [(int(low[i : i + 2], 16), int(high[i : i + 2], 16)) for i in (1, 3, 5)]
    return "#" + "".join(f"{round(a + (b - a) * share):02X}" for a, b in ends)


def diverging(value: float, limit: float) -> str:
    """The colour of a value, from -limit (orange) over 0 (paper) to limit (blue), and no further."""
    if not limit > 0:
        raise ValueError(f"the limit of a colour scale must be positive, not {limit}")
    return _mix(PAPER, POSITIVE if value >= 0 else NEGATIVE, min(abs(value) / limit, 1.0))


def signed(value: float) -> str:
    """The colour of a bar: positive, negative, or neutral at exactly zero."""
    return POSITIVE if value > 0 else NEGATIVE if value < 0 else NEUTRAL


def pale(colour: str, share: float = 0.2) -> str:
    """A colour as a filling, on which ink can be read: `share` of it on paper."""
    return _mix(PAPER, colour, share)


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
