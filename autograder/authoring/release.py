"""A release: what students, instructors and authors get of one version, made of a commit alone, so that whoever makes it again gets the same bytes.

Nothing of the working tree gets in but what is committed. The tag comes last, when all files are there.
"""

from __future__ import annotations

import hashlib
import io
import os
import re
import shutil
import subprocess
import sys
import tarfile
import tempfile
from collections.abc import Callable
from importlib import metadata
from pathlib import Path

from autograder.authoring.handout import handout
from autograder.errors import UserError
from autograder.paths import root
from ffnlab import __version__

FOLDER = "release"
CHECKSUMS = "SHA256SUMS"
VERSION = re.compile(r"\d+\.\d+\.\d+(?:(?:a|b|rc)\d+)?")
VERSION_FILE = "course/ffnlab/__init__.py"
BACKEND = "setuptools"
PACKAGES = ("course", ".")  # the folders of the two wheels
UMASK = 0o022  # a wheel says who may read its files


def make(version: str, tell: Callable[[str], None] = lambda text: None) -> Path:
    """Make the files of a version in the folder `release`, and tag the commit. Returns the folder.

    Raises:
        UserError: this is no state of which there can be such a release; nothing was made, or all but the tag.
    """
    check(version)
    target = root() / FOLDER
    with tempfile.TemporaryDirectory() as name:
        project, files = Path(name, "project"), Path(name, "files")
        export(project)
        files.mkdir()
        tell("course.zip, for students")
        handout(files / "course.zip", project=project)
        for package in PACKAGES:
            tell(f"the wheel of {'ffnlab' if package == 'course' else 'autograder'}")
            build_wheel(project / package, files)
        shutil.copy(project / "constraints.txt", files)
        (files / CHECKSUMS).write_text(checksums(files), encoding="utf-8")
        shutil.rmtree(target, ignore_errors=True)
        shutil.copytree(files, target)
    _git("tag", "--annotate", _tag(version), "--message", f"{version}\n\n{section(version)}")
    return target


def check(version: str) -> None:
    """Whether a version can be released here and now.

    Raises:
        UserError: it can't, and why, in one line.
    """
    if not VERSION.fullmatch(version):
        raise UserError(f"{version!r} is no version: write three numbers, such as 1.0.0 or 1.1.0rc1")
    if not (root() / ".git").exists():
        raise UserError(f"{root()} is no clone: a release is made of a commit")
    if changes := _git("status", "--porcelain"):
        raise UserError(f"{changes.splitlines()[0][3:]} is not committed, and a release is made of a commit")
    if _git("tag", "--list", _tag(version)):
        raise UserError(
            f"the tag {_tag(version)} exists: take the next version, or, if nobody has it yet, run `git tag -d {_tag(version)}`"
        )
    if version != __version__:
        raise UserError(f"{VERSION_FILE} says {__version__}: write {version} there, and commit")
    if not section(version):
        raise UserError(f"CHANGELOG.md says nothing below a line “## {version}”: write what people will notice")
    if (pin := f"{BACKEND}=={metadata.version(BACKEND)}") not in _read("constraints.txt").splitlines():
        raise UserError(f"{pin} is installed here, and constraints.txt names another version: run `make setup`")


def section(version: str) -> str:
    """What CHANGELOG.md says of a version; empty where it has no such section."""
    match = re.search(rf"^## {re.escape(version)}(?: .*)?\n(.*?)(?=^## |\Z)", _read("CHANGELOG.md"), re.M | re.S)
    return match[1].strip() if match else ""


def how_to_publish(version: str) -> str:
    """What is left to do, which nothing here does by itself."""
    remote = next(iter(_git("remote").split()), "REMOTE")
    return f"git push {remote} {_tag(version)}"


def export(target: Path) -> None:
    """Write the files of the commit into a folder, as they are for everybody: no times, and no rights of this machine's users."""
    archive = subprocess.run(["git", "archive", "HEAD"], cwd=root(), capture_output=True, check=True).stdout
    with tarfile.open(fileobj=io.BytesIO(archive)) as tar:
        tar.extractall(target, filter="data")


def build_wheel(package: Path, target: Path) -> None:
    """Build the wheel of a package with the backend that is installed here.

    Raises:
        UserError: it can't be built.
    """
    environment = os.environ | {"SOURCE_DATE_EPOCH": _git("log", "-1", "--format=%ct"), "PYTHONHASHSEED": "0"}
    command = [sys.executable, "-m", "build", "--wheel", "--no-isolation", "--outdir", str(target), str(package)]
    process = subprocess.run(
        command, cwd=target, env=environment, umask=UMASK, capture_output=True, text=True, check=False
    )
    if process.returncode:
        lines = [line.strip() for line in (process.stdout + process.stderr).splitlines() if line.strip()]
        raise UserError(f"the wheel of {package.name} can't be built: {lines[-1] if lines else 'no reason was given'}")


def checksums(folder: Path) -> str:
    """The SHA-256 of each file in a folder, as `sha256sum --check` reads it."""
    files = sorted(file for file in folder.iterdir() if file.name != CHECKSUMS)
    return "".join(f"{hashlib.sha256(file.read_bytes()).hexdigest()}  {file.name}\n" for file in files)


def _tag(version: str) -> str:
    return f"v{version}"


def _read(name: str) -> str:
    file = root() / name
    return file.read_text(encoding="utf-8") if file.is_file() else ""


def _git(*words: str) -> str:
    process = subprocess.run(["git", *words], cwd=root(), capture_output=True, text=True, check=False)
    if process.returncode:
        lines = process.stderr.strip().splitlines() or ["no reason was given"]
        raise UserError(f"git {words[0]}: {lines[-1]}")
    return process.stdout.rstrip()
