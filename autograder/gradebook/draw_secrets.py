"""The secret of an assignment's hidden draws, in two places: the class's file, which grading reads, and the gradebook, from which a lost file is restored.

Earlier grades can be repeated only with it.
"""

from __future__ import annotations

import json
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


def check_secret(class_folder: ClassFolder, assignment: str, anew: bool = False) -> str:
    """Look for an assignment's secret, and restore the file where the gradebook knows what it held. Returns what was done in a line, or "".

    anew: a secret that is gone may be drawn again.

    Raises:
        UserError: it is gone although something was graded with it, or the file holds another one than the gradebook.
    """
    records, message = _in_gradebook(class_folder), ""
    try:
        entries = draws.entries(class_folder.draws)
    except draws.BrokenSecrets:
        if not records and not anew:
            raise
        aside = class_folder.draws.with_name(f"{class_folder.draws.name}.broken")
        class_folder.draws.replace(aside)
        entries, message = {}, f"{class_folder.draws} could not be read and is now called {aside.name}"
    if lost_entries := {name: entry for name, entry in records.items() if name not in entries}:
        draws.write(class_folder.draws, entries | lost_entries)
        message = f"{message or f'{class_folder.draws} was gone'}: restored from the gradebook"
    entry, its = entries.get(assignment), records.get(assignment)
    if entry and its and entry["secret"] != its["secret"] and not anew:
        raise UserError(
            f"{class_folder.draws} has a different secret for {assignment} than the gradebook. If the file is another class's, move it away; "
            "the same command restores the right one from the gradebook"
        )
    if not entry and not its and not anew:
        preflight.refuse_without_secret(class_folder, assignment)
    return message


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
