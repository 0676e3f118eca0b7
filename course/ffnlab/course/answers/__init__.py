"""The shipped reference outputs: for the public inputs, what the right answer and each known mistake do. Made by `make build`, one file per notebook."""
