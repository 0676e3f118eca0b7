"""What a person can mend, told apart from our own faults."""

from __future__ import annotations


class UserError(Exception):
    """Something the person at the keyboard can mend: one clear line, exit status 2."""
