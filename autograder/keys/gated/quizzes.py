"""What is right, and what goes wrong, in the quizzes of notebook 07."""

from __future__ import annotations

from autograder.keys.key import quiz_key
from ffnlab.course.exercises import gated as exercises

quiz_lights = quiz_key(
    exercises.quiz_lights,
    "A",
    {
        "B": "It can't. Where a neuron's sum is positive for a and for b, it is positive for a + b, and where both are negative, so is their sum.",
        "C": "That is half the sum. Sharing a matrix does not divide it: a, b and a + b each go through the whole of it, so their outputs add up.",
    },
)

quiz_rival = quiz_key(
    exercises.quiz_rival,
    "C",
    {
        "A": "That is two thirds of 3·d_model: the way from a plain FFN to its gated rival. Here the gated one is given. Count the weights of both.",
        "B": "At equal width the gated FFN has a third matrix: 9·d² weights against 6·d².",
    },
)

quiz_best_pair = quiz_key(
    exercises.quiz_best_pair,
    "C",
    {
        "A": "That would be so for a pair that you chose before you looked. This one was chosen because it is the largest of 28.",
        "B": "A lead that luck makes now and then is not thereby an error. It may be real; this contest can't tell.",
    },
)
