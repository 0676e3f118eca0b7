"""The secret of an assignment's hidden draws, in two places: the class's file, which grading reads, and the gradebook, from which a lost file is restored.

Earlier grades can be repeated only with it.
"""

from __future__ import annotations

import json
from typing import Any

import sqlalchemy as sa

from autograder.desk import ledger
from autograder.house import Class, UserError
from autograder.marking import draws

metadata = sa.MetaData()
SECRETS = sa.Table(
    "autograder_secret",
    metadata,
    sa.Column("assignment", sa.String(200), primary_key=True),
    sa.Column("entry", sa.Text, nullable=False),  # JSON: what the file holds for the assignment
)


def look(school: Class, assignment: str, anew: bool = False) -> str:
    """Look for an assignment's secret, and restore the file where the gradebook knows what it held. Returns what was done in a line, or "".

    anew: a secret that is gone may be drawn again.

    Raises:
        UserError: it is gone although something was graded with it, or the file holds another one than the gradebook.
    """
    kept, told = _in_gradebook(school), ""
    try:
        here = draws.entries(school.draws)
    except draws.Broken:
        if not kept and not anew:
            raise
        aside = school.draws.with_name(f"{school.draws.name}.broken")
        school.draws.replace(aside)
        here, told = {}, f"{school.draws} could not be read, and is called {aside.name} now"
    if lost := {name: entry for name, entry in kept.items() if name not in here}:
        draws.write(school.draws, here | lost)
        told = f"{told or f'{school.draws} was gone'}: restored from the gradebook"
    entry, its = here.get(assignment), kept.get(assignment)
    if entry and its and entry["secret"] != its["secret"] and not anew:
        raise UserError(
            f"{school.draws} holds another secret for {assignment} than the gradebook: if it is another class's, move it away, "
            "and the same command restores the right one from the gradebook"
        )
    if not entry and not its and not anew:
        ledger.refuse_without_secret(school, assignment)
    return told


def keep(connection: sa.Connection, assignment: str, entry: dict[str, Any]) -> None:
    """Write into the gradebook what the file holds for an assignment, where that differs."""
    text, of_it = json.dumps(entry), SECRETS.c.assignment == assignment
    before = connection.scalar(sa.select(SECRETS.c.entry).where(of_it))
    if before is None:
        connection.execute(SECRETS.insert().values(assignment=assignment, entry=text))
    elif before != text:
        connection.execute(SECRETS.update().where(of_it).values(entry=text))


def _in_gradebook(school: Class) -> dict[str, dict[str, Any]]:
    """What the gradebook holds, by assignment; nothing where there is no gradebook, or one of an earlier version."""
    with ledger.reading(school) as connection:
        if connection is None or SECRETS.name not in sa.inspect(connection).get_table_names():
            return {}
        rows = connection.execute(sa.select(SECRETS.c.assignment, SECRETS.c.entry))
        return {assignment: json.loads(entry) for assignment, entry in rows}
