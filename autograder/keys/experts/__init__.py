"""The answer keys of notebook 08, You are the router.

Each answer is typed as a student would type it in the exercise's cell, with the notebook's imports: torch, F and nn.
"""
