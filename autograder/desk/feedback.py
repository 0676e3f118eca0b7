"""What a student gets back: the graded notebook for formgrader, and one page that says, exercise by exercise, what was seen, why, and where to look."""

from __future__ import annotations

import json
from datetime import datetime
from functools import cache
from importlib import resources
from typing import Any

import jinja2

from autograder.desk import handed_in, shown
from autograder.engine.graded import Graded
from autograder.engine.rebuild import Cell, Kind, template
from autograder.house import Class, keep, release
from autograder.marking import outline
from autograder.marking.withheld import withheld
from ffnlab import panel
from ffnlab.cleaning import clean, in_a_line
from ffnlab.verdict import Outcome, Verdict

NOT_ATTEMPTED = (
    "There is no answer here: the cell is as it was handed out, empty or deleted, "
    "or a line `raise NotImplementedError` (or `...`) is still in it."
)


def write(school: Class, student: str, graded: Graded, submitted: datetime | None = None) -> None:
    """Write the graded notebook and the feedback page, where nbgrader expects them. `submitted`: when, in UTC."""
    notebook = school.autograded / student / graded.assignment / f"{graded.assignment}.ipynb"
    keep(notebook, json.dumps(graded_notebook(graded), indent=1, ensure_ascii=False))
    page = school.feedback / student / graded.assignment / f"{graded.assignment}.html"
    keep(page, feedback_page(student, graded))
    stamp = notebook.parent / handed_in.TIMESTAMP
    if submitted:
        keep(stamp, f"{submitted:%Y-%m-%d %H:%M:%S.%f} UTC")
    else:
        stamp.unlink(missing_ok=True)


def graded_notebook(graded: Graded) -> dict[str, Any]:
    """The rebuilt notebook with the outputs that its cells had in the jail, and the verdicts at the checks, as nbformat 4.5's JSON.

    nbformat's own constructors validate every cell, which takes longer than grading it.
    """
    cells = [_cell(cell, graded) for cell in graded.cells]
    if not cells:  # formgrader has a page for it all the same, with a place for each score
        said = [in_a_line(remark) for remark in graded.remarks]
        title = {"cell_type": "markdown", "id": "remarks", "metadata": {}, "source": shown.markdown("\n\n".join(said))}
        cells = [title, *(_cell(cell, Graded(graded.assignment, {})) for cell in template(release(graded.assignment)))]
    kernel = {"display_name": "Python 3", "language": "python", "name": "python3"}
    return {
        "cells": cells,
        "metadata": {"kernelspec": kernel, "language_info": {"name": "python"}},
        "nbformat": 4,
        "nbformat_minor": 5,
    }


def _cell(cell: Cell, graded: Graded) -> dict[str, Any]:
    ours = cell.kind not in (Kind.SOLUTION, Kind.MANUAL, Kind.EXTRA)
    source = cell.source if ours else clean(cell.source, len(cell.source))
    common = {"cell_type": cell.cell_type, "id": cell.id, "metadata": cell.metadata, "source": source}
    if cell.cell_type != "code":
        return common | {"cell_type": "markdown", "source": source if ours else shown.markdown(source)}
    outputs = [shown.output(output) for output in graded.outputs.get(cell.id, [])]
    if cell.kind is Kind.CHECK and cell.name in graded.verdicts:
        bundle = _panel(graded, cell.name)._repr_mimebundle_()
        outputs = [{"output_type": "display_data", "metadata": {}, "data": bundle}]
    return common | {"execution_count": None, "outputs": outputs}


def _panel(graded: Graded, name: str) -> panel.Panel:
    """An exercise's panel. Here nothing can be run again, so what `check` advises about an untouched cell is left out.

    What the code printed is left out too: it was called with hidden inputs, and could have printed them.
    """
    verdict = withheld(graded.verdicts[name])
    if verdict.outcome is Outcome.NOT_ATTEMPTED:
        mark, word = panel.MARKS[verdict.outcome]
        return panel.message(f"{mark} {name}: {word}", NOT_ATTEMPTED)
    return panel.of_verdict(verdict, outline.find(graded.assignment, name).understood)


@cache
def _template() -> jinja2.Template:
    text = resources.files("autograder.desk").joinpath("templates/feedback.html").read_text(encoding="utf-8")
    return jinja2.Environment(autoescape=True, trim_blocks=True, lstrip_blocks=True).from_string(text)


def feedback_page(student: str, graded: Graded) -> str:
    """One student's page. All that came from the submission is escaped."""
    typed = [cell for cell in graded.cells if cell.kind is Kind.SOLUTION and not cell.missing and not cell.untouched]
    sources = {cell.name: clean(cell.source, len(cell.source)) for cell in typed}
    manual = [
        {"name": cell.name, "untouched": cell.untouched, "points": cell.metadata["nbgrader"]["points"]}
        for cell in graded.cells
        if cell.kind is Kind.MANUAL
    ]
    rows = [
        {
            "verdict": verdict,
            "word": panel.MARKS[verdict.outcome][1],
            "panel": _panel(graded, name).html,
            "source": sources.get(name, ""),
        }
        for name, verdict in graded.verdicts.items()
    ]
    first = withheld(next(iter(graded.verdicts.values())))
    once = "" if graded.cells else panel.message(_head(first), first.seen, first.outcome).html
    return _template().render(
        student=student,
        assignment=graded.assignment,
        points=graded.points,
        max_points=graded.max_points,
        earned=sum(1 for verdict in graded.verdicts.values() if _full(verdict)),
        rows=rows,
        once=once,
        manual=manual,
        remarks=[in_a_line(remark) for remark in graded.remarks],
    )


def _head(verdict: Verdict) -> str:
    mark, word = panel.MARKS[verdict.outcome]
    return f"{mark} The whole submission: {word}"


def _full(verdict: Verdict) -> bool:
    return verdict.outcome is Outcome.EARNED
