"""The answer keys of notebook 08, Mixture of Experts I: route and dispatch.

Each answer is typed as a student would type it in the exercise's cell, with the notebook's imports: torch, F and nn.
"""
