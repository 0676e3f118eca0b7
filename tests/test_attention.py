"""Notebook 01: what its text says of mixes, of the creek and of six numbers, and what its exercises ask, computed a second time."""

from __future__ import annotations

import itertools
import math
from typing import Any

import pytest
import torch
import torch.nn.functional as F

from autograder import keys
from autograder.authoring.build import notebook_of, solution_answer
from autograder.reference import compute, draws
from ffnlab.course import toy_transformer, world
from ffnlab.course.exercises import attention as exercises
from ffnlab.course.experiments import twin, without_ffn
from ffnlab.course.experiments import world as experiment
from ffnlab.course.figures import shared
from ffnlab.course.predictions.attention import PREDICTIONS
from ffnlab.observation.exercise import NotAsAsked


def demonstration(name: str) -> str:
    """The code of a cell of the notebook."""
    cells = notebook_of("01_attention").cells
    source: str = next(cell.source for cell in cells if cell.metadata.get("nbgrader", {}).get("grade_id") == name)
    return source


def test_attention_of_scaled_vectors_is_scaled_for_three_factors_only_and_for_all_with_frozen_weights() -> None:
    """The plot of “Linear in what?”, row by row."""
    torch.manual_seed(0)
    X = shared.embeddings(dtype=torch.float64)
    Wq, Wk, Wv, Wo = [torch.randn(6, 4).double() / 2 for _ in range(3)] + [torch.randn(4, 6).double() / 2]

    def rows(Z: torch.Tensor, tokens: torch.Tensor) -> torch.Tensor:
        return torch.stack([torch.softmax((tokens @ Wk) @ (token @ Wq) / 2, dim=0) @ (Z @ Wv) @ Wo for token in tokens])

    for eighths in range(-16, 33):
        s = eighths / 8
        free = rows(s * X, s * X) - s * rows(X, X)
        frozen = rows(s * X, X) - s * rows(X, X)
        assert frozen.norm() < 1e-9
        assert (free.norm() < 1e-9) == (s in (-1, 0, 1))


def test_without_an_ffn_the_totals_of_both_pairs_are_equal_in_every_model_that_averages() -> None:
    """Any two places and any two weathers, in the shipped model, in its twin, and in one that has learned nothing."""

    def lead(model: toy_transformer.ToyTransformer, weather: str, place: str) -> float:
        words = f"the {place} was {weather} and the spunky dog wanted to jump".split()
        scores = model(toy_transformer.tensor([words]), ffn=False)[0, -1].detach().double()
        return float(scores[world.NUMBER["over"]] - scores[world.NUMBER["into"]])

    torch.manual_seed(1)
    for model in (toy_transformer.load(), twin.load(), toy_transformer.ToyTransformer().eval()):
        for places in zip(world.WATER, world.LAND, strict=True):
            for weathers in zip(world.COLD, world.WARM, strict=True):
                cold, warm = weathers
                wet, dry = places
                over = lead(model, cold, wet) + lead(model, warm, dry)
                into = lead(model, warm, wet) + lead(model, cold, dry)
                assert over == pytest.approx(into, abs=1e-4)
    assert sum(p.numel() for name, p in twin.load().named_parameters() if "linear" not in name) == 6240


def test_into_is_the_exclusive_or_of_water_and_cold() -> None:
    for scene in world.scenes(held_out=False):
        assert (scene.way == "into") == (scene.water != scene.cold)


def test_no_votes_get_four_sentences_right_and_those_of_the_veil_get_and() -> None:
    most = 0
    for creek, lawn, cold, warm in itertools.product(range(-4, 5), repeat=4):
        mixes = [(creek + cold, False), (creek + warm, True), (lawn + cold, True), (lawn + warm, False)]
        most = max(most, sum(mix > 0 if into else mix < 0 for mix, into in mixes))
    assert most == 3
    creek, cold, rest = 2, 2, -3
    assert creek + cold > 0 and creek + rest < 0 and rest + cold < 0 and rest + rest < 0


def test_six_numbers_are_enough_and_no_two_neurons_do_it_with_a_zero_in_w1() -> None:
    corners = torch.tensor([(0, 0), (0, 1), (1, 0), (1, 1)], dtype=torch.float64)
    few = torch.tensor([[1.0, -1.0], [-1.0, 1.0]], dtype=torch.float64)
    assert (torch.relu(corners @ few).sum(1) - torch.tensor([0, 1, 1, 0])).abs().max() == 0
    numbers = [-2.0, -1.0, -0.5, 0.5, 1.0, 2.0]
    biases = torch.tensor([-2.0, -1.5, -1.0, -0.5, 0.0, 0.5, 1.0, 1.5, 2.0], dtype=torch.float64)
    for w1, w2, alone in itertools.product(numbers, repeat=3):
        first = torch.relu((corners @ torch.tensor([w1, w2]).double())[:, None] + biases)  # [4, biases]
        second = torch.relu(alone * corners[:, :1] + biases)
        for v, w in itertools.product(numbers, repeat=2):
            out = v * first[:, :, None] + w * second[:, None, :]
            assert not bool((torch.minimum(out[1], out[2]) > torch.maximum(out[0], out[3])).any())


def test_one_head_computes_xor_as_the_guess_says(capsys: pytest.CaptureFixture[str]) -> None:
    exec(demonstration("one-head"), {"torch": torch, "self_attention": solution_answer("self_attention").answer})
    lines = capsys.readouterr().out.splitlines()
    assert [line.split(":")[0] for line in lines] == ["cold creek", "warm creek", "cold lawn", "warm lawn"]
    assert [float(line.split()[-1].rstrip(".")) for line in lines] == [0, 1, 1, 0]
    assert PREDICTIONS["one_head"].right == "0, 1, 1, 0"
    assert math.exp(-50) == pytest.approx(2e-22, rel=0.05)


def test_the_twin_has_one_total_without_its_ffn_and_two_with_it(capsys: pytest.CaptureFixture[str]) -> None:
    exec(demonstration("creek"), {"twin": twin, "toy_transformer": toy_transformer, "world": world})
    totals = [line.split()[-1] for line in capsys.readouterr().out.splitlines()]
    assert totals[0] == totals[1] == "0.7969", "to the last digit that is printed"
    assert float(totals[2]) > 0 > float(totals[3])


def test_the_votes_of_the_text_say_into_above_zero() -> None:
    """One encoding from the votes to the heads: above 0 is into, for the twin's lead and for two heads."""
    assert 'world.NUMBER["into"]] - scores[world.NUMBER["over"]]' in demonstration("creek")
    assert '"into" if first + second > 0' in demonstration("heads")


@pytest.mark.sweep
def test_training_finds_two_neurons_as_often_as_the_guess_says() -> None:
    """With other seeds than the notebook's."""
    parts = demonstration("search").split("torch.manual_seed(0)")[0]
    scope: dict[str, Any] = {"torch": torch, "F": F}
    exec(parts, scope)
    learned = scope["learned"]
    for seed in (11, 12):
        torch.manual_seed(seed)
        assert learned(1000, 1, torch.relu) == 0
        assert 0.19 < learned(1000, 2, torch.relu) < 0.26
        assert 0.6 < learned(1000, 4, torch.relu) < 0.72
        assert learned(1000, 8, torch.relu) > 0.93
        two, three = (learned(1000, H, lambda x: F.layer_norm(x, x.shape[-1:])) for H in (2, 3))
        assert two == 0 and 0.68 < three < 0.8


def test_in_nearly_half_of_the_networks_a_neuron_is_silent_from_the_start() -> None:
    generator = torch.Generator().manual_seed(5)
    W1, b1 = ((2 * torch.rand(20_000, rows, 2, generator=generator) - 1) / 2**0.5 for rows in (2, 1))
    corners = torch.tensor([[0.0, 0.0], [0.0, 1.0], [1.0, 0.0], [1.0, 1.0]])
    silent = (corners @ W1 + b1 <= 0).all(1)  # [count, 2]
    assert 0.45 < silent.any(1).double().mean() < 0.49


def test_no_single_head_is_right_about_four_sentences_and_each_can_be_the_only_one_that_is_wrong() -> None:
    """A hundred thousand heads with any scores and values. So three right answers settle the fourth, and two do not: the stubborn box tells no lie."""
    generator = torch.Generator().manual_seed(0)
    scores, values = torch.randn(2, 100_000, 4, generator=generator, dtype=torch.float64) * 2
    is_right = []
    for weather, place in exercises.SENTENCES:
        words = [exercises.WORDS.index(word) for word in (weather, place)]
        mix = (torch.softmax(scores[:, words], dim=1) * values[:, words]).sum(1)
        is_right.append((mix > 0) == ((place == "creek") != (weather == "cold")))
    right = torch.stack(is_right)
    assert not right.all(0).any()
    for number in range(4):
        assert (right.sum(0)[~right[number]] == 3).any()


@pytest.mark.parametrize("largest", [0.1, 0.5, 3.0, 50.0])
def test_two_heads_need_a_v_between_one_and_e_to_the_largest(largest: float) -> None:
    """The last hint of `two_heads`."""
    column = {word: number for number, word in enumerate(exercises.WORDS)}

    def solves(v: float) -> bool:
        scores = torch.tensor([[largest, 0, largest, 0], [0, largest, 0, largest]], dtype=torch.float64)
        values = torch.tensor([[1, -v, 1, -v], [-v, 1, -v, 1]], dtype=torch.float64)
        totals = {}
        for weather, place in exercises.SENTENCES:
            words = [column[weather], column[place]]
            totals[weather, place] = float((torch.softmax(scores[:, words], dim=1) * values[:, words]).sum())
        return all(
            (total > 0) == ((place == "creek") != (weather == "cold")) for (weather, place), total in totals.items()
        )

    top = math.exp(largest)
    assert solves(1 + 0.01 * (top - 1)) and solves(1 + 0.99 * (top - 1))
    assert not solves(0.99) and not solves(1.01 * top)


def says_wrong(box: dict[str, Any]) -> set[tuple[int, int]]:
    """The sentences, by the numbers of their words, that a drawn head gets wrong, from the softmax of its scores."""
    votes = box["votes"]
    scores = torch.linspace(-1, 1, len(votes)).double()
    values = votes / scores.exp()
    weathers, places = box["into"].shape
    wrong = set()
    for w, p in itertools.product(range(weathers), range(places)):
        words = [w, weathers + p]
        mix = torch.softmax(scores[words], dim=0) @ values[words]
        if bool(mix > 0) != bool(box["into"][w, p]):
            wrong.add((w, p))
    return wrong


@pytest.mark.parametrize("seed", range(20))
def test_the_boxes_are_what_their_labels_say(seed: int) -> None:
    """Each head is wrong about one sentence. With more words, all that no head can do is a rectangle with that sentence, and the first one is none."""
    boxes = exercises.break_head.inputs(seed, 0)["boxes"]
    for label, box in boxes.items():
        if "votes" not in box:
            assert "stubborn" in label
            continue
        (wrong,) = says_wrong(box)
        rectangles = exercises._rectangles(box["into"])
        assert rectangles and all(wrong in itertools.product((w, v), (p, q)) for w, v, p, q in rectangles)
        if label == exercises.MORE_WORDS:
            assert (0, 1, 0, 1) not in rectangles
        else:
            words = box["weathers"][wrong[0]], box["places"][wrong[1]]
            assert " ".join(words) in label


def test_no_head_says_what_the_graph_of_a_rule_forbids_and_some_head_says_all_else() -> None:
    """All 512 rules of three weathers and three places, beside those that drawn votes make, and what has no rectangle."""
    cells = [(weather, place) for weather in range(3) for place in range(3)]
    generator = torch.Generator().manual_seed(0)
    votes = torch.randn(100_000, 6, dtype=torch.float64, generator=generator)
    drawn = {tuple(row) for row in ((votes[:, :3, None] + votes[:, None, 3:]) > 0).reshape(-1, 9).tolist()}
    for rule in itertools.product((False, True), repeat=9):
        can = exercises._can_be_said(dict(zip(cells, rule, strict=True)))
        assert can == (not exercises._rectangles(torch.tensor(rule).reshape(3, 3))) == (rule in drawn)


CELLS = list(itertools.product(range(2), repeat=2))


@pytest.mark.parametrize("order", list(itertools.permutations(CELLS)))
def test_the_stubborn_box_is_right_three_times_and_wrong_about_the_last(order: tuple[tuple[int, int], ...]) -> None:
    box = exercises.break_head.inputs(0, 0)["boxes"][exercises.STUBBORN]
    words = {cell: (box["weathers"][cell[0]], box["places"][cell[1]]) for cell in CELLS}
    said = exercises._answers(box, order)
    assert [said[cell] == bool(box["into"][cell]) for cell in order] == [True] * 3 + [False]
    assert exercises._outcome(box, order[:3], words[order[3]]) == "" == exercises._outcome(box, order, words[order[3]])
    assert exercises._outcome(box, order[:2], words[order[3]]) and exercises._outcome(box, order[:3], words[order[0]])


@pytest.mark.parametrize("seed", range(20))
def test_four_sentences_that_a_head_can_do_do_not_break_a_stubborn_box(seed: int) -> None:
    """Whoever asks three of any four sentences and returns the last is caught by it, unless the four are a rectangle."""
    box = exercises.break_head.inputs(seed, 0)["boxes"][exercises.STUBBORN_WITH_MORE]
    weathers, places = box["into"].shape
    pairs = itertools.product(itertools.combinations(range(weathers), 2), itertools.combinations(range(places), 2))
    for (w, v), (p, q) in pairs:
        asked, last = [(w, p), (v, q), (w, q)], (box["weathers"][v], box["places"][p])
        is_broken = exercises._outcome(box, asked, last) == ""
        assert is_broken == ((w, v, p, q) in exercises._rectangles(box["into"]))


def test_the_place_before_the_weather_is_no_sentence() -> None:
    box = exercises.break_head.inputs(0, 0)["boxes"][exercises.MORE_WORDS]
    says = exercises.ClosedHead(box, 3)
    for words in (("creek", "cold"), ("cold creek",), ("cold",), (("cold", "creek"),)):
        with pytest.raises(NotAsAsked, match="a weather and a place"):
            says(*words)
        with pytest.raises(NotAsAsked, match="a weather and a place"):
            exercises._rule_of(box)(*words)
    assert "the place came first" in str(exercises._outcome(box, [], ("creek", "cold")))


RECTANGLE = """
def break_head(says, rule, weathers, places):
    for w in weathers:
        for v in weathers:
            for p in places:
                for q in places:
                    if rule(w, p) == rule(v, q) != rule(w, q) == rule(v, p):
                        four = [[(w, p), (v, q), (w, q), (v, p)][n] for n in ORDER]
                        for sentence in four[:ASKED]:
                            if says(*sentence) != rule(*sentence):
                                return sentence
                        return None if LAST is None else four[LAST]
"""


@pytest.mark.parametrize(
    ("asked", "last", "mistake"),
    [
        (3, None, "nothing_after_three"),
        (2, None, "nothing_after_two"),
        (2, 3, "two_questions"),
        (1, 1, "one_question"),
        (3, 0, "the_last_one_right"),
        (4, None, "asks_all_four"),
    ],
)
def test_a_mistake_in_break_head_has_its_name_in_whatever_order_one_asks(
    asked: int, last: int | None, mistake: str
) -> None:
    key = keys.find("break_head")
    seeds = draws.public_seeds(key.exercise)
    for order in itertools.permutations(range(4)):
        scope: dict[str, Any] = {"ORDER": order, "ASKED": asked, "LAST": last}
        exec(RECTANGLE, scope)
        assert compute.verdict_of(key, scope["break_head"], seeds).mistake == mistake, order


def test_forged_questions_gain_nothing() -> None:
    """A submission may say that it asked nothing, or admit that it asked too often: both are seen."""
    inputs = exercises.break_head.inputs(0, 0)
    observed = exercises._ask(solution_answer("break_head").answer, inputs["boxes"], exercises.ENOUGH)
    _, sentence = observed[exercises.STUBBORN]
    asked = observed[exercises.STUBBORN][0]
    facts = {
        name: exercises._few_question_facts(observed | {exercises.STUBBORN: (numbers, sentence)}, inputs)
        for name, numbers in (("three", asked), ("none", []), ("four", [*asked, asked[0]]))
    }
    assert not any(facts["three"].values())
    assert facts["none"][exercises.STUBBORN] and facts["four"]["questions"]


HEADS = {  # scores in multiples of `largest`, and values, as students type them; what their panel says
    "one looks for the creek, the other for the cold": (
        [[1, 0, 0, 0], [0, 0, 1, 0]],
        [[1, -1, 0, 0], [0, 0, 1, -1]],
        "Three sentences are right",
    ),
    "one for the place, one for the weather": (
        [[1, 1, 0, 0], [0, 0, 1, 1]],
        [[1, -1, 0, 0], [0, 0, 1, -1]],
        "the same weights in all four sentences",
    ),
    "one for each sentence with into": ([[1, 0, 0, 1], [0, 1, 1, 0]], [[1, 0, 0, 1], [0, 1, 1, 0]], "never say over"),
    "one for each sentence with over": (
        [[1, 0, 1, 0], [0, 1, 0, 1]],
        [[-1, 0, -1, 0], [0, -1, 0, -1]],
        "never say into",
    ),
    "two that cancel": ([[1, 0, 1, 0], [0, 1, 0, 1]], [[1, -1, 1, -1], [-1, 1, -1, 1]], "the two heads cancel"),
    "two neurons of one sum": (
        [[1, 0, 1, 0], [1, 0, 1, 0]],
        [[1, 0, 1, 0], [-2, 0, -2, 0]],
        "the same weights in every",
    ),
    "nothing": ([[0] * 4] * 2, [[0] * 4] * 2, "brings 0 in every sentence"),
}


@pytest.mark.parametrize("what", HEADS)
def test_a_first_try_at_two_heads_is_told_what_it_does(what: str) -> None:
    """The reason is found in the heads themselves, so that another design with the same wrong sentences gets no false name."""
    scores, values, words = HEADS[what]

    def two_heads(largest: float) -> Any:
        return largest * torch.tensor(scores).double(), torch.tensor(values).double()

    key = keys.find("two_heads")
    assert words in compute.verdict_of(key, two_heads, draws.public_seeds(key.exercise)).cause


def test_one_row_in_place_of_two_is_told_by_its_shape() -> None:
    key = keys.find("two_heads")
    answer = lambda largest: (torch.zeros(1, 4), torch.zeros(1, 4))  # noqa: E731
    verdict = compute.verdict_of(key, answer, draws.public_seeds(key.exercise))
    assert all("scores has shape [1, 4]" in aspect.symptom for aspect in verdict.aspects)


def test_the_cell_below_two_heads_shows_them_and_accuses_them(capsys: pytest.CaptureFixture[str]) -> None:
    answers = {name: solution_answer(name).answer for name in ("two_heads", "break_head")}
    exec(demonstration("heads"), {"torch": torch, **answers})
    *lines, last = capsys.readouterr().out.splitlines()
    assert [line.split()[-1] for line in lines] == ["into", "into", "over", "over"] * 2
    assert last.startswith("break_head says that this box is wrong about a")


def test_one_head_with_a_norm_after_it_can_say_over_or_into() -> None:
    """Even weights put u = a + b − 1 and −u beside two constants; the norm divides by their spread, and its bias is the threshold."""
    for a, b in itertools.product((0.0, 1.0), repeat=2):
        u = a + b - 1
        normed = F.layer_norm(torch.tensor([u, -u, 0.5, -0.5]), (4,), bias=torch.full((4,), -1.0))
        assert (normed[2] > 0) == (a != b)


@pytest.mark.parametrize("seed", range(20))
def test_layernorm_of_two_numbers_draws_a_single_line(seed: int) -> None:
    """After it every output of a linear layer rises or falls with p − q alone, so no threshold gives XOR."""
    generator = torch.Generator().manual_seed(seed)
    pairs = 3 * torch.randn(200, 2, dtype=torch.float64, generator=generator)
    normed = F.layer_norm(pairs, (2,))
    assert (normed.sum(1)).abs().max() < 1e-9
    order = (pairs[:, 0] - pairs[:, 1]).argsort()
    assert (normed[order, 0].diff() > -1e-12).all()
    apart = (pairs[:, 0] - pairs[:, 1]).abs() > 0.1
    assert (normed[apart].abs() - 1).abs().max() < 0.01


def test_no_star_of_the_walls_is_in_the_gap_and_all_are_in_the_picture() -> None:
    scope: dict[str, Any] = {"torch": torch, "math": math}
    source = demonstration("walls")
    exec(source.split("try:")[0], scope)
    V, stars = scope["V"], scope["stars"]
    far = [nearest(V, star)[1].norm() for star in stars]
    assert len(stars) == 40 and all(distance < exercises.AT or distance > exercises.APART for distance in far)
    assert sum(distance > exercises.APART for distance in far) >= 12
    assert "plt.xlim(-3, 3)" in source and stars.abs().max() < 3 and V.abs().max() < 3


def test_models_without_an_ffn_learn_a_rule_less_often_than_those_with_one() -> None:
    """Sixteen models from seeds that nothing was chosen on, beside as many with the same attention and an FFN."""
    runs = without_ffn.stored()["runs"]
    assert list(map(int, runs)) == list(without_ffn.FRESH) and len(runs) == 16
    assert not set(without_ffn.FRESH) & set(experiment.SEEDS)
    for rule in ("way", "feeling"):
        assert all(run[rule] == 1 or abs(run[rule] - 0.5) < 0.06 for run in runs.values()), "learned, or a coin"
    assert all(run["the rest"] == 1 for run in runs.values())
    way, feeling = (sum(without_ffn.has_learned(rule)) for rule in ("way", "feeling"))
    assert 0 < way < 16 and 0 < feeling < 16, "attention can learn it, and does not always"
    beside = [run["on"] for run in twin.stored()["learned attention"].values()]
    assert without_ffn.SETTING._replace(ffn=True) == twin.ATTENTION and len(beside) == 16
    counts = [way, sum(run["way"] == 1 for run in beside), feeling, sum(run["feeling"] == 1 for run in beside)]
    assert counts == [8, 14, 13, 15], "what the text tells"
    assert way < feeling, "glad or sorry is easier for them"


def test_one_of_these_models_can_be_trained_again() -> None:
    """A short run of the same setting; the stored ones take minutes."""
    assert experiment.SETTINGS["attention, no FFN"] == without_ffn.SETTING
    assert not without_ffn.SETTING.ffn and without_ffn.SETTING.learned
    model = experiment.train(without_ffn.SETTING._replace(steps=3), 101)
    assert model.linear1 is None and "way" in experiment.score_words(model, experiment.TASKS[without_ffn.SETTING.task])


def test_a_network_for_one_pair_of_heights_earns_nothing() -> None:
    key = keys.find("xor_weights")
    seeds = draws.public_seeds(key.exercise)
    right = key.the_truth.answer
    for over, into in key.exercise.inputs(seeds[0], 0)["heights"]:
        assert compute.verdict_of(key, lambda *_, over=over, into=into: right(over, into), seeds).points == 0


# What the probes draw


def nearest(V: torch.Tensor, star: torch.Tensor) -> tuple[torch.Tensor, torch.Tensor]:
    """A mix of words that no pull of weight brings nearer to the star, and the arrow from it to the star."""
    weights, arrow = solution_answer("reach_star").answer(V, star)
    if arrow is None:
        arrow = star - weights @ V
    return star - arrow, arrow


@pytest.mark.parametrize("seed", range(20))
def test_a_star_is_on_a_mix_or_well_away_from_all(seed: int) -> None:
    for case in range(3):
        case_inputs = exercises.reach_star.inputs(seed, case)
        for inputs in case_inputs["within"].values():
            assert nearest(**inputs)[1].norm() < exercises.AT
        for label, inputs in case_inputs["without"].items():
            arrow = nearest(**inputs)[1]
            ahead = ((inputs["star"] - inputs["V"]) @ arrow / arrow.norm()).min()  # no mix is nearer than this
            assert ahead > exercises.APART - 1e-3, label


def test_no_reason_no_points_and_a_guessed_direction_is_seldom_one() -> None:
    """None, the same direction for all, or weights that reach nothing."""
    key = keys.find("reach_star")
    seeds = draws.public_seeds(key.exercise)

    def always(which: str) -> Any:
        def answer(V: torch.Tensor, star: torch.Tensor) -> Any:
            return (None, torch.ones_like(star)) if which == "a direction" else (torch.ones(len(V)) / len(V), None)

        return answer

    for which in ("a direction", "weights"):
        assert compute.verdict_of(key, always(which), seeds).points == 0
