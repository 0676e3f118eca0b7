"""start.py: what it refuses before anything is made, where the environment goes, and how it installs."""

from __future__ import annotations

import ast
import functools
import http.server
import importlib.util
import json
import os
import platform
import re
import shutil
import subprocess
import sys
import sysconfig
import threading
import time
import zipfile
from argparse import Namespace
from collections.abc import Iterator
from pathlib import Path
from types import ModuleType
from typing import Any

import pytest
from test_setup import run
from uv import find_uv_bin

ROOT = Path(__file__).resolve().parents[1]
COURSE = ROOT / "course"


def load_module(file: Path) -> ModuleType:
    spec = importlib.util.spec_from_file_location(file.stem, file)
    assert spec and spec.loader
    module = importlib.util.module_from_spec(spec)
    spec.loader.exec_module(module)
    return module


@pytest.fixture
def start(tmp_path: Path) -> Any:
    """start.py in a folder of its own, with all of the course that it looks for."""
    course = tmp_path / "course"
    (course / "ffnlab").mkdir(parents=True)
    for name in ("start.py", "installer.py", "pyproject.toml", "constraints.txt"):
        shutil.copy(COURSE / name, course)
    return load_module(course / "start.py")


@pytest.fixture
def installer(start: Any, monkeypatch: pytest.MonkeyPatch) -> Any:
    """What start.py installs with, as it imports it."""
    module = load_module(start.COURSE / "installer.py")
    monkeypatch.setitem(sys.modules, "installer", module)
    return module


# What can't work


def test_an_older_python_gets_one_clear_line() -> None:
    older = f"import runpy, sys; sys.version_info = (3, 9, 2); runpy.run_path({str(COURSE / 'start.py')!r})"
    result = run(sys.executable, "-c", older)
    assert result.returncode == 2
    (line,) = result.stdout.splitlines()
    assert "needs Python 3.11, 3.12, 3.13 or 3.14" in line


def test_python_3_reads_the_file_and_python_2_stops_at_the_line_that_says_why() -> None:
    source = (COURSE / "start.py").read_text(encoding="utf-8")
    tree = ast.parse(source, feature_version=(3, 6))
    newer = [
        node.lineno
        for node in ast.walk(tree)
        if isinstance(node, ast.AnnAssign | ast.JoinedStr) or (isinstance(node, ast.FunctionDef) and node.returns)
    ]
    lines = source.splitlines()
    assert lines[min(newer) - 1].startswith("NEEDED: str = ")
    assert "".join(lines[: min(newer)]).isascii(), "Python 2 stops at other signs, and says nothing of use"


LINUX = ("linux-x86_64", "cpython-313-x86_64-linux-gnu", "x86_64")
COMPUTERS = {  # Python, sysconfig's platform, SOABI, machine; macOS, glibc, largest size, implementation → what is said
    "Debian 12": ((3, 11, 2), *LINUX, "", "2.36", 2**63 - 1, "CPython", ""),
    "Linux on ARM": ((3, 14, 0), "linux-aarch64", "x-gnu", "aarch64", "", "2.41", 2**63 - 1, "CPython", ""),
    "Windows": ((3, 13, 0), "win-amd64", "None", "AMD64", "", "", 2**63 - 1, "CPython", ""),
    "x64 Python on an ARM Windows": ((3, 13, 0), "win-amd64", "None", "ARM64", "", "", 2**63 - 1, "CPython", ""),
    "Mac": ((3, 12, 1), "macosx-11.0-universal2", "darwin", "arm64", "14.0", "", 2**63 - 1, "CPython", ""),
    "too new": ((3, 15, 0), *LINUX, "", "2.36", 2**63 - 1, "CPython", "was not tried with Python 3.15.0 yet"),
    "PyPy": ((3, 11, 9), *LINUX, "", "2.36", 2**63 - 1, "PyPy", "no build for PyPy"),
    "32 bit": ((3, 11, 9), "win32", "None", "x86", "", "", 2**31 - 1, "CPython", "Install a 64-bit Python"),
    "Intel Mac": ((3, 12, 1), "macosx-10.13-universal2", "darwin", "x86_64", "14.0", "", 2**63 - 1, "CPython", "Intel"),
    "macOS 13": ((3, 12, 1), "macosx-11.0-arm64", "darwin", "arm64", "13.7", "", 2**63 - 1, "CPython", "Update macOS"),
    "ARM Windows": ((3, 12, 1), "win-arm64", "None", "ARM64", "", "", 2**63 - 1, "CPython", "version for x64"),
    "Alpine": ((3, 12, 1), "linux-x86_64", "x-linux-musl", "x86_64", "", "", 2**63 - 1, "CPython", "with glibc"),
    "CentOS 7": ((3, 11, 1), *LINUX, "", "2.17", 2**63 - 1, "CPython", "Take a newer Linux"),
    "a board": ((3, 11, 1), "linux-riscv64", "x-gnu", "riscv64", "", "2.36", 2**63 - 1, "CPython", "another computer"),
}


@pytest.mark.parametrize("name", COMPUTERS)
def test_what_has_no_pytorch_is_told_what_to_do(name: str, start: Any, monkeypatch: pytest.MonkeyPatch) -> None:
    version, built_for, soabi, machine, macos, glibc, largest, implementation, advice = COMPUTERS[name]
    monkeypatch.setattr(sys, "version_info", version)
    monkeypatch.setattr(sys, "maxsize", largest)
    monkeypatch.setattr(sysconfig, "get_platform", lambda: built_for)
    monkeypatch.setattr(sysconfig, "get_config_var", {"SOABI": soabi}.get)
    monkeypatch.setattr(platform, "machine", lambda: machine)
    monkeypatch.setattr(platform, "mac_ver", lambda: (macos, ("", "", ""), machine))
    monkeypatch.setattr(platform, "libc_ver", lambda: ("glibc", glibc) if glibc else ("", ""))
    monkeypatch.setattr(platform, "python_implementation", lambda: implementation)
    reason = start.why_unsupported()
    assert (advice in reason) if advice else (reason == "")
    assert reason == "" or re.search("[Ii]nstall|[Uu]se|[Tt]ake", reason), "a way out"
    assert "\n" not in reason


def test_start_alone_says_to_unpack_the_whole_zip_and_makes_nothing(tmp_path: Path) -> None:
    shutil.copy(COURSE / "start.py", tmp_path)
    result = run(sys.executable, tmp_path / "start.py", "--set-up")
    assert result.returncode == 2
    assert "Unpack the whole zip" in result.stdout and len(result.stdout.splitlines()) == 1
    assert [path.name for path in tmp_path.iterdir()] == ["start.py"]


def test_without_pip_it_says_what_to_install_and_goes_on_from_there(
    start: Any, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    venv = tmp_path / "venv"
    monkeypatch.setenv("PATH", "")  # no uv
    monkeypatch.setitem(sys.modules, "pip", None)  # as on Debian without python3-pip
    with monkeypatch.context() as without_venv, pytest.raises(start.CannotStart, match="install python3-venv"):
        without_venv.setitem(sys.modules, "ensurepip", None)
        start.set_up(options(start, venv=venv))
    assert not venv.exists()
    subprocess.run([sys.executable, "-m", "venv", "--without-pip", venv], check=True)  # what an earlier start.py left
    monkeypatch.setattr(start.importlib.import_module("installer"), "install", lambda order: None)
    python, _ = start.set_up(options(start, venv=venv))
    assert start.runs(python, "import pip")


def test_an_environment_of_another_python_is_kept_and_said(
    start: Any, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    environment = start.COURSE / ".venv"
    (environment / "bin").mkdir(parents=True)
    (environment / "pyvenv.cfg").write_text("home = /usr/bin\nversion = 3.12.4\n", encoding="utf-8")
    (environment / "bin" / "python").symlink_to(sys.executable)
    (environment / "ffnlab-installed.txt").write_text(start.fingerprint(), encoding="utf-8")
    monkeypatch.setattr(start.sys, "version_info", (3, 13, 1))
    options = Namespace(
        venv=environment, package="", constraints=start.COURSE / "constraints.txt", torch_index=None, offline=None
    )
    assert start.set_up(options) == (str(environment / "bin" / "python"), False)
    output = capsys.readouterr().out
    assert "was made with Python 3.12 and keeps it" in output and "remove that folder" in output


def test_constraints_that_are_not_there_are_named(start: Any, tmp_path: Path) -> None:
    options = Namespace(
        venv=tmp_path / "v", package="", constraints=tmp_path / "nofile", torch_index=None, offline=None
    )
    with pytest.raises(start.CannotStart, match=r"there is no file .*nofile, which --constraints names"):
        start.set_up(options)
    assert not (tmp_path / "v").exists()


def test_an_environment_that_cannot_be_made_is_told_in_one_line_on_every_terminal(tmp_path: Path) -> None:
    (tmp_path / "file").touch()
    words = (COURSE / "start.py", "--set-up", "--venv", tmp_path / "file" / "venv")
    result = run(sys.executable, *words, PYTHONIOENCODING="ascii")
    assert result.returncode == 2
    assert result.stdout.splitlines()[-1].startswith("start.py: could not make the environment")
    assert "Traceback" not in result.stdout


# Where the environment goes


@pytest.mark.parametrize(
    ("system", "course", "place", "because"),
    [
        ("linux", "/home/ada/course", "/home/ada/course/.venv", ""),
        ("linux", "/home/ada/Dropbox/course", "/own/ffnlab/", "Dropbox"),
        ("darwin", "/Users/ada/Library/Mobile Documents/course", "/home/Library/Application Support/ffnlab/", "Mobile"),
        ("darwin", "/Users/ada/Library/CloudStorage/OneDrive-Uni/c", "/home/Library/Application Support/", "Cloud"),
        ("nt", "/Users/ada/OneDrive - University of X/c", "/local/ffnlab/", "OneDrive - University of X"),
        ("nt", "/Users/ada/OneDriver/c", "/Users/ada/OneDriver/c/.venv", ""),
        ("nt", "/" + 66 * "x", "/" + 66 * "x" + "/.venv", ""),
        ("nt", "/" + 67 * "x", "/local/ffnlab/", "too long"),
    ],
)
def test_clouds_and_long_paths_get_an_environment_elsewhere(
    system: str, course: str, place: str, because: str, start: Any, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(start, "COURSE", Path(course))
    monkeypatch.setattr(start, "long_paths_are_allowed", lambda: False)
    for name, value in {"LOCALAPPDATA": "/local", "XDG_DATA_HOME": "/own", "HOME": "/home"}.items():
        monkeypatch.setenv(name, value)
    monkeypatch.setattr(start, "os", Namespace(name="nt" if system == "nt" else "posix", environ=os.environ))
    monkeypatch.setattr(start, "sys", Namespace(platform=system))
    environment, reason = start.environment_folder()
    assert str(environment).startswith(place) and because in reason and bool(because) == bool(reason)


# Installing


def options(start: Any, **changed: Any) -> Namespace:
    return Namespace(
        **{"venv": None, "torch_index": None, "package": "", "constraints": start.COURSE / "constraints.txt"}
        | {"offline": None, "wheelhouse": None}
        | changed
    )


@pytest.mark.filterwarnings("ignore:Setuptools is replacing distutils")  # where pip is looked for
def test_nothing_is_installed_again_until_the_course_changes(
    start: Any, installer: Any, monkeypatch: pytest.MonkeyPatch
) -> None:
    orders: list[Any] = []
    monkeypatch.setattr(installer, "install", orders.append)
    python, is_new = start.set_up(options(start))
    assert is_new and orders[0].packages == [str(start.COURSE)]
    assert start.set_up(options(start)) == (python, False)
    with (start.COURSE / "constraints.txt").open("a") as file:
        file.write("# a newer version of the course\n")
    assert start.set_up(options(start)) == (python, True) and len(orders) == 2
    start.set_up(options(start, package=".[test]"))
    assert orders[2].packages == [str(start.COURSE), ".[test]"]


def order(installer: Any, environment: Path, **changed: Any) -> Any:
    subprocess.run([sys.executable, "-m", "venv", "--without-pip", environment], check=True)
    course = Path(installer.__file__).parent
    python, pins = str(environment / "bin" / "python"), course / "constraints.txt"
    return installer.Order(python, environment, [str(course)], pins, "pypi", False)._replace(**changed)


OUTPUTS = {  # by uv 0.13.9 and pip 23.2.1
    "error: Failed to fetch: https://x/six/\n  cause: error sending request for url\n  cause: dns error": "online",
    "error: Failed to fetch: https://x/six/\n  cause: invalid peer certificate: UnknownIssuer": "certificate",
    "error: Failed to install: a.whl\n  cause: No space left on device (os error 28)": "disk is full",
    "WARNING: Retrying after connection broken by 'NewConnectionError': Failed to establish a new connection\n"
    "ERROR: No matching distribution found for six": "online",
    "ERROR: Could not install packages due to an OSError: [Errno 28] No space left on device": "disk is full",
    "ProxyError('Cannot connect to proxy.', OSError('Tunnel connection failed: 407'))": "proxy refused",
    "ERROR: something else": "ERROR: something else",
}


@pytest.mark.parametrize("output", OUTPUTS)
def test_a_failure_names_its_cause(
    output: str, installer: Any, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(installer, "find_uv", lambda order: "")
    monkeypatch.setattr(installer, "install_with_pip", lambda order: output)
    with pytest.raises(installer.NotInstalled, match=re.escape(OUTPUTS[output])) as failure:
        installer.install(order(installer, tmp_path / "venv"))
    assert "The same command continues from here." in str(failure.value)


def test_pins_that_fit_nowhere_are_left_out_and_uv_that_fails_is_replaced_by_pip(
    installer: Any, tmp_path: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    calls: list[tuple[str, bool]] = []

    def with_uv(order: Any, program: str) -> str:
        calls.append((program, bool(order.constraints)))
        return "error: No solution found when resolving dependencies" if order.constraints else "error: a bug"

    def with_pip(order: Any) -> str:
        calls.append(("pip", bool(order.constraints)))
        return "ERROR: ResolutionImpossible: for help visit …" if order.constraints else ""

    monkeypatch.setattr(installer, "find_uv", lambda order: "uv")
    monkeypatch.setattr(installer, "install_with_uv", with_uv)
    monkeypatch.setattr(installer, "install_with_pip", with_pip)
    installer.install(order(installer, tmp_path / "venv"))
    assert calls == [("uv", True), ("uv", False), ("pip", True), ("pip", False)]
    output = capsys.readouterr().out
    assert output.count("the tested versions") + output.count("The tested versions") == 2 and "error: a bug" in output


def test_uv_is_configured_as_pip_is(installer: Any, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    for name in [name for name in os.environ if name.startswith(("PIP_", "UV_"))]:
        monkeypatch.delenv(name)
    (tmp_path / "pip.conf").write_text(
        "[global]\nindex-url = https://mirror/simple\nproxy = http://proxy:3128\ntimeout = 7\n"
        "[install]\nindex-url = https://other/simple\nextra-index-url = https://one/simple\n  https://two/simple\n",
        encoding="utf-8",
    )
    monkeypatch.setenv("PIP_CONFIG_FILE", str(tmp_path / "pip.conf"))
    monkeypatch.setenv("PIP_TRUSTED_HOST", "mirror other")
    monkeypatch.setenv("PIP_CERT", "/etc/ca.pem")
    made = order(installer, tmp_path / "venv", constraints=None)
    uv = installer.Uv(find_uv_bin(), made)
    flags = dict.fromkeys(zip(uv.flags[::2], uv.flags[1::2], strict=True))
    assert {
        ("--default-index", "https://other/simple"),
        ("--index", "https://one/simple"),
        ("--index", "https://two/simple"),
        ("--allow-insecure-host", "mirror"),
        ("--allow-insecure-host", "other"),
    } <= flags.keys()
    assert uv.variables.items() >= {"SSL_CERT_FILE": "/etc/ca.pem", "ALL_PROXY": "http://proxy:3128"}.items()
    assert uv.variables["UV_HTTP_TIMEOUT"] == "7"
    monkeypatch.setenv("PIP_NO_DEPS", "1")
    assert "no-deps" in installer.install_with_uv(made, find_uv_bin())


def wheel(folder: Path, name: str, version: str) -> Path:
    """A wheel with nothing in it."""
    file = folder / f"{name}-{version}-py3-none-any.whl"
    about = f"{name}-{version}.dist-info"
    with zipfile.ZipFile(file, "w") as archive:
        archive.writestr(f"{about}/METADATA", f"Metadata-Version: 2.1\nName: {name}\nVersion: {version}\n")
        archive.writestr(f"{about}/WHEEL", "Wheel-Version: 1.0\nRoot-Is-Purelib: true\nTag: py3-none-any\n")
        archive.writestr(f"{about}/RECORD", "")
    return file


@pytest.fixture
def index(tmp_path: Path) -> Iterator[str]:
    """A package index that has PyTorch's build without graphics cards, and a package that nobody asked of it."""
    for name, version in (("torch", "2.13.0+cpu"), ("numpy", "2.4.6")):
        folder = tmp_path / "index" / name
        folder.mkdir(parents=True)
        file = wheel(folder, name, version)
        (folder / "index.html").write_text(f'<a href="{file.name.replace("+", "%2B")}">{file.name}</a>')
    handler = functools.partial(http.server.SimpleHTTPRequestHandler, directory=str(tmp_path / "index"))
    server = http.server.ThreadingHTTPServer(("127.0.0.1", 0), handler)
    threading.Thread(target=server.serve_forever, daemon=True).start()
    yield f"http://127.0.0.1:{server.server_port}"
    server.shutdown()
    server.server_close()


def test_pytorch_alone_comes_from_its_own_index_and_stays(installer: Any, tmp_path: Path, index: str) -> None:
    made = order(installer, tmp_path / "venv", torch_index=index)
    (requirement,) = installer.Uv(find_uv_bin(), made).torch()
    assert requirement.startswith(f"torch @ {index}/torch/torch-2.13.0%2Bcpu")
    links = wheel(tmp_path, "numpy", "2.4.6").parent
    wanted = ["--no-index", "--find-links", str(links), "--constraint", str(COURSE / "constraints.txt"), requirement]
    uv = [find_uv_bin(), "pip", "install", "--quiet", "--python", made.python]
    subprocess.run([*uv, *wanted, "numpy"], check=True)
    assert installer.installed(made.environment) == {"torch": "2.13.0+cpu", "numpy": "2.4.6"}
    assert installer.Uv(find_uv_bin(), made).torch() == []
    subprocess.run([*uv, "--no-index", "--constraint", COURSE / "constraints.txt", "torch"], check=True)
    assert installer.installed(made.environment)["torch"] == "2.13.0+cpu"


# Without network

BACKEND = """
import zipfile
def build_editable(folder, settings=None, metadata=None):
    name = "ffnlab-1-py3-none-any.whl"
    with zipfile.ZipFile(f"{folder}/{name}", "w") as archive:
        archive.writestr("ffnlab-1.dist-info/METADATA", "Metadata-Version: 2.1\\nName: ffnlab\\nVersion: 1\\nRequires-Dist: numpy\\n")
        archive.writestr("ffnlab-1.dist-info/WHEEL", "Wheel-Version: 1.0\\nRoot-Is-Purelib: true\\nTag: py3-none-any\\n")
        archive.writestr("ffnlab-1.dist-info/RECORD", "")
    return name
build_wheel = build_editable
"""
SMALL_COURSE = """
[build-system]
requires = []
build-backend = "backend"
backend-path = ["."]
[project]
name = "ffnlab"
version = "1"
dependencies = ["numpy"]
"""


def small_course(start: Any) -> Path:
    """A course that needs one package, and nothing to be built with."""
    for name, text in (
        ("backend.py", BACKEND),
        ("pyproject.toml", SMALL_COURSE),
        ("constraints.txt", "numpy==2.4.6\n"),
    ):
        (start.COURSE / name).write_text(text, encoding="utf-8")
    return Path(start.COURSE)


def start_without_network(course: Path, wheels: Path) -> subprocess.CompletedProcess[str]:
    cut = ["unshare", "--map-root-user", "--net"]
    if subprocess.run([*cut, "true"], capture_output=True, check=False).returncode:
        pytest.skip("the network can't be cut here: `unshare --net` is not allowed")
    path = f"{Path(find_uv_bin()).parent}{os.pathsep}{os.environ['PATH']}"
    command = [*cut, sys.executable, str(course / "start.py"), "--set-up", "--offline", str(wheels)]
    return subprocess.run(command, env=os.environ | {"PATH": path}, capture_output=True, text=True, check=False)


def test_a_folder_of_wheels_installs_the_course_with_the_network_cut(
    start: Any, installer: Any, tmp_path: Path
) -> None:
    course, wheels = small_course(start), tmp_path / "wheels"
    wheels.mkdir()
    wheel(wheels, "pip", "26.0")
    done = start_without_network(course, wheels)
    assert done.returncode == 2 and f"could not install the course from {wheels} alone" in done.stderr, done.stderr
    assert (
        "alone: it lacks numpy. " in done.stderr
        and "--wheelhouse FOLDER" in done.stderr
        and done.stderr.count("\n") == 1
    )
    wheel(wheels, "numpy", "2.4.6")
    done = start_without_network(course, wheels)
    assert done.returncode == 0, done.stderr
    assert installer.installed(course / ".venv").items() >= {"numpy": "2.4.6", "ffnlab": "1"}.items()


def test_a_folder_without_wheels_is_refused_before_anything_is_made(start: Any, tmp_path: Path) -> None:
    with pytest.raises(start.CannotStart, match=r"holds no packages: no file ends in \.whl"):
        start.set_up(options(start, offline=tmp_path / "nothing"))
    assert not (start.COURSE / ".venv").exists()


def test_a_wheelhouse_has_what_the_environment_has_and_what_it_is_made_with(
    installer: Any, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    links, folder = tmp_path / "links", tmp_path / "house"
    links.mkdir()
    needed = {
        "torch": "2.13.0+cpu",
        "numpy": "2.4.6",
        "pip": "26.0",
        "uv": "0.13.9",
        "setuptools": "80.0",
        "wheel": "0.45",
    }
    for name, version in needed.items():
        wheel(links, name, version)
    made = order(installer, tmp_path / "venv", constraints=None)
    command = [find_uv_bin(), "pip", "install", "--quiet", "--python", made.python, "--no-index", "--find-links", links]
    subprocess.run([*command, "torch", "numpy"], check=True)
    monkeypatch.setenv("PIP_NO_INDEX", "1")
    monkeypatch.setenv("PIP_FIND_LINKS", str(links))
    names = {file.name for file in installer.fill(made, folder)}
    assert names == {file.name for file in links.glob("*.whl")}
    (links / "uv-0.13.9-py3-none-any.whl").unlink()
    (folder / "uv-0.13.9-py3-none-any.whl").unlink()
    with pytest.raises(installer.NotInstalled, match=f"could not fill {folder}"):
        installer.fill(made, folder)


@pytest.mark.parametrize("must", [False, True])
def test_an_index_of_pytorch_that_does_not_answer_costs_seconds_and_a_line(
    must: bool, installer: Any, tmp_path: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    if must:  # uv tries three times more, which takes six seconds
        monkeypatch.setenv("UV_HTTP_RETRIES", "0")
    uv = installer.Uv(
        find_uv_bin(), order(installer, tmp_path / "venv", torch_index="http://127.0.0.1:9/whl", torch_must=must)
    )
    began = time.monotonic()
    if must:
        with pytest.raises(installer.NotInstalled, match=r"can't be had from http://127\.0\.0\.1:9/whl"):
            uv.torch()
    else:
        assert uv.torch() == [] and time.monotonic() - began < 4
        assert len(capsys.readouterr().out.splitlines()) == 1


def test_the_bar_counts_what_uv_unpacks(installer: Any, tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    (tmp_path / "archive-v0" / "old").mkdir(parents=True)
    (tmp_path / "archive-v0" / "old" / "file").write_bytes(bytes(10**6))
    bar = installer.Bar(tmp_path, 10, True)
    for name in ("archive-v0/new", ".tmp1"):
        (tmp_path / name).mkdir()
        (tmp_path / name / "file").write_bytes(bytes(2 * 10**6))
    bar.last -= 60
    bar.show()
    (tmp_path / ".tmp1" / "file").unlink()
    bar.last -= 60
    bar.show()
    assert capsys.readouterr().out == "4 of about 10 MB on disk\n" * 2


# JupyterLab


def test_ctrl_c_on_windows_waits_until_jupyterlab_has_asked(start: Any, monkeypatch: pytest.MonkeyPatch) -> None:
    class Asking:
        """JupyterLab, which asks at the first Ctrl-C and ends at the second."""

        presses = 0

        def wait(self) -> int:
            self.presses += 1
            if self.presses < 3:
                raise KeyboardInterrupt
            return 0

    monkeypatch.setattr(start, "os", Namespace(name="nt", chdir=lambda folder: None))
    monkeypatch.setattr(start.subprocess, "Popen", lambda command: Asking())
    assert start.open_lab("python", None, True) == 0


def test_an_environment_that_is_complete_gets_the_settings_that_came_since(
    start: Any, tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    environment = tmp_path / "venv"
    python = environment / ("Scripts/python.exe" if os.name == "nt" else "bin/python")
    python.parent.mkdir(parents=True)
    python.touch()
    (environment / "ffnlab-installed.txt").write_text(start.fingerprint(), encoding="utf-8")
    options = Namespace(
        constraints=start.COURSE / "constraints.txt", venv=environment, package=None, torch_index=None, offline=None
    )
    assert start.set_up(options) == (str(python), False)
    path = environment / "etc" / "jupyter" / "jupyter_server_config.d" / "ffnlab.json"
    assert json.loads(path.read_text(encoding="utf-8")) == start.EXTENSIONS
    path.unlink()
    path.mkdir()  # where nothing can be written
    assert start.set_up(options) == (str(python), False) and "can't be written" in capsys.readouterr().err
