"""Notebook 06: the numbers in its figures computed again by loops, and what it says of stored runs."""

from __future__ import annotations

import statistics
from itertools import combinations, pairwise
from pathlib import Path

import pytest
import torch
from drawings import numbers

from autograder.authoring.experiments import cells
from autograder.authoring.experiments import fact_stores as making
from ffnlab.course.boards import forget as boards
from ffnlab.course.exercises import memory as exercises
from ffnlab.course.experiments import fact_stores
from ffnlab.course.figures import memory as figures
from ffnlab.registry import active_course

SOURCE = (Path(__file__).parent.parent / "solutions" / "06_memory.py").read_text(encoding="utf-8")


def read_explanation(prediction: str) -> str:
    return " ".join(active_course().prediction(prediction).explanation.split())


def text() -> str:
    """What the notebook says, without its line breaks."""
    return " ".join(" ".join(line.removeprefix("# ") for line in SOURCE.splitlines()).split())


def test_every_person_has_a_name_of_their_own_and_every_answer_a_word() -> None:
    assert len({figures.name(n) for n in range(figures.N_FACTS)}) == figures.N_FACTS
    assert len(set(figures.LIKES)) == fact_stores.ANSWERS
    assert len({name[-4:] for name, _ in figures.PEOPLE}) == 8, "names that end alike are hard to tell apart"


@pytest.mark.parametrize("j", [0, 127])
def test_the_inspector_counts_the_facts_that_a_neuron_fires_for(j: int) -> None:
    facts, store = fact_stores.store()
    sums = [float(x @ store.keys[j]) + float(store.b1[j]) for x in facts.E]
    picture = figures.neuron(j)
    assert numbers(picture.title) == [j, sum(total > 0 for total in sums), figures.N_FACTS]
    assert figures.name(sums.index(max(sums))) in picture.sentence


def test_people_on_the_left_have_answers_on_the_right_more_often_than_by_chance() -> None:
    shared = [numbers(figures.neuron(j).sentence.split("on the left,")[1])[0] for j in range(figures.NEURONS)]
    assert sum(shared) / len(shared) == pytest.approx(2.4, abs=0.05)
    assert "2.4 times as often as chance would bring" in text()


def test_about_half_of_the_neurons_fire_for_a_question_whether_the_store_is_full_or_not() -> None:
    for count in fact_stores.FULL:
        facts, store = fact_stores.filled(count)
        fires = (facts.E @ store.keys.T + store.b1 > 0).float()
        assert float(fires.mean()) == pytest.approx(0.5, abs=0.07)
        assert float(fires.mean(1).min()) > 0.2 and float(fires.mean(1).max()) < 0.8


def test_the_table_is_complete_and_more_neurons_know_more() -> None:
    for count in figures.FACTS:
        means = [sum(fact_stores.accuracy(count, width)) / len(fact_stores.SEEDS) for width in figures.WIDTHS]
        assert all(0 <= share <= 1 for share in means)
        assert all(later >= earlier - 0.02 for earlier, later in pairwise(means))
    assert fact_stores.stored()["settings"]["seeds"] == list(fact_stores.SEEDS)


def test_with_this_recipe_twice_the_facts_need_twice_the_neurons() -> None:
    """Sixteen facts for each neuron are known with every width, thirty-two with none."""
    for width in (16, 32, 64, 128, 256):
        assert min(fact_stores.accuracy(16 * width, width)) > 0.995
    for width in (4, 8, 16, 32, 64, 128):
        assert max(fact_stores.accuracy(32 * width, width)) < 0.75


# What is said of training, from seeds on which nothing was chosen


def test_nothing_was_chosen_on_the_runs_that_are_told_of() -> None:
    stored = fact_stores.stored()
    assert stored["settings"]["fresh"] == list(fact_stores.FRESH)
    assert not set(fact_stores.FRESH) & set(fact_stores.SEEDS)
    lists = [*stored["alone"].values(), *stored["crowded"].values()]
    lists += [values for count in fact_stores.FULL for values in fact_stores.full(count).values()]
    lists += [shares for what in stored["knocked"].values() for shares in what.values()]
    assert {len(values) for values in lists} == {15}


def test_a_fuller_store_carries_a_fact_on_as_many_neurons_with_a_thinner_lead() -> None:
    means = {
        what: [statistics.fmean(fact_stores.full(count)[what]) for count in fact_stores.FULL]
        for what in ("known", "lost", "carriers", "lead")
    }
    assert min(min(fact_stores.full(count)["known"]) for count in fact_stores.FULL) > 0.9995, "all facts are known"
    assert [round(2 * means["carriers"][place]) / 2 for place in (0, -1)] == [17.5, 15.5]
    assert min(means["carriers"]) > 0.8 * max(means["carriers"])
    assert (round(means["lead"][0]), round(means["lead"][-1])) == (12, 3)
    assert all(later < earlier for earlier, later in pairwise(means["lead"]))
    assert means["lost"][0] == 0 and min(fact_stores.full(2048)["lost"]) > 0.98
    assert all(later >= earlier for earlier, later in pairwise(means["lost"]))
    assert "from about 17½ to about 15½" in text()
    assert active_course().prediction("full_store").right == "about 15, nearly as many as before"


def test_one_push_outweighs_the_lead_in_the_fullest_store_of_the_board() -> None:
    told = []
    for count in (fact_stores.FULL[0], fact_stores.FULL[-1]):
        facts, store = fact_stores.filled(count)
        people = torch.arange(count)
        h = torch.relu(facts.E @ store.keys.T + store.b1)  # [N, f]
        scores = (facts.E + h @ store.values + store.b2) @ facts.U.T  # [N, C]
        others = scores.masked_fill(torch.nn.functional.one_hot(facts.y, len(facts.U)).bool(), -torch.inf)
        lead = (scores[people, facts.y] - others.amax(1)).median()
        strongest = (h * (facts.U @ store.values.T)[facts.y]).amax(1).median()
        told.append((round(lead.item()), round(strongest.item())))
    assert told == [(12, 5), (3, 11)]
    assert "typically 12 ahead of the next one, and its strongest neuron adds 5" in text()
    assert "only 3 ahead, and its strongest neuron adds 11" in text()


def test_a_neuron_that_takes_from_the_answer_can_be_needed() -> None:
    facts, store = fact_stores.filled(fact_stores.FULL[-1])
    x = facts.E[boards.BAMABA]
    h = torch.relu(x @ store.keys.T + store.b1)
    pushes = h[:, None] * (store.values @ facts.U.T)
    scores = (x + store.b2) @ facts.U.T + pushes.sum(0)
    lakes, skiing = (figures.LIKES.index(word) for word in ("lakes", "skiing"))
    assert (int(scores.argmax()), int((scores - pushes[77]).argmax())) == (lakes, skiing)
    shown = [lamp["neuron"] for lamp in boards._filled(fact_stores.FULL[-1])["lamps"]]
    assert 77 not in shown
    told = [-pushes[77, lakes], -pushes[77, skiing], scores[lakes] - scores[skiing]]
    assert [round(float(number), 1) for number in told] == [0.4, 4.3, 3.7]
    assert "takes 0.4 from *lakes*. But it takes 4.3 from *skiing*, which is only 3.7 behind" in text()


def test_what_is_said_of_knock_outs_holds_in_fifteen_other_stores() -> None:
    knockouts = fact_stores.read_knockouts()
    explanation = read_explanation("strongest_out")
    shares = [f"{100 * share:.0f}" for share in knockouts["lost"]["1"]]
    assert f"{', '.join(shares[:-1])} and {shares[-1]} %" in explanation
    assert statistics.fmean(knockouts["lost"]["1"]) == pytest.approx(0.2, abs=0.03)  # about a fifth
    assert f"{100 * min(knockouts['lost']['4']):.0f} % or more" in explanation
    assert statistics.fmean(knockouts["chance"]["8"]) == pytest.approx(0.2, abs=0.03)
    assert statistics.fmean(knockouts["others"]["8"]) == pytest.approx(0.1, abs=0.01)


def test_whether_others_are_lost_depends_on_the_choice_and_on_how_long_one_looks() -> None:
    alone = fact_stores.read_alone()
    assert all(wide > narrow for wide, narrow in zip(alone["wide"], alone["alone"], strict=True))
    assert max(alone["wide"]) < 0.75 * 64, "for many people no clean choice was found"
    assert [fact_stores.told_alone(which) for which in ("clean", "alone", "wide")] == ["1 to 6", "10 to 26", "28 to 45"]
    assert all(clean < chosen < 32 for clean, chosen in zip(alone["clean"], alone["alone"], strict=True))
    assert all(chosen < nearly < 64 for chosen, nearly in zip(alone["alone"], alone["nearly"], strict=True))


def test_the_wide_search_finds_what_trying_every_group_finds() -> None:
    fact_set = fact_stores.facts(fact_stores.STORE_FACTS, 5)
    store = making.Opened(fact_set, making.train_store(fact_set, fact_stores.STORE_WIDTH, 5)[0])
    found = [making.goes_alone(store, n, fact_stores.CHOICE) for n in range(0, 96, 8)]
    assert found == [making._others_lost(store, n)[0] == 0 for n in range(0, 96, 8)]
    assert any(found) and not all(found)


def test_how_much_is_stored_depends_on_the_recipe() -> None:
    plain, scaled, long = (fact_stores.crowded(recipe) for recipe in ("plain", "scaled", "long"))
    explanation = read_explanation("crowded")
    assert f"knew {100 * min(plain):.0f} to {100 * max(plain):.0f} %" in explanation
    assert f"the other recipe {100 * min(scaled):.0f} to {100 * max(scaled):.0f} %" in explanation
    assert all(better > worse for worse, better in zip(plain, scaled, strict=True))
    assert statistics.fmean(plain) == pytest.approx(0.75, abs=0.03)  # three quarters
    assert min(long) > 0.998 and fact_stores.bits_per_weight(768, 32, 1.0) == 2.25
    assert "stores 24 facts per neuron" in text() and fact_stores.bits_per_weight(512, 32, 1.0) == 1.5


def test_a_fresh_store_comes_out_again() -> None:
    seed = fact_stores.FRESH[0]
    fact_set = fact_stores.facts(fact_stores.CROWDED_FACTS, seed)
    again = making.train_store(fact_set, fact_stores.CROWDED_WIDTH, seed, scaled=True)[1]
    assert again == pytest.approx(fact_stores.crowded("scaled")[0], abs=0.03)


def test_one_entry_of_the_table_comes_out_again() -> None:
    shares = [
        making.train_store(fact_stores.facts(64, seed), 8, seed, scaled=True)[1] for seed in fact_stores.SEEDS[:2]
    ]
    assert shares == pytest.approx(fact_stores.accuracy(64, 8)[:2], abs=0.05)
    assert torch.equal(fact_stores.facts(64, 0).E, fact_stores.facts(64, 0).E)


def test_what_is_told_of_attention_alone_holds_in_fifteen_other_runs() -> None:
    runs = cells.stored()["attention only"]
    assert len(runs["attention"]) == len(runs["average"]) == len(cells.FRESH) == 15 and min(cells.FRESH) >= 5
    assert set(runs["attention"]) == {1.0} and max(runs["average"]) < 0.5


def test_a_stored_run_without_attention_comes_out_again() -> None:
    train = cells.function("06_memory", "attention_only", ("imports", "attention-only"))
    assert train(cells.FRESH[0], False) == pytest.approx(cells.stored()["attention only"]["average"][0], abs=0.03)


def test_the_stored_weights_are_those_of_a_training_run() -> None:
    facts, weights = fact_stores.stores()[1]
    trained = making.train_store(facts, fact_stores.STORE_WIDTH, 1)[0]
    assert torch.allclose(weights["linear1.weight"], trained.keys, atol=0.02)
    assert torch.allclose(weights["linear2.weight"], trained.values.T, atol=0.02)
    full = fact_stores.filled(64)
    assert torch.allclose(full[1].keys, making.train_store(full[0], fact_stores.STORE_WIDTH, 0)[0].keys, atol=0.02)


def test_questions_of_the_store_differ_in_length_and_those_of_the_check_do_not() -> None:
    E = fact_stores.store()[0].E
    assert (round(float(E.norm(dim=1).min()), 1), round(float(E.norm(dim=1).max()), 1)) == (3.6, 7.6)
    for person in [(inputs := exercises.write_fact.inputs(0, 0))["middle"], *inputs["others"].values()]:
        for vectors in (person["E"], person["U"]):
            assert torch.allclose(vectors.norm(dim=1), torch.full((len(vectors),), exercises.LENGTH).double())


# What a push of write_fact is told


@pytest.mark.parametrize("strength", [0.3, 1.0, 3.0, 10.0, 30.0])
def test_a_push_the_right_way_is_told_to_be_too_weak_and_never_to_point_elsewhere(strength: float) -> None:
    person = exercises.write_fact.inputs(3, 0)["middle"]
    E, U, weights, n, c = (person[name] for name in ("E", "U", "weights", "n", "c"))
    question, output = E[n], torch.relu(E[n] @ weights["W1"] + weights["b1"]) @ weights["W2"] + weights["b2"]
    said = exercises._what_is_wrong_with_the_push(question, output, strength / 100 * U[c], U, c)
    assert said in (exercises.TOO_WEAK, exercises.JUST_PAST_THE_OLD)
    assert exercises._what_is_wrong_with_the_push(question, output, 1000 * U[c], U, c) == ""
    assert exercises._what_is_wrong_with_the_push(question, output, -strength * U[c], U, c) == exercises.ASKEW
    assert exercises._what_is_wrong_with_the_push(question, output, 0 * U[c], U, c) == exercises.NO_PUSH


@pytest.mark.parametrize("seed", range(20))
def test_a_push_that_forgets_the_question_or_the_ffn_fails_and_is_told_so(seed: int) -> None:
    person = exercises.write_fact.inputs(seed, 0)["middle"]
    E, U, weights, n, c = (person[name] for name in ("E", "U", "weights", "n", "c"))
    output = torch.relu(E[n] @ weights["W1"] + weights["b1"]) @ weights["W2"] + weights["b2"]
    told = [exercises._what_is_wrong_with_the_push(E[n], output, U[c] - part, U, c) for part in (output, E[n])]
    assert told == [exercises.WITHOUT_THE_QUESTION, exercises.WITHOUT_THE_FFN]


# What the probes draw


@pytest.mark.parametrize("seed", range(10))
def test_a_neuron_is_brought_to_the_cut_from_either_side(seed: int) -> None:
    inputs = exercises.silence_strongest.inputs(seed, 0)
    for n, store, chosen in ((4, inputs["close"][0], True), (5, inputs["close"][1], False)):
        h = torch.relu(inputs["X"][n] @ store["W1"] + store["b1"])
        order = (h * (store["W2"] @ inputs["directions"][n])).argsort(descending=True).tolist()
        weak = int((h - 0.2).abs().argmin())
        k = inputs["k"][n]
        assert order.index(weak) == (k - 1 if chosen else k)
    against = inputs["against"]
    h = inputs["X"][0] @ against["W1"] + against["b1"]
    assert bool((h > 0).all()) and bool((against["W2"] @ inputs["directions"][0] < 0).all())


@pytest.mark.parametrize("seed", range(5))
def test_somebody_is_drawn_who_can_be_forgotten_alone_but_not_strongest_first(seed: int) -> None:
    inputs = exercises.forget_one.inputs(seed, 0)
    for puzzle in (inputs["first"], *inputs["others"]):
        store, n = puzzle["store"], puzzle["n"]
        E, U, y, W1, b1, W2, b2 = (store[name] for name in ("E", "U", "y", "W1", "b1", "W2", "b2"))

        def lost(
            out: list[int],
            E: torch.Tensor = E,
            U: torch.Tensor = U,
            y: torch.Tensor = y,
            parts: tuple[torch.Tensor, ...] = (W1, b1, W2, b2),
        ) -> list[int]:
            h = torch.relu(E @ parts[0] + parts[1])
            h[:, out] = 0
            answers = ((E + h @ parts[2] + parts[3]) @ U.T).argmax(1)
            return (answers != y).nonzero()[:, 0].tolist()

        h = torch.relu(E[n] @ W1 + b1)
        order = (h * (W2 @ U[y[n]])).argsort(descending=True).tolist()
        assert lost([]) == []
        assert all(lost(order[:m]) != [n] for m in range(1, 5)), "not strongest first"
        assert any(lost(list(out)) == [n] for m in (2, 3, 4) for out in combinations(order[:10], m))
