"""Before a class is graded for the first time: hidden inputs on which every key holds, and the reference outputs on them.

All kept answers run on them, which takes seconds for each exercise. So workers share the exercises, and the process that asks needs no torch.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from concurrent.futures import BrokenExecutor, Future
from pathlib import Path
from typing import Any, TypeVar

from autograder.reference import draws, stored
from ffnlab.registry import active_course

Run = Callable[..., Future[Any]]  # a function and its arguments -> what it will return
T = TypeVar("T")


def run_here(function: Callable[..., T], *arguments: Any) -> Future[T]:
    """A `Run` that calls the function in this process, and returns when it has."""
    future = Future[T]()
    try:
        future.set_result(function(*arguments))
    except Exception as error:
        future.set_exception(error)
    return future


def prepare(
    assignment: str, hidden_draws: Path, folder: Path, run: Run = run_here
) -> tuple[draws.SeedsByExercise, Path]:
    """The seeds of an assignment's hidden draws, and the file with their reference outputs. What is missing is made first.

    hidden_draws: the file with the class's secrets. folder: of the class. run: who computes; without, this process.

    Raises:
        UserError: the file with the secrets is broken, or a key holds on no draws. KeyProblem: a key is wrong by itself.
    """
    preparation = _Preparation(run)
    seeds = draws.ensure_hidden_seeds(assignment, hidden_draws, preparation.find_valid_draws)
    return seeds, stored.ensure_class_file(folder, assignment, seeds, preparation.pack)


class _Preparation:
    """One preparation: what workers have packed while they tried draws is not computed again."""

    def __init__(self, run: Run) -> None:
        self._run = run
        self._packed: dict[str, bytes] = {}  # by exercise

    def find_valid_draws(self, secret: bytes, first: Mapping[str, int]) -> dict[str, int]:
        """As `draws.find_valid_draws`."""
        results = self._on_each(_find_valid_draw, [(name, secret, number) for name, number in first.items()])
        self._packed = {name: packed for name, (_, packed) in zip(first, results, strict=True)}
        return {name: draw_number for name, (draw_number, _) in zip(first, results, strict=True)}

    def pack(self, seeds: draws.SeedsByExercise) -> bytes:
        """As `stored.pack`."""
        missing = [(name, drawn) for name, drawn in seeds.items() if name not in self._packed]
        self._packed |= {name: data for (name, _), data in zip(missing, self._on_each(_pack, missing), strict=True)}
        (data,) = self._on_each(_merge, [([self._packed[name] for name in seeds],)])
        return data

    def _on_each(self, function: Callable[..., T], calls: Sequence[tuple[Any, ...]]) -> list[T]:
        """What a function returns for each tuple of arguments. If a worker dies over it, this process does it all."""
        futures = [self._run(function, *arguments) for arguments in calls]
        try:
            return [future.result() for future in futures]
        except BrokenExecutor:
            return [function(*arguments) for arguments in calls]


def _find_valid_draw(exercise: str, secret: bytes, first: int) -> tuple[int, bytes]:
    """The number of the draws, and the reference outputs on them."""
    import torch

    torch.set_num_threads(1)
    draw_number = draws.find_valid_draw(exercise, secret, first)
    return draw_number, _pack(exercise, draws.hidden_seeds(active_course().exercise(exercise), secret, draw_number))


def _pack(exercise: str, seeds: draws.Seeds) -> bytes:
    from autograder.reference import compute

    data = stored.pack({exercise: seeds})
    compute.clear_cache()  # a worker judges elsewhere
    return data


def _merge(files: Sequence[bytes]) -> bytes:
    """Of the contents of several files with reference outputs, that of one with all of them."""
    from ffnlab.checking import reference_files

    return reference_files.dump(
        {name: outputs for data in files for name, outputs in reference_files.read(data).items()}
    )
