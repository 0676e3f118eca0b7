"""What is right, and what goes wrong, in the quizzes of notebook 05."""

from __future__ import annotations

from autograder.keys.key import quiz_key
from ffnlab.course.exercises import parameters as exercises

quiz_count = quiz_key(
    exercises.quiz_count,
    right="B",
    wrong={
        "A": "Two matrices of 256 · 1024 are 524,288. The log says 1,280 more; which arrays have so many numbers?",
        "C": "With b1 alone it would be 524,288 + 1,024 = 525,312. The log says 256 more.",
    },
)

quiz_printed = quiz_key(
    exercises.quiz_printed,
    right="C",
    wrong={
        "A": "Its matrices have 4,194,304 numbers, so that fits. Now look at what is left over: 3,072. How long are its two biases?",
        "B": "Their four matrices have 4,194,304 numbers, so that fits. Now look at what is left over: 3,072. How long are their four biases?",
    },
)

quiz_decoder = quiz_key(
    exercises.quiz_decoder,
    right="A",
    wrong={
        "B": "That is an encoder block: 12·d² of 16·d². A decoder block of an encoder-decoder has a second attention, across to the encoder.",
        "C": "That is so for a plain FFN, 8·d² of 16·d². The gate brings a third matrix: count the FFN again.",
    },
)
