"""JupyterLab and Chromium for tests: a real server on a copy of the course, driven with Playwright as a student would drive it."""

from __future__ import annotations

import functools
import http.server
import os
import secrets
import shutil
import socket
import subprocess
import sys
import threading
import time
import urllib.request
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import Any

from playwright.sync_api import Browser, Error, Locator, Page, sync_playwright

ROOT = Path(__file__).resolve().parent.parent
SCREENSHOTS = ROOT / "tests" / "screenshots"
CHROMIUM = shutil.which("chromium") or "/usr/bin/chromium"
FLAGS = [
    "--no-sandbox", "--disable-gpu", "--disable-quic", "--no-first-run", "--disable-background-networking",
    "--disable-component-update", "--disable-sync",
]  # fmt: skip
CURRENT = "window.jupyterapp.shell.currentWidget"
IDLE = f"""() => {{ const w = window.jupyterapp && {CURRENT};
  const k = w && w.sessionContext && w.sessionContext.session && w.sessionContext.session.kernel;
  return k && k.status === 'idle' }}"""
ALL_RUN = f"""() => {{ const w = {CURRENT}; const cells = w.content.widgets.filter(c => c.model.type === 'code'
    && c.model.sharedModel.getSource().trim());
  return w.sessionContext.session.kernel.status === 'idle' && cells.every(c => c.model.executionCount !== null) }}"""
ERRORS = f"""() => {CURRENT}.content.widgets.flatMap(c => c.model.type === 'code' ?
  (c.model.sharedModel.getOutputs() || []).filter(o => o.output_type === 'error').map(o => o.ename + ': ' + o.evalue) : [])"""
RED = f"""() => {CURRENT}.content.widgets.flatMap(c => c.model.type === 'code' ?
  (c.model.sharedModel.getOutputs() || []).filter(o => o.name === 'stderr').map(o => String(o.text)) : [])"""
PLACE = (
    f"""(id) => {CURRENT}.content.widgets.findIndex(c => (c.model.getMetadata('nbgrader') || {{}}).grade_id === id)"""
)
SELECT = f"""(index) => {{ const n = {CURRENT}.content; n.activeCellIndex = index; n.deselectAll();
  return n.scrollToItem(index, 'center').then(() => null) }}"""
PATIENCE = 120_000  # milliseconds until something that should be there is called missing
TRIES = 4  # of a picture: Chromium sometimes refuses to take one while the machine is busy
PAUSE = 0.5  # seconds before the next try


class Lab:
    """One notebook open in JupyterLab."""

    def __init__(self, page: Page, folder: Path) -> None:
        self.page, self.folder = page, folder
        self.errors: list[str] = []  # what cells ended in when the notebook was run

    def open(self, notebook: str, address: str) -> None:
        """Open a notebook, given relative to the server's folder, and wait for its kernel."""
        self.page.goto(address.format(path=f"lab/workspaces/{secrets.token_hex(4)}/tree/{notebook}"))
        self.page.wait_for_selector(".jp-Notebook", timeout=PATIENCE)
        self.page.wait_for_selector("#jupyterlab-splash", state="detached", timeout=PATIENCE)
        self.page.wait_for_function(IDLE, timeout=PATIENCE)

    def run_all(self) -> list[str]:
        """Run every cell; returns the errors that cells ended in."""
        self.command("notebook:run-all-cells")
        self.page.wait_for_function(ALL_RUN, timeout=2 * PATIENCE)
        errors: list[str] = self.page.evaluate(ERRORS)
        return errors

    def command(self, name: str) -> None:
        self.page.evaluate(f"() => {{ window.jupyterapp.commands.execute({name!r}) }}")

    def cell(self, grade_id: str) -> Locator:
        """The cell with this grade_id, scrolled into view."""
        index = self.page.evaluate(PLACE, grade_id)
        assert index >= 0, f"no cell {grade_id}"
        self.page.evaluate(SELECT, index)
        cell = self.page.locator(f'.jp-Notebook .jp-Cell[data-windowed-list-index="{index}"]')
        cell.wait_for(timeout=PATIENCE)
        return cell

    def write(self, grade_id: str, source: str) -> None:
        """Replace a cell's text, by keyboard."""
        cell = self.cell(grade_id)
        cell.locator(".cm-content").click()
        self.page.keyboard.press("Control+a")
        self.page.keyboard.insert_text(source)

    def run(self, grade_id: str) -> str:
        """Run one cell with Shift+Enter and return the text of its outputs. A closed cell opens when its bar is pressed."""
        cell = self.cell(grade_id)
        if not cell.locator(".cm-content").count():
            cell.locator(".jp-InputPlaceholder").click()
        cell.locator(".cm-content").click()
        self.page.keyboard.press("Shift+Enter")
        self.page.wait_for_function(IDLE, timeout=PATIENCE)
        self.page.wait_for_timeout(300)
        outputs = self.cell(grade_id).locator(".jp-Cell-outputArea")
        return outputs.inner_text(timeout=PATIENCE)

    def picture(self, name: str) -> None:
        keep_picture(self.page, name)


def taken_picture(subject: Page | Locator) -> bytes:
    """A screenshot as PNG, for a test that compares it. Playwright's error where the browser refuses it each time."""
    for _ in range(TRIES - 1):
        try:
            return subject.screenshot()
        except Error:
            time.sleep(PAUSE)
    return subject.screenshot()


def keep_picture(page: Page, name: str) -> None:
    """Leave a screenshot for a person to look at. It decides no test: where there is none, that is printed."""
    try:
        picture = taken_picture(page)
    except Error as error:
        print(f"{name}.png could not be taken: {error}")
        return
    SCREENSHOTS.mkdir(exist_ok=True)
    (SCREENSHOTS / f"{name}.png").write_bytes(picture)


def looks_different(subject: Locator, before: bytes) -> bool:
    """Whether a picture is no longer what it was; looks again for a while, since a browser under load draws late."""
    for _ in range(TRIES - 1):
        if taken_picture(subject) != before:
            return True
        time.sleep(PAUSE)
    return taken_picture(subject) != before


@contextmanager
def server(folder: Path, home: Path) -> Iterator[str]:
    """JupyterLab on `folder` with a configuration of its own; yields its address with a place for the path."""
    with socket.socket() as probe:
        probe.bind(("127.0.0.1", 0))
        port = probe.getsockname()[1]
    token = secrets.token_hex(16)
    places = {f"JUPYTER_{name}_DIR": str(home / name.lower()) for name in ("CONFIG", "DATA", "RUNTIME")}
    environment = (
        os.environ | places | {"JUPYTERLAB_SETTINGS_DIR": str(home / "settings"), "IPYTHONDIR": str(home / "ip")}
    )
    options = [
        "--no-browser", "--allow-root", "--ip=127.0.0.1", f"--port={port}", "--ServerApp.port_retries=0",
        f"--ServerApp.root_dir={folder}", f"--IdentityProvider.token={token}", "--LabApp.expose_app_in_browser=True",
        "--LabApp.extension_manager=readonly", "--LabApp.check_for_updates_class=jupyterlab.NeverCheckForUpdate",
    ]  # fmt: skip
    quiet = home / "settings" / "@jupyterlab" / "apputils-extension" / "notification.jupyterlab-settings"
    quiet.parent.mkdir(parents=True)
    quiet.write_text('{"fetchNews": "false"}', encoding="utf-8")  # else a question covers the corner of every picture
    log = (home / "jupyterlab.log").open("wb")
    process = subprocess.Popen(
        [sys.executable, "-m", "jupyterlab", *options], cwd=folder, env=environment, stdout=log, stderr=log
    )
    try:
        for _ in range(480):
            try:
                urllib.request.urlopen(f"http://127.0.0.1:{port}/api?token={token}", timeout=1)
                break
            except OSError:
                time.sleep(0.25)
        else:
            raise RuntimeError((home / "jupyterlab.log").read_text()[-2000:])
        yield f"http://127.0.0.1:{port}/{{path}}?reset&token={token}"
    finally:
        process.terminate()
        try:
            process.wait(30)
        except subprocess.TimeoutExpired:  # a server that is to end while a page lets go of its kernel waits for ever
            process.kill()
        log.close()


@contextmanager
def browser(has_scrollbars: bool = False) -> Iterator[Browser]:
    """A headless Chromium. has_scrollbars: with scrollbars that take room, as a reader's browser has, and Playwright's does not."""
    hidden = ["--hide-scrollbars"] if has_scrollbars else None
    with sync_playwright() as playwright:
        opened: Any = playwright.chromium.launch(executable_path=CHROMIUM, args=FLAGS, ignore_default_args=hidden)
        yield opened
        opened.close()


class _Quiet(http.server.SimpleHTTPRequestHandler):
    def log_message(self, *_: object) -> None:
        pass


@contextmanager
def web_pages(folder: Path) -> Iterator[str]:
    """A folder's files as web pages; gives their address."""
    server = http.server.ThreadingHTTPServer(("127.0.0.1", 0), functools.partial(_Quiet, directory=str(folder)))
    threading.Thread(target=server.serve_forever, daemon=True).start()
    try:
        yield f"http://127.0.0.1:{server.server_port}"
    finally:
        server.shutdown()
