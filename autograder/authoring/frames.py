"""A figure's pictures, drawn beforehand: one for every state that a reader can bring it to without Python, packed for the way through the wire.

They are drawn when a notebook is built, and shipped with the course (`ffnlab/drawing/stored_frames.py`).

Every combination of stops has a picture, where there are no more than `MAX_FRAMES`. Else a control that is a scale, and that no element sets by being pressed,
keeps fewer stops, its start and its ends among them; and where even that would be too many, only so many controls leave their start at the same time
(`Grid.depth`).
"""

from __future__ import annotations

import gzip
import inspect
import itertools
import json
import re
from collections.abc import Collection, Iterator, Mapping, Sequence
from dataclasses import dataclass
from html import unescape
from pathlib import Path
from typing import Any

from autograder import source_hash
from autograder.errors import UserError
from autograder.files import replace
from ffnlab.drawing import controls, stored_frames
from ffnlab.drawing.controls import Control, Figure

MAX_FRAMES = 400  # pictures of a figure
SOURCE_HASHES = Path(__file__).with_name("drawn_frames.json")
FROM = ".from"  # behind the name of a file: another one, with what its pictures were drawn from
ERROR_ATTRIBUTE = 'role="alert"'  # what Figure.html shows in the place of a picture that could not be drawn


@dataclass(frozen=True)
class Grid:
    """The states that are drawn."""

    start: dict[str, int]  # by parameter, the index of the stop at which it starts
    stops: dict[str, tuple[int, ...]]  # by parameter, the indices of the stops that a page offers
    depth: int  # how many controls may be away from their start

    def __len__(self) -> int:
        """How many states there are."""
        ways = [1]  # by how many controls are away from their start
        for stops in self.stops.values():
            others = len(stops) - 1
            ways = [here + others * before for here, before in zip([*ways, 0], [0, *ways], strict=True)]
        return sum(ways[: self.depth + 1])

    def states(self) -> Iterator[dict[str, int]]:
        """Each state, as {parameter: index of its stop}; neighbours differ in the last control."""
        for indices in itertools.product(*self.stops.values()):
            state = dict(zip(self.stops, indices, strict=True))
            if sum(state[name] != self.start[name] for name in state) <= self.depth:
                yield state

    def is_whole(self, controls: dict[str, Control]) -> bool:
        """Whether every combination of all stops is among the states."""
        return self.depth >= len(self.stops) and all(
            len(self.stops[name]) == len(control.stops) for name, control in controls.items()
        )


def grid(controls: dict[str, Control], most: int, element_parameters: Collection[str] = ()) -> Grid:
    """The states of a figure with these controls that are drawn: `most` at the most.

    element_parameters: the parameters that the picture's own elements set. They keep every stop, or an element would lead elsewhere than it says.

    Raises:
        ValueError: there are more options to choose among than that.
    """
    start = {name: control.start for name, control in controls.items()}
    scales = {name for name, control in controls.items() if _is_scale(control) and name not in element_parameters}
    for depth in dict.fromkeys((len(controls), 2, 1)):
        pieces = {name: len(control.stops) - 1 for name, control in controls.items()}
        while True:
            stops = {
                name: _spread(control, pieces[name]) if name in scales else tuple(range(len(control.stops)))
                for name, control in controls.items()
            }
            candidate = Grid(start, stops, depth)
            if len(candidate) <= most:
                return candidate
            fewer = [name for name in controls if name in scales and pieces[name] > 2]
            if not fewer:
                break
            pieces[max(fewer, key=lambda name: pieces[name])] -= 1
    raise ValueError(f"more than {most} pictures, though one control moves at a time")


def _is_scale(control: Control) -> bool:
    """Whether stops between two others can be left out: names that are chosen by a list or an element can't."""
    numbers = all(isinstance(value, (int, float)) and not isinstance(value, bool) for _, value in control.stops)
    return control.kind in ("slider", "play") or (control.kind == "free" and numbers)


def _spread(control: Control, pieces: int) -> tuple[int, ...]:
    """The indices of about pieces + 1 stops, evenly on both sides of the start; the start and the ends are always among them."""
    last = len(control.stops) - 1
    if pieces >= last:
        return tuple(range(last + 1))
    below = min(max(round(pieces * control.start / last), int(control.start > 0)), pieces - int(control.start < last))
    above = pieces - below
    places = {control.start, 0, last}
    places |= {round(control.start * n / below) for n in range(below)} if below else set()
    places |= {round(control.start + (last - control.start) * n / above) for n in range(above + 1)} if above else set()
    return tuple(sorted(places))


def compress(text: str) -> bytes:
    """A text with gzip, the same bytes each time."""
    return gzip.compress(text.encode(), 9, mtime=0)


def draw(figure: Figure) -> bytes:
    """The packed pictures of a figure, as `stored_frames` reads them.

    Raises:
        UserError: one can't be drawn, or there are too many.
    """
    name = getattr(figure.draw, "__name__", "without a name")
    try:
        picture_grid = grid(figure.controls, MAX_FRAMES, _find_element_parameters(figure.html(figure.start)))
    except ValueError as error:
        raise UserError(f"the figure {name} has {error}") from None
    numbers: dict[str, int] = {}  # by picture
    frames: dict[str, int] = {}  # by state, as text
    for state in picture_grid.states():
        html = figure.html(state)
        if ERROR_ATTRIBUTE in html:
            raise UserError(f"the figure {name} at {_format_state(figure, state)}: {_words(html)}")
        places = ",".join(str(picture_grid.stops[key].index(index)) for key, index in state.items())
        frames[places] = numbers.setdefault(html, len(numbers))
    content = {
        "controls": [
            control | {"stops": [control["stops"][index] for index in picture_grid.stops[control["name"]]]}
            for control in figure.describe()
        ],
        "at": {key: picture_grid.stops[key].index(index) for key, index in figure.start.items()},
        "limits": _limits(figure, picture_grid),
        "frames": frames,
    }
    return compress(
        json.dumps(content | pack(list(numbers)), ensure_ascii=False, separators=(",", ":"), allow_nan=False)
    )


def hash_sources(figure: Figure) -> str:
    """A hash of the code and the stored results that the pictures of a figure are drawn from."""
    return source_hash.version(Path(inspect.getfile(figure.draw)), Path(__file__))[:16]


def read_source_hashes() -> dict[str, str]:
    """By file, what its pictures were drawn from. It is kept apart from them, so that a file changes only where a picture does."""
    return dict(json.loads(SOURCE_HASHES.read_text(encoding="utf-8"))) if SOURCE_HASHES.is_file() else {}


def keep_into(folder: str) -> None:
    """From now on, `controls.show` in this process also writes all pictures of each of the course's own figures to a file in `folder`.

    Those that are stored with the course are drawn anew only if the code that draws them has changed.
    """
    plainly = controls.show

    def show(draw_picture: controls.DrawFunction, /, **parameters: Any) -> None:
        plainly(draw_picture, **parameters)
        figure = Figure(draw_picture, parameters)
        if name := stored_frames.name(figure):
            stored = stored_frames.find(figure)
            sources = hash_sources(figure)
            is_current = stored is not None and read_source_hashes().get(name) == sources
            Path(folder, name).write_bytes(stored if stored and is_current else draw(figure))
            Path(folder, name + FROM).write_text(sources, encoding="utf-8")

    controls.show = show


def save(folder: Path, files: Mapping[str, bytes]) -> None:
    """Make `folder` hold what `keep_into` has written, and nothing else; a file that says the same is left as it is, whatever version of zlib has packed it."""
    source_hashes = {name.removesuffix(FROM): text.decode() for name, text in files.items() if name.endswith(FROM)}
    old = {file.name for file in folder.glob("*.gz")}
    for name in old - {*source_hashes}:
        (folder / name).unlink()
    for name in source_hashes:
        file = folder / name
        if name not in old or gzip.decompress(file.read_bytes()) != gzip.decompress(files[name]):
            replace(file, files[name])
    others = {name: text for name, text in read_source_hashes().items() if name not in old}
    replace(SOURCE_HASHES, json.dumps(others | source_hashes, indent=1, sort_keys=True) + "\n")


def _find_element_parameters(html: str) -> set[str]:
    return {name for sets in re.findall(r'data-sets="([^"]*)"', html) for name in json.loads(unescape(sets))}


def pack(pictures: Sequence[str]) -> dict[str, Any]:
    """Pictures as numbers of pieces, each a tag with the text behind it: most pieces stand in many pictures, and a packer of a server looks only 32 kB back."""
    pieces: dict[str, int] = {}
    rows = [
        [pieces.setdefault(piece, len(pieces)) for piece in re.split(r"(?=<)", picture) if piece]
        for picture in pictures
    ]
    return {"pieces": list(pieces), "pictures": rows}


def _limits(figure: Figure, picture_grid: Grid) -> str:
    """What a reader must know who finds less here than with Python; empty where everything is here."""
    if picture_grid.is_whole(figure.controls):
        return ""
    fewer = any(len(picture_grid.stops[name]) < len(control.stops) for name, control in figure.controls.items())
    parts = ["fewer steps"] if fewer else []
    if picture_grid.depth < len(picture_grid.stops):
        together = (
            "one control at a time"
            if picture_grid.depth == 1
            else f"{picture_grid.depth} controls away from their start"
        )
        parts.append(f"no more than {together}")
    return " and ".join(parts)


def _format_state(figure: Figure, state: dict[str, int]) -> str:
    stops = [f"{name} = {figure.controls[name].stops[index][0]}" for name, index in state.items()]
    return ", ".join(stops) or "its start"


def _words(html: str) -> str:
    return re.sub(r"\s+", " ", re.sub(r"<[^>]*>", " ", html)).strip()
