"""What is right, and what goes wrong, in the quizzes of notebook 01."""

from __future__ import annotations

from autograder.keys.key import quiz_key
from ffnlab.course.exercises import attention as exercises

quiz_hull = quiz_key(
    exercises.quiz_hull,
    right="C",
    wrong={
        "A": "The scores are free, the weights are not: softmax makes them positive, and each row sums to 1. So each number of a mix is an average.",
        "B": "A multiple needs a weight above 1 or below 0. Softmax gives positive weights that sum to 1, so the mix stays between the values.",
        "D": "No vector is normalised: only the weights sum to 1. With values near 100 the mix would be near 100, too.",
    },
)

quiz_linear = quiz_key(
    exercises.quiz_linear,
    right="B",
    wrong={
        "A": "That would be so if all words had grown. Here the other words enter the mix as before.",
        "C": "The softmax was used to make A, before A was kept. Now A is a constant. What does each word add to the output by itself?",
    },
)

quiz_xor = quiz_key(
    exercises.quiz_xor,
    right="B",
    wrong={
        "A": "Fewer numbers are no help here. Work out what LayerNorm makes of two numbers u and v: what are they without their mean, and what is left when "
        "that is divided by their spread?",
        "C": "That is true of ReLU, which looks at each number by itself. LayerNorm compares the two. How many lines can u − v draw?",
    },
)
