"""JupyterHub as docs/jupyterhub.md sets it up: a real hub, two students, formgrader in a real browser, and nbgrader's exchange between them."""

from __future__ import annotations

import importlib.util
import json
import os
import re
import secrets
import shutil
import socket
import subprocess
import sys
import time
import urllib.error
import urllib.request
from collections.abc import Iterator
from concurrent.futures import ThreadPoolExecutor
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

import psutil
import pytest

pytest.importorskip("playwright", reason="playwright is not installed")

from conftest import ROOT, needs_bubblewrap, needs_chromium
from lab import PATIENCE, browser
from playwright.sync_api import Browser, Page

DOCS = ROOT / "docs"
PROXY = Path(sys.prefix) / "hub" / "node_modules" / ".bin" / "configurable-http-proxy"
NOTEBOOK, COURSE = "00_start_here", "ffn"
ANSWERS = {
    "ada": "def hello_shape(x):\n    return tuple(x.shape)",
    "ben": "def hello_shape(x):\n    B, T, d = x.shape\n    return B, d, T",
}
NAMED = "The last two are swapped"
EVERYBODY = ("grace", *ANSWERS)
START_SECONDS = 90
pytestmark = [
    pytest.mark.skipif(importlib.util.find_spec("jupyterhub") is None, reason="jupyterhub is not installed"),
    pytest.mark.skipif(not PROXY.exists(), reason="configurable-http-proxy is not installed: `make hub`, with npm"),
    needs_bubblewrap,
    needs_chromium,
    pytest.mark.slow,
]


@dataclass
class Hub:
    """A running hub. tokens: of its users, as they could make them for themselves, and the tests' own."""

    folder: Path
    address: str
    process: subprocess.Popen[bytes]
    mark: str
    tokens: dict[str, str]
    seconds: dict[str, float] = field(default_factory=dict)

    @property
    def project(self) -> Path:
        return self.folder / "project"

    @property
    def exchange(self) -> Path:
        return self.folder / "nbgrader" / "exchange"

    def home(self, user: str) -> Path:
        return self.folder / "home" / user

    def ask(self, path: str, body: Any = None, user: str = "tests", method: str = "") -> tuple[int, Any, Any]:
        """Status, headers and JSON (or text) of a request as that user."""
        data = None if body is None else json.dumps(body).encode()
        request = urllib.request.Request(
            self.address + path, data, {"Authorization": f"token {self.tokens[user]}"}, method=method or None
        )
        try:
            with urllib.request.urlopen(request, timeout=PATIENCE / 1000) as answer:
                status, headers, text = answer.status, answer.headers, answer.read().decode()
        except urllib.error.HTTPError as error:
            status, headers, text = error.code, error.headers, error.read().decode()
        is_json = "json" in headers.get("Content-Type", "") or text[:1] in ("{", "[")
        return status, headers, json.loads(text) if is_json else text

    def student(self, user: str, action: str, body: Any) -> Any:
        """What a student's own server answers to what JupyterLab asks of nbgrader there."""
        status, _, said = self.ask(f"/user/{user}/assignments/{action}", body, user)
        assert status == 200, said
        return said

    def listed(self, user: str) -> list[dict[str, Any]]:
        """The assignments that nbgrader lists for a student."""
        _, _, said = self.ask(f"/user/{user}/assignments?course_id={COURSE}", user=user)
        assert said["success"], said
        found: list[dict[str, Any]] = said["value"]
        return found

    def run(self, *command: str) -> str:
        """A command in the instructor's terminal."""
        done = subprocess.run(command, cwd=self.project, capture_output=True, text=True, check=False)
        assert done.returncode == 0, done.stdout + done.stderr
        return done.stdout

    def processes(self) -> list[psutil.Process]:
        """All that belongs to this hub: its environment was handed on."""
        found = []
        for process in psutil.process_iter():
            try:
                if process.environ().get("TEST_OF_HUB") == self.mark:
                    found.append(process)
            except psutil.Error:
                continue
        return found

    def stop(self) -> list[psutil.Process]:
        """End the hub as an administrator does; returns what is still there afterwards."""
        self.process.terminate()
        self.process.wait(60)
        return psutil.wait_procs(self.processes(), timeout=10)[1]


def documented(text: str, **names: str) -> str:
    """A file of the documentation with other values for some of its names, each given there once."""
    for name, value in names.items():
        text, count = re.subn(rf"^( *(?:c\.)?{re.escape(name)} = ).*$", lambda found, v=value: found[1] + v, text, flags=re.M)  # type: ignore[misc]  # fmt: skip
        assert count == 1, name
    return text


def free_ports(count: int) -> list[int]:
    opened = [socket.create_server(("127.0.0.1", 0)) for _ in range(count)]
    ports = [one.getsockname()[1] for one in opened]
    for one in opened:
        one.close()
    return ports


def lay_out(folder: Path, ports: list[int], mark: str, token: str) -> None:
    """The folders and files that the documentation asks for, below `folder`; its accounts become folders, as `simple` wants them."""
    project, nbgrader = folder / "project", folder / "nbgrader"
    for place in (project, nbgrader / "config", nbgrader / "exchange", *(folder / "home" / u for u in EVERYBODY)):
        place.mkdir(parents=True)
    (nbgrader / "exchange").chmod(0o777)
    for name in ("course", "solutions"):
        (project / name).symlink_to(ROOT / name)
    shutil.copy(ROOT / "nbgrader_config.py", project)
    (project / ".venv").symlink_to(sys.prefix)
    told = re.findall(r"^   ```python\n(.*?)^   ```", (DOCS / "jupyterhub.md").read_text(encoding="utf-8"), re.S | re.M)
    assert len(told) == 1
    shared = documented(re.sub(r"^   ", "", told[0], flags=re.M), **{"Exchange.root": repr(str(nbgrader / "exchange"))})
    (nbgrader / "config" / "nbgrader_config.py").write_text(shared, encoding="utf-8")
    for user in ANSWERS:  # all servers run under one account here
        own = folder / "home" / user / ".jupyter" / "nbgrader_config.py"
        own.parent.mkdir()
        own.write_text(f"c = get_config()\nc.CourseDirectory.student_id = {user!r}\n", encoding="utf-8")
    config = documented(
        (DOCS / "jupyterhub_config.py").read_text(encoding="utf-8"),
        PROJECT=f"Path({str(project)!r})",
        NBGRADER=f"Path({str(nbgrader)!r})",
        **{
            "JupyterHub.bind_url": repr(f"http://127.0.0.1:{ports[0]}"),
            "JupyterHub.hub_port": str(ports[1]),
            "ConfigurableHTTPProxy.api_url": repr(f"http://127.0.0.1:{ports[2]}"),
        },
    )
    config += f"""
c.JupyterHub.authenticator_class = "dummy"
c.JupyterHub.spawner_class = "simple"
c.SimpleLocalProcessSpawner.home_dir_template = {str(folder / "home" / "{username}")!r}
c.Spawner.environment["TEST_OF_HUB"] = {mark!r}
c.JupyterHub.services = [{{"name": "tests", "api_token": {token!r}}}]
c.JupyterHub.load_roles = [{{"name": "tests", "services": ["tests"], "scopes": ["admin:servers", "tokens", "groups", "read:users"]}}]
"""
    if os.geteuid() == 0:
        config += (
            "for args in (c.Spawner.args, c.Spawner.group_overrides['instructors']['spawner_override']['args']):\n"
        )
        config += "    args.append('--allow-root')\n"
    (folder / "hub").mkdir()
    (folder / "hub" / "jupyterhub_config.py").write_text(config, encoding="utf-8")


@pytest.fixture(scope="module")
def hub(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Hub]:
    """The hub with everybody's server running. Whatever happens, it ends with the tests."""
    start, folder = time.monotonic(), tmp_path_factory.mktemp("hub")
    ports, mark, token = free_ports(3), secrets.token_hex(8), secrets.token_hex(16)
    lay_out(folder, ports, mark, token)
    with (folder / "hub" / "hub.log").open("wb") as log:
        process = subprocess.Popen(
            [sys.executable, "-m", "jupyterhub", "-f", "jupyterhub_config.py"],
            cwd=folder / "hub", env=os.environ | {"TEST_OF_HUB": mark}, stdout=log, stderr=log, start_new_session=True,
        )  # fmt: skip
        running = Hub(folder, f"http://127.0.0.1:{ports[0]}", process, mark, {"tests": token})
        try:
            _wait(running)
            with ThreadPoolExecutor(len(EVERYBODY)) as together:
                list(together.map(lambda user: _serve(running, user), EVERYBODY))
            running.seconds["start"] = time.monotonic() - start
            yield running
        except BaseException:
            print((folder / "hub" / "hub.log").read_text(encoding="utf-8", errors="replace")[-6000:])
            raise
        finally:
            if process.poll() is None:
                running.stop()
            for left in running.processes():
                left.kill()
            print(", ".join(f"{name} {seconds:.1f} s" for name, seconds in running.seconds.items()))


def _wait(hub: Hub) -> None:
    for _ in range(4 * START_SECONDS):
        assert hub.process.poll() is None, "the hub has ended"
        try:
            if hub.ask("/hub/api")[0] == 200:
                return
        except OSError:
            pass
        time.sleep(0.25)
    raise AssertionError("the hub does not answer")


def _serve(hub: Hub, user: str) -> None:
    """Start a user's server, and wait until it is there."""
    status, _, said = hub.ask(f"/hub/api/users/{user}/server", {})
    assert status in (201, 202), said
    for _ in range(4 * START_SECONDS):
        _, _, known = hub.ask(f"/hub/api/users/{user}")
        if known["servers"] and known["servers"][""]["ready"]:
            break
        time.sleep(0.25)
    hub.tokens[user] = hub.ask(f"/hub/api/users/{user}/tokens", {"note": "a test"})[2]["token"]


@pytest.fixture(scope="module")
def chromium() -> Iterator[Browser]:
    with browser() as opened:
        yield opened


@pytest.fixture(scope="module")
def formgrader(hub: Hub, chromium: Browser) -> Page:
    """Formgrader in the instructor's browser, who has logged in for it."""
    page = chromium.new_page(viewport={"width": 1400, "height": 900})
    page.goto(f"{hub.address}/hub/user-redirect/formgrader", timeout=PATIENCE)
    page.fill("#username_input", "grace")
    page.fill("#password_input", "any, with `dummy`")
    page.click("#login_submit")
    page.wait_for_url("**/user/grace/formgrader/**", timeout=PATIENCE)
    return page


def press(page: Page, column: str, hub: Hub) -> str:
    """Press the notebook's button in formgrader's list of assignments; returns what formgrader says then."""
    page.goto(f"{hub.address}/user/grace/formgrader/manage_assignments", timeout=PATIENCE)
    row = page.locator("tr", has=page.get_by_text(NOTEBOOK, exact=True))
    row.locator(f"td.{column} a").click(timeout=PATIENCE)
    said = page.locator(".modal-dialog").last
    said.wait_for(timeout=PATIENCE)
    return said.inner_text()


@pytest.fixture(scope="module")
def released(hub: Hub, formgrader: Page) -> str:
    return press(formgrader, "release", hub)


@pytest.fixture(scope="module")
def submitted(hub: Hub, released: str) -> dict[str, Any]:
    """What nbgrader says when each student validates; both have fetched and worked before, and submit then."""

    def work(user: str) -> Any:
        named = {"assignment_id": NOTEBOOK, "course_id": COURSE}
        hub.student(user, "fetch", named)
        path = f"/user/{user}/api/contents/{COURSE}/{NOTEBOOK}/{NOTEBOOK}.ipynb"
        notebook = hub.ask(path, user=user)[2]["content"]
        for cell in notebook["cells"]:
            if cell["metadata"].get("nbgrader", {}).get("grade_id") == "hello_shape":
                cell["source"] = ANSWERS[user]
        hub.ask(path, {"type": "notebook", "format": "json", "content": notebook}, user, "PUT")
        validated = hub.student(user, "validate", {"path": f"{COURSE}/{NOTEBOOK}/{NOTEBOOK}.ipynb"})
        hub.student(user, "submit", named)
        return validated

    start = time.monotonic()
    with ThreadPoolExecutor(len(ANSWERS)) as together:
        said = dict(zip(ANSWERS, together.map(work, ANSWERS), strict=True))
    hub.seconds["fetch, work, validate, submit"] = time.monotonic() - start
    return said


@pytest.fixture(scope="module")
def graded(hub: Hub, formgrader: Page, submitted: object) -> str:
    """The table that grading prints, after collecting."""
    start = time.monotonic()
    press(formgrader, "collect", hub)
    hub.seconds["collect"] = time.monotonic() - start
    start = time.monotonic()
    table = hub.run(sys.executable, "-m", "autograder", "grade", NOTEBOOK)
    hub.seconds["grade"] = time.monotonic() - start
    return table


@pytest.fixture(scope="module")
def given_back(hub: Hub, formgrader: Page, graded: str) -> dict[str, str]:
    """Each student's page, as fetched."""
    press(formgrader, "release-feedback", hub)
    pages = {}
    for user in ANSWERS:
        hub.student(user, "fetch_feedback", {"assignment_id": NOTEBOOK, "course_id": COURSE})
        (page,) = hub.home(user).glob(f"{COURSE}/{NOTEBOOK}/feedback/*/{NOTEBOOK}.html")
        pages[user] = page.read_text(encoding="utf-8")
    return pages


def test_what_is_released_is_listed_for_members_of_the_course_alone(hub: Hub, released: str) -> None:
    assert [(one["assignment_id"], one["status"]) for one in hub.listed("ben")] == [(NOTEBOOK, "released")]
    group = f"/hub/api/groups/nbgrader-{COURSE}/users"
    hub.ask(group, {"users": ["ben"]}, method="DELETE")
    assert hub.listed("ben") == []
    hub.student("ben", "fetch", {"assignment_id": NOTEBOOK, "course_id": COURSE})
    assert not (hub.home("ben") / COURSE).exists()
    hub.ask(group, {"users": ["ben"]})
    assert len(hub.listed("ben")) == 1


def test_only_the_instructor_has_formgrader_and_nobody_the_list_of_courses(hub: Hub) -> None:
    status = {user: hub.ask(f"/user/{user}/formgrader", user=user)[0] for user in EVERYBODY}
    assert status == {"grace": 200, "ada": 404, "ben": 404}
    assert {hub.ask(f"/user/{user}/formgraders", user=user)[0] for user in EVERYBODY} == {404}


def test_formgrader_can_be_shown_in_a_tab_of_its_own_only(hub: Hub) -> None:
    _, headers, _ = hub.ask("/user/grace/formgrader", user="grace")
    assert "frame-ancestors 'none'" in headers["Content-Security-Policy"]


def test_a_student_can_open_no_other_students_server(hub: Hub) -> None:
    assert hub.ask("/user/ben/api/contents", user="ada")[0] == 403


def test_validating_passes_a_right_answer_and_lists_a_wrong_one(submitted: dict[str, Any]) -> None:
    assert submitted["ada"] == {"success": True, "value": {}}
    (failed,) = submitted["ben"]["value"]["failed"]
    assert "hello_shape" in failed["source"]


def test_what_was_submitted_is_collected_and_graded(hub: Hub, graded: str) -> None:
    assert sorted(path.name for path in (hub.project / "grading" / "submitted").iterdir()) == ["ada", "ben"]
    assert re.search(r"ada +2 ✔ +2/2", graded) and re.search(r"ben +0 ✘ +0/2", graded), graded
    assert NAMED in graded


def test_the_instructor_reads_a_named_mistake_in_formgrader(hub: Hub, graded: str, formgrader: Page) -> None:
    formgrader.goto(f"{hub.address}/user/grace/formgrader/gradebook/{NOTEBOOK}/{NOTEBOOK}", timeout=PATIENCE)
    formgrader.locator("td.name a").first.wait_for(timeout=PATIENCE)
    links = formgrader.locator("td.name a").all()
    addresses = sorted({str(link.get_attribute("href")) for link in links})
    seen = []
    for address in addresses:
        formgrader.goto(f"{hub.address}{address}", timeout=PATIENCE)
        seen.append(formgrader.locator("#notebook-container").first.inner_text(timeout=PATIENCE))
    assert len(seen) == len(ANSWERS)
    assert [NAMED in text for text in seen].count(True) == 1
    assert ["hello_shape: earned" in text for text in seen].count(True) == 1


def test_each_student_gets_their_own_page_back(given_back: dict[str, str]) -> None:
    assert NAMED in given_back["ben"] and "ben" in given_back["ben"]
    assert NAMED not in given_back["ada"] and "2 of 2" in given_back["ada"]


def test_a_page_can_be_read_by_whoever_knows_its_name_and_found_by_nobody_else(
    hub: Hub, given_back: dict[str, str]
) -> None:
    pages = hub.exchange / COURSE / "feedback"
    assert pages.stat().st_mode & 0o777 == 0o711
    assert [page.stat().st_mode & 0o777 for page in pages.iterdir()] == [0o644, 0o644]


def test_when_the_hub_ends_nothing_is_left_running(hub: Hub, given_back: object) -> None:
    assert len(hub.processes()) > len(EVERYBODY)
    start = time.monotonic()
    assert hub.stop() == []
    hub.seconds["end"] = time.monotonic() - start
