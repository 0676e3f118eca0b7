"""Inside the jail: the warm process. It imports everything once; then each request on its control socket is one fork, isolated before it serves.

Run by sandbox.py under bubblewrap, with the control socket's number, the limits and the mounts below /tmp.
"""

from __future__ import annotations

import gc
import importlib
import io
import os
import pkgutil
import signal
import socket
from pathlib import Path

from autograder.jail import isolate, seccomp
from autograder.jail.limits import Limits

# wire and worker bring torch: they are imported where they are used, so that the process which waits in isolate.Namespaces() stays small.


def warm_up() -> None:
    """Import what submissions use, and touch the parts that load lazily, on one thread."""
    import matplotlib

    matplotlib.use("Agg")
    import ipywidgets  # noqa: F401
    import matplotlib.pyplot as plt
    import torch
    import torch.nn.functional as F

    import ffnlab.controls
    import ffnlab.style  # noqa: F401
    from autograder.jail import worker
    from ffnlab import figures

    for module in pkgutil.iter_modules(figures.__path__):
        importlib.import_module(f"{figures.__name__}.{module.name}")
    torch.set_num_threads(1)
    x = torch.ones(3, 3, requires_grad=True)
    F.gelu(torch.nn.Linear(3, 3)(x)).sum().backward()  # type: ignore[no-untyped-call]
    torch.testing.assert_close(x, x)
    figure, axes = plt.subplots()
    axes.plot([0, 1])
    figure.savefig(io.BytesIO())
    plt.close(figure)
    worker.shell().run_cell("None")


def main(control_number: int, limits: Limits, mode: str, keep: list[str]) -> None:
    """Serve the control socket until the conductor goes away. `mode`: of sandbox.Mode; `keep`: what is mounted below /tmp."""
    control = socket.socket(fileno=control_number)
    control.set_inheritable(False)
    _silence()
    if mode == "container":
        problem = isolate.become_nobody(unreadable=Path(__file__).parents[1] / "keys")
        if problem:
            control.sendall(f"{problem}\n".encode())
            return
    try:
        namespaces = isolate.Namespaces() if mode == "bubblewrap" else None
    except OSError as error:
        control.sendall(_in_a_line(error) + b"\n")
        return
    warm_up()
    gc.freeze()  # a collection in a fork would touch, and so copy, all that was imported here
    gc.enable()  # sandbox.py's command line has it off: importing makes a million objects and no garbage
    isolate.undumpable()
    mapped = isolate.mapped_bytes()
    signal.signal(signal.SIGCHLD, signal.SIG_IGN)  # ended workers need nobody to wait for them
    control.sendall(b"ready\n")
    while True:
        message, numbers, _, _ = socket.recv_fds(control, 1, 1)
        if not message:
            return
        for number in numbers:
            channel = socket.socket(fileno=number)
            if _forked(channel, namespaces):
                control.close()
                _work(channel, limits, namespaces, keep, mapped)
            channel.close()


def _forked(channel: socket.socket, namespaces: isolate.Namespaces | None) -> bool:
    """Fork; true in the fork. What stands in the way is said on the channel."""
    try:
        if namespaces:
            namespaces.before_fork()
        return os.fork() == 0
    except OSError as error:
        channel.sendall(_in_a_line(error))
        return False


def _in_a_line(error: BaseException) -> bytes:
    return f"{type(error).__name__}: {error}".replace("\n", " ").encode()[:400]


def _silence() -> None:
    """Standard input is empty; what is written past Python goes nowhere."""
    nowhere = os.open(os.devnull, os.O_RDWR)
    for number in (0, 1, 2):
        os.dup2(nowhere, number)
    os.close(nowhere)


def _work(
    channel: socket.socket, limits: Limits, namespaces: isolate.Namespaces | None, keep: list[str], mapped: int
) -> None:
    """Give up everything, tell that it is done, and run student code until the end. Never returns.

    With namespaces, this is the first process of the submission's own pid namespace; without them, limits, no new privileges and
    the filter of system calls are all there is.
    """
    from autograder.jail import wire, worker

    status = 1
    try:
        try:
            os.setsid()
            signal.signal(signal.SIGCHLD, signal.SIG_DFL)
            signal.signal(signal.SIGINT, signal.SIG_DFL)
            if namespaces:
                namespaces.after_fork()
                isolate.private_mounts(limits, keep)
            os.chdir("/tmp")
            isolate.no_capabilities()
            isolate.set_limits(limits, mapped)
            seccomp.install()
        except BaseException as error:
            channel.sendall(_in_a_line(error))
            raise
        channel.sendall(wire.ISOLATED)
        worker.serve(channel, limits.output)
        status = 0
    finally:
        os._exit(status)
