"""What is right, and what goes wrong, in `router_learns_counterexample` of notebook 08."""

from __future__ import annotations

import torch

from autograder.keys.key import Key
from ffnlab.course.exercises import experts as exercises

router_learns_counterexample = Key(exercises.router_learns_counterexample)
router_learns_counterexample.add_value(
    "truth",
    "beside_the_middle",
    "",
    ([0.0, 0.0], [[1.0, 0.0], [-1.0, 0.0]], [0.0, 5.0]),
)
router_learns_counterexample.add_value(
    "right",
    "whole_numbers",
    "whole numbers, in tuples",
    ((0, 0), ((2, 1), (2, 3)), (7, 2)),
)
router_learns_counterexample.add_value(
    "right",
    "a_diagonal",
    "experts on a diagonal",
    [[1, 1], [[1, 1], [-1, -1]], [3, -3]],
)
router_learns_counterexample.add_value(
    "right",
    "unequal_logits",
    "a target that was computed",
    ([1.0, 0.0], [[1.0, 1.0], [1.0, -1.0]], [4.0, 0.4621171572600098]),
)
router_learns_counterexample.add_value(
    "right",
    "tensors",
    "tensors",
    (torch.zeros(2), torch.tensor([[2.0, 0.0], [0.0, 0.0]]), torch.tensor([1.0, -3.0])),
)


router_learns_counterexample.slips("""
of a_diagonal
in [[1, 1], [[1, 1], [-1, -1]], [3, -3]]
nearer: ([1.0, 0.0], [[1.0, 0.0], [0.0, 1.0]], [3.0, 0.0])
    More of one of your experts brings y nearer to the target, and the router learns that. The gates move y along a line. Where beside it must a
    target be, so that moving is no use?
both_the_same: ([1.0, 0.0], [[2.0, 1.0], [2.0, 1.0]], [5.0, 5.0])
    Both of your experts say the same, so that no gate matters. The code sees that.
target_hit: ([0.0, 0.0], [[1.0, 3.0], [3.0, 1.0]], [2.0, 2.0])
    Your experts hit the target together. There is no error, and the code sees that.
single_numbers: ([1.0, 0.0], [[1.0], [2.0]], [5.0])
    Each of your experts says a single number. Then moving y always helps or harms, as long as they differ. Let them say more.
three_numbers: ([0.0, 0.0], [[1.0, 0.0, 2.0], [-1.0, 0.0, 2.0]], [0.0, 5.0, 2.0])
    Nearly. Your classmate's code is wrong on it. A smaller one shows it as well: two numbers for each expert are enough.
three_experts: ([0.0, 0.0, 0.0], [[1.0, 0.0], [-1.0, 0.0], [0.0, 1.0]], [0.0, 5.0])
    There are not two logits and two outputs. The token has two experts here.
no_target: ([0.0, 0.0], [[1.0, 0.0], [-1.0, 0.0]])
    One of the three is missing: two logits, what the two experts say, and a target.
unequal_lengths: ([0.0, 0.0], [[1.0, 0.0], [-1.0, 0.0]], [5.0])
    The two experts and the target have different numbers of numbers.
huge_logits: ([500.0, 0.0], [[1.0, 0.0], [2.0, 0.0]], [5.0, 0.0])
    A logit is beyond 10. There a softmax rounds a gate to 0 or 1, which is another matter.
""")
