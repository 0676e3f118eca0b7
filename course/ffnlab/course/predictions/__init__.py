"""The predictions of the course: a question that is answered with a click before the reader sees, and what is said afterwards. One module per notebook."""
