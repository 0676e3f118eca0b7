"""A course of one notebook about counting words: what its students install."""

from __future__ import annotations

from ffnlab import check, hint, progress
from ffnlab.registry import Course, activate

__all__ = ["COURSE", "check", "hint", "progress"]

COURSE = activate(Course(__name__, keys="word_count_keys"))
