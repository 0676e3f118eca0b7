"""`autograder doctor`: the layers that grading rests on, each tried for real, with what to do about a missing one."""

from __future__ import annotations

import os
import platform
import shutil
import subprocess
import time
from collections.abc import Callable, Iterator
from dataclasses import dataclass
from pathlib import Path

from autograder.house import UserError, assignments, release
from autograder.jail.limits import Limits
from autograder.jail.sandbox import Jail, JailBroken
from ffnlab import answers, exercises


@dataclass(frozen=True)
class Finding:
    """One line: whether a layer holds, what was seen, and what to do where it doesn't."""

    ok: bool
    layer: str
    seen: str
    remedy: str = ""


def findings() -> Iterator[Finding]:
    """Every layer, in the order in which grading needs them."""
    system = platform.system()
    yield Finding(system == "Linux", "Linux", system, "grading needs Linux, or WSL on Windows")
    bwrap = shutil.which("bwrap")
    yield Finding(bool(bwrap), "bubblewrap", _version(bwrap), "apt-get install bubblewrap, or your system's package")
    yield _user_namespaces()
    yield from _jail()
    yield _course()


def _version(program: str | None) -> str:
    if program is None:
        return "not installed"
    return subprocess.run([program, "--version"], capture_output=True, text=True, check=False).stdout.strip()


def _user_namespaces() -> Finding:
    for path, forbidden, remedy in (
        ("/proc/sys/user/max_user_namespaces", "0", "sysctl user.max_user_namespaces=10000"),
        ("/proc/sys/kernel/unprivileged_userns_clone", "0", "sysctl kernel.unprivileged_userns_clone=1"),
        (
            "/proc/sys/kernel/apparmor_restrict_unprivileged_userns", "1",
            "AppArmor forbids them: give bwrap a profile with `userns,`, or sysctl kernel.apparmor_restrict_unprivileged_userns=0",
        ),
    ):  # fmt: skip
        try:
            value = Path(path).read_text().strip()
        except OSError:
            continue
        if value == forbidden and os.geteuid() != 0:
            return Finding(False, "user namespaces", f"{path} is {value}", remedy)
    return Finding(True, "user namespaces", "allowed")


def _jail() -> Iterator[Finding]:
    start = time.perf_counter()
    try:
        jail = Jail(Limits())
    except JailBroken as error:
        yield Finding(False, "jail", str(error), "see the lines above; in a container, allow it user namespaces")
        return
    with jail:
        yield Finding(True, "jail", f"warm in {time.perf_counter() - start:.1f} s")
        try:
            with jail.worker() as worker:
                for layer, code in PROOFS.items():
                    said = worker.run(code)
                    held = said.get("error") is None
                    yield Finding(
                        held,
                        layer,
                        "held" if held else f"{said.get('error')}",
                        "do not grade like this; report it",
                    )
        except JailBroken as error:
            yield Finding(
                False,
                "isolation of a submission",
                str(error),
                "the kernel refuses a nested namespace: check seccomp",
            )


PROOFS = {
    "no network": "import socket\ntry:\n    socket.create_connection(('127.0.0.1', 9), 1)\nexcept OSError:\n    pass\n"
    "import os\nassert [n for _, n in socket.if_nameindex()] == ['lo']",
    "no other process in sight": "import os\nassert os.getpid() == 1 and not [n for n in os.listdir('/proc') if n.isdigit()]",
    "no answers, no keys": "import importlib.util, os, ffnlab.answers\n"
    "assert importlib.util.find_spec('autograder.keys') is None\n"
    "assert not [n for n in os.listdir(ffnlab.answers.__path__[0]) if n.endswith('.safetensors')]",
    "nothing can be written but /tmp": "import os, sys\n"
    "for place in ('/usr', sys.prefix, os.path.dirname(os.__file__), '/etc'):\n"
    "    assert not os.access(place, os.W_OK), place\nopen('/tmp/mine', 'w').close()",
    "no capability": "import ctypes\nlibc = ctypes.CDLL(None, use_errno=True)\n"
    "assert libc.unshare(0x00020000) != 0\nassert libc.mount(b'none', b'/tmp', b'tmpfs', 0, b'') != 0",
    "system calls are filtered": "import ctypes, platform\nlibc = ctypes.CDLL(None, use_errno=True)\n"
    "if platform.machine() in ('x86_64', 'aarch64'):\n"
    "    assert libc.syscall(425, 1, None) == -1 and ctypes.get_errno() == 1, 'io_uring'",
    "memory is bounded": "import resource\nassert resource.getrlimit(resource.RLIMIT_AS)[1] != resource.RLIM_INFINITY",
}


def _course() -> Finding:
    try:
        missing = [name for name in assignments() if not release(name).is_file()]
        for exercise in exercises.every():
            answers.load(exercise)
    except (UserError, LookupError) as error:
        return Finding(False, "course", str(error), "make build")
    return Finding(
        not missing,
        "course",
        f"missing: {', '.join(missing)}"
        if missing
        else f"{len(assignments())} notebooks, {len(exercises.every())} exercises",
        "make build",
    )


def examine(show: Callable[[str], None]) -> bool:
    """Show one line a layer; returns whether all hold."""
    good = True
    for finding in findings():
        show(f"[{'OK' if finding.ok else 'FAIL'}] {finding.layer}: {finding.seen}")
        if not finding.ok:
            show(f"       {finding.remedy}")
            good = False
    return good
