"""The board of notebook 07: JavaScript computes what torch computes, its flags have a proof, its levels can be won, by keys and by the mouse."""

from __future__ import annotations

import random
from collections.abc import Iterator
from itertools import product as all_pairs
from pathlib import Path
from typing import Any

import pytest
import torch
import torch.nn.functional as F

from ffnlab.course.boards import product

pytest.importorskip("playwright", reason="playwright is not installed")

from board_page import opened, page_with_modules, reached, sentence
from conftest import needs_chromium
from lab import browser
from playwright.sync_api import Browser, Page

ACTS = {"none": lambda z: z, "relu": torch.relu, "silu": F.silu, "sigmoid": torch.sigmoid}


@pytest.fixture(scope="module")
def chromium() -> Iterator[Browser]:
    with browser() as started:
        yield started


def summed(neurons: list[dict[str, Any]], act: str, x: torch.Tensor) -> torch.Tensor:
    total = torch.zeros_like(x)
    for neuron in neurons:
        (a, b), (c, d) = neuron["gate"], neuron["up"]
        gate, up = (b - a) / 4 * x + (a + b) / 2, (d - c) / 2 * x + (c + d) / 2
        total = total + ACTS[act](gate) * up
    return total


def press(page: Page, label: str, key: str, times: int) -> None:
    ring = page.get_by_label(label)
    ring.focus()
    for _ in range(times):
        ring.press(key)


@needs_chromium
def test_the_curve_and_its_gap_are_torchs(chromium: Browser, tmp_path: Path) -> None:
    rng = random.Random(0)
    neurons = [[{"gate": [rng.gauss(0, 2), rng.gauss(0, 2)], "up": [rng.gauss(0, 1), rng.gauss(0, 1)]} for _ in range(2)] for _ in range(20)]  # fmt: skip
    x = torch.linspace(-2, 2, 40_001, dtype=torch.float64)
    with page_with_modules(chromium, tmp_path, "product_model") as page:
        for act, hand in all_pairs(ACTS, neurons):
            gap = page.evaluate("([hand, act]) => furthestProduct(hand, act, 'square', -2, 2).gap", [hand, act])
            heights = page.evaluate("([hand, act]) => [-2, 0.3, 2].map((x) => summed(hand, act, x))", [hand, act])
            places = torch.tensor([-2, 0.3, 2], dtype=torch.float64)
            assert heights == pytest.approx(summed(hand, act, places).tolist())
            assert abs(gap) == pytest.approx(float((summed(hand, act, x) - x * x).abs().max()), abs=1e-3)


def test_no_parabola_stays_in_the_valley() -> None:
    """p(−2) − 4p(−1) + 6p(0) − 4p(1) + p(2) is 0 for every parabola, and below 0 inside the ribbon."""
    level = product.STRAIGHT[1]
    weights = torch.tensor([1.0, -4.0, 6.0, -4.0, 1.0])
    x = torch.tensor([-2.0, -1.0, 0.0, 1.0, 2.0])
    assert all(float((weights * x**power).sum()) == 0 for power in (0, 1, 2))
    assert float((weights * x.abs()).sum() + level["half"] * weights.abs().sum()) < 0


def test_bent_gates_do_what_the_veil_says() -> None:
    x = torch.linspace(-50, 50, 10_001, dtype=torch.float64)
    both = ({"gate": [-2, 2], "up": [-1, 1]}, {"gate": [2, -2], "up": [1, -1]})
    for act in ("relu", "silu"):
        assert torch.allclose(summed(list(both), act, x), x * x)
    assert torch.allclose(F.gelu(x) * x + F.gelu(-x) * -x, x * x)
    near = x[x.abs() <= 2]
    for valley in (near.relu() + (-near).relu(), near * torch.tanh(2 * near)):  # σ(4x)·x + σ(−4x)·(−x) is x·tanh 2x
        assert float((valley - near.abs()).abs().max()) < 0.2


@needs_chromium
def test_x_squared_is_won_with_keys_and_the_valley_wants_its_flag(chromium: Browser) -> None:
    page = opened(chromium, product.straight())
    press(page, "gate, left end", "ArrowDown", 2)
    press(page, "up, left end", "ArrowDown", 8)
    assert reached(page) == [False, False]
    press(page, "up, right end", "ArrowUp", 6)
    assert reached(page) == [True, False] and "for every x there is" in sentence(page)
    page.get_by_role("button", name="2 · The valley").click()
    press(page, "gate of neuron 1, left end", "ArrowUp", 1)
    page.get_by_text("It can’t be done").click()
    page.get_by_role("button", name="However many products").click()
    assert reached(page) == [True, True]
    page.close()


@needs_chromium
@pytest.mark.parametrize(("width", "dark"), [(760, False), (390, True)])
def test_bent_gates_win_both_levels(chromium: Browser, width: int, dark: bool) -> None:
    page = opened(chromium, product.bent(), width, dark)
    box = page.get_by_label("gate of neuron 1, left end").bounding_box()
    assert box
    page.mouse.move(box["x"] + box["width"] / 2, box["y"] + box["height"] / 2)
    page.mouse.down()
    page.mouse.move(box["x"] + box["width"] / 2, box["y"] + box["height"] / 2 + 24, steps=4)
    page.mouse.up()
    assert page.get_by_label("gate of neuron 1, left end").get_attribute("aria-valuenow") == "-2"
    press(page, "up of neuron 1, left end", "ArrowUp", 2)
    press(page, "up of neuron 1, right end", "ArrowUp", 2)
    press(page, "gate of neuron 2, left end", "ArrowUp", 2)
    press(page, "gate of neuron 2, right end", "ArrowDown", 4)
    press(page, "up of neuron 2, left end", "ArrowUp", 2)
    assert reached(page) == [True, False, False], sentence(page)
    page.get_by_role("button", name="2 · SiLU").click()
    press(page, "gate of neuron 1, left end", "ArrowDown", 2)
    press(page, "up of neuron 1, left end", "ArrowDown", 2)
    press(page, "gate of neuron 2, right end", "ArrowDown", 4)
    press(page, "up of neuron 2, left end", "ArrowUp", 2)
    press(page, "up of neuron 2, right end", "ArrowDown", 2)
    assert reached(page) == [True, True, False], sentence(page)
    page.close()
