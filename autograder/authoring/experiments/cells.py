"""What the training cells of notebooks 06 and 08 find from seeds other than those that they run with.

The functions are those of the solution notebooks. `python -m autograder.authoring.experiments.cells` writes ffnlab's experiments/cells.json:
ten minutes of one core.
"""

from __future__ import annotations

import ast
from collections.abc import Callable
from pathlib import Path
from typing import Any

import torch

from autograder.authoring.build import cells_of
from autograder.authoring.experiments.write import TORCH, write
from ffnlab.course import experiments

STORED = Path(experiments.__file__).with_name("cells.json")
FRESH = tuple(range(5, 20))  # the cells run from 0 to 4


def function(notebook: str, name: str, cells: tuple[str, ...]) -> Callable[..., Any]:
    """A function of a solution notebook, defined in the last of `cells`; of these, imports, definitions and constants are run, and no loops."""
    namespace: dict[str, Any] = {"__name__": "solution"}
    for cell in cells:
        statements: list[ast.stmt] = [
            part
            for part in ast.parse(cells_of(notebook)[cell]).body
            if isinstance(part, ast.Import | ast.ImportFrom | ast.FunctionDef | ast.ClassDef)
            or (
                isinstance(part, ast.Assign)
                and all(isinstance(to, ast.Name) and to.id.isupper() for to in part.targets)
            )
        ]
        exec(compile(ast.Module(statements, []), f"<{notebook}: {cell}>", "exec"), namespace)
    definition: Callable[..., Any] = namespace[name]
    return definition


def top_1() -> dict[str, dict[str, list[float]]]:
    """Notebook 08: the error of a top-1 mixture, and how far its router moved, with the gate renormalised and as it is."""
    train = function("08_experts", "train_top1", ("imports", "published", "trap"))
    results: dict[str, dict[str, list[float]]] = {}
    for label, renormalise in (("renormalised", True), ("as it is", False)):
        errors, shifts = zip(*(train(seed, renormalise) for seed in FRESH), strict=True)
        results[label] = {
            "error": [round(error, 4) for error in errors],
            "moved": [round(shift, 3) for shift in shifts],
        }
    return results


def attention_only() -> dict[str, list[float]]:
    """Notebook 06: the share of 512 facts that one attention layer without an FFN knows, and a plain average in its place."""
    train = function("06_memory", "attention_only", ("imports", "attention-only"))
    return {
        label: [round(train(seed, softmax), 4) for seed in FRESH]
        for label, softmax in (("attention", True), ("average", False))
    }


def stored() -> dict[str, Any]:
    """What the last run of this module wrote."""
    return experiments.read(STORED)


def main() -> None:
    torch.set_num_threads(1)
    about = {"seeds": FRESH, "torch": TORCH}
    write(STORED, about | {"attention only": attention_only(), "top-1": top_1()})


if __name__ == "__main__":
    main()
