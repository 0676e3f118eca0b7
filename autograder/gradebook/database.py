"""The database behind a gradebook: how it is opened, how a new one is made in one step, and that it has one writer. Called by gradebook."""

from __future__ import annotations

import contextlib
import os
import socket
import sqlite3
import tempfile
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import nbgrader.api
import sqlalchemy as sa

from autograder.class_folder.folder import ClassFolder
from autograder.errors import UserError
from autograder.files import CONTINUATION
from autograder.gradebook import preflight

LOCK = 7_305_221_973  # of PostgreSQL's advisory locks in this database, the one of its writer
WAIT_SECONDS = 60  # for somebody else's transaction in SQLite: formgrader's takes milliseconds


def engine(url: str | sa.URL, **options: Any) -> sa.Engine:
    """SQLAlchemy's engine for a gradebook. A commit is on the disk, SQLite's journal too; a connection that the server has ended is opened again."""
    sql_engine = sa.create_engine(url, pool_pre_ping=True, **options)
    if sql_engine.dialect.name == "sqlite":
        sa.event.listen(sql_engine, "connect", _set_up_sqlite)
    return sql_engine


def _set_up_sqlite(connection: Any, _: object) -> None:
    connection.execute("PRAGMA synchronous=EXTRA")
    connection.execute(f"PRAGMA busy_timeout={1000 * WAIT_SECONDS}")


def explain(error: sa.exc.DBAPIError) -> str:
    """Why the database refuses to go on, in one line without what was to be written."""
    return f"the gradebook can't be written: {str(error.orig).splitlines()[0]}; {CONTINUATION} once it can"


def make(sql_engine: sa.Engine, *more: sa.MetaData) -> None:
    """Make nbgrader's tables and `more` where there are none, marked with the schema's version, in one transaction: a kill leaves all of them or none."""
    with sql_engine.begin() as connection:
        if sql_engine.dialect.name == "sqlite":
            connection.exec_driver_sql("BEGIN IMMEDIATE")  # Python's sqlite3 begins none before a CREATE TABLE
        for metadata in (nbgrader.api.Base.metadata, *more):
            metadata.create_all(connection)
        connection.execute(sa.text("CREATE TABLE IF NOT EXISTS alembic_version (version_num VARCHAR(32) NOT NULL)"))
        if connection.execute(sa.text("SELECT 1 FROM alembic_version")).first() is None:
            connection.execute(sa.text("INSERT INTO alembic_version VALUES (:version)"), {"version": preflight.head()})


@contextlib.contextmanager
def url_to_read(class_folder: ClassFolder, *more: sa.MetaData) -> Iterator[str]:
    """The address of a class's gradebook for a command that only reads. If it lacks a table or a column, that of a stand-in.

    The stand-in is removed at the end. It is a copy of SQLite's file, or empty where there is no gradebook, so that a
    reader can complete it as a writer completes the class's own.
    """
    with preflight.open_to_read(class_folder) as connection:
        has_tables = connection is not None and bool(sa.inspect(connection).get_table_names())
        # A gradebook on a server can't be copied like a file. What it lacks is added to it, and nothing that it has changes.
        is_on_server = connection is not None and connection.dialect.name != "sqlite"
        is_complete = connection is not None and (is_on_server or _is_complete(connection, more))
    if has_tables and is_complete:
        yield class_folder.db_url
        return
    with tempfile.TemporaryDirectory(prefix="gradebook-") as folder:
        stand_in = Path(folder, "gradebook.db")
        if has_tables:
            file = sa.make_url(class_folder.db_url).database
            with (
                contextlib.closing(sqlite3.connect(str(file))) as original,
                contextlib.closing(sqlite3.connect(stand_in)) as copy,
            ):
                original.backup(copy)
        yield f"sqlite:///{stand_in}"


def _is_complete(connection: sa.Connection, more: tuple[sa.MetaData, ...]) -> bool:
    """Whether a gradebook has the tables of nbgrader and of `more`, with the columns of the latter."""
    inspector = sa.inspect(connection)
    names = set(inspector.get_table_names())
    tables = [table for metadata in more for table in metadata.tables.values()]
    if not names >= {*nbgrader.api.Base.metadata.tables, *(table.name for table in tables)}:
        return False
    return all(
        {column.name for column in table.columns} <= {column["name"] for column in inspector.get_columns(table.name)}
        for table in tables
    )


@contextlib.contextmanager
def one_writer(sql_engine: sa.Engine) -> Iterator[None]:
    """No other command writes into a PostgreSQL gradebook meanwhile, whatever its folder and machine. SQLite's file is in the folder that a command locks.

    The server lets go when the command ends, however it ends.

    Raises:
        UserError: another command is writing, on whatever machine.
    """
    if sql_engine.dialect.name != "postgresql":
        yield
        return
    with sql_engine.connect().execution_options(isolation_level="AUTOCOMMIT") as connection:
        name = f"autograder, process {os.getpid()} on {socket.gethostname()}"
        connection.execute(sa.text("SELECT set_config('application_name', :name, false)"), {"name": name[:63]})
        if not connection.scalar(sa.text(f"SELECT pg_try_advisory_lock({LOCK})")):
            holder = connection.scalar(
                sa.text(
                    "SELECT application_name FROM pg_stat_activity JOIN pg_locks USING (pid) "
                    "WHERE locktype = 'advisory' AND granted AND (classid::bigint << 32 | objid::bigint) = :lock"
                ),
                {"lock": LOCK},
            )
            raise UserError(
                f"the gradebook {preflight.redacted_url(str(sql_engine.url))} is being written by {holder or 'another command'}: "
                "wait until it has ended, or stop it"
            )
        yield
        # The server needs a moment to see that a connection has ended, and the next command may be quicker.
        connection.execute(sa.text(f"SELECT pg_advisory_unlock({LOCK})"))
