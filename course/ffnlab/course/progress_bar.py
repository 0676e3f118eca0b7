"""What the notebooks' training loops share: a progress bar in text, which a saved notebook keeps as one line."""

from __future__ import annotations

import time
from collections.abc import Iterator

from IPython.display import display

WIDE = 30


def bar(steps: int, label: str) -> Iterator[int]:
    """Counts from 0 to steps - 1 and shows how far it is, at most three times a second.

    Raises ValueError when there is nothing to count.
    """
    if steps < 1:
        raise ValueError(f"a progress bar needs at least one step, not {steps}")
    handle = display({"text/plain": _line(0, steps, label)}, raw=True, display_id=True)
    last_update = time.monotonic()
    for step in range(steps):
        yield step
        now = time.monotonic()
        if handle is not None and (now - last_update > 0.3 or step == steps - 1):
            handle.update({"text/plain": _line(step + 1, steps, label)}, raw=True)
            last_update = now


def _line(count: int, steps: int, label: str) -> str:
    full = WIDE * count // steps
    return f"{label:24} {'█' * full}{'░' * (WIDE - full)} {count} of {steps} steps"
