"""The desk's pages, and who may see them: whoever has the token, on this machine. Called by `autograder desk`.

Every page is made on the server and works without scripts. A request needs the cookie that the address with the token gives once, names this machine as
its host, and, if it changes something, comes from a page of the desk. Cookies know no ports, so all pages are below a random path: browsers send the cookie
there alone, and another server of this machine never sees it.
"""

from __future__ import annotations

import contextlib
import hmac
import re
import secrets
import threading
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, field
from datetime import datetime
from functools import cache, partial
from pathlib import Path
from typing import Any, TypeVar, cast

import jinja2
import sqlalchemy as sa
from starlette.applications import Starlette
from starlette.concurrency import run_in_threadpool
from starlette.datastructures import FormData, UploadFile
from starlette.middleware import Middleware
from starlette.middleware.base import BaseHTTPMiddleware, RequestResponseEndpoint
from starlette.requests import Request
from starlette.responses import FileResponse, HTMLResponse, PlainTextResponse, RedirectResponse, Response
from starlette.routing import Mount, Route

from autograder import files, lms, outline
from autograder.class_folder import submitted_files
from autograder.class_folder.folder import FOLDER_NAME, ClassFolder, class_lock
from autograder.class_folder.policy_file import exercise_and_question_points
from autograder.class_folder.roster import Roster
from autograder.errors import UserError
from autograder.gradebook import database, not_handed_in, preflight, unsettled
from autograder.gradebook.gradebook import Book
from autograder.gradebook.policy import FILE, EffectiveAttempt, Policy, mean_share
from autograder.gradebook.policy_words import describe_rules, format_time
from autograder.grading import feedback, grade_class
from autograder.paths import require_assignment
from autograder.reports import class_report, explain, report_page
from autograder.transfer import collect as collecting
from autograder.transfer import give_back
from autograder.web.grading import GradingJob
from autograder.web.uploads import Uploads
from ffnlab.untrusted_text import clean, in_a_line

COOKIE = "autograder_desk"
HOSTS = ("127.0.0.1", "localhost", "[::1]")
POLICY = "default-src 'none'; style-src 'unsafe-inline'; img-src data:; form-action 'self'; frame-ancestors 'none'; base-uri 'none'"
NO_ENTRY = "Open the address that `autograder desk` printed, with its token."
USED = "The address that `autograder desk` printed has been opened, and it opens only once. Use that browser, or end the desk with Ctrl-C and start it again."
MAX_ROWS = 2000  # of a table
T = TypeVar("T")


@dataclass
class WebApp:
    """What all pages share: the class, the uploads, and the grading that runs or ran last."""

    class_folder: ClassFolder
    token: str  # that the first address brings; empty once it has been used
    grading: GradingJob
    uploads: Uploads
    looks_ahead: bool = False  # whether a notebook's report is drawn while its page is looked at
    path: str = field(default_factory=lambda: f"/{secrets.token_urlsafe(18)}")  # below which all pages are
    cookie: str = field(default_factory=lambda: secrets.token_urlsafe(24))  # what a browser shows from then on
    _cache: dict[tuple[str, ...], tuple[tuple[int, ...], Any]] = field(default_factory=dict)
    _locks: dict[tuple[str, ...], threading.Lock] = field(default_factory=dict)
    _ahead: threading.Lock = field(default_factory=threading.Lock)

    def book(self) -> Book:
        """The gradebook, for a page."""
        return Book(self.class_folder)

    @property
    def has_book(self) -> bool:
        """Whether anything was graded."""
        return self._file is None or self._file.exists()

    @property
    def _file(self) -> Path | None:
        """The gradebook's file; None where it is in a database elsewhere."""
        path = self.class_folder.db_url.removeprefix("sqlite:///")
        return None if path == self.class_folder.db_url else Path(path)

    def _stamp(self) -> tuple[int, ...]:
        """What is another one once the gradebook or the class's rules have changed; empty where nobody can say."""
        if self._file is None:
            return ()
        files = (self._file, self._file.with_name(f"{self._file.name}-wal"), self.class_folder.path / FILE)
        return tuple(file.stat().st_mtime_ns if file.exists() else 0 for file in files)

    def once(self, key: tuple[str, ...], make: Callable[[], T]) -> T:
        """What `make` makes of the gradebook, or made when neither it nor the class's rules have changed since."""
        with self._locks.setdefault(key, threading.Lock()):
            stamp = self._stamp()
            before, value = self._cache.get(key, ((), None))
            if not stamp or stamp != before:
                value = make()
                self._cache[key] = (stamp, value)
            return cast(T, value)

    def ahead(self, job: Callable[[], object]) -> None:
        """Do what is likely to be asked for next, while nobody waits for it. What goes wrong is told when it is asked for."""

        def work() -> None:
            with contextlib.suppress(Exception):
                job()
            self._ahead.release()

        if self.looks_ahead and not self.grading.is_running and self._ahead.acquire(blocking=False):
            threading.Thread(target=work, daemon=True).start()


def make(class_folder: ClassFolder, token: str = "") -> Starlette:
    """The application for one class. `token`: that an address must bring; a new one where it is empty. It is in `app.state.desk`."""
    desk = WebApp(class_folder, token or secrets.token_urlsafe(24), GradingJob(class_folder), Uploads(class_folder))
    page = ("GET",)
    form = ("POST",)
    routes = [
        Route("/", _page(_class), methods=page),
        Route("/collect", _page(_collect), methods=page),
        Route("/collect", _form(_look_at_export), methods=form),
        Route("/collect/carry-out", _form(_carry_out), methods=form),
        Route("/grading", _page(_grading), methods=page),
        Route("/grading", _form(_start), methods=form),
        Route("/grading/stop", _form(_stop), methods=form),
        Route("/assignment/{assignment}", _page(_assignment), methods=page),
        Route("/report/{assignment}", _page(_report), methods=page),
        Route("/give-back/{assignment}", _page(_give_back), methods=page),
        Route("/give-back/{assignment}", _form(_look_at_sheet), methods=form),
        Route("/give-back/{assignment}/download", _form(_download), methods=form),
        Route("/student/{student}", _page(_student), methods=page),
        Route("/student/{student}/why/{exercise}", _page(_why), methods=page),
        Route("/student/{student}/page/{assignment}", _page(_feedback), methods=page),
    ]
    app = Starlette(
        routes=[Mount(desk.path, routes=routes)],
        middleware=[Middleware(_Guard)],
        exception_handlers={404: _render_not_found, 405: _render_not_found},
    )
    app.state.desk = desk
    return app


class _Guard(BaseHTTPMiddleware):
    """Lets in who has the token, and nobody by way of another page or another name of this machine."""

    async def dispatch(self, request: Request, call_next: RequestResponseEndpoint) -> Response:
        desk: WebApp = request.app.state.desk
        if not _is_here(request):
            return _add_headers(PlainTextResponse("This desk is for this machine only.", 403))
        token = request.query_params.get("token")
        if token is not None and desk.token and hmac.compare_digest(token.encode(), desk.token.encode()):
            desk.token = ""
            answer: Response = RedirectResponse(f"{desk.path}/", 303)
            answer.set_cookie(COOKIE, desk.cookie, path=f"{desk.path}/", httponly=True, samesite="strict")
            return _add_headers(answer)
        if not hmac.compare_digest(request.cookies.get(COOKIE, "").encode(), desk.cookie.encode()):
            return _add_headers(PlainTextResponse(NO_ENTRY if desk.token else USED, 403))
        origin = request.headers.get("origin")
        if request.method != "GET" and origin and origin != f"http://{request.headers['host']}":
            return _add_headers(PlainTextResponse("This form came from another page.", 403))
        return _add_headers(await call_next(request))


def _is_here(request: Request) -> bool:
    """Whether a request calls this machine by a name of its own, and the port at which the desk is."""
    port = (request.scope.get("server") or ("", None))[1]
    without = set(HOSTS) if port == 80 else set()  # browsers leave this one out
    return request.headers.get("host", "") in {f"{host}:{port}" for host in HOSTS} | without


def _add_headers(answer: Response) -> Response:
    answer.headers.setdefault("content-security-policy", POLICY)
    answer.headers.update(
        {"x-content-type-options": "nosniff", "referrer-policy": "same-origin", "cache-control": "no-store"}
    )
    return answer


Show = Callable[[WebApp, Request], Response]
Do = Callable[[WebApp, Request, FormData], Response]


def _page(show: Show) -> Callable[[Request], Any]:
    """A page that is only looked at; what its reader can mend is told on it."""

    async def answer(request: Request) -> Response:
        return await run_in_threadpool(_render_errors, request, lambda: show(request.app.state.desk, request))

    return answer


def _form(do: Do) -> Callable[[Request], Any]:
    """A form that was sent."""

    async def answer(request: Request) -> Response:
        async with request.form(max_files=20, max_fields=100) as form:
            return await run_in_threadpool(_render_errors, request, lambda: do(request.app.state.desk, request, form))

    return answer


def _render_errors(request: Request, make: Callable[[], Response]) -> Response:
    try:
        return make()
    except UserError as error:
        message = str(error)
    except OSError as error:
        if not (message := files.explain(error)):
            raise
    except sa.exc.DBAPIError as error:
        message = database.explain(error)
    return _render(
        request.app.state.desk, "trouble.html", status=400, title="That did not work", message=_plain(message, 2_000)
    )


# How the forms call what the commands' options say.
FIELDS = {"--column": "“Column”", "--assignment": "“Assignment”", "--roster": "“Who is who”", "--sheet": "“Its sheet”"}


def _plain(text: object, most: int = 1_000) -> str:
    """A line for a page, which has fields where the commands have options."""
    line = in_a_line(str(text), most)
    for option, name in FIELDS.items():
        line = re.sub(rf"(?:with |: )?{option}(?: FILE)?\b", f" in the field {name}", line).replace("  ", " ")
    return line


async def _render_not_found(request: Request, error: Exception) -> Response:
    return _render(request.app.state.desk, "trouble.html", status=404, title="There is no such page", message="")


@cache
def _templates() -> jinja2.Environment:
    environment = jinja2.Environment(
        loader=jinja2.PackageLoader("autograder.web", "templates"),
        autoescape=True,
        trim_blocks=True,
        lstrip_blocks=True,
        undefined=jinja2.StrictUndefined,
    )
    environment.filters |= {
        "breaks": report_page.breaks,
        "line": _plain,
        "address": not_handed_in.address,
        "number": lambda n: f"{n:g}",
    }
    return environment


def _render(desk: WebApp, template: str, status: int = 200, **what: Any) -> HTMLResponse:
    text = (
        _templates()
        .get_template(template)
        .render(desk=desk, base=desk.path, class_folder=desk.class_folder.path.resolve(), **what)
    )
    return HTMLResponse(text, status)


def _policy(desk: WebApp) -> Policy:
    return Policy.of(desk.class_folder)


# The class


@dataclass(frozen=True)
class _GradedNotebook:
    """What stands in the gradebook for one notebook: what counts for each student, and their names."""

    effective_attempts: Mapping[str, EffectiveAttempt]
    names: Mapping[str, str]

    @property
    def unread_count(self) -> int:
        """Answers that a person has still to read."""
        count = 0
        for student, attempt in self.effective_attempts.items():
            if attempt.by != student:
                continue
            for name, score in attempt.scores.items():
                count += report_page.is_to_read(score, attempt.grading.outcome(name))
        return count

    @property
    def mean(self) -> float | None:
        return mean_share(attempt.grade for attempt in self.effective_attempts.values())


def _read_notebook(desk: WebApp, name: str) -> _GradedNotebook:
    def read() -> _GradedNotebook:
        with desk.book() as book:
            return _GradedNotebook(_policy(desk).read_book(book, name), book.students())

    return desk.once(("seen", name), read)


@dataclass(frozen=True)
class _ClassLine:
    """A notebook in the table of the class."""

    name: str
    submission_count: int
    graded_count: int
    unread_count: int
    mean: float | None
    due: str
    missing: not_handed_in.Missing | None


def _class(desk: WebApp, request: Request) -> Response:
    policy = _policy(desk)
    roster = Roster.load(desk.class_folder)
    lines = []
    for name in policy.notebooks:
        submission_count = (
            sum(1 for _ in desk.class_folder.submitted.glob(f"*/{name}")) if desk.class_folder.submitted.is_dir() else 0
        )
        notebook = _read_notebook(desk, name) if desk.has_book else _GradedNotebook({}, {})
        due = policy.due(name)
        if submission_count or notebook.effective_attempts:
            due_text = format_time(policy.in_class_zone(due)) if due else ""
            absent = not_handed_in.find(
                roster,
                policy,
                name,
                not_handed_in.submitters(desk.class_folder, name) | notebook.effective_attempts.keys(),
                not_handed_in.count_undecided(desk.class_folder, name),
            )
            lines.append(
                _ClassLine(
                    name,
                    submission_count,
                    len(notebook.effective_attempts),
                    notebook.unread_count,
                    notebook.mean,
                    due_text,
                    absent,
                )
            )
    return _render(
        desk, "class.html", lines=lines, strays=submitted_files.strays(desk.class_folder), doubts=_doubts(desk, policy)
    )


def _doubts(desk: WebApp, policy: Policy) -> Sequence[str]:
    students = (
        [path.name for path in desk.class_folder.submitted.iterdir()] if desk.class_folder.submitted.is_dir() else []
    )
    return policy.doubts(students)


def _read_assignment(request: Request) -> str:
    return require_assignment(str(request.path_params["assignment"]))


def _read_student(request: Request) -> str:
    student = str(request.path_params["student"])
    if not FOLDER_NAME.fullmatch(student):
        raise UserError(f"{in_a_line(student, 60)!r} is no student's folder")
    return student


def _require_grades(desk: WebApp) -> None:
    if not desk.has_book:
        raise UserError("nothing has been graded yet")


def _assignment(desk: WebApp, request: Request) -> Response:
    name = _read_assignment(request)
    _require_grades(desk)
    notebook = _read_notebook(desk, name)
    columns = [exercise.name for exercise in outline.of_notebook(name)]
    scored_names = {name for attempt in notebook.effective_attempts.values() for name in attempt.scores}
    columns += sorted(scored_names - set(columns))
    rows = []
    for student, attempt in sorted(notebook.effective_attempts.items())[:MAX_ROWS]:
        cells = [
            report_page.format_score(attempt.scores.get(column), attempt.grading.outcome(column)) for column in columns
        ]
        rows.append((student, notebook.names.get(student, ""), attempt, cells))
    more = len(notebook.effective_attempts) - len(rows)
    policy = _policy(desk)
    rules = describe_rules(policy, name)
    with desk.book() as book:
        outdated = unsettled.find_outdated(desk.class_folder, book, name, policy.clock)
    doubts = unsettled.lines(desk.class_folder, policy, name, notebook.effective_attempts, outdated)
    desk.ahead(lambda: _draw_report(desk, name, False))
    return _render(
        desk,
        "assignment.html",
        name=name,
        columns=columns,
        rows=rows,
        more=more,
        notebook=notebook,
        rules=rules,
        doubts=doubts,
    )


def _report(desk: WebApp, request: Request) -> Response:
    name = _read_assignment(request)
    _require_grades(desk)
    return HTMLResponse(_draw_report(desk, name, "hide" in request.query_params))


def _draw_report(desk: WebApp, name: str, hide_names: bool) -> str:
    def draw() -> str:
        with desk.book() as book:
            return report_page.page(
                class_report.build_report(desk.class_folder, book, _policy(desk), [name], hide_names)
            )

    return desk.once(("report", name, "hidden" if hide_names else ""), draw)


# A student


def _student(desk: WebApp, request: Request) -> Response:
    student = _read_student(request)
    _require_grades(desk)
    policy = _policy(desk)
    rows = []
    with desk.book() as book:
        for name in policy.notebooks:
            effective_attempt = policy.read_book(book, name, student).get(student)
            gradings = list(book.history(name, student))
            if effective_attempt or gradings:
                page = desk.class_folder.feedback / student / name / f"{name}.html"
                rows.append((name, effective_attempt, gradings, page.is_file()))
        student_name = book.students().get(student, "")
    if not rows:
        raise UserError(f"nothing by {student} has been graded")
    exercises = {name: list(exercise_and_question_points(name)) for name, *_ in rows}
    when = partial(_when, policy)
    return _render(
        desk, "student.html", student=student, student_name=student_name, rows=rows, exercises=exercises, when=when
    )


def _when(policy: Policy, time: str | datetime) -> str:
    """A moment, in the class's time zone."""
    if isinstance(time, str):
        time = datetime.fromisoformat(time)
    return format_time(policy.in_class_zone(time))


def _why(desk: WebApp, request: Request) -> Response:
    student = _read_student(request)
    exercise = str(request.path_params["exercise"])
    _require_grades(desk)
    policy = _policy(desk)
    with desk.book() as book:
        explanation = explain.find(book, policy, student, exercise)
    attempts = []
    for attempt in explanation.graded_attempts:
        lines = explain.verdict_lines(attempt.verdict) if attempt.verdict else []
        attempts.append((attempt, clean(attempt.code or ""), lines))
    return _render(desk, "why.html", explanation=explanation, attempts=attempts, when=partial(_when, policy))


def _feedback(desk: WebApp, request: Request) -> Response:
    student = _read_student(request)
    name = _read_assignment(request)
    path = desk.class_folder.feedback / student / name / f"{name}.html"
    if not path.is_file():
        raise UserError(f"{student} has no page for {name} yet")
    if desk.has_book and not desk.grading.is_running:  # with what was given by hand since
        with class_lock(desk.class_folder), desk.book() as book:
            effective_attempts = _policy(desk).read_book(book, name, student)
            feedback.rewrite(
                desk.class_folder, name, book, student and [student], effective_attempts=effective_attempts
            )
    return FileResponse(path, media_type="text/html")


# Collecting


def _collect(desk: WebApp, request: Request) -> Response:
    return _render(desk, "collect.html", systems=lms.by_rank(), notebooks=_policy(desk).notebooks)


def _look_at_export(desk: WebApp, request: Request, form: FormData) -> Response:
    files = {
        key: [desk.uploads.save(upload.filename or "", upload.file) for upload in _files(form, key)]
        for key in ("export", "roster")
    }
    if not files["export"]:
        raise UserError("choose the zip that you downloaded from the LMS")
    assignment = str(form.get("assignment") or "")
    clock = Policy.of(desk.class_folder).clock
    by_name = "match_names" in form
    report = collecting.collect(
        desk.class_folder, files["export"][0], files["roster"], assignment or None, True, clock, by_name
    )
    form_values = {key: [desk.uploads.key(file) for file in those] for key, those in files.items()}
    form_values |= {"assignment": [assignment], "match_names": ["on"] if by_name else []}
    return _render(desk, "collected.html", report=report, form_values=form_values, is_done=False, most=MAX_ROWS)


def _carry_out(desk: WebApp, request: Request, form: FormData) -> Response:
    export = desk.uploads.find(str(form.get("export")))
    rosters = [desk.uploads.find(str(roster_key)) for roster_key in form.getlist("roster")]
    assignment = str(form.get("assignment") or "")
    by_name = "match_names" in form
    clock = Policy.of(desk.class_folder).clock
    with class_lock(desk.class_folder):
        report = collecting.collect(
            desk.class_folder, export, rosters, assignment or None, zone=clock, match_names=by_name
        )
    for file in (export, *rosters):
        file.unlink(missing_ok=True)
    return _render(desk, "collected.html", report=report, form_values={}, is_done=True, most=MAX_ROWS)


def _files(form: FormData, key: str) -> list[UploadFile]:
    return [upload for upload in form.getlist(key) if isinstance(upload, UploadFile) and upload.filename]


# Grading


def _grading(desk: WebApp, request: Request) -> Response:
    return _render(desk, "grading.html", progress=desk.grading.progress, running=desk.grading.is_running)


def _start(desk: WebApp, request: Request, form: FormData) -> Response:
    preflight.check_gradebook(desk.class_folder)
    names = [require_assignment(str(name)) for name in form.getlist("assignment")]
    desk.grading.start(names or submitted_files.find_assignments(desk.class_folder), force="force" in form)
    return RedirectResponse(f"{desk.path}/grading", 303)


def _stop(desk: WebApp, request: Request, form: FormData) -> Response:
    desk.grading.stop()
    return RedirectResponse(f"{desk.path}/grading", 303)


# Giving back


def _give_back(desk: WebApp, request: Request) -> Response:
    name = _read_assignment(request)
    _require_grades(desk)
    return _render(desk, "give_back.html", assignment=name, systems=lms.by_rank())


def _run_give_back(
    desk: WebApp, name: str, form: FormData, sheet: Path | None, to: Path | None
) -> give_back.GiveBackReport:
    policy = _policy(desk)
    with contextlib.nullcontext() if to is None else class_lock(desk.class_folder):
        with desk.book() as book:
            if reason := grade_class.describe_ungraded_attempts(desk.class_folder, name, policy, book):
                raise UserError(reason)
            effective_attempts = policy.read_book(book, name)
            outdated = unsettled.find_outdated(desk.class_folder, book, name, policy.clock)
        report = give_back.give_back(
            desk.class_folder,
            str(form.get("system")),
            name,
            to,
            sheet,
            pages=form.get("what") == "pages",
            column=str(form.get("column") or ""),
            with_unread="with_unread" in form,
            dry_run=to is None,
            points_of=lambda student: (
                effective_attempts[student].grade.points if student in effective_attempts else None
            ),
            effective_attempts=effective_attempts,
            outdated=outdated.concerns(policy, name),
        )
    lines = unsettled.lines(desk.class_folder, policy, name, effective_attempts, outdated)
    report.doubts += [*_doubts(desk, policy), *lines]
    return report


def _look_at_sheet(desk: WebApp, request: Request, form: FormData) -> Response:
    name = _read_assignment(request)
    sheets = [desk.uploads.save(upload.filename or "", upload.file) for upload in _files(form, "sheet")]
    sheet = sheets[0] if sheets else None
    report = _run_give_back(desk, name, form, sheet, None)
    form_values = {key: str(form.get(key)) for key in ("system", "what", "column", "with_unread") if form.get(key)}
    return _render(
        desk,
        "given_back.html",
        report=report,
        assignment=name,
        sheet=desk.uploads.key(sheet) if sheet else "",
        form_values=form_values,
        most=MAX_ROWS,
    )


def _download(desk: WebApp, request: Request, form: FormData) -> Response:
    name = _read_assignment(request)
    sheet = desk.uploads.find(str(form["sheet"])) if form.get("sheet") else None
    report = _run_give_back(desk, name, form, sheet, desk.uploads.folder())
    if report.file is None:
        raise UserError(
            f"{report.title}: there is no file to download; {'; '.join(report.notes) or 'everything is in place'}"
        )
    return FileResponse(report.file, filename=report.file.name)


def serve(app: Starlette, port: int, tell: Callable[[str], None]) -> None:
    """Serve on 127.0.0.1 until Ctrl-C. port: 0 for a free one. `tell` is called with the address, once it answers.

    Raises:
        UserError: the port is in use.
    """
    import resource
    import socket

    import uvicorn

    with socket.socket() as listener:
        listener.setsockopt(socket.SOL_SOCKET, socket.SO_REUSEADDR, 1)
        try:
            listener.bind(("127.0.0.1", port))
        except OSError as error:
            raise UserError(f"port {port} can't be used: {error.strerror}") from None
        address = f"http://127.0.0.1:{listener.getsockname()[1]}/?token={app.state.desk.token}"
        app.state.desk.looks_ahead = True
        with contextlib.suppress(OSError, ValueError):  # another account of this computer may open many connections
            most = resource.getrlimit(resource.RLIMIT_NOFILE)[1]
            resource.setrlimit(resource.RLIMIT_NOFILE, (most, most))
        server = uvicorn.Server(uvicorn.Config(app, log_level="warning", lifespan="off", ws="none"))
        threading.Thread(target=_when_it_answers, args=(server, tell, address), daemon=True).start()
        server.run(sockets=[listener])
    app.state.desk.grading.stop()
    app.state.desk.grading.wait()


def _when_it_answers(server: Any, tell: Callable[[str], None], address: str) -> None:
    import time

    while not server.started and not server.should_exit:
        time.sleep(0.05)
    if server.started:
        tell(address)
