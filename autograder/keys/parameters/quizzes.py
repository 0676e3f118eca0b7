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
        "A": "That is what the page prints, from its own count. Two matrices of 512 · 2048 are 2,097,152, and the biases add 2,560. Now divide.",
        "B": "An even balance would need an FFN of 1,048,576, as attention has. Count it: two matrices of 512 · 2048, and two biases.",
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
