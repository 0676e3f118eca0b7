"""Before a gradebook is opened: is there one, is it one, is it of this version, and does the class miss what it had? Nothing is written here."""

from __future__ import annotations

import re
from importlib.util import find_spec
from pathlib import Path

import sqlalchemy as sa
from alembic.script import ScriptDirectory

from autograder.desk import log
from autograder.house import Class, UserError

NBGRADERS = {"assignment", "notebook", "student", "submitted_assignment"}
ANEW = "--start-anew"


def head() -> str:
    """The version of the schema of this nbgrader's gradebooks."""
    return str(_scripts().get_current_head())


def named(address: str) -> str:
    """A gradebook's address as it can be shown: without a password, even one that was written in a way that can't be read."""
    try:
        url = sa.make_url(address)
    except (sa.exc.ArgumentError, ValueError):
        return "given as --db-url or AUTOGRADER_DB_URL"
    if "@" in (url.host or ""):
        return f"given as {url.drivername}://…"
    return url.set(query={}).render_as_string(hide_password=True)


def refused(school: Class, error: Exception) -> UserError:
    """One line on why a gradebook can't be opened, without its password."""
    if isinstance(error, (sa.exc.ArgumentError, ValueError)) or named(school.db_url).startswith("given"):
        return UserError(
            f"the gradebook {named(school.db_url)} can't be opened: DIALECT://USER:PASSWORD@HOST:PORT/DATABASE was expected, "
            "where a password's @ : / are written %40 %3A %2F"
        )
    password = sa.make_url(school.db_url).password
    reason = re.sub(r"\s+", " ", str(getattr(error, "orig", None) or error).splitlines()[0])
    if password:
        reason = reason.replace(str(password), "***")
    return UserError(f"the gradebook {named(school.db_url)} can't be opened: {reason}")


def look(school: Class, anew: bool = False) -> None:
    """Look whether the class's gradebook can be written into.

    anew: one that is gone may be made again.

    Raises:
        UserError: it is something else, of another version, can't be opened, or is gone.
    """
    try:
        tables, version = _inside(school.db_url)
    except ImportError as error:
        raise UserError(f"{error} (for PostgreSQL: pip install 'psycopg[binary]')") from None
    except (sa.exc.SQLAlchemyError, OSError, ValueError) as error:
        raise refused(school, error) from None
    where = named(school.db_url)
    if not tables:
        if not anew and _has_results(school):
            raise UserError(
                f"the gradebook {where} is gone or empty, but {school.folder} holds results: put it back where it was, "
                f"or make a new one with {ANEW}, in which scores by hand and all history are missing"
            )
        return
    if not tables >= NBGRADERS:
        raise UserError(
            f"{where} is not a gradebook: it holds {', '.join(sorted(tables)[:3])}; nothing was written into it"
        )
    known = {script.revision for script in _scripts().walk_revisions()}
    if version and version not in known:
        raise UserError(f"the gradebook {where} was made by a newer nbgrader: install that one")
    if version != head():
        raise UserError(
            f"the gradebook {where} was made by an older nbgrader: back it up, then run "
            f"`AUTOGRADER_GRADING={school.folder} nbgrader db upgrade` in the project's folder"
        )


def look_for_secret(school: Class, assignment: str, has_secret: bool, anew: bool = False) -> None:
    """Look whether the secret of an assignment's hidden draws is missing where something was graded with it.

    Raises:
        UserError: it is.
    """
    if has_secret or anew:
        return
    of_ours = _has_results(school, assignment) and log.mentions(school, assignment)  # plain nbgrader's need no secret
    if not of_ours and not _has_attempts(school.db_url, assignment):
        return
    raise UserError(
        f"{school.draws} does not hold the secret with which {assignment} was graded here: put the file back, "
        f"or draw new hidden inputs with {ANEW}, on which the same answers may get other points"
    )


def _scripts() -> ScriptDirectory:
    spec = find_spec("nbgrader")
    assert spec and spec.submodule_search_locations
    return ScriptDirectory(str(Path(next(iter(spec.submodule_search_locations))) / "alembic"))


def _inside(address: str) -> tuple[set[str], str]:
    """The tables of a database, and its schema's version; none where there is no file, which is not made."""
    url = sa.make_url(address)
    if url.get_backend_name() == "sqlite" and not (url.database and Path(url.database).exists()):
        return set(), ""
    engine = sa.create_engine(url)
    try:
        with engine.connect() as connection:
            tables = set(sa.inspect(connection).get_table_names())
            versioned = "alembic_version" in tables and tables >= NBGRADERS
            found = connection.execute(sa.text("SELECT version_num FROM alembic_version")).scalar() if versioned else ""
            return tables, str(found or "")
    finally:
        engine.dispose()


def _has_results(school: Class, assignment: str = "*") -> bool:
    pages = (school.feedback.glob(f"*/{assignment}/*.html"), school.autograded.glob(f"*/{assignment}/*.ipynb"))
    return any(True for found in pages for _ in found)


def _has_attempts(address: str, assignment: str) -> bool:
    tables, _ = _inside(address)
    if "autograder_attempt" not in tables:
        return False
    engine = sa.create_engine(address)
    try:
        with engine.connect() as connection:
            query = sa.text("SELECT 1 FROM autograder_attempt WHERE assignment = :assignment LIMIT 1")
            return connection.execute(query, {"assignment": assignment}).first() is not None
    finally:
        engine.dispose()
