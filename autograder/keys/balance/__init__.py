"""The answer keys of notebook 09, Mixture of Experts II, balance and capacity.

Each answer is typed as a student would type it in the exercise's cell, with the notebook's imports: math, torch, F, nn and the class FFN.
"""
