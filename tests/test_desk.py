"""The desk in the browser: who may see it, and a class from the LMS's zip to the sheet with its grades, in Chromium, without scripts of ours."""

from __future__ import annotations

import contextlib
import csv
import html
import io
import os
import re
import shutil
import signal
import subprocess
import sys
import time
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import exports
import pytest
from conftest import ROOT, needs_bubblewrap, needs_chromium
from exports import CLASS, FFN, FULL
from starlette.testclient import TestClient

from autograder.class_folder.folder import ClassFolder
from autograder.errors import UserError
from autograder.gradebook.policy import Policy
from autograder.reports import class_report
from autograder.web import app as pages

ADDRESS = "http://127.0.0.1:8765"
TOKEN = "a token of sixteen"


@pytest.fixture
def class_folder(tmp_path: Path) -> ClassFolder:
    """A class where nothing is yet."""
    folder = ClassFolder(tmp_path / "grading")
    folder.path.mkdir()
    return folder


@pytest.fixture(scope="module")
def graded_once(tmp_path_factory: pytest.TempPathFactory) -> ClassFolder:
    """Five students, collected from Moodle and graded: number i has i exercises right."""
    class_folder = ClassFolder(tmp_path_factory.mktemp("graded") / "grading")
    for student in CLASS:
        folder = class_folder.submitted / f"user{student.i}" / FFN
        folder.mkdir(parents=True)
        (folder / f"{FFN}.ipynb").write_bytes(student.data)
    exports.grade(class_folder, {student.i: f"user{student.i}" for student in CLASS})
    return class_folder


@pytest.fixture
def graded(class_folder: ClassFolder, graded_once: ClassFolder) -> ClassFolder:
    """A copy of that class."""
    shutil.copytree(graded_once.path, class_folder.path, dirs_exist_ok=True)
    return class_folder


def client(class_folder: ClassFolder, base: str = ADDRESS) -> TestClient:
    """Somebody without the token."""
    return TestClient(pages.make(class_folder, TOKEN), base_url=base, follow_redirects=False)


def entered(class_folder: ClassFolder) -> TestClient:
    """Somebody who has opened the address that the command printed."""
    session = client(class_folder)
    answer = session.get("/", params={"token": TOKEN})
    assert answer.status_code == 303
    session.base_url = session.base_url.join(answer.headers["location"])
    return session


def names_in(folder: Path) -> set[str]:
    return {path.name for path in folder.iterdir()}


# Who may see it


def test_nobody_without_the_token_sees_anything(graded: ClassFolder) -> None:
    for path in ("/", "/collect", f"/assignment/{FFN}", f"/report/{FFN}", "/student/user1", "/no/such/page"):
        for params in ({}, {"token": "wrong"}):
            answer = client(graded).get(path, params=params)
            assert answer.status_code == 403 and "user1" not in answer.text
    assert client(graded).post("/grading").status_code == 403


def test_the_address_with_the_token_opens_once_and_leaves_a_cookie_for_pages_that_nobody_else_knows(
    graded: ClassFolder,
) -> None:
    session = client(graded)
    for evil in ("//evil.example/", "/collect"):
        answer = session.get(f"{ADDRESS}{evil}", params={"token": "wrong"})
        assert answer.status_code == 403
    answer = session.get(f"{ADDRESS}//evil.example/", params={"token": TOKEN})
    home = answer.headers["location"]
    assert re.fullmatch(r"/[\w-]{24}/", home), "never to where the address says"
    cookie = answer.headers["set-cookie"]
    assert "HttpOnly" in cookie and "SameSite=strict" in cookie and f"Path={home};" in cookie and TOKEN not in cookie
    assert FFN in session.get(home).text
    elsewhere = session.build_request("GET", "http://127.0.0.1:9999/")
    assert "cookie" not in elsewhere.headers, "another server of this machine"
    assert "cookie" in session.build_request("GET", f"{home}collect").headers
    again = TestClient(session.app, base_url=ADDRESS, follow_redirects=False).get("/", params={"token": TOKEN})
    assert again.status_code == 403 and "it opens only once" in again.text


@pytest.mark.parametrize(
    "host",
    [
        "evil.example",
        "127.0.0.1.evil.example:8765",
        "10.0.0.5:8765",
        "",
        "127.0.0.1:8765@evil.example",
        "localhost:evil.example",
        "127.0.0.1:9999",
        "127.0.0.1",
    ],
)
def test_no_other_name_of_this_machine_is_answered(graded: ClassFolder, host: str) -> None:
    session = entered(graded)
    assert session.get("/", headers={"host": host}).status_code == 403
    assert session.get("/", headers={"host": "localhost:8765"}).status_code == 200


def test_a_form_of_another_page_is_refused(graded: ClassFolder) -> None:
    session = entered(graded)
    for origin in ("http://evil.example", "null", "http://127.0.0.1:9999"):
        assert session.post("/grading/stop", headers={"origin": origin}).status_code == 403
    assert session.post("/grading/stop", headers={"origin": ADDRESS}).status_code == 303


def test_every_page_forbids_scripts_and_frames(graded: ClassFolder) -> None:
    session = entered(graded)
    for path in (
        "/",
        "/collect",
        "/grading",
        f"/assignment/{FFN}",
        f"/report/{FFN}",
        "/student/user1",
        f"/student/user1/page/{FFN}",
        "/nothing",
    ):
        answer = session.get(path)
        assert "default-src 'none'" in answer.headers["content-security-policy"], path
        assert "<script" not in answer.text and answer.headers["cache-control"] == "no-store"


@pytest.mark.parametrize(
    "path",
    ["/student/..%2f..%2fetc", "/student/.hidden", "/student/user1/page/passwd", "/assignment/99_nothing", "/report/x"],
)
def test_names_that_are_none_are_one_clear_line(graded: ClassFolder, path: str) -> None:
    answer = entered(graded).get(path)
    assert answer.status_code in (400, 404) and "To the class" in answer.text


def test_a_students_own_words_are_shown_as_words(graded: ClassFolder) -> None:
    folder = graded.submitted / "user1" / "<img src=x onerror=alert(1)>"
    folder.mkdir()
    text = entered(graded).get("/").text
    assert "<img" not in text and "&lt;img" in text


# What it shows and does


def test_the_class_its_students_and_their_answers_are_there(graded: ClassFolder) -> None:
    session = entered(graded)
    assert re.search(rf"{FFN}.*?5</td>.*?5</td>", session.get("/").text, re.S)
    table = session.get(f"/assignment/{FFN}").text
    assert all(f"/student/user{student.i}" in table for student in CLASS)
    assert f"{exports.points(3):g}/" in session.get("/student/user3").text
    assert "the answer of number 2" in session.get("/student/user2/why/ffn_forward").text
    assert "Your answer" in session.get(f"/student/user4/page/{FFN}").text
    assert "<svg" in session.get(f"/report/{FFN}").text
    assert "user3" not in session.get(f"/report/{FFN}", params={"hide": ""}).text


def test_an_export_is_looked_at_before_anything_is_written_and_then_collected(
    class_folder: ClassFolder, tmp_path: Path
) -> None:
    export = exports.zipped(tmp_path / "export.zip", {exports.moodle_name(student): student.data for student in CLASS})
    sheet = exports.worksheet(tmp_path / "sheet.csv", CLASS)
    session = entered(class_folder)
    files: list[Any] = [("export", ("export.zip", export.read_bytes())), ("roster", ("sheet.csv", sheet.read_bytes()))]
    preview = session.post("/collect", files=files).text
    assert "5 new attempts" in preview and not class_folder.submitted.exists()
    fields = dict(re.findall(r'name="(export|roster)" value="([^"]+)"', preview))
    text = session.post("/collect/carry-out", data=fields).text
    assert "5 put into submitted/" in text
    assert set(exports.handed_in_by(class_folder).values()) == {student.sis for student in CLASS}
    assert "choose it again" in session.post("/collect/carry-out", data=fields).text, "what was used is gone"


def test_uploads_go_when_a_day_has_passed_and_not_when_the_clock_jumps(
    class_folder: ClassFolder, monkeypatch: pytest.MonkeyPatch
) -> None:
    folder = class_folder.path / "uploads"
    folder.mkdir()
    for name, hours in (("of two days ago", 48), ("of an hour ago", 1)):
        (folder / name).touch()
        os.utime(folder / name, (time.time() - 3600 * hours,) * 2)
    desk = client(class_folder).app.state.desk  # type: ignore[attr-defined]
    assert names_in(folder) == {"of an hour ago"}, "when a desk is opened, whether or not anybody uploads"
    now = time.time()
    passed = time.monotonic()
    monkeypatch.setattr(time, "time", lambda: now + 10 * 24 * 3600)
    first, second = (desk.uploads.save("a.zip", io.BytesIO(b"work")) for _ in range(2))
    assert names_in(folder) == {"of an hour ago", first.parent.name, second.parent.name}
    assert desk.uploads.find(desk.uploads.key(first)) == first and first.name == "a.zip"
    monkeypatch.setattr(time, "monotonic", lambda: passed + 25 * 3600)
    new_folder = desk.uploads.folder()
    assert names_in(folder) == {new_folder.name}


def test_no_file_and_no_export_are_one_clear_line(class_folder: ClassFolder) -> None:
    session = entered(class_folder)
    assert "choose the zip" in session.post("/collect", data={"assignment": ""}).text
    answer = session.post("/collect", files=[("export", ("a.zip", b"PK\x03\x04 broken"))])
    assert answer.status_code in (200, 400) and "Traceback" not in answer.text
    for name in ("../../etc/passwd", "0123456789abcdef/x/../y", "0123456789abcdef/..", "x"):
        assert "choose it again" in session.post("/collect/carry-out", data={"export": name}).text


def test_grades_go_back_into_the_sheet_that_was_handed_in(graded: ClassFolder, tmp_path: Path) -> None:
    export = exports.zipped(tmp_path / "export.zip", {exports.moodle_name(student): student.data for student in CLASS})
    sheet = exports.worksheet(tmp_path / "sheet.csv", CLASS)
    shutil.rmtree(graded.submitted)
    session = entered(graded)
    files: list[Any] = [("export", ("export.zip", export.read_bytes())), ("roster", ("sheet.csv", sheet.read_bytes()))]
    preview = session.post("/collect", files=files).text
    session.post("/collect/carry-out", data=dict(re.findall(r'name="(export|roster)" value="([^"]+)"', preview)))
    exports.grade(graded, {student.i: student.sis for student in CLASS})
    form = {"system": "moodle", "what": "grades", "with_unread": "on"}
    page = session.post(f"/give-back/{FFN}", data=form, files=[("sheet", ("sheet.csv", sheet.read_bytes()))]).text
    assert "would be given back" in page
    (sheet_key,) = re.findall(r'name="sheet" value="([^"]+)"', page)
    answer = session.post(f"/give-back/{FFN}/download", data=form | {"sheet": sheet_key})
    assert "attachment" in answer.headers["content-disposition"]
    rows = {row["Identifier"]: row["Grade"] for row in csv.DictReader(io.StringIO(answer.content.decode("utf-8-sig")))}
    policy_free = {
        f"Participant {student.participant}": rows[f"Participant {student.participant}"] for student in CLASS
    }
    assert policy_free["Participant 123453"] == f"{exports.points(3):.2f}"


def test_canvas_and_a_mixed_export_can_be_finished_without_the_command_line(
    graded: ClassFolder, tmp_path: Path
) -> None:
    gradebook = exports.canvas_gradebook(tmp_path / "g.csv", [*CLASS, exports.Somebody(5, "Nora", "Nothing")])
    files = {exports.canvas_name(student): student.data for student in CLASS[:3]}
    files |= {exports.canvas_name(student): exports.notebook(student.answer, exports.NEXT) for student in CLASS[3:]}
    export = exports.zipped(tmp_path / "e.zip", files)
    shutil.rmtree(graded.submitted)
    session = entered(graded)
    uploads: list[Any] = [("export", ("e.zip", export.read_bytes())), ("roster", ("g.csv", gradebook.read_bytes()))]
    message = session.post("/collect", files=uploads).text
    assert "e.zip has" in message and "in the field “Assignment”" in message and "--assignment" not in message
    preview = session.post("/collect", data={"assignment": FFN, "match_names": "on"}, files=uploads).text
    assert "5 of 6 students have handed in. Not yet: Nora Nothing (S00005)." in preview
    fields = dict(re.findall(r'name="(\w+)" value="([^"]+)"', preview))
    assert fields["assignment"] == FFN and fields["match_names"] == "on"
    assert "3 put into submitted/" in session.post("/collect/carry-out", data=fields).text
    exports.grade(graded, {student.i: student.sis for student in CLASS[:3]})
    front = session.get("/").text
    assert f"{FFN}: 5 of 6 students have handed in." in front and front.index("Nora Nothing") < front.index("<table>")
    form = {"system": "canvas", "what": "grades"}
    sheets: list[Any] = [("sheet", ("g.csv", gradebook.read_bytes()))]
    message = session.post(f"/give-back/{FFN}", data=form, files=sheets).text
    assert "g.csv has 2 columns for grades: say which one in the field “Column”" in message
    page = session.post(f"/give-back/{FFN}", data=form | {"column": FFN}, files=sheets).text
    fields = dict(re.findall(r'name="(\w+)" value="([^"]+)"', page))
    assert "3 would be given back" in page and fields["column"] == FFN
    assert "attachment" in session.post(f"/give-back/{FFN}/download", data=fields).headers["content-disposition"]


# With a class of a thousand


def test_pages_of_a_large_class_are_read_once_as_long_as_nothing_changes(
    graded: ClassFolder, monkeypatch: pytest.MonkeyPatch
) -> None:
    session = entered(graded)
    session.get("/")
    reads: list[str] = []
    honest = Policy.read_book

    def read(self: Policy, book: Any, name: str) -> Any:
        reads.append(name)
        return honest(self, book, name)

    monkeypatch.setattr(Policy, "read_book", read)
    session.get("/"), session.get(f"/assignment/{FFN}")
    assert reads == []
    exports.grade(graded, {1: "user1"}, {1: 4})
    assert f"{exports.points(4):g}/" in session.get(f"/assignment/{FFN}").text and reads


def test_what_was_read_is_read_again_once_the_gradebook_has_changed_wherever_it_lies(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    class_folder = ClassFolder(tmp_path, f"sqlite:///{tmp_path}/elsewhere.db")
    exports.grade(class_folder, {1: "user1"}, {1: 2})
    session = entered(class_folder)
    for path in (f"/assignment/{FFN}", f"/report/{FFN}"):
        assert f"{exports.points(2):g}/" in session.get(path).text
    monkeypatch.setattr(class_report, "build_report", None)
    assert f"{exports.points(2):g}/" in session.get(f"/report/{FFN}").text, "a report is drawn once"
    monkeypatch.undo()
    exports.grade(class_folder, {1: "user1"}, {1: 4})
    for path in (f"/assignment/{FFN}", f"/report/{FFN}"):
        assert f"{exports.points(4):g}/" in session.get(path).text


# The command, and the whole way in a real browser


@contextlib.contextmanager
def served(class_folder: ClassFolder) -> Iterator[str]:
    """The command `autograder desk`; its address."""
    command = [sys.executable, "-m", "autograder", "desk", "--grading", str(class_folder.path)]
    process = subprocess.Popen([*command, "--port", "0", "--no-browser"], stdout=subprocess.PIPE, text=True, cwd=ROOT)
    try:
        assert process.stdout
        line = process.stdout.readline()
        yield re.findall(r"http://\S+", line)[0]
    finally:
        process.terminate()
        process.wait(30)


def test_no_command_line_holds_the_token_while_the_desk_opens(class_folder: ClassFolder, tmp_path: Path) -> None:
    """Every account of a machine can read all command lines. The browser is a stand-in that keeps its own."""
    seen, browser = tmp_path / "seen", tmp_path / "browser.sh"
    browser.write_text(
        f'#!/bin/sh\ntr "\\0" " " < /proc/$$/cmdline > {seen}.draft\nmv {seen}.draft {seen}\n', encoding="utf-8"
    )
    browser.chmod(0o755)
    command = [sys.executable, "-m", "autograder", "desk", "--grading", str(class_folder.path), "--port", "0"]
    environment = os.environ | {"BROWSER": f"{browser} %s"}
    process = subprocess.Popen(command, stdout=subprocess.PIPE, text=True, cwd=ROOT, env=environment)
    try:
        assert process.stdout
        address = re.findall(r"http://\S+", process.stdout.readline())[0]
        for _ in range(600):
            if seen.exists():
                break
            time.sleep(0.1)
        command_line, opener = seen.read_text(encoding="utf-8"), class_folder.path / "desk.html"
        assert "token" not in command_line and opener.as_uri() in command_line
        assert address in html.unescape(opener.read_text(encoding="utf-8"))
        assert opener.stat().st_mode & 0o777 == 0o600
    finally:
        process.send_signal(signal.SIGINT)
        process.wait(30)
    assert not opener.exists(), "it is gone with the desk"


def test_a_port_that_is_in_use_is_one_clear_line(class_folder: ClassFolder) -> None:
    with served(class_folder) as address:
        port = int(re.findall(r":(\d+)/", address)[0])
        with pytest.raises(UserError, match=f"port {port} can't be used"):
            pages.serve(pages.make(class_folder), port, lambda address: None)


AXE = Path(sys.prefix) / "hub" / "node_modules" / "axe-core" / "axe.min.js"


PAGES = (
    "/",
    "/collect",
    f"/assignment/{FFN}",
    f"/report/{FFN}",
    "/student/user1",
    f"/student/user1/page/{FFN}",
    "/student/user1/why/ffn_forward",
    f"/give-back/{FFN}",
    "/grading",
)


def violations(page: Any, within: str = ":root") -> list[str]:
    """What axe-core finds on a page, WCAG 2.1 A and AA. It comes by way of the debugger, as the page's own policy forbids scripts."""
    page.evaluate(AXE.read_text(encoding="utf-8"))
    report = page.evaluate(
        "(within) => axe.run(within, {runOnly: ['wcag2a', 'wcag2aa', 'wcag21a', 'wcag21aa']})", within
    )
    return [f"{violation['id']}: {violation['nodes'][0]['html'][:120]}" for violation in report["violations"]]


@needs_bubblewrap
@needs_chromium
def test_from_the_zip_to_the_sheet_in_a_browser(class_folder: ClassFolder, tmp_path: Path) -> None:
    playwright = pytest.importorskip("playwright.sync_api", reason="playwright is not installed")
    from lab import PATIENCE, browser, keep_picture

    export = exports.zipped(tmp_path / "export.zip", {exports.moodle_name(student): student.data for student in CLASS})
    sheet = exports.worksheet(tmp_path / "sheet.csv", CLASS)
    with served(class_folder) as address, browser() as chromium:
        context = chromium.new_context(java_script_enabled=False, viewport={"width": 1200, "height": 850})
        page = context.new_page()
        page.goto(address)
        assert context.cookies(page.url) and not context.cookies("http://127.0.0.1:9999/"), "of another server"
        page.get_by_role("link", name="Collect", exact=True).first.click()
        page.get_by_label("The zip with the submissions").set_input_files(export)
        page.get_by_label("Who is who").set_input_files(sheet)
        page.get_by_role("button", name="Look at it").click()
        page.get_by_role("button", name="Collect these").click()
        keep_picture(page, "desk_collected")
        page.get_by_role("button", name="Grade what is new").click()
        playwright.expect(page.get_by_text("Everything is graded.")).to_be_visible(timeout=2 * PATIENCE)
        page.get_by_role("link", name="To the class").click()
        keep_picture(page, "desk_class")
        page.get_by_role("link", name=FFN).click()
        keep_picture(page, "desk_assignment")
        page.get_by_role("link", name="give back").click()
        page.get_by_label("Its sheet").set_input_files(sheet)
        page.get_by_label("Include students with unread answers").check()
        page.get_by_role("button", name="Look at it").click()
        with page.expect_download() as download:
            page.get_by_role("button", name="Download the file").click()
        rows = csv.DictReader(io.StringIO(Path(download.value.path()).read_text(encoding="utf-8-sig")))
        assert {row["Maximum Grade"] for row in rows} == {f"{FULL:.2f}"}


@needs_bubblewrap
@needs_chromium
@pytest.mark.skipif(not AXE.is_file(), reason="axe-core is not installed: `make hub`, with npm")
def test_everybody_can_use_every_page(graded: ClassFolder) -> None:
    pytest.importorskip("playwright", reason="playwright is not installed")
    from lab import browser

    with served(graded) as address, browser() as chromium:
        page = chromium.new_page()
        page.goto(address)
        home = page.url.rstrip("/")
        violations_by_path = {}
        for path in PAGES:
            page.goto(home + path)
            assert FFN in page.content() or path in ("/collect", "/grading"), path
            violations_by_path[path] = violations(page)
        assert violations_by_path == {path: [] for path in PAGES}
