"""How start.py installs packages: with uv, which does in seconds what takes pip minutes, and with pip where uv can't be had or fails.

uv is configured as the reader's pip is, so that a university's own package index goes on working.
"""

import ast
import contextlib
import os
import re
import shutil
import subprocess
import sys
import tempfile
import time
import urllib.parse
import urllib.request
from pathlib import Path
from typing import Any, NamedTuple

PYTORCH_FOR_CPU_MB = 192  # megabytes; the index of PyTorch's builds for the CPU names no sizes


class NotInstalled(Exception):
    """What went wrong and what to do, in one line."""


class Order(NamedTuple):
    """What to install, and in which environment."""

    python: str
    environment: Path
    packages: list[str]  # folders, with their extras in brackets; pip comes along
    constraints: Path | None
    torch_index: str  # where PyTorch comes from; "pypi": from where everything else does
    torch_must: bool  # whether the reader named that index
    wheelhouse: Path | None = None  # a folder of wheels; with it nothing is asked of the network

    def sources(self) -> list[str]:
        """From where packages come, as pip and uv both understand it; nothing where that is the usual index."""
        return ["--no-index", "--find-links", str(self.wheelhouse)] if self.wheelhouse else []

    def constraint(self) -> list[str]:
        return ["--constraint", str(self.constraints)] if self.constraints else []

    def requirements(self) -> list[str]:
        return ["pip", *(word for package in self.packages for word in ("-e", package))]


OWN_PACKAGES = {"ffnlab", "autograder"}  # they are installed from their folders
BUILD_REQUIREMENTS = ("setuptools>=77", "wheel")  # pyproject.toml's; pip makes the course's folder a package with them
INCOMPLETE = (
    "could not install the course from {folder} alone: {reason}. It has to be filled on a computer with the same system and the same "
    f"Python ({'.'.join(map(str, sys.version_info[:2]))}), by `python start.py --wheelhouse FOLDER` of this edition."
)
NO_VERSION = re.compile(
    "No solution found|ResolutionImpossible|No matching distribution|Could not find a version|has no wheels"
)
CAUSES = (  # what uv and pip say → why it failed, and what to do
    ("No space left|not enough space|[Qq]uota exceeded", "the disk is full. Free some space"),
    (
        "[Cc]ertificate|SSLError",
        "this computer does not trust the package index's certificate. If a proxy of your university or company is in "
        "between, ask for its certificate and run `pip config set global.cert FILE`",
    ),
    ("ProxyError|[Tt]unnel", "the proxy refused. Set HTTPS_PROXY as your university or company says"),
    (
        "dns error|NewConnectionError|[Cc]onnection (refused|reset|aborted)|error sending request|[Tt]imed out|unreachable",
        "the package index can't be reached. Is this computer online?",
    ),
)


def install(order: Order) -> None:
    """Install with uv, or else with pip; where the tested versions can't be had, the newest that can.

    Raises:
        NotInstalled: neither could.
    """
    uv, said = find_uv(order), ""
    for name in ("uv", "pip") if uv else ("pip",):
        for constraints in (order.constraints, None):
            attempt = order._replace(constraints=constraints)
            said = install_with_uv(attempt, uv) if name == "uv" else install_with_pip(attempt)
            if not said:
                return
            if order.wheelhouse or cause(said) or not NO_VERSION.search(said):
                break
            if constraints:
                print("The tested versions don't fit this Python: trying the newest that do …", flush=True)
        if name == "uv":
            print(f"uv could not install the course, so pip tries. uv's last line: {last_line(said)}", flush=True)
    if order.wheelhouse:
        lacks = missing(said)
        reason = f"it lacks {', '.join(lacks)}" if lacks else last_line(said).rstrip(".")
        raise NotInstalled(INCOMPLETE.format(folder=order.wheelhouse, reason=reason))
    raise not_installed(said)


def not_installed(said: str) -> NotInstalled:
    reason = cause(said) or f"pip's last line is: {last_line(said)}"
    return NotInstalled(f"could not install the course: {reason}. The same command continues from here.")


def cause(said: str) -> str:
    """Why uv or pip failed, where it is a matter of this computer or its network; else empty."""
    return next((reason for pattern, reason in CAUSES if re.search(pattern, said)), "")


def missing(said: str) -> list[str]:
    """The packages that pip found nowhere."""
    listed = re.search(r"no matching distributions available for your environment:\n((?:    \S+\n)+)", said)
    return listed[1].split() if listed else re.findall(r"No matching distribution found for ([\w.-]+)", said)


def last_line(said: str) -> str:
    return next((line.strip() for line in reversed(said.splitlines()) if line.strip()), "")


def no_torch_there(order: Order, said: str) -> None:
    """Says that PyTorch does not come from its own index.

    Raises:
        NotInstalled: the reader named that index.
    """
    reason = f"PyTorch can't be had from {order.torch_index}"
    if order.torch_must:
        raise NotInstalled(f"{reason}: {cause(said) or last_line(said)}.")
    print(
        f"{reason}, so it comes from the usual index. On Linux that may be a build for graphics cards, ten times as large. "
        "To wait for the small one, press Ctrl-C and try again later.",
        flush=True,
    )


def installed(environment: Path) -> dict[str, str]:
    """The packages in an environment and their versions."""
    import importlib.metadata

    folders = [environment / "Lib" / "site-packages", *environment.glob("lib/python*/site-packages")]
    there = importlib.metadata.distributions(path=[str(folder) for folder in folders])
    return {re.sub(r"[-_.]+", "-", found.metadata["Name"]).lower(): found.version for found in there}


# pip


def pip(order: Order) -> list[str]:
    """The environment's pip, or, before it has one, this Python's."""
    return [order.python if "pip" in installed(order.environment) else sys.executable, "-m", "pip"]


def pip_install(order: Order) -> list[str]:
    """The beginning of a command. Bytecode is made when something is first imported: most of it never is."""
    command = pip(order)
    into = [] if command[0] == order.python else ["--python", order.python]  # then pip starts a second time
    return [
        *command,
        *into,
        "install",
        "--disable-pip-version-check",
        "--no-compile",
        *order.sources(),
        *order.constraint(),
    ]


def install_with_pip(order: Order) -> str:
    """Install with pip, which shows its own progress. Returns what it said where it failed."""
    print("Installing the course with pip, which takes some minutes …", flush=True)
    if order.torch_index != "pypi" and "torch" not in installed(order.environment):
        patience = [] if order.torch_must else ["--timeout", "5", "--retries", "0"]
        said = run([*pip_install(order), *patience, "--no-deps", "--index-url", order.torch_index, "torch"])
        if said:
            no_torch_there(order, said)
    return run([*pip_install(order), *order.requirements()])


def run(command: list[str]) -> str:
    """Run a command and show what it says. Returns the last of that where it failed, else nothing."""
    lines: list[str] = []
    with subprocess.Popen(
        command, stdout=subprocess.PIPE, stderr=subprocess.STDOUT, encoding="utf-8", errors="replace"
    ) as process:
        for line in process.stdout or ():
            print(line, end="", flush=True)
            lines = [*lines[-50:], line]
    return ("".join(lines) or f"exit status {process.returncode}") if process.returncode else ""


def pip_settings(order: Order) -> dict[str, list[str]]:
    """What pip is configured with for installing, by files and variables; the last value counts where there can be one only."""
    command = [*pip(order), "config", "list"]
    listed = subprocess.run(command, capture_output=True, encoding="utf-8", errors="replace", check=False).stdout
    found: dict[str, list[str]] = {}
    for section in ("global.", "install.", ":env:."):  # the later ones replace the earlier
        for line in listed.splitlines():
            name, _, value = line.removeprefix(section).partition("=")
            if line.startswith(section):
                found[name.replace("_", "-")] = str(ast.literal_eval(value)).split()
    return {name: values for name, values in found.items() if values}


# A wheelhouse


def fill(order: Order, folder: Path) -> list[Path]:
    """Download what an environment holds, and what it was installed with, into a folder: the same versions, as wheels. What is there is kept.

    Raises:
        NotInstalled: something can't be downloaded.
    """
    folder.mkdir(parents=True, exist_ok=True)
    versions = {name: version for name, version in installed(order.environment).items() if name not in OWN_PACKAGES}
    torch = f"torch=={versions.pop('torch')}"
    wanted = [f"{name}=={version}" for name, version in sorted(versions.items())]
    command = [
        *pip(order),
        "download",
        "--disable-pip-version-check",
        "--dest",
        str(folder),
        "--find-links",
        str(folder),
    ]
    alone = [*command, "--no-deps", "--only-binary", ":all:"]
    said = ""
    if order.torch_index != "pypi":
        patience = [] if order.torch_must else ["--timeout", "5", "--retries", "0"]
        said = run([*alone, *patience, "--index-url", order.torch_index, torch])
        if said and order.torch_must:
            no_torch_there(order, said)
    usual = [*wanted, torch] if said or order.torch_index == "pypi" else wanted
    said = run([*alone, *usual]) or run([*command, *order.constraint(), "pip", "uv", *BUILD_REQUIREMENTS])
    if said:
        raise NotInstalled(
            f"could not fill {folder}: {cause(said) or last_line(said)}. The same command continues from here."
        )
    return sorted(folder.glob("*.whl"))


# uv

PIP_TO_UV = {  # what pip is configured with → uv's option
    "index-url": "--default-index",
    "extra-index-url": "--index",
    "find-links": "--find-links",
    "trusted-host": "--allow-insecure-host",
    "constraint": "--constraint",
}
PIP_TO_VARIABLE = {  # → the variable that uv reads
    "cert": "SSL_CERT_FILE",
    "client-cert": "SSL_CLIENT_CERT",
    "proxy": "ALL_PROXY",
    "timeout": "UV_HTTP_TIMEOUT",
    "default-timeout": "UV_HTTP_TIMEOUT",
}
PIP_ALONE = {"no-deps", "no-index", "no-binary", "only-binary", "pre", "prefix", "require-hashes", "root", "target"}
UNPACKED, UNPACKED_CUDA = 3.55, 1.7  # how many times larger all wheels together are when unpacked; measured


class UvFailed(Exception):
    """What uv said."""


def find_uv(order: Order) -> str:
    """This computer's uv, or one in a folder of the environment, from the package index; empty where that has none.

    Raises:
        NotInstalled: the package index can't be reached.
    """
    folder = order.environment / "uv"
    own = folder / "bin" / ("uv.exe" if os.name == "nt" else "uv")
    on_path = shutil.which("uv")
    if on_path:
        return on_path
    if not own.exists():
        command = [*pip(order), "install", "--disable-pip-version-check", "--no-compile"]
        command += [*order.sources(), *order.constraint()]
        command += ["--quiet", "--no-deps", "--target", str(folder), "uv"]
        done = subprocess.run(command, capture_output=True, encoding="utf-8", errors="replace", check=False)
        if done.returncode and cause(done.stderr) and not order.wheelhouse:
            raise not_installed(done.stderr)
    return str(own) if own.exists() else ""


def install_with_uv(order: Order, program: str) -> str:
    """Install with uv, under a bar with megabytes. Returns what it said where it failed."""
    try:
        uv = Uv(program, order)
        print("Looking up what to install …", flush=True)
        torch = uv.torch()
        uv.install(torch, uv.size(torch))
    except UvFailed as failure:
        return str(failure) or "uv said nothing"
    return ""


class Uv:
    """uv at work on an order, configured as the reader's pip is.

    Raises:
        UvFailed: by all methods, with what uv said; at once where pip's configuration is for pip alone.
    """

    def __init__(self, program: str, order: Order) -> None:
        settings = {} if order.wheelhouse else pip_settings(order)
        alone = sorted(PIP_ALONE & settings.keys())
        if alone:
            raise UvFailed(f"pip is configured with {' and '.join(alone)}, which only pip understands")
        self.program, self.order = program, order
        self.variables = {"UV_PYTHON_DOWNLOADS": "never", "UV_INDEX_STRATEGY": "unsafe-best-match"}  # as pip chooses
        self.flags = [*order.sources(), *order.constraint()]
        for name, values in settings.items():
            if name in PIP_TO_VARIABLE:
                self.variables[PIP_TO_VARIABLE[name]] = values[-1]
            elif name in PIP_TO_UV:
                self.flags += [word for value in values for word in (PIP_TO_UV[name], value)]
        self.keeps_cache = program == shutil.which("uv") or "UV_CACHE_DIR" in os.environ  # the reader's own
        if not self.keeps_cache:  # a course that is deleted leaves nothing behind
            self.variables["UV_CACHE_DIR"] = str(order.environment / "uv-cache")
        self.cache = Path(self.run("cache", "dir").strip())

    def run(self, *words: str, text: str = "", timeout: float | None = None) -> str:
        """What uv prints when it runs to its end."""
        try:
            done = subprocess.run(
                [self.program, *words],
                env=os.environ | self.variables | ({"UV_HTTP_RETRIES": "0"} if timeout else {}),
                input=text,
                timeout=timeout,
                capture_output=True,
                encoding="utf-8",
                errors="replace",
                check=False,
            )
        except subprocess.TimeoutExpired:
            raise UvFailed("timed out") from None
        if done.returncode == 0:
            return done.stdout
        if "certificate" in done.stderr and "UV_SYSTEM_CERTS" not in self.variables:  # pip trusts the system's, too
            self.variables |= {"UV_SYSTEM_CERTS": "1", "UV_NATIVE_TLS": "1"}  # its name now, and its name before
            return self.run(*words, text=text, timeout=timeout)
        raise UvFailed(done.stderr)

    def resolve(self, requirements: list[str], *flags: str, timeout: float | None = None) -> list[dict[str, Any]]:
        """The packages that requirements come to, each with its wheels: those of a pylock.toml."""
        import tomllib

        lock = self.order.environment / "pylock.toml"
        lock.unlink(missing_ok=True)
        words = ["pip", "compile", "-", "--quiet", "--format", "pylock.toml", "--output-file", str(lock)]
        words += ["--python", self.order.python, *flags]
        self.run(*words, text="\n".join(requirements), timeout=timeout)
        packages: list[dict[str, Any]] = tomllib.loads(lock.read_text(encoding="utf-8"))["packages"]
        return packages

    def torch(self) -> list[str]:
        """PyTorch as a requirement, from its own index; none where it is there, comes from elsewhere or can't be had.

        Raises:
            NotInstalled: it can't be had from the index that the reader named.
        """
        order = self.order
        if order.torch_index == "pypi" or "torch" in installed(order.environment):
            return []
        flags = ["--no-deps", "--default-index", order.torch_index, *order.constraint()]
        try:
            wheel = self.resolve(["torch"], *flags, timeout=None if order.torch_must else 8)[0]["wheels"][0]
        except UvFailed as failure:
            no_torch_there(order, str(failure))
            return []
        digest = wheel.get("hashes", {}).get("sha256")
        return [f"torch @ {wheel['url']}" + (f"#sha256={digest}" if digest else "")]

    def size(self, torch: list[str]) -> float:
        """Says how large all that is missing is. Returns the megabytes on disk, or 0 where the index names no sizes."""
        folders = [package.partition("[") for package in self.order.packages]
        uris = [f"-e {Path(folder).absolute().as_uri()}{''.join(extras)}" for folder, *extras in folders]
        there, download, local = installed(self.order.environment), 0.0, 0.0
        missing = [
            package
            for package in self.resolve(["pip", *uris, *torch], *self.flags)
            if "directory" not in package and there.get(package["name"]) != package["version"]
        ]
        for package in missing:
            file = (package.get("wheels") or [package.get("archive") or package["sdist"]])[0]
            url = urllib.parse.urlsplit(file.get("url", ""))
            if url.scheme == "file":
                local += Path(urllib.request.url2pathname(url.path)).stat().st_size / 1e6
            elif "size" in file:
                download += file["size"] / 1e6
            elif torch and package["name"] == "torch":
                download += PYTORCH_FOR_CPU_MB
            else:
                print("Installing the course …", flush=True)
                return 0
        if not missing:
            print("All packages are here already.", flush=True)
            return 0
        has_cuda = any(package["name"].startswith("nvidia-") for package in missing)
        disk = (download + local) * (UNPACKED_CUDA if has_cuda else UNPACKED)
        how = "at most" if self.keeps_cache else "about"
        print(
            f"Installing {len(missing)} packages: {how} {download:.0f} MB to download, {disk / 1000:.1f} GB on disk.",
            flush=True,
        )
        free = shutil.disk_usage(self.order.environment).free / 1e6
        if free < disk and not self.keeps_cache:
            raise NotInstalled(f"the disk of {self.order.environment} has {free / 1000:.1f} GB left. Free some space.")
        return disk

    def install(self, torch: list[str], disk: float) -> None:
        """Downloads, unpacks and installs under a bar, which shows what is on disk of what will be."""
        command = [self.program, "pip", "install", "--python", self.order.python]
        command += [*self.flags, *torch, *self.order.requirements()]
        bar = Bar(self.cache, disk, self.keeps_cache)
        with tempfile.TemporaryFile() as said:
            with subprocess.Popen(command, env=os.environ | self.variables, stdout=said, stderr=said) as process:
                try:
                    while process.poll() is None:
                        time.sleep(0.2)
                        bar.show()
                finally:
                    bar.clear()
                    process.terminate()
            if process.returncode:
                said.seek(0)
                raise UvFailed(said.read().decode(errors="replace"))
        if not self.keeps_cache:
            shutil.rmtree(self.cache, ignore_errors=True)


class Bar:
    """How many megabytes uv has unpacked in its cache, of how many: a bar on a terminal, a line every ten seconds elsewhere."""

    def __init__(self, cache: Path, total: float, keeps_cache: bool) -> None:
        self.cache, self.total, self.last = cache, total, time.monotonic()
        self.is_terminal = sys.stdout.isatty()
        self.others = {*cache.glob(".tmp*"), *(cache.glob("archive-v*/*") if keeps_cache else ())}  # not this time's
        self.whole: dict[Path, float] = {}  # archives are complete when they have their name
        self.most = 0.0  # while one gets its name, it may be missed

    def done(self) -> float:
        for archive in {*self.cache.glob("archive-v*/*")} - self.others - self.whole.keys():
            self.whole[archive] = megabytes(archive)
        growing = {*self.cache.glob(".tmp*")} - self.others
        self.most = max(self.most, sum(self.whole.values()) + sum(map(megabytes, growing)))
        return self.most

    def show(self) -> None:
        if time.monotonic() - self.last < (0.5 if self.is_terminal else 10):
            return
        self.last = time.monotonic()
        done = self.done()
        part = min(done / self.total, 0.99) if self.total else 0
        text = f"{part * self.total:.0f} of about {self.total:.0f} MB on disk" if part else f"{done:.0f} MB on disk"
        if self.is_terminal:
            print(f"\r[{'#' * int(40 * part):40}] {text}", end="", flush=True)
        else:
            print(text, flush=True)

    def clear(self) -> None:
        if self.is_terminal:
            print(f"\r{'':78}\r", end="", flush=True)


def megabytes(folder: Path) -> float:
    """How large all files below a folder are, which may be changing."""
    total = 0
    for top, _, names in os.walk(folder):
        for name in names:
            with contextlib.suppress(OSError):
                total += os.lstat(os.path.join(top, name)).st_size
    return total / 1e6
