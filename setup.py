"""Puts the files that a class and a new course are made of into the wheel of `autograder`. All else is in pyproject.toml."""

import runpy
from pathlib import Path

from setuptools import setup
from setuptools.command.build_py import build_py

HERE = Path(__file__).resolve().parent


class BuildWithProjectFiles(build_py):
    """Copies them beside the packages; an installation that is edited in place has them where they are."""

    def run(self) -> None:
        super().run()
        if self.editable_mode:
            return
        names = runpy.run_path(str(HERE / "autograder" / "project_files.py"))
        template = [f"{names['TEMPLATE']}/{pattern}" for pattern in names["TEMPLATE_FILES"]]
        for name, file in names["find"](HERE, *names["CLASS_FILES"], *template).items():
            target = Path(self.build_lib, "autograder", "project", name)
            target.parent.mkdir(parents=True, exist_ok=True)
            self.copy_file(str(file), str(target))


setup(cmdclass={"build_py": BuildWithProjectFiles})
