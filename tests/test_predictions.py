"""Predictions: each is asked once, with the answer out of sight; guesses are kept, counted, and never needed."""

from __future__ import annotations

import json
import os
import re
import subprocess
import sys
from collections import Counter
from html import unescape
from pathlib import Path
from statistics import mean
from typing import Any

import pytest
import torch
from conftest import ROOT
from torch import nn

from autograder.authoring.build import notebook_of
from ffnlab.checking import record
from ffnlab.course import atlas, toy_transformer, world
from ffnlab.course.experiments import capstone as stored_capstone
from ffnlab.course.experiments import collapse
from ffnlab.course.experiments import creek as stored_creek
from ffnlab.course.experiments import english as stored_english
from ffnlab.course.experiments import orders as stored_orders
from ffnlab.course.figures import balance, feed_forward
from ffnlab.drawing import widget_output
from ffnlab.prediction import prediction_widget
from ffnlab.prediction.prediction import Prediction
from ffnlab.registry import active_course

NOTEBOOKS = list(active_course().notebooks)
ASKED = re.compile(r'^predict\("(\w+)"\)$', re.M)
GPT3 = atlas.find("GPT-3 175B")
FIRST_PLAY = 150  # words of text before something to play with
EVERY = [(notebook, name) for notebook in NOTEBOOKS for name in active_course().predictions_of(notebook)]


def words_of(text: str) -> str:
    """Letters and digits alone, so that no line break and no star hides a sentence."""
    return " ".join(re.findall(r"\w+", text))


def read_text(notebook: str) -> str:
    """What the text cells of a notebook say."""
    return words_of("\n".join(cell.source for cell in notebook_of(notebook).cells if cell.cell_type == "markdown"))


@pytest.fixture
def course(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    """A course's folder, worked in from notebook 02."""
    for name in ("00_start_here", "02_feed_forward"):
        (tmp_path / name).mkdir()
    monkeypatch.chdir(tmp_path / "02_feed_forward")
    return tmp_path


@pytest.fixture
def displays(monkeypatch: pytest.MonkeyPatch) -> list[Any]:
    """What cells display."""
    outputs: list[Any] = []
    for module in (prediction_widget, record, widget_output):
        monkeypatch.setattr(module, "display", lambda data, raw=False, metadata=None: outputs.append(data))
    return outputs


# The questions


@pytest.mark.parametrize("notebook", NOTEBOOKS)
def test_every_prediction_of_a_notebook_is_asked_once_and_in_its_order(notebook: str) -> None:
    cells = [cell for cell in notebook_of(notebook).cells if cell.cell_type == "code"]
    names = [name for cell in cells for name in ASKED.findall(cell.source)]
    assert names == list(active_course().predictions_of(notebook))
    assert all("demo" in cell.metadata["tags"] for cell in cells if ASKED.search(cell.source)), "grading asks nothing"


def test_no_two_notebooks_ask_by_the_same_name() -> None:
    assert len(EVERY) == len(active_course().predictions)
    asked = Counter(notebook for notebook, _ in EVERY)
    assert set(asked) == set(active_course().notebooks) and min(asked.values()) >= 3


@pytest.mark.parametrize(("notebook", "name"), EVERY)
def test_a_prediction_can_be_missed_and_says_enough_afterwards(notebook: str, name: str) -> None:
    prediction = active_course().prediction(name)
    assert "$" not in prediction.question + prediction.explanation, "a widget sets no formulas"
    assert len(prediction.explanation.split()) >= 12
    assert prediction.is_right(prediction.right) and prediction.takes(prediction.right)
    wrong: list[str | float] = [*prediction.options] if prediction.options else [prediction.low, prediction.high]
    assert any(not prediction.is_right(guess) for guess in wrong)


@pytest.mark.parametrize("notebook", NOTEBOOKS)
def test_no_text_cell_gives_an_explanation_away(notebook: str) -> None:
    text = read_text(notebook)
    for name, prediction in active_course().predictions_of(notebook).items():
        for sentence in re.split(r"(?<=[.!?])\s+", prediction.explanation):
            words = words_of(sentence)
            assert len(words.split()) < 6 or words not in text, f"{name}: {sentence}"


@pytest.mark.parametrize("notebook", NOTEBOOKS)
def test_there_is_something_to_play_with_within_150_words(notebook: str) -> None:
    count = 0
    for cell in notebook_of(notebook).cells:
        if cell.cell_type == "code" and re.search(r"^(predict|controls\.show|play)\(", cell.source, re.M):
            break
        count += len(re.findall(r"\w+", cell.source)) if cell.cell_type == "markdown" else 0
    assert count <= FIRST_PLAY


@pytest.mark.parametrize("notebook", [name for name in NOTEBOOKS if name != "11_real"])  # it is about another model
def test_every_notebook_shows_the_block_with_its_own_part_lit(notebook: str) -> None:
    source = "\n".join(cell.source for cell in notebook_of(notebook).cells if cell.cell_type == "code")
    lit = "" if notebook.startswith("00") else notebook[:2]
    assert source.count("anatomy.block(") == 1 and f'anatomy.block("{lit}")' in source


@pytest.mark.parametrize(
    ("wrong", "says"),
    [
        ({"question": " ", "right": "a", "options": ("a", "b")}, "a question and an explanation"),
        ({"question": "?", "right": "a", "options": ("a",)}, "two to five"),
        ({"question": "?", "right": "a", "options": ("a", "a")}, "two to five"),
        ({"question": "?", "right": "c", "options": ("a", "b")}, "not among"),
        ({"question": "?", "right": 7.0, "low": 0.0, "high": 5.0}, "a number from"),
    ],
)
def test_a_prediction_that_cannot_be_asked_is_refused(wrong: dict[str, Any], says: str) -> None:
    with pytest.raises(ValueError, match=says):
        Prediction(explanation="Because.", **wrong)


# What is called right is so. (Others are printed by the cell below them, and training takes its time.)


def test_the_right_answers_are_what_the_figures_say() -> None:
    says = {
        "gpt3_ffn_share": (round(100 * atlas.parts(GPT3).ffn / atlas.total(GPT3)), 66),
        "nothing_in": (feed_forward.by_hand(0, 0).title, "No neuron fires: over 1 and into 0"),
        "flat_pieces": (f"{len(feed_forward.PIECES)}", active_course().prediction("flat_pieces").right),
        "below_one": (balance.products(6, 0.34).title, "The balance loss is 0.850, below 1"),
        "partner_changes": (balance.selection(0.1).title, "Chosen: 0 and 4, weights 0.62 and 0.38"),
    }
    assert set(says) <= set(active_course().predictions)
    assert {name: value for name, (value, _) in says.items()} == {name: right for name, (_, right) in says.items()}


def test_the_right_answers_about_stacks_are_what_they_are() -> None:
    residuals = {name: collapse.typical(name, 3) for name in ("attention", "ffn", "skip", "all")}
    assert min(residuals, key=lambda name: residuals[name]) == "ffn"  # first_to_fall
    assert collapse.lower("ffn", "attention", 3) == len(collapse.FRESH) >= 15


def test_the_right_answers_about_models_are_what_the_atlas_counts() -> None:
    llama = atlas.find("LLaMA-2 70B")
    assert atlas.attention_per_layer(llama) / (4 * llama.d_model**2) == 0.5625  # llama_70b


def test_the_right_answers_about_pairs_are_what_the_stored_runs_say() -> None:
    runs = stored_capstone.stored()["runs"]
    accuracies = {
        name: {size: 100 * mean(run["accuracy"]) for size, run in sizes.items()} for name, sizes in runs.items()
    }
    equal_total = {name: accuracies[name]["40"] for name in ("none, 3 blocks", "relu", "swiglu", "moe, equal total")}
    assert max(equal_total, key=lambda name: equal_total[name]) == "swiglu"  # best_at_1600


def test_the_right_answers_about_weights_and_orders_are_what_the_stored_runs_say() -> None:
    found = [sum(share >= stored_creek.RULE_THRESHOLD for share in row) for row in stored_orders.shares()]
    assert (found.count(0), found.count(8)) == (1, 1)  # one in no order, one in every
    assert active_course().prediction("rows_alike").right == 2


def test_the_right_answers_about_text_are_what_the_stored_runs_say() -> None:
    runs = stored_english.stored()["bits per character"]
    kinds = [runs[name] for name in ("relu", "swiglu", "moe, equal total", "moe, equal active")]
    means = [mean(kind) for kind in kinds]
    assert max(means) - min(means) < 0.01 < 0.006 * min(means)  # gaps_on_text
    for kind in kinds:
        assert all(0.0145 <= none - with_ffn < 0.0465 for none, with_ffn in zip(runs["none"], kind, strict=True))
    assert all(none - more < 0.0015 for none, more in zip(runs["none"], runs["none, 6 blocks"], strict=True))


def test_the_right_answers_about_the_little_world_are_what_its_model_does() -> None:
    model = toy_transformer.load()
    neuron_names = [name for name in toy_transformer.names(model) if name.good]

    def fire(place: str, weather: str, creature: str) -> set[str]:
        active = toy_transformer.activations(model, world.wish(world.Scene(place, weather, *creature.split()))[:-1])
        return {
            name.words
            for name in neuron_names
            if active[name.moment - 1, name.neuron] > toy_transformer.FIRES * name.largest
        }

    cold, warm = fire("creek", "cold", "spunky dog"), fire("creek", "warm", "spunky dog")
    assert cold == {"cold water", "spunky in the cold"} and not cold & warm  # creek_gets_warm
    assert warm == {"warm water", "spunky in the warm water"}
    assert fire("creek", "cold", "timid goat") == {"cold water", "timid in the cold"}
    scores = toy_transformer.key_scores(model, 10)
    speak_for = set()
    for group in (world.PLACES, world.WEATHERS, world.MOODS):
        group_scores = scores[world.numbers(group)]
        speak_for |= {
            word for word, more in zip(group, (group_scores - group_scores.mean()).tolist(), strict=True) if more > 0
        }
    assert speak_for == {*world.WATER, *world.COLD, *world.SPUNKY}  # heard_by_cold_water


def test_without_its_neurons_one_rule_is_lost_and_no_other() -> None:
    model = toy_transformer.load()
    scenes = world.scenes(held_out=True)
    out = [name.neuron for name in toy_transformer.names(model) if name.good and name.words == "cold water"]
    sentences = toy_transformer.tensor([world.wish(scene) for scene in scenes])
    x = model.gather(sentences[:, :-1])
    hidden = model.hidden(x)
    hidden[..., out] = 0
    sure = model.say(x, hidden).softmax(-1)[:, world.WAY - 1].gather(1, sentences[:, world.WAY, None])[:, 0]
    at_cold_water = torch.tensor([scene.water and scene.cold for scene in scenes])
    assert round(sure[at_cold_water].mean().item(), 2) == 0.43 and sure[~at_cold_water].mean() > 0.99  # rule_out


def test_the_right_answers_that_are_arithmetic_are_computed() -> None:
    holder = nn.Module()
    holder.layers = [nn.Linear(10, 10) for _ in range(3)]  # type: ignore[assignment]
    assert str(sum(p.numel() for p in holder.parameters())) == active_course().prediction("plain_list").right
    assert list((torch.zeros(2, 5, 8) + torch.zeros(2, 5, 1)).shape) == [2, 5, 8]  # width_of_one
    speeds = [1e11 / (8e9 * size) for size in (2, 0.5)]  # bytes per second, and bytes of one token
    assert f"about {speeds[0]:.0f}, and {speeds[1]:.0f}" == active_course().prediction("laptop_speed").right
    assert torch.softmax(torch.tensor([-1.0, 0.0, -2.0]), 0).argmax() == 1  # filled_with_zero


# What a cell shows


@pytest.mark.parametrize(("notebook", "name"), EVERY)
def test_a_saved_notebook_holds_the_explanation_in_a_fold(notebook: str, name: str, displays: list[Any]) -> None:
    prediction_widget.predict(name)
    view, live = displays
    prediction = active_course().prediction(name)
    before, _, fold = view["text/html"].partition("<details>")
    first = words_of(prediction.explanation)[:60]
    assert first in words_of(unescape(re.sub("<[^>]+>", " ", fold))) and first not in words_of(
        re.sub("<[^>]+>", " ", before)
    )
    assert first in words_of(view["text/plain"])
    assert set(live) == {widget_output.VIEW}


def test_markdown_is_set_in_questions_and_explanations() -> None:
    set_ = prediction_widget.markdown_to_html("One **bold** `word`.\n\n        - first\n        - second")
    assert "<strong>bold</strong>" in set_ and "<code>word</code>" in set_ and set_.count("<li>") == 2


def test_an_unknown_prediction_is_one_clear_line(displays: list[Any]) -> None:
    prediction_widget.predict("tomorrow")
    assert "there is no prediction called 'tomorrow'" in displays[0].text.lower()


def test_importing_the_package_does_not_load_anywidget() -> None:
    code = "import sys; from ffnlab import predict; assert 'anywidget' not in sys.modules, 'graders would wait for it'"
    subprocess.run(
        [sys.executable, "-c", code], check=True, cwd=ROOT, env={**os.environ, "PYTHONPATH": str(ROOT / "course")}
    )


# What is kept


def send_guess(name: str, guess: str | float) -> None:
    """A guess, as the browser sends it."""
    widget = prediction_widget._widget()(name, active_course().prediction(name))
    widget.guess = guess


def test_the_first_guess_is_kept_and_is_there_when_the_cell_runs_again(course: Path) -> None:
    send_guess("flat_pieces", "7")
    guesses = json.loads((course / record.GUESSES).read_text(encoding="utf-8"))
    assert guesses == {"flat_pieces": {"guess": "7", "right": False}}
    assert prediction_widget._widget()("flat_pieces", active_course().prediction("flat_pieces")).guess == "7"
    record.save_guess("flat_pieces", "4", True)
    assert record.read_guess("flat_pieces") == "7"


def test_what_cannot_be_a_guess_is_not_kept(course: Path) -> None:
    send_guess("flat_pieces", "51")
    assert not (course / record.GUESSES).exists()
    record.save_guess("flat_pieces", "an option of an earlier edition", False)
    assert prediction_widget._widget()("flat_pieces", active_course().prediction("flat_pieces")).guess is None


@pytest.mark.parametrize("broken", ["{broken", "[1, 2]", '{"flat_pieces": 3}', ""])
def test_a_broken_file_is_as_good_as_none(course: Path, broken: str) -> None:
    (course / record.GUESSES).write_text(broken, encoding="utf-8")
    assert record.read_guess("flat_pieces") is None
    send_guess("flat_pieces", "4")
    assert record.read_guess("flat_pieces") == "4"


def test_outside_of_a_course_nothing_is_written(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.chdir(tmp_path)
    send_guess("flat_pieces", "4")
    assert list(tmp_path.iterdir()) == []


def test_progress_says_how_often_intuition_was_right(course: Path, displays: list[Any]) -> None:
    record.progress()
    assert "intuition" not in displays[-1].text
    send_guess("flat_pieces", "4")
    send_guess("nothing_in", "into")
    record.save_guess("a_prediction_of_an_earlier_edition", "yes", True)
    record.progress()
    assert "Your intuition was right in 1 of 2 predictions" in displays[-1].text
    assert "Your intuition was right in 1 of 2 predictions" in displays[-1].html
