"""In a worker of a Dask cluster: says whether it can grade as the machine of the command would, and grades. Called by cluster, by way of `pickle.loads`."""

from __future__ import annotations

import socket
import tempfile
from collections.abc import Sequence
from dataclasses import dataclass, replace
from functools import cache
from pathlib import Path

from dask.distributed import get_worker

from autograder.engine import fingerprint, pool
from autograder.engine.fingerprint import Build
from autograder.engine.graded_submission import GradedSubmission
from autograder.engine.job import Job
from autograder.errors import UserError
from autograder.files import replace as write_whole
from autograder.jail.errors import JailBroken, JailWontStart, Overrun
from autograder.jail.limits import Limits
from autograder.jail.sandbox import Mode
from autograder.keys.problem import KeyProblem


@dataclass(frozen=True)
class Setup:
    """What a worker needs before its first submission."""

    build: Build
    limits: Limits
    mode: Mode
    private: Sequence[Path]  # as for a Jail
    also: Sequence[str]  # as for a Jail
    # Of an assignment, once there is one.
    assignment: str = ""
    notebook: str = ""  # a hash of our copy
    file: str = ""  # the name under which its reference outputs are kept here
    reference_data: bytes = b""  # the bytes of that file


@dataclass(frozen=True)
class WorkerReport:
    """What a worker says of itself."""

    host: str
    problem: str = ""  # why it can't grade; empty where it can


@dataclass(frozen=True)
class Reply:
    """What became of a submission."""

    host: str  # the machine
    address: str  # Dask's
    graded_submission: GradedSubmission | None = None
    problem: str = ""  # why there is no grade: of this submission, unless one of the following says of what
    unfit: bool = False  # the problem is of this worker
    key: bool = False  # the problem is of the key


def prepare(setup: Setup) -> WorkerReport:
    """Take in what submissions need, and try all that grading rests on; a jail and a judge are warm afterwards."""
    from autograder.engine import worker_process  # brings torch, which the machine of the command needs not import

    host = socket.gethostname()
    try:
        problem = fingerprint.difference(setup.build) or _notebook_problem(setup)
        if not problem:
            worker_process.warm_up(setup.limits, setup.mode, setup.private, setup.also)
            if setup.file:
                write_whole(_file(setup.file), setup.reference_data, mode=0o600)
            problem = fingerprint.difference(setup.build)  # of what the jail and the judge have been started from
    except (UserError, JailBroken, Overrun) as error:
        problem = str(error)
    except Exception as error:
        problem = f"{type(error).__name__}: {error}"
    return WorkerReport(host, problem)


def grade(build: Build, job: Job) -> Reply:
    """Grade a submission. `job.reference_file` is only a name, the one under which `prepare` has kept them."""
    reply = Reply(socket.gethostname(), get_worker().address)
    file = _file(job.reference_file.name)
    if not file.is_file() or build != fingerprint.HERE:
        return replace(reply, problem="it was never asked whether it can grade", unfit=True)
    try:
        return replace(reply, graded_submission=pool.grade_here(replace(job, reference_file=file)))
    except (UserError, JailWontStart) as error:
        return replace(reply, problem=str(error), unfit=True)
    except KeyProblem as error:
        return replace(reply, problem=str(error), key=True)
    except JailBroken as error:
        return replace(reply, problem=str(error))
    except Exception as error:
        return replace(reply, problem=f"{type(error).__name__}: {error}")


def _notebook_problem(setup: Setup) -> str:
    if setup.assignment and fingerprint.of_notebook(setup.assignment) != setup.notebook:
        return f"its copy of {setup.assignment}.ipynb in course/ is different: install the same version, or run `make build`"
    return ""


@cache
def _folder() -> Path:
    """Where this process keeps files, for its user alone, until it ends."""
    # Dask removes it with all that is in it.
    return Path(tempfile.mkdtemp(prefix="autograder-", dir=get_worker().local_directory))


def _file(name: str) -> Path:
    return _folder() / name
