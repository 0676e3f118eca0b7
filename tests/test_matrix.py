"""The matrix: the answer keys hold on public and on hidden draws, and would not if they were wrong."""

from __future__ import annotations

import inspect
import re
import traceback
from collections.abc import Callable
from dataclasses import replace
from pathlib import Path
from typing import Any

import pytest
import torch
from conftest import often
from typer.testing import CliRunner

from autograder import keys, source_hash
from autograder.authoring import build, key_rules, stability
from autograder.cli import app
from autograder.keys.key import Key
from autograder.keys.problem import KeyProblem
from autograder.reference import compute, draws, matrix, stored
from ffnlab.checking import reference_files
from ffnlab.checking.comparison import ReferenceOutputs, compare
from ffnlab.checking.verdict import Outcome
from ffnlab.diagnosis.recognition import is_quiz
from ffnlab.observation.exercise import Exercise, public_seed
from ffnlab.registry import active_course

NAMES = list(active_course().exercises)
# Of each notebook one exercise that asks for code: the one with the fewest kept answers.
RECORDED = stability.read_record()
FIRST = [
    min(
        (exercise.name for exercise in active_course().exercises_of(notebook) if not is_quiz(exercise)),
        key=lambda name: len(RECORDED.get(name, {}).get("answers", ())),
    )
    for notebook in active_course().notebooks
]


@pytest.mark.parametrize("name", often(NAMES, FIRST))
def test_the_matrix_holds_on_hidden_draws(name: str) -> None:
    """On one of the twenty secrets everything runs again: a record of what kept answers get on all of them was not made up."""
    number = 7
    scores = stability.scores(name, number)
    assert stability.unstable(name, {number: scores}) == []
    key = keys.find(name)
    solution = build.solution_answer(name)
    verdict = compute.verdict_of(key, solution.answer, draws.hidden_seeds(key.exercise, stability.secret(number)))
    assert matrix.problem(solution, verdict) == ""
    record = stability.read_record().get(name)
    assert record, f"{name} was never tried on twenty secrets: `make build`, or `make stability`"
    assert {answer: list(score) for answer, score in scores.items()} == record["answers"]


def test_what_was_found_on_twenty_secrets_was_found_for_the_exercises_as_they_are() -> None:
    assert list(stability.find_outdated()) == [], "changed since: `make build`, or `make stability`"
    for name, record in stability.read_record().items():
        assert record["secrets"] == stability.SECRETS
        scores = {answer: tuple(score) for answer, score in record["answers"].items()}
        assert stability.unstable(name, {0: scores}) == []


def test_an_exercise_has_a_version_of_its_own(monkeypatch: pytest.MonkeyPatch) -> None:
    """What is said about one exercise changes no other; what they share changes all."""
    notebook = active_course().notebook_of("ffn_forward")
    names = [exercise.name for exercise in active_course().exercises_of(notebook)]
    before = {name: stability.version(name) for name in names}
    assert len(set(before.values())) == len(names)
    (key_file,) = (file for file in active_course().key_files(notebook) if file.stem == "ffn_forward")

    def find_changes(file: Path, old: str, new: str) -> set[str]:
        text = file.read_text(encoding="utf-8")
        assert old in text
        statements = stability._parse(text.replace(old, new, 1))
        real = stability._statements
        monkeypatch.setattr(stability, "_statements", lambda path: statements if path == file else real(path))
        after = {name: stability.version(name) for name in names}
        monkeypatch.undo()
        return {name for name in names if before[name] != after[name]}

    first = keys.find("ffn_forward").mistakes[0].message
    assert find_changes(key_file, first[:30], "Another message") == {"ffn_forward"}
    helper = "import torch\nimport itertools\n\n\ndef new_helper():\n    pass\n\n\n"
    assert find_changes(key_file, "import torch\n", helper) == set()
    assert find_changes(key_file, "import torch\n", "import  torch  # a remark\n") == set()
    exercises_file = active_course().exercises_file(notebook)
    assert find_changes(exercises_file, "import torch\n", "import torch as torch\nprint(torch)\n") == set(names)


def test_a_verdict_that_depends_on_luck_is_told() -> None:
    key = keys.find("ffn_forward")
    steady = stability.scores("ffn_forward", 0)
    right, mistake = key.rights[0], key.mistakes[0]
    unlucky = steady | {right.name: (key.exercise.points - 1, ""), mistake.name: (key.exercise.points, "")}
    instabilities = {
        row.answer: row.what for row in stability.unstable("ffn_forward", {0: steady, 1: unlucky, 2: steady})
    }
    assert set(instabilities) == {right.name, mistake.name}
    assert (
        instabilities[right.name]
        == f"{key.exercise.points:g} points on 2 of 3; {key.exercise.points - 1:g} points on 1 of 3"
    )
    always = {row.answer: row.what for row in stability.unstable("ffn_forward", {0: unlucky, 1: unlucky})}
    assert set(always) == {right.name, mistake.name}


def test_draws_on_which_a_key_does_not_hold_are_refused() -> None:
    key = keys.find("ffn_forward")
    seeds = draws.hidden_seeds(key.exercise, b"one")
    assert matrix.holds(key, seeds)
    right, mistake = key.rights[0], key.mistakes[0]
    for wrong in (
        replace(right, name="harmless", kind="mistake", message="It does no harm."),
        replace(mistake, name="twin", message="The same under another name."),
        replace(mistake, name="wrong", kind="right"),
    ):
        assert not matrix.holds(Key(key.exercise, [*key.answers, wrong]), seeds), wrong.name
    compute.clear_cache()


@pytest.mark.parametrize("name", often(NAMES, FIRST))
def test_the_matrix_holds_on_public_draws_with_the_shipped_answers(name: str) -> None:
    """What is shipped is what the key gives, and every kept answer gets from it what it must. Each runs once, for both."""
    key = keys.find(name)
    reference_outputs = reference_files.load_public(name)
    seeds = draws.public_seeds(key.exercise)
    fresh, mistakes = compute.compute_reference(key, seeds)
    assert build.are_same_outputs(
        reference_files.dump({name: reference_outputs}), reference_files.dump({name: fresh})
    ), "run `make build`"
    rights = [build.solution_answer(name), *key.rights]
    observations = [*(compute.observe(key.exercise, right.answer, seeds) for right in rights), *mistakes]
    inputs = compute.inputs(key.exercise, seeds)
    for answer, observation in zip([*rights, *key.mistakes], observations, strict=True):
        problem = matrix.problem(answer, compare(key.exercise, reference_outputs, observation, inputs))
        assert problem == "", f"{answer.name}: {problem}"


@pytest.mark.parametrize("name", NAMES)
def test_every_key_keeps_the_rules(name: str) -> None:
    assert key_rules.broken(keys.find(name)) == []


def broken_rules(change: Callable[[Key], None], exercise: str = "ffn_forward", **fields: Any) -> list[str]:
    """What is said of a key after a change to a copy of it. fields: of its exercise."""
    kept = keys.find(exercise)
    key = replace(kept, exercise=replace(kept.exercise, **fields), answers=list(kept.answers))
    change(key)
    return key_rules.broken(key)


def nothing(key: Key) -> None:
    """No change to the key itself."""


def with_message(message: str) -> Callable[[Key], None]:
    def change(key: Key) -> None:
        index = key.answers.index(key.mistakes[0])
        key.answers[index] = replace(key.answers[index], message=message)

    return change


def keep_two_right_answers(key: Key) -> None:
    for right in key.rights[2:]:
        key.answers.remove(right)


def test_each_rule_of_a_key_is_told_where_it_is_broken() -> None:
    assert broken_rules(nothing) == []
    (few,) = broken_rules(keep_two_right_answers)
    assert few.startswith("2 right answers besides the solution, and 3 are needed")
    (hints,) = broken_rules(nothing, hints=("One.",))
    assert hints == "1 hint, and 2 are needed"
    (understood,) = broken_rules(nothing, understood="")
    assert understood.startswith("`understood` is empty")
    (unkind,) = broken_rules(with_message("You have simply forgotten the bias of the second layer."))
    assert "says “simply”" in unkind
    (empty,) = broken_rules(with_message("The values are right, but wrong."))
    assert "nothing is left of its message" in empty
    twice = broken_rules(with_message(keys.find("ffn_forward").mistakes[-1].message))
    assert twice and all("its message is that of" in rule for rule in twice)
    (title,) = broken_rules(nothing, where="the section “What no notebook has”.")
    assert "has no such title" in title
    (unquoted,) = broken_rules(nothing, where="the table of shapes in section 1.")
    assert "quote the title of a section" in unquoted


def test_matrix_says_which_rule_a_key_breaks_and_ends_with_status_1(monkeypatch: pytest.MonkeyPatch) -> None:
    run = CliRunner().invoke(app, ["matrix", "hello_shape", "--problems"])
    assert run.exit_code == 0 and "wrong" not in run.output
    monkeypatch.setattr(key_rules, "MIN_RIGHTS", 99)
    run = CliRunner().invoke(app, ["matrix", "hello_shape", "--problems"])
    assert run.exit_code == 1 and "hello_shape: " in run.output and "99 are needed" in " ".join(run.output.split())


def test_the_development_draws_are_those_of_a_fixed_secret() -> None:
    assert draws.development("ffn_forward") == draws.development("ffn_forward")
    assert draws.development("ffn_forward") != draws.hidden_seeds(active_course().exercise("ffn_forward"), b"another")


def test_what_is_kept_for_development_is_of_the_sources_as_they_are(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    name = "hello_shape"
    seeds = draws.development("hello_shape")
    computations = list[str]()
    compute_anew = compute._compute

    def compute_and_count(name: str, seeds: tuple[int, ...]) -> ReferenceOutputs:
        computations.append(name)
        return compute_anew(name, seeds)

    def load() -> bytes:
        compute.clear_cache()
        stored.load_for_development(name)
        return reference_files.dump({name: compute.reference_outputs(name, seeds)})

    monkeypatch.setattr(stored, "root", lambda: tmp_path)
    monkeypatch.setattr(compute, "_compute", compute_and_count)
    first = load()
    assert load() == first and computations == [name], "read, and not computed again"
    (file,) = (tmp_path / stored.FOLDER).iterdir()
    file.write_bytes(b"")
    assert load() == load() == first and computations == 2 * [name], "a broken file is made again"
    monkeypatch.setattr(source_hash, "version", lambda *files: "of other sources")
    assert load() == first and computations == 3 * [name]
    (other,) = (tmp_path / stored.FOLDER).iterdir()
    assert other.name != file.name
    compute.clear_cache()


def test_hidden_inputs_differ_from_public_ones_and_between_secrets() -> None:
    exercise = active_course().exercise("ffn_forward")
    seeds = [public_seed("ffn_forward", 0), *draws.hidden_seeds(exercise, b"a"), *draws.hidden_seeds(exercise, b"b")]
    values = [exercise.inputs(seed, 0)["W1"].flatten()[:6] for seed in seeds]
    assert all(not torch.equal(value, earlier) for i, value in enumerate(values) for earlier in values[:i])


def test_sizes_are_pairwise_distinct_in_many_draws() -> None:
    exercise = active_course().exercise("ffn_forward")
    for seed in range(100):
        x, W1 = (exercise.inputs(seed, 0)[name] for name in ("x", "W1"))
        sizes = [*x.shape, W1.shape[1]]
        assert len(set(sizes)) == len(sizes)


# The matrix can turn red. A small exercise with planted faults:


def small_key() -> Key:
    exercise = Exercise("double", draw=lambda rng, case: {"x": rng.normal(3)})

    @exercise.aspect("values", points=1)
    def _(answer: Any, x: Any) -> Any:
        return answer(x)

    key = Key(exercise)

    @key.truth
    def added(x: Any) -> Any:
        return x + x

    @key.right("times two")
    def times(x: Any) -> Any:
        return 2 * x

    @key.mistake("It is halved instead of doubled.")
    def halved(x: Any) -> Any:
        return x / 2

    return key


def problems(key: Key, monkeypatch: pytest.MonkeyPatch) -> dict[str, str]:
    monkeypatch.setattr(keys, "find", lambda name: key)
    compute.clear_cache()
    try:
        rows = matrix.rows(key, {"public": draws.public_seeds(key.exercise)})
    finally:
        compute.clear_cache()
    return {row.answer.name: row.problem for row in rows if row.problem}


def test_a_sound_key_has_no_problems(monkeypatch: pytest.MonkeyPatch) -> None:
    assert problems(small_key(), monkeypatch) == {}


def test_a_right_answer_kept_as_a_mistake_is_a_problem(monkeypatch: pytest.MonkeyPatch) -> None:
    key = small_key()

    @key.mistake("This is right, in truth.")
    def right_after_all(x: Any) -> Any:
        return x * 2

    assert "full marks" in problems(key, monkeypatch)["right_after_all"]


def test_a_wrong_answer_kept_as_right_is_a_problem(monkeypatch: pytest.MonkeyPatch) -> None:
    key = small_key()

    @key.right("wrong, in truth")
    def wrong_after_all(x: Any) -> Any:
        return 3 * x

    assert "loses marks" in problems(key, monkeypatch)["wrong_after_all"]


def test_two_mistakes_that_do_the_same_are_a_problem(monkeypatch: pytest.MonkeyPatch) -> None:
    key = small_key()

    @key.mistake("It is multiplied by one half.")
    def times_one_half(x: Any) -> Any:
        return 0.5 * x

    assert "named as halved" in problems(key, monkeypatch)["times_one_half"]


def test_a_truth_that_raises_is_said_to_raise(monkeypatch: pytest.MonkeyPatch) -> None:
    key = small_key()
    key.answers[0] = key.answers[0].__class__("double", "added", "truth", "", lambda x: 1 / 0, "")
    with pytest.raises(KeyProblem, match="truth of double raises"):
        problems(key, monkeypatch)


def test_a_mistake_has_a_message_or_is_a_form_of_one_that_has() -> None:
    key = small_key()
    with pytest.raises(KeyProblem, match="no message that names the mistake nameless"):
        key.add_source("mistake", "nameless", "", "def double(x):\n    return x")
    with pytest.raises(KeyProblem, match="no message that names the mistake formless"):
        key.add_source("mistake", "formless", "", "def double(x):\n    return x", form_of="no_such_mistake")
    key.add_source("mistake", "halved_again", "", "def double(x):\n    return x / 2", form_of="halved")
    assert key.mistakes[-1].message == next(answer.message for answer in key.mistakes if answer.name == "halved")


def test_a_key_may_not_keep_two_answers_of_one_name() -> None:
    key = small_key()
    with pytest.raises(KeyProblem, match="two answers called halved"):

        @key.mistake("Again.")
        def halved(x: Any) -> Any:
            return x / 2


def test_a_slip_is_the_answer_that_one_would_type() -> None:
    key = small_key()
    key.slip("tripled", "It is tripled instead of doubled.", of="times", replace={"2": "3"})

    @key.mistake("The same, typed out.")
    def typed_out(x: Any) -> Any:
        return 3 * x

    slip, typed = key.mistakes[-2:]
    assert slip.source == typed.source == "def double(x: Any) -> Any:\n    return 3 * x\n"
    assert slip.answer(torch.ones(2)).tolist() == typed.answer(torch.ones(2)).tolist() == [3, 3]
    assert inspect.getsource(slip.answer) == slip.source


def test_a_slip_may_start_from_the_base_or_from_another_slip() -> None:
    key = small_key()

    @key.base
    def plain(x: Any) -> Any:
        y = x * 2
        return y

    key.slip("squared", "It is squared.", replace={"x * 2": "x**2"})
    key.slip("cubed", "It is cubed.", of="squared", replace={"**2": "**3"})
    key.slip("squared_in_place", form_of="squared", replace={"y = …": "y = x.clone()\ny *= x"})
    key.slip("one_line", "in one line", kind="right", replace={"y = x * 2": "", "return y": "return x * 2"})
    sources = {answer.name: answer.source.partition("\n")[2] for answer in key.answers}
    assert sources["cubed"] == "    y = x**3\n    return y\n"
    assert sources["squared_in_place"] == "    y = x.clone()\n    y *= x\n    return y\n"
    assert sources["one_line"] == "    return x * 2\n"
    assert key.mistakes[-1].mistake == "squared" and key.rights[-1].message == "in one line"
    assert "plain" not in sources


@pytest.mark.parametrize(
    ("replace", "why"),
    [
        ({"4": "3"}, "wrong can't be made of times: '4' occurs in it 0 times"),
        ({"x": "y"}, "wrong can't be made of times: 'x' occurs in it 2 times"),
        ({"2 * x": "x", "* x": "+ x"}, "wrong can't be made of times: two of its replacements overlap"),
        ({"": "x"}, "wrong can't be made of times: '' occurs in it 0 times"),
    ],
)
def test_a_slip_whose_text_is_not_there_once_is_refused_by_name(replace: dict[str, str], why: str) -> None:
    key = small_key()
    with pytest.raises(KeyProblem, match=re.escape(why)):
        key.slip("wrong", "It is wrong.", of="times", replace=replace)


def test_a_slip_of_an_answer_that_is_not_kept_is_refused_by_name() -> None:
    key = small_key()
    with pytest.raises(KeyProblem, match="double: wrong is a slip of trippled, which is not kept above it"):
        key.slip("wrong", "It is wrong.", of="trippled", replace={"2": "3"})
    with pytest.raises(KeyProblem, match="double: wrong is a slip of small_key, which"):
        key.slip("wrong", "It is wrong.", of=small_key, replace={"2": "3"})
    with pytest.raises(KeyProblem, match="double: wrong is a slip of the base, and there is none"):
        key.slip("wrong", "It is wrong.", replace={"2": "3"})
    with pytest.raises(KeyProblem, match="has no mistake times to give another form of"):
        key.slip("wrong", of="halved", form_of="times", replace={"2": "4"})


def test_a_line_of_an_answer_kept_as_source_is_shown_where_it_raises() -> None:
    key = small_key()
    key.slip("by_zero", "It is divided by zero.", of="halved", replace={"x / 2": "1 / 0"})
    with pytest.raises(ZeroDivisionError) as raised:
        key.mistakes[-1].answer(torch.ones(2))
    assert traceback.extract_tb(raised.value.__traceback__)[-1].line == "return 1 / 0"


@pytest.mark.parametrize("notebook", active_course().notebooks)
def test_the_base_of_slips_is_right(notebook: str) -> None:
    for key in keys.of_notebook(notebook):
        if key.base_answer:
            seeds = draws.public_seeds(key.exercise)
            observations = compute.observe(key.exercise, key.base_answer.answer, seeds)
            inputs = compute.inputs(key.exercise, seeds)
            verdict = compare(key.exercise, reference_files.load_public(key.exercise.name), observations, inputs)
            assert matrix.problem(key.base_answer, verdict) == ""


def test_kept_answers_are_typed_under_the_exercises_name() -> None:
    for answer in keys.find("PositionwiseFeedForward").rights:
        assert answer.source.startswith("class PositionwiseFeedForward(nn.Module):")
        compile(answer.source, answer.name, "exec")


def test_the_stub_is_not_attempted_and_half_a_stub_is() -> None:
    key = keys.find("ffn_forward")

    def half(*arguments: object) -> object:
        raise NotImplementedError

    assert compute.verdict_of(key, half, draws.public_seeds(key.exercise)).outcome is Outcome.NOT_ATTEMPTED
    assert compute.verdict_of(key, None, draws.public_seeds(key.exercise)).outcome is Outcome.NOT_EARNED
