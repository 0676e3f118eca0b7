"""Displays the full score from inside the function."""

from attacks import Attack

attack = Attack(
    says="is not right",
    answer="""
def hello_shape(x):
    get_ipython().displayhook(2.0)
    Out[99] = 2.0
    return (0, 0, 0)
""",
    twin="""
def hello_shape(x):
    print(2.0)
    return tuple(x.shape)
""",
)
