"""The zip that Gradescope wants for an assignment: this engine, its key and hidden draws of its own. Called by `autograder gradescope`; docs/gradescope.md.

What runs there is desk/in_gradescope.py. Of the project goes in what that imports, of the course all but the shipped answers.
"""

from __future__ import annotations

import json
import tempfile
import zipfile
from collections.abc import Callable, Iterator
from importlib import metadata, resources
from pathlib import Path

import ffnlab
from autograder.desk import in_gradescope
from autograder.desk.policy import Policy
from autograder.house import Class, UserError, release, replace, root
from autograder.marking import depends, draws, markings, outline
from ffnlab import exercises

VISIBILITIES = ("visible", "after_due_date", "after_published", "hidden")
FORMATS = ("text", "html")
# What the files in the zip import, beside Python's own; constraints.txt says in which versions. A test compares the two.
NEEDED = (
    "torch",
    "numpy",
    "matplotlib",
    "cycler",
    "ipywidgets",
    "ipython",
    "safetensors",
    "packaging",
    "psutil",
    "traitlets",
)
PACKAGE = Path(in_gradescope.__file__).resolve().parents[1]  # autograder/
LAB = Path(ffnlab.__file__).resolve().parent


def make(
    assignment: str,
    target: Path,
    school: Class,
    visibility: str = "visible",
    output_format: str = "text",
    tell: Callable[[str], None] = lambda text: None,
) -> Path:
    """Write an assignment's zip for Gradescope. It holds answers: it is for its owner alone.

    school: whose course.toml says what counts. visibility: when students see results; output_format: of the panels, text or html.

    Raises:
        UserError: the assignment has not been built, or one of the words is none of Gradescope's.
    """
    for given, known in ((visibility, VISIBILITIES), (output_format, FORMATS)):
        if given not in known:
            raise UserError(f"{given}: there are {', '.join(known)}")
    if not release(assignment).is_file():
        raise UserError(f"course/{assignment} has not been built: run `make build` first")
    policy = Policy.of(school)
    with tempfile.TemporaryDirectory() as folder:
        own = Class(Path(folder))
        tell("drawing hidden inputs")
        seeds = draws.hidden(assignment, own.draws)
        tell("computing what answers do on them")
        marked = markings.kept(own, assignment, seeds).read_bytes()
    names = [exercise.name for exercise in outline.of_notebook(assignment)]
    settings = {
        "assignment": assignment,
        "seeds": seeds,
        "key": draws.key_version(assignment),
        "torch": metadata.version("torch").split("+")[0],
        "counts": {name: policy.counts(assignment, name) for name in names},
        "extra": {name: policy.is_extra(assignment, name) for name in names},
        "visibility": visibility,
        "output_format": output_format,
    }
    tell("packing")
    files = dict(_project(assignment))
    files["project/class/" + in_gradescope.SETTINGS] = json.dumps(settings, indent=1).encode()
    files["project/class/" + in_gradescope.MARKINGS] = marked
    with tempfile.SpooledTemporaryFile(max_size=2**26) as data:
        with zipfile.ZipFile(data, "w", zipfile.ZIP_DEFLATED) as archive:
            for name in ("setup.sh", "run_autograder"):
                _add(archive, name, _template(name), 0o755)
            for name, content in sorted(files.items()):
                _add(archive, name, content, 0o600)
            archive.writestr(zipfile.ZipInfo("project/solutions/"), b"")  # by which the project's folder is known
        data.seek(0)
        replace(target, data.read(), mode=0o600)
    return target


def _add(archive: zipfile.ZipFile, name: str, content: bytes, mode: int) -> None:
    entry = zipfile.ZipInfo(name)
    entry.external_attr, entry.compress_type = (0o100000 | mode) << 16, zipfile.ZIP_DEFLATED
    archive.writestr(entry, content)


def _template(name: str) -> bytes:
    return resources.files("autograder.authoring").joinpath("templates", name).read_bytes()


def _project(assignment: str) -> Iterator[tuple[str, bytes]]:
    """What grading an assignment needs of the project, by its place in the zip."""
    here = Path(in_gradescope.__file__)
    module = exercises.source(assignment)
    ours = depends.files(here, draws.KEYS / module.name) | set((PACKAGE / "jail").glob("*.py"))
    inits = {folder / "__init__.py" for file in ours for folder in file.parents}
    for path in ours | {init for init in inits if init.is_file()}:
        if PACKAGE in path.parents:
            yield f"project/autograder/{path.relative_to(PACKAGE).as_posix()}", path.read_bytes()
    for path in LAB.rglob("*"):
        if path.suffix in (".py", ".json"):
            yield f"project/course/ffnlab/{path.relative_to(LAB).as_posix()}", path.read_bytes()
    yield f"project/course/{assignment}/{assignment}.ipynb", release(assignment).read_bytes()
    yield "project/constraints.txt", (root() / "constraints.txt").read_bytes()
    yield "project/requirements.txt", "".join(f"{name}\n" for name in NEEDED).encode()
