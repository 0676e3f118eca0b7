"""Imported first by the process that workers are forked from: all that they need."""

from __future__ import annotations

from autograder.jail import isolate
from autograder.startup import pause_gc

isolate.go_sooner()
with pause_gc():
    from autograder.engine import fingerprint, worker_process  # noqa: F401
