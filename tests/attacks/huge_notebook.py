"""Is a notebook of a hundred megabytes."""

from test_program import place

from attacks import Attack, Notebook


def with_output_of(mebibytes: int, notebook: Notebook) -> Notebook:
    cell = notebook["cells"][place(notebook, "imports")]
    cell["outputs"] = [{"output_type": "stream", "name": "stdout", "text": "x" * (mebibytes * 2**20)}]
    return notebook


attack = Attack(
    says="too large",
    submission=lambda notebook: with_output_of(100, notebook),
    twin_submission=lambda notebook: with_output_of(5, notebook),
)
