"""What an exercise and its key must keep besides the matrix: enough right answers and hints, messages that help, and a place in the notebook that exists.

`autograder matrix` says what is broken, and the tests ask the same function.
"""

from __future__ import annotations

import re
from collections.abc import Sequence

from autograder.authoring import build
from autograder.keys.key import Key
from autograder.paths import source
from ffnlab.diagnosis.recognition import is_quiz, without_claims
from ffnlab.phrases import in_quotes, plural
from ffnlab.registry import active_course

MIN_RIGHTS = 3  # besides the solution, each written in another way, so that a check does not ask for one way of writing
MIN_HINTS = 2
MIN_MESSAGE = 20  # characters that are left of a message where something else is wrong as well
UNKIND = {"simply", "obviously", "just"}  # what is easy for whoever wrote it
# In a notebook's source; or bold words that begin a paragraph.
HEADING = re.compile(r"^# (?:##+ (?:\d+ · )?(.+)$|\*\*(.+?)\.\*\*)", re.M)
VEIL = re.compile(r'^veil\("(.+?)"', re.M)
QUOTED = re.compile(r"“.*?”")
BOARD = "the board"  # has no title that one could quote


def broken(key: Key) -> list[str]:
    """What of the rules an exercise and its key do not keep, a sentence each."""
    return [*_rights(key), *_messages(key), *_words(key), *_places(key), *_order(key)]


def _rights(key: Key) -> list[str]:
    count = len(key.rights)
    if count >= MIN_RIGHTS:
        return []
    return [
        f"{plural(count, 'right answer')} besides the solution, and {MIN_RIGHTS} are needed, each written in another way"
    ]


def _messages(key: Key) -> list[str]:
    problems = []
    mistake_by_message: dict[str, str] = {}
    for answer in key.mistakes:
        if len(without_claims(answer.message)) <= MIN_MESSAGE:
            problems.append(f"{answer.name}: nothing is left of its message where something else is wrong as well")
        if mistake_by_message.setdefault(answer.message, answer.mistake) != answer.mistake:
            problems.append(f"{answer.name}: its message is that of {mistake_by_message[answer.message]}, too")
        if unkind := UNKIND.intersection(answer.message.lower().split()):
            problems.append(f"{answer.name}: its message says “{min(unkind)}”, which helps nobody who is stuck")
    return problems


def _words(key: Key) -> list[str]:
    exercise = key.exercise
    problems = []
    if not exercise.understood:
        problems.append("`understood` is empty: what has somebody understood who earns it?")
    if len(exercise.hints) < MIN_HINTS and not is_quiz(exercise):
        problems.append(f"{plural(len(exercise.hints), 'hint')}, and {MIN_HINTS} are needed")
    return problems


def _places(key: Key) -> list[str]:
    """Whether `where` sends a student to a place that the notebook has."""
    where = key.exercise.where
    quoted = QUOTED.findall(where)
    if not quoted and BOARD not in where:
        return [f"`where` is “{where}”: quote the title of a section between “ and ”, or name {BOARD}"]
    notebook = active_course().notebook_of(key.exercise.name)
    titles = titles_of(source(notebook).read_text(encoding="utf-8"))
    return [f"`where` sends to {title}, and {notebook} has no such title" for title in quoted if title not in titles]


def _order(key: Key) -> list[str]:
    """Whether the exercise before this one is the same in the notebook and in its module: tables and feedback pages follow the module."""
    name = key.exercise.name
    notebook = active_course().notebook_of(name)
    names = [exercise.name for exercise in active_course().exercises_of(notebook)]
    cells = [cell for cell in build.cells_of(notebook) if cell in names]
    if name not in cells:
        return [f"{notebook} has no cell for it"]
    before = _before(name, names)
    before_in_notebook = _before(name, cells)
    if before == before_in_notebook:
        return []
    return [
        f"in {notebook} it comes {_describe_place(before_in_notebook)}, and {_describe_place(before)} in its exercises: "
        "they have to be in the notebook's order"
    ]


def _before(name: str, names: Sequence[str]) -> str:
    """The name before this one; "" where it is the first."""
    place = names.index(name)
    return names[place - 1] if place else ""


def _describe_place(before: str) -> str:
    return f"after {before}" if before else "first"


def titles_of(text: str) -> set[str]:
    """The titles in a notebook's source, in quotation marks."""
    titles = {heading or lead for heading, lead in HEADING.findall(text)} | set(VEIL.findall(text))
    return set(map(in_quotes, titles))
