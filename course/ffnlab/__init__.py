"""ffnlab: the lab bench of the course on the Transformer's feed-forward network. Every notebook imports its checks and figures from here."""

from __future__ import annotations

import importlib
from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    from ffnlab.checking.checks import check, hint, quiz
    from ffnlab.checking.help_request import report
    from ffnlab.checking.record import progress
    from ffnlab.course.machine import machine
    from ffnlab.live_boards import play, veil
    from ffnlab.prediction.prediction_widget import predict

__all__ = ["check", "hint", "machine", "play", "predict", "progress", "quiz", "report", "veil"]
__version__ = "1.0.0"  # of the whole project: both packages, the site and `make release` read it here

MODULES = {
    "check": "checking.checks",
    "hint": "checking.checks",
    "quiz": "checking.checks",
    "report": "checking.help_request",
    "machine": "course.machine",
    "play": "live_boards",
    "predict": "prediction.prediction_widget",
    "progress": "checking.record",
    "veil": "live_boards",
}


def __getattr__(name: str) -> Any:
    """What a notebook imports is loaded when it is asked for: the doctor runs where torch is broken, and a conductor of graders needs none."""
    if name in MODULES:
        return getattr(importlib.import_module(f"{__name__}.{MODULES[name]}"), name)
    raise AttributeError(f"module {__name__!r} has no attribute {name!r}")
