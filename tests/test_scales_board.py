"""The boards of notebook 05: every weight is torch's, each level is won or has its proof, and every bar has the shares of the atlas."""

from __future__ import annotations

import itertools
import random
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest
from torch import nn

from ffnlab.course import atlas
from ffnlab.course.boards import scales

pytest.importorskip("playwright", reason="playwright is not installed")

from board_page import opened, page_with_modules, reached, sentence
from conftest import needs_chromium
from lab import browser
from playwright.sync_api import Browser, Page

D = 1024
POWERS = [2**n for n in range(8)]


@pytest.fixture(scope="module")
def chromium() -> Iterator[Browser]:
    with browser() as started:
        yield started


def count(*shapes: tuple[int, int]) -> int:
    layers = [nn.Linear(*shape, bias=False, device="meta") for shape in shapes]
    return sum(p.numel() for layer in layers for p in layer.parameters())


def weigh(block: dict[str, Any]) -> tuple[int, int]:
    """Attention and FFN of a block, by torch's own layers."""
    head = block["width"] or D // block["heads"]
    queries, keys = block["heads"] * head, max(1, block["heads"] // block["share"]) * head
    attention = count((D, queries), (D, keys), (D, keys), (queries, D)) * (2 if block["second"] else 1)
    f = block["ratio"] * D
    into = [(D, f)] * (2 if block["gated"] else 1)
    return attention, count(*into, (f, D))


@needs_chromium
def test_the_weights_are_torchs_and_every_matrix_lies_in_its_pan(chromium: Browser, tmp_path: Path) -> None:
    rng = random.Random(0)
    with page_with_modules(chromium, tmp_path, "scales_model") as page:
        for _ in range(60):
            heads = rng.choice(POWERS)
            block = {
                "ratio": rng.choice([1, 2, 3, 4, 6, 8, 16, 32, 64]), "gated": rng.random() < 0.5, "heads": heads, "second": rng.random() < 0.5,
                "share": rng.choice([share for share in POWERS if share <= heads]), "width": rng.choice([0, 32, 64, 128, 256]),
            }  # fmt: skip
            on = page.evaluate("(block) => weights(block)", block)
            assert (on["attention"], on["ffn"]) == weigh(block), block
            fits = page.evaluate(
                """(block) => [150, 320].every((wide) => {
                    const of = (pan) => matrices(block).filter((m) => m.pan === pan).map((m) => ({wide: m.columns / 1024, high: 1}));
                    const sizes = ["attention", "ffn"].map(of);
                    const side = sideOf(sizes, wide, 150, 44);
                    return sizes.every((load) => packed(load, wide, 150, side).fits);
                })""",
                block,
            )
            assert fits, block


@needs_chromium
@pytest.mark.parametrize("width", [760, 390])
def test_the_beam_answers_to_every_change_of_the_ratio(chromium: Browser, width: int) -> None:
    """The goals go up to 11 : 1, and a hand on the way there has to see that it gets nearer."""
    page = opened(chromium, scales.balance(), width, False)

    def hangs() -> float:
        low = page.locator(".sc-floor").nth(1).get_attribute("y1")
        high = page.locator(".sc-floor").nth(0).get_attribute("y1")
        assert low and high
        return (float(low) - float(high)) / 2

    page.get_by_role("button", name="4 · 11 : 1").click()
    seen = [hangs()]  # 2 : 1
    page.get_by_label("gate").check()  # 3 : 1
    seen.append(hangs())
    for presses in (2, 1, 1, 1, 1):  # d_ff to 8 · d_model, 6 : 1, then keys shared by 2, 4, 8 and 16 heads
        slide(page, "d_ff / d_model" if presses == 2 else "K and V shared by", "ArrowRight", presses)
        seen.append(hangs())
    assert all(after - before > 0.2 for before, after in itertools.pairwise(seen)), seen
    assert seen[-1] > 2.5 * seen[0]  # 11 : 1 is not taken for 4 : 1
    assert page.locator(".sc-ratio").text_content() == "11.29 : 1"
    page.close()


def outcomes(level: dict[str, Any]) -> Iterator[tuple[dict[str, Any], int, int]]:
    """All blocks that a level's controls can make, with what they weigh."""
    values: dict[str, list[Any]] = {
        "ratio": [ratio for ratio in (1, 2, 3, 4, 6, 8, 16, 32, 64) if ratio <= level["most"]],
        "gated": [False, True], "heads": POWERS, "share": POWERS, "width": [0, 32, 64, 128, 256], "second": [False, True],
    }  # fmt: skip
    names = level["live"]
    for chosen in itertools.product(*(values[name] for name in names)):
        block = level["start"] | dict(zip(names, chosen, strict=True))
        if block["share"] <= block["heads"]:
            yield block, *weigh(block)


def test_every_level_but_the_last_can_be_won_and_the_last_can_not() -> None:
    two, even, wide, eleven, heads = scales.LEVELS
    assert [block["ratio"] for block, attention, ffn in outcomes(two) if ffn == 2 * attention] == [4]
    assert any(ffn == attention for _, attention, ffn in outcomes(even))
    assert any(block["second"] and block["width"] == 0 and attention == ffn for block, attention, ffn in outcomes(even))
    ways = [block for block, attention, ffn in outcomes(wide) if ffn == 2 * attention]
    assert {"heads": 128, "width": 128} in [{key: block[key] for key in ("heads", "width")} for block in ways]
    won = [(block, ffn / attention) for block, attention, ffn in outcomes(eleven) if ffn >= 11 * attention]
    assert {(block["ratio"], block["gated"], block["second"]) for block, _ in won} == {(8, True, False)}
    assert min(block["heads"] for block, _ in won) == 16 and max(ratio for _, ratio in won) < 12
    assert min(heads for heads in range(1, 40) if 24 * heads >= 11 * (2 * heads + 2)) == 11  # “at least 11 heads”
    assert len({(attention, ffn) for _, attention, ffn in outcomes(heads)}) == 1


def test_gemma_does_all_three_with_eight_heads() -> None:
    gemma = atlas.find("Gemma-1 2B")
    assert (gemma.gated, gemma.d_ff / gemma.d_model, gemma.n_heads, gemma.n_kv) == (True, 8, 8, 1)
    assert round(atlas.ffn_per_layer(gemma) / atlas.attention_per_layer(gemma), 1) == 10.7
    t5 = atlas.find("T5 v1.0 11B")
    assert (t5.n_heads, t5.head_dim, t5.d_ff / t5.d_model) == (128, 128, 64)


def test_every_bar_is_the_atlas() -> None:
    board = scales.bars()
    models = board.data["models"]
    assert len(models) == len({model["name"] for model in models}) == 15
    assert [model["ffn"] for model in models] == sorted(model["ffn"] for model in models)
    assert sorted(board.data["cards"]) == list(range(15))
    for model in models:
        parts = atlas.parts(atlas.find(model["name"]))
        assert model["ffn"] == parts.ffn / parts.total and model["attention"] == parts.attention / parts.total
        assert 0.994 < model["embeddings"] + model["attention"] + model["ffn"] <= 1


def test_the_facts_of_the_cards_hold() -> None:
    def entry(name: str) -> tuple[atlas.Model, atlas.Parts]:
        model = atlas.find(name)
        return model, atlas.parts(model)

    def share(name: str, part: str) -> float:
        _, parts = entry(name)
        return float(getattr(parts, part)) / parts.total

    assert share("GPT-3 175B", "embeddings") < 0.005 and round(3 * share("GPT-3 175B", "ffn"), 1) == 2
    assert entry("PaLM-540B")[0].n_kv == 1 and entry("PaLM-540B")[0].n_heads == 48
    assert share("T5 v1.0 11B", "ffn") < 0.6 and 0.3 < share("GPT-2 small", "embeddings") < 1 / 3
    assert [round(100 * share("Gemma-1 2B", part)) for part in ("attention", "embeddings")] == [7, 21]
    llama = entry("LLaMA-1/2 7B")[0]
    assert abs(3 * llama.d_ff / llama.d_model / 8 - 1) < 0.01
    assert round(entry("LLaMA-3 8B")[0].vocab / entry("LLaMA-2 70B")[0].vocab) == 4 and not entry("LLaMA-3 8B")[0].tied
    qwen = entry("Qwen3-0.6B")[0]
    assert qwen.n_heads * (qwen.head_dim or 0) == 2 * qwen.d_model
    assert round(atlas.ffn_per_layer(qwen) / (atlas.ffn_per_layer(qwen) + atlas.attention_per_layer(qwen)), 3) == 0.6
    gemma = entry("Gemma-2 27B")[0]
    assert atlas.ffn_per_layer(gemma) == 24 * gemma.d_model**2
    assert round(1 / share("Qwen2.5-7B", "embeddings")) == 7
    assert share("T5 v1.1 small", "embeddings") > share("T5 v1.1 small", "ffn")


def slide(page: Page, label: str, key: str, times: int) -> None:
    slider = page.get_by_label(label, exact=True)
    slider.focus()
    for _ in range(times):
        slider.press(key)


@needs_chromium
@pytest.mark.parametrize(("width", "dark"), [(760, False), (390, True)])
def test_all_levels_are_won_by_hand_and_by_keys(chromium: Browser, width: int, dark: bool) -> None:
    page = opened(chromium, scales.balance(), width, dark)
    assert reached(page) == [False] * 5 and "Attention is heavier" in sentence(page)
    ring = page.locator(".sc-edge")
    box = ring.bounding_box()
    assert box
    x, y = box["x"] + box["width"] / 2, box["y"] + box["height"] / 2
    side = page.locator(".sc-matrix.sc-ffn").first.bounding_box()
    assert side
    page.mouse.move(x, y)
    page.mouse.down()
    page.mouse.move(x + 3 * side["height"] * 1.02, y, steps=6)
    page.mouse.up()
    if not reached(page)[0]:  # on a narrow page the picture has been scaled under the hand
        ring.focus()
        ring.press("ArrowRight")
    assert reached(page)[0], sentence(page)
    assert "66.7 %" in sentence(page)
    page.get_by_role("button", name="2 · 1 : 1").click()
    page.get_by_label("second attention").check()
    assert reached(page)[1] and "even" in sentence(page)
    page.get_by_role("button", name="3 · 64").click()
    slide(page, "query heads", "ArrowRight", 3)
    slide(page, "width of a head", "ArrowRight", 3)
    assert reached(page)[2], sentence(page)
    page.get_by_role("button", name="4 · 11 : 1").click()
    page.get_by_label("gate").check()
    slide(page, "d_ff / d_model", "ArrowRight", 2)
    slide(page, "K and V shared by", "ArrowRight", 4)
    assert reached(page)[3] and "11.29 : 1" in sentence(page)
    page.get_by_role("button", name="5 · heads alone").click()
    slide(page, "query heads", "ArrowRight", 2)
    assert not reached(page)[4]
    page.get_by_text("It can’t be done").click()
    page.get_by_role("button", name="The heads divide the same columns").click()
    assert reached(page) == [True] * 5
    page.close()


@needs_chromium
@pytest.mark.parametrize(("width", "dark"), [(760, True), (390, False)])
def test_bars_get_their_names(chromium: Browser, width: int, dark: bool) -> None:
    board = scales.bars()
    page = opened(chromium, board, width, dark)
    rows = page.locator(".ba-row")
    cards = board.data["cards"]
    rows.nth(cards[1]).click()
    assert "That is not GPT-3 175B: this bar has 0.9 % in embeddings" in sentence(page)
    for wanted in cards[:5]:
        rows.nth(wanted).click()
    assert reached(page) == [False, False]
    page.get_by_role("button", name="Another model").click()
    for wanted in (cards[6], *cards[7:], cards[5]):
        rows.nth(wanted).focus()
        rows.nth(wanted).press("Enter")
    assert reached(page) == [True, True] and "All have their names" in page.locator(".ba-card").inner_text()
    assert "You used 16 presses" in page.locator(".ffp-goals").inner_text()
    rows.nth(0).focus()
    rows.nth(0).press("ArrowDown")
    assert rows.nth(1).evaluate("row => row === document.activeElement")
    page.close()
