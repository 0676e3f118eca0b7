"""Copies the check, before and after itself, with a score of its own."""

import copy

from test_program import place

from attacks import Attack, Notebook


def copied(notebook: Notebook) -> Notebook:
    where = place(notebook, "check-hello_shape")
    twin = copy.deepcopy(notebook["cells"][where]) | {"source": "2.0"}
    notebook["cells"][where:where] = [twin]
    notebook["cells"].append(copy.deepcopy(twin))
    return notebook


attack = Attack(says="is not right", submission=copied, twin_submission=copied)
