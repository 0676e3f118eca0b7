"""The content of this course: its exercises, shipped reference outputs, predictions, figures and experiments, and what they draw on."""

from __future__ import annotations

from ffnlab.registry import Course

COURSE = Course(
    __name__,
    keys="autograder.keys",
    late_imports={"06_memory": ("torch._dynamo",)},  # an optimizer's first step
)
