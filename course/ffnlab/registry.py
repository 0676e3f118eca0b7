"""Which course this is: a package with its exercises, its shipped reference outputs and its predictions, and the instructor's package with its keys.

The environment variable FFNLAB_COURSE names the package; where it is not set, it is `ffnlab.course`. Programs that are started inherit it. Nothing
here imports torch until an exercise is asked for.
"""

from __future__ import annotations

import difflib
import importlib
import importlib.util
import os
import re
from collections.abc import Mapping
from dataclasses import dataclass, field
from functools import cache, cached_property
from pathlib import Path
from types import ModuleType
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from ffnlab.observation.exercise import Exercise
    from ffnlab.prediction.prediction import Prediction

VARIABLE = "FFNLAB_COURSE"
DEFAULT = "ffnlab.course"
NOTEBOOK = re.compile(r'^NOTEBOOK = "([^"]+)"', re.MULTILINE)  # in a module of exercises: the notebook that they are in


class CourseNotFound(LookupError):
    """There is no such course, or it lacks a part; the message is one line."""


class UnknownExercise(LookupError):
    """No exercise has this name; the message suggests the nearest."""


@dataclass(frozen=True)
class KeptCode:
    """Of which exercises a check keeps the code of an earned answer: all of it in one file that runs alone."""

    file: str  # its name; it is beside the notebooks' folders
    exercises: tuple[str, ...]  # their names, in the order of the file's sections
    packages: tuple[str, ...] = ()  # what the code may import besides Python's own modules


@dataclass(frozen=True)
class Course:
    """A course. Its package says `COURSE = Course(__name__, keys=…)`."""

    # What students have, with `exercises/` and `answers/` in it, `predictions/` and `frames/` where there are any, and `parts.py` where code is
    # kept. Each module in `exercises/` says `NOTEBOOK = "01_name"`; the module of its predictions and the folder of its keys have the same name as the module.
    package: str
    keys: str  # the instructor's package, which students do not have
    # By notebook, modules that its exercises make torch import when they are first run. Whoever grades many imports them once.
    late_imports: Mapping[str, tuple[str, ...]] = field(default_factory=dict)

    @cached_property
    def folder(self) -> Path:
        """The folder of the students' package.

        Raises:
            CourseNotFound: it can't be found.
        """
        return _folder(self.package)

    @cached_property
    def keys_folder(self) -> Path | None:
        """The folder of the keys; None where there are none, as on a student's machine and inside the jail."""
        try:
            return _folder(self.keys)
        except CourseNotFound:
            return None

    @property
    def reference_folder(self) -> Path:
        """Where the shipped reference outputs are."""
        return self.folder / "answers"

    @property
    def frames_folder(self) -> Path:
        """Where the pictures of figures are, in a folder for each notebook; a course need not have any."""
        return self.folder / "frames"

    @property
    def import_folder(self) -> Path:
        """What must be on `sys.path` so that the students' package can be imported."""
        return self.folder.parents[self.package.count(".")]

    @property
    def keys_import_folder(self) -> Path:
        """What must be on `sys.path` so that the keys can be imported.

        Raises:
            CourseNotFound: the keys are not here.
        """
        return _folder(self.keys).parents[self.keys.count(".")]

    @cached_property
    def notebooks(self) -> Mapping[str, str]:
        """The notebooks in their order, which is that of their names; by notebook, the name of the module of its exercises.

        Raises:
            CourseNotFound: two modules are of the same notebook, or there is none.
        """
        modules: dict[str, str] = {}
        for file in sorted(self.folder.joinpath("exercises").glob("*.py")):
            match = NOTEBOOK.search(file.read_text(encoding="utf-8"))
            if match and match[1] in modules:
                raise CourseNotFound(
                    f"{file} says that it is of {match[1]}, and so does {modules[match[1]]}.py beside it"
                )
            if match:
                modules[match[1]] = file.stem
        if not modules:
            raise CourseNotFound(f"no module in {self.folder / 'exercises'} has a line NOTEBOOK = …")
        return dict(sorted(modules.items()))

    def exercises_file(self, notebook: str) -> Path:
        """The file with a notebook's exercises."""
        return self.folder / "exercises" / f"{self.notebooks[notebook]}.py"

    def predictions_file(self, notebook: str) -> Path:
        """The file with a notebook's predictions; a course need not have it."""
        return self.folder / "predictions" / f"{self.notebooks[notebook]}.py"

    def reference_file(self, notebook: str) -> Path:
        """The file with a notebook's shipped reference outputs."""
        return self.reference_folder / f"{notebook}.safetensors"

    def key_files(self, notebook: str) -> list[Path]:
        """The files with a notebook's keys, in the folder that has the name of its module of exercises.

        Raises:
            CourseNotFound: the keys are not here.
        """
        folder = self.beside_keys(self.notebooks[notebook])
        return sorted(file for file in folder.glob("*.py") if file.name != "__init__.py")

    def beside_keys(self, name: str) -> Path:
        """A file in the folder of the keys, such as what building writes about them.

        Raises:
            CourseNotFound: the keys are not here.
        """
        return _folder(self.keys) / name

    def exercises_module(self, notebook: str) -> ModuleType:
        """The module with a notebook's exercises, imported when it is first asked for: it brings torch."""
        return importlib.import_module(f"{self.package}.exercises.{self.notebooks[notebook]}")

    def key_modules(self, notebook: str) -> list[ModuleType]:
        """The modules with a notebook's keys, imported when they are first asked for.

        Raises:
            CourseNotFound: the keys are not here.
        """
        package = f"{self.keys}.{self.notebooks[notebook]}"
        return [importlib.import_module(f"{package}.{file.stem}") for file in self.key_files(notebook)]

    def exercises_of(self, notebook: str) -> list[Exercise]:
        """The exercises of one notebook, in its order."""
        from ffnlab.observation.exercise import Exercise

        return [value for value in vars(self.exercises_module(notebook)).values() if isinstance(value, Exercise)]

    @cached_property
    def exercises(self) -> Mapping[str, Exercise]:
        """All exercises, by name."""
        return {exercise.name: exercise for notebook in self.notebooks for exercise in self.exercises_of(notebook)}

    def exercise(self, name: str) -> Exercise:
        """The exercise called `name`.

        Raises:
            UnknownExercise: there is none.
        """
        if not isinstance(name, str) or name not in self.exercises:
            near = difflib.get_close_matches(str(name), self.exercises, n=1)
            raise UnknownExercise(
                f"there is no exercise called {name!r}" + (f"; did you mean {near[0]!r}?" if near else "")
            )
        return self.exercises[name]

    def notebook_of(self, exercise: str) -> str:
        """The notebook in which an exercise is.

        Raises:
            UnknownExercise: there is no such exercise.
        """
        self.exercise(exercise)
        return next(
            name for name in self.notebooks if any(listed.name == exercise for listed in self.exercises_of(name))
        )

    def predictions_of(self, notebook: str) -> Mapping[str, Prediction]:
        """The predictions of one notebook, by name, in the order in which they are asked."""
        if not self.predictions_file(notebook).is_file():
            return {}
        module = importlib.import_module(f"{self.package}.predictions.{self.notebooks[notebook]}")
        predictions: Mapping[str, Prediction] = module.PREDICTIONS
        return predictions

    @cached_property
    def kept_code(self) -> KeptCode | None:
        """What the module `parts` of the students' package says in KEPT; None where there is no such module."""
        if not self.folder.joinpath("parts.py").is_file():
            return None
        kept_code: KeptCode = importlib.import_module(f"{self.package}.parts").KEPT
        return kept_code

    @cached_property
    def predictions(self) -> Mapping[str, Prediction]:
        """All predictions, by name."""
        return {
            name: prediction
            for notebook in self.notebooks
            for name, prediction in self.predictions_of(notebook).items()
        }

    def prediction(self, name: str) -> Prediction:
        """The prediction called `name`.

        Raises:
            LookupError: there is none.
        """
        try:
            return self.predictions[name]
        except (KeyError, TypeError):
            raise LookupError(f"there is no prediction called {name!r}") from None


def _folder(package: str) -> Path:
    try:
        spec = importlib.util.find_spec(package)
    except ImportError:
        spec = None
    if spec is None or not spec.submodule_search_locations:
        raise CourseNotFound(f"the package {package} can't be found: install it, or put its folder on PYTHONPATH")
    return Path(spec.submodule_search_locations[0]).resolve()


def active_course() -> Course:
    """The course that FFNLAB_COURSE names, or else `ffnlab.course`.

    Raises:
        CourseNotFound: there is none of that name.
    """
    return _course(os.environ.get(VARIABLE) or DEFAULT)


@cache
def _course(package: str) -> Course:
    try:
        course = getattr(importlib.import_module(package), "COURSE", None)
    except ImportError as error:
        raise CourseNotFound(f"{VARIABLE} names {package!r}, which can't be imported: {error}") from None
    if not isinstance(course, Course) or course.package != package:
        raise CourseNotFound(
            f"{VARIABLE} names {package!r}, which is no course: it has no COURSE = Course(__name__, …)"
        )
    return course


def activate(course: Course) -> Course:
    """Make this the course of the process and of the programs that it starts. A course's package does it when a student's notebook imports it.

    Raises:
        CourseNotFound: FFNLAB_COURSE names another one.
    """
    if os.environ.setdefault(VARIABLE, course.package) != course.package:
        raise CourseNotFound(f"{VARIABLE} names {os.environ[VARIABLE]!r}, and {course.package!r} is another course")
    return course
