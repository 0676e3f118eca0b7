"""What is right, and what goes wrong, in the quizzes of notebook 10."""

from __future__ import annotations

from autograder.keys.key import quiz_key
from ffnlab.course.exercises import capstone as exercises

quiz_removed = quiz_key(
    exercises.quiz_removed,
    right="C",
    wrong={
        "A": "For that the residual paths would have to be missing, too. With them and the norms tokens grow alike slowly, with or without an FFN.",
        "B": "Attention is not linear in the tokens, and the norms are not linear either; and the model without FFN did learn hundreds of random pairs.",
    },
)

quiz_equal = quiz_key(
    exercises.quiz_equal,
    right="B",
    wrong={
        "A": "At equal active parameters the mixture has more parameters in total: half of its experts wait, but they have to be stored.",
        "C": "For the plain and the gated FFN total and active are the same number, so the switch does not move them.",
    },
)

quiz_seeds = quiz_key(
    exercises.quiz_seeds,
    right="A",
    wrong={
        "B": "The pairs are random, so there is nothing to generalise to. The experiment measures memory, and says nothing about language.",
        "C": "A single run may be lucky. With the spread unknown, one can't tell a difference from noise.",
    },
)
