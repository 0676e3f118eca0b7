"""The little world: its grammar, the shipped model with its FFN on and off, the names of its neurons, and its stored runs."""

from __future__ import annotations

import itertools
import re
from collections import Counter
from collections.abc import Collection, Sequence
from pathlib import Path

import pytest
import torch
from drawings import numbers
from safetensors.torch import load_file

from ffnlab.course import toy_transformer, world
from ffnlab.course.experiments import firing
from ffnlab.course.experiments import world as experiment
from ffnlab.course.figures import little_world as figures

SOURCE = (Path(__file__).parent.parent / "solutions" / "02_feed_forward.py").read_text(encoding="utf-8")
TRAINING, HELD_OUT = world.scenes(held_out=False), world.scenes(held_out=True)
CREEK = world.Scene("creek", "cold", "spunky", "dog")

# The grammar


def test_the_courses_own_sentence_is_one_of_this_worlds() -> None:
    assert " ".join(world.wish(CREEK)).startswith("the creek was cold and the spunky dog wanted to jump over it")
    assert world.homecoming(world.Scene("hedge", "warm", "shy", "cat"))[-5:] == ["wet", "from", "the", "flowers", "."]
    assert all(" ".join(words).capitalize() in (world.__doc__ or "") for words in (world.wish(CREEK),))


def test_the_world_has_at_most_80_words_and_uses_them_all() -> None:
    vocabulary = {
        word for scene in TRAINING for words in (world.wish(scene), world.homecoming(scene)) for word in words
    }
    assert vocabulary == set(world.WORDS) and len(world.WORDS) == len(world.NUMBER) == 56 <= 80
    assert str(len(world.WORDS)) in (world.__doc__ or "").splitlines()[0]


def test_what_is_held_out_was_never_seen_and_nothing_is_lost() -> None:
    assert not set(TRAINING) & set(HELD_OUT) and len(TRAINING) == 2304 and len(HELD_OUT) == 1792
    pairs = {(scene.place, scene.weather) for scene in TRAINING} | {(scene.weather, scene.mood) for scene in TRAINING}
    for scene in HELD_OUT:
        assert not {(scene.place, scene.weather), (scene.weather, scene.mood)} <= pairs
    assert ("creek", "cold") not in pairs and ("cold", "spunky") not in pairs
    assert {("creek", "icy"), ("pond", "cold"), ("cold", "brave")} <= pairs
    assert set(world.sample(0, 500)) <= set(TRAINING)
    assert world.sample(1, 50) == world.sample(1, 50) != world.sample(2, 50)


@pytest.mark.parametrize(("what", "attributes"), [("way", (0, 1)), ("feeling", (1, 2)), ("homecoming", (0, 1, 2))])
def test_a_combination_is_told_by_no_word_alone(what: str, attributes: tuple[int, ...]) -> None:
    """Beside each word of a scene, and beside each pair where three attributes count, both outcomes are equally frequent in training."""
    size = len(attributes) - 1
    for places in itertools.combinations(range(4), size):
        for many in ({tuple(scene[n] for n in places): Counter[str]() for scene in TRAINING},):
            for scene in TRAINING:
                many[tuple(scene[n] for n in places)][getattr(scene, what)] += 1
            assert all(len(count) == 2 and len(set(count.values())) == 1 for count in many.values())
    decided: dict[tuple[bool, ...], set[str]] = {}
    for scene in TRAINING + HELD_OUT:
        decided.setdefault(tuple(scene.attributes[n] for n in attributes), set()).add(getattr(scene, what))
    assert all(len(outcomes) == 1 for outcomes in decided.values())


# The shipped model


def next_words(
    model: toy_transformer.ToyTransformer, words: Sequence[str], ffn: bool = True, without: Collection[int] = ()
) -> torch.Tensor:
    """How probable each word is to come next: [V], in the order of `world.WORDS`.

    With ffn=False the whole FFN is switched off, biases and all; the neurons in `without` stay silent.
    """
    x = model.gather(toy_transformer.tensor([words]))
    hidden = model.hidden(x)
    hidden[..., list(without)] = 0
    probabilities: torch.Tensor = model.say(x, hidden if ffn else None)[0, -1].softmax(-1)
    return probabilities


def most_probable(probabilities: torch.Tensor, count: int = 5) -> list[tuple[str, float]]:
    """The most probable words of a distribution [V], and their probabilities."""
    best = probabilities.topk(count)
    return [(world.WORDS[n], p) for p, n in zip(best.values.tolist(), best.indices.tolist(), strict=True)]


def share(ffn: bool, place: int) -> float:
    """How often the shipped model is right about one word of the held-out wishes, one sentence after the other."""
    model, right = toy_transformer.load(), 0
    for scene in HELD_OUT[::13]:
        words = world.wish(scene)
        right += most_probable(next_words(model, words[:place], ffn), 1)[0][0] == words[place]
    return right / len(HELD_OUT[::13])


def test_with_its_ffn_it_is_right_and_without_it_tosses_a_coin_where_a_combination_is_needed() -> None:
    task = experiment.TASKS["two attributes"]
    on, off = (experiment.score_words(toy_transformer.load(), task, ffn) for ffn in (True, False))
    for word in task.combinations:
        assert on[word] >= 0.99 and on[f"{word}, probability"] > 0.99
        assert 0.4 < off[word] < 0.6 and off[f"{word}, probability"] == pytest.approx(0.5, abs=0.002)
    assert on["the rest"] >= 0.999 and off["the rest"] >= 0.999
    assert share(True, world.WAY) == share(True, world.SIGHT) == share(False, world.SIGHT) == 1


def test_each_place_of_a_sentence_is_judged_unless_chance_alone_decides_it() -> None:
    """The place, the weather, the creature and its mood can't be known; and what the model wants of a mood is one word of two."""
    for task in experiment.TASKS.values():
        drawn, length = {1, 3, 6, 7}, len(task.tell(CREEK))
        moods = {
            place
            for place in range(length)
            if task.tell(CREEK)[place] in (*world.VERBS.values(), *world.GAITS.values())
        }
        assert set(range(1, length)) == drawn | moods | set(task.combinations.values()) | set(task.plain)


def test_the_weights_are_small_and_two_fifths_of_them_are_the_ffns() -> None:
    weights = load_file(toy_transformer.WEIGHTS)
    ffn = sum(w.numel() for name, w in weights.items() if name.startswith("linear"))
    total = sum(w.numel() for w in weights.values())
    assert toy_transformer.WEIGHTS.stat().st_size <= 300_000 and round(ffn / total, 1) == 0.4
    assert experiment.stored()["about"]["parameters"] == {"all": total, "FFN": ffn}


def test_before_the_ffn_the_model_is_linear() -> None:
    """Which is why it needs one: what is gathered for two sentences that differ in two words is the sum of the two differences."""
    model = toy_transformer.load()

    def gathered(place: str, weather: str) -> torch.Tensor:
        return model.gather(
            toy_transformer.tensor([world.wish(CREEK._replace(place=place, weather=weather))[: world.WAY]])
        )[0, -1]

    both = gathered("creek", "cold") + gathered("lawn", "hot")
    torch.testing.assert_close(both, gathered("creek", "hot") + gathered("lawn", "cold"), atol=1e-4, rtol=0)


# Reading it


def test_at_least_eight_neurons_have_a_name_found_again_by_loops() -> None:
    model = toy_transformer.load()
    good_names = [name for name in toy_transformer.names(model) if name.good]
    assert len(good_names) >= 8 and all(name.combination for name in good_names)
    assert {name.words for name in good_names} >= {"cold water", "warm water", "cold land", "warm land"}
    assert {name.words for name in good_names} >= {"spunky in the cold", "timid in the cold", "timid in the warm"}
    for name in good_names:
        fired = covered = both = 0
        for scene in HELD_OUT[::13] + TRAINING[::13]:
            act = toy_transformer.activations(model, world.wish(scene)[: name.moment])[-1, name.neuron].item()
            on = act > toy_transformer.FIRES * name.largest
            rule = all(value is None or value == has for value, has in zip(name.rule, scene.attributes, strict=True))
            fired, covered, both = fired + on, covered + rule, both + (on and rule)
        precision, recall = both / fired, both / covered
        assert precision == pytest.approx(name.precision, abs=0.05) and recall == pytest.approx(name.recall, abs=0.05)
        assert min(name.precision, name.recall) >= 0.9


@pytest.mark.parametrize(
    ("rule", "words"),
    [
        ((True, True, None), "cold water"),
        ((None, False, True), "spunky in the warm"),
        ((False, None, None), "land"),
        ((None, None, False), "timid"),
        ((False, True, False), "timid in the cold land"),
    ],
)
def test_a_rule_is_said_in_words(rule: toy_transformer.Rule, words: str) -> None:
    assert toy_transformer.in_words(rule) == words and rule in toy_transformer.RULES


def test_the_neurons_of_over_or_into_are_silent_until_the_word_is_to_be_said() -> None:
    """In every scene and at every word before, as notebook 02 shows for one; that they speak later is not ruled out."""
    model = toy_transformer.load()
    hidden = model.hidden(
        model.gather(toy_transformer.tensor([world.wish(scene)[: world.WAY] for scene in toy_transformer.ALL_SCENES]))
    )
    for name in toy_transformer.names(model):
        if name.good and name.moment == world.WAY:
            assert hidden[:, :-1, name.neuron].max() < 0.01 < 0.5 < hidden[:, -1, name.neuron].max()


@pytest.mark.parametrize("rule", ["cold water", "warm water", "cold land", "warm land"])
def test_one_rule_is_knocked_out_and_no_other(rule: str) -> None:
    """What notebook 06 says: without its neurons the model is near a coin toss where the rule applies, and as sure as before elsewhere."""
    model = toy_transformer.load()
    gone = [name.neuron for name in toy_transformer.names(model) if name.good and name.words == rule]
    unsure = []
    for scene in HELD_OUT[::7]:
        words = world.wish(scene)
        sure = next_words(model, words[: world.WAY], without=gone)[world.NUMBER[scene.way]].item()
        if rule == f"{'cold' if scene.cold else 'warm'} {'water' if scene.water else 'land'}":
            unsure.append(sure)
        else:
            assert sure > 0.98
    assert len(unsure) > 50 and 0.41 < sum(unsure) / len(unsure) < 0.66


def test_without_cold_water_every_mood_is_as_unsure() -> None:
    """Its neuron 10 hears the mood nearly as well as the place, and yet no mood suffers more than another one."""
    model = toy_transformer.load()
    names = {name.neuron: name.words for name in toy_transformer.names(model) if name.good}
    gone = [neuron for neuron, words in names.items() if words == "cold water"]
    assert len(gone) == 2 and 10 in gone  # “and with it the other neuron”
    heard = toy_transformer.key_scores(model, 10)
    place, mood = (heard[world.numbers(group)] for group in (world.PLACES, world.MOODS))
    assert 0.75 < (mood[0] - mood.mean()) / (place[0] - place.mean()) < 1
    percents = []
    for mood_word in world.MOODS:
        scenes = [scene for scene in HELD_OUT if scene.water and scene.cold and scene.mood == mood_word]
        chances = [
            next_words(model, world.wish(scene)[: world.WAY], without=gone)[world.NUMBER["over"]] for scene in scenes
        ]
        percents.append(round(100 * float(torch.stack(chances).mean())))
    assert (min(percents), max(percents)) == (41, 44)


def test_neuron_10_hears_the_mood_and_does_not_show_it_because_of_the_verb() -> None:
    model = toy_transformer.load()
    assert model.linear1 is not None
    x = model.gather(toy_transformer.tensor([world.wish(scene)[: world.WAY] for scene in HELD_OUT]))
    fires = model.hidden(x)[:, -1, 10]
    firing = {
        (water, cold, spunky): fires[[scene.attributes == (water, cold, spunky) for scene in HELD_OUT]]
        for water, cold, spunky in itertools.product((True, False), repeat=3)
    }
    assert [round(float(firing[True, True, spunky].mean()), 2) for spunky in (True, False)] == [1.42, 1.41]
    assert max(float(values.max()) for where, values in firing.items() if where[:2] != (True, True)) < 0.05
    sent = toy_transformer.key_scores(model, 10) / world.WAY
    own = model.words.weight @ model.linear1.weight[10]
    spunky, timid = (sent[world.numbers(moods)].mean() for moods in (world.SPUNKY, world.TIMID))
    jump, creep = ((sent + own)[world.NUMBER[verb]] for verb in (world.VERBS[True], world.VERBS[False]))
    assert [round(float(gap), 1) for gap in (spunky - timid, creep - jump)] == [1.2, 1.2]
    told = " ".join(
        (Path(__file__).parent.parent / "solutions" / "06_memory.py").read_text(encoding="utf-8").split("\n# ")
    )
    assert "1.42 for the spunky and 1.41 for the timid" in told
    assert "an eleventh arrives, which is 1.2 against the timid" in told and world.WAY == 11
    assert "the neuron reads the verb as well, and there the timid are 1.2 ahead" in told


def test_a_key_listens_to_the_words_of_its_name() -> None:
    """Notebook 06 reads two neurons; and what a word sends is what the model computes."""
    model = toy_transformer.load()
    words_of_neuron = {name.neuron: name.words for name in toy_transformer.names(model) if name.good}
    assert (words_of_neuron[10], words_of_neuron[33]) == ("cold water", "spunky in the cold")
    for neuron, groups in ((10, (world.PLACES, world.WEATHERS)), (33, (world.WEATHERS, world.MOODS))):
        scores = toy_transformer.key_scores(model, neuron)
        for group in groups:
            group_scores = scores[world.numbers(group)]
            assert (group_scores > group_scores.mean()).tolist() == [True] * 4 + [False] * 4
    assert model.linear1 is not None
    pre = [
        model.linear1(model.gather(toy_transformer.tensor([["the", word]])))[0, -1, 10] for word in ("creek", "lawn")
    ]
    own = [model.words.weight[world.NUMBER[word]] @ model.linear1.weight[10] for word in ("creek", "lawn")]
    scores = toy_transformer.key_scores(model, 10)[world.numbers(["creek", "lawn"])] / 2
    assert (pre[0] - pre[1]).item() == pytest.approx((own[0] - own[1] + scores[0] - scores[1]).item(), abs=1e-3)


@pytest.mark.parametrize("rule", list(itertools.product((True, False, None), repeat=3)), ids=str)
def test_a_neuron_by_hand_fires_where_its_rule_holds_and_nowhere_else(rule: toy_transformer.Rule) -> None:
    """For every rule, in all scenes that training never showed, at every place of the sentence."""
    model = toy_transformer.load()
    neuron = toy_transformer.neuron_for_rule(model, rule, "about", 1.0)
    x = model.gather(toy_transformer.tensor([world.wish(scene)[:-1] for scene in HELD_OUT]))
    fires = x @ neuron.key + neuron.bias > 0  # [B, T]
    holds = [all(v in (None, has) for v, has in zip(rule, scene.attributes, strict=True)) for scene in HELD_OUT]
    assert fires[:, world.WAY - 1].tolist() == holds
    assert int(fires.sum()) == sum(holds)
    raised = model.scores.weight @ neuron.value
    about = world.NUMBER["about"]
    assert raised[about] - raised.mean() == pytest.approx(1) and raised.argmax() == about


def test_a_word_that_this_world_does_not_have_is_refused() -> None:
    assert world.numbers(["The", "creek"]) == world.numbers(["the", "creek"])
    with pytest.raises(KeyError, match="sea"):
        toy_transformer.activations(toy_transformer.load(), ["the", "sea"])


# The figures


def words_with_neuron(
    rule: toy_transformer.Rule, word: str, strength: float, one_is_enough: bool, scene: world.Scene
) -> list[str]:
    """What the model says at every place of a wish with one more neuron: the neuron made a 65th of its FFN."""
    model = toy_transformer.load()
    neuron = toy_transformer.neuron_for_rule(model, rule, word, strength, one_is_enough)
    x = model.gather(toy_transformer.tensor([world.wish(scene)[:-1]]))
    assert model.linear1 is not None and model.linear2 is not None
    keys = torch.cat([model.linear1.weight, neuron.key[None]])
    biases = torch.cat([model.linear1.bias, torch.tensor([neuron.bias])])
    values = torch.cat([model.linear2.weight, neuron.value[:, None]], dim=1)
    stream = x + torch.relu(x @ keys.T + biases) @ values.T + model.linear2.bias
    return [world.WORDS[n] for n in model.scores(stream)[0].argmax(-1).tolist()]


@pytest.mark.parametrize("one_is_enough", [False, True])
def test_the_figure_of_a_rule_counts_what_the_longer_ffn_says(one_is_enough: bool) -> None:
    counts, rule = [0, 0, 0, 0], (None, True, False)
    for scene in HELD_OUT[::4]:
        before, after = (words_with_neuron(rule, "about", strength, one_is_enough, scene) for strength in (0.0, 20.0))
        way, holds = world.WAY - 1, scene.cold and not scene.spunky
        counts[0] += holds and after[way] == "about"
        counts[1] += holds
        counts[2] += not holds and after[way] != before[way]
        counts[3] += sum(old != new for old, new in zip(before, after, strict=True)) - (before[way] != after[way])
    drawn = figures.rule("any", "cold", "timid", "about", 20, one_is_enough)
    says, others = numbers(drawn.title)[0], numbers(drawn.title)[2]
    assert [says, 448] == pytest.approx([4 * n for n in counts[:2]], abs=45)
    assert others == pytest.approx(4 * counts[2], abs=60) and (others == counts[2] == 0) == (not one_is_enough)
    assert counts[3] == 0 and "other places, 0 of" in drawn.sentence


def test_a_rule_by_hand_has_its_way_and_changes_no_other_sentence() -> None:
    """What notebook 06 says of every rule; and what is said nowhere here takes about twice the strength."""
    enough: dict[str, list[int]] = {word: [] for word in figures.NEW_WORDS}
    for word, rule in itertools.product(figures.NEW_WORDS, itertools.product((True, False, None), repeat=3)):
        effect = figures._effect(rule, word, False)
        meant = [figures._holds(rule, corner) for corner in figures.CORNERS]
        for changed, elsewhere in zip(effect.changes, effect.elsewhere, strict=True):
            assert elsewhere == 0 and sum(changed) == sum(itertools.compress(changed, meant))
        reached = [sum(itertools.compress(say, meant)) == 224 * sum(meant) for say in effect.say]
        enough[word].append(figures.STRENGTHS[reached.index(True)])
    assert max(enough["into"]) == 12 and (min(enough["about"]), max(enough["about"])) == (20, 28)
    told = (Path(__file__).parent.parent / "solutions" / "06_memory.py").read_text(encoding="utf-8")
    assert "a strength of 12 is enough for every rule" in told and "that takes 20 to 28" in told
    assert numbers(figures.rule(strength=28, one_is_enough=True).title) == [448, 448, 896, 1344]
    assert numbers(figures.rule(strength=28).title)[:2] == [448, 448] and "896 others change, too" in told


# The stored runs


def column(name: str, word: str, state: str = "on") -> list[float]:
    return [run[state][word] for run in experiment.stored()["runs"][name]]


def test_in_every_seed_the_ffn_decides_where_attention_averages() -> None:
    assert len(experiment.stored()["about"]["seeds"]) >= 5
    for word in ("way", "feeling"):
        assert min(column("average, FFN", word)) >= 0.99
        for name, state in (("average, FFN", "off"), ("average, no FFN", "on")):
            assert all(0.45 < right < 0.55 for right in column(name, word, state))
            assert all(0.495 < p < 0.505 for p in column(name, f"{word}, probability", state))
    assert min(column("average, FFN", "the rest", "off") + column("average, no FFN", "the rest")) >= 0.999
    assert min(column("average, FFN, three", "homecoming")) >= 0.99
    assert all(0.495 < p < 0.505 for p in column("average, no FFN, three", "homecoming, probability"))


def test_what_notebook_02_says_of_three_attributes_holds_in_the_stored_runs() -> None:
    assert sum(right >= 0.99 for right in column("average, FFN, three", "homecoming")) == 5
    assert "With an FFN all five learn all three combinations." in " ".join(SOURCE.split("\n# "))


def test_fifteen_other_models_are_silent_because_silence_was_rewarded() -> None:
    """They are those of notebook 03, which also says why they are silent."""
    runs = firing.stored()["runs"]
    assert not set(firing.FRESH) & set(experiment.SEEDS) and len(runs["with"]) == len(firing.FRESH) == 15
    right = [run["right"] for run in runs["with"]]
    assert sum(share == 1 for share in right) == 14 and 0.9 < min(right) < 1
    assert max(run["fires"] for run in runs["with"]) < 0.01 < 0.2 < min(run["fires"] for run in runs["without"])


def test_what_notebook_02_says_of_learned_attention_holds_in_the_stored_runs() -> None:
    counts = {
        (name, word): sum(right >= 0.99 for right in column(name, word))
        for name in ("attention, FFN", "attention, no FFN")
        for word in ("way", "feeling")
    }
    assert counts["attention, no FFN", "feeling"] == 4 and counts["attention, no FFN", "way"] == 1
    assert counts["attention, FFN", "feeling"] + counts["attention, FFN", "way"] == 9
    assert sum(right >= 0.99 for right in column("attention, FFN, three", "homecoming")) == 1
    assert max(column("attention, no FFN, three", "homecoming")) < 0.55


def test_what_notebook_02_says_of_the_names_holds_in_the_stored_runs() -> None:
    runs, shipped = experiment.stored()["runs"]["average, FFN"], experiment.stored()["about"]["shipped"]
    counts = [experiment.readable(run)[1] for run in runs]
    assert counts.pop(shipped) == 11 and (min(counts), max(counts)) == (4, 8)
    good_names = [[name.words, name.moment] for name in toy_transformer.names(toy_transformer.load()) if name.good]
    assert runs[shipped]["names"] == good_names


@pytest.mark.parametrize("name", ["average, FFN", "attention, no FFN, three"])
def test_a_short_run_comes_out_again(name: str) -> None:
    losses = experiment.stored()["about"][f"loss after {experiment.SHORT} steps of seed 0"]
    assert list(losses) == list(experiment.SETTINGS)
    assert experiment.short(name) == pytest.approx(losses[name], abs=0.01)


def test_the_docstring_of_the_world_names_its_habits_as_the_code_has_them() -> None:
    habits = re.findall(r"\*\*(\w+)\*\*", world.__doc__ or "")
    assert habits == ["into", "into", "over", "glad", "wet"]
