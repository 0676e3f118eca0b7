"""The marking guide of notebook 02."""
