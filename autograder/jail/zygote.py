"""Inside the jail: the warm process. It imports everything once; then each request on its control socket is one fork, isolated before it serves.

Run by sandbox.py under bubblewrap, with the control socket's number, the limits and the mounts below /tmp.
"""

from __future__ import annotations

import contextlib
import os
import signal
import socket
import traceback
from pathlib import Path

from autograder.jail import isolate, seccomp, worker
from autograder.jail.limits import Limits


def warm_up() -> None:
    """Import what submissions use, and touch the parts that load lazily, on one thread."""
    import matplotlib

    matplotlib.use("Agg")
    import ipywidgets  # noqa: F401
    import matplotlib.pyplot
    import torch
    import torch.nn.functional as F

    import ffnlab.controls
    import ffnlab.style  # noqa: F401

    torch.set_num_threads(1)
    x = torch.ones(3, 3, requires_grad=True)
    F.gelu(torch.nn.Linear(3, 3)(x)).sum().backward()  # type: ignore[no-untyped-call]
    torch.testing.assert_close(x, x)
    repr(x)
    ip = worker.shell()
    ip.run_cell("None")


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
    warm_up()
    isolate.undumpable()
    mapped = isolate.mapped_bytes()
    control.sendall(b"ready\n")
    while True:
        message, numbers, _, _ = socket.recv_fds(control, 1, 1)
        if not message:
            return
        if not numbers:
            continue
        child = os.fork()
        if child == 0:
            channel = socket.socket(fileno=numbers[0])
            if mode == "bubblewrap":
                _first_fork(control, channel, limits, keep, mapped)
            else:
                _only_fork(control, channel, limits, mapped)
        os.close(numbers[0])
        if mode == "bubblewrap":
            os.waitpid(child, 0)
        else:
            control.sendall(f"{child}\n".encode())
            signal.signal(signal.SIGCHLD, signal.SIG_IGN)  # ended workers need nobody to wait for them


def _silence() -> None:
    """Standard input is empty; what is written past Python goes nowhere."""
    nowhere = os.open(os.devnull, os.O_RDWR)
    for number in (0, 1, 2):
        os.dup2(nowhere, number)
    os.close(nowhere)


def _first_fork(control: socket.socket, channel: socket.socket, limits: Limits, keep: list[str], mapped: int) -> None:
    """Make the namespaces, fork again into the new pid namespace, tell the conductor that process's number, and end."""
    try:
        os.setsid()
        isolate.new_namespaces()
        isolate.private_mounts(limits, keep)
        child = os.fork()
        if child:
            control.sendall(f"{child}\n".encode())
            os._exit(0)
        control.close()
        _serve(channel, limits, mapped)
    except BaseException as error:
        with contextlib.suppress(Exception):
            control.sendall(f"failed: {type(error).__name__}: {error}\n".replace("\n", " ").encode() + b"\n")
        os._exit(1)


def _only_fork(control: socket.socket, channel: socket.socket, limits: Limits, mapped: int) -> None:
    """Without namespaces of its own: limits, no new privileges and the filter of system calls are all there is."""
    control.close()
    os.setsid()
    signal.signal(signal.SIGCHLD, signal.SIG_DFL)
    _serve(channel, limits, mapped)


def _serve(channel: socket.socket, limits: Limits, mapped: int) -> None:
    """The first process of the submission's own pid namespace: without any capability, it runs student code until the end."""
    status = 1
    try:
        signal.signal(signal.SIGINT, signal.SIG_DFL)
        os.chdir("/tmp")
        isolate.no_capabilities()
        isolate.set_limits(limits, mapped)
        seccomp.install()
        worker.serve(channel, limits.output)
        status = 0
    except BaseException:
        traceback.print_exc()
    finally:
        os._exit(status)
