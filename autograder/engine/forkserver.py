"""The process that worker processes are forked from: it has torch imported once for all of them, and starts while the command itself still imports."""

from __future__ import annotations

import multiprocessing
import multiprocessing.forkserver
from multiprocessing.context import ForkServerContext

from autograder.errors import UserError
from autograder.jail import resources
from ffnlab.registry import active_course


def start() -> ForkServerContext:
    """Start it, if it does not run yet, and return at once. It ends with this process.

    Raises:
        UserError: there are no forks here. CourseNotFound: there is no such course.
        JailWontStart: there is too little memory here, or too few files may be open.
    """
    resources.check_capacity()
    active_course()  # here it is one line, and not a traceback of the process that is started
    try:
        context = multiprocessing.get_context("forkserver")
    except ValueError:
        raise UserError("grading needs Linux; on Windows, that is WSL") from None
    context.set_forkserver_preload(["autograder.engine.preload"])
    multiprocessing.forkserver.ensure_running()
    return context
