"""Notebook 02, The FFN, from formula to module."""
