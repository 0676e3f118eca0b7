"""The answer keys of notebook 06, Make it forget one thing.

Each answer is typed as a student would type it in the exercise's cell, with the notebook's imports: combinations, copy, torch, F and nn.
"""
