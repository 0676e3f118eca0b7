"""Submissions: whatever arrives, the notebook is rebuilt from ours or refused with one clear line."""

from __future__ import annotations

import copy
import json
from collections.abc import Callable
from typing import Any

import pytest
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st

from autograder.engine import rebuild
from autograder.engine.rebuild import Kind
from autograder.paths import release

NAME = "00_start_here"
MOST = 10 * 2**20
ANSWER = "def hello_shape(x):\n    return tuple(x.shape)"


def blank() -> dict[str, Any]:
    notebook: dict[str, Any] = json.loads(release(NAME).read_text(encoding="utf-8"))
    return notebook


def place(notebook: dict[str, Any], grade_id: str) -> int:
    return next(
        i
        for i, cell in enumerate(notebook["cells"])
        if cell["metadata"].get("nbgrader", {}).get("grade_id") == grade_id
    )


def answered(source: str = ANSWER) -> dict[str, Any]:
    notebook = blank()
    notebook["cells"][place(notebook, "hello_shape")]["source"] = source
    return notebook


def rebuilt(notebook: object) -> rebuild.Rebuilt:
    return rebuild.rebuild(NAME, json.dumps(notebook).encode(), MOST)


def running(rebuilt_notebook: rebuild.Rebuilt) -> list[str]:
    """The sources that will run, in order, with a mark where the judge asks."""
    kinds = (Kind.OURS, Kind.EXTRA, Kind.SOLUTION)
    return [
        f"? {cell.name}" if cell.kind is Kind.CHECK else cell.source
        for cell in rebuilt_notebook.cells
        if cell.kind is Kind.CHECK or (cell.kind in kinds and not cell.missing)
    ]


def test_an_honest_submission_keeps_its_answer() -> None:
    rebuilt_notebook = rebuilt(answered())
    assert [
        cell.source for cell in rebuilt_notebook.cells if cell.name == "hello_shape" and cell.kind is Kind.SOLUTION
    ] == [ANSWER]
    assert rebuilt_notebook.remarks == ()


def test_our_own_cells_come_from_our_copy() -> None:
    notebook = answered()
    notebook["cells"][place(notebook, "imports")]["source"] = "check = print"
    notebook["cells"][place(notebook, "check-hello_shape")]["source"] = "2.0"
    sources = running(rebuilt(notebook))
    assert "check = print" not in sources and "2.0" not in sources and "? hello_shape" in sources


def test_a_deleted_cell_comes_back() -> None:
    notebook = answered()
    del notebook["cells"][place(notebook, "check-hello_shape")]
    assert "? hello_shape" in running(rebuilt(notebook))


def test_a_deleted_answer_is_remarked_and_does_not_run() -> None:
    notebook = blank()
    del notebook["cells"][place(notebook, "hello_shape")]
    rebuilt_notebook = rebuilt(notebook)
    assert "deleted: hello_shape" in rebuilt_notebook.remarks
    assert not any("def hello_shape" in source for source in running(rebuilt_notebook))


def test_of_duplicated_answers_the_last_counts_and_the_first_still_runs() -> None:
    notebook = answered()
    where = place(notebook, "hello_shape")
    twin = copy.deepcopy(notebook["cells"][where]) | {"source": "first = 1"}
    notebook["cells"].insert(where, twin)
    rebuilt_notebook = rebuilt(notebook)
    assert running(rebuilt_notebook).index("first = 1") < running(rebuilt_notebook).index(ANSWER)
    assert "there twice" in rebuilt_notebook.remarks[0]


def test_lost_metadata_is_made_up_for_by_the_cell_id() -> None:
    notebook = answered()
    for cell in notebook["cells"]:
        cell["metadata"] = {}
    rebuilt_notebook = rebuilt(notebook)
    assert running(rebuilt_notebook).count(ANSWER) == 1
    assert running(rebuilt_notebook) == running(rebuilt(answered()))


def test_without_metadata_and_ids_the_answer_still_runs_before_its_check() -> None:
    notebook = answered()
    for cell in notebook["cells"]:
        cell["metadata"] = {}
        cell.pop("id")
    sources = running(rebuilt(notebook))
    assert sources.index(ANSWER) < sources.index("? hello_shape")


def test_changed_flags_mean_nothing() -> None:
    notebook = answered()
    for cell in notebook["cells"]:
        if "nbgrader" in cell["metadata"]:
            cell["metadata"]["nbgrader"] |= {"grade": False, "solution": True, "locked": False, "points": 1000}
    assert running(rebuilt(notebook)) == running(rebuilt(answered()))


def test_an_extra_cell_keeps_its_place() -> None:
    notebook = answered("def hello_shape(x):\n    return helper(x)")
    extra = {"cell_type": "code", "source": "def helper(x):\n    return tuple(x.shape)", "metadata": {}}
    notebook["cells"].insert(place(notebook, "hello_shape"), extra)
    sources = running(rebuilt(notebook))
    assert sources.index(str(extra["source"])) < sources.index("def hello_shape(x):\n    return helper(x)")


def test_an_untouched_stub_is_known_as_such() -> None:
    rebuilt_notebook = rebuilt(blank())
    assert all(cell.untouched for cell in rebuilt_notebook.cells if cell.kind is Kind.SOLUTION)


def test_sources_as_lists_and_windows_line_ends_are_read() -> None:
    notebook = answered()
    notebook["cells"][place(notebook, "hello_shape")]["source"] = [
        "def hello_shape(x):\r\n",
        "    return tuple(x.shape)",
    ]
    assert ANSWER in running(rebuilt(notebook))


def test_demonstrations_do_not_run() -> None:
    assert not any("controls.show" in source for source in running(rebuilt(answered())))


@pytest.mark.parametrize(
    ("data", "words"),
    [
        (b"", "the file is empty"),
        (b"{", "broken JSON"),
        (b"[]", "JSON object"),
        (b"{}", "no list of cells"),
        (b'{"cells": 3}', "no list of cells"),
        (b"\xff\xfe", "UTF-8"),
        (b"[" * 100_000, "nested too deeply"),
        (json.dumps({"cells": [{}] * 3000}).encode(), "too many cells"),
    ],
)
def test_what_is_not_a_notebook_is_refused_with_one_line(data: bytes, words: str) -> None:
    with pytest.raises(rebuild.Unreadable, match=words):
        rebuild.rebuild(NAME, data, MOST)


def test_a_notebook_beyond_the_limit_is_refused() -> None:
    with pytest.raises(rebuild.Unreadable, match="too large"):
        rebuild.rebuild(NAME, b"x" * 101, 100)


JSON = st.recursive(
    st.none() | st.booleans() | st.integers() | st.floats() | st.text(),
    lambda inner: st.lists(inner, max_size=4) | st.dictionaries(st.text(), inner, max_size=4),
    max_leaves=20,
)
CELLS = st.lists(
    st.fixed_dictionaries(
        {},
        optional={
            "cell_type": JSON,
            "source": JSON,
            "metadata": st.one_of(JSON, st.fixed_dictionaries({"nbgrader": JSON})),
            "id": JSON,
        },
    ),
    max_size=5,
)


@settings(deadline=None, max_examples=60, suppress_health_check=[HealthCheck.too_slow])  # no test depends on a time
@given(CELLS)
def test_no_cells_can_make_rebuilding_raise(cells: list[dict[str, Any]]) -> None:
    rebuilt_notebook = rebuild.rebuild(NAME, json.dumps({"cells": cells}).encode(), MOST)
    assert "? hello_shape" in running(rebuilt_notebook)


def test_every_way_in_which_the_sample_class_is_odd_keeps_the_checks() -> None:
    from autograder.authoring.sample import ODD

    change: Callable[[dict[str, Any]], dict[str, Any]]
    for change in ODD:
        assert "? hello_shape" in running(rebuilt(change(answered()))), change.__name__
