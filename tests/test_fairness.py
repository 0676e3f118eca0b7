"""Unusual but right submissions: full marks for every one of them. The same corpus goes through plain nbgrader in docs/grading.md."""

from __future__ import annotations

import copy
import json
from collections.abc import Callable

import nbformat
import pytest
from attacks import EXERCISE, START, Notebook
from conftest import needs_bubblewrap
from test_program import ANSWER as RIGHT
from test_program import answered, place

from autograder.engine.grade_submission import grade_submission
from autograder.jail.sandbox import Jail
from autograder.reference.draws import hidden_seeds
from ffnlab.checking.verdict import Outcome
from ffnlab.registry import active_course

SEEDS = {e.name: hidden_seeds(e, b"a test's secret") for e in active_course().exercises_of(START)}
CORPUS: dict[str, Callable[[], bytes | Notebook]] = {}


def unusual(what: str) -> Callable[[Callable[[], bytes | Notebook]], Callable[[], bytes | Notebook]]:
    def keep(make: Callable[[], bytes | Notebook]) -> Callable[[], bytes | Notebook]:
        CORPUS[what] = make
        return make

    return keep


def typed(what: str, source: str) -> None:
    """An unusual answer, typed into the exercise's own cell."""
    CORPUS[what] = lambda: answered(source)


def code(source: str) -> Notebook:
    return {**nbformat.v4.new_code_cell(source)}


def before(notebook: Notebook, *sources: str) -> Notebook:
    """The notebook with cells of the student's own before the exercise."""
    where = place(notebook, EXERCISE)
    notebook["cells"][where:where] = [code(source) for source in sources]
    return notebook


INSIDE = "def hello_shape(x):\n    {}\n    return tuple(x.shape)"
typed("it warns", "import warnings\n" + INSIDE.format("warnings.warn('look out')"))
typed(
    "it draws a progress bar on stderr",
    "import sys\n" + INSIDE.format("print('\\r50% |####    |', end='', file=sys.stderr)"),
)
typed("it prints", "print('hello')\n" + INSIDE.format("print(x)"))
typed("it logs", "import logging\nlogging.basicConfig(level=10)\n" + INSIDE.format("logging.warning('seen')"))
typed("a line magic", "%matplotlib inline\n" + RIGHT)
typed("a cell magic", "%%time\n" + RIGHT)
typed("a shell command", "!echo hello\n" + RIGHT)
typed("help with a question mark", "tuple?\n" + RIGHT)
typed("from __future__", "from __future__ import annotations\n" + RIGHT)
typed("star imports", "from math import *\nfrom torch import *\n" + RIGHT)
typed("a lambda", "hello_shape = lambda x: tuple(x.shape)")
typed(
    "a callable object",
    "class Shape:\n    def __call__(self, x):\n        return tuple(x.shape)\nhello_shape = Shape()",
)
typed("a partial function", "from functools import partial\nhello_shape = partial(lambda y, x: tuple(x.shape), 0)")
typed("a cached function", "from functools import lru_cache\n\n@lru_cache\n" + RIGHT)
typed("a decorated function", "def quiet(f):\n    return lambda *a, **k: f(*a, **k)\n\n@quiet\n" + RIGHT)
typed("Windows line ends", RIGHT.replace("\n", "\r\n"))
typed("old Macintosh line ends", RIGHT.replace("\n", "\r"))
typed("tabs", "def hello_shape(x):\n\treturn tuple(x.shape)")
typed("Unicode names", "def hello_shape(x):\n    größe_名 = x.shape\n    return tuple(größe_名)")
typed("an emoji in a comment", RIGHT + "  # 🎉")
typed("a name of ours used again", "check = hint = progress = None\n" + RIGHT)
typed("a helper of ours redefined", "import ffnlab\nffnlab.check = print\n" + RIGHT)
typed("torch.Size", "def hello_shape(x):\n    return x.shape")
typed("a global switch", "import torch\ntorch.set_grad_enabled(False)\n" + RIGHT)
typed("another default dtype", "import torch\ntorch.set_default_dtype(torch.float64)\n" + RIGHT)
typed(
    "seeds and threads",
    "import random, torch\nrandom.seed(0); torch.manual_seed(0); torch.set_num_threads(2)\n" + RIGHT,
)
typed("numpy's error state", "import numpy as np\nnp.seterr(all='raise')\n" + RIGHT)
typed("warnings as errors", "import warnings\nwarnings.simplefilter('error')\n" + RIGHT)
typed("a recursion limit", "import sys\nsys.setrecursionlimit(200)\n" + RIGHT)
typed("another folder", "import os\nos.chdir('/')\n" + RIGHT)
typed(
    "a thread that goes on",
    "import threading, time\nthreading.Thread(target=time.sleep, args=(30,), daemon=True).start()\n" + RIGHT,
)
typed("a plot", "import matplotlib.pyplot as plt\nplt.plot([1, 2])\nplt.show()\n" + RIGHT)
typed("a widget", "import ipywidgets\ndisplay(ipywidgets.IntSlider())\n" + RIGHT)
typed("a long silence", "import time\ntime.sleep(2)\n" + RIGHT)


@unusual("the answer is spread over cells")
def _() -> Notebook:
    return before(
        answered("hello_shape = of_tensor"),
        "def sizes(x):\n    return x.shape",
        "def of_tensor(x):\n    return tuple(sizes(x))",
    )


@unusual("the answer stands in a cell of the student's own, ours was deleted")
def _() -> Notebook:
    notebook = before(answered(), RIGHT)
    del notebook["cells"][place(notebook, EXERCISE)]
    return notebook


@unusual("an extra cell before it raises")
def _() -> Notebook:
    return before(answered(RIGHT), "1 / 0", "this is not Python")


@unusual("markdown cells of the student's own")
def _() -> Notebook:
    notebook = answered(RIGHT)
    notebook["cells"].insert(3, {**nbformat.v4.new_markdown_cell("# my notes")})
    return notebook


@unusual("every cell of ours was deleted but the answer's")
def _() -> Notebook:
    notebook = answered(RIGHT)
    notebook["cells"] = [notebook["cells"][place(notebook, EXERCISE)]]
    return notebook


@unusual("the answer's cell was copied, with its metadata")
def _() -> Notebook:
    notebook = answered(RIGHT)
    where = place(notebook, EXERCISE)
    notebook["cells"].insert(where, copy.deepcopy(notebook["cells"][where]) | {"id": "a-copy", "source": "draft = 1"})
    return notebook


@unusual("the check was copied, with its metadata")
def _() -> Notebook:
    notebook = answered(RIGHT)
    where = place(notebook, f"check-{EXERCISE}")
    notebook["cells"].insert(where, copy.deepcopy(notebook["cells"][where]) | {"id": "a-copy"})
    return notebook


@unusual("the cells are in reverse order")
def _() -> Notebook:
    notebook = answered(RIGHT)
    notebook["cells"].reverse()
    return notebook


@unusual("the answer stands after its check")
def _() -> Notebook:
    notebook = answered(RIGHT)
    notebook["cells"].append(notebook["cells"].pop(place(notebook, EXERCISE)))
    return notebook


@unusual("the `grade` flag of the check was switched off")
def _() -> Notebook:
    notebook = answered(RIGHT)
    notebook["cells"][place(notebook, f"check-{EXERCISE}")]["metadata"]["nbgrader"]["grade"] = False
    return notebook


@unusual("all metadata were lost")
def _() -> Notebook:
    notebook = answered(RIGHT)
    for cell in notebook["cells"]:
        cell["metadata"] = {}
    return notebook


@unusual("another kernel")
def _() -> Notebook:
    notebook = answered(RIGHT)
    notebook["metadata"]["kernelspec"] = {"display_name": "mine", "language": "python", "name": "conda-env-mine-py"}
    return notebook


@unusual("an output of five megabytes")
def _() -> Notebook:
    notebook = answered(RIGHT)
    output = {"output_type": "stream", "name": "stdout", "text": ["x" * 1024 + "\n"] * 5 * 1024}
    notebook["cells"][place(notebook, "imports")]["outputs"] = [output]
    return notebook


@unusual("a byte order mark")
def _() -> bytes:
    return b"\xef\xbb\xbf" + json.dumps(answered(RIGHT)).encode()


@unusual("sources as lists of lines")
def _() -> Notebook:
    notebook = answered(RIGHT)
    for cell in notebook["cells"]:
        cell["source"] = "".join(cell["source"]).splitlines(keepends=True)
    return notebook


def as_format(minor: int) -> Callable[[], Notebook]:
    def make() -> Notebook:
        notebook = answered(RIGHT) | {"nbformat_minor": minor}
        for cell in notebook["cells"] if minor < 5 else []:
            cell.pop("id", None)
        return notebook

    return make


for minor in range(6):
    CORPUS[f"notebook format 4.{minor}"] = as_format(minor)


def data(what: str) -> bytes:
    """The submitted bytes."""
    made = CORPUS[what]()
    return made if isinstance(made, bytes) else json.dumps(made).encode()


@needs_bubblewrap
@pytest.mark.parametrize("what", CORPUS)
def test_an_unusual_but_right_submission_earns_full_marks(what: str, jail: Jail) -> None:
    verdict = grade_submission(START, data(what), jail, SEEDS).verdicts[EXERCISE]
    assert (verdict.outcome, verdict.points) == (Outcome.EARNED, active_course().exercise(EXERCISE).points), (
        verdict.message
    )
