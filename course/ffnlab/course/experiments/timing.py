"""How long something takes on the reader's machine; in a notebook that nobody reads yet, how long it took when it was measured once and stored.

A notebook is built again whenever its source changes, perhaps on a busy machine. Its saved numbers shall be those of a quiet one, and the same each time.
"""

from __future__ import annotations

import time
from collections.abc import Callable
from pathlib import Path

from ffnlab.course.experiments import read
from ffnlab.environment import is_unattended

STORED = Path(__file__).with_suffix(".json")


def best_seconds(what: str, function: Callable[..., object], *arguments: object, times: int = 5) -> float:
    """The seconds that `function(*arguments)` takes: the shortest of several calls, since what else the machine does only makes one longer.

    what: names the measurement. Where one of that name is stored, it stands in for the call while a notebook is built or tested.
    """
    if is_unattended() and what in (stored := read(STORED)["seconds"]):
        return float(stored[what])
    seconds = []
    for _ in range(times):
        started = time.perf_counter()
        function(*arguments)
        seconds.append(time.perf_counter() - started)
    return min(seconds)
