"""Is a notebook of ten megabytes that is three million empty lists."""

import json

from attacks import Attack, Notebook


def with_lists(notebook: Notebook, inner: str, number: int) -> bytes:
    return f'{json.dumps(notebook)[:-1]}, "beside": [{",".join([inner] * number)}]}}'.encode()


attack = Attack(
    says="is not right",
    submission=lambda notebook: with_lists(notebook, "[]", 3_400_000),
    twin_submission=lambda notebook: with_lists(notebook, '{"":[0]}', 1_000_000),
)
