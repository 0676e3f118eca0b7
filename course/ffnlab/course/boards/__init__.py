"""The boards of this course: each a module in JavaScript with its sheet, and the Python that gives it what it shows."""
