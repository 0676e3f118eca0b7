"""The answer keys of notebook 03, a game of levels.

Each answer is typed as a student would type it in the exercise's cell, with the notebook's imports: math, torch, F and nn.
"""
