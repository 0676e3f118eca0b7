"""nbgrader's steps mapped to this project's folders.

Read by nbgrader's commands and by formgrader (`jupyter lab`), started in this folder. AUTOGRADER_GRADING=grading/sample points them at another class, which
has its own gradebook. While nobody has submitted anything, formgrader shows the sample class; nbgrader's commands never work there unasked.
"""

import os
import sys
from pathlib import Path

from autograder import startup, untrusted_files
from autograder.class_folder.folder import ClassFolder, close_to_others
from autograder.files import make_folder
from autograder.nbgrader_patches import formgrader

startup.enter_course()
c = get_config()  # noqa: F821 - traitlets puts get_config here before it runs this file

root = Path(__file__).resolve().parent
submissions = any((root / "grading" / "submitted").glob("*/*"))
command = "nbgrader" in Path(sys.argv[0]).as_posix().split("/")[-2:]  # .venv/bin/nbgrader, or nbgrader/__main__.py
sample = not submissions and not command and (root / "grading" / "sample" / "submitted").is_dir()
usual = "grading/sample" if sample else "grading"
grading = os.environ.get("AUTOGRADER_GRADING", usual)  # relative to the root, or absolute

c.CourseDirectory.root = str(root)
c.CourseDirectory.source_directory = "solutions"
c.CourseDirectory.release_directory = "course"
c.CourseDirectory.submitted_directory = f"{grading}/submitted"
c.CourseDirectory.autograded_directory = f"{grading}/autograded"
c.CourseDirectory.feedback_directory = f"{grading}/feedback"
c.CourseDirectory.db_url = ClassFolder(root / grading).db_url
c.CourseDirectory.ignore = [
    ".ipynb_checkpoints",
    "__pycache__",
    "*.pyc",
    ".progress.json*",
    ".predictions.json*",
    ".boards.json*",
    "my_transformer.*",
    "feedback",
]
make_folder(root / grading)  # SQLite makes its file, not the folder
close_to_others(ClassFolder(root / grading))

# nbgrader calls `alembic` by name when it makes a gradebook; an environment need not be active for that.
os.environ["PATH"] = os.pathsep.join([str(Path(sys.executable).parent), os.environ.get("PATH", os.defpath)])

# The author writes the `raise NotImplementedError` or `answer = ...` outside of the solution region.
c.ClearSolutions.code_stub = {"python": "# YOUR CODE HERE"}
c.ClearSolutions.text_stub = "*Write your answer here, in your own words.*"

c.Execute.timeout = 300  # seconds a cell may take, as our own engine grants a whole submission
c.ExecutePreprocessor.timeout = 300

# Formgrader and generate_feedback show what students wrote. Their templates render Markdown as it comes, whatever `sanitize_html` says: so by filters of ours,
# without scripts, requests and the names of the page's own parts. `sanitize_html` leaves out what no filter sees: widgets and JavaScript.
c.HTMLExporter.sanitize_html = True
formgrader.set_up(c, root / grading, sample=Path(grading).name == "sample")
c.ExchangeFactory.release_assignment = "autograder.nbgrader_patches.exchange.ReleaseAssignment"
c.ExchangeFactory.collect = "autograder.nbgrader_patches.exchange.Collect"
c.ExchangeFactory.release_feedback = "autograder.nbgrader_patches.exchange.ReleaseFeedback"
untrusted_files.patch_nbgrader_timestamps()
