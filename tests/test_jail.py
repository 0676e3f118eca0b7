"""The jail: what student code can't reach, what its limits cost, and that a worker says what happened in a student's words."""

from __future__ import annotations

import contextlib
import os
import resource
import shutil
import signal
import socket
import subprocess
import sys
import threading
import time
from pathlib import Path
from typing import Any

import psutil
import pytest
import torch
from conftest import ROOT, outliving, seen_sleeping, skip_where_others_cannot_read

from autograder.engine import doctor
from autograder.engine.released_notebook import template
from autograder.jail import cgroups, isolate, mounts, users, watch, wire
from autograder.jail.errors import JailBroken, JailRefuses, OutsideKill
from autograder.jail.limits import Limits
from autograder.jail.sandbox import Budget, Jail, JailWontStart, Mode, Overrun, build_probe_request
from autograder.paths import release
from autograder.reference import stored
from ffnlab.observation.exercise import probe_inputs
from ffnlab.observation.plain_data import Failure, Malformed
from ffnlab.registry import active_course


def run_cell(jail: Jail, source: str) -> str:
    """What a cell prints in a fresh worker; an error is shown too."""
    with jail.worker() as worker:
        answer = worker.run(source)
    text = "".join(output.get("text", "") for output in answer["outputs"])
    return text + (f"{answer['error'].type}: {answer['error'].message}" if answer["error"] else "")


def test_a_cell_runs_and_its_output_comes_back(jail: Jail) -> None:
    assert run_cell(jail, "print(6 * 7)") == "42\n"


def test_an_error_is_named_with_its_line(jail: Jail) -> None:
    with jail.worker() as worker:
        error = worker.run("x = 1\nx / 0")["error"]
    assert error == Failure("ZeroDivisionError", "division by zero", error.line)
    assert error.line == "line 2: x / 0"


def test_a_probe_returns_plain_data(jail: Jail) -> None:
    with jail.worker() as worker:
        worker.run("def hello_shape(x):\n    return x.shape")
        reply = worker.probe(build_probe_request("hello_shape", [{"given": {"x": torch.zeros(2, 3, 4)}}]))
    assert reply["observations"] == [{"shape": {"another x": (2, 3, 4)}}] and reply["unfinished"] is False


def test_a_probe_says_that_a_line_is_still_to_be_written(jail: Jail) -> None:
    with jail.worker() as worker:
        worker.run("def hello_shape(x):\n    shape = x.shape\n    ...")
        assert (
            worker.probe(build_probe_request("hello_shape", [{"given": {"x": torch.zeros(2)}}]))["unfinished"] is True
        )


def test_an_undefined_answer_is_said_to_be_undefined(jail: Jail) -> None:
    with jail.worker() as worker:
        assert worker.probe(build_probe_request("hello_shape", [{"x": torch.zeros(1)}]))["defined"] is False


@pytest.mark.parametrize(
    "source",
    [
        "import autograder.keys",
        "import autograder.reference.compute",
        "from ffnlab.checking import reference_files; reference_files.load_public('hello_shape')",
        "open('/etc/passwd')",
        "import os; os.listdir(os.path.expanduser('~root/.ssh'))",
        "import socket; socket.create_connection(('127.0.0.1', 22), 1)",
        "import os, sys; open(os.path.join(sys.prefix, 'x'), 'w')",
        "import ffnlab, os; open(os.path.join(os.path.dirname(ffnlab.__file__), 'x'), 'w')",
        "import ffnlab.course.answers, os; open(os.path.join(ffnlab.course.answers.__path__[0], 'x'), 'w')",
        "open('/x', 'w')",
        "open('/dev/x', 'w')",
        "import os; os.kill(2, 9)",
        "open('/proc/1/environ')",
        "input()",
    ],
)
def test_what_student_code_cannot_reach_raises_in_its_own_process(jail: Jail, source: str) -> None:
    with jail.worker() as worker:
        assert isinstance(worker.run(source)["error"], Failure)
        assert worker.run("print('still here')")["error"] is None


def test_the_allowed_twin_writes_in_tmp_and_reads_the_course(jail: Jail) -> None:
    source = "open('/tmp/mine', 'w').write('x')\nimport ffnlab.course.exercises\nprint(open('/tmp/mine').read())"
    assert run_cell(jail, source) == "x\n"


LOADED = (
    "import sys\nprint(*sorted(name for name in sys.modules if name.partition('.')[0] in {'ffnlab', 'torch', 'sympy'}))"
)


@pytest.mark.parametrize("notebook", active_course().notebooks)
def test_a_fork_imports_nothing_that_its_warm_process_could(jail: Jail, notebook: str) -> None:
    (imports,) = [cell.source for cell in template(release(notebook)) if cell.name == "imports"]
    first = active_course().exercises_of(notebook)[0]
    with jail.worker() as worker:
        before = worker.run(LOADED)["outputs"][0]["text"].split()
        assert worker.run(imports)["error"] is None
        worker.run(f"def {first.name}(*arguments, **options):\n    return 1")
        worker.probe(build_probe_request(first.name, [probe_inputs(first.inputs(1, 0))]))
        after = worker.run(LOADED)["outputs"][0]["text"].split()
    # 05's counter of operations is quick.
    new = {name for name in set(after) - set(before) if not name.startswith("torch.utils.")}
    assert not new


HUGE = """
import re
from autograder.jail import isolate
def huge(): return int(re.search(r"AnonHugePages: +(\\d+) kB", open("/proc/self/smaps_rollup").read())[1])
kept, before = [bytearray(b"x" * 1000) for _ in range(20_000)], huge()
isolate.in_huge_pages()
print(huge() - before, {bytes(one) for one in kept} == {b"x" * 1000})
"""


def test_memory_goes_into_huge_pages_and_stays_what_it_was() -> None:
    if not Path("/sys/kernel/mm/transparent_hugepage").is_dir() or tuple(
        map(int, os.uname().release.split(".")[:2])
    ) < (6, 1):
        pytest.skip("this kernel has no huge pages on request")
    done = subprocess.run([sys.executable, "-c", HUGE], capture_output=True, text=True, check=True)
    kib, intact = done.stdout.split()
    assert int(kib) >= 8192 and intact == "True"


def test_no_submission_sees_what_another_left_behind(jail: Jail) -> None:
    looks = "import os, torch\nprint(os.listdir('/tmp'), os.listdir('/dev/shm'), hasattr(torch, 'answer'))"
    before = run_cell(jail, looks)  # where this project lies below /tmp, the way to it is there
    assert "mine" not in before and before.endswith(" [] False\n")
    run_cell(
        jail,
        "open('/tmp/mine', 'w').write('x'); open('/dev/shm/mine', 'w').write('x'); import torch; torch.answer = 42",
    )
    assert run_cell(jail, looks) == before


def test_no_capability_is_left_and_none_can_come_back(jail: Jail) -> None:
    source = """
import ctypes

libc = ctypes.CDLL(None)
held = (ctypes.c_uint32 * 6)()
libc.capget((ctypes.c_uint32 * 2)(0x20080522, 0), held)
bounding = [number for number in range(64) if libc.prctl(23, number, 0, 0, 0) == 1]
print(any(held), bounding, "no new privileges:", libc.prctl(39, 0, 0, 0, 0))
"""
    assert run_cell(jail, source) == "False [] no new privileges: 1\n"


def test_each_submission_has_namespaces_of_its_own(jail: Jail) -> None:
    with jail.worker() as first, jail.worker() as second:
        first.run("import socket; here = socket.socket(socket.AF_UNIX); here.bind('\\0mine'); here.listen()")
        source = "import os, socket; print(os.getpid()); socket.socket(socket.AF_UNIX).connect('\\0mine')"
        assert isinstance(first.run(source)["error"], type(None))
        reply = second.run(source)
    assert reply["outputs"][0]["text"] == "1\n" and isinstance(reply["error"], Failure)


@pytest.mark.skipif(os.geteuid() != 0, reason="only root may look at the namespaces of a process in the jail")
def test_no_namespace_is_shared_with_another_submission_or_the_grader(jail: Jail) -> None:
    with jail.worker() as first, jail.worker() as second:
        for kind in ("user", "pid", "mnt", "ipc", "net", "uts"):
            places = ("self", first.process, second.process)
            assert len({os.readlink(f"/proc/{place}/ns/{kind}") for place in places}) == 3, kind


def test_processes_are_counted_for_each_submission_alone() -> None:
    source = "import threading, time\nfor _ in range(30):\n    threading.Thread(target=time.sleep, args=(30,)).start()"
    with Jail(Limits(processes=40)) as narrow, narrow.worker() as first, narrow.worker() as second:
        assert first.run(source)["error"] is None and second.run(source)["error"] is None
        assert isinstance(first.run(source)["error"], Failure), "30 more are too many"


def test_nothing_of_the_graders_environment_is_there(jail: Jail, monkeypatch: pytest.MonkeyPatch) -> None:
    text = run_cell(jail, "import os\nprint(sorted(os.environ))\nprint(os.getuid(), os.getpid())")
    assert "1000 1\n" in text
    assert "SSH" not in text and "GIT" not in text and "TOKEN" not in text


def test_the_solutions_and_the_keys_are_not_mounted(jail: Jail) -> None:
    root = Path(__file__).resolve().parent.parent
    places = [
        str(root / name)
        for name in ("solutions", "autograder/keys", "autograder/reference/compute.py", "grading", ".git")
    ]
    assert run_cell(jail, f"import os\nprint([os.path.exists(p) for p in {places!r}])") == f"{[False] * len(places)}\n"


def test_endless_loops_end(strict_jail: Jail) -> None:
    with strict_jail.worker() as worker, pytest.raises(Overrun, match="longer than 5 s"):
        worker.run("while True:\n    try:\n        while True: pass\n    except BaseException: pass")


def test_a_fork_bomb_ends(strict_jail: Jail) -> None:
    with strict_jail.worker() as worker, pytest.raises(Overrun):
        worker.run("import os\nwhile True:\n    try: os.fork()\n    except OSError: pass")
    assert run_cell(strict_jail, "print('next')") == "next\n"


def test_a_memory_bomb_ends(strict_jail: Jail) -> None:
    text = ""
    try:
        with strict_jail.worker() as worker:
            text = worker.run("hoard = []\nwhile True: hoard.append(bytearray(2**24))")["error"].type
    except Overrun as overrun:
        text = str(overrun)
    assert "Memory" in text or "memory" in text


def test_a_full_disk_costs_only_the_one_who_filled_it(strict_jail: Jail) -> None:
    assert "OSError" in run_cell(
        strict_jail, "with open('/tmp/big', 'wb') as f:\n    while True: f.write(b'x' * 2**20)"
    )
    assert run_cell(strict_jail, "open('/tmp/small', 'w').write('x'); print('ok')") == "ok\n"


def test_a_flood_of_output_is_cut(strict_jail: Jail) -> None:
    text = run_cell(strict_jail, "print('x' * 10**6)")
    assert len(text) < 11_000 and text.endswith("(cut)")


def test_a_process_that_ends_itself_is_an_overrun_not_a_crash_of_ours(jail: Jail) -> None:
    with jail.worker() as worker, pytest.raises(Overrun, match="ended without an answer"):
        worker.run("import os; os._exit(3)")


@pytest.mark.parametrize("between", [False, True])
def test_a_kill_from_outside_is_told_from_an_end_of_its_own(between: bool, jail: Jail) -> None:
    with jail.worker() as worker:
        if between:
            worker.run("1")
            os.kill(worker.process, signal.SIGKILL)
        else:
            threading.Timer(0.5, os.kill, (worker.process, signal.SIGKILL)).start()
        with pytest.raises(OutsideKill, match="SIGKILL from outside"):
            worker.run("import time\ntime.sleep(60)")
    assert run_cell(jail, "print('next')") == "next\n"


def test_who_closes_its_channel_and_goes_on_is_asked_no_more(jail: Jail) -> None:
    source = """
import os, threading, time
threading.Thread(target=lambda: (os.closerange(3, 256), time.sleep(60))).start()
time.sleep(60)
"""
    with jail.worker() as worker:
        start = time.monotonic()
        with pytest.raises(Overrun, match="ended without an answer"):
            worker.run(source)
        assert time.monotonic() - start < 5


def test_where_the_warm_process_is_gone_nobody_else_is_blamed() -> None:
    with Jail() as broken, broken.worker() as worker:
        threading.Timer(0.5, broken._process.kill).start()
        with pytest.raises(JailBroken, match="warm process is gone"):
            worker.run("import time\ntime.sleep(60)")


@pytest.mark.parametrize("is_handle_late", [False, True], ids=["", "before its handle says so"])
def test_a_process_that_may_open_no_more_files_blames_itself(
    is_handle_late: bool, monkeypatch: pytest.MonkeyPatch
) -> None:
    if is_handle_late:  # a channel is closed a moment before the fork has ended
        monkeypatch.setattr(watch, "_is_readable", lambda handle, seconds: False)
    usual = resource.getrlimit(resource.RLIMIT_NOFILE)
    with Jail() as own, own.worker() as worker:
        assert worker.run("1")["error"] is None
        try:
            resource.setrlimit(resource.RLIMIT_NOFILE, (3, usual[1]))
            with pytest.raises(JailBroken, match=r"watched any longer .*Too many open files"):
                worker.run("import time\ntime.sleep(60)")
            with pytest.raises(JailBroken, match="can't open another file"):
                own.fork()
        finally:
            resource.setrlimit(resource.RLIMIT_NOFILE, usual)
        assert run_cell(own, "print('next')") == "next\n"


def test_a_detached_child_does_not_outlive_its_submission(jail: Jail) -> None:
    seconds = "4444"
    with jail.worker() as worker:
        worker.run(f"import subprocess\nsubprocess.Popen(['sleep', '{seconds}'], start_new_session=True)")
        assert seen_sleeping(seconds)
    assert not outliving(seconds)


def test_every_submission_has_a_kernel_user_id_of_its_own(jail: Jail) -> None:
    with jail.worker() as first, jail.worker() as second:
        users = [psutil.Process(worker.process).uids() for worker in (first, second)]
        groups = [psutil.Process(worker.process).gids() for worker in (first, second)]
    for ids, own in ((users, os.getuid()), (groups, os.getgid())):
        assert all(len(set(triple)) == 1 for triple in ids), "real, effective and saved"
        assert len({own, *(triple.real for triple in ids)}) == 3


def test_two_jails_never_give_out_the_same_user_id() -> None:
    with (
        contextlib.closing(users.UserIds(apart=True)) as first,
        contextlib.closing(users.UserIds(apart=True)) as second,
    ):
        ranges = [range(ids.first, ids.first + users.COUNT) for ids in (first, second)]
        assert not set(ranges[0]) & set(ranges[1])
        assert os.geteuid() not in ranges[0] and os.geteuid() not in ranges[1]


def test_no_other_account_can_take_the_names_of_all_user_ids() -> None:
    """Names of sockets are everybody's."""
    taken = []
    try:
        for number in range(64):
            taken.append(socket.socket(socket.AF_UNIX))
            with contextlib.suppress(OSError):
                taken[-1].bind(f"\0autograder/user-ids/{users.ranges('uid').start + number * users.COUNT}")
        with contextlib.closing(users.UserIds(apart=True)) as again:
            assert again.first >= users.ranges("uid").start
        folder = users._lock_folder()
        assert folder.stat().st_uid == os.geteuid() and not folder.stat().st_mode & 0o022
    finally:
        for taken_socket in taken:
            taken_socket.close()


def test_who_has_the_same_user_ids_in_another_namespace_is_not_ended(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(users, "_reserve", lambda blocks, start: (socket.socket(socket.AF_UNIX), 0))
    monkeypatch.setattr(cgroups, "place", lambda: None)
    monkeypatch.setattr(watch, "FULL_SCAN_INTERVAL", 1)
    with Jail() as jail, Jail() as other_jail, other_jail.worker() as victim:
        user = psutil.Process(victim.process).uids().real
        with jail.worker() as worker:
            assert psutil.Process(worker.process).uids().real == user
            worker.run("import time\ntime.sleep(0.5)")
        assert victim.run("1")["error"] is None
        with subprocess.Popen(["sleep", "60"]) as beside:  # as in a container, where only the id tells
            family = watch.ProcessTree(beside.pid, user, apart=False)
            family.refresh_members()
            family.kill()
        family.close()
        assert victim.run("1")["error"] is None


@pytest.mark.skipif(os.geteuid() != 0, reason="only root can become other users")
def test_ids_under_which_something_runs_are_not_given_out() -> None:
    with contextlib.closing(users.UserIds(apart=True)) as first:
        user_id = first.first + 7
    with subprocess.Popen(["sleep", "60"], user=user_id) as process:
        with contextlib.closing(users.UserIds(apart=True)) as second:
            assert user_id not in range(second.first, second.first + users.COUNT)
        process.kill()


def test_a_user_without_ids_for_submissions_is_told_what_to_do(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(os, "geteuid", lambda: 4242)
    monkeypatch.setattr(shutil, "which", lambda name: None)
    with pytest.raises(JailWontStart, match="newuidmap is not installed: `apt-get install uidmap`"):
        users.ranges("uid")
    monkeypatch.setattr(shutil, "which", lambda name: f"/usr/bin/{name}")
    with pytest.raises(JailWontStart, match=r"4242 has no user ids .* `sudo usermod --add-subuids"):
        users.ranges("uid")
    ids_finding = next(finding for finding in doctor.findings() if finding.layer == "user ids")
    assert not ids_finding.ok and "usermod" in ids_finding.remedy


def test_a_submission_cannot_rename_the_process_that_it_is(jail: Jail) -> None:
    """Neither by the system call nor by /proc. Its command line and the programs that it starts are another matter: see the next test."""
    by_call = "import ctypes\nprint(ctypes.CDLL(None).prctl(15, b'W1=0.123456', 0, 0, 0))"
    by_file = "open('/proc/self/comm', 'w').write('W1=0.123456')"
    with jail.worker() as worker:
        assert "-1" in str(worker.run(by_call)["outputs"])
        assert worker.run(by_file)["error"] is not None
        assert psutil.Process(worker.process).name() != "W1=0.123456"


WRITES_ITS_COMMAND_LINE = """
import ctypes
ctypes.memmove(ctypes.c_void_p.in_dll(ctypes.CDLL(None), "program_invocation_name").value, b"W1=0.123456", 12)
"""
STARTS_A_PROGRAM = """
import shutil, subprocess
shutil.copy(shutil.which("sleep"), "/tmp/W1=0.123456")
started = subprocess.Popen(["/tmp/W1=0.123456", "30"])
"""


def test_what_a_submission_writes_on_a_command_line_can_be_read_outside(jail: Jail) -> None:
    """Known, and said in docs/jupyterhub.md: only a /proc with hidepid hides it from other accounts. What closes it has to change that page."""
    with jail.worker() as worker:
        worker.run(WRITES_ITS_COMMAND_LINE)
        assert psutil.Process(worker.process).cmdline()[0] == "W1=0.123456"
        worker.run(STARTS_A_PROGRAM)
        assert "W1=0.123456" in [child.name() for child in psutil.Process(worker.process).children()]
    page = (ROOT / "docs" / "jupyterhub.md").read_text(encoding="utf-8")
    assert "It can write them on its command line" in page and "hidepid=invisible" in page


@pytest.mark.skipif(os.geteuid() != 0, reason="only root can become other users")
def test_another_account_reads_no_memory_file_or_environment_of_a_submission(jail: Jail) -> None:
    nobody: dict[str, Any] = {"user": 65534, "group": 65534, "extra_groups": []}
    with jail.worker() as worker:
        for command in ("cat environ", "cat maps", "head -c 1 mem", "ls fd", "ls root/", "readlink cwd", "cat stack"):
            program, *words = command.split()
            words[-1] = f"/proc/{worker.process}/{words[-1]}"
            done = subprocess.run([program, *words], **nobody, capture_output=True, check=False)
            assert done.returncode and not done.stdout, command


@pytest.mark.parametrize(
    ("options", "words"), [("rw,nosuid,hidepid=invisible", "hidden from"), ("rw,nosuid", "every account sees them")]
)
def test_the_doctor_says_whether_other_accounts_see_processes(options: str, words: str, tmp_path: Path) -> None:
    (tmp_path / "mounts").write_text(f"/dev/a / ext4 rw 0 0\nproc /proc proc {options} 0 0\n", encoding="utf-8")
    assert words in doctor._processes(str(tmp_path / "mounts")).detail


def test_what_one_submission_does_to_open_files_and_devices_does_not_stick(jail: Jail) -> None:
    show = "import fcntl, os\nprint([fcntl.fcntl(i, fcntl.F_GETFL) for i in range(3)], os.stat('/dev/null').st_mode)"
    spoil = """
import fcntl, os
for number in range(3):
    fcntl.fcntl(number, fcntl.F_SETFL, os.O_NONBLOCK | os.O_APPEND)
for change in (lambda: os.chmod("/dev/null", 0o600), lambda: os.utime("/dev/null"), lambda: os.chown("/dev/null", 1000, 1000)):
    try:
        change()
        print("changed")
    except OSError:
        pass
"""
    before = run_cell(jail, show)
    assert "changed" not in run_cell(jail, spoil)
    assert run_cell(jail, show) == before


def test_only_the_channel_is_left_of_what_was_open(jail: Jail) -> None:
    source = """
import os, stat

found = []
for number in range(1024):
    try:
        found.append(stat.S_IFMT(os.fstat(number).st_mode))
    except OSError:
        pass
print(found == [stat.S_IFCHR] * 3 + [stat.S_IFSOCK])
"""
    assert run_cell(jail, source) == "True\n"


def test_what_goes_on_between_requests_is_watched() -> None:
    spinning = "import os\nfor _ in range(2):\n    if os.fork() == 0:\n        os.setsid()\n        while True: pass"
    hoarding = """
import os, time
for _ in range(2):  # each within what one process may have
    if os.fork() == 0:
        kept = b"1" * (320 * 2**20)
        time.sleep(10**6)
"""
    with Jail(Limits(submission_seconds=3.0, memory=512 * 2**20)) as narrow:
        for source, reason in ((spinning, "longer than 3 s in all"), (hoarding, "512 MiB of memory")):
            with narrow.worker() as worker:
                assert worker.run(source)["error"] is None
                psutil.wait_procs([psutil.Process(worker.process)], timeout=60)
                with pytest.raises(Overrun, match=reason):
                    worker.run("1")


def test_children_that_have_ended_are_counted_too() -> None:
    source = """
import os, signal, time

signal.signal(signal.SIGCHLD, signal.SIG_IGN)
if os.fork() == 0:
    signal.signal(signal.SIGCHLD, signal.SIG_DFL)
    for _ in range(40):
        child = os.fork()
        if child == 0:
            while time.process_time() < 0.1: pass
            os._exit(0)
        os.waitpid(child, 0)
    os._exit(0)
"""
    with Jail() as usual, usual.worker() as worker:
        before = worker.budget.left
        worker.run(source)
        _, alive = psutil.wait_procs(psutil.Process(worker.process).children(), timeout=120)
        assert not alive
        worker.run("1")
        assert before - worker.budget.left >= 3.0


def test_a_request_that_nobody_reads_ends_in_its_time() -> None:
    with Jail(Limits(cell_seconds=1.0)) as hasty, hasty.worker() as worker:
        worker.run("import time\nfrom autograder.jail import wire\nwire.receive = lambda *_: time.sleep(10**6)")
        with pytest.raises(Overrun, match="longer than 1 s"):
            worker.run("#" * 2_000_000)


def test_a_submission_is_not_started_again_without_end(jail: Jail) -> None:
    budget = Budget(Limits(restarts=2))
    for _ in range(3):
        with jail.fork(budget) as worker, pytest.raises(Overrun, match="ended without an answer"):
            worker.run("import os; os._exit(0)")
    with jail.fork(budget) as spent, pytest.raises(Overrun, match="more than 2 times"):
        spent.run("1")
    assert not spent.process


def test_what_is_ours_is_covered_where_it_lies_in_a_mounted_folder(monkeypatch: pytest.MonkeyPatch) -> None:
    root = Path(__file__).resolve().parent.parent
    stored.load_for_development("hello_shape")
    assert list((root / stored.FOLDER).iterdir())
    paths = mounts.mounted_paths() | {root}
    monkeypatch.setattr(mounts, "mounted_paths", lambda: paths)
    with Jail() as inside, inside.worker() as worker:
        places = [
            str(root / place)
            for place in (
                "solutions",
                "tests",
                stored.FOLDER,
                "autograder/keys",
                "autograder/reference/compute.py",
                "README.md",
            )
        ]
        reply = worker.run(
            f"import os\nprint([bool(os.path.isdir(p) and os.listdir(p) or os.path.isfile(p)) for p in {places!r}])"
        )
    assert reply["outputs"][0]["text"] == "[False, False, False, False, False, True]\n"
    monkeypatch.setattr(mounts, "covers", lambda private: {active_course().reference_folder})
    with pytest.raises(JailWontStart, match="keys"):
        Jail()


def test_a_jail_that_proves_broken_stops_whoever_grades() -> None:
    with (
        Jail(wait=False, private=[Path("/etc/fonts")]) as jail,
        pytest.raises(JailRefuses, match="fonts can be read"),
    ):
        jail.fork()


def test_garbage_on_the_wire_is_refused() -> None:
    sender, receiver = socket.socketpair()
    sender.sendall(b"\xff\xff\xff\xff")
    with pytest.raises(wire.TooLarge):
        wire.receive(receiver)
    sender.sendall(b"\x00\x00\x00\x08garbage!")
    with pytest.raises(Malformed):
        wire.receive(receiver)
    sender.close()
    with pytest.raises(wire.Closed):
        wire.receive(receiver)
    receiver.close()


def test_without_a_jail_code_runs_within_its_limits_and_ends_with_its_submission() -> None:
    with Jail(Limits(cell_seconds=2.0), Mode.NONE) as open_jail:
        assert run_cell(open_jail, "print(6 * 7)") == "42\n"
        with open_jail.worker() as worker, pytest.raises(Overrun, match="longer than 2 s"):
            worker.run("while True: pass")


def test_the_jail_of_a_container_refuses_a_second_user_who_can_read_the_key() -> None:
    if os.geteuid() != 0:
        pytest.skip("only root can become a second user")
    skip_where_others_cannot_read()
    with pytest.raises(JailWontStart, match="keys can be read: `chmod -R go-rwx"):
        Jail(Limits(), Mode.CONTAINER)


@pytest.mark.skipif(os.geteuid() != 0, reason="only root can become other users")
def test_what_others_remove_while_a_fork_is_cleared_up_is_in_nobodys_way(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    (tmp_path / "short-lived").touch()
    scandir, seen = os.scandir, list(os.scandir(tmp_path))
    (tmp_path / "short-lived").unlink()
    monkeypatch.setattr(os, "scandir", lambda place: seen if place == "/tmp" else scandir(place))
    folder = tmp_path / "submission"
    folder.mkdir()
    isolate.end_user(users.UNUSED.start, str(folder))
    assert not folder.exists()


@pytest.mark.skipif(os.geteuid() != 0, reason="only root can become other users")
def test_the_jail_of_a_container_keeps_submissions_apart_and_leaves_nothing_behind(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    skip_where_others_cannot_read()
    monkeypatch.setattr(mounts, "private", lambda more: [])
    litter, seconds = f"/var/tmp/litter-{os.getpid()}", "5555"
    leave = f"""
import os, pathlib, subprocess
pathlib.Path("mine").write_text("x")
pathlib.Path({litter!r}).write_text("x")
subprocess.Popen(["sleep", {seconds!r}], start_new_session=True)
print(os.getcwd(), os.getuid())
"""
    with Jail(Limits(memory=2**29), Mode.CONTAINER) as shared, shared.worker() as first:
        with shared.worker() as second:
            folder, user = second.run(leave)["outputs"][0]["text"].split()
            reply = first.run(f"import os, socket\nprint(os.getuid())\nos.listdir({folder!r})")
            assert reply["error"].type == "PermissionError"
            assert len({reply["outputs"][0]["text"].strip(), user, "0"}) == 3
            assert first.run("socket.socket()")["error"].type == "OSError"
            assert seen_sleeping(seconds)
            fork = psutil.Process(second.process)
        assert not outliving(seconds) and not psutil.wait_procs([fork], timeout=10)[1]
        first.run("1")
        with shared.worker():  # by now the warm process, which has seen the fork's end, has cleared up
            assert not os.path.exists(folder) and not os.path.exists(litter)
