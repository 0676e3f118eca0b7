"""Attacks: each earns what it should, is told what it should, and leaves the host as it was; its allowed twin earns full marks."""

from __future__ import annotations

import hashlib
import json
import os
import re
import socket
import time
from collections.abc import Iterator
from concurrent.futures import ThreadPoolExecutor
from functools import cache
from pathlib import Path

import attacks
import nbformat
import pytest
from attacks import EXERCISE, NARROW, START, Attack
from attacks.searches import ABSTRACT
from conftest import ROOT, needs_bubblewrap, often, outliving
from nbconvert import HTMLExporter
from test_program import answered
from traitlets.config.loader import PyFileConfigLoader

from autograder.class_folder import log
from autograder.class_folder.folder import ClassFolder
from autograder.engine import outputs, pool
from autograder.engine.grade_submission import grade_submission
from autograder.engine.graded_submission import GradedSubmission
from autograder.grading import feedback, grade_class
from autograder.jail import watch
from autograder.jail.limits import Limits
from autograder.jail.sandbox import Jail
from autograder.reference.draws import hidden_seeds
from ffnlab.checking.verdict import Outcome
from ffnlab.observation.exercise import public_seed
from ffnlab.registry import active_course

pytestmark = needs_bubblewrap
SEEDS = {name: hidden_seeds(exercise, b"a test's secret") for name, exercise in active_course().exercises.items()}
FULL = active_course().exercise(EXERCISE).points
ALL = attacks.every()
CONDUCTOR_SECONDS, CONDUCTOR_BYTES = 3.0, 3 * 2**20  # what an attack may take of the one that writes for everybody


@pytest.fixture(scope="module")
def narrow_jail() -> Iterator[Jail]:
    """A jail in which an attack on a resource ends in a second or two."""
    with Jail(NARROW) as warm:
        yield warm


@pytest.fixture(scope="module", autouse=True)
def _listener() -> Iterator[None]:
    """Somebody to be found on an abstract socket, if the jail had the machine's network."""
    with socket.socket(socket.AF_UNIX) as listening:
        listening.bind(ABSTRACT)
        listening.listen()
        yield


def _version(about: os.stat_result) -> tuple[int, ...]:
    """What is another whenever a file has been written to: nobody but root can set the last of it."""
    return about.st_ino, about.st_size, about.st_mtime_ns, about.st_ctime_ns


@cache
def digest(path: Path, *version: int) -> str:
    """A hash of a file's content, read again in each of its versions."""
    return hashlib.sha256(path.read_bytes()).hexdigest()


def host() -> dict[str, object]:
    """What must be the same afterwards: what an attack would want to change, and who is running."""
    paths = [
        *(ROOT / "autograder").rglob("*.py"),
        *(ROOT / "course" / "ffnlab").rglob("*"),
        *(ROOT / "solutions").glob("*.py"),
    ]
    files = [path for path in paths if "__pycache__" not in path.parts and path.is_file()]
    return {
        "files": {path: digest(path, *_version(path.stat())) for path in files},
        "left in the environment": [str(path) for path in Path(os.__file__).parent.glob("an_attack*")],
        "processes": outliving("3333"),
        "names": os.uname().nodename,
    }


def message(submission: GradedSubmission) -> str:
    return " ".join([submission.verdicts[EXERCISE].message, *submission.remarks])


def everything_kept(submission: GradedSubmission) -> str:
    """What the student is told of the exercise, what was printed when it was looked at, and what cells showed: where an attack leaves its mark."""
    shown = json.dumps(submission.outputs, ensure_ascii=False)
    return "\n".join([message(submission), submission.printed.get(EXERCISE, ""), shown])


def assert_bounded(submission: GradedSubmission, limits: Limits) -> None:
    """What is kept of a submission is of a size that its limits foresee, and can be encoded."""
    sizes = [outputs.size(cell) for cell in submission.outputs.values()]
    assert all(size <= limits.output + 2000 for size in sizes) and sum(sizes) <= limits.outputs + 2000
    assert all(len(printed) <= min(limits.output, 20_000) for printed in submission.printed.values())
    assert all(len(text) < 3000 for text in [*submission.remarks, *(v.message for v in submission.verdicts.values())])
    json.dumps(
        [
            submission.outputs,
            submission.printed,
            submission.remarks,
            [v.as_dict() for v in submission.verdicts.values()],
        ],
        ensure_ascii=False,
    ).encode()


@pytest.mark.parametrize("name", ALL)
def test_an_attack_earns_what_it_should_and_changes_nothing(name: str, jail: Jail, narrow_jail: Jail) -> None:
    attack = ALL[name]
    before = host()
    submission = grade_submission(START, attack.data(), narrow_jail if attack.exhausts else jail, SEEDS)
    verdict = submission.verdicts[EXERCISE]
    assert verdict.points == attack.points, verdict
    assert verdict.outcome in (Outcome.NOT_EARNED, Outcome.NOT_ATTEMPTED), verdict
    assert re.search(attack.says, message(submission)), message(submission)
    assert re.search(attack.sign(), everything_kept(submission)), "it has not come to its hostile step"
    assert host() == before
    assert_bounded(submission, NARROW if attack.exhausts else Limits())
    start = time.process_time()
    page = feedback.feedback_page("eve", submission)
    notebook = feedback.build_graded_notebook(submission)
    size = len(page) + len(json.dumps(notebook, ensure_ascii=False))
    assert time.process_time() - start < CONDUCTOR_SECONDS, "one submission keeps everybody waiting"
    assert size < 2 * len(attack.data()) + CONDUCTOR_BYTES, "what is written is larger than what came"
    nobody = "\x1b" not in str(log.LogLine("", "eve", submission)) and "<script" not in page
    assert nobody, "what the student wrote reaches a reader unescaped"
    outputs = [output for cell in notebook["cells"] for output in cell.get("outputs", [])]
    data = {kind: content for output in outputs for kind, content in output.get("data", {}).items()}
    assert set(data) <= {"text/plain", "text/html", "text/markdown", "text/latex", "image/png", "image/jpeg"}
    markup = "".join(content for kind, content in data.items() if kind != "text/plain")
    assert not re.search(r"<script|<img[^>]*onerror|\x1b|\\href|\\def", markup), (
        "what the student showed acts in a browser"
    )
    assert json.dumps(outputs, ensure_ascii=False).encode()


def test_a_plain_wrong_answer_bears_the_mark_of_no_attack(jail: Jail, narrow_jail: Jail) -> None:
    data = json.dumps(answered(Attack("", says="").answer)).encode()
    for limited in (jail, narrow_jail):
        kept = everything_kept(grade_submission(START, data, limited, SEEDS))
        assert "is not right" in kept
        assert [name for name, attack in ALL.items() if re.search(attack.sign(), kept)] == []


@pytest.mark.parametrize("name", ["answers_before_it_is_asked", "file_descriptors"])
def test_what_is_sent_ahead_would_earn_all_points_if_the_inputs_were_known(name: str, jail: Jail) -> None:
    """So what defends against it is that nobody can know them, and what was forged is in the right shape."""
    known = {asked: tuple(public_seed(asked, case) for case in range(len(seeds))) for asked, seeds in SEEDS.items()}
    submission = grade_submission(START, ALL[name].data(), jail, known)
    assert submission.verdicts[EXERCISE].points == FULL, submission.verdicts[EXERCISE]
    assert "attack: sent ahead" in submission.printed[EXERCISE], "it was its own answer that counted"


@pytest.mark.parametrize("name", ALL)
def test_its_allowed_twin_earns_full_marks(name: str, jail: Jail, narrow_jail: Jail) -> None:
    attack = ALL[name]
    verdict = grade_submission(START, attack.twin_data(), narrow_jail if attack.exhausts else jail, SEEDS).verdicts[
        EXERCISE
    ]
    assert (verdict.outcome, verdict.points) == (Outcome.EARNED, FULL), verdict.message


@pytest.mark.parametrize("name", [name for name, attack in ALL.items() if attack.beside])
def test_whoever_is_graded_beside_it_keeps_every_point(
    name: str, narrow_jail: Jail, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(watch, "FULL_SCAN_INTERVAL", 1)  # so that each watch sees at its first look what others do
    data = ALL[name].data()
    honest = json.dumps(answered()).encode()
    with ThreadPoolExecutor(1) as beside:
        eve = beside.submit(grade_submission, START, data, narrow_jail, SEEDS)
        points = []
        while not eve.done():
            points.append(grade_submission(START, honest, narrow_jail, SEEDS).verdicts[EXERCISE].points)
    assert eve.result().verdicts[EXERCISE].points == 0
    assert len(points) > 2 and set(points) == {FULL}


def test_who_answers_byte_by_byte_keeps_no_core_of_ours_busy(narrow_jail: Jail) -> None:
    start = time.monotonic()
    cpu_start = time.process_time()
    grade_submission(START, ALL["promised_frame"].data(), narrow_jail, SEEDS)
    assert time.process_time() - cpu_start < 0.25 * (time.monotonic() - start)


@pytest.mark.parametrize("step", often([1, 8], [8]))
def test_a_class_of_attackers_costs_nobody_else_a_point(step: int, tmp_path: Path) -> None:
    """Every eighth of the attacks, and those with files beside their notebook, which are read nowhere else; a sweep takes all."""
    class_folder = ClassFolder(tmp_path)
    plain = [name for name, attack in ALL.items() if attack.plain]
    quick = [name for index, name in enumerate(plain) if index % step == 0 or ALL[name].files]
    for index, name in enumerate(quick):
        submit(class_folder, f"eve_{name}", ALL[name].data(), ALL[name].files)
        submit(class_folder, f"honest_{index}", json.dumps(answered()).encode(), {})
    scores: dict[str, float] = {}

    def keep(outcome: grade_class.SubmissionOutcome, total: int) -> None:
        assert outcome.graded_submission
        scores[outcome.submission.student] = outcome.graded_submission.verdicts[EXERCISE].points

    with pool.on_this_machine(2, Limits()) as team:
        grade_class.grade(class_folder, START, team, tell=keep)
    assert {student for student, points in scores.items() if points == FULL} == {
        f"honest_{i}" for i in range(len(quick))
    }
    assert len(scores) == 2 * len(quick)


def submit(class_folder: ClassFolder, student: str, data: bytes, files: dict[str, str]) -> None:
    folder = class_folder.submitted / student / START
    folder.mkdir(parents=True)
    (folder / f"{START}.ipynb").write_bytes(data)
    for name, text in files.items():
        (folder / name).write_text(text, encoding="utf-8")


def test_every_attack_has_a_sentence_and_a_twin_of_its_own() -> None:
    for name, attack in ALL.items():
        assert attack.tries and attack.tries[0].isupper() and not attack.tries.endswith("."), name
        assert attack.twin_data() != attack.data(), name
    # A second attack of the same name, in its module or another, would take the place of the first without a word.
    modules = [file.read_text(encoding="utf-8") for file in Path(attacks.__file__).parent.glob("*.py")]
    defined = re.findall(r"^(\w+) = (?:Attack|system_call)\(", "\n".join(modules), re.MULTILINE)
    assert sorted(defined) == list(ALL)


def test_formgrader_shows_no_script_of_a_student(jail: Jail) -> None:
    config = PyFileConfigLoader("nbgrader_config.py", path=str(ROOT)).load_config()
    attack = ALL["markup_in_outputs"]
    submission = grade_submission(START, attack.data(), jail, SEEDS)
    notebook = nbformat.from_dict(feedback.build_graded_notebook(submission))
    evil = "<script>alert(5)</script><img src=x onerror=alert(6)>"
    notebook.cells.append(nbformat.v4.new_markdown_cell(evil))
    page, _ = HTMLExporter(config=config, template_name="classic").from_notebook_node(notebook)
    body = page[page.index("<body") :]
    assert "alert(5)" in body, "the student's text is there"
    for sign in ("<script>alert", "<img src=x onerror", "onerror=alert(2)>"):
        assert sign not in body
