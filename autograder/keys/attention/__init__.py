"""The answer keys of notebook 01, Can a mix of words say over or into?

Each answer is typed as a student would type it in the exercise's cell, with the notebook's imports: math, torch, F and nn.
"""
