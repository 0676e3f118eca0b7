"""Before a gradebook is opened: is there one, is it one, is it of this version, and does the class miss what it had? Nothing is written here."""

from __future__ import annotations

import contextlib
import os
import re
from collections.abc import Iterator
from functools import cache
from importlib.util import find_spec
from pathlib import Path

import sqlalchemy as sa
from alembic.script import ScriptDirectory

from autograder.class_folder import log
from autograder.class_folder.folder import ClassFolder
from autograder.errors import UserError

NBGRADERS = {"assignment", "notebook", "student", "submitted_assignment"}  # tables of every version of nbgrader
ALL_OF_NBGRADERS = {
    *NBGRADERS, "alembic_version", "base_cell", "comment", "course", "grade", "grade_cells", "solution_cells", "source_cell",
    "submitted_notebook", "task_cells",
}  # fmt: skip
DATA_TABLES = ("student", "submitted_assignment", "submitted_notebook", "grade", "comment")
ANEW = "--start-anew"


def head() -> str:
    """The version of the schema of this nbgrader's gradebooks."""
    return str(_scripts().get_current_head())


def redacted_url(address: str) -> str:
    """A gradebook's address as it can be shown: without a password, even one that was written in a way that can't be read."""
    try:
        url = sa.make_url(address)
    except (sa.exc.ArgumentError, ValueError):
        return "given as --db-url or AUTOGRADER_DB_URL"
    if "@" in (url.host or ""):
        return f"given as {url.drivername}://…"
    return url.set(query={}).render_as_string(hide_password=True)


def error_for(class_folder: ClassFolder, error: Exception) -> UserError:
    """One line on why a gradebook can't be opened, without its password."""
    if isinstance(error, (sa.exc.ArgumentError, ValueError)) or redacted_url(class_folder.db_url).startswith("given"):
        return UserError(
            f"the gradebook {redacted_url(class_folder.db_url)} can't be opened: write DIALECT://USER:PASSWORD@HOST:PORT/DATABASE, "
            "and in a password %40 for @, %3A for :, %2F for /"
        )
    password = sa.make_url(class_folder.db_url).password
    reason = re.sub(r"\s+", " ", str(getattr(error, "orig", None) or error).splitlines()[0])
    if password:
        reason = reason.replace(str(password), "***")
    return UserError(f"the gradebook {redacted_url(class_folder.db_url)} can't be opened: {reason}")


def check_gradebook(class_folder: ClassFolder, anew: bool = False) -> None:
    """Look whether there is a gradebook of the class, or may be a new one. An empty one that was never finished counts as none.

    anew: one that is gone may be made again.

    Raises:
        UserError: it is something else, of another version, can't be opened, or is gone.
    """
    where = redacted_url(class_folder.db_url)
    with _open_or_explain(class_folder) as connection:
        tables, version = _read_tables_and_version(connection) if connection else (set(), "")
    if not tables:
        if not anew and _has_results(class_folder):
            raise UserError(
                f"the gradebook {where} is gone or empty, but {class_folder.path} has results: put it back where it was, "
                f"or make a new one with {ANEW}, which will lack all history and scores given by hand"
            )
        return
    if not tables >= NBGRADERS:
        raise UserError(
            f"{where} is not a gradebook: it has the tables {', '.join(sorted(tables)[:3])}; nothing was written"
        )
    revisions = {script.revision for script in _scripts().walk_revisions()}
    if version and version not in revisions:
        raise UserError(f"the gradebook {where} was made by a newer nbgrader: install that one")
    if version != head():
        raise UserError(
            f"the gradebook {where} was made by an older nbgrader: back it up, then run "
            f"`AUTOGRADER_GRADING={class_folder.path} nbgrader db upgrade` in the project's folder"
        )


def check_writable(class_folder: ClassFolder) -> None:
    """Look whether the class's gradebook can be written, before any work is done for it.

    Raises:
        UserError: it can only be read.
    """
    trouble = ""
    with _open_or_explain(class_folder) as connection:
        if connection is None:
            return
        if connection.dialect.name == "sqlite":
            file = str(connection.engine.url.database)
            trouble = "" if os.access(file, os.W_OK) else f"{file} is read-only for you"
        elif connection.dialect.name == "postgresql":
            if connection.scalar(sa.text("SHOW transaction_read_only")) == "on":
                trouble = "its server is read-only, as a standby is"
            else:
                tables = set(sa.inspect(connection).get_table_names()) & set(DATA_TABLES)
                may = "SELECT has_table_privilege(:table, 'INSERT') AND has_table_privilege(:table, 'UPDATE')"
                refused_in = [
                    table for table in sorted(tables) if not connection.scalar(sa.text(may), {"table": table})
                ]
                trouble = f"this role may not write into its table {refused_in[0]}" if refused_in else ""
    if trouble:
        raise UserError(
            f"the gradebook {redacted_url(class_folder.db_url)} can't be written: {trouble}; nothing was changed"
        )


@contextlib.contextmanager
def _open_or_explain(class_folder: ClassFolder) -> Iterator[sa.Connection | None]:
    """As `open_to_read`, with what goes wrong in one line."""
    try:
        with open_to_read(class_folder) as connection:
            yield connection
    except ImportError as error:
        raise UserError(f"{error} (for PostgreSQL: pip install 'psycopg[binary]')") from None
    except (sa.exc.SQLAlchemyError, OSError, ValueError) as error:
        raise error_for(class_folder, error) from None


def _read_tables_and_version(connection: sa.Connection) -> tuple[set[str], str]:
    """The tables of a gradebook, and its schema's version; no tables where making it was broken off: then it has no version and no rows."""
    tables = set(sa.inspect(connection).get_table_names())
    has_version = "alembic_version" in tables and tables >= NBGRADERS
    version = connection.execute(sa.text("SELECT version_num FROM alembic_version")).scalar() if has_version else ""
    has_only_known = all(name in ALL_OF_NBGRADERS or name.startswith("autograder_") for name in tables)
    if version or not has_only_known or any(_has_rows(connection, name) for name in tables):
        return tables, str(version or "")
    return set(), ""


def _has_rows(connection: sa.Connection, table: str) -> bool:
    return connection.execute(sa.text(f"SELECT 1 FROM {table} LIMIT 1")).first() is not None


def refuse_without_secret(class_folder: ClassFolder, assignment: str) -> None:
    """Refuse to draw a new secret for an assignment's hidden draws where something was graded with another one.

    Raises:
        UserError: something was.
    """
    # Plain nbgrader's need no secret.
    of_ours = _has_results(class_folder, assignment) and log.mentions(class_folder, assignment)
    if not of_ours and not _has_attempts(class_folder, assignment):
        return
    raise UserError(
        f"{class_folder.draws} lacks the secret with which {assignment} was graded here: put the file back, "
        f"or draw new hidden inputs with {ANEW}, on which the same answers may get different points"
    )


@cache
def _scripts() -> ScriptDirectory:
    """nbgrader's migrations, which are read once: a command looks at the schema's version several times."""
    spec = find_spec("nbgrader")
    assert spec and spec.submodule_search_locations
    return ScriptDirectory(str(Path(next(iter(spec.submodule_search_locations))) / "alembic"))


@contextlib.contextmanager
def open_to_read(class_folder: ClassFolder) -> Iterator[sa.Connection | None]:
    """The class's gradebook, to read in; None where there is no file of SQLite's, which is not made."""
    url = sa.make_url(class_folder.db_url)
    if url.get_backend_name() == "sqlite" and not (url.database and Path(url.database).exists()):
        yield None
        return
    engine = sa.create_engine(url)
    try:
        with engine.connect() as connection:
            yield connection
    finally:
        engine.dispose()


def _has_results(class_folder: ClassFolder, assignment: str = "*") -> bool:
    pages = (
        class_folder.feedback.glob(f"*/{assignment}/*.html"),
        class_folder.autograded.glob(f"*/{assignment}/*.ipynb"),
    )
    return any(True for matches in pages for _ in matches)


def _has_attempts(class_folder: ClassFolder, assignment: str) -> bool:
    with open_to_read(class_folder) as connection:
        if connection is None or "autograder_attempt" not in sa.inspect(connection).get_table_names():
            return False
        query = sa.text("SELECT 1 FROM autograder_attempt WHERE assignment = :assignment LIMIT 1")
        return connection.execute(query, {"assignment": assignment}).first() is not None
