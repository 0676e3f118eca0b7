"""from keys and seeds to reference outputs, and from what was observed to a verdict."""
