"""Attacks by the notebook itself: forged metadata and outputs, other formats, and files that are too large or too deep to read."""

import copy
import json

import nbformat
from test_program import place

from attacks import Attack, Notebook

READ = """
print("attack: its notebook is read")

def hello_shape(x):
    return (0, 0, 0)
"""  # an answer that shows that what is around it was no reason to refuse it
IS_READ = "attack: its notebook is read"


def claiming(notebook: Notebook) -> Notebook:
    cell = notebook["cells"][place(notebook, "check-hello_shape")]
    cell["outputs"] = [
        {"output_type": "execute_result", "execution_count": 1, "metadata": {}, "data": {"text/plain": "2.0"}},
        {"output_type": "display_data", "metadata": {}, "data": {"text/html": "<b>earned 2 of 2</b>"}},
    ]
    return notebook


claimed_outputs = Attack(
    "Comes with outputs that claim the full score",
    says="is not right",
    mark=IS_READ,
    answer=READ,
    submission=claiming,
    twin_submission=claiming,
)


def worth_more(notebook: Notebook) -> Notebook:
    cell = notebook["cells"][place(notebook, "check-hello_shape")]
    cell["metadata"]["nbgrader"] |= {"points": 1000, "locked": False, "solution": True}
    cell["source"] = "1000.0"
    return notebook


changed_metadata = Attack(
    "Makes its check worth a thousand points, unlocks it, and turns it into a solution cell",
    says="is not right",
    mark=r"Out\[\d+\]: 1000\.0",
    submission=worth_more,
    twin_submission=worth_more,
)


def copied(notebook: Notebook) -> Notebook:
    where = place(notebook, "check-hello_shape")
    twin = copy.deepcopy(notebook["cells"][where]) | {"source": "2.0"}
    notebook["cells"][where:where] = [twin]
    notebook["cells"].append(copy.deepcopy(twin))
    return notebook


copied_check = Attack(
    "Copies the check, before and after itself, with a score of its own",
    says="is not right",
    mark=r"Out\[\d+\]: 2\.0.*Out\[\d+\]: 2\.0",
    submission=copied,
    twin_submission=copied,
)


def with_a_later_cell(notebook: Notebook) -> Notebook:
    cell = nbformat.v4.new_code_cell("del hello_shape\ncheck = lambda *args: 2.0\n2.0")
    notebook["cells"].append({**cell})
    return notebook


later_cells = Attack(
    "Defines the answer again in later cells, each time as something else",
    says="is not right",
    mark=r"Out\[\d+\]: 2\.0",
    submission=with_a_later_cell,
    twin_submission=with_a_later_cell,
)

script_magic = Attack(
    "Hands the cell to a shell that prints the score",
    says="ttempted|defined",
    mark=r"hello_shape = 2\.0",
    answer="""
%%script bash
echo "hello_shape = 2.0"
echo 2.0
""",
    twin="""
%%time
def hello_shape(x):
    return tuple(x.shape)
""",
)


def in_bash(notebook: Notebook) -> Notebook:
    notebook["metadata"]["kernelspec"] = {"display_name": "Bash", "language": "bash", "name": "bash"}
    notebook["metadata"]["language_info"] = {"name": "bash"}
    return notebook


def in_another_environment(notebook: Notebook) -> Notebook:
    notebook["metadata"]["kernelspec"] = {"display_name": "torch39", "language": "python", "name": "torch39"}
    return notebook


other_kernel = Attack(
    "Asks for another kernel and another language",
    says="is not right",
    mark=IS_READ,
    answer=READ,
    submission=in_bash,
    twin_submission=in_another_environment,
)


def with_a_number_for_cells(notebook: Notebook) -> Notebook:
    return {"nbformat": 3, "worksheets": [{"cells": 5}]}


def in_the_old_format(notebook: Notebook) -> Notebook:
    cells = [cell | {"input": cell["source"]} for cell in notebook["cells"]]
    return {"nbformat": 3, "nbformat_minor": 0, "metadata": {}, "worksheets": [{"cells": cells, "metadata": {}}]}


odd_worksheets = Attack(
    "Is a notebook of an old format whose cells are a number",
    says="deleted: hello_shape",
    submission=with_a_number_for_cells,
    twin_submission=in_the_old_format,
)


def never_closed(notebook: Notebook) -> bytes:
    return b'{"cells": ' + b"[" * 100_000


def with_deep_metadata(notebook: Notebook) -> Notebook:
    nested: dict[str, object] = {}
    for _ in range(50):
        nested = {"inside": nested}
    notebook["metadata"]["mine"] = nested
    return notebook


deep_json = Attack(
    "Is JSON that is nested a hundred thousand deep",
    says="could not be read",
    submission=never_closed,
    twin_submission=with_deep_metadata,
)


def with_lists(notebook: Notebook, inner: str, number: int) -> bytes:
    return f'{json.dumps(notebook)[:-1]}, "beside": [{",".join([inner] * number)}]}}'.encode()


a_list_of_lists = Attack(
    "Is a notebook of ten megabytes that is three million empty lists",
    says="is not right",
    mark=IS_READ,
    answer=READ,
    submission=lambda notebook: with_lists(notebook, "[]", 3_400_000),
    twin_submission=lambda notebook: with_lists(notebook, '{"":[0]}', 1_000_000),
)


def with_output_of(mebibytes: int, notebook: Notebook) -> Notebook:
    cell = notebook["cells"][place(notebook, "imports")]
    cell["outputs"] = [{"output_type": "stream", "name": "stdout", "text": "x" * (mebibytes * 2**20)}]
    return notebook


huge_notebook = Attack(
    "Is a notebook of a hundred megabytes",
    says="too large",
    submission=lambda notebook: with_output_of(100, notebook),
    twin_submission=lambda notebook: with_output_of(5, notebook),
)

LINE = 9_000_000

one_long_line = Attack(
    "Is an answer of one line of nine megabytes, each character of which takes five on a page",
    says="is not right",
    mark=IS_READ,
    answer=f"{READ.rstrip()}  # {'<' * LINE}",
    twin=f"def hello_shape(x):\n    return tuple(x.shape)  # {'x' * LINE}",
    plain=False,
)

PIXEL = "iVBORw0KGgoAAAANSUhEUgAAAAEAAAABCAYAAAAfFcSJAAAADUlEQVR42mNkYPhfDwAChwGA60e6kgAAAABJRU5ErkJggg=="


def in_lists(levels: int) -> object:
    found: object = PIXEL
    for _ in range(levels):
        found = [found]
    return found


def attached(notebook: Notebook, attachments: dict[str, object], mentions: int) -> Notebook:
    cell = notebook["cells"][place(notebook, "hello_shape")]
    cell["source"] += "".join(f"\n# ![](attachment:{name})" for name in list(attachments)[:5] * mentions)
    cell["attachments"] = attachments
    return notebook


deep_attachments = Attack(
    "Attaches pictures that are none: deep, many, named like each other, each mentioned again and again",
    says="is not right",
    mark=IS_READ,
    answer=READ,
    submission=lambda notebook: attached(
        notebook,
        {
            "deep": {"image/png": in_lists(900)},
            "many": {f"image/{n}": PIXEL for n in range(20_000)},
            "none": {"image/png": None, "image/gif": 5},
            **{str(n): {"image/png": "A" * 1_000} for n in range(1_000)},
            "odd": ["image/png"],
        },
        2_000,
    ),
    twin_submission=lambda notebook: attached(notebook, {"dot": {"image/png": PIXEL}}, 2),
)
