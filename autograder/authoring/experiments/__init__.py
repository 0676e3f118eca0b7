"""How the stored runs of `ffnlab.course.experiments` were made: what students get holds the results, and none of this."""
