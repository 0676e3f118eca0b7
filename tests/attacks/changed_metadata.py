"""Makes its check worth a thousand points, unlocks it, and turns it into a solution cell."""

from test_program import place

from attacks import Attack, Notebook


def worth_more(notebook: Notebook) -> Notebook:
    cell = notebook["cells"][place(notebook, "check-hello_shape")]
    cell["metadata"]["nbgrader"] |= {"points": 1000, "locked": False, "solution": True}
    cell["source"] = "1000.0"
    return notebook


attack = Attack(says="is not right", submission=worth_more, twin_submission=worth_more)
