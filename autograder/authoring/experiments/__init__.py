"""How the stored runs of `ffnlab.experiments` were made: what students get holds the results, and none of this."""
