"""The keys of the notebook on counting words."""
