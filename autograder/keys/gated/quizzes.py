"""What is right, and what goes wrong, in the quizzes of notebook 07."""

from __future__ import annotations

from autograder.keys.key import quiz_key
from ffnlab.course.exercises import gated as exercises

quiz_branch = quiz_key(
    exercises.quiz_branch,
    "B",
    {
        "A": "Up stays straight: a bend there too would make it another function. SwiGLU is silu(gate) · up.",
        "C": "The product is not bent any more. The bend comes before it, on one of the two factors.",
    },
)

quiz_matched = quiz_key(
    exercises.quiz_matched,
    "A",
    {
        "B": "At 4·d_model three matrices hold 12·d² weights, half as many again as the plain FFN's 8·d².",
        "C": "6·d_model is three halves of 4·d_model. A third matrix asks for narrower ones, not wider.",
    },
)

quiz_f_glu = quiz_key(
    exercises.quiz_f_glu,
    "C",
    {
        "A": "The first half passes as it is. F.glu(input) is first half · sigmoid(second half); section 6 shows it.",
        "B": "Then there would be two valves and nothing that flows. One half stays as it is.",
    },
)

quiz_table = quiz_key(
    exercises.quiz_table,
    "B",
    {
        "A": "They are 0.002 apart, less than half a standard error of their difference: repeated runs of SwiGLU alone scatter by 0.010.",
        "C": "They are 0.003 apart, about one standard error of their difference: √((0.005² + 0.003²) / 4) = 0.0029. Chance does that easily.",
    },
)
