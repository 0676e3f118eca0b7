"""What a learner has earned runs the creek model: the file with the learner's code, and `machine()`."""

from __future__ import annotations

import itertools
import linecache
import re
import subprocess
import sys
from collections.abc import Callable
from pathlib import Path
from types import SimpleNamespace
from typing import Any

import nbformat
import pytest
import torch
from conftest import often
from nbclient import NotebookClient

from autograder import keys
from autograder.authoring.build import cells_of, solution_answer
from ffnlab import check
from ffnlab.checking import kept_code
from ffnlab.course import machine, own_block, toy_transformer, world
from ffnlab.course.experiments import creek
from ffnlab.course.figures.machine import SCENES, in_course
from ffnlab.course.parts import BLOCK, KEPT, PARTS
from ffnlab.registry import Course, active_course

BASIC = ("self_attention", "ffn_forward", "activation", "residual_sublayer")  # of which the plain model is made
SETUP = "import math\nimport torch\nimport torch.nn.functional as F\nfrom torch import nn\n"
NOTED = "Your code is in `my_transformer.py` now."
KERNEL = SimpleNamespace(user_ns={}, history_manager=SimpleNamespace(input_hist_parsed=[]))  # that has run the cells
_numbers = itertools.count()


@pytest.fixture
def course(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    """A course's folder with one notebook's folder, worked in from there."""
    (tmp_path / "02_feed_forward").mkdir()
    monkeypatch.chdir(tmp_path / "02_feed_forward")
    monkeypatch.setattr(kept_code, "get_ipython", lambda: KERNEL)
    return tmp_path


def run_cell(source: str, namespace: dict[str, Any]) -> None:
    """Run a cell as a kernel does: what it defines knows its source."""
    file = f"<cell {next(_numbers)}>"
    linecache.cache[file] = (len(source), None, source.splitlines(keepends=True), file)
    exec(compile(source, file, "exec", dont_inherit=True), namespace)
    KERNEL.user_ns = namespace
    KERNEL.history_manager.input_hist_parsed.append(source)


def typed(name: str, source: str, before: str = "") -> Any:
    """What a notebook's cell defines under a name, behind the first cell and what is defined `before`."""
    namespace: dict[str, Any] = {}
    KERNEL.history_manager.input_hist_parsed.clear()
    for cell in (SETUP, before, source):
        run_cell(cell, namespace)
    return namespace[name]


def styles(name: str) -> list[str]:
    """The sources of all answers to an exercise that are kept as right, the notebook's solution first."""
    return [solution_answer(name).source, *(answer.source for answer in keys.find(name).rights)]


def read_code(course: Path) -> str:
    return (course / KEPT.file).read_text(encoding="utf-8")


def alone(course: Path, code: str, *arguments: Path) -> str:
    """What some lines print in a fresh Python that has torch and neither the course nor the notebook; `mine` is what the file defines."""
    start = "import runpy, sys, torch\nsys.modules['ffnlab'] = sys.modules['autograder'] = None\nmine = runpy.run_path(sys.argv[1])\n"
    command = [sys.executable, "-I", "-c", start + code, str(course / KEPT.file), *map(str, arguments)]
    result = subprocess.run(command, capture_output=True, text=True, check=False)
    assert result.returncode == 0, result.stderr
    return result.stdout.strip()


READ = """
weights, ids = torch.load(sys.argv[2]), torch.load(sys.argv[3])
x = weights["words.weight"][ids[:, :15]] + weights["places.weight"][:15]
pattern = torch.ones(15, 15).tril()
pattern /= pattern.sum(-1, keepdim=True)
Q, V, O = torch.zeros(32, 32), weights["attention.value.weight"].T, 4 * weights["attention.output.weight"].T
attention = lambda x: torch.stack([mine["self_attention"](X, Q, Q, V, O, pattern)[0] for X in x])
x = mine["residual_sublayer"](x, attention, lambda x: x, "pre")
W1, b1, W2, b2 = (weights[f"linear{n}.{kind}"].T for n in (1, 2) for kind in ("weight", "bias"))
relu = lambda x: mine["activation"]("relu", x)[0]
x = mine["residual_sublayer"](x[:, [10, 14]], lambda x: mine["ffn_forward"](x, W1, b1, W2, b2, relu), lambda x: x, "pre")
said = (x @ weights["scores.weight"].T).argmax(-1)
print(int((said == ids[:, [11, 15]]).all(-1).sum()))
"""


def new_sentences(tmp_path: Path) -> Path:
    """A file with the numbers of the words of all held-out wishes."""
    sentences = [world.wish(scene) for scene in world.scenes(held_out=True)]
    torch.save(toy_transformer.tensor(sentences), tmp_path / "ids.pt")
    return tmp_path / "ids.pt"


def read_alone(course: Path, tmp_path: Path) -> int:
    """How many held-out scenes the file reads in a fresh Python, put together there anew."""
    torch.save(dict(toy_transformer.load().state_dict()), tmp_path / "weights.pt")
    return int(alone(course, READ, tmp_path / "weights.pt", new_sentences(tmp_path)))


# Right answers


MOST = max(len(styles(name)) for name in PARTS)


@pytest.mark.filterwarnings("ignore:.*weights_only")
@pytest.mark.parametrize("nth", often(range(MOST), [0, 3]))
def test_right_answers_in_every_style_read_all_scenes_from_the_file(nth: int, course: Path, tmp_path: Path) -> None:
    for name in PARTS:
        check(name, typed(name, styles(name)[nth % len(styles(name))]))
        assert f"# === {name}, {active_course().notebook_of(name)}, " in read_code(course), name
    answers, errors = kept_code.load()
    assert set(answers) == set(PARTS) and errors == {}
    for parts in (tuple(PARTS), BASIC):
        run = machine.run({name: answers[name] for name in parts})
        assert run[:2] == (parts, SCENES) and run.replacements == (), run
    assert " ".join(machine.run(answers).continuation) == "over it and was glad about the ice ."
    assert read_alone(course, tmp_path) == SCENES


@pytest.mark.parametrize("name", PARTS)
def test_each_right_answer_runs_in_a_model_that_is_torchs_otherwise(name: str) -> None:
    for source in styles(name):
        run = machine.run({name: typed(name, source)})
        assert (run.parts, run.right, run.replacements) == ((name,), SCENES, ()), source


def test_the_model_reads_all_scenes_without_any_answer() -> None:
    assert machine.run({}) == machine.MachineRun((), SCENES, ("over",), ())
    assert SCENES == len(world.scenes(held_out=True)) == 1792


def earned_block(nth: int = 0) -> Any:
    """A right Block with the classes of its notebook, whose code is kept."""
    classes = cells_of("10_capstone")["imports"]
    check("Block", typed("Block", styles("Block")[nth], classes[classes.index("class FFN") :]))
    return KERNEL.user_ns["Block"]


@pytest.mark.parametrize("nth", often(range(len(styles("Block"))), [0, 1]))
def test_a_block_comes_with_the_classes_of_its_notebook(nth: int, course: Path) -> None:
    earned_block(nth)
    block = "mine['Block'](kind, 16, 4, 8)(torch.zeros(2, 5, 16)).shape"
    assert alone(course, f"print({{tuple({block}) for kind in ('none', 'relu', 'swiglu', 'moe')}})") == "{(2, 5, 16)}"


def test_the_model_runs_whatever_the_notebook_has_set_for_torch() -> None:
    torch.set_default_dtype(torch.float64)
    try:
        assert machine.run({"ffn_chunked": typed("ffn_chunked", styles("ffn_chunked")[0])}).right == SCENES
        assert torch.get_default_dtype() == torch.float64
    finally:
        torch.set_default_dtype(torch.float32)


# Wrong answers


def raises(*arguments: Any, **keywords: Any) -> Any:
    raise RuntimeError("no")


def floods(*arguments: Any, **keywords: Any) -> Any:
    while True:
        print("again" * 1000)


def small(*arguments: Any, **keywords: Any) -> Any:
    return torch.zeros(1, 2, 3)


@pytest.mark.parametrize(
    "wrong", [raises, floods, small, lambda *args, **kwargs: None], ids=lambda function: function.__name__
)
@pytest.mark.parametrize("name", PARTS)
def test_a_part_that_does_not_run_is_named_and_replaced(name: str, wrong: Callable[..., Any]) -> None:
    others = {other: typed(other, styles(other)[0]) for other in BASIC if other != name}
    run = machine.run(others | {name: wrong})
    assert set(run.parts) == set(others) and run.right == SCENES
    (sentence,) = run.replacements
    assert sentence.startswith(f"{name} ") and sentence.endswith(", so torch's own part runs in its place.")


@pytest.mark.parametrize("after", ["return x", "raise KeyError"])
def test_a_part_that_catches_everything_does_not_hide_another_ones_failure(after: str) -> None:
    source = f"""
def residual_sublayer(x, ffn, norm, mode):
    try:
        return x + ffn(norm(x))
    except Exception:
        {after}
"""
    run = machine.run({"residual_sublayer": typed("residual_sublayer", source), "activation": raises})
    assert run.parts == ("residual_sublayer",) and run.right == SCENES
    assert run.replacements == ("activation raises a RuntimeError, so torch's own part runs in its place.",)


def test_a_wrong_value_is_shown_in_what_the_model_reads_and_a_changed_weight_is_forgotten() -> None:
    def ffn_forward(x: Any, W1: Any, b1: Any, W2: Any, b2: Any, act: Any) -> Any:
        return W1.zero_()[:1, :1] * x

    run = machine.run({"ffn_forward": ffn_forward})
    assert run.parts == ("ffn_forward",) and run.replacements == () and run.right < SCENES
    assert machine.run({}).right == SCENES


# The file


def activation(constant: str, before: str = "") -> Any:
    """A right answer if the constant is 0."""
    right = styles("activation")[0]
    assert right.count("x.clamp(min=0)") == 1
    return typed("activation", right.replace("x.clamp(min=0)", f"x.clamp(min={constant})"), before)


def test_an_answer_takes_along_what_it_needs_and_nothing_else(course: Path, capsys: pytest.CaptureFixture[str]) -> None:
    before = """from math import sqrt as root
import numpy as np
x = torch.randn(1000)
FOUR = 4.0
half = lambda: root(FOUR) / 4

def unused(x):
    return np.zeros(x)

@torch.no_grad()
def zero():
    # nothing
    return half() - 0.5
"""
    source = (
        styles("activation")[0]
        .replace("x.clamp(min=0)", "x.clamp(min=zero())")
        .replace("beta=1.0", "beta=1.0, other=FOUR")
    )
    check("activation", typed("activation", source, before))
    assert NOTED in capsys.readouterr().out
    code = read_code(course).partition(" ===\n\n")[2]
    assert code == (
        "import math\nimport torch\nfrom math import sqrt as root\n\nFOUR = 4.0\nhalf = lambda: root(FOUR) / 4\n\n\n"
        "@torch.no_grad()\ndef zero():\n    # nothing\n"
        f"    return half() - 0.5\n\n\n{source.strip()}\n"
    )
    assert alone(course, "print(mine['activation']('relu', torch.tensor([-2.0, 3.0]))[0].tolist())") == "[0.0, 3.0]"


@pytest.mark.parametrize(
    ("before", "constant", "reason"),
    [
        ("import numpy as np", "np.float64(0)", "it needs `np` from numpy"),
        ("from ffnlab.course import world", "len(world.WORDS) - 56", "it needs `world` from ffnlab"),
        ("for zero in [torch.zeros(())]: pass", "float(zero)", "it needs `zero`, whose source can't be found"),
        ("seen = []\ndef zero():\n    return [seen.append(1), 0, 1][min(1, len(seen))]\nseen += [1]", "zero()", ""),
        ("class Zero:\n    value = 5\nsetattr(Zero, 'value', 0)", "Zero.value", "outside this notebook it does something else"),
    ],
    ids=["numpy", "the course", "no source", "a list as it is now", "changed from outside"],
)  # fmt: skip
def test_what_cannot_be_had_is_said_and_no_section_is_written(
    before: str, constant: str, reason: str, course: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    assert float(check("activation", activation(constant, before))) == active_course().exercise("activation").points
    output = capsys.readouterr().out
    assert (f"This code is not in `my_transformer.py`: {reason}" if reason else NOTED) in output
    assert (course / KEPT.file).exists() == (not reason)


def test_earned_again_it_is_replaced_and_nothing_else_is_said_or_written(
    course: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    check("ffn_forward", typed("ffn_forward", styles("ffn_forward")[0]))
    check("activation", activation("0"))
    check("activation", activation("0.0"))
    assert capsys.readouterr().out.count(NOTED) == 3
    assert read_code(course).count("# === activation, ") == 1 and "clamp(min=0.0)" in read_code(course)
    before = (course / KEPT.file).stat().st_mtime_ns
    check("activation", activation("0.0"))
    check("activation", activation("1"))
    check("activation", activation("0"), on_purpose=True)
    check("hello_shape", lambda x: tuple(x.shape))
    assert NOTED not in capsys.readouterr().out and (course / KEPT.file).stat().st_mtime_ns == before
    assert [name for name, *_ in kept_code.HEADING.findall(read_code(course))] == ["ffn_forward", "activation"]


@pytest.mark.parametrize("damage", [b"\n1/0\n", b"\ndef broken(:\n", b"\xff\xfe\x00", b"# my own note\n"])
def test_a_file_that_the_learner_has_changed_is_left_alone(
    damage: bytes, course: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    check("ffn_forward", typed("ffn_forward", styles("ffn_forward")[0]))
    file = course / KEPT.file
    file.write_bytes(file.read_bytes() + damage)
    changed = file.read_bytes()
    capsys.readouterr()
    assert float(check("activation", activation("0"))) == active_course().exercise("activation").points
    output = capsys.readouterr().out
    assert "You have changed `my_transformer.py`, so it stays as it is, without this answer." in output
    assert file.read_bytes() == changed
    file.unlink()
    check("activation", activation("0"))
    assert NOTED in capsys.readouterr().out


def test_a_helper_that_is_something_else_in_another_section_is_named(
    course: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    check("activation", activation("zero()", "def zero():\n    return 0"))
    source = "def ffn_forward(x, W1, b1, W2, b2, act):\n    return act(x @ W1 + b1) @ W2 + b2 + zero()"
    check("ffn_forward", typed("ffn_forward", source, "def zero():\n    return 0.0"))
    assert "`zero` means something else in the section of `activation`" in capsys.readouterr().out
    check("ffn_forward", typed("ffn_forward", source, "def zero():\n    return 0"))
    assert NOTED in capsys.readouterr().out


def test_a_part_that_calls_another_part_calls_the_one_that_was_earned_last(course: Path) -> None:
    source = "def residual_sublayer(x, ffn, norm, mode):\n    return x + ffn(norm(x)) if mode == 'pre' else norm(x + ffn(x)) + activation('relu', -1e-300)[0]"
    before = "def activation(name, x):\n    return max(x, 0), 0"
    check("residual_sublayer", typed("residual_sublayer", source, before))
    assert "max(x, 0)" in read_code(course)
    check("activation", activation("0"))
    assert (
        "max(x, 0)" not in read_code(course)
        and len(re.findall(r"^def activation", read_code(course), re.MULTILINE)) == 1
    )
    check("residual_sublayer", typed("residual_sublayer", source.replace("1e-300", "1e-301"), before))
    assert "1e-301" not in read_code(course), "a number has no clamp, so this answer does not run on it"


def test_a_power_cut_leaves_the_old_file_or_the_new_one(
    course: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    check("ffn_forward", typed("ffn_forward", styles("ffn_forward")[0]))
    before = read_code(course)

    def full(path: Path, target: Path) -> Path:
        raise OSError(28, "No space left on device")

    with monkeypatch.context() as patch:
        patch.setattr(Path, "replace", full)
        assert float(check("activation", activation("0"))) == active_course().exercise("activation").points
    assert "`my_transformer.py` could not be written: No space left on device." in capsys.readouterr().out
    assert read_code(course) == before and not list(course.glob("*.draft"))
    (course / f"{KEPT.file}.draft").write_text("half of a", encoding="utf-8")  # of a kernel that was killed
    monkeypatch.setattr("ffnlab.checking.record.PAUSE", 0.0)
    check("activation", activation("0"))
    assert "# === activation, " in read_code(course) and not list(course.glob("*.draft"))
    for lost in (b"", b"\0" * 4096):  # what some file systems leave of a file that was just replaced
        (course / KEPT.file).write_bytes(lost)
        check("activation", activation("0"))
        assert "# === activation, " in read_code(course)


def test_kernels_that_write_at_the_same_time_lose_no_section(course: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    real, others = kept_code._revise, [("ffn_forward", styles("ffn_forward")[0])]

    def revise_meanwhile(*arguments: Any) -> Any:
        revision = real(*arguments)
        if others:
            name, source = others.pop()
            before = KERNEL.user_ns
            check(name, typed(name, source))
            KERNEL.user_ns = before
        return revision

    monkeypatch.setattr(kept_code, "_revise", revise_meanwhile)
    check("activation", activation("0"))
    assert [name for name, *_ in kept_code.HEADING.findall(read_code(course))] == ["ffn_forward", "activation"]


def test_outside_of_a_course_and_in_a_course_without_parts_nothing_is_kept(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.chdir(tmp_path)
    assert float(check("activation", activation("0"))) == active_course().exercise("activation").points
    assert [file for file in tmp_path.iterdir() if file.name == KEPT.file] == []
    assert Course("ffnlab.boards", keys="none").kept_code is None
    assert kept_code.load() == ({}, {})


# The learner's own block, with what it has learned


SAY = """
def model(ids):
    x = kept["tokens"][ids] + kept["places"][: ids.shape[1]]
    for block in blocks:
        x = block(x)
    return torch.nn.functional.layer_norm(x, [32], *kept["norm"]) @ kept["scores"].T

kept, ids = torch.load(sys.argv[2]), torch.load(sys.argv[3])
blocks = [mine["Block"](*kept["made"]) for _ in kept["blocks"]]
for block, learned in zip(blocks, kept["blocks"]):
    block.load_state_dict(learned)
    block.eval()
with torch.no_grad():
    said = model(ids[:, :15])[:, [10, 14]].argmax(-1)
print(int((said == ids[:, [11, 15]]).all(-1).sum()))
if "generate" in mine:
    begun = "the creek was cold and the spunky dog wanted to jump".split()
    written = mine["generate"](model, [kept["words"].index(word) for word in begun], [0.5] * 9, 20, 0)
    print(*(kept["words"][n] for n in written))
"""


def trained(Block: Any, kind: str = "relu", d_ff: int = 128, blocks: int = 1, steps: int = 40) -> creek.SentenceReader:
    torch.manual_seed(0)
    model = creek.stack(Block, kind, d_ff, blocks)
    creek.learn(model, steps)
    return model


@pytest.mark.filterwarnings("ignore:.*weights_only")
@pytest.mark.parametrize(
    ("nth", "kind", "blocks"),
    often(
        [
            *((nth, "relu", 2) for nth in range(len(styles("Block")))),
            *((nth, kind, 1) for nth in range(len(styles("Block"))) for kind in ("none", "swiglu", "moe")),
        ],
        [(0, "relu", 2), (3, "relu", 2), (1, "moe", 1)],
    ),
)
def test_what_a_block_in_any_style_has_learned_is_read_in_a_fresh_python_as_in_the_notebook(
    nth: int, kind: str, blocks: int, course: Path, tmp_path: Path
) -> None:
    model = trained(earned_block(nth), kind, 12, blocks)
    assert own_block.keep(model, kept_code.load()[0][BLOCK]) == ""
    reading = own_block.read(kept_code.load()[0][BLOCK])
    assert isinstance(reading, own_block.Reading) and len(reading.continuation) > 0
    assert reading.right == round(creek.judged(model)["both"] * SCENES)
    assert int(alone(course, SAY, course / own_block.FILE, new_sentences(tmp_path))) == reading.right


@pytest.mark.filterwarnings("ignore:.*weights_only")
@pytest.mark.sweep
def test_two_trained_blocks_and_generate_alone_read_and_write_as_the_model_of_the_first_notebook(
    course: Path, tmp_path: Path
) -> None:
    check("generate", typed("generate", styles("generate")[0]))
    model = trained(earned_block(), blocks=2, steps=creek.STEPS)
    assert own_block.keep(model, kept_code.load()[0][BLOCK]) == ""
    lines = alone(course, SAY, course / own_block.FILE, new_sentences(tmp_path)).splitlines()
    assert lines == [str(SCENES), "over it and was glad about the ice ."]


@pytest.mark.filterwarnings("ignore:.*weights_only")
@pytest.mark.parametrize("has_generate", [False, True])
def test_the_last_cell_writes_also_before_generate_is_earned(has_generate: bool, course: Path) -> None:
    model = trained(earned_block(), d_ff=12)
    if has_generate:
        check("generate", typed("generate", styles("generate")[0]))
    assert own_block.keep(model, kept_code.load()[0][BLOCK]) == ""
    reading = own_block.read(kept_code.load()[0][BLOCK])
    assert isinstance(reading, own_block.Reading)
    (course / "notebook").mkdir()
    cell = cells_of("10_capstone")["alone"]
    code = cell.split('ALONE = """')[1].split('"""')[0]
    done = subprocess.run(
        [sys.executable, "-I", "-c", code], cwd=course / "notebook", capture_output=True, text=True, check=True
    )
    begun = "the creek was cold and the spunky dog wanted to jump "
    assert done.stdout.startswith(begun) and len(done.stdout.split()) == len(begun.split()) + 9
    written = tuple(done.stdout.split()[len(begun.split()) :])
    assert written[: len(reading.continuation)] == reading.continuation


def test_what_has_been_learned_is_not_kept_without_the_code_that_it_needs(
    course: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    Block = solution_answer("Block").answer
    model = trained(Block, steps=1)
    assert own_block.keep(model, None) == own_block.NO_BLOCK
    assert own_block.keep(creek.SentenceReader([]), Block) == own_block.NOT_STACKED
    assert own_block.keep(model, raises) == own_block.NOT_THE_SAME
    assert not (course / own_block.FILE).exists() and own_block.read(Block) == ""

    def full(path: Path, what: object) -> int:
        raise OSError(28, "No space left on device")

    for step in ("write_bytes", "replace"):
        with monkeypatch.context() as patch:
            patch.setattr(Path, step, full)
            assert own_block.keep(model, Block) == own_block.NOT_WRITTEN.format("No space left on device")
        assert not list(course.glob("*.draft"))
    assert own_block.keep(model, Block) == ""
    monkeypatch.chdir("/")
    assert own_block.keep(model, Block) == own_block.NO_FOLDER and own_block.read(Block) == ""


@pytest.mark.parametrize(
    ("now", "says"),
    [(None, "is missing"), (raises, "ends in a RuntimeError"), (floods, "ends in a TooMuchOutput")],
    ids=["missing", "raises", "floods"],
)
def test_what_no_longer_fits_the_kept_code_is_said(now: Any, says: str, course: Path) -> None:
    Block = solution_answer("Block").answer
    assert own_block.keep(trained(Block, steps=1), Block) == ""
    assert own_block.read(now) == own_block.NO_LONGER.format(says)
    (course / own_block.FILE).write_bytes(b"half of a")
    assert "does not fit" in str(own_block.read(Block))


def test_the_cell_keeps_what_it_is_handed_and_shows_what_it_reads(
    course: Path, display_bundles: list[dict[str, str]]
) -> None:
    model = trained(earned_block(), steps=1)
    machine.machine(model)
    machine.machine()
    texts = [bundle["text/plain"] for bundle in display_bundles]
    own = (
        f"Your own Block, on what it has learned itself, reads {round(creek.judged(model)['both'] * SCENES)} of 1,792."
    )
    assert texts[0] == texts[1] and own in texts[0] and texts[0].startswith("1 of 12 parts is yours. Yours: Block.")
    (course / KEPT.file).unlink()
    machine.machine()
    machine.machine(model)
    assert [bundle["text/plain"].splitlines()[1:] for bundle in display_bundles[2:]] == [
        [own_block.NO_LONGER.format("is missing")],
        [own_block.NO_BLOCK, own_block.NO_LONGER.format("is missing")],
    ]


# The cell


@pytest.fixture
def display_bundles(monkeypatch: pytest.MonkeyPatch) -> list[dict[str, str]]:
    bundles: list[dict[str, str]] = []
    monkeypatch.setattr(machine, "display", lambda bundle, raw: bundles.append(bundle))
    return bundles


def test_machine_says_what_is_the_learners_what_it_reads_and_what_is_next(
    course: Path, display_bundles: list[dict[str, str]]
) -> None:
    machine.machine()
    check("self_attention", typed("self_attention", styles("self_attention")[0]))
    machine.machine()
    (course / KEPT.file).write_text(
        read_code(course) + "\n1/0\n\n# === activation, 03_activations, 2027-01-01 ===\n\ndef activation(x:\n",
        encoding="utf-8",
    )
    machine.machine()
    first, second, third = (bundle["text/plain"].splitlines() for bundle in display_bundles)
    assert first == [
        "No part is yours yet. On torch's own parts the creek model reads 1,792 of 1,792 new scenes. Next: self_attention, in notebook 01."
    ]
    assert second == [
        "1 of 12 parts is yours. Yours: self_attention. With it the creek model reads 1,792 of 1,792 new scenes. Next: ffn_forward, in notebook 02."
    ]
    assert third[0] == second[0], "what was defined before a section ended is there"
    assert (
        third[1] == "In my_transformer.py, the section of self_attention ends in ZeroDivisionError: division by zero."
    )
    assert third[2].startswith("In my_transformer.py, the section of activation ends in SyntaxError: ")
    for bundle, lines in zip(display_bundles, (first, second, third), strict=True):
        assert f'alt="{lines[0]}"'.replace("'", "&#x27;") in bundle["text/html"]
        assert "prefers-color-scheme: dark" in bundle["text/html"] and "<script" not in bundle["text/html"]


def test_a_part_that_the_course_does_not_have_is_not_spoken_of(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setitem(PARTS, "a_part_of_another_edition", "nothing")
    assert "a_part_of_another_edition" not in in_course()
    assert set(in_course()) == {*PARTS, BLOCK} - {"a_part_of_another_edition"}


@pytest.mark.parametrize("variable", [("FFNLAB_STRICT", "1"), ("NBGRADER_EXECUTION", "autograde")], ids=lambda v: v[0])
def test_where_a_notebook_is_tested_or_graded_nothing_is_written_and_nothing_is_run(
    variable: tuple[str, str], course: Path, display_bundles: list[dict[str, str]], monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv(*variable)
    monkeypatch.setattr(machine, "run", raises)
    assert float(check("activation", activation("0"))) == active_course().exercise("activation").points
    machine.machine()
    assert display_bundles == [] and not (course / KEPT.file).exists()


def test_in_a_kernel_whatever_a_cell_defines_is_found(course: Path) -> None:
    cells = [
        SETUP + "from ffnlab import check, machine",
        "%%time\nadd = torch.add\ndef mine(x, ffn, norm, mode):\n    return x\n",
        "def mine(x, ffn, norm, mode):\n    return add(x, ffn(norm(x))) if mode == 'pre' else norm(add(x, ffn(x)))\n"
        "!true\ncheck('residual_sublayer', mine)",
        "def made(power):\n    return lambda x, W1, b1, W2, b2, act: (act(x @ W1 + b1) @ W2 + b2) ** power\n",
        "ffn_forward = made(1)\ncheck('ffn_forward', ffn_forward)",
        "machine()",
    ]
    notebook = nbformat.v4.new_notebook(cells=[nbformat.v4.new_code_cell(source) for source in cells])
    NotebookClient(notebook, timeout=120, resources={"metadata": {"path": str(course / "02_feed_forward")}}).execute()
    texts = [output.data["text/plain"] for cell in notebook.cells for output in cell.outputs if "data" in output]
    assert sum(NOTED in text for text in texts) == 2
    assert texts[-1].startswith(
        "2 of 12 parts are yours. Yours: ffn_forward, residual_sublayer. With them the creek model reads 1,792 of 1,792"
    )
    assert read_code(course).endswith("\n\nresidual_sublayer = mine\n") and "    return x\n" not in read_code(course)
    call = "mine['residual_sublayer'](torch.ones(1), lambda x: 2 * x, lambda x: 3 * x, 'pre')"
    assert alone(course, f"print({call}.tolist())") == "[7.0]"
