"""The site from nothing, or from what has changed: notebooks run and drawn, each in a process of its own; then Sphinx, for which a warning is an error."""

from __future__ import annotations

import hashlib
import json
import multiprocessing
import os
import re
import shutil
import subprocess
import sys
from collections.abc import Callable, Sequence
from concurrent.futures import ProcessPoolExecutor, as_completed
from dataclasses import asdict, dataclass
from importlib import metadata
from multiprocessing.connection import Connection
from pathlib import Path

from autograder import source_hash
from autograder.errors import UserError
from autograder.files import replace
from autograder.paths import root, source
from autograder.site import documents
from ffnlab.registry import DEFAULT, active_course

HERE = Path(__file__).parent
MADE_BY = [HERE / name for name in ("running.py", "needed.py", "pages.py")]
# A process for each notebook, forked from one that has loaded what all of them need; elsewhere each loads it for itself.
START = "forkserver" if "forkserver" in multiprocessing.get_all_start_methods() else "spawn"
PRELOAD_MODULES = [
    "autograder.site.pages",
    "autograder.site.running",
    "matplotlib.pyplot",
    "matplotlib_inline.backend_inline",
]
MAX_SITE_BYTES = 12_000_000  # bytes of the whole site on a disk
MAX_PAGE_BYTES = 1_500_000  # bytes that a page with all its figures may send, as a server packs them


@dataclass(frozen=True)
class FigurePage:
    """What is known of a figure that was drawn."""

    name: str
    states: int  # how many settings it has
    pictures: int  # how many of them look different
    wire: int  # bytes when sent


@dataclass(frozen=True)
class Notebook:
    """What is known of a notebook that was run."""

    name: str
    stamp: str  # of all that it was made from
    figures: tuple[FigurePage, ...]


@dataclass(frozen=True)
class BuiltSite:
    """A site."""

    notebooks: tuple[Notebook, ...]
    new_pages: tuple[str, ...]  # the notebooks that were run anew
    wires: dict[str, int]  # by notebook, the bytes that its page and figures send
    pages: int
    size: int  # bytes on the disk


def build(
    target: Path,
    work: Path,
    notebooks: Sequence[str],
    force: bool = False,
    tell: Callable[[str], None] = lambda name: None,
    workers: int | None = None,
    url: str = "",
) -> BuiltSite:
    """Make the site in `target`; `work` keeps what saves time at the next build. `tell` hears of each notebook that is ready.

    url: where the site will be, for what needs whole addresses: the picture that goes with a link, and the page for what is not there.

    Raises:
        UserError: a notebook fails, a page or the site is too heavy, or Sphinx warns.
    """
    inside = work / "source"
    names = _draw(inside, work, [name for name in notebooks if force or not _is_current(work, name)], tell, workers)
    records = tuple(_read(work, name) for name in notebooks)
    for path in [
        *(inside / "course").glob("*.ipynb"),
        *(inside / "thumbnails").glob("*"),
        *(work / "frames").glob("*"),
        *(target / "course").glob("*.html"),
    ]:
        if path.stem not in (*notebooks, "README"):  # a notebook that is no longer asked for
            if path.is_dir():
                shutil.rmtree(path)
            else:
                path.unlink()
    documents.write(inside, notebooks)
    base = url and f"{url.rstrip('/')}/"
    _sphinx(inside, target, work / "doctrees", base)
    if base:
        _from_everywhere(target / "404.html", base)
    for folder in (work / "frames", inside / "thumbnails"):
        shutil.rmtree(target / folder.name, ignore_errors=True)
        if folder.is_dir():
            shutil.copytree(folder, target / folder.name)
    wires = {notebook.name: _weigh(target, notebook) for notebook in records}
    sizes = {path: path.stat().st_size for path in target.rglob("*") if path.is_file()}
    if (size := sum(sizes.values())) > MAX_SITE_BYTES:
        heaviest = max(sizes, key=lambda path: sizes[path])
        raise UserError(
            f"the site has {weight(size)}, more than {MAX_SITE_BYTES / 1e6:g} MB; its heaviest file is "
            f"{heaviest.relative_to(target).as_posix()}, with {weight(sizes[heaviest])}"
        )
    return BuiltSite(records, tuple(names), wires, sum(path.suffix == ".html" for path in sizes), size)


# Notebooks


def stamp(assignment: str) -> str:
    """A hash of all that a notebook's page is made of: source, imports, exercises, predictions, shipped reference outputs, what makes it, and torch."""
    code = source_hash.version(
        source(assignment),
        active_course().exercises_file(assignment),
        *filter(Path.is_file, [active_course().predictions_file(assignment)]),
        *MADE_BY,
    )
    others = [
        path.read_bytes()
        # The source's text is in its comments, which the hash of its code leaves out.
        for path in (source(assignment), active_course().reference_file(assignment), root() / "nbgrader_config.py")
        if path.is_file()
    ]
    return hashlib.sha256(b"\0".join([code.encode(), metadata.version("torch").encode(), *others])).hexdigest()[:16]


def _is_current(work: Path, name: str) -> bool:
    try:
        return _read(work, name).stamp == stamp(name)
    except (OSError, ValueError, KeyError, TypeError):
        return False


def _read(work: Path, name: str) -> Notebook:
    data = json.loads((work / f"{name}.json").read_text(encoding="utf-8"))
    return Notebook(data["name"], data["stamp"], tuple(FigurePage(**figure) for figure in data["figures"]))


def _draw(inside: Path, work: Path, names: list[str], tell: Callable[[str], None], workers: int | None) -> list[str]:
    """Draw these notebooks in a process that gives dictionaries and sets the same order each time; returns the names.

    Raises:
        UserError: a notebook fails.
    """
    if not names:
        return []
    context = multiprocessing.get_context("spawn")
    news, sender = context.Pipe(duplex=False)
    count = min(workers or os.cpu_count() or 1, len(names))
    old = os.environ.get("PYTHONHASHSEED")
    os.environ["PYTHONHASHSEED"] = "0"
    try:
        process = context.Process(target=_draw_all, args=(inside, work, names, count, sender))
        process.start()
    finally:
        os.environ.pop("PYTHONHASHSEED") if old is None else os.environ.__setitem__("PYTHONHASHSEED", old)
    sender.close()
    waiting_names = set(names)
    try:
        while waiting_names:
            message = news.recv()
            if isinstance(message, BaseException):
                raise message
            tell(message)
            waiting_names.remove(message)
    except EOFError:
        raise UserError(
            f"the process that draws notebooks has ended before {', '.join(sorted(waiting_names))}"
        ) from None
    except KeyboardInterrupt:
        process.terminate()
        raise
    finally:
        process.join()
    return names


def _draw_all(inside: Path, work: Path, names: list[str], count: int, sender: Connection) -> None:
    """Draw each notebook in a process of its own, and send the name of each that is ready, or the error that ended it."""
    try:
        context = multiprocessing.get_context(START)
        if START == "forkserver":
            context.set_forkserver_preload(PRELOAD_MODULES)
        with ProcessPoolExecutor(count, mp_context=context, max_tasks_per_child=1) as pool:
            names_by_future = {pool.submit(draw, inside, work, name): name for name in names}
            try:
                for future in as_completed(names_by_future):
                    future.result()
                    sender.send(names_by_future[future])
            except BaseException:
                pool.shutdown(cancel_futures=True)
                raise
    except Exception as error:
        sender.send(error)


def draw(inside: Path, work: Path, name: str) -> None:
    """Run a notebook, and write its page, its pictures, and at last what is known of it. Changes this process for good."""
    from autograder.site import pages, running

    before = stamp(name)  # a source that changes while this runs is drawn again
    execution = running.run(name)
    folder = work / "frames" / name
    shutil.rmtree(folder, ignore_errors=True)
    for figure in execution.figures:
        replace(folder / f"{figure.name}.json.gz", figure.archive)
    documents.keep(inside / "course" / f"{name}.ipynb", pages.page(name, execution))
    figures = tuple(
        FigurePage(figure.name, len(figure.pictures["frames"]), len(figure.pictures["pictures"]), len(figure.archive))
        for figure in execution.figures
    )
    replace(work / f"{name}.json", json.dumps(asdict(Notebook(name, before, figures)), indent=1))


def _weigh(target: Path, notebook: Notebook) -> int:
    """The bytes that a page and all its figures send.

    Raises:
        UserError: they are too many; the heaviest figure is named.
    """
    from autograder.authoring.frames import compress

    page = len(compress((target / "course" / f"{notebook.name}.html").read_text(encoding="utf-8")))
    total = page + sum(figure.wire for figure in notebook.figures)
    if total > MAX_PAGE_BYTES:
        most = max(notebook.figures, key=lambda figure: figure.wire)
        raise UserError(
            f"the page of {notebook.name} sends {total / 1e6:.2f} MB, more than {MAX_PAGE_BYTES / 1e6:g}: its heaviest figure is {most.name}, "
            f"with {most.wire / 1e6:.2f} MB for {most.states} settings"
        )
    return total


# Sphinx


def _from_everywhere(page: Path, base: str) -> None:
    """Make the links of a page absolute: a server shows it for addresses in any folder."""
    html = page.read_text(encoding="utf-8")
    absolute = re.sub(r'(\b(?:href|src|action|data-content_root)=")(?!#|/|[a-z]+:)', rf"\g<1>{base}", html)
    replace(page, absolute.replace(f"{base}./", base))


def _sphinx(inside: Path, target: Path, doctrees: Path, base: str = "") -> None:
    """Make the pages, in a process of its own: Sphinx changes much of the one it is in.

    Raises:
        UserError: there is a warning.
    """
    options = [
        "-b", "html", "-q", "-W", "--keep-going", "--no-color",
        "-c", str(HERE), "-d", str(doctrees), "-D", f"html_baseurl={base}",
    ]  # fmt: skip
    if active_course().package != DEFAULT:
        options += ["-D", f"project={documents.title()}", "-D", f"html_title={documents.title()}"]
    process = subprocess.run(
        [sys.executable, "-m", "sphinx", *options, str(inside), str(target)],
        stdout=subprocess.DEVNULL, stderr=subprocess.PIPE, text=True, encoding="utf-8", check=False,
    )  # fmt: skip
    if process.returncode:
        lines = [line.removeprefix(f"{inside}/") for line in process.stderr.splitlines() if line.strip()]
        raise UserError("\n".join(lines[:10]))


def weight(size: int) -> str:
    """A number of bytes as people say it."""
    return f"{size / 1e6:.1f} MB" if size >= 1e6 else f"{size / 1e3:.0f} kB"


def usual() -> tuple[Path, Path]:
    """Where the site is made, and where what saves time is kept."""
    return root() / "dist" / "site", root() / "build" / "site"
