"""Sliders, drop-downs and ticks over a figure whose elements can be touched: `controls.show`.

A control is a list of stops, each with a name and a value; a figure's state is one stop for each parameter. So a web page can hold
a picture for every state, and nothing on the way from a hand to `draw` is ever a value that the notebook's author did not name.

A saved notebook shows the picture and its sentence, and plays the pictures that are stored with the course.
"""

from __future__ import annotations

import inspect
from collections.abc import Callable, Iterable
from dataclasses import dataclass, replace
from functools import partial
from html import escape
from typing import TYPE_CHECKING, Any

from ffnlab.drawing import stored_frames, style, widget_output
from ffnlab.drawing.picture import Picture, wrap_figure
from ffnlab.environment import is_unattended

if TYPE_CHECKING:
    from ffnlab.drawing.figure_widget import FigureWidget

DrawFunction = Callable[..., Picture]
ASLEEP = "<em>This is a saved picture. Run the cell to move it.</em>"


@dataclass(frozen=True)
class Control:
    """A parameter with its stops, and the one it starts at."""

    label: str
    kind: str  # "slider", "play", "choice", "toggle", or "free" for one that only the picture's own elements set
    stops: tuple[tuple[str, Any], ...]  # each (name, value)
    start: int
    interval: int = 0  # milliseconds between two steps of a play

    @property
    def value(self) -> Any:
        """The value at the start."""
        return self.stops[self.start][1]


def slider(label: str, low: float, high: float, step: float, value: float) -> Control:
    """A slider from low to high, both included. Whole numbers give whole numbers.

    Raises ValueError when the range is empty, the step not positive, or the value outside or between two steps.
    """
    _check_label(label)
    if not low < high:
        raise ValueError(f"slider {label!r}: low must be below high, not {low} and {high}")
    if not step > 0:
        raise ValueError(f"slider {label!r}: the step must be positive, not {step}")
    if not low <= value <= high:
        raise ValueError(f"slider {label!r}: the value {value} is outside {low} to {high}")
    whole = all(isinstance(number, int) for number in (low, high, step, value))
    digits = 0 if whole else max(len(f"{float(step):g}".partition(".")[2]), 1)
    count = int((high - low) / step + 1e-9) + 1
    values = [low + step * n if whole else round(low + step * n, 9) for n in range(count)]
    start = min(range(count), key=lambda n: abs(values[n] - value))
    if abs(values[start] - value) > 1e-6 * step:
        raise ValueError(f"slider {label!r}: the value {value} is between two steps of {step}")
    return Control(
        label, "slider", tuple((f"{number:.{digits}f}".replace("-", "−"), number) for number in values), start
    )


def play(label: str, low: int, high: int, step: int, value: int, interval: int = 600) -> Control:
    """A slider over whole numbers, with a play button that makes one step every `interval` milliseconds."""
    if not all(isinstance(number, int) for number in (low, high, step, value)):
        raise ValueError(f"play {label!r} moves over whole numbers only; use a slider for others")
    plain = slider(label, low, high, step, value)
    return Control(label, "play", plain.stops, plain.start, interval)


def steps(label: str, options: Iterable[Any], value: Any, interval: int = 0) -> Control:
    """A slider over named values, in their order: plain values, or (name, value) pairs; with an interval, in milliseconds, it can play."""
    control = _make_control("slider", label, options, value)
    return replace(control, kind="play", interval=interval) if interval else control


def choice(label: str, options: Iterable[Any], value: Any) -> Control:
    """A drop-down: plain values, or (name, value) pairs."""
    return _make_control("choice", label, options, value)


def free(label: str, options: Iterable[Any], value: Any) -> Control:
    """A parameter without a control of its own: the picture's elements set it, with the mouse, a finger or the keyboard."""
    return _make_control("free", label, options, value)


def toggle(label: str, value: bool = False) -> Control:
    """A box to tick."""
    _check_label(label)
    return Control(label, "toggle", (("no", False), ("yes", True)), int(value))


def show(draw: DrawFunction, /, **parameters: Any) -> None:
    """Displays the controls among `parameters` over the picture `draw(**values)`; others are passed on.

    Every change draws again. When that fails, or the first drawing raises NotImplementedError, the figure
    says so in words.
    Raises ValueError at once when `draw` has no such parameter, or lacks one.
    """
    widget, picture = make_widget(draw, **parameters)
    if not isinstance(picture, Picture):
        widget_output.show(widget, widget.picture["html"], picture)
        return
    still = f"{picture.still()}<p>{ASLEEP}</p>"
    archive = None if is_unattended() else stored_frames.find(Figure(draw, parameters))
    widget_output.show(widget, partial(stored_frames.html, still, archive) if archive else still, picture.words)


def make_widget(draw: DrawFunction, /, **parameters: Any) -> tuple[FigureWidget, Picture | str]:
    """The widget that `show` displays, and its first picture (or why there is none yet)."""
    from ffnlab.drawing.figure_widget import FigureWidget

    figure = Figure(draw, parameters)
    picture = figure.first()
    html = picture.html() if isinstance(picture, Picture) else figure.html(figure.start)
    return FigureWidget(figure.describe(), figure.start, html, figure.html), picture


class Figure:
    """A draw function with its controls: what it shows at each state, which is {parameter: index of its stop}.

    Raises ValueError when `draw` has no such parameter, or lacks one.
    """

    def __init__(self, draw: DrawFunction, parameters: dict[str, Any]) -> None:
        _check_parameters(draw, parameters)
        self.draw = draw
        self.controls = {name: value for name, value in parameters.items() if isinstance(value, Control)}
        self.fixed = {name: value for name, value in parameters.items() if name not in self.controls}
        self.start = {name: control.start for name, control in self.controls.items()}
        self._size = (720.0, 240.0)

    def picture(self, state: dict[str, int]) -> Picture:
        """The picture at a state. Raises what `draw` raises."""
        values = {name: _value(control, state.get(name)) for name, control in self.controls.items()}
        picture = self.draw(**self.fixed, **values)
        self._size = picture.size
        return picture

    def first(self) -> Picture | str:
        """The picture at the start, or why there is none yet. Raises what `draw` raises but for NotImplementedError."""
        try:
            return self.picture(self.start)
        except NotImplementedError as error:
            return describe_failure(error)[0]

    def html(self, state: dict[str, int]) -> str:
        """The picture at a state with its sentence, or in its place what happened."""
        try:
            return self.picture(state).html()
        except Exception as error:
            return _instead(*describe_failure(error), self._size)

    def describe(self) -> list[dict[str, Any]]:
        """The controls as JSON data, for figure_widget.js. A value that JSON lacks stays here: nothing in a picture sets it."""
        return [
            {
                "name": name,
                "label": control.label,
                "kind": control.kind,
                "interval": control.interval,
                "stops": [{"label": label, "value": _json(value)} for label, value in control.stops],
            }
            for name, control in self.controls.items()
        ]


def _value(control: Control, index: object) -> Any:
    if not isinstance(index, int) or not 0 <= index < len(control.stops):
        raise ValueError(f"“{control.label}” has no stop {index!r}")
    return control.stops[index][1]


def _json(value: Any) -> Any:
    if isinstance(value, (list, tuple)):
        return [_json(part) for part in value]
    return value if value is None or isinstance(value, (bool, int, float, str)) else None


def _check_label(label: str) -> None:
    if not label.strip():
        raise ValueError("a control needs a label")


def _make_control(kind: str, label: str, options: Iterable[Any], value: Any) -> Control:
    _check_label(label)
    pairs = tuple(option if isinstance(option, tuple) else (str(option), option) for option in options)
    for index, (_, option) in enumerate(pairs):
        if option == value:
            return Control(label, kind, pairs, index)
    names = ", ".join(name for name, _ in pairs) or "its 0 options"
    raise ValueError(f"control {label!r}: {value!r} is not one of {names}")


def _check_parameters(draw: DrawFunction, parameters: dict[str, Any]) -> None:
    name = getattr(draw, "__name__", "this figure")
    signature = inspect.signature(draw).parameters
    if any(parameter.kind is parameter.VAR_KEYWORD for parameter in signature.values()):
        return
    for key in parameters:
        if key not in signature:
            raise ValueError(f"{name} has no parameter {key!r}; it has {', '.join(signature) or 'none'}")
    for key, parameter in signature.items():
        if parameter.default is parameter.empty and key not in parameters:
            raise ValueError(f"{name} needs a value or a control for {key!r}")


def describe_failure(error: Exception, what: str = "figure") -> tuple[str, str]:
    """What happened to a figure, or to a board, of the reader's own code, and what to do."""
    reason = str(error).strip().splitlines()
    if isinstance(error, NotImplementedError):
        first = f": {reason[0].rstrip('.')}" if reason else ""
        return f"This {what} lights up when the code it shows is written{first}.", "Then run this cell again."
    first = f"This {what} could not be drawn: {reason[0].rstrip('.') if reason else type(error).__name__}."
    if isinstance(error, NameError):
        return first, "Run the cells above that define what is missing, then this one again."
    return first, "Move a control to try other values." if what == "figure" else "Then run this cell again."


def _instead(words: str, then: str, size: tuple[float, float]) -> str:
    width, height = size
    notice = (
        f'<div role="alert" style="aspect-ratio:{width:g}/{height:g};box-sizing:border-box;padding:24px;'
        f"border-radius:10px;border:1px dashed {style.MUTED};font-size:15px;line-height:22px;"
        f'color:var(--jp-content-font-color1,inherit)">'
        f"{escape(words)}</div>"
    )
    return wrap_figure(notice, then, width)
