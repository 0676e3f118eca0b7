"""Is JSON that is nested a hundred thousand deep."""

from attacks import Attack, Notebook


def deep(notebook: Notebook) -> bytes:
    return b'{"cells": ' + b"[" * 100_000


def with_deep_metadata(notebook: Notebook) -> Notebook:
    nested: dict[str, object] = {}
    for _ in range(50):
        nested = {"inside": nested}
    notebook["metadata"]["mine"] = nested
    return notebook


attack = Attack(says="could not be read", submission=deep, twin_submission=with_deep_metadata)
