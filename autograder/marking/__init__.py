"""From keys and seeds to markings, and from what was observed to a verdict."""
