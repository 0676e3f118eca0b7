"""The content of this course: its exercises, shipped answers, predictions, figures and experiments, and what they draw on."""
