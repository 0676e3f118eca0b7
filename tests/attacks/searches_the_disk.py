"""Searches the whole disk for solutions, gradebook, secrets and other submissions."""

from attacks import Attack

attack = Attack(
    says="is not right",
    answer="""
import os

WANTED = ("gradebook.db", "hidden_draws.json", "grading.log", "submitted", "solutions", "keys")
found = [os.path.join(folder, name) for folder, folders, files in os.walk("/") for name in folders + files if name in WANTED]
found = [path for path in found if "site-packages" not in path and not path.startswith(("/usr", "/sys"))]
found = [path for path in found if "autograder" in path or "course" in path or "grading" in path]

def hello_shape(x):
    return tuple(found) or (0, 0, 0)
""",
    twin="""
import os

here = os.listdir(".")

def hello_shape(x):
    return tuple(x.shape)
""",
    plain=False,
)
