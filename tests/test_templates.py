"""The templates of pages: a name that no code gives them is an error, and never an empty place on a student's page."""

from __future__ import annotations

import jinja2
import pytest
from conftest import ROOT

from autograder.gradebook.scores import Score
from autograder.grading import feedback
from autograder.reports import report_page
from autograder.web import app

ENVIRONMENTS = {
    "feedback page": feedback._template().environment,
    "report": report_page._template().environment,
    "desk": app._templates(),
}


MAX_LENGTH = 200  # of a line: what one reads without scrolling sideways


def test_a_template_has_no_line_that_nobody_reads_to_its_end() -> None:
    """An empty comment, `{# -#}`, at a line's end joins it to the next, so that the page stays the same."""
    long_lines = [
        f"{file.relative_to(ROOT)}:{number}: {len(line)} characters"
        for file in sorted((ROOT / "autograder").rglob("templates/*.html"))
        for number, line in enumerate(file.read_text(encoding="utf-8").splitlines(), 1)
        if len(line) > MAX_LENGTH
    ]
    assert not long_lines, "\n".join(long_lines)


@pytest.mark.parametrize("name", ENVIRONMENTS)
@pytest.mark.parametrize("text", ["{{ misspelt }}", "{{ score.misspelt }}", "{% if misspelt %}yes{% endif %}"])
def test_an_unknown_name_is_an_error(name: str, text: str) -> None:
    template = ENVIRONMENTS[name].from_string(text)
    with pytest.raises(jinja2.UndefinedError, match="misspelt"):
        template.render(score=Score("ffn_forward", 1.0, 2.0))


@pytest.mark.parametrize("name", ENVIRONMENTS)
def test_a_condition_without_else_still_leaves_its_place_empty(name: str) -> None:
    template = ENVIRONMENTS[name].from_string("{{ count }} answer{{ 's' if count != 1 }}")
    assert (template.render(count=1), template.render(count=2)) == ("1 answer", "2 answers")
