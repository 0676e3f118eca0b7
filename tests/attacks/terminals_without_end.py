"""Opens terminals until the machine has no more"""

from attacks import Attack

attack = Attack(
    says="OSError",
    answer="""
import os

found = []
while len(found) < 100:
    found.append(os.openpty())

def hello_shape(x):
    return tuple(x.shape)
""",
    twin="""
import os

one, other = os.openpty()

def hello_shape(x):
    os.write(other, b"x")
    assert os.read(one, 1) == b"x"
    return tuple(x.shape)
""",
    plain=False,
)
