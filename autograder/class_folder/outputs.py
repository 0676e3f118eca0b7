"""Where a command is told to write, checked before it begins: two outputs are two files, and none is an input or one of the class's own.

Called by the commands that write where a person says.
"""

from __future__ import annotations

from collections.abc import Mapping
from itertools import combinations
from pathlib import Path

from autograder.class_folder.folder import ClassFolder
from autograder.errors import UserError
from autograder.files import is_device, is_same_file


def check_outputs(
    outputs: Mapping[str, Path | None],
    class_folder: ClassFolder | None = None,
    inputs: Mapping[str, Path | None] | None = None,
) -> None:
    """See that every output can be written without losing another one, an input or a file of the class.

    outputs, inputs: by what a person calls them, such as "--csv"; None where there is none. A device such as /dev/stdout may be named twice.

    Raises:
        UserError: which output can't be written there, and why.
    """
    files = {name: path for name, path in outputs.items() if path is not None and not is_device(path)}
    for name, path in files.items():
        _check_place(name, path)
        for other, given in (inputs or {}).items():
            if given is not None and is_same_file(path, given):
                raise UserError(f"{name}: {path} is {other} itself, which is not changed: write to another file")
        if class_folder and class_folder.owns(path):
            raise UserError(f"{name}: {path} belongs to the class, and writing there would destroy it: write elsewhere")
    for (name, path), (other, same) in combinations(files.items(), 2):
        if is_same_file(path, same):
            raise UserError(f"{name} and {other} are one file, {same}, and would overwrite each other: name two")


def _check_place(name: str, path: Path) -> None:
    """See that a path can be a file. Raises UserError where it is a folder or below a file."""
    if path.is_dir():
        raise UserError(f"{name}: {path} is a folder; give the name of a file")
    above = next(folder for folder in path.absolute().parents if folder.exists())
    if not above.is_dir():
        raise UserError(f"{name}: {above} is not a folder, so {path} can't be written")
