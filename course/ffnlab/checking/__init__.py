"""What a student's `check` runs: an answer is observed, compared with the reference outputs, and the verdict shown and kept."""
