"""Questions that are answered with a guess before the answer is shown."""
