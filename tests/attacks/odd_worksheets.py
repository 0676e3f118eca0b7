"""Is a notebook of an old format whose cells are a number"""

from attacks import Attack, Notebook


def old(notebook: Notebook) -> Notebook:
    return {"nbformat": 3, "worksheets": [{"cells": 5}]}


def older(notebook: Notebook) -> Notebook:
    cells = [cell | {"input": cell["source"]} for cell in notebook["cells"]]
    return {"nbformat": 3, "nbformat_minor": 0, "metadata": {}, "worksheets": [{"cells": cells, "metadata": {}}]}


attack = Attack(says="deleted: hello_shape", submission=old, twin_submission=older)
