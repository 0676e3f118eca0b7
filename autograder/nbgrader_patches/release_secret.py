"""With what a feedback page is released in nbgrader's exchange: the secret and the time of the submission that the page is of, both from one record.

nbgrader names a page by that secret, so whoever handed it in finds the page. Called by give_back, and by exchange for nbgrader's own command.
"""

from __future__ import annotations

import re
from datetime import UTC, datetime

from autograder import untrusted_files
from autograder.class_folder import manifest, submitted_files
from autograder.class_folder.folder import ClassFolder
from autograder.errors import UserError
from autograder.files import write_private
from autograder.jail.limits import Limits
from autograder.lms import exchange

SUBMISSION = re.compile(rb'<meta name="submission" content="([0-9a-f]{64})">')
HEAD = 4096  # bytes of a page, in which it says of which submission it is


def put_beside(class_folder: ClassFolder, student: str, assignment: str) -> str:
    """Put the secret and the time beside a student's page, for nbgrader. Returns why that can't be done, and does nothing then."""
    try:
        secret, utc_time = _find(class_folder, student, assignment)
    except UserError as reason:
        return str(reason)
    folder = class_folder.feedback / student / assignment
    write_private(folder / exchange.SECRET, secret)
    write_private(folder / untrusted_files.TIMESTAMP, manifest.stamp(utc_time))
    return ""


def why_not(class_folder: ClassFolder, student: str, assignment: str) -> str:
    """Why a student's page can't be released; "" where it can."""
    try:
        _find(class_folder, student, assignment)
    except UserError as reason:
        return str(reason)
    return ""


def _find(class_folder: ClassFolder, student: str, assignment: str) -> tuple[str, datetime]:
    folder = class_folder.submitted / student / assignment
    secret = exchange.read_secret(folder)
    utc_time = untrusted_files.find_timestamp(folder)
    if not secret or not utc_time:
        raise UserError("it was not collected from the exchange, so the student could not fetch it there")
    if untrusted_files.find_timestamp(class_folder.autograded / student / assignment) != utc_time:
        raise UserError(
            f"there is a newer submission than the one that was graded: run {class_folder.command('grade')} first"
        )
    page = class_folder.feedback / student / assignment / f"{assignment}.html"
    match = SUBMISSION.search(untrusted_files.read(page, HEAD))
    if not match:
        raise UserError(
            f"its page does not say which submission it is about: run {class_folder.command('feedback')} first"
        )
    digest = match[1].decode()
    (submission,) = submitted_files.find(class_folder, assignment, student)
    if submitted_files.digest(submitted_files.read(submission, Limits().file)[0]) == digest:
        return secret, utc_time.replace(tzinfo=UTC)
    for record in reversed(manifest.Manifest.load(class_folder, assignment).records.get(student, [])):
        if record.attempt and record.sha256 == digest and record.when and record.back.get("secret"):
            return record.back["secret"], record.when
    raise UserError("its page is about an earlier submission, whose secret was not kept")
