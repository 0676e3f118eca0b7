"""What is right, and what goes wrong, in the quizzes of notebook 04."""

from __future__ import annotations

from autograder.keys.key import quiz_key
from ffnlab.course.exercises import every_position as exercises

quiz_kernel = quiz_key(
    exercises.quiz_kernel,
    right="B",
    wrong={
        "A": "Size 3 reaches one position to either side, and size 1 reaches none. Together they reach one.",
        "C": "The second convolution looks at outputs of the first, at t − 1 and t + 1. What have these looked at?",
    },
)

quiz_shared = quiz_key(
    exercises.quiz_shared,
    right="B",
    wrong={
        "A": "All positions share the weights of one layer's FFN, but each layer of a Transformer has weights of its own. Here one set does for all six.",
        "C": "A list is not a copy: `[ffn] * 6` holds the same object six times. There is one W1, with one `.grad`, so nothing can part.",
    },
)
