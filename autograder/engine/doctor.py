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

from jupyter_core.paths import jupyter_config_path
from traitlets.config.loader import Config, PyFileConfigLoader

from autograder.engine import permissions
from autograder.errors import UserError
from autograder.jail import cgroups, proofs, users
from autograder.jail.errors import JailBroken, JailWontStart
from autograder.jail.limits import Limits
from autograder.jail.sandbox import Jail
from autograder.paths import assignments, release, root
from ffnlab.checking import reference_files
from ffnlab.registry import active_course

CONFIGURATION = "nbgrader_config.py"


@dataclass(frozen=True)
class Finding:
    """One line: whether a layer holds, what was seen, and what to do where it doesn't."""

    ok: bool
    layer: str
    detail: str
    remedy: str = ""


def findings() -> Iterator[Finding]:
    """Every layer, in the order in which grading needs them."""
    system = platform.system()
    yield Finding(system == "Linux", "Linux", system, "grading needs Linux, or WSL on Windows")
    bwrap = shutil.which("bwrap")
    yield Finding(bool(bwrap), "bubblewrap", _version(bwrap), "apt-get install bubblewrap, or your system's package")
    for layer, look in (
        ("user namespaces", _user_namespaces),
        ("user ids", _user_ids),
        ("control groups", lambda: Finding(True, "control groups", cgroups.describe())),
        ("jail", _jail),
        ("processes", _processes),
        ("course", _course),
        ("hub", _hub),
    ):
        try:
            found = look()
            yield from [found] if isinstance(found, Finding) else found
        except OSError as error:  # the other layers are still looked at
            yield Finding(
                False, layer, f"can't be looked at: {error}", "make room on the disk, or give access to the file"
            )


def _version(program: str | None) -> str:
    if program is None:
        return "not installed"
    return subprocess.run([program, "--version"], capture_output=True, text=True, check=False).stdout.strip()


def _user_namespaces() -> Finding:
    for path, blocking_value, remedy in (
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
        if value == blocking_value and os.geteuid() != 0:
            return Finding(False, "user namespaces", f"{path} is {value}", remedy)
    return Finding(True, "user namespaces", "allowed")


def _user_ids() -> Finding:
    try:
        ids = users.ranges("uid")
        users.ranges("gid")
    except JailWontStart as error:
        return Finding(False, "user ids", "there are none for submissions", str(error))
    return Finding(True, "user ids", f"{len(ids):,} for submissions, {users.COUNT:,} for a jail")


def _jail() -> Iterator[Finding]:
    """The jail itself refuses to start when one of the proofs fails in it; here they are shown one by one."""
    start = time.perf_counter()
    try:
        jail = Jail(Limits())
    except JailBroken as error:
        yield Finding(False, "jail", str(error), "see the lines above; in a container, allow it user namespaces")
        return
    with jail:
        yield Finding(True, "jail", f"warm in {time.perf_counter() - start:.1f} s")
        with jail.worker() as worker:
            for name in proofs.of_mode(jail.mode.value, ()):
                code = PROVE.format(mode=jail.mode.value, private=jail.private, name=name)
                problem = worker.run(code).get("error")
                detail = "proved" if problem is None else str(problem)
                yield Finding(problem is None, name, detail, "do not grade like this; report it")


def _processes(mounts: str = "/proc/self/mounts") -> Finding:
    """Whether other accounts see processes: what a submission writes on its command line they could read, hidden inputs among it."""
    options = [
        line.split()[3].split(",") for line in Path(mounts).read_text().splitlines() if line.split()[1] == "/proc"
    ]
    hidden = {"hidepid=2", "hidepid=invisible", "hidepid=4", "hidepid=ptraceable"}
    if options and hidden & set(options[-1]):
        return Finding(True, "processes", "hidden from other accounts")
    advice = (
        "if others have accounts here, `mount -o remount,hidepid=invisible /proc` hides what submissions show there"
    )
    return Finding(True, "processes", f"every account sees them; {advice}")


PROVE = "from autograder.jail import proofs\nproofs.of_mode({mode!r}, {private!r})[{name!r}]()"


def _course() -> Finding:
    try:
        missing_notebooks = [name for name in assignments() if not release(name).is_file()]
        for exercise in active_course().exercises:
            reference_files.load_public(exercise)
    except (UserError, LookupError) as error:
        return Finding(False, "course", str(error), "make build")
    return Finding(
        not missing_notebooks,
        "course",
        f"missing: {', '.join(missing_notebooks)}"
        if missing_notebooks
        else f"{len(assignments())} notebooks, {len(active_course().exercises)} exercises",
        "make build",
    )


def _hub() -> Iterator[Finding]:
    """What other accounts can enter, where nbgrader's exchange is set up: on a computer of one's own there is nobody else."""
    try:
        config = _shared_configuration()
    except Exception as error:  # it is Python, and may do anything
        yield Finding(False, "exchange", f"nbgrader's configuration can't be read: {error}", "fix that file")
        return
    exchange, course = config.Exchange.get("root"), config.CourseDirectory.get("course_id")
    if not exchange or not course:
        return
    class_folder = root() / os.environ.get("AUTOGRADER_GRADING", "grading")
    for layer, layer_problems in (
        ("exchange", permissions.find_exchange_problems(Path(exchange), course)),
        ("homes", permissions.find_home_problems()),
        ("project", permissions.find_path_problems(root(), "the answers are in it")),
        ("class folder", permissions.find_path_problems(class_folder, "submissions and grades are in it")),
        ("gradebook", permissions.find_path_problems(class_folder / "gradebook.db", "names and grades are in it")),
    ):
        problems = list(layer_problems)
        if not problems:
            yield Finding(True, layer, "closed to other accounts")
        for problem in problems:
            yield Finding(False, layer, problem.description, problem.command)


def _shared_configuration() -> Config:
    """What nbgrader reads on this computer, without the project's own file."""
    config = Config()
    for folder in reversed(jupyter_config_path()):
        if Path(folder, CONFIGURATION).is_file() and Path(folder).resolve() != root().resolve():
            config.merge(PyFileConfigLoader(CONFIGURATION, path=folder).load_config())
    return config


def examine(show: Callable[[str], None]) -> bool:
    """Show one line a layer; returns whether all hold."""
    good = True
    for finding in findings():
        show(f"[{'OK' if finding.ok else 'FAIL'}] {finding.layer}: {finding.detail}")
        if not finding.ok:
            show(f"       {finding.remedy}")
            good = False
    return good
