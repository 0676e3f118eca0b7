"""What is right, and what goes wrong, in the quizzes of notebook 08."""

from __future__ import annotations

from autograder.keys.key import quiz_key
from ffnlab.course.exercises import experts as exercises

quiz_middle = quiz_key(
    exercises.quiz_middle,
    right="A",
    wrong={
        "B": "For a third expert to be chosen it would have to be ahead of 2 or of 5 in the middle. A mean of two leads above 0 is above 0.",
        "C": "How far apart the two tokens are does not matter: each logit is linear, so its value in the middle is the mean of its values at both ends.",
    },
)

quiz_same = quiz_key(
    exercises.quiz_same,
    right="B",
    wrong={
        "A": "'softmax_topk' is not divided by anything after the choice: its rows sum to less than 1, those of 'topk_softmax' to 1.",
        "C": "Both have rows that sum to 1, but sigmoid(z) is not proportional to exp(z): the ratio of two gates differs.",
    },
)

quiz_active = quiz_key(
    exercises.quiz_active,
    right="A",
    wrong={
        "B": "Which experts are needed is known only when the token is there, and the next token needs others: all of them have to be in memory.",
        "C": "An expert that is not chosen is not computed at all: that is the point of the choice. Only the chosen ones, the router and attention do work.",
    },
)
