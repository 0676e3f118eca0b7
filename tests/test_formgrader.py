"""Formgrader and the feedback pages in a real browser: what a student wrote is read, and does nothing."""

from __future__ import annotations

import json
import subprocess
import sys
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import Any

import pytest
from fabricated import save_grading

pytest.importorskip("playwright", reason="playwright is not installed")

from conftest import ROOT, needs_chromium, often
from lab import PATIENCE, browser, server
from playwright.sync_api import Page
from test_postgresql import PROGRAMS
from test_postgresql import server as postgresql  # noqa: F401 - a fixture

from autograder.class_folder.folder import ClassFolder
from autograder.engine import program
from autograder.engine.graded_submission import GradedSubmission
from autograder.engine.released_notebook import Kind
from autograder.files import Batch
from autograder.gradebook import gradebook
from autograder.gradebook.scores import Score
from autograder.grading import feedback
from autograder.jail.limits import Limits
from autograder.paths import release
from ffnlab.checking.verdict import not_earned
from ffnlab.registry import active_course

pytestmark = [needs_chromium, pytest.mark.slow]
NOTEBOOK = "10_capstone"  # has two questions that a person reads
DOT = "iVBORw0KGgoAAAANSUhEUgAAAAEAAAABCAYAAAAfFcSJAAAADUlEQVR42mNk+M9QDwADhgGAWjR9awAAAABJRU5ErkJggg=="
WRITES = (
    "fetch('/api/contents/evil.txt', {method: 'PUT', headers: {'X-XSRFToken': document.cookie.match(/_xsrf=([^;]*)/)[1]},"
    " body: JSON.stringify({type: 'file', format: 'text', content: 'evil'})})"
)
ANSWER = f"""# M11

An **honest** sentence with $a_1 < b$ and `List[int]`, H<sub>2</sub>O.

![a dot](data:image/png;base64,{DOT})

<img src=x onerror="{WRITES}">
<svg onload="{WRITES}"></svg>
<script>{WRITES}</script>
<iframe srcdoc="<script>parent.{WRITES}</script>"></iframe>
<img src="/evil.png"> ![picture](/evil.png) ![another](https://evil.example/a.png) ![third][t]

[t]: /evil.png
<style>body {{ background: url(/evil.css) }}</style>
<div style="position:fixed; inset:0; background:url(/evil.css)" class="score" id="M11-comment">over everything</div>
<form action="/evil"><button class="full-credit">Full credit</button></form>
[link](javascript:{WRITES.replace(" ", "")}) [other](java&Tab;script:evil()) [own page](evil.html)
$\\href{{javascript:evil()}}{{x}}$
"""
EVIL = f'<img src=x onerror="{WRITES}">'
OUTPUTS = [
    {"output_type": "display_data", "metadata": {}, "data": data}
    for data in (
        {"text/html": f"<table><tr><td>a cell</td></tr></table>{EVIL}<script>{WRITES}</script>"},
        {"application/javascript": WRITES},
        {"image/svg+xml": f'<svg xmlns="http://www.w3.org/2000/svg" onload="{WRITES}"><circle r="5"/></svg>'},
        {"text/markdown": EVIL},
        {"text/latex": "$\\href{javascript:evil()}{x}$ " + EVIL},
        {"image/png": f'{DOT}" onerror="{WRITES}'},
        {"application/vnd.jupyter.widget-view+json": {"model_id": "evil", "version_major": 2, "version_minor": 0}},
    )
] + [
    {"output_type": "stream", "name": "stdout", "text": EVIL},
    {"output_type": "error", "ename": EVIL, "evalue": EVIL, "traceback": [EVIL]},
]  # fmt: skip


def hostile(answer: str = ANSWER) -> GradedSubmission:
    """What a worker that is entirely the student's could make us save."""
    notebook = json.loads(release(NOTEBOOK).read_text(encoding="utf-8"))
    for cell in notebook["cells"]:
        if cell["metadata"].get("nbgrader", {}).get("grade_id") in ("M10", "M11"):
            cell["source"] = answer
    extra = {"cell_type": "code", "source": f"# {EVIL}", "metadata": {}, "outputs": []}
    notebook["cells"].insert(2, extra)
    plan = program.plan(NOTEBOOK, json.dumps(notebook).encode(), Limits())
    verdicts = {
        e.name: not_earned(e, f"Your code raised ValueError: {EVIL}", EVIL)
        for e in active_course().exercises_of(NOTEBOOK)
    }
    ours = {cell.id: OUTPUTS for cell in plan.cells if cell.kind is Kind.EXTRA}
    printed = dict.fromkeys(verdicts, EVIL)
    return GradedSubmission(NOTEBOOK, verdicts, plan.cells, ours, printed, [EVIL])  # type: ignore[arg-type]


def raw(notebook: dict[str, Any]) -> dict[str, Any]:
    """The graded notebook as plain nbgrader would leave it: with the student's cells and outputs as they came."""
    for cell in notebook["cells"]:
        if cell["metadata"].get("nbgrader", {}).get("grade_id") in ("M10", "M11"):
            cell["source"] = ANSWER
        elif cell["cell_type"] == "code" and cell["id"].startswith("extra"):
            cell["outputs"] = OUTPUTS
    return notebook


@contextmanager
def project(folder: Path, filters: bool, as_it_came: bool) -> Iterator[Path]:
    """A project whose class has one hostile submission. filters: whether nbgrader shows it through ours."""
    folder.mkdir()
    for name in ("course", "solutions"):
        (folder / name).symlink_to(ROOT / name)
    config = (ROOT / "nbgrader_config.py").read_text(encoding="utf-8")
    if not filters:
        config = "".join(line for line in config.splitlines(keepends=True) if "HTMLExporter" not in line)
    (folder / "nbgrader_config.py").write_text(config, encoding="utf-8")
    class_folder = ClassFolder(folder / "grading")
    (class_folder.submitted / "eve" / NOTEBOOK).mkdir(parents=True)
    submission = hostile()
    with gradebook.Book(class_folder, writing=True) as book:
        book.sync_assignment(NOTEBOOK)
        with Batch() as files:
            feedback.write(files, class_folder, "eve", submission)
        save_grading(book, "eve", submission, "0" * 64, None)
    path = class_folder.autograded / "eve" / NOTEBOOK / f"{NOTEBOOK}.ipynb"
    if as_it_came:
        text = path.read_text(encoding="utf-8")
        path.write_text(json.dumps(raw(json.loads(text))), encoding="utf-8")
    yield folder


def look(page: Page, address: str) -> list[str]:
    """Open a page, give it time, touch everything on it; returns what it asked for that no honest page asks for."""
    requests: list[str] = []
    page.on("request", lambda request: requests.append(request.url))
    page.on("dialog", lambda dialog: requests.append(f"evil dialog {dialog.message}"))
    page.route(
        lambda url: "127.0.0.1" not in url and not url.startswith(("data:", "file:")), lambda route: route.abort()
    )
    page.goto(address, wait_until="load", timeout=PATIENCE)
    page.wait_for_timeout(1500)
    page.evaluate(
        "() => document.querySelectorAll('#notebook-container *, body > *').forEach(e => {"
        " for (const kind of ['mouseover', 'focus', 'toggle']) e.dispatchEvent(new Event(kind));"
        " if (e.protocol === 'javascript:') e.click(); })"
    )
    page.wait_for_timeout(500)
    return [url for url in requests if "evil" in url or url.endswith("/x")]


ACTIVE = """() => [...document.querySelectorAll('#notebook-container *')].flatMap(e =>
  [...e.attributes].filter(a => a.name.startsWith('on') || /position|url/.test(e.style.cssText) || a.value.trim().startsWith('javascript:')).map(a => a.name)
  .concat(['SCRIPT', 'IFRAME', 'STYLE', 'FORM', 'OBJECT', 'EMBED', 'BASE', 'LINK'].includes(e.tagName) ? [e.tagName] : []))"""


@contextmanager
def formgrader(folder: Path, tmp_path: Path) -> Iterator[tuple[Page, str]]:
    """Chromium at the hostile submission's page, JupyterLab having been opened before."""
    home = tmp_path / "home"
    home.mkdir()
    with server(folder, home) as address, browser() as chromium:
        page = chromium.new_page(viewport={"width": 1280, "height": 900})
        page.goto(address.format(path="lab"), timeout=PATIENCE)
        page.wait_for_selector("#jupyterlab-splash", state="detached", timeout=PATIENCE)
        with gradebook.Book(ClassFolder(folder / "grading"), writing=True) as book:
            (entry,) = book._gradebook.notebook_submissions(NOTEBOOK, NOTEBOOK)
            path = f"formgrader/submissions/{entry.id}/"
        yield page, address.format(path=path).replace("?reset&", "?")


@pytest.mark.parametrize(("filters", "as_it_came"), [(True, True), (False, False)], ids=["shown", "written"])
def test_formgrader_runs_nothing_of_a_student(filters: bool, as_it_came: bool, tmp_path: Path) -> None:
    """Each of the two defences does without the other: a notebook that came otherwise, and a formgrader without our configuration."""
    with project(tmp_path / "p", filters, as_it_came) as folder, formgrader(folder, tmp_path) as (page, address):
        before = sorted(path.name for path in folder.iterdir())
        assert look(page, address) == []
        assert sorted(path.name for path in folder.iterdir()) == before
        assert page.evaluate(ACTIVE) == []
        text = page.locator("#notebook-container").first.inner_text()
        for words in ("honest", "List[int]", "over everything", "a cell"):
            assert words in text
        assert page.locator("#notebook-container strong", has_text="honest").count() == 2
        assert page.locator(f'img[src="data:image/png;base64,{DOT}"]').count() >= 2
        assert "\\href" not in text
        if filters:  # no heading takes the name of the box for the next question's score
            assert page.evaluate("() => document.querySelectorAll('#M11').length") == 1
            assert page.evaluate("() => document.querySelector('#M11').tagName") == "INPUT"


def test_without_either_defence_it_would_have_been_done(tmp_path: Path) -> None:
    with project(tmp_path / "p", False, True) as folder, formgrader(folder, tmp_path) as (page, address):
        assert look(page, address)
        assert (folder / "evil.txt").is_file()


@pytest.mark.parametrize(("filters", "as_it_came"), [(True, True), (False, False)], ids=["shown", "written"])
def test_the_pages_of_generate_feedback_run_nothing_of_a_student(
    filters: bool, as_it_came: bool, tmp_path: Path
) -> None:
    with project(tmp_path / "p", filters, as_it_came) as folder:
        ours = folder / "grading" / "feedback" / "eve" / NOTEBOOK / f"{NOTEBOOK}.html"
        pages = [ours.rename(tmp_path / "ours.html")]
        process = subprocess.run(
            [sys.executable, "-m", "nbgrader", "generate_feedback", NOTEBOOK, "--force"],
            cwd=folder, capture_output=True, text=True, check=False,
        )  # fmt: skip
        assert process.returncode == 0, process.stderr
        pages.append(ours)
        with browser() as chromium:
            for page in pages:
                tab = chromium.new_page()
                assert look(tab, page.as_uri()) == [], page
                assert tab.evaluate(ACTIVE) == []
                tab.evaluate("for (const fold of document.querySelectorAll('details')) fold.open = true")
                assert "ValueError" in tab.locator("body").inner_text()
                tab.close()


LEAVE = {"M11": "2", "M11_extra_credit": "1", "M11-comment": "Which spread do you mean?"}  # by field, what is typed


def save(page: Page, field: str) -> int:
    """Type into a field of formgrader's and leave it, which saves; returns the server's status."""
    with page.expect_response(lambda answer: answer.request.method == "PUT", timeout=PATIENCE) as response:
        page.locator(f"#{field}").fill(LEAVE[field])
        page.locator(f"#{field}").press("Tab")
    return response.value.status


@pytest.mark.parametrize("database", often(["sqlite", "postgresql"], ["postgresql"]))
def test_a_page_that_is_older_than_the_answer_saves_nothing_and_says_so(
    database: str, tmp_path: Path, monkeypatch: pytest.MonkeyPatch, request: pytest.FixtureRequest
) -> None:
    if database == "postgresql":
        if not PROGRAMS:
            pytest.skip("postgresql is not installed")
        monkeypatch.setenv("AUTOGRADER_DB_URL", request.getfixturevalue("postgresql"))

    def read_score(folder: Path) -> Score:
        with gradebook.Book(ClassFolder(folder / "grading")) as book:
            return book.scores(NOTEBOOK, ["eve"])["eve"]["M11"]

    with project(tmp_path / "p", True, False) as folder, formgrader(folder, tmp_path) as (page, address):
        page.goto(address, wait_until="networkidle", timeout=PATIENCE)
        waiting = read_score(folder)
        assert waiting.waits
        with gradebook.Book(ClassFolder(folder / "grading"), writing=True) as book:
            submission = hostile("Another answer. " + "W" * 300)
            with Batch() as files:
                feedback.write(files, ClassFolder(folder / "grading"), "eve", submission)
            save_grading(book, "eve", submission, "1" * 64, None)
        for field in LEAVE:
            assert save(page, field) == 409
            notice = page.get_by_role("alert")
            notice.wait_for(timeout=PATIENCE)
            assert "submitted again" in notice.inner_text() and notice.is_visible()
        assert read_score(folder) == waiting

        page.goto(address, wait_until="networkidle", timeout=PATIENCE)
        assert "Another answer" in page.locator("#notebook-container").first.inner_text()
        assert page.evaluate("document.documentElement.scrollWidth") <= 1280, "a long word is broken"
        for field in LEAVE:
            assert save(page, field) == 200
        assert page.get_by_role("alert").count() == 0
        now = read_score(folder)
        assert (now.score, now.extra, now.comment, now.waits) == (3.0, 1.0, LEAVE["M11-comment"], False)
