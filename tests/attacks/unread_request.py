"""Does not read what it is asked, which is more than the kernel keeps for it."""

import nbformat

from attacks import Attack, Notebook

LONG = "#" * 2_000_000


def first(notebook: Notebook, source: str) -> Notebook:
    notebook["cells"].insert(1, {**nbformat.v4.new_code_cell(source)})
    return notebook


attack = Attack(
    says="longer than",
    answer=f"def hello_shape(x):\n    return tuple(x.shape)\n{LONG}",
    submission=lambda notebook: first(
        notebook, "import time\nfrom autograder.jail import wire\nwire.receive = lambda *_: time.sleep(10**6)"
    ),
    twin=f"def hello_shape(x):\n    return tuple(x.shape)  {LONG}",
    plain=False,
    exhausts=True,
)
