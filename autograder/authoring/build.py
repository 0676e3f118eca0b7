"""From what authors write to what students get: executed solution notebooks, student notebooks, shipped reference outputs. Only what changed is made again."""

from __future__ import annotations

import hashlib
import logging
import os
import re
import shutil
import tempfile
from collections.abc import Callable
from functools import cache
from importlib import metadata
from pathlib import Path
from typing import Any

import jupytext
import nbformat
from nbclient import NotebookClient
from nbgrader.converters import GenerateAssignment
from nbgrader.coursedir import CourseDirectory
from traitlets.config import Config
from traitlets.config.loader import PyFileConfigLoader

from autograder import outline, source_hash
from autograder.authoring import fields, frames, markers
from autograder.errors import UserError
from autograder.files import replace
from autograder.gradebook import database
from autograder.keys.key import Answer
from autograder.paths import release, root, solution, source
from autograder.reference import compute, draws
from ffnlab.checking import reference_files
from ffnlab.diagnosis.differences import difference
from ffnlab.observation import plain_data
from ffnlab.registry import active_course

CELL_SECONDS = 300
STAMP = "ffnlab"  # the key in a generated notebook's metadata
WIDGET = "application/vnd.jupyter.widget-view+json"
SOLUTION = re.compile(r"^\s*### BEGIN SOLUTION\n(.*?)^\s*### END SOLUTION\n?", re.S | re.M)


def notebook_of(assignment: str) -> Any:
    """The solution notebook as its source says, not yet executed: stable cell ids, our kernel, a stamp that it is generated."""
    path = source(assignment)
    try:
        notebook = jupytext.read(path)
    except Exception as error:
        raise UserError(f"{path.name} is not a notebook in percent format: {error}") from None
    notebook.metadata = nbformat.from_dict(
        {
            "kernelspec": {"display_name": "Python 3 (ipykernel)", "language": "python", "name": "python3"},
            "language_info": {"name": "python"},
            STAMP: {"generated": f"from solutions/{path.name} by make build; edit that file"},
        }
    )
    exercises = active_course().exercises_of(assignment)
    points = {exercise.name: exercise.points for exercise in exercises}
    file = f"solutions/{path.name}"
    notebook.cells = markers.with_nbgraders_metadata(
        notebook.cells, points, file, _from_root(active_course().exercises_file(assignment))
    )
    fields.fill(notebook.cells, exercises, file)
    for cell in notebook.cells:
        cell.id = hashlib.sha256(f"{assignment}/{cell.metadata.nbgrader.grade_id}".encode()).hexdigest()[:12]
    notebook.nbformat, notebook.nbformat_minor = 4, 5
    return notebook


def _from_root(file: Path) -> str:
    return file.relative_to(root()).as_posix() if root() in file.parents else str(file)


@cache
def cells_of(assignment: str) -> dict[str, str]:
    """The source of every cell of a solution notebook, by its grade_id."""
    return {
        str(cell.metadata.get("nbgrader", {}).get("grade_id")): cell.source for cell in notebook_of(assignment).cells
    }


@cache
def solution_answer(exercise: str) -> Answer:
    """The solution notebook's own answer to an exercise: the first right answer, read from there."""
    notebook = active_course().notebook_of(exercise)
    cells = cells_of(notebook)
    if exercise not in cells:
        raise UserError(f"solutions/{notebook}.py has no cell with the grade_id {exercise!r}")
    namespace: dict[str, Any] = {"__name__": "solution"}
    exec(compile(cells["imports"], f"<{notebook}: imports>", "exec"), namespace)
    exec(compile(cells[exercise], f"<{notebook}: {exercise}>", "exec"), namespace)
    text = SOLUTION.sub(r"\1", cells[exercise])
    return Answer(exercise, "solution", "right", "the solution notebook", namespace[exercise], text)


def stamp(assignment: str) -> str:
    """A hash of all that the executed notebook depends on: its cells, what its source imports, its exercises and its predictions.

    The key is left out. The solution earns all points by it, which `matrix` sees to, and nothing else of a key is in an output: one more known mistake
    executes no notebook.
    """
    course = active_course()
    predictions = course.predictions_file(assignment)
    source_version = source_hash.version(
        source(assignment), course.exercises_file(assignment), *([predictions] if predictions.is_file() else [])
    )
    return hashlib.sha256(f"{source_version} {nbformat.writes(notebook_of(assignment))}".encode()).hexdigest()[:16]


def is_current(assignment: str) -> bool:
    """Whether the generated notebooks were made from the sources as they are now."""
    try:
        old_stamp = nbformat.read(solution(assignment), as_version=4).metadata[STAMP]["stamp"]
    except (OSError, KeyError, ValueError):
        return False
    return bool(old_stamp == stamp(assignment)) and release(assignment).is_file()


def build(assignment: str, force: bool = False, tell: Callable[[str], None] = lambda text: None) -> bool:
    """Make an assignment's answers, solution notebook and student notebook again, if they have changed. Returns whether they had.

    Raises:
        UserError: a cell of the solution notebook fails, or its source is broken.
    """
    has_changed = (
        force or outline.built_from(assignment) != hash_reference_outputs(assignment)
    ) and build_reference_outputs(assignment, tell)
    if outline.write(assignment, hash_reference_outputs(assignment)):
        tell(f"{assignment}: writing what graders know of its exercises")
        has_changed = True
    if not force and is_current(assignment):
        return has_changed
    tell(f"{assignment}: running the solution notebook")
    solution_notebook, pictures = execute(assignment)
    replace(solution(assignment), nbformat.writes(solution_notebook) + "\n")
    frames_folder = active_course().frames_folder / assignment
    if pictures or frames_folder.is_dir():
        frames.save(frames_folder, pictures)
    tell(f"{assignment}: making the student's notebook")
    replace(release(assignment), nbformat.writes(student_notebook(assignment)) + "\n")
    return True


def hash_reference_outputs(assignment: str) -> str:
    """A hash of the shipped reference outputs and of all that they are made by."""
    path = active_course().reference_file(assignment)
    content = path.read_bytes() if path.is_file() else b""
    maker_version = f"{draws.key_version(assignment)} {metadata.version('torch').partition('+')[0]}".encode()
    return hashlib.sha256(maker_version + content).hexdigest()[:16]


def build_reference_outputs(assignment: str, tell: Callable[[str], None] = lambda text: None) -> bool:
    """Make the shipped reference outputs of an assignment again, if they say something else than those that lie there."""
    tell(f"{assignment}: running the kept answers on the public inputs")
    reference_outputs = {
        e.name: compute.reference_outputs(e.name, draws.public_seeds(e))
        for e in active_course().exercises_of(assignment)
    }
    path = active_course().reference_file(assignment)
    data = reference_files.dump(reference_outputs)
    if path.is_file() and are_same_outputs(path.read_bytes(), data):
        return False
    tell(f"{assignment}: writing the shipped reference outputs, which have changed")
    replace(path, data)
    reference_files.clear_cache()
    return True


def are_same_outputs(old: bytes, new: bytes) -> bool:
    """Whether two files of reference outputs say the same, but for rounding."""
    try:
        return not difference(plain_data.unpack(old), plain_data.unpack(new), 1e-9, 1e-9)
    except plain_data.Malformed:
        return False


def execute(assignment: str) -> tuple[Any, dict[str, bytes]]:
    """The solution notebook with its outputs; and by file, the stored pictures of its figures. A check below full marks fails the build."""
    notebook = notebook_of(assignment)
    with tempfile.TemporaryDirectory() as course:
        # A course of this notebook alone: what progress() shows of others would be out of date whenever one of them gets an exercise.
        folder = Path(course) / assignment
        folder.mkdir()
        frames_folder = Path(course) / "frames"
        frames_folder.mkdir()
        old = {name: os.environ.get(name) for name in ("FFNLAB_STRICT", "PYTHONHASHSEED")}
        os.environ.update(FFNLAB_STRICT="1", PYTHONHASHSEED="0")
        try:
            client: NotebookClient = NotebookClient(
                notebook, timeout=CELL_SECONDS, kernel_name="python3", record_timing=False, store_widget_state=False, extra_arguments=["--log-level=40"],
                coalesce_streams=True,  # one output, in however many pieces a busy machine sends it
                resources={"metadata": {"path": str(folder)}},
                on_notebook_start=lambda notebook: _draw_all_pictures(client, frames_folder),
            )  # fmt: skip
            client.execute()
        except Exception as error:
            last = [line for line in str(error).splitlines() if line.strip(" -")]
            raise UserError(
                f"solutions/{assignment}.py fails: {_plain(last[-1]) if last else type(error).__name__}"
            ) from None
        finally:
            for name, value in old.items():
                os.environ.pop(name, None) if value is None else os.environ.__setitem__(name, value)
        pictures = {file.name: file.read_bytes() for file in sorted(frames_folder.iterdir())}
    for cell in notebook.cells:
        if "outputs" in cell:
            cell.outputs = [output for output in cell.outputs if WIDGET not in output.get("data", {})]  # stills stay
        for output in cell.get("outputs", []):
            if "text/html" in output.get("data", {}):  # by this name a widget finds its still, and none is left
                output.data["text/html"] = re.sub(r' data-still="\w+"', "", output.data["text/html"])
    notebook.metadata.pop("widgets", None)
    notebook.metadata["language_info"] = {"name": "python"}
    notebook.metadata[STAMP]["stamp"] = stamp(assignment)
    return notebook, pictures


def _draw_all_pictures(client: NotebookClient, folder: Path) -> None:
    assert client.kc, "the kernel has started"
    client.kc.execute(
        f"from autograder.authoring import frames; frames.keep_into({str(folder)!r}); del frames", silent=True
    )


def student_notebook(assignment: str) -> Any:
    """The student's notebook, by nbgrader's own GenerateAssignment, from the executed solution, in a folder that is thrown away."""
    with tempfile.TemporaryDirectory() as name:
        folder = Path(name)
        place = folder / "solutions" / assignment
        place.mkdir(parents=True)
        shutil.copy(solution(assignment), place)
        config = Config(course_config())
        config.CourseDirectory.update(root=name, source_directory="solutions", release_directory="course")
        config.CourseDirectory.assignment_id = assignment
        config.CourseDirectory.db_url = f"sqlite:///{folder / 'gradebook.db'}"
        new = database.engine(config.CourseDirectory.db_url)
        database.make(new)  # nbgrader would start a process to ask which version a new gradebook has
        new.dispose()
        converter = GenerateAssignment(coursedir=CourseDirectory(config=config), config=config)
        errors = _listen(converter)
        try:
            converter.start()
        except (Exception, SystemExit) as error:
            reason = errors[1] if len(errors) > 1 else str(error)
            raise UserError(f"nbgrader can't make the student's notebook of {assignment}: {reason}") from None
        notebook = nbformat.read(folder / "course" / assignment / f"{assignment}.ipynb", as_version=4)
    return notebook


def _listen(converter: GenerateAssignment) -> list[str]:
    """Keep nbgrader's errors, last line of each, instead of printing its log."""
    errors: list[str] = []

    class Keep(logging.Handler):
        def emit(self, record: logging.LogRecord) -> None:
            errors.append(record.getMessage().strip().splitlines()[-1][:300] if record.getMessage().strip() else "")

    converter.log = logging.getLogger("autograder.nbgrader")
    converter.log.handlers, converter.log.propagate = [Keep(logging.ERROR)], False
    return errors


def course_config() -> Config:
    """What nbgrader_config.py says."""
    config: Config = PyFileConfigLoader("nbgrader_config.py", path=str(root())).load_config()
    return config


def _plain(text: str) -> str:
    return re.sub(r"\x1b\[[0-9;]*m", "", text)
