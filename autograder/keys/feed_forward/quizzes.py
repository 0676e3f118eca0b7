"""What is right, and what goes wrong, in the quizzes of notebook 02."""

from __future__ import annotations

from autograder.keys.key import quiz_key
from ffnlab.course.exercises import feed_forward as exercises

quiz_rank = quiz_key(
    exercises.quiz_rank,
    right="C",
    wrong={
        "A": "The thinner FFN lets 100 directions through, but the other adds directions of its own to the sum.",
        "B": "The wider FFN lets 200 directions through, but the other adds directions of its own to the sum.",
    },
)

quiz_bias = quiz_key(
    exercises.quiz_bias,
    right="B",
    wrong={
        "A": "Neuron j writes h_j · W2[j], and that goes with its row. b2 is added even when all neurons are silent, so no part of it is a neuron's.",
        "C": "Those are the entries of b1: one threshold per hidden neuron. b2 has d_model entries, one for each number of the output.",
    },
)
