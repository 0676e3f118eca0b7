"""Notebook 10's English: the text that Python carries, the model around the student's blocks, what it writes, and the stored runs."""

from __future__ import annotations

import itertools
import math
import statistics

import pytest
import torch
from torch import nn

from autograder.authoring.build import cells_of, solution_answer
from autograder.authoring.experiments import english as making
from ffnlab.course.experiments import english


class Silent(nn.Module):
    """A block that adds nothing."""

    def forward(self, x: torch.Tensor) -> torch.Tensor:
        return x


@pytest.fixture(scope="module")
def writer() -> english.Writer:
    torch.manual_seed(0)
    return english.Writer([Silent()]).eval()


def spelt(numbers: torch.Tensor) -> str:
    return "".join(english.text().pieces[n] for n in numbers.tolist())


def test_the_text_is_prose_and_long_enough() -> None:
    every = english.paragraphs()
    assert len(every) == len(set(every)) > 500 and sum(map(len, every)) > 150_000
    from pydoc_data.topics import topics

    assert sum(map(len, topics.values())) == pytest.approx(465_000, rel=0.15)  # it grows from version to version
    assert not any(sign in paragraph for paragraph in every for sign in ("::=", ">>>", '"', "{", "="))


def test_tokens_spell_the_text_and_what_is_held_out_is_not_trained_on() -> None:
    text = english.text()
    every = english.paragraphs()
    assert (
        spelt(text.held_out) == "".join(p + "\n" for p in every[9::10]) and len(spelt(text.held_out)) == text.characters
    )
    train = spelt(text.train)
    assert all(paragraph in train for paragraph in every[:9])
    assert not any(paragraph + "\n" in train for paragraph in every[9::10] if len(paragraph) > 100)
    assert len(text.pieces) == len(text.number) == len(set(text.pieces))


def test_bits_are_those_of_a_model_that_guesses(writer: english.Writer) -> None:
    """With scores of zero every token costs log2 of their number."""
    even = english.Writer([Silent()])
    nn.init.zeros_(even.scores.weight)
    text = english.text()
    expected = math.log2(len(text.pieces)) * len(text.held_out) / text.characters
    assert english.bits(even) == pytest.approx(expected, rel=1e-4)


def test_it_learns_and_hears_a_balance_loss() -> None:
    Block = solution_answer("Block").answer
    torch.manual_seed(0)
    model = english.Writer([Block("moe", english.D_MODEL, english.N_HEADS, 8)])
    before = english.bits(model)
    router = next(p for name, p in model.named_parameters() if "scorer" in name)
    old_router = router.detach().clone()
    assert english.learn(model, steps=30) < before - 0.7
    assert not torch.equal(old_router, router) and not model.training


def test_what_is_written_depends_on_seed_and_temperature(writer: english.Writer) -> None:
    generate = solution_answer("generate").answer
    first, again, other = (english.write(writer, "The object", generate, 1.0, seed, tokens=20) for seed in (0, 0, 1))
    assert first == again != other and first.startswith("The object")
    cold = {english.write(writer, "The object", generate, 0.0, seed, tokens=20) for seed in (0, 1)}
    assert len(cold) == 1
    assert len(english.write(writer, "a" * 200, generate, tokens=1)) > 200
    with pytest.raises(ValueError, match="temperature"):
        english.write(writer, "The", generate, -1.0)
    with pytest.raises(ValueError, match="prompt"):
        english.write(writer, "→", generate)


def test_a_student_s_own_loop_writes_and_an_unwritten_one_is_named(writer: english.Writer) -> None:
    assert "once `generate` is written" in english.write(writer, "The object", unwritten)
    own = english.write(writer, "The", lambda *arguments: [1] * len(arguments[2]), 1.0, tokens=5)
    assert own.endswith(english.text().pieces[1] * 5)


def unwritten(*arguments: object) -> list[int]:
    raise NotImplementedError


def test_the_models_are_equal_in_what_they_are_said_to_be() -> None:
    stored = english.stored()
    assert stored["counts"] == {name: making.counts(name) for name in english.MODELS}
    total = [stored["counts"][name]["total"] for name in ("none, 6 blocks", "relu", "swiglu", "moe, equal total")]
    active = [stored["counts"][name]["active"] for name in ("relu", "swiglu", "moe, equal active")]
    assert max(total) / min(total) < 1.02 and max(active) / min(active) < 1.02
    assert stored["settings"]["seeds"] == list(english.SEEDS) and len(english.SEEDS) == 15
    assert not set(english.SEEDS) & {0, 1, 2, 3, 4}, "the recipe was chosen on these"


def mean(name: str) -> float:
    return statistics.fmean(english.stored()["bits per character"][name])


def deviations(first: str, second: str) -> float:
    """The gap of two means in standard deviations of a difference of single runs."""
    runs = english.stored()["bits per character"]
    return (mean(first) - mean(second)) / math.hypot(*(statistics.stdev(runs[name]) for name in (first, second)))


def test_what_the_notebook_says_of_the_stored_runs_holds() -> None:
    kinds = ("relu", "swiglu", "moe, equal total", "moe, equal active")
    for name in kinds:
        assert mean("none") - mean(name) == pytest.approx(0.03, abs=0.008) and deviations("none", name) > 3
    assert max(english.stored()["bits per character"]["none, 6 blocks"]) > 1.85
    assert mean("none, 6 blocks") > mean("none")
    for first, second in itertools.combinations(kinds, 2):
        assert abs(mean(first) - mean(second)) <= 0.01 and abs(deviations(first, second)) < 2
    runs = english.stored()["bits per character"]
    savings = {name: [a - b for a, b in zip(runs["none"], runs[name], strict=True)] for name in runs}
    every = [gain for name in kinds for gain in savings[name]]
    notebook_text = " ".join(cells_of("10_capstone").values())
    assert (
        f"saves bits against none, {min(every):.3f} to {max(every):.3f} a character" in notebook_text and min(every) > 0
    )
    assert sum(gain > 0 for gain in savings["none, 6 blocks"]) == 1
    ahead = [a - b for a, b in zip(runs["moe, equal total"], runs["moe, equal active"], strict=True)]
    assert min(ahead) > 0 and round(statistics.fmean(ahead), 3) == 0.007
    orders = {
        pair: sum(a > b for a, b in zip(runs[pair[0]], runs[pair[1]], strict=True))
        for pair in itertools.combinations(kinds, 2)
    }
    assert [pair for pair, count in orders.items() if count in (0, 15)] == [("moe, equal total", "moe, equal active")]
    about = english.stored()
    text = english.text()
    assert round(about["characters"], -3) == 206_000 and about["settings"]["steps"] == english.STEPS == 400
    assert english.BATCH * english.LONGEST == 1024 and english.WORDS == 2000
    assert abs(len(text.pieces) - 2086) < 30  # Python's help is not the same in every version


@pytest.mark.parametrize("name", ["none", "moe, equal total"])
def test_a_short_run_comes_out_again(name: str) -> None:
    stored = english.stored()
    if stored["characters"] != sum(map(len, english.paragraphs())):
        pytest.skip("this Python carries another text than the one the runs were made with")
    bits = stored[f"bits after {making.SHORT} steps of seed 0"][name]
    assert making.run(name, 0, making.SHORT) == pytest.approx(bits, abs=0.01)
