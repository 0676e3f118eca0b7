"""Formgrader's handlers, where a page must know which answers it shows: it may stay open for an afternoon, and meanwhile the student submits again.

A score, extra credit or comment from such a page is refused, and the page says so. Called by autograder.nbgrader_patches.formgrader.
"""

from __future__ import annotations

import hashlib
import json
from collections.abc import Callable
from pathlib import Path
from typing import Any

from nbgrader.api import Comment, MissingEntry, SubmittedNotebook
from nbgrader.api import Grade as NbgraderGrade
from nbgrader.server_extensions.formgrader import apihandlers, handlers
from tornado import web

HEADER = "X-Answers-Shown"
STALE = (
    "Not saved, because this student has submitted again since you opened this page. "
    "Reload the page to read the latest answer. Reloading loses what you have typed, so copy a long comment first."
)
# In the head of a submission's page, behind jQuery, which sends formgrader's requests. Formgrader itself shows nothing when one fails.
HEAD = """<style>
#notebook-container { overflow-wrap: anywhere; }
#not-saved {
  position: fixed; z-index: 2000; left: 0; right: 0; bottom: 0; padding: 1em 2em;
  background: #a3190f; color: #fff; font-size: 16px;
}
</style>
<script>
$.ajaxSetup({headers: {"%s": "%s"}});
$(document).ajaxError(function (event, request) {
  var why = request.status ? "the server answers " + request.status + " " + request.statusText : "the server does not answer";
  if (!$("#not-saved").length) $("body").append('<div id="not-saved" role="alert"></div>');
  $("#not-saved").text(request.status === 409 ? request.responseText : "Not saved: " + why + ".");
});
</script>
"""


def install() -> None:
    """Put these handlers in the place of nbgrader's. Formgrader reads its configuration more than once, and this may be called as often."""
    ours = {cls.__base__: cls for cls in (SubmissionHandler, GradeHandler, CommentHandler)}
    for routes in (handlers.default_handlers, apihandlers.default_handlers):
        routes[:] = [(path, ours.get(handler, handler), *more) for path, handler, *more in routes]


def hash_answers(handler: handlers.BaseHandler, submission: SubmittedNotebook) -> str:
    """The identity of the answers on a submission's page: a hash of the graded notebook's cells, without their outputs. "" where there is none."""
    folder = handler.coursedir.format_path(
        handler.coursedir.autograded_directory, submission.student.id, submission.assignment.assignment.name
    )
    try:
        cells = json.loads((Path(folder) / f"{submission.notebook.name}.ipynb").read_bytes())["cells"]
    except (OSError, ValueError):
        return ""
    return hashlib.sha256(json.dumps([cell["source"] for cell in cells]).encode()).hexdigest()


class SubmissionHandler(handlers.SubmissionHandler):  # type: ignore[misc]  # nbgrader has no types
    """The page with a submission."""

    _head = ""

    @web.authenticated
    def get(self, submission_id: str) -> Any:
        """The hash is taken before the notebook is read: where that is replaced in between, the page can't save, and a reload mends it."""
        try:
            submission = self.gradebook.find_submission_notebook_by_id(submission_id)
            self._head = HEAD % (HEADER, hash_answers(self, submission))
        except MissingEntry:
            pass  # nbgrader says so
        return super().get(submission_id)

    def write(self, chunk: Any) -> None:
        """nbgrader writes a page whole."""
        super().write(chunk.replace("</head>", f"{self._head}</head>", 1) if isinstance(chunk, str) else chunk)


class GradeHandler(apihandlers.GradeHandler):  # type: ignore[misc]
    """A score and extra credit."""

    @web.authenticated
    def put(self, grade_id: str) -> Any:
        """As nbgrader's, for a page that shows the latest answers."""
        if not _refuse(self, self.gradebook.find_grade_by_id, grade_id):
            super().put(grade_id)


class CommentHandler(apihandlers.CommentHandler):  # type: ignore[misc]
    """A comment."""

    @web.authenticated
    def put(self, comment_id: str) -> Any:
        """As nbgrader's, for a page that shows the latest answers."""
        if not _refuse(self, self.gradebook.find_comment_by_id, comment_id):
            super().put(comment_id)


def _refuse(handler: handlers.BaseHandler, find: Callable[[str], NbgraderGrade | Comment], number: str) -> bool:
    """Answer a request from a page whose answers are not the latest; returns whether it was one."""
    try:
        latest = hash_answers(handler, find(number).notebook)
    except MissingEntry:
        return False
    if latest and latest == handler.request.headers.get(HEADER):
        return False
    handler.set_status(409)
    handler.set_header("Content-Type", "text/plain; charset=utf-8")
    handler.finish(STALE)
    return True


__all__ = ["install"]
