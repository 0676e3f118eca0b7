"""What is right, and what goes wrong, in the quizzes of notebook 03."""

from __future__ import annotations

from autograder.keys.key import quiz_key
from ffnlab.course.exercises import activations as exercises

quiz_proof = quiz_key(
    exercises.quiz_proof,
    right="A",
    wrong={
        "B": "Between two nodes a ReLU network is straight, whatever the curve is. Something goes wrong before: look at the piece that begins at 0.",
        "C": "1/x is continuous there, but the interval lacks one of its ends. Near 0 the curve rises without bound, and a network "
        "never does on a bounded interval.",
    },
)
