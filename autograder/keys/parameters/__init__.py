"""The answer keys of notebook 05, The scales.

Each answer is typed as a student would type it in the exercise's cell, with the notebook's imports: math, torch and nn.
"""
