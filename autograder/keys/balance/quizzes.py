"""What is right, and what goes wrong, in the quizzes of notebook 09."""

from __future__ import annotations

from autograder.keys.key import quiz_key
from ffnlab.course.exercises import balance as exercises

quiz_below_one = quiz_key(
    exercises.quiz_below_one,
    right="C",
    wrong={
        "A": "The value 1 belongs to an even load, or to even probabilities, but it is no lower bound. The figure with 6 and 4 tokens went to 0.85.",
        "B": "Without the factor E an even load would give 1/E. With it an even load gives 1, and the value can still be smaller.",
    },
)

quiz_dropped = quiz_key(
    exercises.quiz_dropped,
    right="A",
    wrong={
        "B": "There is no second round: dropped is dropped. Sending a token on to its next expert is another design.",
        "C": "Then the block would add the token to itself. One published implementation does that; in the papers the layer's output is 0 there.",
    },
)

quiz_selection = quiz_key(
    exercises.quiz_selection,
    right="B",
    wrong={
        "A": "Then the bias would change the output, and a loss of the task would feel it. That is what the method avoids.",
        "C": "The bias gets no gradient from anywhere: after each step it is moved by ±u, as the counts ask.",
    },
)
