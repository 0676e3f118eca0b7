"""An exercise's panel as a student gets it back, on a page, in the graded notebook or in Gradescope. Called by feedback and in_container."""

from __future__ import annotations

from functools import lru_cache

from autograder import outline
from autograder.redaction.redact import redact
from ffnlab.checking import panel
from ffnlab.checking.verdict import Outcome, Verdict

NO_ANSWER = "There is no answer here."  # where an earlier version graded it, and kept no reason


@lru_cache(maxsize=512)  # a page, a notebook and many students show the same
def panel_for(assignment: str, verdict: Verdict) -> panel.Panel:
    """The panel, without what hidden inputs could be read off. Nothing can be run again here, so what `check` advises about an untouched cell is left out.

    What the code printed is left out too: it was called with hidden inputs, and could have printed them.
    """
    redacted_verdict = redact(verdict)
    if redacted_verdict.outcome is Outcome.NOT_ATTEMPTED:
        sign, word = panel.SIGNS[redacted_verdict.outcome]
        return panel.message(f"{sign} {redacted_verdict.exercise}: {word}", redacted_verdict.cause or NO_ANSWER)
    return panel.of_verdict(redacted_verdict, outline.understanding(assignment, redacted_verdict.exercise))
