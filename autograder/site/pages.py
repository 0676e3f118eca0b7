"""A notebook as a page: what its student gets to read, with the outputs and figures of a run, quizzes that can be answered, and no check to run.

The texts and stubs are those of nbgrader's own steps from a solution notebook to a student's; nothing of a solution's text gets here.
"""

from __future__ import annotations

import json
from collections.abc import Iterator
from html import escape, unescape
from re import search
from typing import Any

import nbformat
from nbgrader.preprocessors import ClearHiddenTests, ClearSolutions

from autograder.authoring import build
from autograder.authoring.markers import without_label
from autograder.errors import UserError
from autograder.site.running import (
    BOARD,
    FIGURE,
    PREDICTION,
    ExecutedNotebook,
    FigureOnPage,
    Output,
    cell_name,
    is_check,
)
from ffnlab.checking import checks, panel, reference_files
from ffnlab.diagnosis.recognition import is_quiz
from ffnlab.drawing.picture import wrap_figure
from ffnlab.observation.exercise import Exercise, public_seed
from ffnlab.observation.plain_data import Failure
from ffnlab.phrases import plural
from ffnlab.prediction import prediction_widget
from ffnlab.registry import active_course


def students(assignment: str) -> Any:
    """The notebook as its student gets it, without outputs."""
    notebook = build.notebook_of(assignment)
    for step in (ClearSolutions, ClearHiddenTests):
        notebook, _ = step(config=build.course_config()).preprocess(notebook, {"metadata": {}})
    return notebook


def page(assignment: str, execution: ExecutedNotebook) -> str:
    """The page of a notebook, as a notebook for myst-nb.

    Raises:
        UserError: the shipped reference outputs of a quiz are not there.
    """
    notebook = students(assignment)
    exercises = {exercise.name: exercise for exercise in active_course().exercises_of(assignment)}
    cells = [page_cell for cell in notebook.cells for page_cell in _cells(assignment, cell, exercises, execution)]
    title = next(index for index, cell in enumerate(cells) if cell.cell_type == "markdown")
    cells.insert(title + 1, _html(_introduction(assignment)))
    notebook.cells = cells
    for place, cell in enumerate(cells):
        cell.id = f"cell-{place}"
    return str(nbformat.writes(notebook))


def _introduction(assignment: str) -> str:
    return (
        '<p class="ffn-open">This page is for reading. To write code and have it checked, open the notebook in JupyterLab: '
        f"<code>python start.py</code> in the folder <code>course</code>, then <code>{assignment}</code>.</p>"
    )


def _cells(assignment: str, cell: Any, exercises: dict[str, Exercise], execution: ExecutedNotebook) -> Iterator[Any]:
    """What stands on the page for a cell. A new kind of call in a notebook gets its place here."""
    name = cell_name(cell)
    kinds = {kind for output in execution.outputs.get(name, []) for kind in output.get("data", {})}
    if cell.cell_type != "code":
        yield nbformat.v4.new_markdown_cell(cell.source)
    elif is_check(cell):
        return
    elif name in exercises and is_quiz(exercises[name]):
        yield _html(quiz(exercises[name]))
    elif name in exercises:
        yield _code(cell.source, [], "exercise")
        yield _html(_below(exercises[name]))
    elif kinds & {FIGURE, BOARD, PREDICTION} or without_label(cell.source).startswith("veil("):
        if kinds & {FIGURE, BOARD}:
            yield _code(cell.source, [], "hide-input")
        for output in execution.outputs[name]:
            yield _html(_output(assignment, output, execution))
    else:
        html_outputs = [_output(assignment, output, execution) for output in execution.outputs[name]]
        yield _code(cell.source, html_outputs, *(["hide-input"] if name == "imports" else []))


def _code(source: str, html_outputs: list[str], *tags: str) -> Any:
    outputs = [nbformat.v4.new_output("display_data", {"text/html": html}) for html in html_outputs if html]
    return nbformat.v4.new_code_cell(source, outputs=outputs, metadata={"tags": list(tags)})


def _html(html: str) -> Any:
    return _code("# shown without its code", [html], "remove-input")


def _output(assignment: str, output: Output, execution: ExecutedNotebook) -> str:
    if "text" in output:
        return f"<pre>{escape(output['text'].rstrip())}</pre>"
    data = output["data"]
    if FIGURE in data:
        return figure(assignment, execution.figures[data[FIGURE]])
    if BOARD in data:
        return str(data[BOARD])
    if PREDICTION in data:
        return prediction(data[PREDICTION])
    if "image/svg+xml" in data:
        svg = data["image/svg+xml"]
        words = search(r"<desc>(.*?)</desc>", svg)
        return _wide(wrap_figure(svg, words[1] if words else "", 720))
    if "image/png" in data:
        text = str(data.get("text/plain", ""))
        alt = "a plot, drawn by the code above" if text.startswith("<Figure") else text
        return _wide(wrap_figure(f'<img src="data:image/png;base64,{data["image/png"]}" alt="{escape(alt)}">', "", 720))
    if "text/html" in data:
        return str(data["text/html"])
    return f"<pre>{escape(str(data.get('text/plain', '')))}</pre>"


def figure(assignment: str, figure_on_page: FigureOnPage) -> str:
    """A figure: its still picture with its sentence, and, for site.js, its controls and where all its pictures are."""
    limits = figure_on_page.pictures["limits"]
    note = (
        f'<p class="ffn-fewer">This page has {limits}; in the notebook everything moves freely.</p>' if limits else ""
    )
    about = {key: figure_on_page.pictures[key] for key in ("controls", "at")}
    return (
        f'<div class="ffn-figure" data-frames="../frames/{assignment}/{figure_on_page.name}.json.gz">'
        f'{_data(about)}<div class="ffn-here">{_wide(figure_on_page.still)}</div>{note}</div>'
    )


def prediction(name: str) -> str:
    """A prediction: its question with the explanation in a fold, as a saved notebook has it, and, for site.js, what prediction_widget.js needs to ask it.

    Raises:
        LookupError: there is none of that name.
    """
    definition = active_course().prediction(name)
    return (
        f'<div class="ffn-predict" data-name="{name}">{_data(prediction_widget.as_json(definition))}'
        f'<div class="ffn-here">{prediction_widget.saved_html(definition)}</div></div>'
    )


def _data(about: dict[str, Any]) -> str:
    """JSON for site.js, in the page itself."""
    text = json.dumps(about, ensure_ascii=False, allow_nan=False).replace("<", "\\u003c")
    return f'<script type="application/json">{text}</script>'


def _wide(picture: str) -> str:
    """A picture in a box that scrolls where the screen is narrower than type that can be read. Where it does not, site.js makes a mere box of it."""
    return (
        f'<div class="ffn-wide" tabindex="0" role="group" aria-label="A picture that scrolls sideways">{picture}</div>'
    )


def quiz(exercise: Exercise) -> str:
    """The letters of a quiz, and what `quiz` says to each: shown by the style sheet alone when its letter is chosen.

    Raises:
        UserError: its shipped reference outputs are not there.
    """
    name = exercise.name
    try:
        reference_outputs = reference_files.load_public(name)
    except reference_files.NoReferenceOutputs:
        raise UserError(f"the shipped reference outputs of {name} are not there: run `make build`") from None
    seeds = [public_seed(name, case) for case in range(exercise.cases)]
    letters = [letter for letter in "ABCDEFGH" if not isinstance(exercise.observe(letter, {})["choice"], Failure)]
    choices, replies = [], []
    for letter in letters:
        verdict, _ = checks.examine(exercise, reference_outputs, letter, seeds)
        panel_html = panel.of_verdict(verdict, exercise.understood).html
        choices.append(f'<label><input type="radio" name="{name}" value="{letter}"><span>{letter}</span></label>')
        replies.append(f'<div class="ffn-said" data-letter="{letter}">{panel_html}</div>')
    return (
        f'<fieldset class="ffn-quiz"><legend>Your answer to <code>{name}</code></legend>'
        f'<div class="ffn-letters">{"".join(choices)}</div>{"".join(replies)}</fieldset>'
    )


def _below(exercise: Exercise) -> str:
    """What stands under an exercise: how it is checked, and its hints, one in the other."""
    points = plural(f"{exercise.points:g}", "point")
    hints = ""
    for number, hint in reversed(list(enumerate(exercise.hints, 1))):
        head = "A hint" if number == 1 else "One more"
        hints = f"<details><summary>{head}</summary><p>{_with_code(hint)}</p>{hints}</details>"
    return (
        f'<div class="ffn-below"><p>Write it in JupyterLab: <code>check("{exercise.name}", …)</code> under the cell says what is right, and '
        f"names the mistake where it knows it ({points}).</p>{hints}</div>"
    )


def _with_code(text: str) -> str:
    parts = escape(unescape(text)).split("`")
    if len(parts) % 2 == 0:
        return escape(text)
    return "".join(f"<code>{part}</code>" if index % 2 else part for index, part in enumerate(parts))
