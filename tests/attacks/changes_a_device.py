"""Changes who may use /dev/null, and when it was last changed"""

from attacks import Attack

attack = Attack(
    says="Read-only",
    answer="""
import os

try:
    os.chmod("/dev/null", 0o600)
except OSError as error:
    refused = error
    os.utime("/dev/null")

def hello_shape(x):
    return tuple(x.shape)
""",
    twin="""
nowhere = open("/dev/null", "w")
nowhere.write("x")
nowhere.close()

def hello_shape(x):
    return tuple(x.shape)
""",
    plain=False,
)
