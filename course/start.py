"""Start here: `python start.py` makes an environment, installs the course in it and opens JupyterLab.

The first time it needs the network, and says how much it downloads; afterwards JupyterLab opens at once. Nothing but
Python 3.11 to 3.14 is needed, on Linux, macOS or Windows. The project's Makefile calls this file too.
"""

import argparse
import hashlib
import importlib.util
import io
import json
import os
import platform
import re
import shutil
import subprocess
import sys
import sysconfig
from pathlib import Path

# Python 2 can't read the next line, and shows it as its reason to stop.
NEEDED: str = "The course needs Python 3.11, 3.12, 3.13 or 3.14. Install one from https://www.python.org/downloads"
OLDEST, NEWEST = (3, 11), (3, 14)
if sys.version_info < OLDEST:  # stands before all that an older Python can't read
    print(f"{NEEDED} and start this file with it. This is Python {sys.version.split()[0]}.", file=sys.stderr)
    sys.exit(2)

COURSE = Path(__file__).resolve().parent
PYTORCH_FOR_CPU = (
    "https://download.pytorch.org/whl/cpu"  # Linux: the package index's own build brings 2.5 GB for graphics cards
)
QUIET = {  # JupyterLab asks nobody about its news, which would hide a corner of the notebook
    "@jupyterlab/apputils-extension:notification": {"fetchNews": "false", "checkForUpdates": False},
}
# For Jupyter's server: ffnlab/untrusted_notebooks.py.
EXTENSIONS = {"ServerApp": {"jpserver_extensions": {"ffnlab.untrusted_notebooks": True}}}
# The first cell's imports: they leave bytecode and matplotlib's list of fonts behind, and PyTorch's files in memory.
WARM_UP = """import importlib.util, torch, matplotlib.font_manager, anywidget, ipykernel.kernelapp
if importlib.util.find_spec("ffnlab.course"):
    import ffnlab.course.figures.start_here"""
COURSE_VARIABLE = "FFNLAB_COURSE"
ACTIVATION = "COURSE = activate(Course("  # how a package in this folder says that it is the course


class CannotStart(Exception):
    """What went wrong and what to do, in one line."""


def main() -> int:
    """Set up what is missing, then open JupyterLab. Returns the exit status."""
    for stream in (sys.stdout, sys.stderr):
        if isinstance(stream, io.TextIOWrapper):
            stream.reconfigure(errors="replace")  # not every terminal knows Unicode
    options = arguments()
    package = own_package()
    if package:
        os.environ.setdefault(COURSE_VARIABLE, package)
    try:
        if options.bring:
            look_beside("bring.py")
            from bring import bring  # beside this file

            return bring(COURSE, options.bring.expanduser().absolute())
        python, is_new = set_up(options)
        if options.wheelhouse:
            return fill_wheelhouse(python, options)
        if options.check or options.set_up:
            if is_new:
                subprocess.call([python, "-c", WARM_UP], cwd=COURSE, env=keeping_bytecode())
            return subprocess.call([python, "-m", "ffnlab.doctor"], cwd=COURSE) if options.check else 0
        if is_new:  # beside JupyterLab, which needs some seconds of its own
            silent = subprocess.DEVNULL
            subprocess.Popen([python, "-c", WARM_UP], cwd=COURSE, env=keeping_bytecode(), stdout=silent, stderr=silent)
        return open_lab(python, options.port, options.no_browser)
    except CannotStart as problem:
        print(f"start.py: {problem}", file=sys.stderr)
        if os.name == "nt" and window_is_ours():
            input("Press Enter to close this window.")
        return 2
    except KeyboardInterrupt:
        print("\nstart.py: stopped; the same command continues from here.", file=sys.stderr)
        return 130


def arguments() -> argparse.Namespace:
    parser = argparse.ArgumentParser(
        description="Make the course's environment, install the course in it and open JupyterLab."
    )
    parser.add_argument("--no-browser", action="store_true", help="only print JupyterLab's address")
    parser.add_argument("--port", type=int, help="the port of JupyterLab: 8888, or the next free one")
    parser.add_argument(
        "--venv", type=Path, metavar="FOLDER", help="where the environment is, or will be: .venv beside this file"
    )
    parser.add_argument(
        "--torch-index",
        metavar="URL",
        help=f"take PyTorch from this package index; on Linux the default is {PYTORCH_FOR_CPU}, without graphics cards; "
        "`pypi` means the usual index",
    )
    parser.add_argument(
        "--offline",
        type=Path,
        metavar="FOLDER",
        help="install from this folder alone, without network: `--wheelhouse FOLDER` fills it on a computer of the same kind",
    )
    parser.add_argument("--package", default="", metavar="FOLDER[EXTRA]", help="install this package too")
    parser.add_argument(
        "--constraints",
        type=Path,
        default=COURSE / "constraints.txt",
        metavar="FILE",
        help="the versions to install: constraints.txt beside this file",
    )
    only = parser.add_mutually_exclusive_group()
    only.add_argument("--check", action="store_true", help="only set up, and say whether everything works")
    only.add_argument("--set-up", action="store_true", help="only set up")
    only.add_argument(
        "--wheelhouse",
        type=Path,
        metavar="FOLDER",
        help="only set up, and download into this folder all that `--offline FOLDER` needs on a computer without network",
    )
    only.add_argument(
        "--bring",
        type=Path,
        metavar="FOLDER",
        help="only copy your answers from the folder of an earlier edition; nothing is lost in either folder",
    )
    return parser.parse_args()


def own_package() -> str:
    """The package of the course, where it is another one than that of `ffnlab`."""
    for init in sorted(COURSE.glob("*/__init__.py")):
        if any(line.startswith(ACTIVATION) for line in init.read_text(encoding="utf-8").splitlines()):
            return init.parent.name
    return ""


def first_notebook() -> str:
    """Where the first notebook is, below this folder; empty where there is none."""
    notebooks = sorted(path for path in COURSE.glob("[0-9]*/*.ipynb") if path.stem == path.parent.name)
    return notebooks[0].relative_to(COURSE).as_posix() if notebooks else ""


# What can't work, said before anything is made.


def why_unsupported() -> str:
    """Why the course can't run with this Python or on this computer, and what to do instead; empty where it can."""
    this = ".".join(map(str, sys.version_info[:3]))
    built_for = sysconfig.get_platform()
    with_it = "and start this file with it."
    elsewhere = "use another computer, or ask whether your course has a JupyterHub."
    if sys.version_info[:2] > NEWEST:
        return f"the course was not tried with Python {this} yet. {NEEDED} {with_it}"
    if platform.python_implementation() != "CPython":
        return f"PyTorch has no build for {platform.python_implementation()}. {NEEDED} {with_it}"
    if sys.maxsize < 2**32:
        return f"this Python is a 32-bit build, and PyTorch has none for it. Install a 64-bit Python {with_it}"
    if built_for.startswith("macosx"):
        if platform.machine() != "arm64":
            return (
                "PyTorch has no build for Intel Macs, or for an Intel build of Python. If this Mac has an Apple chip, "
                f"install Python from https://www.python.org/downloads {with_it} If not, {elsewhere}"
            )
        if int(platform.mac_ver()[0].partition(".")[0]) < 14:
            return f"PyTorch needs macOS 14 or newer, and this is {platform.mac_ver()[0]}. Update macOS, or {elsewhere}"
        return ""
    if built_for == "win-arm64":
        return f"PyTorch has no build for Python's ARM version on Windows. Install the 64-bit version for x64 {with_it}"
    if "musl" in str(sysconfig.get_config_var("SOABI")):
        return f"PyTorch has no build for Linux with musl, such as Alpine. Take a Linux with glibc, or {elsewhere}"
    if built_for not in ("linux-x86_64", "linux-aarch64", "win-amd64"):
        return f"PyTorch has no build for {built_for}: {elsewhere}"
    libc, version = platform.libc_ver()
    if libc == "glibc" and tuple(map(int, version.split(".")[:2])) < (2, 28):
        return f"PyTorch needs glibc 2.28 or newer, and this Linux has {version}. Take a newer Linux, or {elsewhere}"
    return ""


def look_beside(*names: str) -> None:
    """Whether these parts of the course are here.

    Raises:
        CannotStart: they are not, as where a zip was opened and not unpacked.
    """
    if not all((COURSE / name).exists() for name in names):
        raise CannotStart(
            "the rest of the course is not beside this file. Unpack the whole zip (on Windows: right click, "
            "Extract all), then start the start.py in the folder that appears."
        )


# Where the environment goes.

CLOUD = re.compile(
    r"(OneDrive|Dropbox|Google ?Drive|My Drive|iCloud ?Drive|Mobile Documents|CloudStorage|Nextcloud|ownCloud)\b"
)
LONGEST_IN_ENVIRONMENT = len(r"\Lib\site-packages") + 1 + 167  # a licence in PyTorch's wheel


def environment_folder() -> tuple[Path, str]:
    """Where the environment is, or will be, and why that is not `.venv` beside this file; empty where it is."""
    beside = COURSE / ".venv"
    if (beside / "ffnlab-installed.txt").exists():
        return beside, ""
    if os.name == "nt" and len(str(beside)) + LONGEST_IN_ENVIRONMENT > 259 and not long_paths_are_allowed():
        reason = "this folder's path is too long for Windows"
    elif any(CLOUD.match(part) for part in COURSE.parts):
        cloud = next(part for part in COURSE.parts if CLOUD.match(part))
        reason = f"{cloud} would copy its thousands of files"
    else:
        return beside, ""
    if os.name == "nt":
        own = Path(os.environ.get("LOCALAPPDATA") or Path.home() / "AppData" / "Local")
    elif sys.platform == "darwin":
        own = Path.home() / "Library" / "Application Support"
    else:
        own = Path(os.environ.get("XDG_DATA_HOME") or Path.home() / ".local" / "share")
    return own / "ffnlab" / hashlib.sha256(str(COURSE).encode()).hexdigest()[:8], reason


def long_paths_are_allowed() -> bool:
    """Whether Windows takes paths of more than 259 characters."""
    if sys.platform != "win32":
        return True
    import winreg

    try:
        with winreg.OpenKey(winreg.HKEY_LOCAL_MACHINE, r"SYSTEM\CurrentControlSet\Control\FileSystem") as key:
            return bool(winreg.QueryValueEx(key, "LongPathsEnabled")[0])
    except OSError:
        return False


def set_up(options: argparse.Namespace) -> tuple[str, bool]:
    """Make the environment and install the course, where that is not done yet. Returns its Python, and whether something was installed.

    Raises:
        CannotStart: it can't work here, or one of the steps failed.
    """
    reason = why_unsupported()
    if reason:
        raise CannotStart(reason)
    look_beside("pyproject.toml", "constraints.txt", "ffnlab", "installer.py")
    from installer import NotInstalled, Order, install  # beside this file

    if options.offline:
        options.offline = options.offline.expanduser().absolute()
        if not any(options.offline.glob("*.whl")):
            raise CannotStart(
                f"{options.offline} holds no packages: no file ends in .whl. `--wheelhouse FOLDER` fills a folder."
            )
    if not options.constraints.exists():
        raise CannotStart(f"there is no file {options.constraints}, which --constraints names.")
    environment, reason = (options.venv.expanduser().absolute(), "") if options.venv else environment_folder()
    python = str(environment / ("Scripts/python.exe" if os.name == "nt" else "bin/python"))
    done = environment / "ffnlab-installed.txt"  # says from what, so that a newer course is installed again
    is_done = Path(python).exists() and done.exists() and done.read_text(encoding="utf-8") == fingerprint()
    other = version_of(environment)
    if other and other != ".".join(map(str, sys.version_info[:2])):
        print(
            f"The environment in {environment} was made with Python {other} and keeps it. To make it with another, remove that folder first.",
            flush=True,
        )
    if is_done and not options.package:
        write_settings(environment)  # an environment that an earlier edition made may lack one
        return python, False
    with_pip = not (importlib.util.find_spec("pip") or shutil.which("uv"))  # these install it in less time
    if not runs(python, "import pip" if with_pip else ""):
        make_environment(environment, reason, with_pip)
    packages = [str(COURSE), *([options.package] if options.package else [])]
    order = Order(python, environment, packages, options.constraints, torch_index(options), bool(options.torch_index))
    try:
        install(order._replace(torch_index="pypi", wheelhouse=options.offline) if options.offline else order)
    except NotInstalled as failure:
        raise CannotStart(str(failure)) from None
    write_settings(environment)
    done.write_text(fingerprint(), encoding="utf-8")
    return python, True


def torch_index(options: argparse.Namespace) -> str:
    """Where PyTorch comes from."""
    return options.torch_index or (PYTORCH_FOR_CPU if sys.platform == "linux" else "pypi")


def fill_wheelhouse(python: str, options: argparse.Namespace) -> int:
    """Download what the environment holds for computers without network. Returns the exit status.

    Raises:
        CannotStart: something can't be downloaded or written.
    """
    from installer import NotInstalled, Order, fill  # beside this file

    folder = options.wheelhouse.expanduser().absolute()
    environment = Path(python).parents[1]
    order = Order(python, environment, [], options.constraints, torch_index(options), bool(options.torch_index))
    try:
        wheels = fill(order, folder)
    except (NotInstalled, OSError) as failure:
        raise CannotStart(str(failure)) from None
    size = sum(wheel.stat().st_size for wheel in wheels) / 1e6
    print(
        f"{folder} holds {len(wheels)} packages, {size:.0f} MB. Carry it with the course to a computer with the same system and "
        f"Python {sys.version_info[0]}.{sys.version_info[1]}, and run `python start.py --offline FOLDER` there.",
        flush=True,
    )
    return 0


def write_settings(environment: Path) -> None:
    """Write what JupyterLab and its server read in an environment, where it is not there already."""
    for path, content in (
        (environment / "share" / "jupyter" / "lab" / "settings" / "overrides.json", json.dumps(QUIET)),
        (environment / "etc" / "jupyter" / "jupyter_server_config.d" / "ffnlab.json", json.dumps(EXTENSIONS)),
    ):
        try:
            if not path.is_file() or path.read_text(encoding="utf-8") != content:
                path.parent.mkdir(parents=True, exist_ok=True)
                path.write_text(content, encoding="utf-8")
        except OSError as error:
            print(f"{path} can't be written ({error.strerror}), so JupyterLab runs without it.", file=sys.stderr)


def make_environment(environment: Path, reason: str, with_pip: bool) -> None:
    """Make an environment, or complete one that was left without pip. reason: why it is not `.venv` beside this file, if so.

    Raises:
        CannotStart: it can't be made.
    """
    if with_pip and not importlib.util.find_spec("ensurepip"):
        raise CannotStart(
            "this Python lacks pip and the means to get it. On Debian and Ubuntu, run `sudo apt install python3-venv`."
        )
    print(f"Making an environment in {environment}{' because ' if reason else ''}{reason} …", flush=True)
    command = [sys.executable, "-m", "venv", *([] if with_pip else ["--without-pip"]), str(environment)]
    if subprocess.call(command) != 0:
        raise CannotStart(
            f"could not make the environment. Can {environment.parent} be written? If not, `--venv FOLDER` puts it elsewhere."
        )


def fingerprint() -> str:
    """Where the course is and what it needs, in one line."""
    needs = b"".join((COURSE / name).read_bytes() for name in ("pyproject.toml", "constraints.txt"))
    return f"{hashlib.sha256(needs).hexdigest()} {COURSE}\n"


def version_of(environment: Path) -> str:
    """The minor version of the Python that an environment was made with, such as 3.11; empty where there is none."""
    try:
        settings = (environment / "pyvenv.cfg").read_text(encoding="utf-8")
    except OSError:
        return ""
    found = re.search(r"^version(?:_info)? *= *(\d+\.\d+)", settings, re.MULTILINE)
    return found[1] if found else ""


def keeping_bytecode() -> dict[str, str]:
    """The environment variables, without the one by which every process would compile PyTorch again: pip, too, pays it no attention."""
    return {name: value for name, value in os.environ.items() if name != "PYTHONDONTWRITEBYTECODE"}


def runs(python: str, code: str = "") -> bool:
    return Path(python).exists() and subprocess.call([python, "-c", code], stderr=subprocess.DEVNULL) == 0


# JupyterLab


def open_lab(python: str, port: int | None, no_browser: bool) -> int:
    """Open JupyterLab on the course's folder. Returns its exit status when it is closed."""
    # -P: of a file beside the notebooks that is called as a module of Python's is, nothing runs
    command = [python, "-P", "-m", "jupyterlab", f"--ServerApp.root_dir={COURSE}"]
    command += [f"--LabApp.default_url=/lab/tree/{first_notebook()}", "--log-level=WARN"]
    if port is not None:
        command.append(f"--ServerApp.port={port}")
    if no_browser:
        command.append("--no-browser")
    if hasattr(os, "geteuid") and os.geteuid() == 0:
        command.append("--allow-root")  # as in a container; JupyterLab refuses otherwise
    print("Opening JupyterLab; Ctrl-C here closes it.", flush=True)
    os.chdir(COURSE)
    if os.name != "nt":
        os.execv(python, command)  # signals then reach JupyterLab itself
    process = subprocess.Popen(command)
    while True:  # Ctrl-C reaches JupyterLab too, which asks before it ends
        try:
            return process.wait()
        except KeyboardInterrupt:
            continue


def window_is_ours() -> bool:
    """Whether this window closes with us, as after a double click: no shell has it, only Python and its launcher."""
    if sys.platform != "win32":
        return False
    import ctypes

    kernel = ctypes.WinDLL("kernel32")
    kernel.OpenProcess.restype = ctypes.c_void_p
    processes = (ctypes.c_ulong * 64)()
    for process in processes[: kernel.GetConsoleProcessList(processes, 64)]:
        handle = ctypes.c_void_p(kernel.OpenProcess(0x1000, False, process))  # PROCESS_QUERY_LIMITED_INFORMATION
        path = ctypes.create_unicode_buffer(1024)
        length = ctypes.c_ulong(1024)
        kernel.QueryFullProcessImageNameW(handle, 0, path, ctypes.byref(length))
        kernel.CloseHandle(handle)
        if not Path(path.value).name.lower().startswith("py"):
            return False
    return True


if __name__ == "__main__":
    sys.exit(main())
