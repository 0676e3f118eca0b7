"""The answer keys of notebook 06, What the FFN stores.

Each answer is typed as a student would type it in the exercise's cell, with the notebook's imports: contextlib, copy, torch, F and nn.
"""
