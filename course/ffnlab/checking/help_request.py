"""`report`: what somebody needs to know who is asked for help with an exercise, as one Markdown text."""

from __future__ import annotations

import platform
from importlib.metadata import PackageNotFoundError, version
from pathlib import Path

from IPython.core.getipython import get_ipython
from IPython.display import display

from ffnlab.checking import checks, kept_code, panel, reference_files
from ffnlab.checking.kept_code import UnfitCode
from ffnlab.environment import is_unattended
from ffnlab.observation.containment import MAX_CHARACTERS, as_in_a_new_notebook
from ffnlab.observation.exercise import Exercise, public_seed
from ffnlab.phrases import sentence
from ffnlab.registry import active_course

PACKAGES = ("ffnlab", "torch", "ipykernel", "jupyterlab")
TEXT = """\
# I am stuck at `{name}` in {notebook}

I would like a hint, not the answer. What have I misunderstood?

## What the check says

```text
{verdict}
```

## My code

{code}

## Versions

{versions}
"""
CODE = "```python\n{}\n```"
NO_CODE = "It could not be copied: {}."
UNDEFINED = "`{name}` is not defined in this notebook yet. Run the cell with your code, then run this one again."
SAVED = "It is in `{}` as well, beside this notebook."
NOT_SAVED = "It could not be saved as `{}`: {}. Copy it from here."


def report(name: str) -> None:
    """Show a Markdown text about your answer to the exercise called `name`, and save it as report_NAME.md beside the notebook.

    It has what the check says, your code with all of the notebook that it uses, and versions; nothing about who you are.
    Nothing is sent and nothing recorded. In grading it does nothing.
    """
    if checks.is_collecting():
        return
    try:
        exercise = active_course().exercise(name)
    except LookupError as error:
        display(panel.message(f"? {name}", sentence(str(error.args[0]))))
        return
    shell = get_ipython()
    if shell is None or name not in shell.user_ns:
        display(panel.message(f"? {name}: no report", UNDEFINED.format(name=name)))
        return
    text = markdown(exercise, shell.user_ns[name])
    body = f"Copy this for whoever you ask. {_save(name, text)}".rstrip()
    display(panel.with_listing(f"{name}: a report to ask with", body, text))


def markdown(exercise: Exercise, answer: object) -> str:
    """The text about an answer."""
    try:
        code = CODE.format(kept_code.source_of(exercise.name, answer))
    except UnfitCode as why:
        code = NO_CODE.format(why)
    notebook = active_course().notebook_of(exercise.name)
    return TEXT.format(
        name=exercise.name, notebook=notebook, verdict=_verdict_text(exercise, answer), code=code, versions=_versions()
    )


def _verdict_text(exercise: Exercise, answer: object) -> str:
    """The check's panel in plain text; where checking breaks, that it did."""
    try:
        with as_in_a_new_notebook():
            reference_outputs = reference_files.load_public(exercise.name)
        seeds = [public_seed(exercise.name, case) for case in range(exercise.cases)]
        verdict, output = checks.examine(exercise, reference_outputs, answer, seeds, exercise.seconds, MAX_CHARACTERS)
        console_text = output.console.text(checks.CONSOLE_LINES, checks.CONSOLE_LENGTH)
        note = checks.earlier_version_note(exercise.name)
        return panel.of_verdict(verdict, console_text=console_text, warnings=output.warnings, note=note).text
    except Exception as error:  # the answer's code can have changed anything
        return checks.BROKEN.format(type(error).__name__)


def _versions() -> str:
    lines = [
        f"- Python {platform.python_version()} on {platform.system() or 'an unknown system'} ({platform.machine()})"
    ]
    for package in PACKAGES:
        try:
            lines.append(f"- {package} {version(package)}")
        except PackageNotFoundError:
            lines.append(f"- {package}: not installed")
    return "\n".join(lines)


def _save(name: str, text: str) -> str:
    """Write the file where somebody reads the notebook; returns a sentence about it."""
    if is_unattended():
        return ""
    file = Path(f"report_{name}.md")
    try:
        file.write_text(text, encoding="utf-8")
    except OSError as error:
        return NOT_SAVED.format(file, error.strerror or type(error).__name__)
    return SAVED.format(file)
