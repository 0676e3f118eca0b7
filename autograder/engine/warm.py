"""Imported first by the process that workers are forked from: all that they need."""

from __future__ import annotations

from autograder.jail import isolate
from autograder.startup import gc_paused

isolate.go_sooner()
with gc_paused():
    from autograder.engine import fingerprint, worker_process  # noqa: F401
