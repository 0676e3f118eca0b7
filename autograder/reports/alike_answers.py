"""Which answers of a class are the same or nearly, leaving out students who hand in together. similarity.py finds them in the sources."""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Mapping

from autograder.engine.program import answer_source
from autograder.engine.released_notebook import Kind, template
from autograder.gradebook.policy import Policy
from autograder.paths import solution
from autograder.reports import similarity
from autograder.reports.report_parts import GroupReport, PairReport
from autograder.reports.shown_text import ShownText
from autograder.reports.student_history import StudentHistory

MAX_PAIRS = 50  # of an assignment


class AlikeAnswers:
    """Of one assignment. stubs: by exercise, the handout's cell, which is nobody's own."""

    def __init__(self, assignment: str, policy: Policy, stubs: Mapping[str, str]) -> None:
        self._assignment = assignment
        self._policy = policy
        self._stubs = stubs
        self._sources: dict[str, dict[str, str]] = defaultdict(dict)  # by exercise and student
        self._groups: list[similarity.SimilarGroup] = []
        self._pairs: list[similarity.Pair] = []

    def note(self, history: StudentHistory) -> None:
        """Keep the answers of a student's latest attempt."""
        cells = history.newest.cells or ()
        for cell in cells:
            if cell.kind is Kind.SOLUTION and (source := answer_source(cells, cell.name)):
                self._sources[cell.name][history.student] = source[: similarity.MAX_CHARACTERS]

    def compare(self) -> None:
        """Find groups and pairs, those that agree in most first. What a group says is no pair as well."""
        known_answers = _known_answers(self._assignment)
        for name, sources in self._sources.items():
            if name.startswith("quiz_"):
                continue
            same, near = similarity.find_similar(
                name, sources, [self._stubs.get(name, ""), *known_answers.get(name, ())]
            )
            same = [group for group in same if not set(group.students) <= self._partners(group.students[0])]
            group_of = {student: group for group in same for student in group.students}
            self._groups += same
            for pair in near:
                is_in_a_group = pair.first in group_of and group_of[pair.first] is group_of.get(pair.second)
                if pair.second not in self._partners(pair.first) and not is_in_a_group:
                    self._pairs.append(pair)
        self._groups.sort(key=similarity.SimilarGroup.rank)
        self._pairs.sort(key=similarity.Pair.rank)

    @property
    def pair_count(self) -> int:
        return len(self._pairs)

    def groups(self, labels: Mapping[str, str], shown: ShownText) -> list[GroupReport]:
        """The first groups. labels: how each student is called."""
        return [
            GroupReport(
                group,
                [labels[student] for student in group.students],
                shown.source(self._sources[group.exercise][group.students[0]]),
            )
            for group in self._groups[:MAX_PAIRS]
        ]

    def pairs(self, labels: Mapping[str, str], shown: ShownText) -> list[PairReport]:
        """The first pairs. labels: how each student is called."""
        reports = []
        for pair in self._pairs[:MAX_PAIRS]:
            sources = self._sources[pair.exercise]
            both = shown.source(sources[pair.first]), shown.source(sources[pair.second])
            reports.append(PairReport(pair, labels[pair.first], labels[pair.second], both))
        return reports

    def _partners(self, student: str) -> set[str]:
        """Who hands in together with a student, themselves among them."""
        return set(self._policy.group(self._assignment, student))


def _known_answers(assignment: str) -> dict[str, list[str]]:
    """By exercise, what the answer key and the solution notebook hold: answers that several people give."""
    from autograder import keys  # brings torch

    sources = {key.exercise.name: [answer.source for answer in key.answers] for key in keys.of_notebook(assignment)}
    if solution(assignment).is_file():
        for cell in template(solution(assignment)):
            if cell.kind is Kind.SOLUTION and cell.name in sources:
                sources[cell.name].append(cell.source)
    return sources
