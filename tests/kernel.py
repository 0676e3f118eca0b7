"""A student's kernel, as far as their points go: a notebook's cells run from top to bottom in IPython, and each check says what it says there.

It is a process that has imported everything and forks for each notebook, so that a test can run hundreds of them.
"""

from __future__ import annotations

import contextlib
import json
import os
import subprocess
import sys
from collections.abc import Iterator
from typing import IO, Any

PROGRAM = f"import sys; sys.path.insert(0, {os.path.dirname(__file__)!r}); import kernel; kernel.serve()"
NOTEBOOKS = ("00_start_here", "02_feed_forward")  # that tests edit


class Kernel:
    """The process, seen from a test."""

    def __init__(self) -> None:
        settings = os.environ | {"MPLBACKEND": "agg", "OMP_NUM_THREADS": "1"}
        command = [sys.executable, "-c", PROGRAM]
        self._process = subprocess.Popen(
            command, stdin=subprocess.PIPE, stdout=subprocess.PIPE, env=settings, text=True
        )

    def run(self, notebook: dict[str, Any]) -> dict[str, list[dict[str, Any]]]:
        """What each check said of each exercise, by its name, in the order in which it was said, as a verdict's JSON data."""
        cells = [cell for cell in notebook["cells"] if cell["cell_type"] == "code"]
        verdicts: dict[str, list[dict[str, Any]]] = self.run_sources(["".join(cell["source"]) for cell in cells])[
            "said"
        ]
        return verdicts

    def run_sources(self, sources: list[str], name: str = "") -> dict[str, Any]:
        """Run cells: "said" is what `run` returns, and "value" what they have left under a name, as JSON data."""
        assert self._process.stdin and self._process.stdout
        self._process.stdin.write(json.dumps([sources, name]) + "\n")
        self._process.stdin.flush()
        answer: dict[str, Any] = json.loads(self._process.stdout.readline())
        return answer

    def close(self) -> None:
        """End it."""
        self._process.kill()
        self._process.wait()


@contextlib.contextmanager
def student_kernel() -> Iterator[Kernel]:
    """A kernel for a test's notebooks."""
    kernel = Kernel()
    try:
        yield kernel
    finally:
        kernel.close()


def serve() -> None:
    """In the process: run one notebook after the other, each in a fork."""
    import torch
    from IPython.core.interactiveshell import InteractiveShell

    torch.set_num_threads(1)
    shell = InteractiveShell.instance()
    _warm_up(shell)
    while line := sys.stdin.readline():
        reading, writing = os.pipe()
        child = os.fork()
        if child == 0:
            os.close(reading)
            with os.fdopen(writing, "w") as answer:
                sources, name = json.loads(line)
                _run(shell, sources, name, answer)
            os._exit(0)
        os.close(writing)
        with os.fdopen(reading) as answer:
            text = answer.read()
        os.waitpid(child, 0)
        print(text or '{"said": {}, "value": null}', flush=True)


def _warm_up(shell: Any) -> None:
    """Run every notebook once as it was handed out, so that no fork has to read what all of them need."""
    from IPython.utils.capture import capture_output

    from autograder.paths import release
    from ffnlab.checking import kept_code, record

    record.save_verdict = lambda _: None  # type: ignore[assignment]
    kept_code.keep = lambda *_: ""
    for name in NOTEBOOKS:
        for cell in json.loads(release(name).read_text(encoding="utf-8"))["cells"]:
            if cell["cell_type"] == "code":
                with capture_output():
                    shell.run_cell("".join(cell["source"]))
    shell.reset(new_session=False)


def _run(shell: Any, sources: list[str], name: str, answer: IO[str]) -> None:
    from IPython.utils.capture import capture_output

    from ffnlab.checking import record

    verdicts: dict[str, list[dict[str, Any]]] = {}

    def save(verdict: Any) -> None:
        verdicts.setdefault(verdict.exercise, []).append(verdict.as_dict())

    record.save_verdict = save
    dump = json.dumps  # a notebook may change what Python has
    for source in sources:
        with capture_output():
            shell.run_cell(source)
    answer.write(dump({"said": verdicts, "value": shell.user_ns.get(name)}))
