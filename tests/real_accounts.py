"""A computer with accounts of its own, on which docs/jupyterhub.md is followed: a mount namespace where /etc is a copy, and /home and /srv begin empty.

What is made there, accounts too, is real for the kernel, can't be seen from outside, and is gone when its last process ends. Needs root.
"""

from __future__ import annotations

import os
import re
import shutil
import subprocess
import sys
from pathlib import Path

from conftest import ROOT

PROGRAMS = ("useradd", "passwd", "runuser", "unshare", "nsenter", "newuidmap", "git")
MAKE = """
set -e
cp -a /etc/. {work}/etc
mount --bind {work}/etc /etc
git config --system --add safe.directory '*'
mount --rbind {venv} {work}/packages
mount --rbind {python} {work}/python
for folder in {covered}; do
    mount -t tmpfs -o mode=755 "$(basename "$folder")" "$folder"
done
mkdir /srv/upstream
mount --bind {work}/upstream /srv/upstream
mount --bind {work}/packages {packages}
mount -o remount,bind,ro {packages}
if [ ! -x {python}/bin/python3 ]; then
    mkdir -p {python}
    mount --rbind {work}/python {python}
fi
echo ready
exec sleep infinity
"""
# In the place of what takes minutes: the packages of this environment are in sight of another one. pip finds there what it is asked for, and installs our own.
PACKAGES = "/usr/local/src"  # where the jail, too, sees them
SEE_PACKAGES = """
set -e
there=$(echo $1/lib/python3*/site-packages)
rm -r $there/setuptools*
echo {packages}/${{there#$1/}} > $there/packages.pth
ln -s {packages}/share {packages}/etc $1/
for script in jupyter jupyter-lab jupyterhub jupyterhub-singleuser nbgrader alembic; do
    sed "1s|.*|#!$1/bin/python|" {packages}/bin/$script > $1/bin/$script
    chmod 755 $1/bin/$script
done
"""
INSTALL_PROJECT = "pip install --quiet --no-deps --no-build-isolation -e ./course -e ."


def why_not() -> str:
    """Why there can be no such computer here; "" where there can."""
    if os.geteuid() != 0:
        return "only root can make accounts"
    missing = [name for name in PROGRAMS if not shutil.which(name)]
    if missing:
        return f"{', '.join(missing)}: not installed"
    if not Path("/etc/pam.d/login").is_file():
        return "there is no PAM here"
    if subprocess.run(["unshare", "--mount", "true"], capture_output=True, check=False).returncode:
        return "mount namespaces are not allowed here"
    if subprocess.run(["git", "ls-files"], cwd=ROOT, capture_output=True, check=False).returncode:
        return "this is not a clone"
    return ""


class Computer:
    """Use as a context manager. work: a folder for what it needs from outside."""

    def __init__(self, work: Path) -> None:
        for name in ("etc", "packages", "python", "root", "upstream"):
            (work / name).mkdir(parents=True)
        listed = subprocess.run(
            ["git", "ls-files", "-z", "--cached", "--others", "--exclude-standard"], cwd=ROOT, capture_output=True, check=True
        ).stdout  # fmt: skip
        for name in filter(None, listed.decode().split("\0")):
            if (ROOT / name).is_file():
                (work / "upstream" / name).parent.mkdir(parents=True, exist_ok=True)
                shutil.copy(ROOT / name, work / "upstream" / name)
        commit = "git init -q && git add -A && git -c user.name=tests -c user.email=tests@localhost commit -q -m tests"
        subprocess.run(commit, shell=True, cwd=work / "upstream", check=True)
        python = Path(sys.base_prefix)
        closed = [folder for folder in python.parents if not folder.stat().st_mode & 0o001]  # to other accounts
        covered = " ".join(["/home", "/srv", *map(str, closed[-1:])])
        made = MAKE.format(work=work, venv=sys.prefix, python=python, covered=covered, packages=PACKAGES)
        self._process = subprocess.Popen(
            ["unshare", "--mount", "--propagation", "private", "bash", "-c", made], stdout=subprocess.PIPE
        )
        assert self._process.stdout and self._process.stdout.readline() == b"ready\n"

    def __enter__(self) -> Computer:
        return self

    def __exit__(self, *_: object) -> None:
        self._process.kill()
        self._process.wait()

    def path(self, path: str) -> Path:
        """A path of this computer, from outside."""
        return Path(f"/proc/{self._process.pid}/root{path}")

    def inside(self, *command: str) -> list[str]:
        """A command line that runs a command in it."""
        return ["nsenter", f"--mount=/proc/{self._process.pid}/ns/mnt", "--wd=/", *command]

    def attempt(self, script: str, account: str = "", text: str = "") -> subprocess.CompletedProcess[str]:
        """Run a shell's script as root, or in a login of an account. text: what is typed."""
        shell = ["runuser", "-l", account, "-c", script] if account else ["bash", "-ec", script]
        environment = os.environ | {
            "PATH": f"{sys.base_prefix}/bin:{os.environ['PATH']}",
            "PIP_NO_BUILD_ISOLATION": "0",
        }
        for name in ("VIRTUAL_ENV", "PYTHONPATH"):
            environment.pop(name, None)
        return subprocess.run(
            self.inside(*shell), input=text, env=environment, text=True, stdout=subprocess.PIPE, stderr=subprocess.STDOUT, check=False
        )  # fmt: skip

    def run(self, script: str, account: str = "", text: str = "") -> str:
        """As `attempt`, where it has to work. Returns what was printed."""
        done = self.attempt(script, account, text)
        assert done.returncode == 0, f"{script}\n{done.stdout}"
        return done.stdout


def follow(page: str, computer: Computer) -> None:
    """Run a page's commands, one step after the other. What takes minutes is done otherwise: programs and packages are taken from the tests' own computer."""
    steps = [
        re.sub("^   ", "", block, flags=re.M) for block in re.findall(r"^   ```bash\n(.*?)^   ```", page, re.S | re.M)
    ]
    assert steps.pop(0).startswith("apt-get install ")
    project, hub = "/home/ffn/feed-forward/.venv", "/srv/hub"
    instead = {
        "URL": "/srv/upstream",
        "make setup": f"{sys.base_prefix}/bin/python3 -m venv .venv && bash /srv/see_packages {project} && .venv/bin/{INSTALL_PROJECT}",
        f"python3 -m venv {hub}\n": f"python3 -m venv {hub}\nbash /srv/see_packages {hub}\n",
        "systemctl enable --now jupyterhub\n": "",
    }
    computer.path("/srv/see_packages").write_text(SEE_PACKAGES.format(packages=PACKAGES), encoding="utf-8")
    for words in instead:
        assert any(words in step for step in steps), words
    for step in steps:
        for words, other in instead.items():
            step = step.replace(words, other)
        computer.run(step)
