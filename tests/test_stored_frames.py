"""Pictures of figures that are drawn beforehand: which, how they are packed, and that those of the course are those that its code draws."""

from __future__ import annotations

import json
import random
from pathlib import Path
from typing import Any

import pytest

from autograder.authoring import build, frames
from autograder.errors import UserError
from autograder.site.needed import find_cells_to_run
from ffnlab.drawing import controls, stored_frames, svg
from ffnlab.drawing.picture import Picture
from ffnlab.registry import active_course

SAMPLES = 3  # states of a figure that are drawn again


def figures_of(notebook: str, monkeypatch: pytest.MonkeyPatch) -> list[controls.Figure]:
    """The figures that a solution notebook shows."""
    figures: list[controls.Figure] = []
    monkeypatch.setattr(controls, "show", lambda draw, /, **inputs: figures.append(controls.Figure(draw, inputs)))
    cells = {
        str(cell.metadata.nbgrader.grade_id): cell.source
        for cell in build.notebook_of(notebook).cells
        if cell.cell_type == "code"
    }
    namespace: dict[str, Any] = {}
    for name in cells:
        if name in find_cells_to_run([*cells.items()], ("controls",)):
            exec(cells[name], namespace)
    return figures


@pytest.mark.parametrize("notebook", active_course().notebooks)
def test_the_pictures_that_are_stored_are_those_that_the_code_draws(
    notebook: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    notebook_figures = figures_of(notebook, monkeypatch)
    folder = active_course().frames_folder / notebook
    figures = {str(stored_frames.name(figure)): figure for figure in notebook_figures}
    files = {file.name for file in folder.glob("*")}
    assert figures.keys() == files, "make build"
    chance = random.Random(0)
    for figure in figures.values():
        packed = stored_frames.find(figure)
        assert packed
        stored = stored_frames.unpack(packed)
        assert frames.read_source_hashes()[str(stored_frames.name(figure))] == frames.hash_sources(figure), "make build"
        stops = {control["name"]: [stop["label"] for stop in control["stops"]] for control in stored["controls"]}
        start = ",".join(str(stored["at"][name]) for name in stops)
        for state in {start, *chance.sample(sorted(stored["frames"]), min(SAMPLES, len(stored["frames"])))}:
            labels = {name: stops[name][int(n)] for name, n in zip(stops, state.split(","), strict=True)}
            indices = {
                name: [stop for stop, _ in control.stops].index(labels[name])
                for name, control in figure.controls.items()
            }
            row = stored["pictures"][stored["frames"][state]]
            assert "".join(stored["pieces"][n] for n in row) == figure.html(indices), f"{labels}: make build"


def test_only_the_courses_own_figures_of_plain_data_have_pictures() -> None:
    x = controls.slider("x", 0, 4, 1, 1)
    draw = figures_module().added
    assert stored_frames.name(controls.Figure(draw, {"position": x}))
    assert stored_frames.name(controls.Figure(plane, {"x": x})) is None  # a reader's own
    assert stored_frames.name(controls.Figure(draw, {"position": x, "model": lambda: 0})) is None
    other = controls.slider("x", 0, 5, 1, 1)
    names = {stored_frames.name(controls.Figure(draw, {"position": control})) for control in (x, other)}
    assert len(names) == 2


def test_files_that_say_the_same_are_left_alone_and_others_go(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(frames, "SOURCE_HASHES", tmp_path / "drawn.json")
    folder = tmp_path / "frames"

    def save(**files: str) -> None:
        contents = {f"{name}.gz": frames.compress(text) for name, text in files.items()}
        frames.save(
            folder, contents | {name + frames.FROM: text.encode() for name, text in zip(contents, files, strict=True)}
        )

    save(same="{}", old="[]")
    before = (folder / "same.gz").stat().st_mtime_ns
    save(same="{}", new="[1]")
    assert (folder / "same.gz").stat().st_mtime_ns == before
    assert {file.name for file in folder.iterdir()} == {"same.gz", "new.gz"}
    assert frames.read_source_hashes() == {"same.gz": "same", "new.gz": "new"}


def figures_module() -> Any:
    from ffnlab.course.figures import start_here

    return start_here


def plane(x: float = 0.0, y: float = 0.0) -> Picture:
    sentence = f"x is {x:g}, y is {y:g}."
    return Picture("A plane", sentence, svg.card(160, "A plane", sentence, svg.text(20, 130, sentence)))


def wide(count: int) -> dict[str, controls.Control]:
    return {name: controls.slider(name, -10, 10, 1, 3) for name in "abcdefgh"[:count]}


def test_a_small_figure_has_every_combination() -> None:
    small = {"x": controls.slider("x", 0, 4, 1, 1), "word": controls.choice("word", ["one", "two"], "one")}
    grid = frames.grid(small, frames.MAX_FRAMES)
    assert len(grid) == len(list(grid.states())) == 10 and grid.is_whole(small)


@pytest.mark.parametrize("count", [2, 3, 5, 8])
def test_a_large_figure_keeps_its_start_and_its_ends(count: int) -> None:
    grid = frames.grid(wide(count), frames.MAX_FRAMES)
    states = list(grid.states())
    assert len(grid) == len(states) <= frames.MAX_FRAMES
    assert len({tuple(state.values()) for state in states}) == len(states)
    assert all({0, 13, 20} <= set(stops) for stops in grid.stops.values())
    assert (grid.depth < count) == (3**count > frames.MAX_FRAMES)
    assert grid.start in states


def test_what_is_chosen_by_name_loses_no_option() -> None:
    words = [f"word {number}" for number in range(30)]
    grid = frames.grid({"word": controls.choice("word", words, "word 3")} | wide(2), frames.MAX_FRAMES)
    assert len(grid.stops["word"]) == 30 and len(grid) <= frames.MAX_FRAMES
    with pytest.raises(ValueError, match="more than 400 pictures"):
        frames.grid({"word": controls.choice("word", range(401), 0)}, frames.MAX_FRAMES)


def test_what_marks_press_loses_no_stop() -> None:
    grid = frames.grid(wide(3), frames.MAX_FRAMES, {"b"})
    assert len(grid.stops["b"]) == 21 and len(grid) <= frames.MAX_FRAMES


def test_pictures_come_out_as_they_went_in() -> None:
    pictures = ["<svg><b>x</b></svg>", "<svg><b>y</b></svg>", "words <i>and</i> words"]
    packed = json.loads(json.dumps(frames.pack(pictures)))
    assert ["".join(packed["pieces"][n] for n in row) for row in packed["pictures"]] == pictures


def test_equal_pictures_are_stored_once() -> None:
    figure = controls.Figure(
        lambda x, y: plane(x=float(x)), {"x": controls.slider("x", 0, 3, 1, 0), "y": controls.slider("y", 0, 3, 1, 0)}
    )
    stored = stored_frames.unpack(frames.draw(figure))
    assert (len(stored["frames"]), len(stored["pictures"])) == (16, 4)


def test_a_figure_that_can_not_be_drawn_ends_the_build() -> None:
    def broken(x: int) -> Picture:
        if x == 2:
            raise ZeroDivisionError("nothing to divide by")
        return plane(x=x)

    with pytest.raises(UserError, match=r"the figure broken at x = 2: .*nothing to divide by"):
        frames.draw(controls.Figure(broken, {"x": controls.slider("x", 0, 3, 1, 0)}))
