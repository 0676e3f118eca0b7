"""Makes files without end."""

from attacks import Attack

attack = Attack(
    says="OSError|No space|longer",
    answer="""
def hello_shape(x):
    number = 0
    while True:
        open(f"/tmp/{number}", "w").close()
        number += 1
""",
    twin="""
import tempfile

def hello_shape(x):
    with tempfile.TemporaryDirectory() as folder:
        open(f"{folder}/notes", "w").close()
    return tuple(x.shape)
""",
    plain=False,
    exhausts=True,
)
