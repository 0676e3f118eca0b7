"""What a student's own kernel calls earned, grading pays; and every word that they wrote is before a reader. However untidy the notebook is."""

from __future__ import annotations

import copy
import json
import re
from collections.abc import Callable, Iterator
from html import unescape
from pathlib import Path
from typing import Any

import pytest
from conftest import needs_bubblewrap
from edits import as_json, edit, new, source_of
from hypothesis import HealthCheck, given, note, settings
from hypothesis import strategies as st
from kernel import Kernel, student_kernel
from test_program import place

from autograder import keys
from autograder.class_folder import submitted_files
from autograder.class_folder.folder import ClassFolder
from autograder.engine.grade_submission import grade_submission
from autograder.engine.graded_submission import GradedSubmission
from autograder.engine.released_notebook import Kind, template
from autograder.grading.feedback import build_graded_notebook, feedback_page
from autograder.jail.sandbox import Jail
from autograder.paths import release, solution
from autograder.reference.draws import hidden_seeds
from ffnlab.checking.verdict import Outcome
from ffnlab.registry import active_course

pytestmark = needs_bubblewrap
NOTEBOOKS = ("00_start_here", "02_feed_forward")
SEEDS = {
    name: {e.name: hidden_seeds(e, b"a test's secret") for e in active_course().exercises_of(name)}
    for name in NOTEBOOKS
}


@pytest.fixture(scope="module")
def kernel() -> Iterator[Kernel]:
    with student_kernel() as running_kernel:
        yield running_kernel


def blank(name: str) -> dict[str, Any]:
    notebook: dict[str, Any] = json.loads(release(name).read_text(encoding="utf-8"))
    return notebook


@st.composite
def submissions(draw: Any, name: str, most: int) -> Any:
    """A notebook with some answers in it, right, wrong and none, after some edits."""
    notebook = blank(name)
    sources = {key.exercise.name: [[*key.rights], [*key.mistakes] or [*key.rights]] for key in keys.of_notebook(name)}
    for cell in notebook["cells"]:
        its = cell["metadata"].get("nbgrader", {})
        if its.get("solution") and its.get("grade") and draw(st.booleans()):
            cell["source"] = "What I think of it."
        elif its.get("solution") and its.get("grade_id") in sources:
            kind = draw(st.sampled_from([0, 0, 0, 1, None]))
            if kind is not None:
                cell["source"] = draw(st.sampled_from(sources[its["grade_id"]][kind])).source
    return edit(notebook, draw, most)


def assert_paid(name: str, notebook: dict[str, Any], kernel: Kernel, jail: Jail) -> GradedSubmission:
    """What the last check of each exercise said in the kernel, grading pays."""
    said = kernel.run(notebook)
    graded_submission = grade_submission(name, as_json(notebook), jail, SEEDS[name])
    for exercise, verdicts in said.items():
        attempts = [verdict for verdict in verdicts if verdict["outcome"] != Outcome.NOT_ATTEMPTED.value]
        paid = graded_submission.verdicts[exercise]
        if attempts:
            last = attempts[-1]
            assert paid.points == pytest.approx(last["points"]), (
                exercise, paid.message, last["message"], graded_submission.remarks,
            )  # fmt: skip
    for exercise, verdict in graded_submission.verdicts.items():
        assert verdict.outcome is not Outcome.NOT_GRADED, (exercise, verdict.message)
        if verdict.outcome is Outcome.NOT_ATTEMPTED:
            written = [cell for cell in graded_submission.cells if exercise in cell.answers]
            assert not written or "NotImplementedError" in verdict.cause, (exercise, verdict.cause)
    return graded_submission


def assert_shown(graded_submission: GradedSubmission, words: list[str]) -> None:
    """Every word is in formgrader and on the page; and it makes a question that is empty one to read."""
    cells = build_graded_notebook(graded_submission)["cells"]
    in_formgrader = "\n".join(source_of(cell) for cell in cells)
    page = feedback_page("ada", graded_submission)
    for word in words:
        assert word in in_formgrader, f"{word} is not in the graded notebook"
        assert word in page, f"{word} is not on the page"
    if words:
        questions = [cell for cell in graded_submission.cells if cell.kind is Kind.MANUAL and cell.metadata]
        assert all(question.is_to_read for question in questions)


def survivors(words: list[str], notebook: dict[str, Any]) -> list[str]:
    """Those words that are still in the notebook as it was handed in."""
    text = "\n".join(source_of(cell) for cell in notebook["cells"])
    return [word for word in words if word in text]


@pytest.mark.sweep
@pytest.mark.parametrize("name", NOTEBOOKS)
def test_whatever_is_done_to_a_notebook_what_check_called_earned_is_paid(name: str, kernel: Kernel, jail: Jail) -> None:
    @settings(
        deadline=None,
        max_examples=200,
        suppress_health_check=[HealthCheck.too_slow, HealthCheck.function_scoped_fixture],
    )
    @given(submissions(name, 6))
    def try_it(edited: Any) -> None:
        note(f"edits: {edited.done}")
        graded_submission = assert_paid(name, edited.notebook, kernel, jail)
        assert_shown(graded_submission, survivors(edited.words, edited.notebook))

    try_it()


# Thirty notebooks as people hand them in. Each changes a notebook in which all is right, but for the question, which is empty.

FFN = "02_feed_forward"
Notebook = dict[str, Any]
CASES: dict[str, Callable[[Notebook], None]] = {}
RIGHT: dict[str, str] = {cell.name: cell.source for cell in template(solution(FFN)) if cell.kind is Kind.SOLUTION}


def case(change: Callable[[Notebook], None]) -> Callable[[Notebook], None]:
    CASES[change.__name__] = change
    return change


def at(notebook: Notebook, name: str) -> int:
    return place(notebook, name)


def text_of(notebook: Notebook, name: str) -> str:
    return source_of(notebook["cells"][at(notebook, name)])


def put(notebook: Notebook, name: str, source: str) -> None:
    notebook["cells"][at(notebook, name)]["source"] = source


def add(notebook: Notebook, behind: str, source: str, cell_type: str = "code") -> None:
    notebook["cells"].insert(at(notebook, behind) + 1, new(source, cell_type))


def solved() -> Notebook:
    notebook = blank(FFN)
    for name, source in RIGHT.items():
        put(notebook, name, source)
    return notebook


WORDS = "Dropout silences whole neurons: mywords."


@case
def the_question_is_answered_below_its_cell(notebook: Notebook) -> None:
    add(notebook, "M2", WORDS, "markdown")


@case
def the_question_is_answered_in_a_raw_cell(notebook: Notebook) -> None:
    add(notebook, "M2-text", WORDS, "raw")


@case
def the_question_is_answered_as_comments(notebook: Notebook) -> None:
    add(notebook, "M2", f"# {WORDS}")


@case
def the_question_is_answered_as_a_string(notebook: Notebook) -> None:
    add(notebook, "M2", f'"""{WORDS}"""')


@case
def the_question_is_answered_in_its_own_text(notebook: Notebook) -> None:
    put(notebook, "M2-text", f"{text_of(notebook, 'M2-text')}\n\n{WORDS}")


@case
def the_question_is_merged_with_its_answer(notebook: Notebook) -> None:
    below = notebook["cells"].pop(at(notebook, "M2"))
    put(notebook, "M2-text", f"{text_of(notebook, 'M2-text')}\n{source_of(below)}\n{WORDS}")


@case
def the_question_is_answered_in_the_comments_of_the_answer_before_it(notebook: Notebook) -> None:
    put(notebook, "DeepFFN", f"{text_of(notebook, 'DeepFFN')}\n# My answer to the question below: {WORDS}")


@case
def the_question_is_answered_in_a_figure_s_cell(notebook: Notebook) -> None:
    put(notebook, "machine", f"{text_of(notebook, 'machine')}\n# My answer to the question below: {WORDS}")


@case
def an_empty_copy_of_the_question_stands_below_the_full_one(notebook: Notebook) -> None:
    stub = copy.deepcopy(notebook["cells"][at(notebook, "M2")])
    put(notebook, "M2", WORDS)
    notebook["cells"].insert(at(notebook, "M2") + 1, stub | {"id": "twin"})


@case
def a_picture_is_pasted_into_a_cell_of_one_s_own(notebook: Notebook) -> None:
    add(notebook, "M2", f"![sketch](attachment:a.png) {WORDS}", "markdown")
    notebook["cells"][at(notebook, "M2") + 1]["attachments"] = {"a.png": {"image/png": "iVBORw0KGgo="}}


@case
def an_import_is_added_to_our_first_cell(notebook: Notebook) -> None:
    put(notebook, "imports", f"{text_of(notebook, 'imports')}\nimport numpy as mynp")
    put(notebook, "ffn_forward", f"{RIGHT['ffn_forward']}\n\nmynp.zeros(3)")


@case
def our_first_cell_is_emptied_and_its_imports_are_elsewhere(notebook: Notebook) -> None:
    source = text_of(notebook, "imports")
    put(notebook, "imports", "")
    notebook["cells"].insert(0, new(source))


@case
def an_answer_is_typed_into_the_check_s_cell(notebook: Notebook) -> None:
    put(notebook, "ffn_forward", text_of(blank(FFN), "ffn_forward"))
    put(notebook, "check-ffn_forward", f"{RIGHT['ffn_forward']}\n\ncheck('ffn_forward', ffn_forward)")


@case
def a_helper_is_defined_in_the_check_of_the_exercise_before(notebook: Notebook) -> None:
    put(notebook, "check-ffn_forward", f"{text_of(notebook, 'check-ffn_forward')}\n\ndef helper(x):\n    return x")
    put(notebook, "collapse_linear", f"{RIGHT['collapse_linear']}\n\nhelper(3)")


@case
def a_helper_is_defined_in_a_figure_s_cell(notebook: Notebook) -> None:
    put(notebook, "by-hand", f"{text_of(notebook, 'by-hand')}\n\ndef helper(x):\n    return x")
    put(notebook, "ffn_forward", f"{RIGHT['ffn_forward']}\n\nhelper(3)")


@case
def a_name_of_a_demonstration_is_used(notebook: Notebook) -> None:
    put(notebook, "ffn_forward", f"{RIGHT['ffn_forward']}\n\nlen(scenes)")


@case
def a_name_of_a_demonstration_is_used_inside_a_function(notebook: Notebook) -> None:
    source = RIGHT["PositionwiseFeedForward"].replace(
        "super().__init__()", "super().__init__()\n        merged([(1, 1, -1, 1)])"
    )
    put(notebook, "PositionwiseFeedForward", source)


@case
def a_copy_of_the_stub_stands_at_the_end(notebook: Notebook) -> None:
    notebook["cells"].append(blank(FFN)["cells"][at(blank(FFN), "ffn_forward")] | {"id": "twin"})


@case
def a_copy_of_the_stub_and_of_the_check_stand_at_the_end(notebook: Notebook) -> None:
    for name in ("ffn_forward", "check-ffn_forward"):
        notebook["cells"].append(blank(FFN)["cells"][at(blank(FFN), name)] | {"id": f"twin of {name}"})


@case
def of_three_copies_the_middle_one_is_right(notebook: Notebook) -> None:
    where = at(notebook, "ffn_forward")
    stub = blank(FFN)["cells"][where]
    notebook["cells"].insert(where + 1, stub | {"id": "below"})
    notebook["cells"].insert(where, stub | {"id": "above"})


@case
def an_answer_stands_in_a_cell_of_one_s_own_above_the_stub(notebook: Notebook) -> None:
    where = at(notebook, "ffn_forward")
    notebook["cells"][where] = blank(FFN)["cells"][where]
    notebook["cells"].insert(where, new(RIGHT["ffn_forward"]))


@case
def a_copy_of_the_check_stands_above_the_answer(notebook: Notebook) -> None:
    where = at(notebook, "ffn_forward")
    notebook["cells"].insert(
        where, copy.deepcopy(notebook["cells"][at(notebook, "check-ffn_forward")]) | {"id": "twin"}
    )


@case
def a_quiz_is_copied_with_its_dots(notebook: Notebook) -> None:
    where = at(notebook, "quiz_rank")
    notebook["cells"].append(blank(FFN)["cells"][where] | {"id": "twin"})


@case
def an_answer_stands_behind_its_check(notebook: Notebook) -> None:
    notebook["cells"].append(notebook["cells"].pop(at(notebook, "ffn_forward")))


@case
def a_check_is_deleted(notebook: Notebook) -> None:
    notebook["cells"].pop(at(notebook, "check-ffn_forward"))


@case
def an_answer_is_split_in_two(notebook: Notebook) -> None:
    where = at(notebook, "collapse_linear")
    notebook["cells"].insert(
        where, copy.deepcopy(notebook["cells"][where]) | {"id": "first half", "source": "first = 1"}
    )
    put(notebook, "check-collapse_linear", f"{text_of(notebook, 'check-collapse_linear')}  # now")


@case
def all_code_is_in_one_cell(notebook: Notebook) -> None:
    sources = [source_of(cell) for cell in notebook["cells"] if cell["cell_type"] == "code"]
    notebook["cells"] = [new("\n\n".join(sources))]


@case
def all_metadata_is_lost(notebook: Notebook) -> None:
    for cell in notebook["cells"]:
        cell["metadata"] = {}
        cell.pop("id")


@case
def another_name_is_given_to_check(notebook: Notebook) -> None:
    put(notebook, "ffn_forward", RIGHT["ffn_forward"].replace("ffn_forward", "my_ffn"))
    add(notebook, "ffn_forward", 'check("ffn_forward", my_ffn)')


@case
def check_has_another_name(notebook: Notebook) -> None:
    add(notebook, "imports", "from ffnlab import check as verify\ndel check")
    put(notebook, "check-ffn_forward", 'verify("ffn_forward", ffn_forward)')


@case
def the_default_dtype_is_float64(notebook: Notebook) -> None:
    add(notebook, "imports", "torch.set_default_dtype(torch.float64)")


@case
def a_slip_of_the_finger_makes_markdown_of_an_answer(notebook: Notebook) -> None:
    notebook["cells"][at(notebook, "ffn_forward")] |= {"cell_type": "markdown"}


@case
def an_old_answer_is_put_away_as_markdown(notebook: Notebook) -> None:
    where = at(notebook, "ffn_forward")
    old = copy.deepcopy(notebook["cells"][where]) | {"id": "old", "source": "def ffn_forward(*_):\n    return 0"}
    notebook["cells"].insert(where + 1, old | {"cell_type": "markdown"})


@case
def a_right_answer_is_followed_by_an_experiment(notebook: Notebook) -> None:
    add(notebook, "check-ffn_forward", 'check("ffn_forward", lambda *_: 0, on_purpose=True)')


@case
def the_last_check_is_given_a_wrong_answer(notebook: Notebook) -> None:
    add(notebook, "check-ffn_forward", 'check("ffn_forward", lambda *_: 0)')


# What demonstrations of the course do to a student's code in ways that nobody can read off it: as in their own kernel, all of them have run then.


@case
def a_demonstrations_name_is_imported_from_main(notebook: Notebook) -> None:
    put(notebook, "DeepFFN", f"from __main__ import merged\n{RIGHT['DeepFFN']}")


@case
def a_demonstrations_name_is_read_as_text(notebook: Notebook) -> None:
    put(notebook, "DeepFFN", f'assert len(eval("merged")([(1, 1, -1, 1)])) == 1\n{RIGHT["DeepFFN"]}')


@case
def a_demonstrations_name_is_looked_for_in_a_method(notebook: Notebook) -> None:
    body = RIGHT["PositionwiseFeedForward"].replace(
        "        self.linear1", '        globals()["hidden"].sum()\n        self.linear1', 1
    )
    put(notebook, "PositionwiseFeedForward", body)


@case
def a_demonstrations_name_is_counted_by_a_cell_above(notebook: Notebook) -> None:
    add(
        notebook,
        "check-PositionwiseFeedForward",
        'names = [n for n in list(globals()) if n == "things"]\nexec("kk = len(names)")',
    )
    body = RIGHT["DeepFFN"].replace(
        "        super().__init__()", "        super().__init__()\n        assert kk == 1", 1
    )
    notebook["cells"].insert(
        at(notebook, "DeepFFN"), notebook["cells"].pop(at(notebook, "check-PositionwiseFeedForward") + 1)
    )
    put(notebook, "DeepFFN", body)


@case
def an_answer_counts_how_often_it_was_called(notebook: Notebook) -> None:
    put(
        notebook,
        "ffn_backward",
        "calls = []\n" + RIGHT["ffn_backward"].replace("    pre = x", "    calls.append(1)\n    pre = x", 1),
    )
    put(notebook, "DeepFFN", f"assert len(calls) > 100  # the training has called it\n{RIGHT['DeepFFN']}")


@case
def a_copied_stub_has_a_remark_in_it(notebook: Notebook) -> None:
    stub = source_of(blank(FFN)["cells"][at(blank(FFN), "ffn_forward")])
    add(notebook, "ffn_forward", stub.replace("# YOUR CODE HERE", "# YOUR CODE HERE  (mine is above: mywords)"))


@case
def a_copy_of_a_check_has_a_question_s_words_in_it(notebook: Notebook) -> None:
    copied = copy.deepcopy(notebook["cells"][at(notebook, "check-ffn_forward")]) | {"id": "copied"}
    copied["source"] = source_of(copied) + f"\n# {WORDS} It is the whole neuron that is silent."
    notebook["cells"].insert(at(notebook, "check-ffn_forward"), copied)


@case
def a_question_is_answered_in_a_comment_of_an_answer_that_names_it(notebook: Notebook) -> None:
    put(notebook, "PositionwiseFeedForward", f"{RIGHT['PositionwiseFeedForward']}\n# M2: {WORDS}")


LESS = {  # what is not paid in full, and what the page says of it
    "the_last_check_is_given_a_wrong_answer": (
        "ffn_forward",
        "checked 2 times, and the last check of an answer counts",
    ),
    "the_default_dtype_is_float64": ("PositionwiseFeedForward", "has set torch's default dtype"),
}


def assert_prose_wraps(page: str, graded_submission: GradedSubmission) -> None:
    """What was written as words has its lines broken on a narrow screen; code keeps its own."""
    for kind, text in re.findall(
        r"<pre(?: class=\"(\w+)\")? tabindex=\"0\" aria-label=\"[^\"]*\">(.*?)</pre>", page, re.DOTALL
    ):
        cells = [cell for cell in graded_submission.cells if unescape(text) == cell.source]
        assert all((cell.cell_type == "code") == (kind == "") for cell in cells)


@pytest.mark.parametrize("name", CASES)
def test_untidy_and_honest_work_is_paid_and_read(name: str, kernel: Kernel, jail: Jail) -> None:
    notebook = solved()
    CASES[name](notebook)
    graded_submission = assert_paid(FFN, notebook, kernel, jail)
    page = feedback_page("ada", graded_submission)
    for exercise, verdict in graded_submission.verdicts.items():
        if exercise != LESS.get(name, ("",))[0]:
            assert verdict.outcome is Outcome.EARNED, verdict.message
    if name in LESS:
        assert LESS[name][1] in unescape(page)
    assert_prose_wraps(page, graded_submission)
    if "question" in name or "picture" in name or "remark" in name:
        assert_shown(graded_submission, ["mywords"])


# Nothing that was attempted is called “not attempted”, and what is said of it is true.

STUB = "def ffn_forward(x, W1, b1, W2, b2, act):\n    raise NotImplementedError\n"
ABSENT: dict[str, tuple[str, str]] = {
    "a stub above an answer of another name": (
        STUB + RIGHT["ffn_forward"].replace("ffn_forward", "ffn_forward2"),
        "the notebook defines `ffn_forward2`",
    ),
    "a body above the stub's last line": (
        "def ffn_forward(x, W1, b1, W2, b2, act):\n    y = act(x @ W1 + b1) @ W2 + b2\n    raise NotImplementedError",
        "It still raises NotImplementedError.",
    ),
    "an idea as a comment": (
        "def ffn_forward(x, W1, b1, W2, b2, act):\n    # two products\n    raise NotImplementedError",
        "It still raises NotImplementedError.",
    ),
    "dots": ("ffn_forward = ...  # later", "It is still `...`"),
    "a call of a stub": (
        "def ffn_forward(*arguments):\n    return other_stub(*arguments)\n\n\ndef other_stub(*arguments):\n    raise NotImplementedError",
        "NotImplementedError",
    ),
    "another name": (RIGHT["ffn_forward"].replace("ffn_forward", "ffn_forward_v2"), "it defines `ffn_forward_v2`"),
    "a Cyrillic letter": (
        RIGHT["ffn_forward"].replace("ffn_forward", "ffn_f\N{CYRILLIC SMALL LETTER O}rward"),
        "CYRILLIC SMALL LETTER O",
    ),
    "below %%timeit": (f"%%timeit -n 1 -r 1\n{RIGHT['ffn_forward']}", "begins with `%%timeit`, which keeps nothing"),
    "below %%bash": (f"%%bash\n{RIGHT['ffn_forward']}", "begins with `%%bash`, so it does not run as Python"),
    "below %%writefile": (f"%%writefile /tmp/x.py\n{RIGHT['ffn_forward']}", "begins with `%%writefile`"),
    "a syntax error": (
        "def ffn_forward(x:\n    return x",
        "SyntaxError: '(' was never closed (line 1: def ffn_forward(x:)",
    ),
    "nothing but an expression": ("torch.relu", "it defines nothing called `ffn_forward`"),
    "an error before the answer": (f"1 / 0\n\n{RIGHT['ffn_forward']}", "ended in ZeroDivisionError"),
    "deleted again": (f"{RIGHT['ffn_forward']}\n\ndel ffn_forward", "it is not there any more where its check stands"),
}


@pytest.mark.parametrize("what", ABSENT)
def test_what_was_attempted_is_not_called_not_attempted(what: str, jail: Jail) -> None:
    source, words = ABSENT[what]
    notebook = solved()
    put(notebook, "ffn_forward", source)
    verdict = grade_submission(FFN, as_json(notebook), jail, SEEDS[FFN]).verdicts["ffn_forward"]
    assert verdict.outcome is Outcome.NOT_EARNED
    assert words in verdict.message


def test_an_answer_of_another_name_beside_the_stub_is_named(jail: Jail) -> None:
    notebook = solved()
    put(notebook, "ffn_forward", text_of(blank(FFN), "ffn_forward"))
    add(notebook, "ffn_forward", RIGHT["ffn_forward"].replace("ffn_forward", "ffn_forward2"))
    verdict = grade_submission(FFN, as_json(notebook), jail, SEEDS[FFN]).verdicts["ffn_forward"]
    assert verdict.outcome is Outcome.NOT_EARNED
    assert "the notebook defines `ffn_forward2`" in verdict.message


@pytest.mark.parametrize(
    ("source", "words"),
    [("", "Its cell is empty"), (None, "Its cell was deleted"), ("as it was", "as it was handed out")],
)
def test_not_attempted_says_how_that_is_known(source: str | None, words: str, jail: Jail) -> None:
    notebook = solved()
    if source is None:
        notebook["cells"].pop(at(notebook, "ffn_forward"))
    else:
        put(notebook, "ffn_forward", source and text_of(blank(FFN), "ffn_forward"))
    verdict = grade_submission(FFN, as_json(notebook), jail, SEEDS[FFN]).verdicts["ffn_forward"]
    assert verdict.outcome is Outcome.NOT_ATTEMPTED
    assert words in verdict.message


def test_an_answer_to_one_exercise_is_none_to_another_of_a_similar_name(jail: Jail) -> None:
    notebook = blank("08_experts")
    key = {key.exercise.name: key for key in keys.of_notebook("08_experts")}["moe_loop"]
    put(notebook, "moe_loop", key.rights[0].source)
    seeds = {e.name: hidden_seeds(e, b"a test's secret") for e in active_course().exercises_of("08_experts")}
    verdicts = grade_submission("08_experts", as_json(notebook), jail, seeds).verdicts
    others = {name: verdict.outcome for name, verdict in verdicts.items() if name != "moe_loop"}
    assert set(others.values()) == {Outcome.NOT_ATTEMPTED}, others


def test_an_answer_earns_for_no_other_exercise(jail: Jail) -> None:
    """A right answer that is handed over under another exercise's name is a wrong answer to that one."""
    notebook = blank(FFN)
    put(notebook, "ffn_forward", RIGHT["ffn_forward"])
    for name in RIGHT:
        if name != "ffn_forward":
            add(notebook, f"check-{name}", f'check("{name}", ffn_forward)')
    verdicts = grade_submission(FFN, as_json(notebook), jail, SEEDS[FFN]).verdicts
    assert {name for name, verdict in verdicts.items() if verdict.points} == {"ffn_forward"}


# What a cell above did not come to define is the cause, and not a slip of the answer's.

LOST: dict[str, tuple[str, str]] = {
    "a module of one's own": ("from my_helpers import kk", "If it is a file of yours, put its code into a cell"),
    "a file of one's own": ('kk = float(open("my_number.txt").read())', "an answer can't read files of its own"),
    "a prompt": ('kk = float(input("a number? "))', "waits for somebody to type something"),
    "a large file": (
        "torch.save(torch.ones(25_000_000), 'big.pt')\nkk = torch.load('big.pt')[0].item()",
        "may write 64 MiB of files",
    ),
    "a mistake": ("kk = 1 / 0", "ended in ZeroDivisionError"),
    "a name that is lost itself": ("jj = 1 / 0", "ended in ZeroDivisionError"),
}


@pytest.mark.parametrize("what", LOST)
@pytest.mark.parametrize("inside", [True, False])
def test_a_name_that_is_missing_is_said_to_belong_to_the_cell_that_failed(what: str, inside: bool, jail: Jail) -> None:
    source, words = LOST[what]
    notebook = solved()
    add(notebook, "imports", source)
    if "itself" in what:
        add(notebook, "imports", "kk = jj")
        notebook["cells"].insert(at(notebook, "imports") + 1, notebook["cells"].pop(at(notebook, "imports") + 2))
    body = RIGHT["ffn_forward"]
    put(notebook, "ffn_forward", body.replace("+ b2", "+ kk * b2") if inside else f"kk\n{body}")
    verdict = grade_submission(FFN, as_json(notebook), jail, SEEDS[FFN]).verdicts["ffn_forward"]
    assert "`kk` belongs to a cell of your notebook that" in verdict.message, verdict.message
    assert words in verdict.message and "misspelled" not in verdict.message, verdict.message


def test_a_name_that_was_defined_after_all_is_not_called_lost(jail: Jail) -> None:
    notebook = solved()
    add(notebook, "imports", "kk = 1")
    add(notebook, "imports", "kk = 1 / 0")
    put(notebook, "ffn_forward", RIGHT["ffn_forward"].replace("+ b2", "+ kk * b2"))
    assert grade_submission(FFN, as_json(notebook), jail, SEEDS[FFN]).verdicts["ffn_forward"].outcome is Outcome.EARNED


def test_a_python_file_beside_the_notebook_is_said_to_be_ignored(tmp_path: Path) -> None:
    folder = tmp_path / "class" / "submitted" / "ada" / FFN
    folder.mkdir(parents=True)
    for name in (f"{FFN}.ipynb", "my_helpers.py", "data.csv"):
        (folder / name).write_text("", encoding="utf-8")
    (submission,) = submitted_files.find(ClassFolder(tmp_path / "class"), FFN)
    assert submission.remark == "ignored beside it: my_helpers.py"


def test_a_limit_is_told_once(jail: Jail) -> None:
    notebook = solved()
    put(notebook, "ffn_forward", f"torch.save(torch.ones(25_000_000), 'big.pt')\n{RIGHT['ffn_forward']}")
    message = grade_submission(FFN, as_json(notebook), jail, SEEDS[FFN]).verdicts["ffn_forward"].message
    assert message.count("may write 64 MiB of files") == 1, message
