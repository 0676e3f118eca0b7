"""The nine boxes: JavaScript computes what torch does, every cheat can be seen, a verdict needs evidence, and two sentences are enough where one is not."""

from __future__ import annotations

import itertools
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any

import pytest
import torch

from autograder.reference import draws
from ffnlab.course import toy_transformer
from ffnlab.course.boards import boxes
from ffnlab.course.exercises import every_position as exercises

pytest.importorskip("playwright", reason="playwright is not installed")

from board_page import copy_modules, opened, reached
from conftest import needs_chromium
from lab import browser, web_pages
from playwright.sync_api import Browser, Page, expect
from test_desk import AXE, violations

T, D = len(boxes.SENTENCE), boxes.D_MODEL
WORDS = list(boxes.vectors())
MOVED = 1e-4  # as in boxes_model.js
REAL, SIDEWAYS, FAVOURITES = (0, 4, 7), (1, 2, 3, 6, 8), (3, 5, 6, 8)  # three of the nine break both rules
CREEK, JUMP = 8, boxes.SENTENCE.index("jump")


def tokens(words: list[str] | tuple[str, ...], box: boxes.Box | None = None) -> torch.Tensor:
    """The vectors of words, as a box takes them: [T, d]."""
    vectors = box.vectors if box else boxes.vectors()
    return torch.tensor([vectors[word] for word in words], dtype=torch.float64)


def find_moves(box: boxes.Box, place: int, word: str) -> list[int]:
    """The places of the outputs that move when one word of the sentence is changed."""
    words = list(boxes.SENTENCE)
    words[place] = word
    before, after = box(tokens(boxes.SENTENCE, box)), box(tokens(words, box))
    size = float(torch.maximum(before.abs(), after.abs()).max())
    return [t for t in range(T) if float((after - before)[t].abs().max()) > MOVED * size]


# What the boxes are


def test_a_changed_word_moves_its_own_output_and_shows_every_cheat() -> None:
    around: dict[int, Callable[[int], set[int]]] = {
        1: lambda s: set(range(T)),
        2: lambda s: set(range(s, T)),
        3: lambda s: {s, boxes.LAST} if s == boxes.PEEKS_AT else {s},
        6: lambda s: {s - 1, s, s + 1} & set(range(T)),
    }
    for n, box in enumerate(boxes.boxes()[:CREEK]):
        for place, word in itertools.product(range(T), WORDS):
            if word != boxes.SENTENCE[place]:
                expected = around[n](place) if n in around else {place}
                assert set(find_moves(box, place, word)) == expected, (n, place, word)


def test_in_the_creek_model_jump_hears_every_word_before_it() -> None:
    """Whatever is written over which of them. No output moves before the word that was changed."""
    box = boxes.boxes()[CREEK]
    for place, word in itertools.product(range(T), WORDS):
        if word == boxes.SENTENCE[place]:
            continue
        moved = find_moves(box, place, word)
        assert all(t >= place for t in moved) and (JUMP in moved) == (place <= JUMP), (place, word)


def test_the_creek_box_is_the_model_of_notebook_00() -> None:
    model = toy_transformer.load()
    box = boxes.boxes()[CREEK]
    assert model.linear2 is not None
    random = torch.Generator().manual_seed(2)
    for _ in range(10):
        words = [WORDS[int(n)] for n in torch.randint(len(WORDS), (T,), generator=random)]
        written = model.linear2(model.hidden(model.gather(toy_transformer.tensor([words]))))[0]
        assert float((box(tokens(words, box)) - written).abs().max()) < 2e-3 * float(written.abs().max())


def find_positions(box: boxes.Box, word: str) -> list[int]:
    """With one word everywhere only the position is different: where its output is not that of the first position."""
    outputs = box(tokens([word] * T, box))
    return [t for t in range(T) if float((outputs[t] - outputs[0]).abs().max()) > MOVED * float(outputs.abs().max())]


def test_verdicts_are_those_of_the_two_rules() -> None:
    """Each rule is tried alone: one word among others is changed, or one word is written everywhere."""
    for n, box in enumerate(boxes.boxes()):
        looks = any(
            set(find_moves(box, place, word)) - {place}
            for place, word in itertools.product(range(T), WORDS)
            if word != boxes.SENTENCE[place]
        )
        favours = [word for word in WORDS if find_positions(box, word)]
        assert (looks, bool(favours)) == (n in SIDEWAYS, n in FAVOURITES)
        assert ("sideways" in box.breaks, "favourite" in box.breaks) == (looks, bool(favours))
        assert box.is_real == (n in REAL)


def test_one_word_everywhere_shows_every_favourite_and_no_other_box() -> None:
    """Whichever word a reader takes. Only “it” hides box 9: too few of its neurons fire for that word."""
    expected: dict[int, list[int]] = {3: [boxes.LAST], 5: [boxes.FAVOURITE], 6: list(range(1, T))}
    for n, word in itertools.product(range(9), boxes.HAND):
        found = find_positions(boxes.boxes()[n], word)
        assert bool(found) == (word != "it") if n == CREEK else found == expected.get(n, []), (n, word)


def test_a_box_takes_any_leading_dimensions_and_both_dtypes() -> None:
    for box in boxes.boxes():
        x = torch.randn(3, T, box.d, generator=torch.Generator().manual_seed(0), dtype=torch.float64)
        together = box(x)
        assert torch.allclose(together, torch.stack([box(sentence) for sentence in x]), atol=1e-12)
        assert box(x.float()).dtype == torch.float32


@pytest.fixture(scope="module")
def chromium() -> Iterator[Browser]:
    with browser() as opened:
        yield opened


@needs_chromium
def test_the_javascript_computes_what_torch_computes(chromium: Browser, tmp_path: Path) -> None:
    copy_modules(tmp_path)
    random = torch.Generator().manual_seed(1)
    sentences = [list(boxes.SENTENCE), ["the"] * T]
    sentences += [[WORDS[int(n)] for n in torch.randint(len(WORDS), (T,), generator=random)] for _ in range(30)]
    with web_pages(tmp_path) as address:
        page = chromium.new_page()
        page.goto(f"{address}/index.html")
        outputs_by_box = page.evaluate(
            """async ([boxes, sentences]) => {
              const { run } = await import("/boxes_model.js");
              return boxes.map(([layer, vectors]) => sentences.map((words) => run(layer, words.map((word) => vectors[word]))));
            }""",
            [[[box.layer, box.vectors] for box in boxes.boxes()], sentences],
        )
        page.close()
    far = 0.0
    for box, outputs in zip(boxes.boxes(), outputs_by_box, strict=True):
        for words, output in zip(sentences, outputs, strict=True):
            far = max(far, float((torch.tensor(output, dtype=torch.float64) - box(tokens(words, box))).abs().max()))
    print(f"the largest difference from torch is {far:.1e}")
    assert far < 1e-9


# The line-up


def press(page: Page, place: int, word: str) -> None:
    page.get_by_role("radio", name=word, exact=True).check(force=True)
    page.locator(".bx-word").nth(place).click()


def say(page: Page, box: int, verdict: str) -> None:
    page.locator(".bx-row:not(.bx-head)").nth(box).locator(".bx-charge", has_text=verdict).click()


def note(page: Page) -> str:
    return page.locator(".bx-note").inner_text()


@needs_chromium
def test_nothing_is_settled_by_pressing_alone(chromium: Browser) -> None:
    page = opened(chromium, boxes.line_up(), reduced_motion="reduce")
    for box, verdict in itertools.product(range(9), ("real", "sideways", "favourite")):
        say(page, box, verdict)
        assert ("can’t clear" if verdict == "real" else "No evidence") in note(page)
    assert sum(reached(page)) == 0 and page.locator(".bx-done").count() == 0
    assert page.locator(".bx-count").inner_text().startswith("0 edits.")
    page.close()


@needs_chromium
def test_a_sign_among_other_words_is_no_proof_of_a_favourite(chromium: Browser) -> None:
    page = opened(chromium, boxes.line_up(), reduced_motion="reduce")
    press(page, boxes.LAST, "the")
    for box in (2, 3, 6):  # they do answer “the” differently there
        say(page, box, "favourite")
        assert "No proof" in note(page) and "one word everywhere" in note(page)
    say(page, 3, "sideways")
    assert "No evidence" in note(page)
    assert page.locator(".bx-count").inner_text().startswith("1 edit."), "to charge too early costs nothing"
    press(page, boxes.LAST, "the")  # as it was
    press(page, boxes.PEEKS_AT, "cat")
    say(page, 3, "sideways")
    assert "That is right. It also has a favourite." in note(page) and sum(reached(page)) == 1
    page.get_by_role("button", name="Start again").click()
    assert page.locator(".bx-count").inner_text().startswith("0 edits.") and page.locator(".bx-done").count() == 0
    page.close()


@needs_chromium
@pytest.mark.parametrize("word", ["ditch", "the"])
def test_one_word_everywhere_proves_each_favourite_also_of_a_box_that_looks_sideways(
    chromium: Browser, word: str
) -> None:
    page = opened(chromium, boxes.line_up(), reduced_motion="reduce")
    for place in range(T):
        if boxes.SENTENCE[place] != word:
            press(page, place, word)
    for box in range(9):
        say(page, box, "favourite")
        told = note(page)
        if box not in FAVOURITES:
            assert told.startswith("No"), "no ≠ is left"
        else:
            also = " It also looks sideways." if box in SIDEWAYS else ""
            assert told == f"Box {box + 1}: has a favourite. That is right.{also}"
    assert page.locator(".bx-done").count() == len(FAVOURITES) and "wrong" not in page.locator(".bx-count").inner_text()
    page.close()


@needs_chromium
def test_every_charge_with_evidence_is_right(chromium: Browser) -> None:
    """Whatever was written: no reader is fined for a charge, so none that the board hears may be false."""
    page = opened(chromium, boxes.line_up(), reduced_motion="reduce")
    random = torch.Generator().manual_seed(3)
    for _ in range(60):
        press(
            page,
            int(torch.randint(T, (1,), generator=random)),
            boxes.HAND[int(torch.randint(5, (1,), generator=random))],
        )
        for box, verdict in itertools.product(range(9), ("sideways", "favourite")):
            if page.locator(".bx-row:not(.bx-head)").nth(box).locator(".bx-verdict").inner_text() == "":
                say(page, box, verdict)
                assert note(page).startswith("No") or verdict in boxes.boxes()[box].breaks
    assert page.locator(".bx-done").count() == len(SIDEWAYS), "a favourite is never proved by different words"
    page.close()


@needs_chromium
def test_fourteen_edits_settle_all_nine_and_fewer_cannot(chromium: Browser) -> None:
    """Nobody is cleared before every word was changed, and an edit changes one: so the record can't be beaten."""
    page = opened(chromium, boxes.line_up(), reduced_motion="reduce")
    press(page, boxes.PEEKS_AT, "ditch")
    for box in SIDEWAYS:
        say(page, box, "sideways")
    assert sum(reached(page)) == 1
    say(page, 0, "real")
    assert "13 words" in note(page)
    for place in sorted(set(range(T)) - {boxes.PEEKS_AT}):
        press(page, place, "ditch")
    say(page, 5, "favourite")
    assert sum(reached(page)) == 1
    for box in REAL:
        say(page, box, "real")
    assert sum(reached(page)) == 2
    expect(page.locator(".ffp-record")).to_have_text("14 edits, and that is the record.")
    assert boxes.LINE_UP_GOALS[1].record == T == 14
    assert "cheats at the full stop only" in page.locator(".ffp-after").last.inner_text()
    page.close()


@needs_chromium
def test_a_guilty_box_is_not_cleared(chromium: Browser) -> None:
    page = opened(chromium, boxes.line_up(), reduced_motion="reduce")
    for place in range(T):
        press(page, place, "cat")
    for box in (*SIDEWAYS, 5):
        say(page, box, "real")
        assert "is not real" in note(page)
    assert page.locator(".bx-count").inner_text().startswith("44 edits, 30 of them for 6 wrong verdicts")
    page.close()


@needs_chromium
def test_lamps_and_signs_show_what_torch_computes(chromium: Browser) -> None:
    page = opened(chromium, boxes.line_up(), reduced_motion="reduce")
    press(page, 1, "the")
    press(page, 9, "the")
    words = list(boxes.SENTENCE)
    words[1] = words[9] = "the"
    for n, box in enumerate(boxes.boxes()):
        before, after = box(tokens(boxes.SENTENCE, box)), box(tokens(words, box))
        size = float(torch.maximum(before.abs(), after.abs()).max())
        row = page.locator(".bx-row:not(.bx-head)").nth(n).locator(".bx-lamp")
        lit = row.evaluate_all("lamps => lamps.map((lamp) => lamp.classList.contains('bx-lit'))")
        assert lit == [float((after - before)[t].abs().max()) > MOVED * size for t in range(T)]
        signs = {t: "≠" if float((after[t] - after[0]).abs().max()) > MOVED * size else "=" for t in (1, 5, 9)}
        assert row.all_inner_texts() == [signs.get(t, "") for t in range(T)]
    page.close()


@needs_chromium
def test_no_sign_gives_a_cheat_away_before_the_first_edit(chromium: Browser) -> None:
    page = opened(chromium, boxes.line_up(), reduced_motion="reduce")
    rows = page.locator(".bx-row:not(.bx-head)")

    def signs() -> list[str]:
        return ["".join(row.locator(".bx-lamp").all_inner_texts()) for row in rows.all()]

    assert signs() == [""] * 9 and not any(
        "different outputs" in text for text in page.locator(".bx-lamps").all_inner_texts()
    )
    press(page, boxes.PEEKS_AT, "ditch")
    assert signs() == ["≠" if n in (2, 6) else "=" for n in range(9)], "under the second “the”"
    page.get_by_role("button", name="Start again").click()
    assert signs() == [""] * 9
    page.close()


@needs_chromium
@pytest.mark.parametrize(("width", "dark"), [(760, False), (390, True)])
def test_everybody_can_use_it(chromium: Browser, width: int, dark: bool) -> None:
    for board in (boxes.line_up(), boxes.inspection(lambda *asked: True)):
        page = opened(chromium, board, width, dark, reduced_motion="reduce")
        if board.name == "boxes":
            press(page, 1, "the")
            say(page, 2, "sideways")
        assert page.evaluate("document.documentElement.scrollWidth") <= width
        small = page.evaluate(
            """() => [...document.querySelectorAll(".ffp *")].filter((one) => one.children.length === 0 && one.textContent.trim()
              && one.getClientRects().length && parseFloat(getComputedStyle(one).fontSize) < 11).map((one) => one.textContent)"""
        )
        assert small == []
        for button in page.locator(".ffp button:visible, .bx-chip:visible").all():
            box = button.bounding_box()
            assert box and min(box["width"], box["height"]) >= 24
        if AXE.is_file():
            assert violations(page) == []
        page.close()


@needs_chromium
def test_keys_go_along_the_sentence_and_write(chromium: Browser) -> None:
    page = opened(chromium, boxes.line_up(), reduced_motion="reduce")
    words = page.locator(".bx-word")
    words.nth(1).focus()
    page.keyboard.press("ArrowRight")
    page.keyboard.press("ArrowRight")
    page.keyboard.press("Enter")
    assert words.all_inner_texts() == [*boxes.SENTENCE[:3], "ditch", *boxes.SENTENCE[4:]]
    expect(words.nth(3)).to_be_focused()
    page.keyboard.press("Enter")
    assert words.all_inner_texts() == list(boxes.SENTENCE), "the second time it is as it was"
    assert words.evaluate_all("all => all.map((one) => one.tabIndex)").count(0) == 1
    page.close()


@needs_chromium
def test_a_lamp_that_was_lit_under_an_untouched_word_leaves_a_dot(chromium: Browser) -> None:
    page = opened(chromium, boxes.line_up(), reduced_motion="reduce")
    row = page.locator(".bx-row:not(.bx-head)").nth(3)
    press(page, 0, "cat")
    assert row.locator(".bx-was").count() == 0, "the lamp of a word that was changed is no evidence"
    press(page, boxes.PEEKS_AT, "cat")
    press(page, boxes.PEEKS_AT, "cat")  # as it was
    press(page, 1, "ditch")
    marked = row.locator(".bx-cell").evaluate_all("cells => cells.map((cell) => cell.classList.contains('bx-was'))")
    assert [t for t in range(T) if marked[t]] == [boxes.LAST]
    assert row.locator(".bx-lit").count() == 2, "nothing is lit there any more"
    assert "; marked: ." in (row.locator(".bx-lamps").get_attribute("aria-label") or "")
    page.get_by_role("button", name="Start again").click()
    assert page.locator(".bx-row .bx-was").count() == 0
    page.close()


# The inspection


def two_sentences(f: Any, T: int, d: int, seed: int = 0) -> bool:
    """Random words, then all of them one place on, with a new word in the place of one. Does each old word take its answer along?"""
    random = torch.Generator().manual_seed(seed)
    X = torch.randn(2, T, d, generator=random, dtype=torch.float64)
    gone = int(torch.randint(T, (1,), generator=random))
    moved = torch.tensor([place for place in range(T) if place != gone])
    to = (moved + 1) % T
    X[1, to] = X[0, moved]
    Y = f(X)
    return bool((Y[0, moved] - Y[1, to]).abs().max() < 1e-3 * Y.abs().max())


def reports(inspector: Any, rounds: range) -> list[dict[str, Any]]:
    board = boxes.inspection(inspector)
    return [board.answers["inspect"]({"box": n, "round": r}) for r in rounds for n in range(board.data["count"])]


def test_no_box_takes_a_sentence_of_another_length() -> None:
    """Else a shorter one would count as none, and in a box that looks at a place it would show nothing."""

    def shorter(f: Any, T: int, d: int) -> bool:
        return bool(f(torch.zeros(T - 1, d)).any())

    for report in reports(shorter, range(1)):
        assert report["says"] is None and report["error"].startswith("ValueError: f takes [..., T, d]")


def test_two_sentences_are_enough_for_880_boxes() -> None:
    results = reports(two_sentences, range(1, 21))
    assert len(results) == 880 and all(report["says"] == report["truth"] for report in results)
    assert {report["sentences"] for report in results} == {2} == {boxes.RECORD}


def test_two_sentences_miss_no_cheat_of_the_exercise() -> None:
    """200 draws of the 35 hidden boxes, as many as it takes to see a gap of one run in a hundred."""
    misses = []
    for number in range(200):
        inputs = exercises.is_position_wise.inputs(boxes.FIRST_SEED + 2001 + number, 0)
        for aspect, truths in exercises.LAYER_KINDS.items():
            layers = exercises.build_layers(inputs[aspect], inputs["shared"])
            for label, layer in zip(inputs["_labels"][aspect], layers, strict=True):
                if two_sentences(layer, inputs["T"], inputs["d"], number) != truths[label]:
                    misses.append((number, label))
    assert not misses


def test_two_sentences_catch_who_treats_every_other_place_in_another_way() -> None:
    def alternates(X: torch.Tensor) -> torch.Tensor:
        return torch.where(torch.arange(X.shape[-2])[:, None] % 2 == 0, X.tanh(), X.sin())

    assert not any(two_sentences(alternates, length, 6, seed) for length in (4, 5, 14) for seed in range(50))


@pytest.mark.parametrize("length", [4, 6, 8, 14])
def test_two_sentences_catch_who_averages_two_words_at_one_place(length: int) -> None:
    ffn = torch.tanh

    def averages(X: torch.Tensor) -> torch.Tensor:
        mixture = X.clone()
        mixture[..., -1, :] = (X[..., -1, :] + X[..., 1, :]) / 2
        return ffn(mixture)

    assert not any(two_sentences(averages, length, 6, seed) for seed in range(200))
    assert all(two_sentences(ffn, length, 6, seed) for seed in range(20))


def test_in_one_sentence_attention_answers_as_some_map_of_single_words_does() -> None:
    """The reason that the flag asks for: equal tokens get equal outputs, whatever the sentence."""
    random = torch.Generator().manual_seed(0)
    vectors = torch.randn(4, 6, generator=random, dtype=torch.float64)
    for _ in range(50):
        which = torch.randint(4, (10,), generator=random)
        x = vectors[which]
        q, k, v = torch.randn(3, 6, 6, generator=random, dtype=torch.float64)
        output = torch.softmax((x @ q) @ (x @ k).T, -1) @ x @ v
        for word in range(4):
            rows = output[which == word]
            assert torch.allclose(rows, rows[:1].expand_as(rows), atol=1e-10)
    assert boxes.INSPECTION_GOALS[1].flag is not None and boxes.INSPECTION_GOALS[1].flag.right == 1


def test_an_inspector_may_take_derivatives_as_the_exercise_allows() -> None:
    def by_jacobian(f: Any, T: int, d: int) -> bool:
        x = torch.randn(1, d, generator=torch.Generator().manual_seed(0), dtype=torch.float64).expand(T, d).contiguous()
        jacobian: torch.Tensor = torch.autograd.functional.jacobian(f, x)  # type: ignore[no-untyped-call]
        blocks = jacobian.abs().amax((1, 3))  # [T, T]
        y = f(x)
        alone = bool((blocks - blocks.diag().diag() <= 1e-9 * blocks.max()).all())
        return alone and bool((y - y[0]).abs().max() < 1e-9 * y.abs().max())

    wrong = [report["what"] for report in reports(by_jacobian, range(1, 2)) if report["says"] != report["truth"]]
    assert len(wrong) <= 2, wrong


def test_an_inspector_that_checks_half_of_it_is_wrong_about_some() -> None:
    def one_edit(f: Any, T: int, d: int) -> bool:
        X = torch.randn(T, d, generator=torch.Generator().manual_seed(0), dtype=torch.float64)
        edited = X.clone()
        edited[0] += 1
        return bool((f(edited) - f(X))[1:].abs().max() < 1e-3 * f(X).abs().max())

    def permuted(f: Any, T: int, d: int) -> bool:
        X = torch.randn(T, d, generator=torch.Generator().manual_seed(0), dtype=torch.float64)
        order = torch.arange(T).roll(1)
        return bool((f(X[order]) - f(X)[order]).abs().max() < 1e-3 * f(X).abs().max())

    for inspector, missed in ((one_edit, boxes.boxes()[3].what), (permuted, boxes.boxes()[1].what)):
        wrong = {report["what"] for report in reports(inspector, range(1, 2)) if report["says"] != report["truth"]}
        assert missed in wrong and len(wrong) > 3


def test_what_the_readers_function_raises_is_told() -> None:
    def breaks(f: Any, T: int, d: int) -> bool:
        if len(boxes.SENTENCE) != T:
            raise KeyError("T")
        return True

    board = boxes.inspection(breaks)
    report = board.answers["inspect"]({"box": 20, "round": 1})
    assert report["says"] is None and report["error"] == "KeyError: 'T'"
    with pytest.raises(NotImplementedError):
        boxes.inspection(unwritten)


def unwritten(*asked: object) -> bool:
    raise NotImplementedError


def test_the_boxes_that_nobody_has_seen_are_those_of_no_check() -> None:
    assert len(boxes.LABELS) == len(set(boxes.LABELS)) == sum(map(len, exercises.LAYER_KINDS.values())) == 35
    exercise = exercises.is_position_wise
    assert not set(range(boxes.FIRST_SEED + 1, boxes.FIRST_SEED + 1000)) & set(draws.public_seeds(exercise))


@needs_chromium
def test_the_readers_function_goes_from_box_to_box(chromium: Browser) -> None:
    innocent = len(REAL) + sum(sum(known.values()) for known in exercises.LAYER_KINDS.values())
    for inspector, right, score in (
        (two_sentences, 44, "2 sentences for a box, and that is the record."),
        (lambda *asked: False, 44 - innocent, ""),
    ):
        board = boxes.inspection(inspector)
        page = opened(chromium, board, reduced_motion="reduce")
        page.expose_function("python", lambda name, value, board=board: board.answers[name](value))
        page.evaluate(
            """() => document.querySelector(".ffn-play").addEventListener("ffn-ask",
              async ({ detail }) => detail.done({ value: await window.python(detail.name, detail.value) }))"""
        )
        page.get_by_role("button", name="Send in your inspector").click()
        expect(page.locator(".ffp-sentence")).to_contain_text(f"is right about {right} of 44 boxes", timeout=30_000)
        assert page.locator(".bx-miss").count() == 44 - right
        assert sum(reached(page)) == (right == 44)
        if score:
            expect(page.locator(".ffp-record")).to_have_text(score)
            page.get_by_role("button", name="Send in your inspector").click()
            page.get_by_text("It can’t be done").click()
            page.get_by_role("button", name="Whatever the sentence").click()
            assert sum(reached(page)) == 2 and "Only a second sentence" in page.inner_text("body")
        page.close()


@needs_chromium
def test_without_python_the_board_says_so(chromium: Browser) -> None:
    page = opened(chromium, boxes.inspection(two_sentences), reduced_motion="reduce")
    page.get_by_role("button", name="Send in your inspector").click()
    expect(page.locator(".ffp-note")).to_contain_text("No answer from Python", timeout=5_000)
    page.close()
