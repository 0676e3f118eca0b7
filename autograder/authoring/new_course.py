"""A new course: a folder with one notebook, one exercise and its key, made of the small course that the tests grade (`tests/tiny_course`)."""

from __future__ import annotations

import importlib.util
import keyword
import re
import sys
from pathlib import Path

from autograder import project_files
from autograder.errors import UserError
from autograder.files import replace

TEMPLATE_NAME = "word_counts"  # of the students' package in the template; it and the keys' are called anew
TEMPLATE_KEYS = "word_count_keys"
NAME = re.compile(r"[a-z][a-z0-9_]{0,49}")
CONFIGURATION = "nbgrader_config.py"


def make(name: str, target: Path) -> None:
    """Make the folder of a course whose students' package is called `name`.

    Raises:
        UserError: a package can't be called so, or the folder is there.
    """
    _check_name(name)
    if target.exists() and (not target.is_dir() or any(target.iterdir())):
        raise UserError(f"{target} is already there: name another course, or another folder with --to")
    here = project_files.folder()
    template = here / project_files.TEMPLATE
    files = project_files.find(template, *project_files.TEMPLATE_FILES)
    if not files:
        raise UserError("this installation lacks the template of a course: install the wheel of a release")
    for path, file in files.items():
        replace(target / _renamed(path, name), _renamed(file.read_text(encoding="utf-8"), name))
    replace(target / CONFIGURATION, (here / CONFIGURATION).read_bytes())


def keys_of(name: str) -> str:
    """What the package of the keys is called."""
    return f"{name}_keys"


def _renamed(text: str, name: str) -> str:
    return text.replace(TEMPLATE_KEYS, keys_of(name)).replace(TEMPLATE_NAME, name)


def _check_name(name: str) -> None:
    if not NAME.fullmatch(name) or keyword.iskeyword(name):
        raise UserError(
            f"{name!r} can't be the name of a package: write small letters, digits and _, such as word_counts"
        )
    if name in sys.stdlib_module_names or any(
        (spec := importlib.util.find_spec(package)) and spec.origin for package in (name, keys_of(name))
    ):
        raise UserError(f"there is a package {name} in this Python already: name the course otherwise")
