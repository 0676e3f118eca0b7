"""Imported first by the process that workers are forked from: all that they need."""

from __future__ import annotations

from autograder.house import importing
from autograder.jail import isolate

isolate.go_sooner()
with importing():
    from autograder.engine import fingerprint, work  # noqa: F401
