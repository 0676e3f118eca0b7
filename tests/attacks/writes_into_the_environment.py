"""Writes into the Python environment that grades."""

from attacks import Attack

attack = Attack(
    says="is not right",
    answer="""
import os
import sys

for folder in (sys.prefix, sys.base_prefix, "/usr/lib", os.path.dirname(os.__file__), *filter(None, sys.path)):
    try:
        open(os.path.join(folder, "an_attack_was_here.py"), "w").close()
    except OSError:
        continue
    if not folder.startswith("/tmp"):
        raise SystemExit(f"{folder} can be written")

def hello_shape(x):
    return (0, 0, 0)
""",
    twin="""
import os

def hello_shape(x):
    open(os.path.expanduser("~/notes"), "w").close()
    return tuple(x.shape)
""",
    plain=False,
)
