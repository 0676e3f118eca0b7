"""Which files of the project a wheel of `autograder` carries beside its packages: what a class's folder is made of, and the template of a new course.

A wheel has them in the folder `autograder/project`, in a clone they lie where they are written. setup.py runs this file alone, so it imports nothing of
ours.
"""

from __future__ import annotations

from pathlib import Path

HERE = Path(__file__).resolve().parent
INSTALLED = HERE / "project"
CLASS_FILES = (
    "CHANGELOG.md", "CONTRIBUTING.md", "LICENSE", "README.md", "constraints.txt", "nbgrader_config.py", "docs/*.*",
    "course/AGENTS.md", "course/README.md", "course/bring.py", "course/constraints.txt", "course/installer.py", "course/pyproject.toml", "course/start.py",
    "course/[0-9]*/*.ipynb", "solutions/*.py", "solutions/[0-9]*/*.ipynb",
)  # fmt: skip
TEMPLATE = "tests/tiny_course"
# Below the template.
TEMPLATE_FILES = (".gitignore", "README.md", "course/README.md", "course/*/**/*.py", "solutions/*.py", "*_keys/**/*.py")


def folder() -> Path:
    """Where the files are: in the wheel's folder, or else in the clone."""
    return INSTALLED if INSTALLED.is_dir() else HERE.parent


def find(place: Path, *globs: str) -> dict[str, Path]:
    """By its path below `place`, each file that one of the globs means. A notebook has its folder's name: what a reader keeps beside it is left out."""
    files = {file.relative_to(place).as_posix(): file for pattern in globs for file in sorted(place.glob(pattern))}
    return {
        name: file
        for name, file in sorted(files.items())
        if file.is_file() and (file.suffix != ".ipynb" or file.stem == file.parent.name)
    }
