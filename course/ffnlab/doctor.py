"""`python -m ffnlab.doctor`: what works on this machine, what does not, and the fix for it.

Only the standard library at import time, so that it also runs where an installation is broken.
"""

from __future__ import annotations

import importlib
import importlib.metadata
import io
import os
import re
import shlex
import sys
import tempfile
from collections.abc import Callable
from functools import partial
from pathlib import Path

COURSE = Path(__file__).resolve().parents[1]  # holds pyproject.toml where ffnlab is used in place
ENVIRONMENT = sys.prefix if Path(sys.prefix, "ffnlab-installed.txt").exists() else ".venv"  # start.py's, if it made one
REINSTALL = f"remove the folder {ENVIRONMENT}, then run `python start.py`: it installs everything again"
MODULES = {"ipython": "IPython"}  # packages whose module has a name of its own


class CheckFailure(Exception):
    """What is wrong, and what to do about it."""

    def __init__(self, what: str, fix: str = REINSTALL) -> None:
        super().__init__(what)
        self.fix = fix


def doctor(brief: bool = False) -> bool:
    """Print an `[OK]` or `[FAIL]` line a check, a failure with its fix. Returns whether all is well.

    brief: what is well gets one line together.
    """
    checks: list[Callable[[], str]] = [
        python_version,
        ffnlab_is_installed,
        *(partial(package, requirement) for requirement in requirements()),
        torch_computes,
        matplotlib_draws,
        sliders_are_installed,
        kernel_is_found,
        reference_outputs_are_there,
        folder_is_a_course,
    ]
    well = []
    for check in checks:
        try:
            well.append(check())
        except CheckFailure as problem:
            print(f"[FAIL] {problem}\n       {problem.fix}")
        except Exception as error:  # whatever a broken package raises
            name = getattr(check, "__name__", "a check").replace("_", " ")
            print(f"[FAIL] {name}: {in_one_line(error)}\n       {REINSTALL}")
        else:
            if not brief:
                print(f"[OK]   {well[-1]}")
    if brief and well:
        counted = f"all {len(checks)}" if len(well) == len(checks) else f"{len(well)} of {len(checks)}"
        print(f"[OK]   {counted} checks passed: doctor() lists them")
    return len(well) == len(checks)


def in_one_line(error: Exception) -> str:
    text = " ".join(str(error).split())
    return f"{type(error).__name__}: {text[:200]}"


def python_version() -> str:
    version = ".".join(map(str, sys.version_info[:3]))
    if sys.version_info < (3, 11):  # noqa: UP036 - any Python may run this file in place
        raise CheckFailure(
            f"Python {version} is too old, the course needs 3.11",
            f"install a newer one from https://www.python.org/downloads, remove {ENVIRONMENT}, run `python start.py`",
        )
    return f"Python {version}"


def ffnlab_is_installed() -> str:
    try:
        return f"ffnlab {importlib.metadata.version('ffnlab')}"
    except importlib.metadata.PackageNotFoundError:
        raise CheckFailure(
            f"ffnlab is not installed in {sys.executable}",
            "run `python start.py` in the course's folder; it makes an environment with all it needs",
        ) from None


def requirements() -> list[str]:
    """What ffnlab needs, as its installation says, or else the pyproject.toml it lies beside."""
    try:
        return importlib.metadata.requires("ffnlab") or []
    except importlib.metadata.PackageNotFoundError:
        project = COURSE / "pyproject.toml"
        if not project.is_file():
            return []
        import tomllib

        dependencies: list[str] = tomllib.loads(project.read_text(encoding="utf-8"))["project"]["dependencies"]
        return dependencies


def package(requirement: str) -> str:
    """Whether a package is there, can be imported, and is of a version in range."""
    name = re.split(r"[^\w.-]", requirement, maxsplit=1)[0]
    install = with_this_python("-m", "pip", "install", requirement)
    try:
        version = importlib.metadata.version(name)
        importlib.import_module(MODULES.get(name, name.replace("-", "_")))
    except importlib.metadata.PackageNotFoundError:
        raise CheckFailure(f"{name} is missing", install) from None
    except Exception as error:  # whatever a broken package raises
        raise CheckFailure(f"{name} is installed, but can't be imported: {in_one_line(error)}") from None
    from packaging.requirements import Requirement

    if not Requirement(requirement).specifier.contains(version, prereleases=True):
        raise CheckFailure(f"{name} {version} is installed, but the course needs {requirement}", install)
    return f"{name} {version}"


def with_this_python(*words: str) -> str:
    """What to type into a shell, which is PowerShell on Windows, whatever signs a folder's name has."""
    if os.name != "nt":
        return f"run `{shlex.join([sys.executable, *words])}`"
    arguments = ["'{}'".format(word.replace("'", "''")) for word in (sys.executable, *words)]
    return f"in PowerShell, run `& {' '.join(arguments)}`"


def torch_computes() -> str:
    import torch

    x = torch.arange(6.0).reshape(2, 3).requires_grad_()
    (gradient,) = torch.autograd.grad((x @ x.T).sum(), x)
    if gradient.tolist() != [[6.0, 10.0, 14.0]] * 2:  # twice the sum of the rows
        raise CheckFailure("torch computes a wrong gradient")
    return "torch computes"


def matplotlib_draws() -> str:
    from matplotlib.backends.backend_agg import FigureCanvasAgg
    from matplotlib.figure import Figure

    figure = Figure()
    picture = io.BytesIO()
    FigureCanvasAgg(figure)
    figure.subplots().plot([0, 1], [0, 1])
    figure.savefig(picture, format="png")
    if not picture.getvalue().startswith(b"\x89PNG"):
        raise CheckFailure("matplotlib draws no picture")
    return "matplotlib draws"


def sliders_are_installed() -> str:
    from jupyter_core.paths import jupyter_path

    extension = Path("labextensions", "@jupyter-widgets", "jupyterlab-manager", "package.json")
    if not any((Path(folder) / extension).is_file() for folder in jupyter_path()):
        raise CheckFailure("JupyterLab's part of ipywidgets (jupyterlab_widgets) is missing, so there are no sliders")
    return "JupyterLab can show sliders"


def kernel_is_found() -> str:
    from jupyter_client.kernelspec import KernelSpecManager, NoSuchKernel

    try:
        program = Path(KernelSpecManager().get_kernel_spec("python3").argv[0])
    except NoSuchKernel:
        raise CheckFailure("there is no Python kernel for notebooks") from None
    if program.is_absolute() and program.parent != Path(sys.executable).parent:
        raise CheckFailure(
            f"notebooks would run in another Python, {program}",
            with_this_python("-m", "ipykernel", "install", "--sys-prefix"),
        )
    return "there is a kernel for notebooks"


def reference_outputs_are_there() -> str:
    from ffnlab.registry import active_course

    course = active_course()
    there = [notebook for notebook in course.notebooks if (COURSE / notebook).is_dir()] or list(course.notebooks)
    missing = [notebook for notebook in there if not course.reference_file(notebook).is_file()]
    if missing:
        raise CheckFailure(
            f"the shipped reference outputs of {', '.join(missing)} are missing, so no check works",
            "download the course again; authors run `make build`",
        )
    return "the shipped reference outputs are there"


def folder_is_a_course() -> str:
    from ffnlab.registry import active_course

    here = Path.cwd()
    notebooks = active_course().notebooks
    if not any((place / name).is_dir() for place in (here, *here.parents) for name in notebooks):
        raise CheckFailure(
            "this folder is not in the course, so progress would not be kept",
            "change to the folder with start.py in it, or open JupyterLab with `python start.py`",
        )
    try:
        tempfile.TemporaryFile(dir=here).close()
    except OSError as error:
        raise CheckFailure(
            f"{here} can't be written: {error.strerror}",
            "copy the course to a folder of your own and run `python start.py` there",
        ) from None
    return "this folder belongs to the course and can be written"


if __name__ == "__main__":
    sys.exit(0 if doctor() else 1)
