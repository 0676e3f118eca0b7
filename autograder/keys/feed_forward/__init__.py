"""The answer keys of notebook 02, Light a lamp.

Each answer is typed as a student would type it in the exercise's cell, with the notebook's imports: math, torch, F and nn.
"""
