"""What nbgrader's formgrader shows and does in this project beside its own: the rubric under each answer that a person reads, and buttons that call our
engine. nbgrader_config.py calls `set_up`. Pages that are older than the answer are autograder.nbgrader_patches.formgrader_handlers'.
"""

from __future__ import annotations

import json
import re
from functools import cache
from pathlib import Path
from typing import Any

import jinja2
from markupsafe import Markup

from autograder.gradebook import sanitize
from autograder.nbgrader_patches.run_command import run_command
from autograder.paths import solution

REGION = re.compile(r"<!-- ### (?:BEGIN|END) SOLUTION -->\n?")
RUBRIC = Markup(
    '<details open style="margin:1.2em 0 .2em;padding:.5em 1em;border-left:4px solid #2c5aa0;background:#eef3fb">'
    '<summary style="display:list-item;cursor:pointer;font-weight:bold">For you: a full answer, and the rubric</summary>{}</details>'
)
SAMPLE = "This is the sample class. Put submissions into grading/submitted/, or collect them with `autograder collect`, and start Jupyter again."


@cache
def rubrics(notebook: str) -> dict[str, str]:
    """The full answers and rubrics of a notebook's questions that a person reads, in Markdown, by the cell's grade_id."""
    try:
        cells = json.loads(solution(notebook).read_text(encoding="utf-8"))["cells"]
    except (OSError, ValueError):
        return {}
    cells_with_metadata = [
        (cell, cell["metadata"].get("nbgrader", {})) for cell in cells if cell["cell_type"] == "markdown"
    ]
    return {
        metadata["grade_id"]: REGION.sub("", "".join(cell["source"])).strip()
        for cell, metadata in cells_with_metadata
        if metadata.get("grade") and metadata.get("solution")
    }


@jinja2.pass_context
def markdown2html(context: jinja2.runtime.Context, source: str) -> Markup:
    """A Markdown cell; in formgrader, an answer that a person reads has its rubric below it. No other page shows that: students get those."""
    html = sanitize.markdown2html(context, source)
    resources, cell = context.get("resources", {}), context.get("cell", {})
    metadata = cell.get("metadata", {}).get("nbgrader", {})
    if "submission_id" not in resources or not (metadata.get("grade") and metadata.get("solution")):
        return html
    rubric = rubrics(str(resources.get("notebook_id"))).get(metadata.get("grade_id", ""))
    if not rubric:
        return html
    return html + RUBRIC.format(sanitize.trusted_markdown(rubric))


def set_up(config: Any, folder: Path, sample: bool) -> None:
    """Make formgrader ours. folder: the class's. sample: whether it is the sample class, into which nobody's real work may be collected."""
    config.HTMLExporter.filters = {**sanitize.FILTERS, "markdown2html": markdown2html}

    from nbgrader.apps.api import NbGraderAPI

    from autograder.nbgrader_patches import formgrader_handlers  # as nbgrader: seconds to import

    formgrader_handlers.install()

    def autograde(self: Any, assignment_id: str, student_id: str, force: bool = True, create: bool = True) -> Any:
        again = ("--force",) if force else ()
        return run_command("grade", assignment_id, "--student", student_id, *again, "--grading", str(folder))

    def generate_feedback(self: Any, assignment_id: str, student_id: str | None = None, force: bool = True) -> Any:
        selection = ("--student", student_id) if student_id else ()
        return run_command("feedback", assignment_id, *selection, "--grading", str(folder))

    def collect(self: Any, assignment_id: str, update: bool = True) -> Any:
        return {"success": False, "error": SAMPLE, "log": SAMPLE}

    NbGraderAPI.autograde = autograde
    NbGraderAPI.generate_feedback = generate_feedback
    if sample:
        NbGraderAPI.collect = collect
