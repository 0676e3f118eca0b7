"""The key of notebook 11: an answer to each exercise is kept in its own module."""
