"""ffnlab: the lab bench of the course on the Transformer's feed-forward network. Every notebook imports its checks and figures from here."""

import sys

if sys.argv[:1] != ["-m"]:  # else this is `python -m ffnlab.doctor`, which has to run where nothing else does
    from ffnlab.check import check, hint
    from ffnlab.progress import progress
    from ffnlab.quiz import quiz

__all__ = ["check", "hint", "progress", "quiz"]
__version__ = "0.1.0"
