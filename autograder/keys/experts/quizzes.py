"""What is right, and what goes wrong, in the quizzes of notebook 08."""

from __future__ import annotations

from autograder.keys.key import quiz_key
from ffnlab.course.exercises import experts as exercises

quiz_middle = quiz_key(
    exercises.quiz_middle,
    right="B",
    wrong={
        "A": "The tokens whose *first* choice is 2 have a region without dents, and so have those with one pair. Here 2 is one of two. "
        "Let 5 be far ahead at x, and 7 at y, and take the means of the logits.",
        "C": "Lengths do not matter: each logit in the middle is the mean of its values at both ends. Can the means of 5 and of 7 both be above that of 2?",
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
