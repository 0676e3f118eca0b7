"""JupyterHub as docs/jupyterhub.md sets it up: a real hub, two instructors, two students, formgrader in a real browser, and nbgrader's exchange between them.

As root, the page is followed command by command, with real accounts. Elsewhere folders take the place of accounts, with JupyterHub's `dummy` and `simple`.
"""

from __future__ import annotations

import contextlib
import importlib.util
import json
import os
import re
import secrets
import shlex
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

import real_accounts
from conftest import ROOT, needs_bubblewrap, needs_chromium
from lab import PATIENCE, browser
from playwright.sync_api import Browser, Page
from real_accounts import Computer

DOCS = ROOT / "docs"
PAGE = (DOCS / "jupyterhub.md").read_text(encoding="utf-8")
PROXY = Path(sys.prefix) / "hub" / "node_modules" / ".bin" / "configurable-http-proxy"
NOTEBOOK, COURSE, ACCOUNT = "00_start_here", "ffn", "ffn"
INSTRUCTORS = ("grace", "tom")
ANSWERS = {
    "ada": "def hello_shape(x):\n    return tuple(x.shape)",
    "ben": "def hello_shape(x):\n    B, T, d = x.shape\n    return B, d, T",
}
MISTAKE_TEXT = "The last two are swapped"
COMMENT = "Print `x.shape` and read it aloud."
PASSWORD = secrets.token_hex(8)
START_SECONDS = 90
WITHOUT_ACCOUNTS = real_accounts.why_not()
pytestmark = [
    pytest.mark.skipif(importlib.util.find_spec("jupyterhub") is None, reason="jupyterhub is not installed"),
    pytest.mark.skipif(not PROXY.exists(), reason="configurable-http-proxy is not installed: `make hub`, with npm"),
    needs_bubblewrap,
    needs_chromium,
    pytest.mark.slow,
    pytest.mark.sweep,
]


@dataclass
class Hub:
    """A hub."""

    root: Path  # where its folders are, from outside
    project: Path
    exchange: Path
    configuration: Path
    command: list[str]
    address: str
    log: Path
    mark: str
    tokens: dict[str, str]  # of its users, as they could make them for themselves, and the tests' own
    computer: Computer | None = None  # with real accounts
    process: subprocess.Popen[bytes] | None = None
    seconds: dict[str, float] = field(default_factory=dict)

    def home(self, user: str) -> Path:
        return self.root / "home" / user

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
        status, _, reply = self.ask(f"/user/{user}/assignments/{action}", body, user)
        assert status == 200, reply
        return reply

    def list_assignments(self, user: str) -> list[dict[str, Any]]:
        """The assignments that nbgrader lists for a student."""
        _, _, reply = self.ask(f"/user/{user}/assignments?course_id={COURSE}", user=user)
        assert reply["success"], reply
        assignments: list[dict[str, Any]] = reply["value"]
        return assignments

    def python(self, *arguments: str) -> str:
        """Run the project's Python in the instructors' terminal, in the project."""
        if self.computer:
            return self.computer.run(f"cd feed-forward && .venv/bin/python {shlex.join(arguments)}", ACCOUNT)
        command = [sys.executable, *arguments]
        process = subprocess.run(command, cwd=self.project, capture_output=True, text=True, check=False)
        assert process.returncode == 0, process.stdout + process.stderr
        return process.stdout

    def processes(self) -> list[psutil.Process]:
        """All that belongs to this hub: its environment was handed on."""
        processes = []
        for process in psutil.process_iter():
            try:
                if process.environ().get("TEST_OF_HUB") == self.mark:
                    processes.append(process)
            except psutil.Error:
                continue
        return processes

    def start(self) -> None:
        """Start the hub, and wait until it answers."""
        environment = os.environ | {"TEST_OF_HUB": self.mark}
        with self.log.open("ab") as log:
            self.process = subprocess.Popen(
                self.command, cwd=self.configuration.parent, env=environment, stdout=log, stderr=log, start_new_session=True
            )  # fmt: skip
        for _ in range(4 * START_SECONDS):
            assert self.process.poll() is None, "the hub has ended"
            try:
                if self.ask("/hub/api")[0] == 200:
                    return
            except OSError:
                pass
            time.sleep(0.25)
        raise AssertionError("the hub does not answer")

    def stop(self) -> list[psutil.Process]:
        """End the hub as an administrator does; returns what is still there afterwards."""
        assert self.process
        self.process.terminate()
        self.process.wait(60)
        return psutil.wait_procs(self.processes(), timeout=10)[1]

    def serve(self, user: str) -> None:
        """Start a user's server, and wait until it is there."""
        status, _, reply = self.ask(f"/hub/api/users/{user}/server", {})
        assert status in (201, 202), reply
        for _ in range(4 * START_SECONDS):
            _, _, user_model = self.ask(f"/hub/api/users/{user}")
            if user_model["servers"] and user_model["servers"][""]["ready"]:
                return
            time.sleep(0.25)
        raise AssertionError(f"{user} has no server")


def set_values(text: str, **names: str) -> str:
    """A file of the documentation with other values for some of its names, each given there once."""
    for name, value in names.items():
        text, count = re.subn(rf"^( *(?:c\.)?{re.escape(name)} = ).*$", lambda match, v=value: match[1] + v, text, flags=re.M)  # type: ignore[misc]  # fmt: skip
        assert count == 1, name
    return text


def free_ports(count: int) -> list[int]:
    sockets = [socket.create_server(("127.0.0.1", 0)) for _ in range(count)]
    ports = [listener.getsockname()[1] for listener in sockets]
    for listener in sockets:
        listener.close()
    return ports


def build_configuration(ports: list[int], mark: str, token: str, **names: str) -> str:
    """The page's configuration with other ports and names, and what the tests need: a service's token, and a mark on every process."""
    text = set_values(
        (DOCS / "jupyterhub_config.py").read_text(encoding="utf-8"),
        **names,
        **{
            "JupyterHub.bind_url": repr(f"http://127.0.0.1:{ports[0]}"),
            "JupyterHub.hub_port": str(ports[1]),
            "ConfigurableHTTPProxy.api_url": repr(f"http://127.0.0.1:{ports[2]}"),
        },
    )
    return f"""{text}
c.Spawner.environment = {{"TEST_OF_HUB": {mark!r}}}
c.JupyterHub.services = [{{"name": "tests", "api_token": {token!r}}}]
scopes = ["admin:servers", "tokens", "groups", "read:users"]
c.JupyterHub.load_roles.append({{"name": "tests", "services": ["tests"], "scopes": scopes}})
"""


def on_accounts(folder: Path, computer: Computer) -> Hub:
    """The page, followed on a computer that had an account before."""
    ports = free_ports(3)
    mark = secrets.token_hex(8)
    token = secrets.token_hex(16)
    computer.run("useradd --create-home -K HOME_MODE=0755 zoe")
    real_accounts.follow(PAGE, computer)
    for name in (*INSTRUCTORS, *ANSWERS):
        computer.run(f"passwd {name}", text=f"{PASSWORD}\n{PASSWORD}\n")
    computer.run("chmod 755 /home/ada")  # as ada may do
    unit = computer.path("/etc/systemd/system/jupyterhub.service").read_text(encoding="utf-8")
    says = dict(re.findall(r"^(\w+)=(.*)$", unit, re.M))
    configuration = computer.path(f"{says['WorkingDirectory']}/jupyterhub_config.py")
    configuration.write_text(build_configuration(ports, mark, token), encoding="utf-8")
    return Hub(
        root=computer.path("/"),
        project=computer.path("/home/ffn/feed-forward"),
        exchange=computer.path("/srv/nbgrader/exchange"),
        configuration=configuration,
        command=computer.inside("bash", "-c", f"cd {says['WorkingDirectory']} && exec {says['ExecStart']}"),
        address=f"http://127.0.0.1:{ports[0]}",
        log=folder / "log",
        mark=mark,
        tokens={"tests": token},
        computer=computer,
    )


def on_folders(folder: Path) -> Hub:
    """The files that the page asks for, below `folder`, with folders in the place of accounts."""
    ports = free_ports(3)
    mark = secrets.token_hex(8)
    token = secrets.token_hex(16)
    project, shared, exchange = folder / "project", folder / "shared", folder / "exchange"
    homes = {user: folder / "home" / user for user in (ACCOUNT, *ANSWERS)}
    for place in (project, shared, exchange, folder / "hub", *homes.values()):
        place.mkdir(parents=True)
    exchange.chmod(0o1777)
    for name in ("course", "solutions"):
        (project / name).symlink_to(ROOT / name)
    shutil.copy(ROOT / "nbgrader_config.py", project)
    (project / ".venv").symlink_to(sys.prefix)
    (text,) = re.findall(r"<<'END'\n(.*?)^ *END$", PAGE, re.S | re.M)
    text = set_values(re.sub("^   ", "", text, flags=re.M), **{"Exchange.root": repr(str(exchange))})
    (shared / "nbgrader_config.py").write_text(text, encoding="utf-8")
    for user in ANSWERS:  # all servers run under one account here
        own = homes[user] / ".jupyter" / "nbgrader_config.py"
        own.parent.mkdir()
        own.write_text(f"c = get_config()\nc.CourseDirectory.student_id = {user!r}\n", encoding="utf-8")
    config = build_configuration(ports, mark, token, PROJECT=f"Path({str(project)!r})")
    config += f"""
c.JupyterHub.authenticator_class = "dummy"
c.JupyterHub.spawner_class = "simple"
c.SimpleLocalProcessSpawner.home_dir_template = {str(folder / "home" / "{username}")!r}
c.Spawner.pre_spawn_hook = None
c.Spawner.environment["JUPYTER_CONFIG_PATH"] = {str(shared)!r}
c.ConfigurableHTTPProxy.command = [{str(PROXY)!r}]
ours = c.Spawner.group_overrides["instructors"]["spawner_override"]
ours["environment"]["JUPYTER_CONFIG_PATH"] += ":" + {str(shared)!r}
"""
    if os.geteuid() == 0:
        config += "for args in (c.Spawner.args, ours['args']):\n    args.append('--allow-root')\n"
    (folder / "hub" / "jupyterhub_config.py").write_text(config, encoding="utf-8")
    return Hub(
        root=folder,
        project=project,
        exchange=exchange,
        configuration=folder / "hub" / "jupyterhub_config.py",
        command=[sys.executable, "-m", "jupyterhub", "-f", "jupyterhub_config.py"],
        address=f"http://127.0.0.1:{ports[0]}",
        log=folder / "log",
        mark=mark,
        tokens={"tests": token},
    )


@pytest.fixture(scope="module")
def hub(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Hub]:
    """The hub with the students' servers running. Whatever happens, it ends with the tests."""
    begin = time.monotonic()
    folder = tmp_path_factory.mktemp("hub")
    with contextlib.ExitStack() as stack:
        computer = None if WITHOUT_ACCOUNTS else stack.enter_context(Computer(folder / "computer"))
        running = on_accounts(folder, computer) if computer else on_folders(folder)
        running.seconds["set up"] = time.monotonic() - begin
        try:
            running.start()
            with ThreadPoolExecutor(len(ANSWERS)) as together:
                list(together.map(running.serve, ANSWERS))
            for user in (ACCOUNT, *INSTRUCTORS, *ANSWERS):
                status, _, reply = running.ask(f"/hub/api/users/{user}/tokens", {"note": "a test"})
                assert status == 201, reply
                running.tokens[user] = reply["token"]
            running.seconds["start"] = time.monotonic() - begin - running.seconds["set up"]
            yield running
        except BaseException:
            if running.log.exists():
                print(running.log.read_text(encoding="utf-8", errors="replace")[-6000:])
            raise
        finally:
            if running.process and running.process.poll() is None:
                running.stop()
            for process in running.processes():
                process.kill()
            print(", ".join(f"{name} {seconds:.1f} s" for name, seconds in running.seconds.items()))


@pytest.fixture
def computer(hub: Hub) -> Computer:
    if hub.computer is None:
        pytest.skip(f"needs real accounts: {WITHOUT_ACCOUNTS}")
    return hub.computer


@pytest.fixture(scope="module")
def chromium() -> Iterator[Browser]:
    with browser() as opened:
        yield opened


def log_in(chromium: Browser, hub: Hub, instructor: str) -> Page:
    """Formgrader in the browser of an instructor, who logs in for it, starts the course's server where it does not run yet, and lets it know who this is."""
    page = chromium.new_context(viewport={"width": 1400, "height": 900}).new_page()
    page.goto(f"{hub.address}/user/{ACCOUNT}/formgrader", timeout=PATIENCE)
    page.fill("#username_input", instructor)
    page.fill("#password_input", PASSWORD)
    page.click("#login_submit")
    start, authorize = (page.get_by_role("button", name=name) for name in ("Launch Server", "Authorize"))
    start.or_(authorize).wait_for(timeout=PATIENCE)
    if start.is_visible():
        start.click()
    authorize.click(timeout=PATIENCE)
    page.wait_for_url(f"**/user/{ACCOUNT}/formgrader/**", timeout=PATIENCE)
    return page


@pytest.fixture(scope="module")
def formgrader(hub: Hub, chromium: Browser) -> Page:
    """The first instructor's, who starts the server."""
    start = time.monotonic()
    page = log_in(chromium, hub, INSTRUCTORS[0])
    hub.seconds["first log-in"] = time.monotonic() - start
    return page


@pytest.fixture(scope="module")
def colleague(hub: Hub, chromium: Browser, formgrader: Page) -> Page:
    """The second instructor's."""
    return log_in(chromium, hub, INSTRUCTORS[1])


def press(page: Page, column: str, hub: Hub) -> str:
    """Press the notebook's button in formgrader's list of assignments; returns what formgrader says then."""
    page.goto(f"{hub.address}/user/{ACCOUNT}/formgrader/manage_assignments", timeout=PATIENCE)
    row = page.locator("tr", has=page.get_by_text(NOTEBOOK, exact=True))
    row.locator(f"td.{column} a").click(timeout=PATIENCE)
    dialog = page.locator(".modal-dialog").last
    dialog.wait_for(timeout=PATIENCE)
    return dialog.inner_text()


def pages_of_submissions(page: Page, hub: Hub) -> list[str]:
    """The addresses of the submissions' pages in formgrader."""
    page.goto(f"{hub.address}/user/{ACCOUNT}/formgrader/gradebook/{NOTEBOOK}/{NOTEBOOK}", timeout=PATIENCE)
    page.locator("td.name a").first.wait_for(timeout=PATIENCE)
    links = {str(link.get_attribute("href")) for link in page.locator("td.name a").all()}
    return [f"{hub.address}{link}" for link in sorted(links)]


@pytest.fixture(scope="module")
def release_message(hub: Hub, formgrader: Page) -> str:
    return press(formgrader, "release", hub)


@pytest.fixture(scope="module")
def validations(hub: Hub, release_message: str) -> dict[str, Any]:
    """What nbgrader says when each student validates; both have fetched and worked before, and submit then."""

    def work(user: str) -> Any:
        assignment = {"assignment_id": NOTEBOOK, "course_id": COURSE}
        hub.student(user, "fetch", assignment)
        path = f"/user/{user}/api/contents/{COURSE}/{NOTEBOOK}/{NOTEBOOK}.ipynb"
        notebook = hub.ask(path, user=user)[2]["content"]
        for cell in notebook["cells"]:
            if cell["metadata"].get("nbgrader", {}).get("grade_id") == "hello_shape":
                cell["source"] = ANSWERS[user]
        hub.ask(path, {"type": "notebook", "format": "json", "content": notebook}, user, "PUT")
        validation = hub.student(user, "validate", {"path": f"{COURSE}/{NOTEBOOK}/{NOTEBOOK}.ipynb"})
        hub.student(user, "submit", assignment)
        return validation

    start = time.monotonic()
    with ThreadPoolExecutor(len(ANSWERS)) as together:
        replies = dict(zip(ANSWERS, together.map(work, ANSWERS), strict=True))
    hub.seconds["fetch, work, validate, submit"] = time.monotonic() - start
    return replies


@pytest.fixture(scope="module")
def grade_table(hub: Hub, formgrader: Page, validations: object) -> str:
    """The table that grading prints, after collecting."""
    start = time.monotonic()
    press(formgrader, "collect", hub)
    hub.seconds["collect"] = time.monotonic() - start
    start = time.monotonic()
    table = hub.python("-m", "autograder", "grade", NOTEBOOK)
    hub.seconds["grade"] = time.monotonic() - start
    return table


@pytest.fixture(scope="module")
def comment(hub: Hub, grade_table: str, colleague: Page) -> None:
    """The second instructor writes a comment for the student whose mistake is named."""
    for address in pages_of_submissions(colleague, hub):
        colleague.goto(address, wait_until="load", timeout=PATIENCE)
        if MISTAKE_TEXT in colleague.locator("#notebook-container").first.inner_text():
            colleague.wait_for_load_state("networkidle", timeout=PATIENCE)
            with colleague.expect_response(lambda reply: reply.request.method == "PUT", timeout=PATIENCE) as reply:
                colleague.locator("#hello_shape-comment").fill(COMMENT)
                colleague.locator("#hello_shape-comment").press("Tab")
            assert reply.value.status == 200


@pytest.fixture(scope="module")
def feedback_pages(hub: Hub, comment: None, colleague: Page) -> dict[str, str]:
    """Each student's page, as fetched; the second instructor has released them."""
    press(colleague, "generate-feedback", hub)
    press(colleague, "release-feedback", hub)
    pages = {}
    for user in ANSWERS:
        hub.student(user, "fetch_feedback", {"assignment_id": NOTEBOOK, "course_id": COURSE})
        (page,) = hub.home(user).glob(f"{COURSE}/{NOTEBOOK}/feedback/*/{NOTEBOOK}.html")
        pages[user] = page.read_text(encoding="utf-8")
    return pages


def test_what_is_released_is_listed_for_members_of_the_course_alone(hub: Hub, release_message: str) -> None:
    assert [(assignment["assignment_id"], assignment["status"]) for assignment in hub.list_assignments("ben")] == [
        (NOTEBOOK, "released")
    ]
    group = f"/hub/api/groups/nbgrader-{COURSE}/users"
    hub.ask(group, {"users": ["ben"]}, method="DELETE")
    assert hub.list_assignments("ben") == []
    hub.student("ben", "fetch", {"assignment_id": NOTEBOOK, "course_id": COURSE})
    assert not (hub.home("ben") / COURSE).exists()
    hub.ask(group, {"users": ["ben"]})
    assert len(hub.list_assignments("ben")) == 1


def test_only_instructors_have_formgrader_and_nobody_the_list_of_courses(hub: Hub, formgrader: Page) -> None:
    ours = {user: hub.ask(f"/user/{ACCOUNT}/formgrader", user=user)[0] for user in (*INSTRUCTORS, *ANSWERS)}
    assert ours == {"grace": 200, "tom": 200, "ada": 403, "ben": 403}
    assert [hub.ask(f"/user/{user}/formgrader", user=user)[0] for user in ANSWERS] == [404, 404]
    assert {hub.ask(f"/user/{user}/formgraders", user=user)[0] for user in (ACCOUNT, *ANSWERS)} == {404}


def test_formgrader_can_be_shown_in_a_tab_of_its_own_only(hub: Hub, formgrader: Page) -> None:
    _, headers, _ = hub.ask(f"/user/{ACCOUNT}/formgrader", user="grace")
    assert "frame-ancestors 'none'" in headers["Content-Security-Policy"]


def test_nobody_can_open_a_students_server(hub: Hub) -> None:
    assert {hub.ask("/user/ben/api/contents", user=user)[0] for user in ("ada", *INSTRUCTORS)} == {403}


def test_no_account_but_those_of_people_can_log_in(hub: Hub, chromium: Browser) -> None:
    page = chromium.new_context().new_page()
    page.goto(f"{hub.address}/hub/login", timeout=PATIENCE)
    page.fill("#username_input", ACCOUNT)
    page.fill("#password_input", PASSWORD)
    page.click("#login_submit")
    page.get_by_text("Invalid username or password").wait_for(timeout=PATIENCE)


def test_validating_passes_a_right_answer_and_lists_a_wrong_one(validations: dict[str, Any]) -> None:
    """Nobody has written the last exercise, so it is listed for both."""
    failures = {name: [cell["source"] for cell in validations[name]["value"]["failed"]] for name in ("ada", "ben")}
    last_check = 'check("deciding_pair", deciding_pair)'
    assert failures == {"ada": [last_check], "ben": ['check("hello_shape", hello_shape)', last_check]}


def test_what_was_submitted_is_collected_and_graded(hub: Hub, grade_table: str) -> None:
    assert sorted(path.name for path in (hub.project / "grading" / "submitted").iterdir()) == ["ada", "ben"]
    assert re.search(r"ada +2 ✔ +○ +2/6", grade_table) and re.search(r"ben +0 ✘ +○ +0/6", grade_table), grade_table
    assert MISTAKE_TEXT in grade_table


def test_the_instructors_read_a_named_mistake_in_formgrader(hub: Hub, grade_table: str, formgrader: Page) -> None:
    texts = []
    for address in pages_of_submissions(formgrader, hub):
        formgrader.goto(address, timeout=PATIENCE)
        texts.append(formgrader.locator("#notebook-container").first.inner_text(timeout=PATIENCE))
    assert len(texts) == len(ANSWERS)
    assert [MISTAKE_TEXT in text for text in texts].count(True) == 1
    assert ["hello_shape: earned" in text for text in texts].count(True) == 1


def test_each_student_gets_their_own_page_back_with_what_the_second_instructor_wrote(
    feedback_pages: dict[str, str],
) -> None:
    assert (
        MISTAKE_TEXT in feedback_pages["ben"]
        and "ben" in feedback_pages["ben"]
        and "read it aloud" in feedback_pages["ben"]
    )
    assert MISTAKE_TEXT not in feedback_pages["ada"] and "2 of 2" in feedback_pages["ada"]


def test_a_page_can_be_read_by_whoever_knows_its_name_and_found_by_nobody_else(
    hub: Hub, feedback_pages: dict[str, str]
) -> None:
    pages = hub.exchange / COURSE / "feedback"
    assert pages.stat().st_mode & 0o777 == 0o711
    assert [page.stat().st_mode & 0o777 for page in pages.iterdir()] == [0o644, 0o644]


def test_no_student_can_take_over_the_exchange(hub: Hub, computer: Computer, validations: object) -> None:
    course, before = "/srv/nbgrader/exchange/ffn", sorted(hub.exchange.rglob("*"))
    (theirs,) = (hub.exchange / COURSE / "inbound").glob("ada+*")
    for attack in (
        f"mv {course} {course}.mine",
        f"mv {course}/outbound {course}/mine",
        f"mkdir {course}/outbound/mine",
        f"rm {course}/outbound/{NOTEBOOK}/{NOTEBOOK}.ipynb",
        f"echo >> {course}/outbound/{NOTEBOOK}/{NOTEBOOK}.ipynb",
        f"ls {course}/inbound",
        f"mv '{course}/inbound/{theirs.name}' {course}/inbound/mine",  # if its name were known
        f"ls {course}/feedback",
        f"touch {course}/feedback/mine",
    ):
        assert computer.attempt(attack, "ben").returncode != 0, attack
    assert sorted(hub.exchange.rglob("*")) == before


def test_no_student_can_read_what_others_have(hub: Hub, computer: Computer, feedback_pages: object) -> None:
    homes = {home.name: home.stat().st_mode & 0o777 for home in (hub.root / "home").iterdir()}
    assert homes == dict.fromkeys((ACCOUNT, *INSTRUCTORS, *ANSWERS, "zoe"), 0o700)
    for place in (
        "/home/ada",
        f"/home/ada/{COURSE}/{NOTEBOOK}",
        "/home/ffn/feed-forward",
        "/srv/jupyterhub",
        "/home/tom",
    ):
        assert computer.attempt(f"ls {place}", "ben").returncode != 0, place
    private_paths = (
        hub.project,
        hub.project / "grading",
        hub.project / "grading" / "gradebook.db",
        hub.root / "srv/jupyterhub",
    )
    assert [path.stat().st_mode & 0o077 for path in private_paths] == [0, 0, 0, 0]
    process = computer.attempt("/srv/hub/bin/python -c 'import ffnlab; import autograder'", "ben")
    assert "No module named 'autograder'" in process.stdout


def test_root_runs_nothing_that_another_account_could_change(hub: Hub, computer: Computer) -> None:
    programs: set[str] = set()
    for process in hub.processes():
        if process.uids().real == 0:
            programs.update(
                word for word in process.cmdline() if word.startswith("/") and computer.path(word).is_file()
            )
    assert any("proxy" in program for program in programs), programs
    for program in programs:
        real = Path(computer.run(f"realpath {program}").strip())
        for path in (real, *real.parents):
            about = computer.path(str(path)).stat()
            assert about.st_uid == 0 and not about.st_mode & 0o022, path


def test_the_service_is_one_that_systemd_understands(computer: Computer) -> None:
    if not shutil.which("systemd-analyze"):
        pytest.skip("systemd is not installed")
    assert computer.run("systemd-analyze verify /etc/systemd/system/jupyterhub.service") == ""


def test_an_open_exchange_is_refused_and_the_doctor_says_what_to_do(
    hub: Hub, computer: Computer, formgrader: Page
) -> None:
    mend = "chmod 1777 /srv/nbgrader/exchange"
    ask = "from autograder.engine import doctor; print(*(finding.remedy for finding in doctor._hub()))"
    hub.exchange.chmod(0o777)
    try:
        assert mend in hub.python("-c", ask)
        message = press(formgrader, "collect", hub)
    finally:
        computer.run(mend)
    assert mend in message
    assert hub.python("-c", ask).strip() == ""


def test_when_the_hub_ends_nothing_is_left_running(hub: Hub, feedback_pages: object) -> None:
    assert len(hub.processes()) > 1 + len(ANSWERS)
    start = time.monotonic()
    assert hub.stop() == []
    hub.seconds["end"] = time.monotonic() - start


def test_whoever_leaves_is_in_no_group_once_the_database_is_made_anew(hub: Hub, feedback_pages: object) -> None:
    if hub.process and hub.process.poll() is None:
        hub.stop()
    config = hub.configuration.read_text(encoding="utf-8")
    hub.configuration.write_text(set_values(config, STUDENTS='{"ada"}'), encoding="utf-8")
    (hub.configuration.parent / "jupyterhub.sqlite").unlink()
    hub.start()
    assert hub.ask(f"/hub/api/groups/nbgrader-{COURSE}")[2]["users"] == ["ada"]
    assert hub.ask("/hub/api/users/ben")[0] == 404
