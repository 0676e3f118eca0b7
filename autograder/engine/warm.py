"""Imported first by the process that workers are forked from: all that they need."""

from __future__ import annotations

from autograder.house import importing

with importing():
    from autograder.engine import work  # noqa: F401
