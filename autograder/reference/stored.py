"""Files with reference outputs: a class's own, on its hidden draws, and the project's, on the draws of development.

Each is computed once and read by every process.
"""

from __future__ import annotations

import contextlib
import hashlib
from collections.abc import Callable
from functools import cache
from importlib import metadata
from pathlib import Path

from autograder import source_hash
from autograder.files import make_folder, write_private
from autograder.paths import root
from autograder.reference import draws
from ffnlab.registry import active_course

FOLDER = ".markings"


def pack(seeds: draws.SeedsByExercise) -> bytes:
    """What a file with the reference outputs of several exercises holds."""
    from autograder.reference import compute
    from ffnlab.checking import reference_files

    return reference_files.dump({name: compute.reference_outputs(name, drawn) for name, drawn in seeds.items()})


def ensure_class_file(
    folder: Path, assignment: str, seeds: draws.SeedsByExercise, pack: Callable[[draws.SeedsByExercise], bytes] = pack
) -> Path:
    """The file with an assignment's reference outputs on these draws, made if missing; others for another version of the key or of torch.

    pack: how what it holds is computed, as `pack`.
    """
    path = class_file(folder, assignment, seeds)
    if not path.is_file():
        make_folder(path.parent)
        data = pack(seeds)
        for old in path.parent.glob(f"{assignment}.*"):
            old.unlink(missing_ok=True)
        write_private(path, data)
    return path.resolve()


def class_file(folder: Path, assignment: str, seeds: draws.SeedsByExercise) -> Path:
    """Where a class's folder has an assignment's reference outputs on these draws, for this version of the key and of torch."""
    made_of = (draws.key_version(assignment), metadata.version("torch"), sorted(seeds.items()))
    identity = hashlib.sha256(str(made_of).encode()).hexdigest()[:16]
    return folder / FOLDER / f"{assignment}.{identity}.safetensors"


def load_for_recheck(name: str) -> None:
    """Take the reference outputs that `recheck` needs of an exercise: what the class in whose folder this process works has kept of its notebook, if it
    has; without a class, those on the draws of development.
    """
    folder = draws.class_here()
    if folder:
        assignment = active_course().notebook_of(name)
        seeds = draws.ensure_hidden_seeds(assignment, folder / draws.FILE)
        load_file(class_file(folder, assignment, seeds), tuple(seeds.items()))
    else:
        load_for_development(name)


def load_for_development(name: str) -> None:
    """Take an exercise's reference outputs on the draws of development, from the project's folder. Where it does not have them as the sources are now,
    they are computed, and kept there if it can be written to.
    """
    from autograder.reference import compute
    from ffnlab.checking import reference_files
    from ffnlab.observation import plain_data

    seeds = draws.development(name)
    if compute.is_cached(name, seeds):
        return
    path = _development_file(name, seeds)
    with contextlib.suppress(OSError, plain_data.Malformed, KeyError):
        compute.cache_reference(name, seeds, reference_files.read(path.read_bytes())[name])
        return
    data = reference_files.dump({name: compute.reference_outputs(name, seeds)})
    with contextlib.suppress(OSError):
        for old in path.parent.glob(f"{name}.*"):
            old.unlink(missing_ok=True)
        write_private(path, data)


def _development_file(name: str, seeds: draws.Seeds) -> Path:
    """Where the project's folder has an exercise's reference outputs on the draws of development: made by these sources, and by this torch."""
    from autograder.reference import compute

    course = active_course()
    notebook = course.notebook_of(name)
    made_by = source_hash.version(
        *course.key_files(notebook), course.exercises_file(notebook), source_hash.COMPARISON, Path(compute.__file__)
    )
    identity = hashlib.sha256(str((made_by, metadata.version("torch"), seeds)).encode()).hexdigest()[:16]
    return root() / FOLDER / f"{name}.{identity}.safetensors"


@cache
def load_file(path: Path, seeds: tuple[tuple[str, draws.Seeds], ...]) -> None:
    """Take the reference outputs from that file, if this machine has it; else the judge computes them when it needs them."""
    from autograder.reference import compute
    from ffnlab.checking import reference_files
    from ffnlab.observation import plain_data

    try:
        outputs = reference_files.read(path.read_bytes())
    except (OSError, plain_data.Malformed):
        return
    for name, exercise_seeds in seeds:
        if name in outputs:
            compute.cache_reference(name, exercise_seeds, outputs[name])
