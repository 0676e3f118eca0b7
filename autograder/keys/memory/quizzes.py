"""What is right, and what goes wrong, in the quizzes of notebook 06."""

from __future__ import annotations

from autograder.keys.key import quiz_key
from ffnlab.course.exercises import memory as exercises

quiz_value = quiz_key(
    exercises.quiz_value,
    "B",
    {
        "A": "Row j of `linear2.weight` has d_ff numbers, one for every neuron: it is what output j collects. One neuron writes a column.",
        "C": "The key is row j of `linear1.weight`: what neuron j compares a token with. `linear2` comes after the hidden layer.",
    },
)
