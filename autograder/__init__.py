"""autograder: names mistakes, grades notebooks of the course fast and fairly, and stays plain nbgrader. For instructors and authors."""

from __future__ import annotations

import sys
from typing import TYPE_CHECKING, Any

from ffnlab import __version__

if TYPE_CHECKING:
    from autograder.engine.grade_submission import grade_answer
    from autograder.rechecking import recheck

__all__ = ["__version__", "grade_answer", "recheck"]

# Importing nbformat and nbgrader imports jsonschema, which builds a grammar of internationalised addresses if it finds this module: two thirds of
# the time of `import nbgrader`, for a check that no notebook's schema asks for. It does without where the module is missing.
sys.modules.setdefault("rfc3987_syntax", None)  # type: ignore[arg-type]


def __getattr__(name: str) -> Any:
    """`recheck` and `grade_answer` load what they need when first asked for."""
    if name == "recheck":
        from autograder.rechecking import recheck

        return recheck
    if name == "grade_answer":
        from autograder.engine.grade_submission import grade_answer

        return grade_answer
    raise AttributeError(f"module 'autograder' has no attribute {name!r}")
