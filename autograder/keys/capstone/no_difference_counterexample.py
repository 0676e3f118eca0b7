"""What is right, and what goes wrong, in `no_difference_counterexample` of notebook 10."""

from __future__ import annotations

import torch

from autograder.keys.key import Key
from ffnlab.course.exercises import capstone as exercises

no_difference_counterexample = Key(exercises.no_difference_counterexample)
no_difference_counterexample.add_value("truth", "an_xor", "", [[1.0, 0.0], [0.0, 1.0]])
no_difference_counterexample.add_value("right", "the_other_way", "the other way round", ((0.5, 0.75), (0.75, 0.5)))
no_difference_counterexample.add_value("right", "a_little", "a difference of a tenth", [[0.9, 1.0], [1.0, 0.9]])
no_difference_counterexample.add_value("right", "a_tensor", "a tensor [2, 2]", torch.tensor([[0.0, 0.25], [0.25, 0.0]]))


no_difference_counterexample.slips("""
of the_other_way
in (0.5, 0.75), (0.75, 0.5)
all_alike: (0.5, 0.5), (0.5, 0.5)
    In your table all runs are the same, and the code says so, rightly. Look for runs that differ while no mean does.
weights_decide: (1.0, 1.0), (0.5, 0.5)
    The rows of your table have different means, and the code notices. Find a table whose rows all have the same mean, although its runs differ.
order_decides: (1.0, 0.5), (1.0, 0.5)
    The rows of your table have the same mean, but its columns have not, and the code notices. What must the second row be, so that the columns agree as well?
three_by_three: (1.0, 0.5, 0.5), (0.5, 1.0, 0.5), (0.5, 0.5, 1.0)
    Nearly. Your classmate's code is wrong on it. Fewer runs show it as well: two rows and two columns are enough.
percent: (100.0, 50.0), (50.0, 100.0)
    The shares of your table are in percent, or out of bounds. Each is a number from 0 to 1.
""")
