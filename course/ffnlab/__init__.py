"""ffnlab: the lab bench of the course on the Transformer's feed-forward network. Every notebook imports its checks, hints and figures from here."""

from ffnlab.check import check, hint
from ffnlab.progress import progress
from ffnlab.quiz import quiz

__all__ = ["check", "hint", "progress", "quiz"]
__version__ = "0.1.0"
