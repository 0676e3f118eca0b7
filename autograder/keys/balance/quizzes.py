"""What is right, and what goes wrong, in the quizzes of notebook 09."""

from __future__ import annotations

from autograder.keys.key import quiz_key
from ffnlab.course.exercises import balance as exercises

quiz_dropped = quiz_key(
    exercises.quiz_dropped,
    right="A",
    wrong={
        "B": "The weights stay as they were: the term of the full expert is missing from the sum, and the other term does not grow.",
        "C": "There is no second round: dropped is dropped. Sending a token on to its next best expert is another design.",
    },
)

quiz_selection = quiz_key(
    exercises.quiz_selection,
    right="B",
    wrong={
        "A": "Your weight has the bias in it: 0.6 of 0.6 + 0.4. The bias decides who is chosen. The weights come from the scores alone.",
        "C": "Your weight is right for the first two experts. But with its bias the third expert is ahead of the second. Who is chosen?",
    },
)

quiz_two_logs = quiz_key(
    exercises.quiz_two_logs,
    right="A",
    wrong={
        "B": "In run 2 a cluster has an expert to itself, which is what the task wants. A strong balance loss drowns the task: every expert is to be wanted "
        "equally.",
        "C": "The load can't tell them apart, but the other column can. What does a strong balance loss do to a router that is sure of its choice?",
    },
)
