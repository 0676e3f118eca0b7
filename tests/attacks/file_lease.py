"""Takes a lease on a file that honest notebooks open, which makes them wait"""

from attacks import Attack

attack = Attack(
    says="not permitted",
    answer="""
import fcntl
import os

file = os.open(os.__file__, os.O_RDONLY)
fcntl.fcntl(file, fcntl.F_SETLEASE, fcntl.F_RDLCK)

def hello_shape(x):
    return tuple(x.shape)
""",
    twin="""
import fcntl
import os

file = os.open(os.__file__, os.O_RDONLY)
flags = fcntl.fcntl(file, fcntl.F_GETFL)

def hello_shape(x):
    return tuple(x.shape)
""",
    plain=False,
)
