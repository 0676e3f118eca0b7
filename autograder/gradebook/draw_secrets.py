"""The secret of an assignment's hidden draws, in two places: the class's file, which grading reads, and the gradebook, from which a lost file is restored.

Earlier grades can be repeated only with it.
"""

from __future__ import annotations

import json
from dataclasses import dataclass
from typing import Any

import sqlalchemy as sa

from autograder.class_folder.folder import ClassFolder
from autograder.errors import UserError
from autograder.gradebook import preflight
from autograder.reference import draws

metadata = sa.MetaData()
SECRETS = sa.Table(
    "autograder_secret",
    metadata,
    sa.Column("assignment", sa.String(200), primary_key=True),
    sa.Column("entry", sa.Text, nullable=False),  # JSON: what the file holds for the assignment
)


@dataclass(frozen=True)
class ClassSecrets:
    """The secrets of a class, as its file and its gradebook know them together."""

    class_folder: ClassFolder
    entries: dict[str, dict[str, Any]]  # by assignment, as in the file
    is_broken: bool  # the file is there and can't be read
    is_incomplete: bool  # the gradebook knows entries that the file lacks

    def restore(self) -> str:
        """Write the file where it lacks something, and move a broken one aside. Returns what was done in a line, or ""."""
        file = self.class_folder.draws
        message = f"{file} was gone"
        if self.is_broken:
            aside = file.with_name(f"{file.name}.broken")
            file.replace(aside)
            message = f"{file} could not be read and is now called {aside.name}"
        if self.is_incomplete:
            draws.write(file, self.entries)
            return f"{message}: restored from the gradebook"
        return message if self.is_broken else ""

    def describe_damage(self) -> str:
        """What `restore` would mend, in a line, or ""."""
        if self.is_broken:
            return f"{self.class_folder.draws} can't be read; a run without --dry-run moves it aside"
        if self.is_incomplete:
            return f"{self.class_folder.draws} lacks secrets; a run without --dry-run restores them from the gradebook"
        return ""


def find_secrets(class_folder: ClassFolder, assignment: str, anew: bool = False) -> ClassSecrets:
    """What the file and the gradebook hold, when the secret of this assignment can be used or may be drawn. Changes nothing.

    anew: a secret that is gone may be drawn again.

    Raises:
        UserError: it is gone although something was graded with it, or the file holds another one than the gradebook.
    """
    records = _in_gradebook(class_folder)
    is_broken = False
    try:
        entries = draws.entries(class_folder.draws)
    except draws.BrokenSecrets:
        if not records and not anew:
            raise
        entries = {}
        is_broken = True
    entry = entries.get(assignment)
    its = records.get(assignment)
    if entry and its and entry["secret"] != its["secret"] and not anew:
        raise UserError(
            f"{class_folder.draws} has a different secret for {assignment} than the gradebook. If the file is another class's, move it away; "
            "the same command restores the right one from the gradebook"
        )
    if not entry and not its and not anew:
        preflight.refuse_without_secret(class_folder, assignment)
    is_incomplete = not records.keys() <= entries.keys()
    return ClassSecrets(class_folder, records | entries, is_broken, is_incomplete)


def check_secret(class_folder: ClassFolder, assignment: str, anew: bool = False) -> str:
    """Restore the file where the gradebook knows what it held. Returns what was done in a line, or "". Raises as `find_secrets`."""
    return find_secrets(class_folder, assignment, anew).restore()


def keep(connection: sa.Connection, assignment: str, entry: dict[str, Any]) -> None:
    """Write into the gradebook what the file holds for an assignment, where that differs."""
    text, of_it = json.dumps(entry), SECRETS.c.assignment == assignment
    before = connection.scalar(sa.select(SECRETS.c.entry).where(of_it))
    if before is None:
        connection.execute(SECRETS.insert().values(assignment=assignment, entry=text))
    elif before != text:
        connection.execute(SECRETS.update().where(of_it).values(entry=text))


def _in_gradebook(class_folder: ClassFolder) -> dict[str, dict[str, Any]]:
    """What the gradebook holds, by assignment; nothing where there is no gradebook, or one of an earlier version."""
    with preflight.open_to_read(class_folder) as connection:
        if connection is None or SECRETS.name not in sa.inspect(connection).get_table_names():
            return {}
        rows = connection.execute(sa.select(SECRETS.c.assignment, SECRETS.c.entry))
        return {assignment: json.loads(entry) for assignment, entry in rows}
