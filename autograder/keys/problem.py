"""What is wrong with an answer key, apart from key.py, which brings torch."""

from __future__ import annotations


class KeyProblem(Exception):
    """An answer key that can't be used: which one, and why."""
