"""What is right, and what goes wrong, in `steepest_counterexample` of notebook 03."""

from __future__ import annotations

import torch

from autograder.keys.key import Key
from ffnlab.course.exercises import activations as exercises

steepest_counterexample = Key(exercises.steepest_counterexample)
steepest_counterexample.add_value("truth", "one_steep_neuron_undone", "", ([1.0, 1.0], [0.0, 0.0], [1.0, -1.0]))
steepest_counterexample.add_value("right", "whole_numbers", "whole numbers, in tuples", ((2, 1), (4, 2), (-3, 5)))
steepest_counterexample.add_value(
    "right", "facing_each_other", "one neuron on each side", ([1.0, -1.0], [-0.5, 0.5], [-3.0, 2.0])
)
steepest_counterexample.add_value(
    "right", "both_to_the_left", "both neurons slope on the left", ([-1, -3], [1, 3], [5, -1])
)
steepest_counterexample.add_value(
    "right", "tensors", "three tensors", (torch.ones(2), torch.zeros(2), torch.tensor([7.0, -6.0]))
)


steepest_counterexample.slips("""
of both_to_the_left
in [-1, -3], [1, 3], [5, -1]
places_of_their_own: [1.0, 2.0, -1.0], [0.0, -3.0, 1.0], [1.0, -2.0, 0.5]
    Every neuron of your network has its kink in a place of its own, and there the code is right: each slope that it adds up is that of a piece. When is
    one of them not?
harmless: [1.0, 1.0], [0.0, 0.0], [1.0, 1.0]
    Two of your neurons share a kink, which is the place to look at. But another piece of your wire is as steep as what the code adds up there, so the
    largest is right.
three_neurons: [1.0, 1.0, 1.0], [0.0, 0.0, -5.0], [4.0, -4.0, 1.0]
    Nearly. Your classmate's code is wrong on it. A smaller network shows it as well: two neurons are enough.
w_of_zero: [0.0, 1.0], [1.0, 0.0], [1.0, 1.0]
    A w is 0. Such a neuron has no kink, and the code is not meant for it: choose other weights.
two_lists: [1.0, 1.0], [0.0, 0.0]
    One list is missing: w, b and v are three lists, in brackets and with commas between them.
unequal: [1.0, 1.0], [0.0], [1.0, -1.0]
    The three lists differ in length. Each neuron has one number in each of them.
""")
