"""ffnlab: the lab bench of the course on the Transformer's feed-forward network. Every notebook imports its checks and figures from here."""

from __future__ import annotations

import importlib
from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    from ffnlab.checks import check, hint, quiz
    from ffnlab.guessing import predict
    from ffnlab.record import progress

__all__ = ["check", "hint", "predict", "progress", "quiz"]
__version__ = "0.2.0"

HOMES = {"check": "checks", "hint": "checks", "quiz": "checks", "predict": "guessing", "progress": "record"}


def __getattr__(name: str) -> Any:
    """What a notebook imports is loaded when it is asked for: the doctor runs where torch is broken, and a conductor of graders needs none."""
    if name in HOMES:
        return getattr(importlib.import_module(f"{__name__}.{HOMES[name]}"), name)
    raise AttributeError(f"module {__name__!r} has no attribute {name!r}")
