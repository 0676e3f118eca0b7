"""Judging: whatever a submission sent, it is read and compared in a process that can be killed, and costs that one exercise at most."""

from __future__ import annotations

import ast
import base64
import hashlib
import os
import re
import signal
import socket
import struct
import subprocess
import sys
import threading
import time
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import psutil
import pytest
import torch

from autograder.engine import judging, outputs
from autograder.jail import wire
from autograder.jail.errors import OutsideKill
from autograder.jail.limits import MIB, Limits
from autograder.jail.sandbox import Jail
from autograder.reference import compute, draws
from ffnlab.checking import comparison
from ffnlab.checking.comparison import compare, reference_outputs_of, size_limit
from ffnlab.checking.verdict import Outcome, Verdict
from ffnlab.diagnosis.differences import normalise_message
from ffnlab.observation import plain_data
from ffnlab.observation.exercise import ASKED_FOR, TIMES_LARGER, Exercise
from ffnlab.observation.plain_data import Failure, Malformed, Opaque, Size
from ffnlab.registry import active_course

ROOT = Path(__file__).parent.parent

NAME = "PositionwiseFeedForward"
QUICK = Limits(judge_seconds=2.0, judge_memory=256 * MIB)


def frame(observations: Any, **besides: Any) -> bytes:
    return plain_data.pack({"defined": True, "observations": observations, "printed": ""} | besides)


def observe_right_answer(name: str) -> list[dict[str, Any]]:
    """What the right answer does, which a test may then change."""
    from autograder import keys

    return compute.observe(active_course().exercise(name), keys.find(name).the_truth.answer, draws.development(name))


@pytest.fixture(scope="module")
def right() -> list[dict[str, Any]]:
    return observe_right_answer(NAME)


def test_a_late_failure_of_old_judges_leaves_the_new_ones() -> None:
    with pytest.raises(judging.JudgeBroken, match="late"), judging.borrow_judge(QUICK):
        with pytest.raises(judging.JudgeBroken, match="first"), judging.borrow_judge(QUICK):
            raise judging.JudgeBroken("first")
        with judging.borrow_judge(QUICK) as new:
            judges = new.judges
        raise judging.JudgeBroken("late")
    with judging.borrow_judge(QUICK) as judge:
        assert judge.judges is judges


@pytest.fixture
def free() -> Iterator[judging.Judge]:
    """A judge with as much time as in grading, and less memory."""
    with judging.borrow_judge(Limits(judge_memory=256 * MIB)) as judge:
        yield judge


def ask(free: judging.Judge, data: bytes) -> judging.JudgeReply:
    return free.judge(NAME, draws.development(NAME), data)


def test_a_judge_says_what_comparing_here_says(free: judging.Judge, right: list[dict[str, Any]]) -> None:
    judge_reply = ask(free, frame(right, printed="hello"))
    assert judge_reply.verdict and judge_reply.verdict.outcome is Outcome.EARNED and judge_reply.printed == "hello"
    assert judge_reply.verdict == compare(
        active_course().exercise(NAME),
        compute.reference_outputs(NAME, draws.development(NAME)),
        right,
        compute.inputs(active_course().exercise(NAME), draws.development(NAME)),
    )


def test_unfinished_code_is_called_so_in_grading_as_well(free: judging.Judge, right: list[dict[str, Any]]) -> None:
    observations = [dict.fromkeys(case) for case in right]
    for says, mistake in ((True, "general: not finished"), (False, None), ("yes", None)):
        verdict = ask(free, frame(observations, unfinished=says)).verdict
        assert verdict and verdict.mistake == mistake


HOSTILE = {
    "a regular expression's worst": "Backward" * 2000 + "'" * 12_000,
    "a text of 400 kB": "(" * 400_000,
    "an empty shape": torch.zeros(45_000, 0),
    "a dimension without end": torch.zeros(2**40, 0),
    "one tensor many times": [torch.zeros(1000, 1000)] * 45,
    "a deep value": [[[[[[[[[[[[[[[[[[[[[[1]]]]]]]]]]]]]]]]]]]]]],
    "a wide value": [0] * 400_000,
    "a whole number of many digits": 10**190,
    "no number": float("nan"),
    "a lone surrogate": "\ud800\x00\u202e",
    "another exception": Failure("E" * 400_000, "'" * 400_000, "x" * 400_000),
    "something opaque": Opaque("x" * 400_000),
    "a tensor where a text is": torch.full((3,), float("inf")),
}


@pytest.mark.parametrize("what", HOSTILE)
def test_no_observation_takes_the_judge_with_it(what: str, free: judging.Judge, right: list[dict[str, Any]]) -> None:
    for place in ("two linears with the right widths", "dropout on the hidden layer", "extra_repr"):
        judge_reply = ask(free, frame([{**case, place: HOSTILE[what]} for case in right], printed="\x00" * 400_000))
        message = judge_reply.verdict.message if judge_reply.verdict else judge_reply.unreadable
        assert message and message.isprintable() and len(message) < 2000 and len(judge_reply.printed) <= 20_000
        assert judge_reply.verdict is None or judge_reply.verdict.points < judge_reply.verdict.max_points
    assert ask(free, frame(right)).verdict is not None, "the next one is judged"


# What ends a judge. Its own checks should let nothing through that does; here they are believed to have a hole.

START = "hello_shape"
SEEDS = draws.development(START)


@pytest.fixture
def judges(monkeypatch: pytest.MonkeyPatch) -> Iterator[judging.Judges]:
    """Judges to whom an observation does what it says."""

    def do_harm(exercise: Exercise, reference_outputs: Any, observations: Any, inputs: Any, *more: Any) -> Verdict:
        harm = observations[0]["shape"]
        if harm == "spin":
            re.match(r"(a|a)*b", "a" * 60)  # holds the interpreter: no thread of its own could end it
        if harm == "sleep":
            time.sleep(600)
        if harm == "hoard":
            assert [bytearray(2**20) for _ in range(10_000)]
        if harm == "die":
            os.kill(os.getpid(), signal.SIGSEGV)
        return honest(exercise, reference_outputs, observations, inputs, *more)

    honest = comparison.compare
    monkeypatch.setattr(comparison, "compare", do_harm)
    monkeypatch.setattr(judging, "PATIENCE", 2)
    warm = judging.Judges(fork=True)
    yield warm
    warm.close()


def harming(what: str) -> bytes:
    return frame([{"shape": what} for _ in SEEDS])


@pytest.mark.parametrize(
    ("harm", "words"),
    [("spin", "longer than 2 s"), ("sleep", "longer than 2 s"), ("hoard", "256 MiB of memory"), ("die", "crashes")],
)
def test_what_ends_a_judge_twice_could_not_be_judged(harm: str, words: str, judges: judging.Judges) -> None:
    judge = judging.Judge(judges, QUICK)
    with pytest.raises(judging.NotJudged, match=words):
        judge.judge(START, SEEDS, harming(harm))
    judge_reply = judge.judge(START, SEEDS, harming("nothing"))
    assert judge_reply.verdict and judge_reply.verdict.outcome is Outcome.NOT_EARNED, "the next one is judged"


def test_a_judge_that_ends_by_chance_is_replaced_and_nobody_loses_a_point(judges: judging.Judges) -> None:
    judge = judging.Judge(judges, QUICK)
    right = observe_right_answer(START)
    for printed in ("one", "other"):
        judge_reply = judge.judge(START, SEEDS, frame(right, printed=printed))
        assert judge_reply.verdict and judge_reply.verdict.outcome is Outcome.EARNED
        os.kill(judge.pid, signal.SIGKILL)


def test_a_judge_that_is_killed_over_an_answer_costs_nobody_a_point(judges: judging.Judges) -> None:
    judge = judging.Judge(judges, QUICK)
    pids = set[int]()
    judge.judge(START, SEEDS, harming("nothing"))

    def kill() -> None:
        while len(pids) < judging.TRIES:
            time.sleep(0.2)
            if judge.pid not in (0, *pids):
                os.kill(judge.pid, signal.SIGKILL)
                pids.add(judge.pid)

    thread = threading.Thread(target=kill)
    thread.start()
    with pytest.raises(OutsideKill, match="SIGKILL from outside ended the process that judges"):
        judge.judge(START, SEEDS, harming("sleep"))
    thread.join()
    judge_reply = judge.judge(START, SEEDS, frame(observe_right_answer(START)))
    assert judge_reply.verdict and judge_reply.verdict.outcome is Outcome.EARNED


def test_the_same_bytes_are_judged_once_and_others_are_judged(judges: judging.Judges) -> None:
    judge = judging.Judge(judges, QUICK)
    right = frame(observe_right_answer(START))
    first = judge.judge(START, SEEDS, right)
    judge.close()
    os.kill(judge.pid, signal.SIGKILL)
    judge.judges = judging.Judges.__new__(judging.Judges)  # nobody whom one could ask
    judge.judges.judge_replies = judges.judge_replies
    assert judge.judge(START, SEEDS, right) == first
    with pytest.raises(AttributeError):
        judge.judge(START, SEEDS[::-1], right)
    with pytest.raises(AttributeError):
        judge.judge(START, SEEDS, frame(observe_right_answer(START), printed="more"))


def test_what_a_cell_showed_is_read_once_and_belongs_to_each_alone(judges: judging.Judges) -> None:
    judge = judging.Judge(judges, QUICK)
    silent = plain_data.pack({"outputs": [{"output_type": "stream", "name": "stdout", "text": "4"}], "error": None})
    first = judge.outputs(silent, 1000)
    first.outputs.append({"output_type": "error"})  # as happens to a cell that ended in one
    judge.close()
    os.kill(judge.pid, signal.SIGKILL)
    judge.judges = judging.Judges.__new__(judging.Judges)  # nobody whom one could ask
    judge.judges.cell_runs = judges.cell_runs
    assert judge.outputs(silent, 1000).outputs == first.outputs[:-1]
    with pytest.raises(AttributeError):
        judge.outputs(silent, 1001)


def test_cells_that_show_the_same_send_the_same(jail: Jail) -> None:
    with jail.worker() as first, jail.worker() as second:
        assert first.run_unread("a = 1") == second.run_unread("b = 2")


def test_only_so_many_answers_are_kept_and_no_long_ones(
    judges: judging.Judges, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(judging, "CACHE_SIZE", 2)
    cache = judging._BoundedCache[tuple[str, int], str]()
    keys = [("name", n) for n in range(3)]
    for key in keys:
        cache.put(key, "said")
    assert [cache.get(key) for key in keys] == [None, "said", "said"]
    long = plain_data.pack(
        {"outputs": [{"output_type": "stream", "name": "stdout", "text": "x" * judging.MAX_CACHE_LENGTH}]}
    )
    judge = judging.Judge(judges, QUICK)
    judge.outputs(long, 10_000)
    assert judges.cell_runs.get((10_000, long)) is None
    printed = frame(observe_right_answer(START), printed="x" * (judging.MAX_CACHE_LENGTH + 1))
    judge.judge(START, SEEDS, printed)
    assert judges.judge_replies.get((START, SEEDS, hashlib.blake2b(printed).digest())) is None
    judge.close()


def test_judges_end_with_whoever_started_them_even_while_they_spin() -> None:
    """Killed as `kill -9` does, a grader leaves nothing that computes on."""
    source = """
import os, re, sys, threading
from autograder.engine import judging
from autograder.reference import draws
from autograder.jail.limits import Limits
from ffnlab.checking import comparison
from ffnlab.observation import plain_data
comparison.compare = lambda *_: re.match(r"(a|a)*b", "a" * 60)
judges = judging.Judges(fork=True)
found = judging.Judge(judges, Limits(judge_seconds=600.0))
data = plain_data.pack({"defined": True, "observations": [{"shape": 1}] * len(draws.development("hello_shape"))})
threading.Thread(target=found.judge, args=("hello_shape", draws.development("hello_shape"), data), daemon=True).start()
while not found.pid:
    pass
print(found.pid, flush=True)
threading.Event().wait()
"""
    with subprocess.Popen([sys.executable, "-c", source], stdout=subprocess.PIPE, text=True) as grader:
        assert grader.stdout
        process = psutil.Process(int(grader.stdout.readline()))
        family = psutil.Process(grader.pid).children(recursive=True)
        assert process in family
        grader.kill()
    assert not psutil.wait_procs(family, timeout=30)[1]


# How much is read, and of what.


def test_a_tensor_counts_each_time_it_is_named() -> None:
    big = torch.zeros(1000, 100)
    assert plain_data.size_of([big] * 45) == Size(values=46, bytes=45 * 400_000)
    with pytest.raises(Malformed, match="too large"):
        plain_data.unpack(plain_data.pack([big] * 45), plain_data.MAX_OBSERVATION)
    values = plain_data.of([big] * 45)
    assert isinstance(values, list) and [type(value) for value in values].count(torch.Tensor) == 10
    assert not plain_data.size_of(plain_data.of([[0] * 1000] * 1000)).exceeds(
        Size(2 * plain_data.MAX_OBSERVATION.values, 0, 10**6)
    )


def test_an_empty_dimension_is_no_way_around_a_bound() -> None:
    for shape in ((45_000, 0), (0, 2**40), (2**20, 0, 2**20)):
        assert plain_data.bytes_of(torch.zeros(shape)) >= 180_000
        exercise = Exercise("an_exercise", cases=1)
        exercise.aspect("product", points=1, facts=lambda product, inputs: product @ product.T)(lambda answer: answer)
        reference_outputs = reference_outputs_of(exercise, [{"product": torch.ones(3, 2)}], [], [{}])
        assert (
            "many times as large"
            in compare(exercise, reference_outputs, [{"product": torch.zeros(shape)}], [{}]).symptom
        )


def test_facts_are_computed_only_from_what_is_about_as_large_as_what_is_right() -> None:
    observations: list[Any] = []

    def record_observation(observation: Any, inputs: dict[str, Any]) -> str:
        observations.append(observation)
        return "seen"

    exercise = Exercise("an_exercise", cases=1)
    exercise.aspect("text", points=1, facts=record_observation)(lambda answer: answer)
    reference_outputs = reference_outputs_of(exercise, [{"text": "d_model=6, d_ff=10"}], [], [{}])
    most = size_limit(reference_outputs.sizes["text"], TIMES_LARGER)
    assert compare(exercise, reference_outputs, [{"text": "x" * most.characters}], [{}]).points == 1
    observations.clear()
    for hostile in (
        "x" * (most.characters + 1),
        ["x"] * (most.values + 1),
        torch.zeros(most.bytes),
        [torch.zeros(9, 0)] * 600,
    ):
        verdict = compare(exercise, reference_outputs, [{"text": hostile}], [{}])
        assert (
            verdict.points == 0 and "many times as large as a right answer" in verdict.symptom and not verdict.mistake
        )
    assert not observations


def test_every_text_of_a_submission_is_cleaned_when_it_is_read() -> None:
    bad, clean = "a\x00\ud800\u202eb\x1b[31m", "a���b"
    value = {bad: [bad, Failure(bad, bad, bad), Opaque(bad)]}
    clean_value = {clean: [clean, Failure(clean, clean, clean), Opaque(clean)]}
    assert plain_data.of(value) == clean_value
    assert plain_data.unpack(plain_data.pack(value), plain_data.MAX_OBSERVATION) == clean_value
    assert plain_data.unpack(plain_data.pack(bad)) == bad, "what we send to a worker stays as it is: a cell's source"


def test_a_long_message_is_cut_before_an_expression_sees_it() -> None:
    assert len(normalise_message("ab() " * 100_000)) <= 500


@pytest.mark.parametrize("most", [0, 10, 1000])
def test_outputs_are_kept_to_what_there_is_room_for(most: int) -> None:
    flood = [{"output_type": "stream", "name": "stdout", "text": "é\n" * 10_000}] * 500
    displays = [{"output_type": "display_data", "data": {"text/html": "x" * 10_000, "text/plain": "y"}}] * 500
    assert outputs.size(outputs.bound_outputs(flood + displays, most)) <= most + 100
    assert outputs.size(outputs.bound_outputs(displays + flood, most)) <= most + 100
    assert len(outputs.bound_outputs(flood, 10**9)) <= wire.MAX_DISPLAYS + 2


PIXEL = "iVBORw0KGgoAAAANSUhEUgAAAAEAAAABCAYAAAAfFcSJAAAADUlEQVR42mNkYPhfDwAChwGA60e6kgAAAABJRU5ErkJggg=="
HUGE = base64.b64encode(base64.b64decode(PIXEL)[:16] + b"\x00\x01\x00\x00" * 2 + b"\x08\x06\x00\x00\x00").decode()


def test_only_known_kinds_of_outputs_are_kept() -> None:
    data = {
        "image/png": PIXEL, "text/plain": "a\x00b", "text/html": 5, "application/javascript": "alert(1)",
        "application/vnd.jupyter.widget-view+json": "{}", "image/jpeg": PIXEL, "\ud800": "x",
    }  # fmt: skip
    (output,) = outputs.bound_outputs([{"output_type": "display_data", "data": data, "metadata": {"x": 1}}], 10_000)
    assert output == {"output_type": "display_data", "data": {"image/png": PIXEL, "text/plain": "a�b"}, "metadata": {}}
    for bad in (HUGE, "not base64", PIXEL[:20]):
        assert outputs.bound_outputs([{"output_type": "display_data", "data": {"image/png": bad}}], 10_000) == []


def test_a_progress_bar_shows_its_last_state() -> None:
    (output,) = outputs.bound_outputs(
        [{"output_type": "stream", "name": "stderr", "text": " 1%\r 50%\r100%\nend\r\n"}], 1000
    )
    assert output["text"] == "100%\nend\n"


@pytest.mark.parametrize("data", [b"", b"x" * 100, plain_data.pack([1]), plain_data.pack({"outputs": 5, "error": 6})])
def test_whatever_a_worker_says_of_a_cell_can_be_read(data: bytes, free: judging.Judge) -> None:
    assert free.outputs(data, 1000).outputs == []


def test_a_frame_that_is_too_large_is_refused_before_it_is_read() -> None:
    sender, receiver = socket.socketpair()
    with sender, receiver:
        sender.sendall(struct.pack(">I", 10_001))
        with pytest.raises(wire.TooLarge, match="10,001 bytes, at most 10,000"):
            wire.receive_frame(receiver, 10_000)


@pytest.mark.reads_sources
def test_no_other_message_ends_as_those_about_exceptions() -> None:
    """By that ending a missing exception is recognised, so whatever else ends so is given a cause that is not its own."""
    ends = [
        f"{file.relative_to(ROOT)}:{node.lineno}"
        for file in sorted((ROOT / "course" / "ffnlab").rglob("*.py"))
        for node in ast.walk(ast.parse(file.read_text(encoding="utf-8")))
        if isinstance(node, ast.Constant) and isinstance(node.value, str) and node.value.endswith(ASKED_FOR)
    ]
    assert len(ends) == 1 and ends[0].startswith("course/ffnlab/observation/exercise.py:")
