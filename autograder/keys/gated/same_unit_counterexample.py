"""What is right, and what goes wrong, in `same_unit_counterexample` of notebook 07."""

from __future__ import annotations

import torch

from autograder.keys.key import Key
from ffnlab.course.exercises import gated as exercises

same_unit_counterexample = Key(exercises.same_unit_counterexample)
same_unit_counterexample.add_value(
    "truth",
    "swapped",
    "",
    ([1.0, 0.0], [0.0, 1.0], [0.0, 1.0], [1.0, 0.0]),
)
same_unit_counterexample.add_value(
    "right",
    "swapped_and_stretched",
    "swapped, and one factor of 2 moved",
    ([1, 2], [3, -1], [6, -2], [0.5, 1]),
)
same_unit_counterexample.add_value(
    "right",
    "in_a_list",
    "a list of four tuples",
    [(1, 1), (1, -1), (1, -1), (1, 1)],
)
same_unit_counterexample.add_value(
    "right",
    "two_signs",
    "swapped, and both signs turned",
    ((2.0, 1.0), (0.0, 3.0), (0.0, -3.0), (-2.0, -1.0)),
)
same_unit_counterexample.add_value(
    "right",
    "tensors",
    "four tensors",
    (torch.tensor([1.0, 5.0]), torch.tensor([2.0, 0.0]), torch.tensor([2.0, 0.0]), torch.tensor([1.0, 5.0])),
)


same_unit_counterexample.slips("""
of in_a_list
in [(1, 1), (1, -1), (1, -1), (1, 1)]
two_different_units: ([1.0, 2.0], [3.0, -1.0], [1.0, 1.0], [2.0, 0.0])
    Your two units differ for some x, and the code says so. It never calls different units the same: look for two that are the same.
twice_and_half: ([1.0, 2.0], [3.0, -1.0], [2.0, 4.0], [1.5, -0.5])
    Your units are the same, because what the one gate has more the other up has less. The code finds that: it multiplies the two factors. In which
    other way can two products be equal?
single_numbers: ([2.0], [3.0], [3.0], [2.0])
    Your x is a single number. There any gate is a multiple of any other, so the code is right. Take more numbers.
three_numbers: ([1.0, 0.0, 2.0], [0.0, 1.0, 1.0], [0.0, 1.0, 1.0], [1.0, 0.0, 2.0])
    Your classmate's code is wrong on it, well found. A smaller pair shows it as well: two numbers for x are enough.
reads_nothing: ([0.0, 0.0], [1.0, 1.0], [1.0, 1.0], [0.0, 0.0])
    One of the four lists holds zeros alone. Such a unit always gives 0, and the code is not meant for it.
one_unit: ([1.0, 0.0], [0.0, 1.0])
    Two lists are missing. Two units have four: gate and up of the one, gate and up of the other.
""")
