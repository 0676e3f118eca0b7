"""The student's notebook is the program: what runs of it, where it is looked at, and what is refused with one clear line."""

from __future__ import annotations

import base64
import copy
import json
from collections.abc import Callable
from typing import Any

import pytest
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st

from autograder.engine import absence, program
from autograder.engine.names import Names, of_source
from autograder.engine.program import Program
from autograder.engine.released_notebook import Cell, Kind, template
from autograder.engine.submitted_notebook import Unreadable, parse, with_pictures, without_outputs
from autograder.gradebook import sanitize
from autograder.jail.limits import MIB, Limits
from autograder.paths import release

NAME = "00_start_here"
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


def planned(notebook: object) -> Program:
    return program.plan(NAME, json.dumps(notebook).encode(), Limits())


def running(plan: Program) -> list[str]:
    """The sources that run, in order, with a mark where the judge asks."""
    return [
        f"? {cell.name}" if cell.kind is Kind.CHECK and not program.runs(cell) else cell.source
        for cell in plan.cells
        if program.runs(cell) or (cell.kind is Kind.CHECK and not cell.missing)
    ]


def cell_of(plan: Program, name: str, kind: Kind) -> Cell:
    (cell,) = [cell for cell in plan.cells if (cell.name, cell.kind) == (name, kind) and cell.metadata]
    return cell


def own(source: str, cell_type: str = "code") -> dict[str, Any]:
    """A cell of the student's own."""
    return {"cell_type": cell_type, "source": source, "metadata": {}}


def test_an_honest_submission_keeps_its_answer() -> None:
    plan = planned(answered())
    assert cell_of(plan, "hello_shape", Kind.SOLUTION).source == ANSWER
    assert plan.remarks == ()


def test_what_was_added_in_our_imports_runs_where_it_stands() -> None:
    notebook = answered()
    cell = notebook["cells"][place(notebook, "imports")]
    cell["source"] = "".join(cell["source"]) + "\nimport numpy as np"
    plan = planned(notebook)
    assert running(plan)[0].endswith("import numpy as np")
    assert any("imports" in remark for remark in plan.remarks)


def test_what_was_typed_into_a_check_runs_and_the_check_is_still_there() -> None:
    notebook = answered()
    notebook["cells"][place(notebook, "check-hello_shape")]["source"] = f"{ANSWER}\ncheck('hello_shape', hello_shape)"
    plan = planned(notebook)
    assert f"{ANSWER}\ncheck('hello_shape', hello_shape)" in running(plan)
    assert cell_of(plan, "hello_shape", Kind.CHECK).answers == ("hello_shape",)


def test_a_comment_in_a_check_makes_no_program_of_it() -> None:
    notebook = answered()
    cell = notebook["cells"][place(notebook, "check-hello_shape")]
    cell["source"] = "# is it right now?\n" + "".join(cell["source"])
    assert "? hello_shape" in running(planned(notebook))


def test_a_deleted_check_comes_back_for_its_score() -> None:
    notebook = answered()
    del notebook["cells"][place(notebook, "check-hello_shape")]
    assert cell_of(planned(notebook), "hello_shape", Kind.CHECK).missing


def test_deleted_imports_run_before_all_else() -> None:
    notebook = answered()
    imports = notebook["cells"].pop(place(notebook, "imports"))
    assert running(planned(notebook))[0] == "".join(imports["source"])


def test_a_deleted_answer_is_remarked_and_does_not_run() -> None:
    notebook = blank()
    del notebook["cells"][place(notebook, "hello_shape")]
    plan = planned(notebook)
    assert "deleted: hello_shape" in plan.remarks
    assert not any("def hello_shape" in source for source in running(plan))


def test_an_answer_in_a_cell_of_ones_own_is_not_deleted() -> None:
    notebook = answered()
    where = place(notebook, "hello_shape")
    notebook["cells"][where] = own(ANSWER)
    plan = planned(notebook)
    assert plan.remarks == ()
    assert cell_of(plan, "hello_shape", Kind.SOLUTION).source == ANSWER


@pytest.mark.parametrize("order", ["answer first", "stub first", "stub behind the check", "three"])
def test_of_several_answers_the_last_before_the_check_that_is_no_stub_has_the_place_and_all_run(order: str) -> None:
    notebook = answered()
    where = place(notebook, "hello_shape")
    stub = copy.deepcopy(blank()["cells"][where])
    places = {
        "answer first": [where + 1],
        "stub first": [where],
        "stub behind the check": [len(notebook["cells"])],
        "three": [where, where + 2],
    }
    for position in places[order]:
        notebook["cells"].insert(position, copy.deepcopy(stub))
    plan = planned(notebook)
    assert cell_of(plan, "hello_shape", Kind.SOLUTION).source == ANSWER
    above = sum(position <= where for position in places[order])
    assert running(plan).count("".join(stub["source"])) == above, "a stub takes nothing away from an answer above it"
    assert "counts: the last before its check with an answer in it" in plan.remarks[0]


def test_lost_metadata_is_made_up_for_by_the_cell_id() -> None:
    notebook = answered()
    for cell in notebook["cells"]:
        cell["metadata"] = {}
    plan = planned(notebook)
    assert running(plan).count(ANSWER) == 1
    assert running(plan) == running(planned(answered()))


def test_without_metadata_and_ids_a_cell_is_known_by_its_text() -> None:
    notebook = answered()
    for cell in notebook["cells"]:
        cell["metadata"] = {}
        cell.pop("id")
    assert running(planned(notebook)) == running(planned(answered()))
    assert planned(notebook).remarks == ()


def test_changed_flags_mean_nothing() -> None:
    notebook = answered()
    for cell in notebook["cells"]:
        if "nbgrader" in cell["metadata"]:
            cell["metadata"]["nbgrader"] |= {"grade": False, "solution": True, "locked": False, "points": 1000}
    assert running(planned(notebook)) == running(planned(answered()))


def test_an_extra_cell_keeps_its_place() -> None:
    notebook = answered("def hello_shape(x):\n    return helper(x)")
    extra = own("def helper(x):\n    return tuple(x.shape)")
    notebook["cells"].insert(place(notebook, "hello_shape"), extra)
    sources = running(planned(notebook))
    assert sources.index(str(extra["source"])) < sources.index("def hello_shape(x):\n    return helper(x)")


def test_cells_run_in_the_order_in_which_they_were_handed_in() -> None:
    notebook = answered()
    notebook["cells"].append(notebook["cells"].pop(place(notebook, "hello_shape")))
    assert running(planned(notebook))[-1] == ANSWER


def test_an_answer_that_has_become_markdown_runs_all_the_same() -> None:
    notebook = answered()
    notebook["cells"][place(notebook, "hello_shape")] |= {"cell_type": "markdown"}
    assert ANSWER in running(planned(notebook))


def test_an_unlocked_demonstration_may_be_changed_without_a_remark() -> None:
    notebook = answered()
    cell = next(
        cell
        for cell in notebook["cells"]
        if "demo" in cell["metadata"].get("tags", []) and not cell["metadata"]["nbgrader"]["locked"]
    )
    cell["source"] = "mine = 1"
    plan = planned(notebook)
    assert "mine = 1" in running(plan) and plan.remarks == ()


def test_an_untouched_stub_is_known_as_such() -> None:
    plan = planned(blank())
    assert all(cell.untouched for cell in plan.cells if cell.kind is Kind.SOLUTION)


def test_sources_as_lists_and_windows_line_ends_are_read() -> None:
    notebook = answered()
    notebook["cells"][place(notebook, "hello_shape")]["source"] = [
        "def hello_shape(x):\r\n",
        "    return tuple(x.shape)",
    ]
    assert ANSWER in running(planned(notebook))


def test_demonstrations_do_not_run() -> None:
    assert not any("controls.show" in source for source in running(planned(answered())))


@pytest.mark.parametrize(
    ("data", "words"),
    [
        (b"", "the file is empty"),
        (b"{", "its end is missing"),
        (b"{]}", "broken JSON"),
        (b"[]", "JSON object"),
        (b"{}", "no list of cells"),
        (b'{"cells": 3}', "no list of cells"),
        (b"\xff\xfe", "its end is missing|broken JSON|empty"),
        (b"\xff\x00", "UTF-8"),
        (b"[" * 100_000, "nested too deeply"),
        (b"<!DOCTYPE html><html></html>", "a web page"),
        (b"https://colab.research.google.com/drive/1abc", "not a notebook but a link to one"),
        (b"[InternetShortcut]\r\nURL=https://x.example/a.ipynb", "not a notebook but a link to one"),
        (b"PK\x03\x04...", "not a notebook but a zip, or a document of an office program"),
        (b"%PDF-1.7", "not a notebook but a PDF"),
        (b'{"cells": [\n<<<<<<< HEAD\n"a"\n=======\n"b"\n>>>>>>> main\n]}', "merge conflict"),
        (json.dumps({"cells": [{}] * 3000}).encode(), "too many cells"),
    ],
)
def test_what_is_not_a_notebook_is_refused_with_one_line(data: bytes, words: str) -> None:
    with pytest.raises(Unreadable, match=words):
        program.plan(NAME, data, Limits())


def test_a_notebook_of_utf_16_is_read() -> None:
    data = json.dumps(answered()).encode("utf-16")
    assert ANSWER in running(program.plan(NAME, data, Limits()))


def test_a_file_beyond_the_limit_is_refused() -> None:
    with pytest.raises(Unreadable, match="too large"):
        program.plan(NAME, b"x" * 101, Limits(file=100))


def shows(notebook: dict[str, Any], data: dict[str, Any]) -> dict[str, Any]:
    """The notebook with an output in each code cell, and the state of a widget."""
    for cell in notebook["cells"]:
        if cell["cell_type"] == "code":
            cell["outputs"] = [{"output_type": "display_data", "metadata": {}, "data": data}]
    notebook["metadata"]["widgets"] = {"application/vnd.jupyter.widget-state+json": {"state": data}}
    return notebook


@pytest.mark.parametrize(
    "data",
    [
        {"text/plain": 'brackets ]}[{ and "quotes" \\ " \\\\'},
        {"application/json": {"outputs": [[1, 2], {"outputs": []}], "cells": [{"outputs": "x"}]}},
        {"application/vnd.plotly.v1+json": [float("nan"), float("inf")]},
    ],
)
def test_what_cells_have_shown_counts_for_nothing(data: dict[str, Any]) -> None:
    notebook = answered()
    text = json.dumps(shows(notebook, data))
    stripped = json.loads(without_outputs(text))
    assert all(not cell.get("outputs") for cell in stripped["cells"])
    assert stripped["metadata"]["widgets"] == {}
    assert [cell["source"] for cell in stripped["cells"]] == [cell["source"] for cell in notebook["cells"]]


def test_a_notebook_with_15_mib_of_prints_is_graded() -> None:
    notebook = shows(answered(), {"text/plain": "0.123\n" * 100_000})
    data = json.dumps(notebook, indent=1).encode()
    assert len(data) > 10 * MIB
    assert running(program.plan(NAME, data, Limits())) == running(planned(answered()))


def test_text_beyond_the_limit_is_refused_with_its_true_size() -> None:
    notebook = answered("# " + "x" * (2 * MIB))
    with pytest.raises(Unreadable, match=r"its cells hold 2\.\d MiB of text, at most 1 MiB"):
        program.plan(NAME, json.dumps(notebook).encode(), Limits(notebook=MIB))


def test_a_picture_that_is_too_large_costs_nothing_but_itself() -> None:
    notebook = answered()
    picture = {"image/png": "A" * (2 * MIB)}
    notebook["cells"].append(own("![photo](attachment:a.png)", "markdown") | {"attachments": {"a.png": picture}})
    plan = program.plan(NAME, json.dumps(notebook).encode(), Limits(notebook=MIB))
    assert ANSWER in running(plan)
    assert "a picture of 1.5 MiB, too large to be shown" in plan.cells[-1].source


def test_a_newer_python_is_remarked() -> None:
    notebook = answered()
    notebook["metadata"]["language_info"] = {"name": "python", "version": "3.99.1"}
    assert any("written with Python 3.99.1" in remark for remark in planned(notebook).remarks)
    notebook["metadata"]["language_info"] = {"name": "python", "version": "3.11.0"}
    assert planned(notebook).remarks == ()


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
def test_no_cells_can_make_planning_raise(cells: list[dict[str, Any]]) -> None:
    plan = program.plan(NAME, json.dumps({"cells": cells}).encode(), Limits())
    ours = {cell.id for cell in template(release(NAME))}
    assert ours <= {cell.id for cell in plan.cells}
    assert len({cell.id for cell in plan.cells}) == len(plan.cells)


def test_every_way_in_which_the_sample_class_is_odd_keeps_the_checks() -> None:
    from autograder.authoring.sample import ODD

    change: Callable[[dict[str, Any]], dict[str, Any]]
    for change in ODD:
        assert "? hello_shape" in running(planned(change(answered()))), change.__name__


# Pictures

PNG = "iVBORw0KGgoAAAANSUhEUgAAAAEAAAABCAYAAAAfFcSJAAAADUlEQVR42mNk+M9QDwADhgGAWjR9awAAAABJRU5ErkJggg=="
SHOWN = f"](data:image/png;base64,{PNG})"
IN_SVG = "<svg xmlns='http://www.w3.org/2000/svg'><text>words</text></svg>"


@pytest.mark.parametrize(
    ("source", "name", "words"),
    [
        ("![a b](attachment:p.png)", "p.png", "![a b"),
        ("![](attachment:p.png)", "p.png", "![p.png"),
        ('<img src="attachment:p.png" alt="my words" width="300">', "p.png", "![my words"),
        ("<IMG width=3 SRC=attachment:p.png>", "p.png", "![p.png"),
        (f'<img src="data:image/png;base64,{PNG}"/>', "", "!["),
        ("![x](attachment:my%20photo.png)", "my photo.png", "![x"),
        ('![p](attachment:p.png "my photo")', "p.png", "![p my photo"),
        ("![p](<attachment:my photo.png>)", "my photo.png", "![p"),
        ("![p][1]\n\n[1]: attachment:p.png", "p.png", "![p.png"),
        ("![a [b] c](attachment:p.png)", "p.png", "![p.png"),
        ("words", "p.png", "![p.png"),
        ("![a](attachment:f(1).png)", "f(1).png", "![a"),
        ("![a](attachment:Gr%C3%B6%C3%9Fe.png)", "Größe.png", "![a"),
    ],
)
def test_a_picture_is_shown_however_it_is_mentioned(source: str, name: str, words: str) -> None:
    attachments = {name: {"image/png": PNG}} if name else {}
    cell = {"cell_type": "markdown", "source": source, "attachments": attachments}
    (parsed,) = parse(json.dumps({"cells": [cell]}).encode(), Limits()).cells
    assert words + SHOWN in parsed.source
    assert words + SHOWN in sanitize.markdown(parsed.source), "and no viewer's cleaning takes it away"


def test_a_drawing_is_shown_and_of_what_can_not_be_shown_a_sentence_says_so() -> None:
    shown = with_pictures("![d](attachment:d.svg)", {"d.svg": {"image/svg+xml": IN_SVG}})
    assert base64.b64decode(shown.partition("base64,")[2].rstrip(")")).decode() == IN_SVG
    for kind in ("application/pdf", "image/heic", "image/bmp"):
        text = with_pictures("mine: ![d](attachment:d)", {"d": {kind: PNG}})
        assert (
            text
            == f"mine: *(a file, d, of the type {kind}, which can't be shown here; it is in the file that was handed in)*"
        )
    assert "too large to be shown" in with_pictures("", {"p.png": {"image/png": PNG}}, room=10)


@pytest.mark.parametrize(
    "piece",
    ["<img ", '<img src="attachment:p.png', "![", '![a](attachment:p.png "', '<img src="data:image/png;base64,'],
)
def test_looking_for_pictures_takes_time_by_the_texts_length(piece: str) -> None:
    assert with_pictures(piece * 300_000, {"p.png": {"image/png": PNG}}).endswith(SHOWN)


# What a text costs


@pytest.mark.parametrize("piece", ['\\"', "\\", '"', "[", '\\\\"', '"x', "{}"])
def test_a_large_file_is_read_in_time_by_its_length(piece: str) -> None:
    """Each of these texts has 11 MiB, and no end."""
    with pytest.raises(Unreadable):
        parse(b'{"cells": [], "x": "' + piece.encode() * (11 * MIB // len(piece)), Limits())


def test_a_string_without_an_end_hides_nothing_before_it() -> None:
    text = '{"cells": [{"source": "a", "outputs": ["' + "x" * 100 + '"]}], "y": "\\'
    assert without_outputs(text) == '{"cells": [{"source": "a", "outputs": []}], "y": "\\'


def test_needed_demonstrations_of_many_names_are_found_in_time() -> None:
    names = [f"n{number}" for number in range(400)]
    cells = [Cell(Kind.EXTRA, f"own{n}", "code", "", {}, f"own{n}") for n in range(2_000)]
    of_each = Names(frozenset(names), frozenset(names))
    assert program.needed_demonstrations(cells, {cell.id: of_each for cell in cells}) == set()


@pytest.mark.parametrize("user", [0, 1, 2, 3, 4])
def test_a_name_comes_from_the_nearest_cell_before_and_else_from_the_next(user: int) -> None:
    defines = {1: "a", 3: "a"}
    cells, names = [], {}
    for number in range(5):
        kind = Kind.DISPLAY if number in defines and number != user else Kind.EXTRA
        cells.append(Cell(kind, f"c{number}", "code", "x", {}, f"c{number}", untouched=True, has_our_code=True))
        used = {"a"} if number == user else set[str]()
        defined = set(defines.get(number, ""))
        names[f"c{number}"] = Names(frozenset(used), frozenset(defined))
    wanted = {0: {"c1"}, 1: {"c3"}, 2: {"c1"}, 3: {"c1"}, 4: {"c3"}}
    assert program.needed_demonstrations(cells, names) == wanted[user]


def test_of_very_many_names_those_that_are_like_a_wanted_one_are_found_in_time() -> None:
    own_names = [f"a{number}" for number in range(100_000)] + ["x" * 9_000_000]
    assert absence.similar_name("ffn_forward", ["ffn_forwrad", *own_names]) == "`ffn_forwrad`"
    assert absence.similar_name("ffn_forward", own_names) == ""
    assert len(absence.show("x" * 9_000_000)) < 100


def test_magics_within_magics_have_an_end() -> None:
    assert of_source("%%time\n" * 5 + "a = b").defines == {"a"}
    assert of_source("%%time\n" * 100_000 + "a = b").defines == frozenset()


def test_whether_many_cells_depend_on_others_is_found_in_time() -> None:
    cells = [Cell(Kind.EXTRA, f"own{n}", "code", "x", {}, f"own{n}") for n in range(2_000)]
    of_cells = {f"own{n}": Names(frozenset(), frozenset(f"n{n}_{k}" for k in range(400))) for n in range(2_000)}
    assert not program.may_depend_on_others(cells, cells, of_cells, set(of_cells))
    of_cells["own7"] = Names(frozenset({"n8_0"}), frozenset())
    assert program.may_depend_on_others(cells, cells, of_cells, ())
