"""What keeps an answer's code within bounds where it runs beside the notebook: seconds, printed characters, and what it may change for the next cell."""

from __future__ import annotations

import builtins
import contextlib
import ctypes
import io
import math
import os
import random
import signal
import sys
import threading
import warnings
from collections.abc import Callable, Iterator
from dataclasses import dataclass, field
from pathlib import Path
from time import monotonic
from types import FrameType

import numpy as np
import torch
import torch.utils._device
from torch.overrides import _get_current_function_mode_stack, _pop_mode, _push_mode

from ffnlab.phrases import plural

MAX_SECONDS = 10.0
MIN_RECURSION_LIMIT = 3000  # what IPython's kernel has
MAX_CHARACTERS = 1_000_000
FIRST_RETRY_DELAY = 0.1  # seconds until code that has caught its interruption is interrupted once more, and then every NEXT_RETRY_DELAY seconds:
NEXT_RETRY_DELAY = 1e-4  # `try: … except: pass` in a loop ends only where another comes before the loop goes on
IMPORT_SECONDS = 60.0  # seconds that an import may last beyond an answer's time: one that ends half-way leaves a module that nothing in this kernel can mend
IMPORT_RETRY_DELAY = 0.05  # seconds between two looks at whether such an import has ended; each look takes time from it


class Stop(BaseException):
    """Ends an answer's code. An `except Exception` in it does not catch this."""


class TimeUp(Stop):
    """The code has run for as long as it may."""


class TooMuchOutput(Stop):
    """The code has printed as much as it may."""


class Console(io.TextIOBase):
    """What takes the place of stdout and stderr. It keeps the beginning, ends code that writes more than `most` characters, and can't be closed."""

    CAPACITY = 20_000  # characters

    def __init__(self, most: float) -> None:
        self._most = most
        self._beginning = ""
        self._length = self._lines = 0

    def write(self, text: str) -> int:
        if len(self._beginning) < self.CAPACITY:
            self._beginning += text[: self.CAPACITY - len(self._beginning)]
        self._length += len(text)
        self._lines += text.count("\n")
        if self._length > self._most:
            raise TooMuchOutput
        return len(text)

    def writable(self) -> bool:
        return True

    def close(self) -> None:
        pass

    def text(self, lines: int, characters: int) -> str:
        """What was written, at most so much of its beginning, and then a word on what is left out."""
        first = "".join(self._beginning.splitlines(keepends=True)[:lines])[:characters]
        if len(first) < self._length and not first.endswith("\n"):
            return f"{first}… (cut)"
        remainder = self._lines - first.count("\n")
        text = first.rstrip("\n")
        return f"{text}\n… and {plural(f'{remainder:,}', 'more line')}" if remainder > 0 else text


@dataclass
class Output:
    """What an answer's code has written and what Python and torch have warned of meanwhile."""

    console: Console
    warnings: list[str] = field(default_factory=list)


@contextlib.contextmanager
def contain(characters: float = float("inf")) -> Iterator[Output]:
    """Run code in this context without a trace: what it prints, warns and draws as a progress bar is collected, and what it has set for all code is set back.

    That is the folder, the streams, Python's built-ins, the seeds, and torch's defaults and threads. Its work begins as in a new notebook: tensors are on
    the CPU, gradients are kept, nothing looks on. The default dtype and all that is Python's or NumPy's is the student's own; what must not
    depend on that runs in `as_in_a_new_notebook`. `check` and grading both run an answer here, so that both find the same.

    Raises:
        TooMuchOutput: within the context, where more than so many characters are written.
    """
    output = Output(Console(characters))
    names = builtins.__dict__
    before = names.copy()
    with (
        _torch_as_it_was(),
        _folder_and_seeds(),
        warnings.catch_warnings(),
        contextlib.redirect_stdout(output.console),
        contextlib.redirect_stderr(output.console),
    ):
        warnings.simplefilter("default")  # once for each place
        warnings.showwarning = _collector(output.warnings)
        try:
            yield output
        finally:
            names.update(before)  # what is set back after this calls them


def default_dtype() -> str:
    """What torch makes a tensor of where nobody says which dtype, as in "float32"."""
    return str(torch.get_default_dtype()).removeprefix("torch.")


# As they were when this was imported: a notebook may set its own `print` or `sum`.
BUILTINS = builtins.__dict__.copy()


@contextlib.contextmanager
def as_in_a_new_notebook() -> Iterator[None]:
    """Run code of ours in this context with the settings of a new notebook, whatever a student has set for all code; theirs are back afterwards.

    So inputs are drawn, and what was seen is compared, in the same way in every kernel and on the grader's machine.
    """
    names = builtins.__dict__
    theirs = names.copy()
    is_deterministic = torch.are_deterministic_algorithms_enabled()
    warns_only = torch.is_deterministic_algorithms_warn_only_enabled()
    precision = torch.get_float32_matmul_precision()
    recursion_limit = sys.getrecursionlimit()
    names.update(BUILTINS)
    try:
        with (
            _torch_as_it_was(),
            torch.autocast("cpu", enabled=False),
            torch.autograd.set_detect_anomaly(False),
            np.errstate(divide="warn", over="warn", under="ignore", invalid="warn"),
            warnings.catch_warnings(action="ignore"),
        ):
            torch.set_default_dtype(torch.float32)
            torch.set_num_threads(1)
            torch.use_deterministic_algorithms(False)
            torch.set_float32_matmul_precision("highest")
            sys.setrecursionlimit(max(recursion_limit, MIN_RECURSION_LIMIT))
            yield
    finally:
        with contextlib.suppress(RecursionError):  # where it is lower than the depth at which this runs
            sys.setrecursionlimit(recursion_limit)
        torch.set_float32_matmul_precision(precision)
        torch.use_deterministic_algorithms(is_deterministic, warn_only=warns_only)
        names.update(theirs)
        for name in BUILTINS.keys() - theirs.keys():
            del names[name]


MAX_WARNINGS = 5


def _collector(messages: list[str]) -> Callable[..., None]:
    """What takes the place of `warnings.showwarning`: each kind of message once, the first line of it."""

    def collect(message: Warning | str, category: type[Warning], *_: object) -> None:
        first = str(message).strip().partition("\n")[0].partition(" (Triggered internally")[0]
        text = f"{category.__name__}: {first[:300]}"
        if text not in messages and len(messages) < MAX_WARNINGS:
            messages.append(text)

    return collect


@contextlib.contextmanager
def _folder_and_seeds() -> Iterator[None]:
    try:
        folder = os.getcwd()
    except OSError:  # it has been deleted
        folder = ""
    python = random.getstate()
    numpy = np.random.get_state()
    of_torch = torch.default_generator.get_state()
    try:
        yield
    finally:
        random.setstate(python)
        np.random.set_state(numpy)
        torch.default_generator.set_state(of_torch)
        if folder:
            with contextlib.suppress(OSError):
                os.chdir(folder)


@contextlib.contextmanager
def _torch_as_it_was() -> Iterator[None]:
    """torch's defaults for code in this context, and what they were before for the code after it. A default device is one of the modes."""
    modes = _without_modes()
    device, context = torch.utils._device.CURRENT_DEVICE, getattr(torch._GLOBAL_DEVICE_CONTEXT, "device_context", None)
    torch.utils._device.CURRENT_DEVICE = torch._GLOBAL_DEVICE_CONTEXT.device_context = None
    dtype = torch.get_default_dtype()
    threads = torch.get_num_threads()
    try:
        with torch.inference_mode(False), torch.enable_grad():
            yield
    finally:
        torch.set_default_dtype(dtype)
        torch.set_num_threads(threads)
        _without_modes()
        torch.utils._device.CURRENT_DEVICE, torch._GLOBAL_DEVICE_CONTEXT.device_context = device, context
        for mode in modes:
            _push_mode(mode)  # type: ignore[no-untyped-call]


def _without_modes() -> list[object]:
    """Take off everything that looks on at torch's functions; returns it, the innermost last."""
    modes: list[object] = _get_current_function_mode_stack()  # type: ignore[no-untyped-call]
    for _ in modes:
        _pop_mode()  # type: ignore[no-untyped-call]
    return modes


@contextlib.contextmanager
def limit_time(seconds: float) -> Iterator[None]:
    """End an answer that `Exercise.observe` runs in this context after so many seconds, and again and again where it catches that and goes on.

    In the main thread of Linux and macOS, where a kernel runs its cells, a signal does that; it also ends a `sleep` or an `input`. On Windows and in other
    threads another thread does, between two steps of Python: a `sleep` lasts as long as it lasts, and ends then. Nowhere does anything end one long
    call into C, such as `sum(itertools.count())`: only the kernel's own restart does.

    Raises:
        TimeUp: within the context.
    """
    if math.isinf(seconds):
        yield
        return
    is_main = threading.current_thread() is threading.main_thread()
    with _by_signal(seconds) if is_main and hasattr(signal, "setitimer") else _by_thread(seconds):
        yield


@contextlib.contextmanager
def _by_signal(seconds: float) -> Iterator[None]:
    waits = iter((FIRST_RETRY_DELAY,))
    over = False
    latest = monotonic() + seconds + IMPORT_SECONDS

    def stop(number: int, frame: FrameType | None) -> None:
        if over:  # it was on its way; one more would meet the handler of whoever comes after, which in a kernel ends it
            return
        # Look first, and set the timer last. Where looking takes longer than the delay, on a busy machine, each signal would else interrupt the handler
        # of the one before it, until Python's recursion limit.
        if _is_in_import(frame) and monotonic() < latest:
            signal.setitimer(signal.ITIMER_REAL, IMPORT_RETRY_DELAY)
            return
        ends_answer = _is_an_answers(frame)
        signal.setitimer(signal.ITIMER_REAL, next(waits, NEXT_RETRY_DELAY))
        if ends_answer:
            raise TimeUp

    handler = signal.signal(signal.SIGALRM, stop)
    others = signal.setitimer(signal.ITIMER_REAL, seconds)
    try:
        yield
    finally:
        over = True
        signal.setitimer(signal.ITIMER_REAL, *others)
        signal.signal(signal.SIGALRM, handler)


@contextlib.contextmanager
def _by_thread(seconds: float) -> Iterator[None]:
    end = threading.Event()
    lock = threading.Lock()
    number = threading.get_ident()
    interrupt = ctypes.pythonapi.PyThreadState_SetAsyncExc
    thread_id = ctypes.c_ulong(number)

    latest = monotonic() + seconds + IMPORT_SECONDS

    def watch() -> None:
        waits = iter((seconds, FIRST_RETRY_DELAY))
        while not end.wait(next(waits, NEXT_RETRY_DELAY)):
            with lock:
                frame = sys._current_frames().get(number)
                if not end.is_set() and _is_an_answers(frame) and not (_is_in_import(frame) and monotonic() < latest):
                    interrupt(thread_id, ctypes.py_object(TimeUp))

    threading.Thread(target=watch, daemon=True).start()
    try:
        yield
    finally:
        with lock:
            end.set()
            interrupt(thread_id, None)  # one that is on its way


EXERCISE = str(Path(__file__).with_name("exercise.py"))


def _is_in_import(frame: FrameType | None) -> bool:
    """Whether this frame, or one that has called it, is Python's own search for a module."""
    while frame:
        if frame.f_code.co_filename == "<frozen importlib._bootstrap>":
            return True
        frame = frame.f_back
    return False


def _is_an_answers(frame: FrameType | None) -> bool:
    """Whether an exception that is raised in this frame ends a probe and the answer in it, and not what tidies up after them."""
    while frame and frame.f_back:
        code = frame.f_back.f_code
        if (code.co_filename, code.co_name) == (EXERCISE, "_observe"):
            return frame.f_code.co_filename == EXERCISE  # what calls the probe, and what reads its exception
        frame = frame.f_back
    return False
