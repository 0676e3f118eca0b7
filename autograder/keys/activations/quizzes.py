"""What is right, and what goes wrong, in the quizzes of notebook 03."""

from __future__ import annotations

from autograder.keys.key import quiz_key
from ffnlab.course.exercises import activations as exercises

quiz_pieces = quiz_key(
    exercises.quiz_pieces,
    right="C",
    wrong={
        "A": "x² is steep at the ends. But the gap of a piece from s to t is ((t − s)/2)², and where the piece is does not matter.",
        "B": "x² looks most curved at 0, but its slope changes equally fast everywhere. The gap of a piece from s to t is ((t − s)/2)², wherever it is.",
    },
)

quiz_proof = quiz_key(
    exercises.quiz_proof,
    right="A",
    wrong={
        "B": "Between two nodes a ReLU network is straight, whatever the curve is. Something goes wrong before: look at the piece that begins at 0.",
        "C": "1/x is continuous there, but the interval lacks one of its ends. Near 0 the curve rises without end, and a network "
        "never does on a bounded interval.",
    },
)
