"""What is right, and what goes wrong, in the quizzes of notebook 06."""

from __future__ import annotations

from autograder.keys.key import quiz_key
from ffnlab.course.exercises import memory as exercises

quiz_value = quiz_key(
    exercises.quiz_value,
    "B",
    {
        "A": "Row j of `linear2.weight` has d_ff numbers, one for every neuron: it is what output j collects. One neuron writes a column.",
        "C": "The key is row j of `linear1.weight`: what neuron j compares a token with. `linear2` comes after the hidden layer.",
    },
)

quiz_coefficient = quiz_key(
    exercises.quiz_coefficient,
    "A",
    {
        "B": "b1[j] is the same for every token. It shifts when the neuron fires; how strongly the neuron responds depends on the token.",
        "C": "There is no softmax in an FFN. The coefficients need not add up to 1, and many of them are large at the same time.",
    },
)

quiz_knockout = quiz_key(
    exercises.quiz_knockout,
    "C",
    {
        "A": "Most facts survive the loss of their strongest neuron: several others push the same answer.",
        "B": "With the 4 strongest gone almost every fact is lost. Facts are spread, but not evenly over all neurons.",
    },
)

quiz_width = quiz_key(
    exercises.quiz_width,
    "B",
    {
        "A": "That would be so if each bit of a pattern could be set freely. But one more neuron is 64 more weights, and they limit what fits.",
        "C": "d_model limits the rank of a linear map. With a non-linearity between, more neurons hold more facts at the same d_model.",
    },
)
