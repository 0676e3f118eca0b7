"""The reference outputs on a class's hidden draws, in its folder: computed once, then read by every worker."""

from __future__ import annotations

import hashlib
from functools import cache
from importlib import metadata
from pathlib import Path

from autograder.files import make_folder, write_private
from autograder.marking import draws

FOLDER = ".markings"


def ensure_file(folder: Path, assignment: str, seeds: draws.Seeds) -> Path:
    """The file with an assignment's reference outputs on these draws, made if missing; others for another version of the key or of torch."""
    path = file_for(folder, assignment, seeds)
    if not path.is_file():
        from autograder.marking import reference
        from ffnlab.checking import shipped_answers

        make_folder(path.parent)
        data = shipped_answers.dump({name: reference.reference_outputs(name, drawn) for name, drawn in seeds.items()})
        for old in path.parent.glob(f"{assignment}.*"):
            old.unlink(missing_ok=True)
        write_private(path, data)
    return path.resolve()


def load_for_class_here(assignment: str) -> None:
    """Take the reference outputs that the class in whose folder this process works has kept of an assignment, if there are any."""
    folder = draws.class_here()
    if folder:
        seeds = draws.ensure_hidden_seeds(assignment, folder / draws.FILE)
        load(file_for(folder, assignment, seeds), tuple(seeds.items()))


def file_for(folder: Path, assignment: str, seeds: draws.Seeds) -> Path:
    """Where a class's folder has an assignment's reference outputs on these draws, for this version of the key and of torch."""
    made_of = (draws.key_version(assignment), metadata.version("torch"), sorted(seeds.items()))
    identity = hashlib.sha256(str(made_of).encode()).hexdigest()[:16]
    return folder / FOLDER / f"{assignment}.{identity}.safetensors"


@cache
def load(path: Path, seeds: tuple[tuple[str, tuple[int, ...]], ...]) -> None:
    """Take the reference outputs from that file, if this machine has it; else the judge computes them when it needs them."""
    from autograder.marking import reference
    from ffnlab.checking import shipped_answers
    from ffnlab.observation import plain_data

    try:
        found = shipped_answers.read(path.read_bytes())
    except (OSError, plain_data.Malformed):
        return
    for name, drawn in seeds:
        if name in found:
            reference.cache_reference(name, drawn, found[name])
