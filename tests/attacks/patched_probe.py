"""Replaces the probe that reports what the answer does."""

from attacks import Attack

attack = Attack(
    says="not one observation for each probe",
    answer="""
from ffnlab.observation.exercise import Exercise

Exercise.observe = lambda self, answer, inputs: {"shape": (0, 0, 0), "points": 2.0, "outcome": "earned"}

def hello_shape(x):
    return (0, 0, 0)
""",
    twin="""
class Exercise:
    def observe(self, x):
        return tuple(x.shape)

def hello_shape(x):
    return Exercise().observe(x)
""",
)
