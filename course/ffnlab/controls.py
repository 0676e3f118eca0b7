"""Sliders, drop-downs and ticks over a figure: `controls.show`. Only this module knows ipywidgets.

One output holds the widgets for a live notebook, the picture for a saved one, and its words for the rest.
"""

from __future__ import annotations

import inspect
from collections.abc import Callable, Iterable
from dataclasses import dataclass
from html import escape
from typing import Any

import ipywidgets
from IPython.display import display

from ffnlab import style
from ffnlab.picture import Picture, framed

Draw = Callable[..., Picture]


@dataclass(frozen=True)
class Control:
    """One described control: `make` builds the widget that holds the value, `around` what is shown of it."""

    label: str
    make: Callable[[dict[str, Any]], ipywidgets.Widget]
    around: Callable[[ipywidgets.Widget], ipywidgets.Widget] = lambda widget: widget
    beside: bool = True  # the label stands to the left of the control


def slider(label: str, low: float, high: float, step: float, value: float) -> Control:
    """A slider from low to high, both included. Whole numbers give whole numbers.

    Raises ValueError when the range is empty, the step not positive, or the value outside.
    """
    _labelled(label)
    if not low < high:
        raise ValueError(f"slider {label!r}: low must be below high, not {low} and {high}")
    if not step > 0:
        raise ValueError(f"slider {label!r}: the step must be positive, not {step}")
    if not low <= value <= high:
        raise ValueError(f"slider {label!r}: the value {value} is outside {low} to {high}")
    whole = all(isinstance(number, int) for number in (low, high, step, value))
    kind = ipywidgets.IntSlider if whole else ipywidgets.FloatSlider
    digits = 0 if whole else max(len(f"{float(step):g}".partition(".")[2]), 1)
    return Control(
        label,
        lambda look: kind(
            value=value, min=low, max=high, step=step, readout_format="d" if whole else f".{digits}f", **look
        ),
    )


def play(label: str, low: int, high: int, step: int, value: int, interval: int = 600) -> Control:
    """A slider over whole numbers, with a play button that makes one step every `interval` milliseconds."""
    if not all(isinstance(number, int) for number in (low, high, step, value)):
        raise ValueError(f"play {label!r} moves over whole numbers only; use a slider for others")
    plain = slider(label, low, high, step, value)

    def with_button(moved: ipywidgets.Widget) -> ipywidgets.Widget:
        button = ipywidgets.Play(min=low, max=high, step=step, value=value, interval=interval, tooltip=f"play: {label}")
        button.link = ipywidgets.jslink((button, "value"), (moved, "value"))
        return ipywidgets.HBox([moved, button], layout=ipywidgets.Layout(overflow="visible"))

    return Control(label, plain.make, with_button)


def steps(label: str, options: Iterable[Any], value: Any) -> Control:
    """A slider over named values, in their order: plain values, or (name, value) pairs."""
    pairs = _pairs(label, options, value)
    return Control(label, lambda look: ipywidgets.SelectionSlider(options=pairs, value=value, **look))


def choice(label: str, options: Iterable[Any], value: Any) -> Control:
    """A drop-down: plain values, or (name, value) pairs."""
    pairs = _pairs(label, options, value)
    return Control(label, lambda look: ipywidgets.Dropdown(options=pairs, value=value, **look))


def toggle(label: str, value: bool = False) -> Control:
    """A box to tick."""
    _labelled(label)
    return Control(label, lambda look: ipywidgets.Checkbox(value=value, **look), beside=False)


def show(draw: Draw, /, **parameters: Any) -> None:
    """Displays the controls among `parameters` over the picture `draw(**values)`; others are passed on.

    Every change draws again. When that fails, or the first drawing raises NotImplementedError, the figure
    says so in words.
    Raises ValueError at once when `draw` has no such parameter, or lacks one.
    """
    box, picture = panel(draw, **parameters)
    view = box._repr_mimebundle_() or {}
    still = picture.bundle() if isinstance(picture, Picture) else {"text/plain": picture}
    display({**view, **still}, raw=True)


def panel(draw: Draw, /, **parameters: Any) -> tuple[ipywidgets.VBox, Picture | str]:
    """The widgets that `show` displays, and the first picture (or why there is none yet)."""
    _accepts(draw, parameters)
    described = {name: value for name, value in parameters.items() if isinstance(value, Control)}
    fixed = {name: value for name, value in parameters.items() if name not in described}
    longest = max((len(control.label) for control in described.values() if control.beside), default=0)
    room = f"{0.56 * longest + 0.8:.1f}em"  # labels of one width, so that the controls stand in columns
    made = {name: control.make(_look(control.label, room)) for name, control in described.items()}
    page = ipywidgets.HTML(layout=ipywidgets.Layout(width="100%", margin="4px 0 0 0"))
    last: list[Picture] = []

    def redraw(_: object = None) -> Picture | str:
        try:
            picture = draw(**fixed, **{name: widget.value for name, widget in made.items()})
        except Exception as error:
            if not last and not isinstance(error, NotImplementedError):
                raise
            words, then = _in_words(error)
            page.value = _instead(words, then, last[0].size if last else (720.0, 240.0))
            return words
        last[:] = [picture]
        page.value = picture.html()
        return picture

    first = redraw()
    for widget in made.values():
        widget.observe(redraw, names="value")
    row = ipywidgets.HBox(
        [described[name].around(widget) for name, widget in made.items()],
        layout=ipywidgets.Layout(flex_flow="row wrap", width="100%", max_width="720px"),
    )
    return ipywidgets.VBox([row, page], layout=ipywidgets.Layout(overflow="visible")), first


def _look(label: str, room: str) -> dict[str, Any]:
    return {
        "description": label,
        "style": {"description_width": room},
        "layout": ipywidgets.Layout(width="344px", margin="2px 8px 2px 0"),
    }


def _labelled(label: str) -> None:
    if not label.strip():
        raise ValueError("a control needs a label")


def _pairs(label: str, options: Iterable[Any], value: Any) -> list[tuple[str, Any]]:
    _labelled(label)
    pairs = [option if isinstance(option, tuple) else (str(option), option) for option in options]
    if not any(option == value for _, option in pairs):
        names = ", ".join(name for name, _ in pairs) or "its 0 options"
        raise ValueError(f"control {label!r}: {value!r} is not one of {names}")
    return pairs


def _accepts(draw: Draw, parameters: dict[str, Any]) -> None:
    name = getattr(draw, "__name__", "this figure")
    known = inspect.signature(draw).parameters
    if any(parameter.kind is parameter.VAR_KEYWORD for parameter in known.values()):
        return
    for given in parameters:
        if given not in known:
            raise ValueError(f"{name} has no parameter {given!r}; it has {', '.join(known) or 'none'}")
    for needed, parameter in known.items():
        if parameter.default is parameter.empty and needed not in parameters:
            raise ValueError(f"{name} needs a value or a control for {needed!r}")


def _in_words(error: Exception) -> tuple[str, str]:
    """What happened, and what to do."""
    reason = str(error).strip().splitlines()
    if isinstance(error, NotImplementedError):
        what = f": {reason[0].rstrip('.')}" if reason else ""
        return f"This figure lights up when the code it shows is written{what}.", "Then run this cell again."
    what = reason[0].rstrip(".") if reason else type(error).__name__
    return f"This figure could not be drawn: {what}.", "Move a control to try other values."


def _instead(words: str, then: str, size: tuple[float, float]) -> str:
    width, height = size
    board = (
        f'<div role="alert" style="aspect-ratio:{width:g}/{height:g};box-sizing:border-box;padding:24px;'
        f"border-radius:10px;border:1px dashed {style.MUTED};font-size:15px;line-height:22px;"
        f'color:var(--jp-content-font-color1,inherit)">'
        f"{escape(words)}</div>"
    )
    return framed(board, then, width)
