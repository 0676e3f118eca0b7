"""The answer keys of notebook 04, Which of these nine are real?

Each answer is typed as a student would type it in the exercise's cell, with the notebook's imports: torch, F and nn.
"""
