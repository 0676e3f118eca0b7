"""What is wrong with a marking guide, apart from key.py, which brings torch."""

from __future__ import annotations


class KeyProblem(Exception):
    """A marking guide that can't be used: which one, and why."""
