"""Nothing that an answer does makes `check`, `quiz`, `progress` or `predict` raise, keeps them busy without end, or changes what the next cell works with."""

from __future__ import annotations

import builtins
import contextlib
import json
import os
import random
import signal
import sys
import tempfile
import threading
import time
import warnings
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any

import numpy as np
import pytest
import torch
from edits import SETTINGS
from IPython.core.interactiveshell import InteractiveShell
from kernel import Kernel, student_kernel
from torch.overrides import TorchFunctionMode, _get_current_function_mode_stack

from ffnlab import check, hint, predict, progress, quiz
from ffnlab.checking import record
from ffnlab.observation import containment
from ffnlab.observation.containment import MAX_CHARACTERS, limit_time
from ffnlab.registry import active_course


def raises(error: BaseException) -> Callable[..., Any]:
    def answer(*_: Any) -> Any:
        raise error

    return answer


class Unspeakable(Exception):
    """An exception that raises another where it is told."""

    def __init__(self, error: BaseException) -> None:
        self.error = error

    def __str__(self) -> str:
        raise self.error


class Own(BaseException):
    pass


class Odd(TorchFunctionMode):
    def __torch_function__(self, func: Any, types: Any, args: Any = (), kwargs: Any = None) -> Any:
        raise RuntimeError("nothing works any more")


def deletes_its_folder(x: Any) -> Any:
    with contextlib.suppress(FileNotFoundError):  # it is gone since the call before
        os.chdir(tempfile.mkdtemp(dir=os.getcwd()))
        os.rmdir(os.getcwd())
    return x.shape


def does(*effects: Callable[[], Any]) -> Callable[[Any], Any]:
    """The right answer to `hello_shape`, which does something else besides."""

    def answer(x: Any) -> Any:
        shape = tuple(x.shape)
        for effect in effects:
            effect()
        return shape

    return answer


def overwrite(name: str) -> None:
    setattr(builtins, name, None)


def seed_all() -> None:
    random.seed(0)
    np.random.seed(0)
    torch.manual_seed(0)


EVIL: dict[str, tuple[Any, float]] = {  # with the points that the answer earns
    "a message that exits": (raises(Unspeakable(SystemExit())), 0),
    "a message that interrupts": (raises(Unspeakable(KeyboardInterrupt())), 0),
    "GeneratorExit": (raises(GeneratorExit()), 0),
    "a BaseException of its own": (raises(Own()), 0),
    "a group of them": (raises(BaseExceptionGroup("all", [Own(), ValueError()])), 0),
    "an interruption": (raises(KeyboardInterrupt()), 0),
    "closed streams": (does(lambda: sys.stdout.close(), lambda: sys.stderr.close()), 2),
    "another stdout": (does(lambda: setattr(sys, "stdout", None)), 2),
    "another folder": (does(lambda: os.chdir("/")), 2),
    "a folder that is gone": (deletes_its_folder, 2),
    "a default device": (does(lambda: torch.set_default_device("meta")), 2),
    "a default dtype": (does(lambda: torch.set_default_dtype(torch.float64)), 2),
    "a mode that stays": (does(Odd().__enter__), 0),
    "inference mode that stays": (does(lambda: torch.inference_mode().__enter__()), 2),
    "no gradients": (does(lambda: torch.set_grad_enabled(False)), 2),
    "threads": (does(lambda: torch.set_num_threads(3)), 2),
    "seeds": (does(seed_all), 2),
    "no len": (does(lambda: overwrite("len")), 0),
    "no isinstance": (does(lambda: overwrite("isinstance")), 0),
    "warnings as errors": (does(lambda: warnings.simplefilter("error")), 2),
    "a million lines": (does(lambda: [print("x") for _ in range(1_000_000)]), 0),
    "300 MB": (does(lambda: [print("x" * 1_000_000) for _ in range(300)]), 0),
}  # fmt: skip


def read_modes() -> Any:
    return _get_current_function_mode_stack()  # type: ignore[no-untyped-call]


def surroundings() -> Any:
    """What the next cell would notice."""
    return (
        os.getcwd(), sys.stdout, sys.stderr, dict(vars(builtins)), warnings.filters[:],
        torch.get_default_device(), torch.get_default_dtype(), torch.is_grad_enabled(), torch.is_inference_mode_enabled(),
        read_modes(), random.getstate(), str(np.random.get_state()), torch.get_rng_state().tolist(),
        torch.get_num_threads(), sys.getswitchinterval(), signal.getsignal(signal.SIGALRM),
    )  # fmt: skip


@pytest.mark.parametrize("what", EVIL)
def test_an_answer_neither_ends_a_check_nor_changes_the_next_cell(
    what: str, tmp_path: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    monkeypatch.chdir(tmp_path)
    answer, points = EVIL[what]
    before = surroundings()
    start = time.process_time()
    assert check("hello_shape", answer) == points
    assert surroundings() == before and time.process_time() - start < 5
    assert "hello_shape" in capsys.readouterr().out
    assert check("hello_shape", lambda x: x.shape) == 2.0


@pytest.mark.parametrize("what", ["meta", "mode", "inference mode", "folder that is gone"])
def test_what_a_cell_has_left_behind_costs_no_points(
    what: str, tmp_path: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    from autograder import keys

    right = keys.find("ffn_forward").the_truth.answer
    monkeypatch.chdir(tmp_path)
    if what == "folder that is gone":
        tmp_path.rmdir()
        assert check("ffn_forward", right) == 4.0
        progress()
        predict(next(iter(active_course().predictions)))
        return
    with {"meta": torch.device("meta"), "mode": Odd(), "inference mode": torch.inference_mode()}[what]:  # type: ignore[attr-defined]
        assert check("ffn_forward", right) == 4.0


def test_names_that_are_none(capsys: pytest.CaptureFixture[str]) -> None:
    for name in list[Any](([], None, {}, 3)):
        assert check(name, 1) == quiz(name, "A") == 0.0
        hint(name)
        predict(name)


def test_an_audit_hook_that_raises_ends_nothing(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    (tmp_path / "00_start_here").mkdir()
    monkeypatch.chdir(tmp_path)
    armed = [True]  # it can't be taken off

    def hook(event: str, arguments: tuple[Any, ...]) -> None:
        if armed and event == "open":
            raise RuntimeError("no files")

    try:
        assert check("hello_shape", does(lambda: sys.addaudithook(hook))) == 2.0
        assert quiz("quiz_rank", "A") == quiz("quiz_rank", "A")
        progress()
    finally:
        armed.clear()
    assert "hello_shape" in capsys.readouterr().out


@pytest.mark.parametrize(
    "points", ["Infinity", "-1", "NaN", "1" + "0" * 400, '"2"', "[2]", "true", "1e308", "[" * 100_000]
)
def test_progress_reads_any_file(
    points: str, tmp_path: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    notebook = tmp_path / "00_start_here"
    notebook.mkdir()
    monkeypatch.chdir(notebook)
    (tmp_path / record.FILE).write_text(f'{{"hello_shape": {{"outcome": [], "points": {points}}}}}')
    (tmp_path / record.GUESSES).write_text(
        json.dumps({name: {"guess": [], "right": 1} for name in active_course().predictions})
    )
    progress()
    predict(next(iter(active_course().predictions)))
    assert "Your progress: " in capsys.readouterr().out


# What never ends.


def endless(x: Any) -> Any:
    while True:
        pass


def endless_and_stubborn(x: Any) -> Any:
    while True:
        try:
            while True:
                x = x + 1
        except:  # noqa: E722  # as beginners write it
            pass


class NeverSaid(Exception):
    def __str__(self) -> str:
        return str(endless(0))


def raises_what_is_never_said(x: Any) -> Any:
    raise NeverSaid


def asleep(x: Any) -> Any:
    time.sleep(600)


def printing(x: Any) -> Any:
    while True:
        print("here")


@pytest.mark.parametrize(
    ("answer", "words"),
    [
        (endless, "stopped after 0.3 seconds"),
        (endless_and_stubborn, "stopped after 0.3 seconds"),
        (asleep, "stopped after 0.3 seconds"),
        (raises_what_is_never_said, "stopped after 0.3 seconds"),
        (printing, f"printed more than {MAX_CHARACTERS:,} characters"),
    ],
)
def test_an_endless_answer_is_stopped_and_told(
    answer: Any, words: str, capsys: pytest.CaptureFixture[str], monkeypatch: pytest.MonkeyPatch, tmp_path: Path
) -> None:
    monkeypatch.chdir(tmp_path)
    assert check("hello_shape", answer, seconds=20 if answer is printing else 0.3) == 0.0
    output = capsys.readouterr().out
    assert words in output and len(output) < 3000
    assert "a loop never ends" in output or "in a loop that never ends" in output


@pytest.mark.parametrize("answer", [endless, endless_and_stubborn])
def test_it_is_stopped_where_the_machine_is_slow(
    answer: Any, capsys: pytest.CaptureFixture[str], monkeypatch: pytest.MonkeyPatch
) -> None:
    """Looking whose code a signal met takes longer than the next signal."""
    is_an_answers = containment._is_an_answers

    def slowly(frame: Any) -> bool:
        until = time.monotonic() + 20 * containment.NEXT_RETRY_DELAY
        while time.monotonic() < until:
            pass
        return is_an_answers(frame)

    monkeypatch.setattr(containment, "_is_an_answers", slowly)
    assert check("hello_shape", answer, seconds=0.3) == 0.0
    assert "stopped after 0.3 seconds" in capsys.readouterr().out


def test_it_is_stopped_without_signals_too(capsys: pytest.CaptureFixture[str]) -> None:
    """As on Windows, and in a kernel's other threads."""
    points: list[float] = []
    thread = threading.Thread(target=lambda: points.append(check("hello_shape", endless, seconds=0.3)), daemon=True)
    thread.start()
    thread.join(15)
    assert points == [0] and "stopped after 0.3 seconds" in capsys.readouterr().out


SLOW = """
from time import monotonic
until = monotonic() + 1
while monotonic() < until:
    pass
value = 3
"""


@pytest.mark.parametrize("in_thread", [False, True])
def test_an_import_is_not_ended_half_way(
    in_thread: bool, capsys: pytest.CaptureFixture[str], monkeypatch: pytest.MonkeyPatch, tmp_path: Path
) -> None:
    """A module that was ended half-way would raise wherever it is imported later, and a restart alone would help."""
    (tmp_path / "slow_to_import.py").write_text(SLOW)
    monkeypatch.syspath_prepend(tmp_path)
    monkeypatch.delitem(sys.modules, "slow_to_import", raising=False)

    def answer(x: Any) -> Any:
        import slow_to_import  # type: ignore[import-not-found]

        while slow_to_import.value:
            pass

    points: list[float] = []
    run = threading.Thread(target=lambda: points.append(check("hello_shape", answer, seconds=0.3)))
    if in_thread:
        run.start()
        run.join(30)
    else:
        run.run()
    assert points == [0] and "stopped after 0.3 seconds" in capsys.readouterr().out
    assert sys.modules["slow_to_import"].value == 3


def test_a_signal_on_its_way_reaches_no_other_handler(monkeypatch: pytest.MonkeyPatch) -> None:
    """In a kernel the other handler is the system's, which ends the process."""
    set_timer = signal.setitimer

    def late(which: int, seconds: float, interval: float = 0.0) -> tuple[float, float]:
        before = set_timer(which, seconds, interval)
        if not seconds:  # the time limit is being taken away, and just then it fires
            signal.raise_signal(signal.SIGALRM)
        return before

    others = set_timer(signal.ITIMER_REAL, 0)  # of this test
    try:
        monkeypatch.setattr(signal, "setitimer", late)
        with limit_time(60):
            pass
        assert signal.getitimer(signal.ITIMER_REAL) == (0.0, 0.0)
    finally:
        set_timer(signal.ITIMER_REAL, *others)


def test_a_slow_answer_is_waited_for_on_request(capsys: pytest.CaptureFixture[str]) -> None:
    slow = does(lambda: time.sleep(0.3))
    assert check("hello_shape", slow, seconds=0.1) == 0.0
    assert "seconds=60" in capsys.readouterr().out
    assert check("hello_shape", slow, seconds=5) == 2.0
    assert check("hello_shape", does(lambda: print("x" * 2_000_000))) == 0.0
    assert check("hello_shape", does(lambda: print("x" * 2_000_000)), characters=100_000_000) == 2.0


# What a panel shows of it.


@pytest.fixture
def shell(monkeypatch: pytest.MonkeyPatch) -> Iterator[InteractiveShell]:
    monkeypatch.setitem(sys.modules, "__main__", sys.modules["__main__"])  # a shell puts its own there
    instance = InteractiveShell.instance()
    instance.run_cell("from ffnlab import check", store_history=True)
    yield instance
    InteractiveShell.clear_instance()


@pytest.fixture
def panel_of(shell: InteractiveShell, capsys: pytest.CaptureFixture[str]) -> Callable[..., str]:
    def run(*cells: str) -> str:
        for cell in cells:
            capsys.readouterr()
            shell.run_cell(cell, store_history=True)
        return capsys.readouterr().out

    return run


RIGHT = "def hello_shape(x):\n    return x.shape"
BROKEN = "def hello_shape(x):\n    return (x.shape"
CHECK = 'check("hello_shape", hello_shape)'


def test_after_a_syntax_error_it_says_that_it_looks_at_the_old_function(panel_of: Callable[..., str]) -> None:
    panel = panel_of(RIGHT, BROKEN, CHECK)
    assert "an earlier version of `hello_shape`" in panel and "SyntaxError in line 2 ('(' was never closed)" in panel
    assert "an earlier version" in panel_of("x = 1", CHECK)
    assert "an earlier version" not in panel_of(RIGHT, "x = (1", CHECK)
    assert "an earlier version of `quiz_rank`" in panel_of(
        'quiz_rank = "A"', 'quiz_rank = "A', 'check("quiz_rank", quiz_rank)'
    )


def test_the_line_in_which_it_was_stopped_is_told(panel_of: Callable[..., str]) -> None:
    loop = "def hello_shape(x):\n    n = 0\n    while n < 1:\n        n = n - 1"
    panel = panel_of(loop, 'check("hello_shape", hello_shape, seconds=0.3)')
    assert "stopped after 0.3 seconds (line " in panel and ("while n < 1:" in panel or "n = n - 1" in panel)


def test_prints_and_warnings_are_bounded_and_named(capsys: pytest.CaptureFixture[str]) -> None:
    def noisy(x: Any) -> Any:
        for turn in range(100):
            print(f"turn {turn}")
            warnings.warn("look out", stacklevel=1)
            warnings.warn(f"in turn {turn}\nand https://pytorch.org", UserWarning, stacklevel=1)
        return x.shape

    assert check("hello_shape", noisy) == 2.0
    output = capsys.readouterr().out
    print_text, warning_text = output.split("  Python warned:\n")
    assert "turn 9\n" in print_text and "turn 10" not in print_text and "… and 790 more lines" in print_text
    assert (
        warning_text.splitlines()[:2] == ["  | UserWarning: look out", "  | UserWarning: in turn 0"]
        and "https" not in warning_text
    )
    assert len(warning_text.splitlines()) == 5


# The question is the same in every kernel.

DIGEST = """
import ffnlab.course  # what a setting has changed is changed before this
from ffnlab.observation.containment import as_in_a_new_notebook, contain
from ffnlab.observation.exercise import public_seed
from ffnlab.registry import active_course
from ffnlab.registry import active_course


def all_inputs():
    import hashlib, torch

    digests = {}
    for name in active_course().notebooks:
        for exercise in active_course().exercises_of(name):
            digest = hashlib.sha256()

            def feed(value):
                if isinstance(value, torch.Tensor):
                    digest.update(repr((value.dtype, value.device.type, tuple(value.shape), value.is_inference())).encode())
                    digest.update(value.detach().contiguous().reshape(-1).view(torch.uint8).numpy().tobytes())
                elif isinstance(value, dict):
                    for key, one in value.items():
                        digest.update(repr(key).encode())
                        feed(one)
                elif isinstance(value, (list, tuple)):
                    for one in value:
                        feed(one)
                elif not callable(value):
                    digest.update(repr(value).encode())

            with contain(), as_in_a_new_notebook():
                for case in range(exercise.cases):
                    feed(exercise.inputs(public_seed(exercise.name, case), case))
            digests[exercise.name] = digest.hexdigest()
    return digests


digests = all_inputs()
"""


@pytest.fixture(scope="module")
def kernel() -> Iterator[Kernel]:
    with student_kernel() as running_kernel:
        yield running_kernel


@pytest.mark.parametrize("setting", SETTINGS)
def test_every_exercise_asks_the_same_whatever_is_set_for_all_code(setting: str, kernel: Kernel) -> None:
    plain = kernel.run_sources([DIGEST], "digests")["value"]
    changed = kernel.run_sources([f"import torch\n{setting}", DIGEST], "digests")["value"]
    assert len(plain) == len(active_course().exercises)
    assert changed == plain


def test_a_float64_notebook_is_told_nothing_of_float32(kernel: Kernel) -> None:
    """Its own default dtype holds while its answer runs, and what the panel says is true there."""
    wrong = "def ffn_forward(x, W1, b1, W2, b2, act):\n    return act(x @ W1 + b1) @ torch.zeros(W2.shape) + b2"
    setting = "import torch\nfrom ffnlab import check\ntorch.set_default_dtype(torch.float64)"
    said = kernel.run_sources([setting, wrong, 'check("ffn_forward", ffn_forward)'])["said"]
    assert "float32" not in said["ffn_forward"][-1]["cause"]
