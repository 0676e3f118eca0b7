"""Starts programs, each of which takes less memory than the warm process has"""

from attacks import Attack

attack = Attack(
    says="MiB of memory",
    answer="""
import subprocess
import sys

hoard = "import time; room = bytearray(150 * 2**20); time.sleep(60)"

def hello_shape(x):
    programs = [subprocess.Popen([sys.executable, "-S", "-c", hoard]) for _ in range(4)]
    for program in programs:
        program.wait()
    return tuple(x.shape)
""",
    twin="""
import subprocess
import sys

def hello_shape(x):
    program = subprocess.run([sys.executable, "-S", "-c", "room = bytearray(2**20)"])
    assert program.returncode == 0
    return tuple(x.shape)
""",
    plain=False,
    exhausts=True,
)
