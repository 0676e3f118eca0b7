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
    Your two neurons differ for some x, and the code says so. It never calls different neurons the same: look for two that are the same.
twice_and_half: ([1.0, 2.0], [3.0, -1.0], [2.0, 4.0], [1.5, -0.5])
    Your neurons are the same: one gate is larger by the factor by which its up is smaller, or nothing has changed at all. The code finds that. In which other
    way can two products be equal?
single_numbers: ([2.0], [3.0], [3.0], [2.0])
    Your x is a single number. There any gate is a multiple of any other, so the code is right. Take more numbers.
three_numbers: ([1.0, 0.0, 2.0], [0.0, 1.0, 1.0], [0.0, 1.0, 1.0], [1.0, 0.0, 2.0])
    Nearly. Your classmate's code is wrong on it. A smaller pair shows it as well: two numbers for x are enough.
differ_by_a_rounding: ([1.0, 1.0], [1.0, 1.0], [1.0, 1.0 + 5e-10], [1.0, 1.0])
    Your two neurons differ by a rounding, and that is not what is asked. Look for two that are the same for every x, without the code noticing.
| differ_by_a_rounding_that_shows: ([1.0, 1.0], [1.0, 1.0], [1.0, 1.0 + 1.5e-9], [1.0, 1.0])
reads_nothing: ([0.0, 0.0], [1.0, 1.0], [1.0, 1.0], [0.0, 0.0])
    One of the four lists holds zeros alone. Such a neuron always gives 0, and the code is not meant for it.
one_unit: ([1.0, 0.0], [0.0, 1.0])
    Two lists are missing. Two neurons have four: gate and up of the one, gate and up of the other.
""")
