"""Defines the answer again in later cells, each time as something else."""

import nbformat

from attacks import Attack, Notebook


def again(notebook: Notebook) -> Notebook:
    cell = nbformat.v4.new_code_cell("del hello_shape\ncheck = lambda *args: 2.0\n2.0")
    notebook["cells"].append({**cell})
    return notebook


attack = Attack(says="is not right", submission=again, twin_submission=again)
