"""The zip that Gradescope wants for an assignment: this engine, its key and hidden draws of its own. Called by `autograder gradescope`; docs/gradescope.md.

What runs there is in_container.py. Of the project goes in what that imports, of the course all but the shipped reference outputs.
"""

from __future__ import annotations

import io
import json
import tempfile
import zipfile
from collections.abc import Callable, Iterator, Mapping
from dataclasses import asdict
from importlib import metadata, resources
from pathlib import Path

import ffnlab
from autograder import outline, project_files, source_hash
from autograder.class_folder.folder import ClassFolder
from autograder.engine.released_notebook import Kind, template
from autograder.errors import UserError
from autograder.files import replace
from autograder.gradebook.policy import Policy
from autograder.gradescope import in_container
from autograder.paths import release
from autograder.reference import draws, stored
from ffnlab.registry import active_course

VISIBILITIES = ("visible", "after_due_date", "after_published", "hidden")
FORMATS = ("text", "html")
# What the files in the zip import, beside Python's own; constraints.txt says in which versions. A test compares the two.
REQUIREMENTS = (
    "torch",
    "numpy",
    "matplotlib",
    "matplotlib-inline",
    "cycler",
    "ipywidgets",
    "anywidget",
    "mistune",
    "ipython",
    "safetensors",
    "packaging",
    "psutil",
    "traitlets",
)
# Gradescope ends a run after ten minutes, unless told otherwise, and half a core takes twice as long for what a submission computes.
LIMITS = {"submission_seconds": 240.0}
PACKAGE = Path(in_container.__file__).resolve().parents[1]  # autograder/
FFNLAB = Path(ffnlab.__file__).resolve().parent


def make(
    assignment: str,
    target: Path,
    class_folder: ClassFolder,
    visibility: str = "visible",
    output_format: str = "text",
    tell: Callable[[str], None] = lambda text: None,
) -> in_container.Settings:
    """Write an assignment's zip for Gradescope, and return what it grades with. It holds answers: it is for its owner alone.

    class_folder: whose course.toml says what counts. visibility: when students see results; output_format: of the panels, text or html.

    Raises:
        UserError: the assignment has not been built, or is none of the class's, or one of the words is none of Gradescope's.
    """
    for word, choices in ((visibility, VISIBILITIES), (output_format, FORMATS)):
        if word not in choices:
            raise UserError(f"{word!r} is not one of {', '.join(choices)}")
    policy = Policy.of(class_folder)
    if assignment not in policy.notebooks:
        raise UserError(f"{policy.where} names the class's notebooks, and {assignment} is not among them")
    seeds, reference_data = _draw_inputs(assignment, tell)
    settings = settings_of(assignment, policy, seeds, visibility, output_format)
    tell("packing")
    content = dict(files(assignment))
    content[f"project/class/{in_container.SETTINGS}"] = json.dumps(asdict(settings), indent=1).encode()
    content[f"project/class/{in_container.REFERENCE_FILE}"] = reference_data
    replace(target, _make_zip(content), mode=0o600)
    return settings


def _draw_inputs(assignment: str, tell: Callable[[str], None]) -> tuple[draws.SeedsByExercise, bytes]:
    """Hidden draws that no class has, and the reference outputs on them."""
    with tempfile.TemporaryDirectory() as folder:
        own = ClassFolder(Path(folder))
        tell("drawing hidden inputs")
        seeds = draws.ensure_hidden_seeds(assignment, own.draws)
        tell("running the kept answers on them")
        return seeds, stored.ensure_class_file(own.path, assignment, seeds).read_bytes()


def settings_of(
    assignment: str,
    policy: Policy,
    seeds: draws.SeedsByExercise,
    visibility: str = "visible",
    output_format: str = "text",
) -> in_container.Settings:
    """What the zip grades with, by the class's rules. Raises UserError where torch is not the one that will be installed there."""
    names = [exercise.name for exercise in outline.of_notebook(assignment)]
    practice = [name for name in names if not policy.counts(assignment, name)]
    by_hand = [cell for cell in template(release(assignment)) if cell.kind is Kind.MANUAL]
    return in_container.Settings(
        assignment,
        seeds,
        draws.key_version(assignment),
        _torch(),
        practice=practice,
        extra=[name for name in names if name not in practice and policy.is_extra(assignment, name)],
        by_hand={
            cell.name: float(cell.metadata["nbgrader"]["points"])
            for cell in by_hand
            if policy.counts(assignment, cell.name)
        },
        visibility=visibility,
        output_format=output_format,
        limits=LIMITS,
    )


def _torch() -> str:
    """The version of torch here, which is the one that constraints.txt has installed there: some reference outputs are its errors.

    Raises:
        UserError: it is another one.
    """
    version = metadata.version("torch").split("+")[0]
    if f"torch=={version}" not in (project_files.folder() / "constraints.txt").read_text(encoding="utf-8").splitlines():
        raise UserError(
            f"torch {version} is installed here, but constraints.txt names another version: run `make setup`"
        )
    return version


def _make_zip(content: Mapping[str, bytes]) -> bytes:
    data = io.BytesIO()
    with zipfile.ZipFile(data, "w", zipfile.ZIP_DEFLATED) as archive:
        for name in ("setup.sh", "run_autograder"):
            _add(archive, name, _template(name), 0o755)
        for name in sorted(content):
            _add(archive, name, content[name], 0o600)
        archive.mkdir("project/solutions", mode=0o700)  # by which the project's folder is known
    return data.getvalue()


def _add(archive: zipfile.ZipFile, name: str, content: bytes, mode: int) -> None:
    entry = zipfile.ZipInfo(name)
    entry.external_attr, entry.compress_type = (0o100000 | mode) << 16, zipfile.ZIP_DEFLATED
    archive.writestr(entry, content)


def _template(name: str) -> bytes:
    text = resources.files("autograder.gradescope").joinpath("templates", name).read_text(encoding="utf-8")
    return text.replace("{course}", active_course().package).encode()


def files(assignment: str) -> Iterator[tuple[str, bytes]]:
    """What grading an assignment needs of the project, by its place in the zip.

    Raises:
        UserError: a notebook has not been built.
    """
    start_file = Path(in_container.__file__)
    course = active_course()
    jail = set((PACKAGE / "jail").glob("*.py"))
    ours = source_hash.files(start_file, *course.key_files(assignment)) | jail | {outline.file()}
    inits = {folder / "__init__.py" for file in ours for folder in file.parents}
    keys = course.beside_keys("")
    for folder, home in {PACKAGE: PACKAGE.parent, keys: course.keys_import_folder}.items():
        for path in ours | {init for init in inits if init.is_file()}:
            if folder in path.parents:
                yield f"project/{path.relative_to(home).as_posix()}", path.read_bytes()
    for folder, home in {FFNLAB: FFNLAB.parent, course.folder: course.import_folder}.items():
        for path in folder.rglob("*"):
            is_included = path.suffix in (".py", ".json", ".js", ".css") or path.match("experiments/*.safetensors")
            if is_included:  # but not the answers to public inputs
                yield f"project/course/{path.relative_to(home).as_posix()}", path.read_bytes()
    for name in course.notebooks:  # all of them, by which a wrong one is known
        yield f"project/course/{name}/{name}.ipynb", _read_release(name)
    yield "project/constraints.txt", (project_files.folder() / "constraints.txt").read_bytes()
    yield "project/requirements.txt", "".join(f"{name}\n" for name in REQUIREMENTS).encode()


def _read_release(assignment: str) -> bytes:
    try:
        return release(assignment).read_bytes()
    except FileNotFoundError:
        raise UserError(f"course/{assignment} has not been built: run `make build` first") from None
