"""Notebook 11: what it says of the real model holds in what was measured, and what was measured comes out again where the file is.

The file is looked for as in test_real_file.py; without it the tests that read it are skipped with a reason.
"""

from __future__ import annotations

import math
import random
from collections.abc import Callable
from pathlib import Path
from statistics import fmean, median
from typing import Any

import pytest
import torch
import torch.nn.functional as F
from test_real_file import real, real_folder  # noqa: F401 - fixtures

from autograder import keys
from autograder.authoring import build, size
from autograder.authoring.build import cells_of, solution_answer
from autograder.authoring.experiments import real as making
from ffnlab.checking import kept_code
from ffnlab.course import real_check, real_file, real_model, real_parts
from ffnlab.course.boards import ears
from ffnlab.course.exercises import real as exercises
from ffnlab.course.experiments import real as experiment
from ffnlab.course.experiments import real_sentences as sentences
from ffnlab.course.figures import real as figures
from ffnlab.course.predictions.real import PREDICTIONS
from ffnlab.observation.exercise import Draw

NOTEBOOK = "11_real"
SOURCE = (Path(__file__).parent.parent / "solutions" / f"{NOTEBOOK}.py").read_text(encoding="utf-8")
STORED = experiment.stored()


def answer(name: str) -> Any:
    return solution_answer(name).answer


def same_manual() -> bool:
    """Whether this Python's manual is the one that was measured."""
    return bool(making.digest(sentences.manual()) == STORED["about"]["manual"])


# What the notebook says


def test_it_is_short_and_off_the_core_path() -> None:
    measured = size.measure(NOTEBOOK)
    assert measured.cells <= 35 and measured.guesses <= 5 and measured.ideas == 5
    assert measured.core_words == 0 == measured.core_exercises
    cells = build.notebook_of(NOTEBOOK).cells
    prose = [cell.source for cell in cells if cell.cell_type == "markdown" or "veil(" in cell.source]
    assert sum(len(text.split()) for text in prose) <= 2000
    assert size.beyond(measured) == []


def test_the_shares_of_the_file() -> None:
    counts = figures.counts()
    total = sum(counts.values())
    assert total == 22_713_216 and f"{counts['FFN'] / total:.1%}" == "31.2%"
    assert f"{counts['embeddings'] / total:.1%}" == "52.5%"
    matrices = {"attention": 0, "FFN": 0}
    for name, shape in STORED["shapes"].items():
        if name.startswith("encoder") and len(shape) == 2:
            matrices["attention" if ".attention." in name else "FFN"] += math.prod(shape)
    # With biases and norms.
    assert f"{counts['FFN'] / (counts['FFN'] + counts['attention']):.1%}" == "66.6%"
    assert matrices["FFN"] == 2 * matrices["attention"]
    assert "31 %" in PREDICTIONS["real_share"].explanation


def test_what_the_first_text_says_of_the_lamps() -> None:
    """Of A's and H's twelve pairs six have chosen the neuron; those of the others were chosen by other sentences."""
    assert STORED["topics"] == {"A": [6, 6], "C": [6, 6], "E": [6, 6], "G": [5, 5], "H": [6, 5]}
    said = "“Music” held in 12 of 12, “animal” in 6 of 6, “vehicle” in 10 of\n12."
    assert said in SOURCE
    low, high = STORED["shares"]["giant"]
    assert 24 <= low <= high < 25
    horse = STORED["lamps"]["The horse likes the lamp."]
    lamp = list(experiment.LAMPS).index("G")
    assert horse["acts"][horse["tokens"].index("horse")][lamp] / experiment.STEPS > ears.LIT


def test_each_lamp_of_the_first_board_can_be_named_from_its_sentences() -> None:
    """Each is lit in some sentence and dark in another, if it is not the one at the beginning; and it is lit where its subject is."""
    for n, lamp in enumerate(experiment.LAMPS):
        loudest = {
            text: max(row[n] for row in (entry["acts"] if lamp == "D" else entry["acts"][1:-1])) / experiment.STEPS
            for text, entry in STORED["lamps"].items()
        }
        assert max(loudest.values()) > ears.LIT, lamp
        assert lamp == "D" or min(loudest.values()) < 0.3, lamp
    assert len(STORED["lamps"]) == math.prod(map(len, sentences.SLOTS))


def test_two_pairs_find_many_and_two_hold() -> None:
    rows = STORED["sieve"]
    assert median(rows["2"]["fit"]) == 16 and median(rows["2"]["luck"]) == 0
    assert all(count == 2 for row in rows.values() for count in row["hold"])
    hits = experiment.loudness()["hits"]
    heard, word = (int(hits[making.index(neuron)]) for neuron in (experiment.HEARS, experiment.WORD))
    assert (heard, word, STORED["pairs"]) == (61, 59, 61)
    assert "1265 fits 61 of them, and 829 fits 59" in SOURCE
    near = [count for _, _, count in STORED["nearly"]]
    assert near[:2] == [61, 59] and len(near) == 6 and (min(near), max(near[2:])) == (50, 53)
    for layer, number, count in STORED["nearly"]:
        assert int(hits[making.index((layer, number))]) == count


def test_the_finder_finds_1265_in_what_is_stored() -> None:
    loud = experiment.loudness()
    neuron, hits = answer("find_neuron")(loud["with"], loud["without"])
    assert divmod(neuron, experiment.D_FF) == experiment.HEARS and hits == 8


def test_what_else_it_hears() -> None:
    manual = STORED["manual"]
    assert manual["sentences"] == [134, 737] and manual["above"]["1265"]["2"] == [134, 122]
    words = dict(manual["words"]["1265"])
    assert [words[word] for word in ("only", "non", "empty", "than")] == [27, 10, 9, 8]
    assert {"error", "instead", "fails", "different"} <= words.keys()
    assert manual["above"]["829"]["2"][1] == 43
    assert manual["words"]["829"] == [["only", 30], ["non", 12], ["not", 1]]
    assert [word for word, _ in manual["negations"]["829"][:4]] == ["not", "no", "none", "cannot"]


def test_the_table_of_nots() -> None:
    rows = {
        "plain": (4.6, 5.1),
        "or not": (4.3, 1.0),
        "if not": (4.3, 1.0),
        "question": (4.3, 1.9),
        "not only": (4.5, 2.9),
        "mention": (4.5, 3.9),
    }
    for kind, shown in rows.items():
        means = [STORED["kinds"][neuron][kind][0] for neuron in ("829", "1265")]
        assert tuple(float(f"{mean:.1f}") for mean in means) == shown, kind
        assert f"| {shown[0]} | {shown[1]} |" in SOURCE
    heard = STORED["kinds"]["1265"]
    assert heard["plain"][1] > 3.9 and max(heard["or not"][2], heard["if not"][2]) < 1.7


def test_both_names_can_be_broken_by_stored_sentences() -> None:
    loudest = {
        text: max(row[1] for row in entry["acts"][1:-1]) / experiment.STEPS for text, entry in STORED["free"].items()
    }
    assert any(most >= ears.LOUD and not sentences.NEGATION.search(text) for text, most in loudest.items())
    assert any(most < ears.QUIET and "not" in text.split() for text, most in loudest.items())


def test_what_is_said_of_switching_off() -> None:
    off = STORED["off"]
    effects = sorted((effect for effect, _ in off), reverse=True)
    assert off[1265] == [effects[0], 20] and 0.3 < effects[1] / effects[0] < 0.35
    others = [effect for n, (effect, count) in enumerate(off) if count == 20 and n != 1265]
    assert len(others) == 6 and max(others) < 0.002
    assert PREDICTIONS["real_off"].right == "6"
    assert round(STORED["about"]["likeness"], 3) == 0.937
    assert round(STORED["about"]["likeness"] + effects[0], 3) in (0.962, 0.963)
    changes = STORED["twins off"]
    moved = [n for n, change in enumerate(changes) if abs(change) >= 0.006]
    assert len(changes) == 24 and len(moved) == 4
    said = ("did not come on time", "Hardly anyone", "got no water", "out of order")
    assert all(any(words in text for text in sentences.TWINS[n]) for n, words in zip(moved, said, strict=True))
    assert [changes[n] > 0 for n in moved] == [True, False, False, False]
    assert all(min(STORED["twins loud"][n]) > 2 for n in moved[1:]), "1265 hears both"
    assert [sum(" not " in text for text in sentences.TWINS[n]) for n in moved] == [1, 0, 0, 0]


def test_what_is_said_of_all_the_manuals_pairs() -> None:
    rows = STORED["off all"]
    assert rows["1265"]["nearer"] == 56 == rows["970"]["nearer"] and STORED["off"][970][1] == 20
    assert f"{rows['1265']['mean']:.3f}" == "0.014" and f"{rows['970']['mean']:.4f}" == "0.0003"
    assert rows["1265"]["longer"] < rows["1265"]["mean"] < STORED["off"][1265][0]
    assert max(row["mean"] for name, row in rows.items() if name != "1265") < rows["1265"]["mean"] / 4
    effect, count = STORED["off word"]
    second = sorted(effect for effect, _ in STORED["off"])[-2]
    assert round(effect, 3) == 0.011 and effect > second and count == 18


def test_what_is_said_of_the_mean() -> None:
    rows = STORED["replaced"]
    shown = {
        "themselves": "themselves",
        "zero": "zeros",
        "mean of all": "the mean of all",
        "mean by kind": "means by kind",
    }
    for key, name in shown.items():
        row = rows[key]
        found = ", ".join(map(str, row["found"]))
        plain, centred = (
            ", ".join(f"{value:.2f}".replace("-", "−") for value in row[part]) for part in ("means", "centred")
        )
        assert f"| {name} | {found} | {plain} | {centred} |" in SOURCE, (name, found, plain, centred)
    assert [round(STORED["lengths"][part][0]) for part in ("CLS", "words")] == [193, 5]
    assert "0.96 alike; with zeros 0.32" in PREDICTIONS["real_place"].explanation


def test_what_is_said_of_mistakes() -> None:
    rows = STORED["mistakes"]
    assert rows["tanh GELU"][0] == 0.0019 and rows["tanh GELU"][1] > 0.9999
    assert round(rows["no b2"][1], 2) == 0.97
    assert max(rows[name][1] for name in ("norm before the FFN", "W1 and W2 exchanged")) < 0.1
    assert STORED["agreement"] < real_check.CLOSE


@pytest.mark.parametrize("figure", [figures.file_to_scale, figures.sieve, figures.silenced, figures.replacements])
def test_a_figure_says_in_words_what_it_shows(figure: Callable[[], Any]) -> None:
    picture = figure()
    assert "nan" not in picture.svg and len(picture.sentence) > 40
    assert "\n" not in picture.still(), "in a veil, an empty line would end the picture"


# The exercises


@pytest.mark.parametrize("seed", range(200, 230))
def test_only_the_good_neuron_is_found_by_good_rules(seed: int) -> None:
    inputs = exercises._draw_loudness(Draw(seed), 0)
    first = (inputs["loud_with"] - inputs["loud_without"])[: exercises.HALF]
    trimmed = first.sort(dim=0).values[1:-1].mean(0)
    rules = (trimmed, first.median(0).values, first.clamp(-3, 3).mean(0), (first > 1).double().sum(0))
    (good,) = {int(rule.argmax()) for rule in rules}
    assert int(first.mean(0).argmax()) != good, "one shout fools a mean"


def test_a_message_about_an_index_names_the_dimension() -> None:
    mistakes = {kept.name: kept for kept in keys.find("held").mistakes}
    assert "h[..., neuron]" in mistakes["first_dimension"].message


# The file is here


@pytest.mark.usefixtures("real")
def test_the_readers_half_runs_all_six_blocks() -> None:
    for kept in keys.find("real_half").rights:
        assert real_check.judge(kept.answer).startswith("All six blocks run on your function"), kept.name
    assert "All six blocks" in real_check.judge(answer("real_half"))


@pytest.mark.usefixtures("real")
def test_mistakes_are_named_by_what_they_do_to_real_vectors() -> None:
    """By the code that a key keeps for each, not by the table's own."""
    named = {
        "prefix_copied": "layer 2", "prefix_copied_from_the_list": "layer 0", "matrices_exchanged": "exchanged",
        "poured_into_shape": "reshape", "not_transposed": "[out, in]", "without_the_f": "put an f in front",
        "norm_of_attention": "attention half", "usual_epsilon": "1e-12", "tanh_gelu": "tanh", "relu": "ReLU",
        "no_activation": "no activation", "activation_too_late": "too late", "no_b1": "b1", "no_b2": "b2",
        "norm_before": "post-norm", "norm_inside": "Norm the sum", "no_residual": "residual connection is missing",
        "no_norm": "norm is missing",
    }  # fmt: skip
    kept = {mistake.name: mistake.answer for mistake in keys.find("real_half").mistakes}
    for name, words in named.items():
        assert words in real_check.judge(kept[name]), name


@pytest.mark.usefixtures("real")
def test_no_mistake_of_the_key_is_unknown_to_the_real_model() -> None:
    """Each is named, raises, or makes no difference there, as a width of 384."""
    for mistake in keys.find("real_half").mistakes:
        said = real_check.judge(mistake.answer)
        assert "No mistake that we know" not in said, (mistake.name, said)


@pytest.mark.usefixtures("real")
def test_a_mistake_is_named_in_whichever_order_its_sum_is_added() -> None:
    """Without a norm, numbers reach 215, and another order of three summands moves them by more than 1e-5."""

    def half(x: torch.Tensor, layer: int, W: dict[str, torch.Tensor], act: Any = F.gelu) -> torch.Tensor:
        p = f"encoder.layer.{layer}."
        hidden = act(x @ W[p + "intermediate.dense.weight"].T + W[p + "intermediate.dense.bias"])
        total: torch.Tensor = (x + hidden @ W[p + "output.dense.weight"].T) + W[p + "output.dense.bias"]
        return total

    assert "The norm is missing" in real_check.judge(half)


@pytest.mark.usefixtures("real")
def test_the_parts_of_my_transformer_run_the_whole_model() -> None:
    parts = {name: answer(name) for name in real_parts.PARTS}
    off, ran, reasons = real_parts.difference(parts)
    assert off < real_check.CLOSE and ran == real_parts.PARTS and reasons == ()

    def broken(*arguments: Any) -> Any:
        raise ZeroDivisionError

    off, ran, reasons = real_parts.difference({**parts, "ffn_forward": broken})
    assert off < real_check.CLOSE and "ffn_forward" not in ran
    assert reasons == ("ffn_forward raises ZeroDivisionError, so torch's own runs in its place.",)


@pytest.mark.usefixtures("real")
def test_the_last_cell_says_what_ran(monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]) -> None:
    monkeypatch.delenv("FFNLAB_STRICT", raising=False)
    parts = {name: answer(name) for name in ("ffn_forward", "self_attention")}
    monkeypatch.setattr(kept_code, "load", lambda: (parts, {}))
    real_parts.run()
    out = capsys.readouterr().out
    assert (
        "From my_transformer.py: self_attention, ffn_forward. 2 parts by torch." in out and "All six blocks ran" in out
    )


@pytest.mark.usefixtures("real")
def test_nothing_is_as_loud_as_the_giant() -> None:
    reading = real_model.run([text for pair in sentences.TWINS for text in pair])
    acts = torch.stack([reading.activations(layer) for layer in range(real_model.LAYERS)])
    acts[experiment.LAMPS["D"][0], :, 0, experiment.LAMPS["D"][1]] = 0
    acts[:, ~reading.mask] = 0
    assert float(acts.max()) < STORED["shares"]["giant"][0]


@pytest.mark.usefixtures("real")
def test_boards_read_a_sentence_as_it_is_stored() -> None:
    texts = random.Random(0).sample(sorted(STORED["lamps"]), 8)
    for text in texts:
        assert ears.read(text, list(experiment.LAMPS.values())) == STORED["lamps"][text]
    for text in sentences.FREE:
        assert ears.read(text, [experiment.WORD, experiment.HEARS]) == STORED["free"][text]
    with pytest.raises(ValueError, match="Write 1 to"):
        ears.read("very " * 40, [experiment.WORD])


@pytest.mark.usefixtures("real")
def test_what_is_stored_of_our_sentences_comes_out_again() -> None:
    assert {name: list(tensor.shape) for name, tensor in real_file.numbers().items()} == STORED["shapes"]
    fresh = making.tensors_of_ours()
    stored = experiment.load_whole()
    for name in ("with", "without"):
        assert (fresh[name].int() - stored[name].int()).abs().max() <= 1
    assert making.topics() == STORED["topics"]
    for n, pair in enumerate(making.twins_loud()):
        assert pair == pytest.approx(STORED["twins loud"][n], abs=0.11)
    for neuron, rows in making.kinds().items():
        for kind, numbers in rows.items():
            assert numbers == pytest.approx(STORED["kinds"][neuron][kind], abs=0.02)
    assert making.twins_without() == pytest.approx(STORED["twins off"], abs=2e-4)
    assert making.example() == pytest.approx(STORED["example"], abs=2e-3)
    for name, (error, cosine) in making.mistakes().items():
        assert error == pytest.approx(STORED["mistakes"][name][0], rel=0.1), name
        assert cosine == pytest.approx(STORED["mistakes"][name][1], abs=1e-3), name
    assert making.agreement() < real_check.CLOSE


@pytest.mark.usefixtures("real")
def test_what_is_stored_of_the_manual_comes_out_again() -> None:
    if not same_manual():
        pytest.skip("this Python's manual is another one than that which was measured")
    assert making.manual_counts()["above"] == STORED["manual"]["above"]
    some = [0, 185, 308, 795, 1148, 1265]
    for neuron, (effect, count) in zip(some, making.effects(2, some), strict=True):
        assert effect == pytest.approx(STORED["off"][neuron][0], abs=2e-4)
        assert abs(count - STORED["off"][neuron][1]) <= 1
    for name, row in making.off_on_all().items():
        assert row["mean"] == pytest.approx(STORED["off all"][name]["mean"], abs=2e-4)
        assert abs(row["nearer"] - STORED["off all"][name]["nearer"]) <= 1
    assert making.effects(0, [829])[0][0] == pytest.approx(STORED["off word"][0], abs=2e-4)
    for key, row in making.replaced().items():
        assert row["means"] == pytest.approx(STORED["replaced"][key]["means"], abs=2e-3)
        assert row["centred"] == pytest.approx(STORED["replaced"][key]["centred"], abs=2e-3)


def test_without_the_file_every_cell_says_what_it_shows(
    monkeypatch: pytest.MonkeyPatch, tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    monkeypatch.delenv("FFNLAB_STRICT", raising=False)
    monkeypatch.setenv(real_file.VARIABLE, str(tmp_path))
    real_check.show(answer("real_half"))
    assert "has not run in it" in capsys.readouterr().out

    def stub(x: Any, layer: int, W: Any, act: Any = F.gelu) -> Any:
        raise NotImplementedError

    real_check.show(stub)
    assert capsys.readouterr().out.startswith("This cell needs real_half, and the model")
    real_parts.run()
    assert "real_file.fetch()" in capsys.readouterr().out
    namespace: dict[str, Any] = {}
    cells = cells_of(NOTEBOOK)
    exec(cells["imports"], namespace)
    for name in ("real_half", "find_neuron", "held"):
        namespace[name] = answer(name)
    for name in ("names", "hunt", "silence"):
        exec(cells[name], namespace)
    out = capsys.readouterr().out
    assert "neuron 1265 of layer 2, 8 of 8" in out and "tells apart: 61 of 61" in out and "Stored" in out
    assert not ears.eight().data["typed"]


def test_the_means_of_twins_are_of_what_is_drawn() -> None:
    for row in STORED["replaced"].values():
        assert fmean(row["twins"]) == pytest.approx(row["means"][0], abs=1e-3)
    assert F.gelu(torch.zeros(1)).item() == 0
    assert real_model.LAYERS == experiment.LAYERS and real_model.D_FF == experiment.D_FF
