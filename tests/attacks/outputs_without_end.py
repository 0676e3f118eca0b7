"""Shows tens of thousands of tiny outputs, in thousands of cells"""

import nbformat

from attacks import Attack, Notebook


def showing(notebook: Notebook, kind: str, cells: int) -> Notebook:
    source = f"for _ in range(50):\n    display({{{kind!r}: 'a'}}, raw=True)"
    notebook["cells"][1:1] = [{**nbformat.v4.new_code_cell(source)} for _ in range(cells)]
    return notebook


attack = Attack(
    says="is not right",
    submission=lambda notebook: showing(notebook, "text/html", 1000),
    twin_submission=lambda notebook: showing(notebook, "text/plain", 20),
    plain=False,
)
