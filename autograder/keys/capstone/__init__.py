"""The answer keys of notebook 10: what is right, and what goes wrong when a block is put together."""
