"""Starts a process that tries to outlive the grader."""

from attacks import Attack

attack = Attack(
    says="is not right",
    answer="""
import subprocess

subprocess.Popen(["sleep", "3333"], start_new_session=True)

def hello_shape(x):
    return (0, 0, 0)
""",
    twin="""
import subprocess

said = subprocess.run(["echo", "3"], capture_output=True, text=True).stdout

def hello_shape(x):
    return tuple(x.shape)
""",
    plain=False,
)
