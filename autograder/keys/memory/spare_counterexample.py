"""What is right, and what goes wrong, in `spare_counterexample` of notebook 06."""

from __future__ import annotations

import torch

from autograder.keys.key import Key
from ffnlab.course.exercises import memory as exercises

spare_counterexample = Key(exercises.spare_counterexample)
spare_counterexample.add_value(
    "truth",
    "third_undoes_two",
    "",
    [[1.0, 0.0, 2.0], [1.0, 3.0, 0.0], [-2.0, -3.0, -2.0]],
)
spare_counterexample.add_value(
    "right",
    "whole_numbers",
    "whole numbers, in tuples",
    ((1, 2, 0), (3, -1, 5), (-4, -1, -5)),
)
spare_counterexample.add_value(
    "right",
    "decimals",
    "decimals that do not add up exactly",
    [[0.1, 1.0, 0.7], [0.2, 1.0, 0.1], [-0.3, -2.0, -0.8]],
)
spare_counterexample.add_value(
    "right",
    "a_tensor",
    "a tensor [3, 3]",
    torch.tensor([[1.0, 0.0, 0.0], [0.0, 1.0, 0.0], [-1.0, -1.0, 0.0]]),
)
spare_counterexample.add_value(
    "right",
    "one_number_twice",
    "two neurons write the same",
    [[-2, 4, 2], [1, -2, -1], [1, -2, -1]],
)


spare_counterexample.slips("""
of one_number_twice
in [-2, 4, 2], [1, -2, -1], [1, -2, -1]
two_undo_each_other: [1.0, 2.0, 3.0], [-1.0, -2.0, -3.0]
    Two of your neurons undo each other, so both can be cut. The code finds that: it tries every two neurons. Which groups does it not try?
writes_nothing: [0.0, 0.0, 0.0], [1.0, 2.0, 3.0]
    One of your neurons writes nothing, so it can be cut. The code finds that: it tries every neuron alone.
nothing_to_cut: [1.0, 2.0, 0.0], [-1.0, 2.0, 1.0], [0.5, -3.0, 1.0]
    No group of your neurons can be cut without changing the output, and the code says so. A group can go if what it writes adds up to 0, in every
    number of the output.
a_fourth_neuron: [1.0, 0.0, 1.0], [1.0, 2.0, 1.0], [1.0, 0.0, 0.0], [-3.0, -2.0, -2.0]
    Nearly. Your classmate's code is wrong on it. A smaller network shows it as well: three neurons are enough.
a_flat_list: 1.0, 1.0, -2.0
    Your numbers are in one list. Every neuron has a list of its own, with three numbers in it.
unequal: [1.0, 2.0, 0.0], [1.0], [-2.0]
    One of your neurons does not write three numbers. All of them write to the same three outputs.
""")
