"""What the doctor says of a computer that others have accounts on: each line's command closes what it names, and on a computer of one's own there is none."""

from __future__ import annotations

import os
import pwd
import subprocess
from collections.abc import Iterator
from pathlib import Path

import pytest

from autograder.engine import doctor, permissions
from autograder.engine.permissions import PermissionProblem

AS_THE_PAGE_SAYS = {"": 0o1777, "ffn": 0o755, "ffn/outbound": 0o755, "ffn/inbound": 0o3733, "ffn/feedback": 0o711}


@pytest.fixture
def exchange(tmp_path: Path) -> Path:
    for name, mode in AS_THE_PAGE_SAYS.items():
        (tmp_path / "exchange" / name).mkdir(exist_ok=True)
        (tmp_path / "exchange" / name).chmod(mode)
    return tmp_path / "exchange"


def run(problems: Iterator[PermissionProblem]) -> list[str]:
    """Do what the doctor advises, as the account that it is advised for; returns what was seen."""
    descriptions = []
    for problem in list(problems):
        subprocess.run(problem.command.removeprefix("as root: "), shell=True, check=True)
        descriptions.append(problem.description)
    return descriptions


def test_an_exchange_as_the_page_makes_it_is_closed(exchange: Path) -> None:
    assert list(permissions.find_exchange_problems(exchange, "ffn")) == []


@pytest.mark.parametrize(
    ("name", "mode"),
    [("", 0o777), ("ffn", 0o777), ("ffn/outbound", 0o757), ("ffn/inbound", 0o2733), ("ffn/inbound", 0o3777), ("ffn/feedback", 0o755)],
)  # fmt: skip
def test_the_command_closes_what_is_open_in_the_exchange(name: str, mode: int, exchange: Path) -> None:
    (exchange / name).chmod(mode)
    (description,) = run(permissions.find_exchange_problems(exchange, "ffn"))
    assert str(exchange / name) in description
    assert list(permissions.find_exchange_problems(exchange, "ffn")) == []


def test_a_course_that_is_not_there_yet_is_made(exchange: Path) -> None:
    for name in reversed(AS_THE_PAGE_SAYS):
        if name:
            (exchange / name).rmdir()
    (description,) = run(permissions.find_exchange_problems(exchange, "ffn"))
    assert "the account that makes it owns the course" in description
    assert list(permissions.find_exchange_problems(exchange, "ffn")) == []


@pytest.mark.skipif(os.geteuid() != 0, reason="only root can give a folder to another account")
@pytest.mark.parametrize("name", ["", "ffn", "ffn/inbound"])
def test_a_folder_of_another_account_is_named(name: str, exchange: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    instructor, student = 1, 2
    for path in (exchange, *exchange.rglob("*")):
        os.chown(path, instructor, -1)
    os.chown(exchange / name, student, -1)
    monkeypatch.setattr(os, "geteuid", lambda: instructor)
    (takeover,) = permissions.find_takeovers(exchange, "ffn")
    assert f"{exchange / name} belongs to" in takeover.description


def test_homes_that_others_can_enter_are_closed(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    people = []
    for number, mode in enumerate((0o755, 0o700, 0o711, 0o750)):
        home = tmp_path / f"user{number}"
        home.mkdir()
        home.chmod(mode)
        people.append(pwd.struct_passwd((home.name, "x", os.getuid(), os.getgid() + 1, "", str(home), "/bin/bash")))
    monkeypatch.setattr(permissions, "FIRST_USER", 0)
    monkeypatch.setattr(pwd, "getpwall", lambda: people)
    (description,) = run(permissions.find_home_problems())
    assert (
        "user0" in description and "user2" in description and "user1" not in description and "user3" not in description
    )
    assert list(permissions.find_home_problems()) == []


def test_the_doctor_speaks_of_it_only_where_an_exchange_is_set_up(
    exchange: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("JUPYTER_CONFIG_PATH", str(tmp_path))
    assert list(doctor._hub()) == []
    text = f'c.CourseDirectory.course_id, c.Exchange.root = "ffn", {str(exchange)!r}'
    (tmp_path / "nbgrader_config.py").write_text(text, encoding="utf-8")
    findings = {finding.layer: finding for finding in doctor._hub()}
    assert findings["exchange"].ok and {"homes", "project", "class folder", "gradebook"} <= set(findings)
    exchange.chmod(0o777)
    (open_one,) = [finding for finding in doctor._hub() if finding.layer == "exchange"]
    assert not open_one.ok and "chmod 1777" in open_one.remedy
