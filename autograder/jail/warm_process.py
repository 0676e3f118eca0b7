"""Inside the jail: the warm process. It imports everything once; then each request on its control socket is one fork, isolated before it serves.

Run by sandbox.py under bubblewrap, with the control socket's number, the limits, and what mounts.py and users.py have prepared.
"""

from __future__ import annotations

import contextlib
import gc
import importlib
import io
import os
import pkgutil
import signal
import socket
from collections.abc import Callable, Iterator, Sequence
from typing import NamedTuple, Never

from autograder.jail import isolate, proofs, seccomp, wire
from autograder.jail.limits import Limits

# student_kernel brings torch: it is imported where it is used, so that the process which waits in isolate.Namespaces() stays small.


def warm_up(also: Sequence[str] = ()) -> None:
    """Import what submissions use, and touch the parts that load lazily, on one thread. `also`: modules to import besides."""
    import matplotlib

    matplotlib.use("Agg")
    import ipywidgets  # noqa: F401
    import matplotlib.pyplot as plt
    import torch
    import torch.nn.functional as F

    import ffnlab
    from autograder.jail import student_kernel
    from ffnlab.registry import DEFAULT, active_course

    _import_all(ffnlab.__name__, leave_out=DEFAULT)
    _import_all(active_course().package)
    for name in also:
        importlib.import_module(name)
    if seccomp.is_supported():
        seccomp.program()  # once for all forks
    torch.set_num_threads(1)
    x = torch.ones(3, 3, requires_grad=True)
    F.gelu(torch.nn.Linear(3, 3)(x)).sum().backward()  # type: ignore[no-untyped-call]
    figure, axes = plt.subplots()
    axes.plot([0, 1])
    figure.savefig(io.BytesIO())
    plt.close(figure)
    student_kernel.shell().run_cell("None")


def _import_all(package: str, leave_out: str = "") -> None:
    """Import a package with all its modules, but for the package `leave_out` in it."""
    for module in pkgutil.iter_modules(importlib.import_module(package).__path__, f"{package}."):
        if module.name != leave_out:
            _import_all(module.name) if module.ispkg else importlib.import_module(module.name)


def main(
    control_number: int,
    mode: str,
    limits: Limits,
    keep: list[str],
    users: list[int],
    private: list[str],
    also: list[str],
) -> None:
    """Serve the control socket until the process that holds the jail goes away.

    mode: of sandbox.Mode. keep: what is mounted below /tmp. users: the first user id for submissions, and how many; none: they run as this user.
    private: paths that no submission may read. also: modules to have imported.
    """
    control = socket.socket(fileno=control_number)
    control.set_inheritable(False)
    _silence()
    isolate.go_sooner()
    os.umask(0o022)  # what is made here, submissions may read
    try:
        namespaces = isolate.Namespaces() if mode == "bubblewrap" else None
    except OSError as error:
        control.sendall(_in_a_line(error) + b"\n")
        return
    warm_up(also)
    gc.freeze()  # a collection in a fork would touch, and so copy, all that was imported here
    gc.enable()  # sandbox.py's command line has it off: importing makes a million objects and no garbage
    isolate.in_huge_pages()
    isolate.undumpable()
    forks = Forks(limits, namespaces, users, keep)
    problem = _problem(forks, mode, private)
    control.sendall((problem or "ready").encode() + b"\n")
    while True:
        message, numbers, _, _ = socket.recv_fds(control, 1, 3)
        if not message:
            return
        if len(numbers) < 2:  # this process has too many files open for more
            for number in numbers:
                os.close(number)
            continue
        channel, ending, group = socket.socket(fileno=numbers[0]), numbers[1], numbers[2] if numbers[2:] else None
        if problem:
            channel.sendall(wire.REFUSED + problem.encode())
            os.close(ending)
        else:
            forks.make(channel, serve, group, ending)
        channel.close()
        if group is not None:
            os.close(group)


def serve(channel: socket.socket, limits: Limits) -> None:
    """What a fork does for a submission."""
    from autograder.jail import student_kernel

    student_kernel.serve(channel, limits.output, limits.observed)


def _problem(forks: Forks, mode: str, private: list[str]) -> str:
    """What does not hold in a fork, tried in one; empty when everything does."""

    def tell(channel: socket.socket, _: Limits) -> None:
        channel.sendall(proofs.problem(mode, private).replace("\n", " ").encode()[:900] or b"none")

    own_end, fork_end = socket.socketpair()
    with own_end:
        forks.make(fork_end, tell)
        fork_end.close()
        text = b"".join(iter(lambda: own_end.recv(1000), b"")).decode(errors="replace")
    first, _, problem = text.partition(wire.ISOLATED.decode())
    return first or {"none": "", "": "the first fork ended before it could be looked at"}.get(problem, problem)


class _Fork(NamedTuple):
    """A fork that runs."""

    ending: int | None  # where to write how it ended
    user: int  # whose it is
    folder: str  # the only one that it may write to


class Forks:
    """Makes the forks that serve submissions, and tells how each has ended. Without namespaces but with users, it also ends what a submission
    leaves behind.
    """

    def __init__(
        self, limits: Limits, namespaces: isolate.Namespaces | None, users: list[int], keep: list[str]
    ) -> None:
        self._limits = limits
        self._namespaces = namespaces
        self._users = isolate.RotatingUserIds(*users) if users else None
        self._keep = keep
        self._mapped = isolate.mapped_bytes()
        self._open: dict[int, _Fork] = {}  # by process
        signal.signal(signal.SIGCHLD, self._clear_up)

    def make(
        self,
        channel: socket.socket,
        then: Callable[[socket.socket, Limits], None],
        group: int | None = None,
        ending: int | None = None,
    ) -> None:
        """One fork: isolated, it says so on the channel, and does what is to be done. What stands in the way is said on the channel.

        group: the open folder of its control group. ending: a pipe into which its wait status is written when it has ended; closed here.
        """
        try:
            user = self._users.next() if self._users else 0
            folder = "/tmp"
            if self._namespaces:
                self._namespaces.before_fork()
            elif user:
                folder = isolate.own_folder(user)
            with _hold_child_signals():  # by its end, before it is known
                child = isolate.fork(group)
                if child == 0:
                    self._be_one(channel, user, folder, then)
                self._open[child] = _Fork(ending, user, folder)
        except OSError as error:
            channel.sendall(_in_a_line(error))
            if ending is not None:
                os.close(ending)

    def _clear_up(self, *_: object) -> None:
        """Tell how forks have ended, end what they have left running, and remove what they have left lying about."""
        while self._open:
            try:
                child, status = os.waitpid(-1, os.WNOHANG)
            except ChildProcessError:
                return
            if child == 0:
                return
            if child not in self._open:
                continue
            fork = self._open.pop(child)
            if fork.ending is not None:
                with contextlib.suppress(OSError):  # nobody wants to know
                    os.write(fork.ending, wire.STATUS.pack(status))
                os.close(fork.ending)
            if fork.folder != "/tmp":
                with _hold_child_signals():  # by the end of what it starts itself
                    isolate.end_user(fork.user, fork.folder)

    def _be_one(
        self, channel: socket.socket, user: int, folder: str, then: Callable[[socket.socket, Limits], None]
    ) -> Never:
        """Give up everything, tell that it is done, and run student code until the end.

        With namespaces, this is the first process of the submission's own pid namespace; without them, a user id of its own, limits, no
        new privileges and the filter of system calls are all there is.
        """
        status = 1
        try:
            try:
                os.setsid()
                signal.signal(signal.SIGCHLD, signal.SIG_DFL)
                signal.pthread_sigmask(signal.SIG_UNBLOCK, {signal.SIGCHLD})
                signal.signal(signal.SIGINT, signal.SIG_DFL)
                isolate.forget_open_files(channel.fileno())
                isolate.go_sooner()
                if self._namespaces:
                    self._namespaces.after_fork(user, self._limits, self._keep)
                elif user:
                    isolate.become(user)
                    isolate.live_in(folder)
                os.chdir(folder)
                isolate.no_capabilities()
                isolate.set_limits(self._limits, self._mapped)
                seccomp.install()
            except BaseException as error:
                channel.sendall(_in_a_line(error))
                raise
            channel.sendall(wire.ISOLATED)
            then(channel, self._limits)
            status = 0
        finally:
            os._exit(status)


@contextlib.contextmanager
def _hold_child_signals() -> Iterator[None]:
    """No child's end is told before this is over."""
    signal.pthread_sigmask(signal.SIG_BLOCK, {signal.SIGCHLD})
    try:
        yield
    finally:
        signal.pthread_sigmask(signal.SIG_UNBLOCK, {signal.SIGCHLD})


def _in_a_line(error: BaseException) -> bytes:
    return f"{type(error).__name__}: {error}".replace("\n", " ").encode()[:400]


def _silence() -> None:
    """Standard input is empty; what is written past Python goes nowhere."""
    nowhere = os.open(os.devnull, os.O_RDWR)
    for number in (0, 1, 2):
        os.dup2(nowhere, number)
    os.close(nowhere)
