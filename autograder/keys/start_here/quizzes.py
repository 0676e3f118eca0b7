"""What is right, and what goes wrong, in the quizzes of notebook 00."""

from __future__ import annotations

from autograder.keys.key import quiz_key
from ffnlab.course.exercises import start_here as exercises

quiz_hidden = quiz_key(
    exercises.quiz_hidden,
    right="B",
    wrong={
        "A": "The inputs you see are drawn once and shipped with the course; grading draws others, so fitting the shown ones is no help.",
        "C": "Grading runs your code again: what you printed, or what a panel once said, is not looked at.",
    },
)
