"""Leaves a note for whoever runs next, in the flags of a file that was open before it began."""

import nbformat

from attacks import Attack, Notebook


def first(notebook: Notebook, source: str) -> Notebook:
    notebook["cells"].insert(1, {**nbformat.v4.new_code_cell(source)})
    return notebook


attack = Attack(
    says="is not right",
    answer="""
import fcntl
import os

noted = fcntl.fcntl(1, fcntl.F_GETFL) & os.O_NONBLOCK

def hello_shape(x):
    return tuple(x.shape) if noted else (0, 0, 0)
""",
    submission=lambda notebook: first(
        notebook, "import fcntl, os\nfcntl.fcntl(1, fcntl.F_SETFL, os.O_NONBLOCK)\nos._exit(0)"
    ),
    twin_submission=lambda notebook: first(
        notebook, "import fcntl, os\nfcntl.fcntl(open('/tmp/notes', 'w'), fcntl.F_SETFL, os.O_APPEND)"
    ),
    plain=False,
)
