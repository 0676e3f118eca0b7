"""What is right, and what goes wrong, in `own_expert_counterexample` of notebook 09."""

from __future__ import annotations

import torch

from autograder.keys.key import Key
from ffnlab.course.exercises import balance as exercises

own_expert_counterexample = Key(exercises.own_expert_counterexample)
own_expert_counterexample.add_value(
    "truth",
    "some_exchanged",
    "",
    [[0.75, 0.25], [0.25, 0.75]],
)
own_expert_counterexample.add_value(
    "right",
    "crosswise",
    "the favourites are crosswise",
    ((0.4, 0.6), (0.6, 0.4)),
)
own_expert_counterexample.add_value(
    "right",
    "nearly_mixed",
    "nearly all mixed",
    [[0.51, 0.49], [0.49, 0.51]],
)
own_expert_counterexample.add_value(
    "right",
    "a_tensor",
    "a tensor [2, 2]",
    torch.tensor([[0.875, 0.125], [0.125, 0.875]]),
)


own_expert_counterexample.slips("""
of nearly_mixed
in [0.51, 0.49], [0.49, 0.51]
one_expert_each: [0.0, 1.0], [1.0, 0.0]
    In your table each cluster has an expert to itself, and the code says so. It fails where it says yes too early: which tables besides these does it
    accept?
uneven: [0.75, 0.25], [0.5, 0.5]
    The load of your table is not even: a column does not add up to 1. The code notices that.
all_alike: [0.5, 0.5], [0.5, 0.5]
    The load of your table is even, which is the place to look at. But two clusters have the same favourite, and the code notices that. (Of two equal
    shares the first one is the favourite.)
three_clusters: [0.75, 0.25, 0.0], [0.25, 0.75, 0.0], [0.0, 0.0, 1.0]
    Nearly. Your classmate's code is wrong on it. A smaller table shows it as well: two clusters are enough.
percent: [75.0, 25.0], [25.0, 75.0]
    A row does not add up to 1, or has a negative share. Each row holds the shares of one cluster.
not_square: [0.5, 0.5, 0.0], [0.5, 0.0, 0.5]
    Your table has not as many experts as clusters. Every cluster is to have one, and every expert a cluster.
""")
