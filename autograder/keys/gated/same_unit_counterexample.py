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
same_unit_counterexample.add_value(
    "mistake",
    "two_different_units",
    "Your two units differ for some x, and the code says so. It never calls different units the same: look for two that are the same.",
    ([1.0, 2.0], [3.0, -1.0], [1.0, 1.0], [2.0, 0.0]),
)
same_unit_counterexample.add_value(
    "mistake",
    "twice_and_half",
    "Your units are the same, because what the one gate has more the other up has less. The code finds that: it multiplies the two "
    "factors. In which other way can two products be equal?",
    ([1.0, 2.0], [3.0, -1.0], [2.0, 4.0], [1.5, -0.5]),
)
same_unit_counterexample.add_value(
    "mistake",
    "single_numbers",
    "Your x is a single number. There any gate is a multiple of any other, so the code is right. Take more numbers.",
    ([2.0], [3.0], [3.0], [2.0]),
)
same_unit_counterexample.add_value(
    "mistake",
    "three_numbers",
    "Your classmate's code is wrong on it, well found. A smaller pair shows it as well: two numbers for x are enough.",
    ([1.0, 0.0, 2.0], [0.0, 1.0, 1.0], [0.0, 1.0, 1.0], [1.0, 0.0, 2.0]),
)
same_unit_counterexample.add_value(
    "mistake",
    "reads_nothing",
    "One of the four lists holds zeros alone. Such a unit always gives 0, and the code is not meant for it.",
    ([0.0, 0.0], [1.0, 1.0], [1.0, 1.0], [0.0, 0.0]),
)
same_unit_counterexample.add_value(
    "mistake",
    "one_unit",
    "Two lists are missing. Two units have four: gate and up of the one, gate and up of the other.",
    ([1.0, 0.0], [0.0, 1.0]),
)
