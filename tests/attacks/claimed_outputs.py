"""Comes with outputs that claim the full score."""

from test_program import place

from attacks import Attack, Notebook


def claiming(notebook: Notebook) -> Notebook:
    cell = notebook["cells"][place(notebook, "check-hello_shape")]
    cell["outputs"] = [
        {"output_type": "execute_result", "execution_count": 1, "metadata": {}, "data": {"text/plain": "2.0"}},
        {"output_type": "display_data", "metadata": {}, "data": {"text/html": "<b>earned 2 of 2</b>"}},
    ]
    return notebook


attack = Attack(says="is not right", submission=claiming, twin_submission=claiming)
