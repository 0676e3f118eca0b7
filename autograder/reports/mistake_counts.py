"""Which known mistakes a class makes, who makes each in the latest attempt and who made it before, with the shortest answer that shows it."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field, replace

from autograder.engine.program import answer_source
from autograder.reports import similarity
from autograder.reports.report_parts import MistakeReport
from autograder.reports.shown_text import ShownText
from autograder.reports.student_history import ReadAttempt, StudentHistory
from ffnlab.untrusted_text import in_a_line


@dataclass
class _MistakeCount:
    """Who makes a mistake, who made it, and the shortest answer that shows it."""

    message: str
    now: set[str] = field(default_factory=set)
    before: set[str] = field(default_factory=set)
    example: tuple[int, str, str] | None = None  # its length, whose it is, the source


class MistakeCounts:
    """Of one assignment."""

    def __init__(self) -> None:
        self._counts: dict[tuple[str, str], _MistakeCount] = {}  # by the exercise and the mistake

    def note(self, history: StudentHistory) -> None:
        """Count a student's mistakes in all files that could be read."""
        for attempt in history.attempts:
            if attempt.readable:
                self._note_attempt(history.student, attempt, is_latest=attempt is history.newest)

    def _note_attempt(self, student: str, attempt: ReadAttempt, is_latest: bool) -> None:
        sources = {name: answer_source(attempt.cells or (), name) for name in attempt.grading.verdicts}
        for name in attempt.grading.verdicts:
            mistake = attempt.grading.mistake(name)
            if not mistake:
                continue
            message = attempt.grading.cause(name)
            count = self._counts.setdefault((name, mistake), _MistakeCount(message))
            count.message = min(count.message, message, key=len)  # some are told with a second mistake
            if is_latest:
                count.now.add(student)
            else:
                count.before.add(student)
            source = sources.get(name, "")
            if source and (count.example is None or (len(source), student) < count.example[:2]):
                count.example = (len(source), student, source[: similarity.MAX_CHARACTERS])

    def reports(self, labels: Mapping[str, str], shown: ShownText, stubs: Mapping[str, str]) -> list[MistakeReport]:
        """The mistakes, those that most students make first. labels: how each student is called; stubs: by exercise, the handout's cell."""
        mistakes = []
        for (exercise, name), count in self._counts.items():
            past = count.before - count.now
            mistake = MistakeReport(exercise, name, in_a_line(count.message, 600), len(count.now), len(past))
            if count.example is not None:
                _, student, source = count.example
                lines, is_cut = shown.example(source, stubs.get(exercise, ""))
                mistake = replace(mistake, by=labels[student], example=lines, is_cut=is_cut)
            mistakes.append(mistake)
        return sorted(mistakes, key=lambda mistake: (-mistake.students, -mistake.now, mistake.exercise, mistake.name))
