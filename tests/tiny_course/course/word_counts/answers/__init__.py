"""The shipped reference outputs; `autograder build` makes them."""
