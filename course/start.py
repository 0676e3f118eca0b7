"""Start here: `python start.py` makes an environment beside this file, installs the course, opens JupyterLab.

The first time takes minutes and needs the network; afterwards it opens at once. Nothing but Python 3.11 or
newer is needed, on Linux, macOS or Windows. `make lab` calls this file too.
"""

import argparse
import hashlib
import json
import os
import shutil
import subprocess
import sys
from pathlib import Path
from typing import Any

OLDEST = (3, 11)
if sys.version_info < OLDEST:  # stands before all that an older Python can't read
    print(
        f"The course needs Python {OLDEST[0]}.{OLDEST[1]} or newer, and this is {sys.version.split()[0]}: "
        "install one from https://www.python.org/downloads and start this file with it.",
        file=sys.stderr,
    )
    sys.exit(2)

COURSE = Path(__file__).resolve().parent
FIRST_NOTEBOOK = "00_start_here/00_start_here.ipynb"
QUIET = {  # JupyterLab asks nobody about its news, which would hide a corner of the notebook
    "@jupyterlab/apputils-extension:notification": {"fetchNews": "false", "checkForUpdates": False},
}


class CannotStart(Exception):
    """What went wrong and what to do, in one line."""


def main() -> int:
    """Set up what is missing, then open JupyterLab. Returns the exit status."""
    options = arguments()
    try:
        if options.bring:
            return bring(options.bring.expanduser().absolute())
        python = set_up(options.venv.expanduser().absolute(), options.torch_index)
        if options.set_up:
            return 0
        if options.check:
            return subprocess.call([python, "-m", "ffnlab.doctor"], cwd=COURSE)
        return open_lab(python, options.port, options.no_browser)
    except CannotStart as problem:
        print(f"start.py: {problem}", file=sys.stderr)
        return 2
    except KeyboardInterrupt:
        print("\nstart.py: stopped; the same command goes on from here.", file=sys.stderr)
        return 130


def arguments() -> argparse.Namespace:
    parser = argparse.ArgumentParser(
        description="Make the course's environment, install the course in it and open JupyterLab."
    )
    parser.add_argument("--no-browser", action="store_true", help="only print JupyterLab's address")
    parser.add_argument("--port", type=int, help="where JupyterLab listens: 8888, or the next free port")
    parser.add_argument(
        "--venv",
        type=Path,
        default=COURSE / ".venv",
        metavar="FOLDER",
        help="where the environment is, or will be: .venv beside this file",
    )
    parser.add_argument(
        "--torch-index",
        metavar="URL",
        help="take PyTorch from this package index; on Linux, "
        "https://download.pytorch.org/whl/cpu spares you gigabytes of CUDA",
    )
    only = parser.add_mutually_exclusive_group()
    only.add_argument("--check", action="store_true", help="only set up, and say whether everything works")
    only.add_argument("--set-up", action="store_true", help="only set up")
    only.add_argument(
        "--bring",
        type=Path,
        metavar="FOLDER",
        help="only bring your answers over from the folder of an earlier edition; nothing is lost in either",
    )
    return parser.parse_args()


def set_up(environment: Path, torch_index: str | None) -> str:
    """Make the environment and install the course, where that is not done yet. Returns its Python.

    Raises:
        CannotStart: one of the steps failed.
    """
    python = str(environment / ("Scripts/python.exe" if os.name == "nt" else "bin/python"))
    done = environment / "ffnlab-installed.txt"  # says from what, so that a newer course is installed again
    if Path(python).exists() and done.exists() and done.read_text(encoding="utf-8") == fingerprint():
        return python
    if not has_pip(python):
        print(f"Making an environment in {environment} …", flush=True)
        run(
            [sys.executable, "-m", "venv", str(environment)],
            "could not make the environment; can the folder be written? "
            "Debian and Ubuntu need `sudo apt install python3-venv` first.",
        )
    print("Installing the course; the first time this takes some minutes …", flush=True)
    install = [python, "-m", "pip", "install", "--disable-pip-version-check"]
    install += ["-c", str(COURSE / "constraints.txt")]
    failed = (
        "could not install the course; pip's reason stands above. "
        "With network and a few gigabytes of disk, the same command goes on from here."
    )
    if torch_index:
        run([*install, "--no-deps", "--index-url", torch_index, "torch"], failed)
    run([*install, "-e", str(COURSE)], failed)
    settings = environment / "share" / "jupyter" / "lab" / "settings"
    settings.mkdir(parents=True, exist_ok=True)
    (settings / "overrides.json").write_text(json.dumps(QUIET), encoding="utf-8")
    done.write_text(fingerprint(), encoding="utf-8")
    return python


def fingerprint() -> str:
    """Where the course is and what it needs, in one line."""
    needs = b"".join((COURSE / name).read_bytes() for name in ("pyproject.toml", "constraints.txt"))
    return f"{hashlib.sha256(needs).hexdigest()} {COURSE}\n"


def has_pip(python: str) -> bool:
    """Whether there is an environment that was made to its end: pip comes last."""
    if not Path(python).exists():
        return False
    asked = subprocess.run([python, "-m", "pip", "--version"], capture_output=True, check=False)
    return asked.returncode == 0


def run(command: list[str], failed: str) -> None:
    """Run a command that shows its progress itself.

    Raises:
        CannotStart: it failed.
    """
    if subprocess.call(command) != 0:
        raise CannotStart(failed)


def open_lab(python: str, port: int | None, no_browser: bool) -> int:
    """Open JupyterLab on the course's folder. Returns its exit status when it is closed."""
    command = [python, "-m", "jupyterlab", f"--ServerApp.root_dir={COURSE}"]
    command += [f"--LabApp.default_url=/lab/tree/{FIRST_NOTEBOOK}", "--log-level=WARN"]
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
    return subprocess.call(command)


# An earlier edition's work.


def bring(old: Path) -> int:
    """Put the answers, cells and progress of an earlier edition's folder into this one's notebooks; says what was brought. Returns the exit status.

    Raises:
        CannotStart: that folder holds no notebook of the course.
    """
    found = [path for path in sorted(COURSE.glob("[0-9][0-9]_*/*.ipynb")) if path.stem == path.parent.name]
    earlier = {path: old / path.parent.name / path.name for path in found}
    if old == COURSE or not any(path.is_file() for path in earlier.values()):
        raise CannotStart(f"{old} holds no notebooks of an earlier edition: name the folder that its start.py is in")
    for path, source in earlier.items():
        if not source.is_file():
            continue
        try:
            notebook, theirs = (json.loads(file.read_text(encoding="utf-8")) for file in (path, source))
            count = brought(notebook["cells"], theirs["cells"])
        except (OSError, ValueError, KeyError, TypeError, AttributeError) as error:
            print(f"{path.stem}: left as it is, {source} can't be read ({type(error).__name__})", file=sys.stderr)
            continue
        if count:
            keep = path.with_name(f"{path.stem}.before.ipynb")
            if not keep.exists():
                shutil.copyfile(path, keep)
            draft = path.with_name(f"{path.name}.draft")
            draft.write_text(json.dumps(notebook, indent=1, ensure_ascii=False) + "\n", encoding="utf-8")
            draft.replace(path)
        print(f"{path.stem}: {count} cell{'' if count == 1 else 's'} brought over")
    for kept in (COURSE / ".progress.json", COURSE / ".predictions.json"):
        if (old / kept.name).is_file() and not kept.exists():
            shutil.copyfile(old / kept.name, kept)
    print("Run the notebooks from top to bottom once more: then each check looks at your answers again.")
    return 0


def brought(cells: list[dict[str, Any]], earlier: list[dict[str, Any]]) -> int:
    """Puts an earlier notebook's answers into the cells of the same names, and all that a reader added behind the cell that it stood behind.

    Returns how many cells that were.
    """
    names = {name_of(cell): cell for cell in cells if name_of(cell)}
    ids = {cell.get("id") for cell in cells}
    texts = {text_of(cell) for cell in cells}
    place, count = "", 0
    for cell in earlier:
        name, text = name_of(cell), text_of(cell)
        answered = bool((cell["metadata"].get("nbgrader") or {}).get("solution"))
        if name in names:
            place = name
            if answered and text_of(names[name]) != text:
                names[name]["source"] = cell["source"]
                if "outputs" in names[name]:
                    names[name].update(outputs=[], execution_count=None)
                count += 1
        elif text.strip() and text not in texts and (answered or (not name and cell.get("id") not in ids)):
            # a cell of the reader's own, or an answer to an exercise that is gone
            added = {**cell, "metadata": {}, **({"outputs": [], "execution_count": None} if "outputs" in cell else {})}
            index = next((i for i, other in enumerate(cells) if place and name_of(other) == place), -1) + 1
            while index < len(cells) and cells[index].get("id", "").startswith("brought-"):
                index += 1
            cells.insert(index, {**added, "id": f"brought-{hashlib.sha256(text.encode()).hexdigest()[:12]}"})
            count += 1
    return count


def name_of(cell: dict[str, Any]) -> str:
    """A cell's name for nbgrader; the reader's own have none."""
    return str((cell.get("metadata", {}).get("nbgrader") or {}).get("grade_id", ""))


def text_of(cell: dict[str, Any]) -> str:
    return "".join(cell.get("source", ""))


if __name__ == "__main__":
    sys.exit(main())
