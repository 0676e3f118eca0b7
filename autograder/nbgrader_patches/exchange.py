"""nbgrader's exchange on the instructor's side: it refuses an exchange that another account can take over, collects as `autograder collect` does, and releases
our pages, beside which lies nothing of what nbgrader reads there.

nbgrader_config.py names these classes.
"""

from __future__ import annotations

from collections.abc import Iterator
from pathlib import Path
from typing import Any

from nbgrader.exchange.default import ExchangeCollect, ExchangeReleaseAssignment, ExchangeReleaseFeedback

from autograder.class_folder.folder import ClassFolder
from autograder.engine import permissions
from autograder.nbgrader_patches import release_secret
from autograder.nbgrader_patches.run_command import run_command

READABLE = 0o644  # in the exchange a page has a name that only its student can guess, in a folder that nobody can list


def _class_folder(course: Any) -> ClassFolder:
    """The class whose submissions nbgrader's course has."""
    return ClassFolder(Path(course.format_path(course.submitted_directory, "student", course.assignment_id)).parents[2])


class _GuardedExchange:
    """Part of a class of nbgrader's exchange: with an exchange that is open, it does nothing and says so."""

    def ensure_root(self: Any) -> None:
        super().ensure_root()  # type: ignore[misc]  # nbgrader has no types
        for problem in permissions.find_takeovers(Path(self.root), self.coursedir.course_id):
            self.fail(f"Nothing was done: {problem.description}. {problem.command}")


class ReleaseAssignment(_GuardedExchange, ExchangeReleaseAssignment):  # type: ignore[misc]
    """Hands out a notebook."""


class Collect(_GuardedExchange, ExchangeCollect):  # type: ignore[misc]
    """Collects by our command, which keeps every attempt, and takes nobody's word for a time, a file or a name.

    Which attempt counts, the class's rules in course.toml say, and no option of this does.
    """

    def init_src(self) -> None:
        if not self.coursedir.course_id:
            self.fail("No course id: give it with --course, or set CourseDirectory.course_id.")
        self.inbound_path = Path(self.root, self.coursedir.course_id, "inbound")

    def copy_files(self) -> None:
        assignment, class_folder = self.coursedir.assignment_id, _class_folder(self.coursedir)
        result = run_command(
            "collect", str(self.inbound_path), "--assignment", assignment, "--grading", str(class_folder.path)
        )
        for line in result["log"].splitlines():
            self.log.info("%s", line)
        if not result["success"]:
            self.fail(result["error"])


class ReleaseFeedback(_GuardedExchange, ExchangeReleaseFeedback):  # type: ignore[misc]
    """Puts beside each page the time and the secret of the submission that it is of; who has none is left out, and named."""

    def copy_files(self) -> None:
        course, exclusions = self.coursedir, [name for name in self.coursedir.student_id_exclude.split(",") if name]
        for student, page in self._pages():
            trouble = release_secret.put_beside(_class_folder(course), student, page.parent.name)
            if trouble:
                self.log.warning("%s is left out: %s", student, trouble)
                exclusions.append(student)
        before, course.student_id_exclude = course.student_id_exclude, ",".join(exclusions)
        try:
            super().copy_files()
        finally:
            course.student_id_exclude = before

    def _pages(self) -> Iterator[tuple[str, Path]]:
        course = self.coursedir
        student = course.student_id or "*"
        pattern = Path(course.format_path(course.feedback_directory, student, course.assignment_id))
        for folder in sorted(Path(course.root).glob(str(pattern.relative_to(course.root)))):
            for page in sorted(folder.glob("*.html")):
                page.chmod(READABLE)  # nbgrader copies the mode with the page; the folder keeps others out here
                yield folder.parent.name, page


__all__ = ["Collect", "ReleaseAssignment", "ReleaseFeedback"]
