"""Has itself told what others open in the folder of a library"""

from attacks import Attack

attack = Attack(
    says="not permitted",
    answer="""
import fcntl
import os

folder = os.open(os.path.dirname(os.__file__), os.O_RDONLY)
fcntl.fcntl(folder, fcntl.F_NOTIFY, fcntl.DN_ACCESS | fcntl.DN_MULTISHOT)

def hello_shape(x):
    return tuple(x.shape)
""",
    twin="""
import fcntl
import os

folder = os.open(os.path.dirname(os.__file__), os.O_RDONLY)
fcntl.fcntl(folder, fcntl.F_SETFD, fcntl.FD_CLOEXEC)

def hello_shape(x):
    return tuple(x.shape)
""",
    plain=False,
)
