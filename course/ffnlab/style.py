"""Colours and type of every figure, in SVG and in matplotlib. Notebooks call `style.use()` once.

Blue is positive and orange is negative (Okabe and Ito's colour-blind safe pair); direction, label or marker
always says it a second time.
"""

from __future__ import annotations

POSITIVE = "#0072B2"
NEGATIVE = "#D55E00"
NEUTRAL = "#9AA3AE"  # a value of exactly zero, a silent neuron
INK = "#1F2933"
MUTED = "#5B6673"  # second-rank text: 5.9 to 1 on paper
RULE = "#CBD2D9"  # axes, grid, edges of boxes
TINT = "#EDF0F3"  # backgrounds and grid inside a figure
GHOST = "#DCE1E7"  # what was there before
PAPER = "#FFFFFF"
ACCENTS = ("#0072B2", "#D55E00", "#009E73", "#CC79A7", "#8C6D00", "#56B4E9")

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


def use() -> None:
    """Gives matplotlib the course's colours, type and axes."""
    import matplotlib as mpl
    from cycler import cycler

    lines = ["-", "--", "-.", ":", (0, (5, 1, 1, 1, 1, 1)), (0, (1, 1))]
    mpl.rcParams.update(
        {
            "axes.axisbelow": True,
            "axes.edgecolor": MUTED,
            "axes.facecolor": PAPER,
            "axes.grid": True,
            "axes.labelcolor": INK,
            "axes.labelsize": 12,
            "axes.prop_cycle": cycler(color=ACCENTS) + cycler(linestyle=lines),
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
    )
