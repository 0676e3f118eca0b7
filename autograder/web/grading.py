"""One grading in the background, as the page on it shows it. Called by the desk's pages."""

from __future__ import annotations

import os
import threading
import time
from collections.abc import Sequence
from dataclasses import dataclass, field

from autograder.class_folder import submitted_files
from autograder.class_folder.folder import ClassFolder, class_lock
from autograder.engine import pool
from autograder.errors import UserError
from autograder.grading import grade_class
from autograder.jail.limits import Limits
from autograder.jail.sandbox import JailBroken
from autograder.keys.problem import KeyProblem


@dataclass
class Progress:
    """How far a grading is."""

    names: Sequence[str]
    current_name: str = ""  # the notebook that is being graded
    done_count: int = 0
    total: int = 0
    graded_count: int = 0
    unchanged_count: int = 0
    end_message: str = ""  # why it has ended, in a line, once it has
    trouble: bool = False
    remarks: list[str] = field(default_factory=list)
    start_time: float = field(default_factory=time.monotonic)
    end_time: float | None = None

    @property
    def seconds(self) -> float:
        """Since it began."""
        return (self.end_time or time.monotonic()) - self.start_time

    @property
    def rate(self) -> float:
        """Submissions a minute, of those that were graded."""
        return 60 * self.graded_count / self.seconds if self.seconds else 0.0

    @property
    def seconds_left(self) -> float | None:
        """Seconds until this notebook's submissions are done; None while nobody can say."""
        if not self.graded_count or self.done_count >= self.total:
            return None
        return (self.total - self.done_count) * self.seconds / self.graded_count


class GradingJob:
    """Grades notebooks one after the other in a thread; one at a time."""

    def __init__(self, class_folder: ClassFolder) -> None:
        self._class_folder = class_folder
        self._stop = threading.Event()
        self._thread: threading.Thread | None = None
        self._lock = threading.Lock()
        self.progress: Progress | None = None

    @property
    def is_running(self) -> bool:
        return self._thread is not None and self._thread.is_alive()

    def start(self, names: Sequence[str], force: bool = False) -> None:
        """Begin, unless it runs.

        Raises:
            UserError: nothing is there to grade.
        """
        with self._lock:
            if self.is_running:
                return
            if not names:
                raise UserError(f"nothing to grade: {self._class_folder.submitted} has no submission of this course")
            self._stop.clear()
            self.progress = Progress(names)
            self._thread = threading.Thread(target=self._run, args=(self.progress, force), daemon=True)
            self._thread.start()

    def stop(self) -> None:
        """What is in flight is finished and saved; nothing new begins."""
        self._stop.set()

    def wait(self, seconds: float | None = None) -> None:
        """Until it has ended."""
        if self._thread:
            self._thread.join(seconds)

    def _run(self, progress: Progress, force: bool) -> None:
        try:
            self._grade(progress, force)
            progress.end_message = "Everything is graded."
        except KeyboardInterrupt:
            progress.end_message = "Stopped. What was graded is saved; grade again to do the rest."
        except (UserError, JailBroken, KeyProblem, OSError) as error:
            progress.end_message = str(error)
            progress.trouble = True
        except Exception as error:  # a fault of ours: the page must say so, since nobody sees this thread's traceback
            progress.end_message = f"Grading broke off ({type(error).__name__}: {error})."
            progress.trouble = True
            raise
        finally:
            progress.end_time = time.monotonic()

    def _grade(self, progress: Progress, force: bool) -> None:
        def tell(result: grade_class.SubmissionOutcome, total: int) -> None:
            progress.total = total
            progress.done_count += 1
            if result.graded_submission is None:
                progress.unchanged_count += 1
            else:
                progress.graded_count += 1

        workers = min(os.cpu_count() or 1, max(1, submitted_files.students(self._class_folder)))
        with (
            class_lock(self._class_folder, progress.remarks.append),
            pool.on_this_machine(workers, Limits(), private=(self._class_folder.path,)) as grader,
        ):
            for name in progress.names:
                progress.current_name = name
                progress.done_count = 0
                progress.total = 0
                summary = grade_class.grade(
                    self._class_folder, name, grader, grade_class.GradeOptions(force=force), tell, self._stop
                )
                progress.remarks += [f"{name}: {line}" for line in summary.problems()]
        progress.remarks += [f"Ignored: {line}" for line in submitted_files.strays(self._class_folder)]
