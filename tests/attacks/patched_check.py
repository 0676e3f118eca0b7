"""Replaces the course's own check, panel and verdict."""

from attacks import Attack

attack = Attack(
    says="is not right",
    answer="""
import ffnlab
import ffnlab
import ffnlab.checking.comparison
import ffnlab.checking.verdict

ffnlab.check = check = lambda name, answer, **options: 2.0
ffnlab.checking.comparison.compare = lambda *args, **kwargs: 2.0
ffnlab.checking.verdict.Verdict.points = 2.0

def hello_shape(x):
    return (0, 0, 0)
""",
    twin="""
def my_check(answer):
    return answer is not None

def hello_shape(x):
    assert my_check(x)
    return tuple(x.shape)
""",
)
