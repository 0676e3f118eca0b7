"""nbgrader's `release_feedback`, for pages of ours: beside them lies nothing of what it reads, and only their owner may read them.

nbgrader_config.py names it.
"""

from __future__ import annotations

from collections.abc import Iterator
from pathlib import Path

from nbgrader.exchange.default import ExchangeReleaseFeedback

from autograder.desk import handed_in
from autograder.desk.lms import exchange
from autograder.house import keep

READABLE = 0o644  # in the exchange a page has a name that only its student can guess, in a folder that nobody can list


class ReleaseFeedback(ExchangeReleaseFeedback):  # type: ignore[misc]  # nbgrader has no types
    """Puts beside each page when its submission was handed in and its secret, as they lie in submitted/; who has none is left out, and named."""

    def copy_files(self) -> None:
        course, left = self.coursedir, [name for name in self.coursedir.student_id_exclude.split(",") if name]
        for student, page in self._pages():
            trouble = self._prepare(student, page.parent)
            if trouble:
                self.log.warning("%s is left out: %s", student, trouble)
                left.append(student)
        before, course.student_id_exclude = course.student_id_exclude, ",".join(left)
        try:
            super().copy_files()
        finally:
            course.student_id_exclude = before

    def _pages(self) -> Iterator[tuple[str, Path]]:
        course, one = self.coursedir, self.coursedir.student_id or "*"
        pattern = Path(course.format_path(course.feedback_directory, one, course.assignment_id))
        for folder in sorted(Path(course.root).glob(str(pattern.relative_to(course.root)))):
            for page in sorted(folder.glob("*.html")):
                page.chmod(READABLE)  # nbgrader copies the mode with the page; the folder keeps others out here
                yield folder.parent.name, page

    def _prepare(self, student: str, folder: Path) -> str:
        """Put the two files there; or why they can't be."""
        steps = (self.coursedir.submitted_directory, self.coursedir.autograded_directory)
        submitted, graded = (
            Path(self.coursedir.format_path(step, student, self.coursedir.assignment_id)) for step in steps
        )
        secret, at = exchange.secret(submitted), handed_in.timestamp(submitted)
        if not secret or not at:
            return "this was not collected from the exchange, so nobody could fetch it there"
        if handed_in.timestamp(graded) != at:
            return "there is a newer submission than the one that was graded: `autograder grade` first"
        keep(folder / exchange.SECRET, secret)
        keep(folder / handed_in.TIMESTAMP, f"{at:%Y-%m-%d %H:%M:%S.%f} UTC")
        return ""


__all__ = ["ReleaseFeedback"]
