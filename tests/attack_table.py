"""Writes docs/attacks.md: every attack and every unusual but right submission, by our engine and by plain `nbgrader autograde`.

    .venv/bin/python tests/attack_table.py

Attacks that could harm the machine are shown to our engine only. Takes a quarter of an hour: nbgrader starts a kernel for each.
"""

from __future__ import annotations

import sys
import tempfile
from collections import Counter
from collections.abc import Callable
from importlib.metadata import version
from pathlib import Path

import attacks
import test_fairness
from attacks import EXERCISE, NARROW, START
from conftest import ROOT
from rich.progress import track

from autograder.authoring import plain_nbgrader
from autograder.class_folder.folder import ClassFolder
from autograder.engine.grade_submission import grade_submission
from autograder.jail.limits import Limits
from autograder.jail.sandbox import Jail
from autograder.reference import draws

TARGET = ROOT / "docs" / "attacks.md"
LENGTH = 80  # of a message in the table
HEAD = """<!-- made by tests/attack_table.py -->
# What must not work, and what must

Each row is a submission for the exercise `{exercise}` (2 points), graded twice with the same hidden inputs: by `autograder grade`, and by plain
`nbgrader autograde` {nbgrader}. “–” means that nbgrader gave no grade; “not tried” means that it could have harmed the machine.

nbgrader was made for honest students, and runs tests, student code and answers in one process. Most attacks here aim at parts of our engine, so a 0 in
nbgrader's column does not mean that nobody could cheat there.

"""


def ours(class_folder: ClassFolder, data: dict[str, bytes], narrow: set[str]) -> dict[str, tuple[float, str]]:
    """By name: points, and the first sentence of what the student is told."""
    seeds = draws.ensure_hidden_seeds(START, class_folder.draws)
    results = {}
    with Jail(Limits()) as jail, Jail(NARROW) as narrow_jail:
        for name in track(data, "autograder"):
            done = grade_submission(START, data[name], narrow_jail if name in narrow else jail, seeds)
            verdict = done.verdicts[EXERCISE]
            results[name] = (verdict.points, verdict.message)
    return results


def plain(
    class_folder: ClassFolder, data: dict[str, bytes], beside: Callable[[str], dict[str, str]]
) -> dict[str, float | None]:
    """By name: nbgrader's points; None where it gave no grade."""
    for number, name in enumerate(data):
        folder = class_folder.submitted / f"s{number}" / START
        folder.mkdir(parents=True)
        (folder / f"{START}.ipynb").write_bytes(data[name])
        for file, text in beside(name).items():
            (folder / file).write_text(text, encoding="utf-8")
    scores: dict[str, float | None] = {}
    for number, name in enumerate(track(data, "nbgrader")):
        plain_nbgrader.autograde(class_folder, START, f"s{number}")
        is_graded = (class_folder.autograded / f"s{number}" / START / f"{START}.ipynb").exists()
        scores[name] = (
            plain_nbgrader.scores(class_folder, START).get(f"s{number}", {}).get(EXERCISE) if is_graded else None
        )
    return scores


def row(*cells: str) -> str:
    return "| " + " | ".join(cell.replace("|", "\\|").replace("\n", " ") for cell in cells) + " |\n"


def format_message(message: str) -> str:
    """A message as it can stand in a table."""
    clean = "".join(character if character.isprintable() else "�" for character in message)
    return f"`{clean[:LENGTH]}{'…' if len(clean) > LENGTH else ''}`".replace("``", "")


def points(value: float | None) -> str:
    return "–" if value is None else f"{value:g}"


def main() -> None:
    """Grade everything and write the page."""
    every = attacks.every()
    with tempfile.TemporaryDirectory() as folder:
        class_folder, harmless = ClassFolder(Path(folder) / "a"), ClassFolder(Path(folder) / "b")
        bad = {name: attack.data() for name, attack in every.items()}
        good = {what: test_fairness.data(what) for what in test_fairness.CORPUS}
        mine = ours(class_folder, bad, {name for name, attack in every.items() if attack.exhausts})
        mine_good = ours(class_folder, good, set())
        theirs = plain(class_folder, {n: d for n, d in bad.items() if every[n].plain}, lambda name: every[name].files)
        theirs_good = plain(harmless, good, lambda name: {})
    page = HEAD.format(exercise=EXERCISE, nbgrader=version("nbgrader"))
    usual = Counter(message for _, message in mine.values()).most_common(1)[0][0]
    page += f"## Attacks\n\nThere are {len(every)}, and each should earn 0. Where the last column is empty, the student reads {format_message(usual)}.\n\n"
    page += row("attack", "ours", "nbgrader", "what the student reads from ours") + row("---", "--:", "--:", "---")
    module_of = {name: theme for theme, its_attacks in attacks.themes().items() for name in its_attacks}
    for name, attack in every.items():
        nbgrader_points = points(theirs.get(name)) if attack.plain else "not tried"
        message = "" if mine[name][1] == usual else format_message(mine[name][1])
        link = f"[{attack.tries}](../tests/attacks/{module_of[name]}.py)"
        page += row(link, points(mine[name][0]), nbgrader_points, message)
    page += f"\n## Unusual but right\n\nThere are {len(good)}, and each should earn 2.\n\n"
    page += row("submissions", "ours", "nbgrader") + row("---", "--:", "--:")
    submissions_by_points: dict[tuple[str, str], list[str]] = {}
    for what in good:
        submissions_by_points.setdefault((points(mine_good[what][0]), points(theirs_good[what])), []).append(what)
    for (our, their), submissions in submissions_by_points.items():
        page += row("; ".join(submissions), our, their)
    TARGET.write_text(page, encoding="utf-8")
    sys.stdout.write(f"{TARGET.relative_to(ROOT)}: {len(bad)} attacks, {len(good)} unusual but right submissions\n")


if __name__ == "__main__":
    main()
