"""The zip that students get: the folder course/, with the notebooks of the class and all that `python start.py` needs.

A course that was made with `autograder new-course`, or the folder of a class, has in course/ only what is its own; what is missing there comes from the
installed packages.
"""

from __future__ import annotations

import hashlib
import io
import re
import zipfile
from collections.abc import Sequence
from pathlib import Path

import ffnlab
from autograder import project_files
from autograder.files import replace
from autograder.paths import root
from ffnlab.registry import DEFAULT, active_course

LANGUAGE_MODELS = "language_models.md"  # in the course's folder: what the class says on them
EXCLUSIONS = {".venv", "__pycache__", ".ipynb_checkpoints", ".DS_Store", "build", "dist", "real_model"}
PACKAGE = "ffnlab"
START_FILES = ("bring.py", "constraints.txt", "installer.py", "pyproject.toml", "start.py")


def handout(
    target: Path, notebooks: Sequence[str] = (), project: Path | None = None, language_models: str = ""
) -> Path:
    """A zip of course/ without what installing and working leave behind; the same bytes from the same files.

    notebooks: only these; empty for all. project: the folder with course/; None for the project's own. language_models: what the class says on them, in
    the place of the course's paragraph. It unpacks into a folder whose name tells this edition from others, so that no edition is unpacked over a
    student's work in an earlier one.
    """
    folder = (project or root()) / "course"
    others = set(active_course().notebooks) - set(notebooks) if notebooks else set()
    found = _missing(folder) | {name: path.read_bytes() for name, path in _find(folder).items()}
    if language_models:
        found[LANGUAGE_MODELS] = language_models.strip().encode() + b"\n"
    names = sorted((name for name in found if not _is_of(name, others)), key=lambda name: name.split("/"))
    files = {name: found[name] for name in names}
    edition = hashlib.sha256(b"".join(name.encode() + data for name, data in files.items())).hexdigest()[:6]
    content = io.BytesIO()
    with zipfile.ZipFile(content, "w", zipfile.ZIP_DEFLATED) as archive:
        for name, data in files.items():
            entry = zipfile.ZipInfo(f"course-{edition}/{name}")
            entry.external_attr, entry.compress_type = 0o100644 << 16, zipfile.ZIP_DEFLATED
            archive.writestr(entry, data)
    replace(target, content.getvalue())
    return target


def _find(folder: Path) -> dict[str, Path]:
    """By its path below it, each file of a folder that is for students."""
    paths = {path.relative_to(folder): path for path in sorted(folder.rglob("*")) if path.is_file()}
    return {name.as_posix(): path for name, path in paths.items() if not any(map(_is_excluded, name.parts))}


def _is_of(name: str, notebooks: set[str]) -> bool:
    """Whether a file belongs to one of these notebooks."""
    return any(part.partition(".")[0] in notebooks for part in name.split("/"))


def _missing(folder: Path) -> dict[str, bytes]:
    """By its path, what start.py installs and is not in course/."""
    if (folder / PACKAGE).is_dir():
        return {}
    course = active_course()
    ours = course.package == DEFAULT
    package = Path(ffnlab.__file__).parent
    files = {
        f"{PACKAGE}/{name}": path.read_bytes()
        for name, path in _find(package).items()
        if ours or not name.startswith("course/")  # which is the content of another course
    }
    start = project_files.folder() / "course"
    files |= {name: (start / name).read_bytes() for name in START_FILES}
    if not ours:
        files["pyproject.toml"] = _for_course(files["pyproject.toml"].decode(), course.package).encode()
    return files


def _for_course(pyproject: str, package: str) -> str:
    """The pyproject.toml of `ffnlab` for another course's students: with its package in the place of the first course's."""
    found = f'[tool.setuptools]\npackage-dir = {{ "" = "." }}\n\n[tool.setuptools.packages.find]\ninclude = ["{PACKAGE}*", "{package}*"]\n'
    text = re.sub(r"^\[tool\.setuptools\]\n.*?(?=^\[)", f"{found}\n", pyproject, flags=re.M | re.S)
    text = re.sub(rf'^"{PACKAGE}\.course.*\n', "", text, flags=re.M)
    return text.replace(
        "[tool.setuptools.package-data]\n", f'[tool.setuptools.package-data]\n"{package}" = ["**/*.*"]\n'
    )


def _is_excluded(part: str) -> bool:
    return (
        part in EXCLUSIONS
        or part.startswith((".progress", ".predictions", ".boards", "my_transformer."))
        or part.endswith((".egg-info", "_cache", ".draft"))
        or re.search(r"\.before(-\d+)?\.ipynb$|^report_\w+\.md$", part) is not None
    )
