"""The shipped answers; `autograder build` makes them."""
