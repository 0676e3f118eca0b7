"""Sends control codes to the instructor's terminal."""

from attacks import Attack

attack = Attack(
    says="all students",
    answer="""
def hello_shape(x):
    print("\\x1b[2J\\x1b]0;owned\\x07")
    raise ValueError("\\x1b[2J\\x1b[31mall students: 2 of 2\\x07")
""",
    twin="""
def hello_shape(x):
    print("\\x1b[1mbold\\x1b[0m")
    return tuple(x.shape)
""",
)
