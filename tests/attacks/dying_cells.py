"""Ends its process in hundreds of cells: each costs a new one, and all cells before it again."""

import nbformat

from attacks import Attack, Notebook


def many(notebook: Notebook, source: str, number: int) -> Notebook:
    notebook["cells"][1:1] = [{**nbformat.v4.new_code_cell(source)} for _ in range(number)]
    return notebook


attack = Attack(
    says="more than 8 times",
    submission=lambda notebook: many(notebook, "import os\nos._exit(0)", 990),
    twin_submission=lambda notebook: many(notebook, "import os\nos.getpid()", 5),
    plain=False,
    exhausts=True,
)
