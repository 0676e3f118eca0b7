"""What is right, and what goes wrong, in the quizzes of notebook 04."""

from __future__ import annotations

from autograder.keys.key import quiz_key
from ffnlab.course.exercises import every_position as exercises

quiz_equivariant = quiz_key(
    exercises.quiz_equivariant,
    right="C",
    wrong={
        "A": "An FFN answers each token alone, so its answers move along with the tokens. "
        "What does a token see in the other layers, before and after a permutation?",
        "B": "Every token sees the same tokens before and after, only in another order, and a weighted sum has no order. So the outputs move along.",
    },
)

quiz_kernel = quiz_key(
    exercises.quiz_kernel,
    right="A",
    wrong={
        "B": "With zeros for both neighbours it keeps the rules. With any other weights an output depends on three tokens.",
        "C": "With zeros everywhere but in one place it keeps the rules. With any other weights an output depends on several tokens. And the kernel would "
        "have to grow with the sequence.",
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
