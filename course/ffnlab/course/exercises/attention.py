"""Notebook 01, Can a mix of words say over or into?: how each exercise is called, and on what inputs. No answers.

Sizes differ pairwise, so that a transposed matrix or a wrong axis can't pass by accident.
"""

from __future__ import annotations

import math
from collections.abc import Callable
from functools import partial
from typing import Any

import torch

from ffnlab.observation.exercise import (
    Draw,
    Exercise,
    NotAsAsked,
    describe_result,
    gradients,
    observe_call,
    quiz,
    type_with_article,
)
from ffnlab.observation.plain_data import Failure
from ffnlab.phrases import plural

NOTEBOOK = "01_attention"

Map = Callable[[torch.Tensor], torch.Tensor]


def _stochastic(rng: Draw, T: int, S: int) -> torch.Tensor:
    """Attention weights [T, S]: positive, every row sums to 1; the first one is small."""
    scores = rng.normal(T, S, scale=1.5)
    scores[0, 0] = scores[0].amax() - 8
    return torch.softmax(scores, dim=1)


def _call_on_copies(tensors: dict[str, torch.Tensor], call: Callable[..., Any]) -> tuple[Any, bool]:
    """What `call` makes of copies of the tensors, and whether it leaves them as they were."""
    copies = {name: value.clone() for name, value in tensors.items()}
    output = observe_call(lambda: call(**copies))
    return output, all(torch.equal(copies[name], tensors[name]) for name in tensors)


# self_attention

WEIGHTS = ("Wq", "Wk", "Wv", "Wo")


def _draw_head(rng: Draw, case: int) -> dict[str, Any]:
    """X [T, d], the weights of one head of width h, and three matrices A to be handed in: attention weights [T, T], those of two outputs
    [2, T], and any numbers [T, T].

    In one case h = d.
    """
    d, h = rng.distinct(2, 3, 5)
    T = rng.integer(6, 7)
    h = d if case == 1 else h
    scales = {"Wq": 0.7, "Wk": 0.7, "Wv": 0.6}
    return {
        "X": rng.normal(T, d),
        **{name: rng.normal(d, h, scale=scale) for name, scale in scales.items()},
        "Wo": rng.normal(h, d, scale=0.6),
        "A": _stochastic(rng, T, T),
        "two": _stochastic(rng, 2, T),
        "numbers": rng.normal(T, T),
    }


self_attention = Exercise(
    "self_attention",
    draw=_draw_head,
    where="the section “The desk that pulls its own faders”.",
    understood="Scores and mix multiply X by itself, the softmax turns scores into weights, and the two other steps are plain matrix products.",
    hints=(
        "One line per step: queries, keys and values; scores; weights; mix; output. Write the shape at the end of each line.",
        "The scores are all products of a query with a key: [T, h] and [T, h] become [T, T] when one of them is transposed. "
        "By the root of which size are they divided?",
        "Each token's weights sum to 1 over the tokens that it looks at: which dimension of A is that?",
        "The mix is a sum over s of A[t, s] times value s. A product of two matrices does this for all t at once: which dimension do A and V share?",
        "`if A is None:` is the question to ask. When A is handed in, steps 2 and 3 are skipped, and that A is returned.",
    ),
)


def _parse_pair(result: Any) -> tuple[torch.Tensor, torch.Tensor]:
    if not isinstance(result, (tuple, list)):
        raise NotAsAsked(f"{describe_result(result)}; a pair (out, A) was expected")
    if len(result) != 2:
        raise NotAsAsked(f"{type_with_article(result)} of {len(result)} came back; a pair (out, A) was expected")
    for name, part in zip(("out", "A"), result, strict=True):
        if not isinstance(part, torch.Tensor):
            raise NotAsAsked(f"in the pair (out, A), {name} is {type_with_article(part)}; a tensor was expected")
    return result[0], result[1]


def _name_parts(result: Any) -> dict[str, torch.Tensor]:
    return dict(zip(("out", "A"), _parse_pair(result), strict=True))


@self_attention.aspect("A", points=1)
def self_attention_a(answer: Any, A: Any, two: Any, numbers: Any, **inputs: Any) -> Any:
    return _parse_pair(answer(**inputs))[1]


@self_attention.aspect("out", points=1.5)
def self_attention_out(answer: Any, A: Any, two: Any, numbers: Any, **inputs: Any) -> Any:
    return _parse_pair(answer(**inputs))[0]


@self_attention.aspect("A given", points=1.5)
def self_attention_a_given(answer: Any, A: Any, two: Any, numbers: Any, **inputs: Any) -> Any:
    out, returned_A = _parse_pair(answer(*inputs.values(), A))
    return {
        "out": out,
        "the returned A": returned_A,
        "A with two rows": _parse_pair(answer(*inputs.values(), two))[0],
        "rows of A that do not sum to 1": _parse_pair(answer(*inputs.values(), numbers))[0],
    }


@self_attention.aspect("gradients", points=0.5)
def self_attention_gradients(answer: Any, A: Any, two: Any, numbers: Any, **inputs: Any) -> Any:
    return gradients(lambda **leaves: torch.cat([part.flatten() for part in _parse_pair(answer(**leaves))]), **inputs)


@self_attention.aspect("float32, one token, inputs kept", points=0.5)
def self_attention_float32_one_token_inputs_kept(answer: Any, A: Any, two: Any, numbers: Any, **inputs: Any) -> Any:
    def thin(name: str, value: torch.Tensor) -> torch.Tensor:
        """The head cut down to a width of 1."""
        return value if name == "X" else value[:1] if name == "Wo" else value[:, :1]

    input_sets = {
        "in float32": {name: value.float() for name, value in inputs.items()},
        "one token": inputs | {"X": inputs["X"][:1]},
        "h = 1": {name: thin(name, value) for name, value in inputs.items()},
    }
    results = {
        label: _call_on_copies(tensors, lambda **g: _name_parts(answer(**g))) for label, tensors in input_sets.items()
    }
    _, is_unchanged = _call_on_copies(inputs | {"A": A}, lambda **g: _name_parts(answer(*g.values())))
    outputs = {label: output for label, (output, _) in results.items()}
    is_unchanged = is_unchanged and all(same for _, same in results.values())
    return outputs | {"what was handed in is left as it was": is_unchanged}


# reach_star

AT = 0.05  # a mix that is no further from the star is on it
APART = 0.25  # how far from every mix a star is, at least, that no weights reach
Situations = dict[str, dict[str, torch.Tensor]]


def _draw_mix_weights(rng: Draw, S: int) -> torch.Tensor:
    """Weights [S], none of them small."""
    parts = torch.tensor([rng.uniform(0.5, 1.5) for _ in range(S)], dtype=torch.float64)
    shares: torch.Tensor = parts / parts.sum()
    return shares


def _rotate_points(points: list[list[float]], angle: float) -> torch.Tensor:
    """Points of the plane [n, 2], turned around the origin."""
    c = math.cos(angle)
    s = math.sin(angle)
    rotated_points: torch.Tensor = torch.tensor(points, dtype=torch.float64) @ torch.tensor(
        [[c, s], [-s, c]], dtype=torch.float64
    )
    return rotated_points


def _draw_hull(rng: Draw, S: int) -> torch.Tensor:
    """Words in the plane, each of them a corner of their hull, in the order in which one goes around it."""
    first, length = rng.uniform(0, 2 * math.pi), rng.uniform(1.5, 2.2)
    angles = [first + 2 * math.pi * (s + rng.uniform(-0.2, 0.2)) / S for s in range(S)]
    return torch.tensor([[length * math.cos(a), length * math.sin(a)] for a in angles], dtype=torch.float64)


def _draw_point_beyond(rng: Draw, V: torch.Tensor) -> torch.Tensor:
    """A point that is ahead of the furthest word in some direction."""
    direction = rng.normal(V.shape[1])
    direction = direction / direction.norm()
    point: torch.Tensor = V[(V @ direction).argmax()] + rng.uniform(1.2 * APART, 1.0) * direction
    return point


def _draw_stars(rng: Draw, case: int) -> dict[str, Any]:
    """Words V [S, d] and a star [d] in a dozen situations: within, stars that some weights reach; without, stars that none do."""
    S = rng.integer(5, 6)
    angle = rng.uniform(0.3, 1.2)
    three, many = _draw_hull(rng, 3), _draw_hull(rng, S)
    space = rng.normal(4, 5)
    alone = rng.normal(1, 3)
    line = _rotate_points([[-2.0, 0.4], [0.3, 0.4], [1.0, 0.4], [2.2, 0.4]], angle)
    twins = torch.cat([three[:1], three])
    inside, edge = _draw_mix_weights(rng, 3), _draw_mix_weights(rng, 2)
    side = rng.integer(0, S - 2)
    within: Situations = {
        "inside of three words": {"V": three, "star": inside @ three},
        "between two of three words": {"V": three, "star": edge @ three[1:]},
        "on a word": {"V": three, "star": three[rng.integer(0, 2)]},
        "between two of many words": {"V": many, "star": edge @ many[side : side + 2]},
        "words on one line": {"V": line, "star": _draw_mix_weights(rng, 4) @ line},
        "two words at one place": {"V": twins, "star": _draw_mix_weights(rng, 4) @ twins},
        "one word alone": {"V": alone, "star": alone[0]},
        "four words of five numbers": {"V": space, "star": _draw_mix_weights(rng, 4) @ space},
    }
    row = [[-4.0, 0.0], [rng.uniform(-2.0, -1.0), 0.0], [rng.uniform(-0.5, 0.5), 0.0], [4.0, 0.0]]
    row = [
        *row,
        [rng.uniform(2.5, 3.0), rng.uniform(2 * APART, 3 * APART)],
    ]  # the last one is the star, beside the far end
    even = [
        [-4.0, 0.0],
        [-1.5, 0.0],
        [1.5, 0.0],
        [4.0, 0.0],
        [0.0, rng.uniform(1.2 * APART, 1.8 * APART)],
    ]  # and so is it here
    flat = torch.cat([rng.normal(4, 4), torch.zeros(4, 1, dtype=torch.float64)], dim=1)
    aside = torch.tensor([0.0, 0.0, 0.0, 0.0, 1.2 * APART], dtype=torch.float64)
    without: Situations = {
        "outside of three words": {"V": three, "star": _draw_point_beyond(rng, three)},
        "outside of many words": {"V": many, "star": _draw_point_beyond(rng, many)},
        "beside a long row of words": {"V": _rotate_points(row[:4], angle), "star": _rotate_points(row[4:], angle)[0]},
        "above the middle of a long row": {
            "V": _rotate_points(even[:4], angle),
            "star": _rotate_points(even[4:], angle)[0],
        },
        "on the line, beyond its end": {"V": line, "star": line[3] + 0.2 * (line[3] - line[0])},
        "away from the only word": {"V": alone, "star": _draw_point_beyond(rng, alone)},
        "beside four words of five numbers": {"V": flat, "star": 0.8 * flat[0] + 0.2 * flat[1] + aside},
    }
    return {"within": within, "without": without}


reach_star = Exercise(
    "reach_star",
    draw=_draw_stars,
    where="the section “The desk by code”.",
    understood="Either some weights reach a star, or some direction proves that none do. There is no third case, and the nearest mix gives you both.",
    hints=(
        "What is the nearest mix to the star? If it is on the star, you have the weights. If not, look at the arrow from it to the star.",
        "Could a word be ahead of the nearest mix, in the direction of that arrow? Then a little more of that word would bring the mix nearer.",
        "So start with any mix. Again and again, find the word that is furthest ahead along the arrow, and among the words in the mix the one "
        "that is furthest behind. Let the second give some of its weight to the first.",
        "How much is some? Moving a share of weight moves the mix by share · (V[ahead] − V[behind]). Choose the share that comes nearest to the star, and "
        "never more than the second word has.",
    ),
    seconds=60.0,
)


def _call_answer(answer: Any, V: torch.Tensor, star: torch.Tensor) -> dict[str, Any]:
    """What an answer returns for one star: weights and direction, one of them None."""
    result = answer(V.clone(), star.clone())
    if not isinstance(result, (tuple, list)):
        raise NotAsAsked(f"{describe_result(result)}; a pair (weights, direction) was expected")
    if len(result) != 2:
        raise NotAsAsked(
            f"{type_with_article(result)} of {len(result)} came back; a pair (weights, direction) was expected"
        )
    parts: dict[str, Any] = {}
    for name, part, size in zip(("weights", "direction"), result, V.shape, strict=True):
        numbers = part if part is None or isinstance(part, torch.Tensor) else torch.tensor(part, dtype=torch.float64)
        if numbers is not None and list(numbers.shape) != [size]:
            raise NotAsAsked(f"{name} has shape {list(numbers.shape)}; here it should be [{size}]")
        parts[name] = numbers if numbers is None else numbers.detach().double()
    return parts


def _describe_outcome(observation: Any, V: torch.Tensor, star: torch.Tensor) -> Any:
    """What the weights or the direction do."""
    if isinstance(observation, Failure):
        return observation
    weights, direction = observation["weights"], observation["direction"]
    if (weights is None) == (direction is None):
        return "neither weights nor a direction" if weights is None else "weights and a direction"
    if weights is not None:
        if not bool(weights.isfinite().all()):
            return "weights that are not finite"
        if float(weights.min()) < -1e-6:
            return "a weight below 0"
        if abs(float(weights.sum()) - 1) > 1e-4:
            return "weights that do not sum to 1"
        return (
            "weights that reach the star" if float((weights @ V - star).norm()) <= AT else "weights that miss the star"
        )
    ahead = (star - V) @ direction  # [S]: how far the star is ahead of each word
    if not bool(ahead.isfinite().all()):
        return "a direction that is not finite"
    if bool((ahead > 0).all()):
        return "a direction in which the star is ahead of every word"
    return "a direction away from the star" if bool((ahead < 0).all()) else "a direction that proves nothing"


def _make_outcome_facts(key: str) -> Callable[[Any, dict[str, Any]], dict[str, Any]]:
    def facts(observation: Any, inputs: dict[str, Any]) -> dict[str, Any]:
        return {label: _describe_outcome(observation[label], **situation) for label, situation in inputs[key].items()}

    return facts


def _call_on_each(answer: Any, situations: Situations) -> dict[str, Any]:
    return {label: observe_call(partial(_call_answer, answer, **situation)) for label, situation in situations.items()}


@reach_star.aspect("stars that can be reached", points=2, facts=_make_outcome_facts("within"))
def reach_star_stars_that_can_be_reached(answer: Any, within: Situations, without: Situations) -> Any:
    return _call_on_each(answer, within)


@reach_star.aspect("stars that can't be reached", points=2, facts=_make_outcome_facts("without"))
def reach_star_stars_that_cannot_be_reached(answer: Any, within: Situations, without: Situations) -> Any:
    return _call_on_each(answer, without)


# superposition_error


LAYERS = ("a layer with ReLU", "a layer with tanh")  # with a bias, so that f(0) is not 0
SQUARE = "a square"


def _draw_pair(rng: Draw, case: int) -> dict[str, Any]:
    """X, Y [B, T, d], and the numbers from which the functions to be measured are made. In one case f(0) is 0, in the others not."""
    B, T = rng.distinct(2, 2, 4)
    d, e = rng.distinct(2, 5, 9)
    return {
        "X": rng.normal(B, T, d) + 0.3,
        "Y": rng.normal(B, T, d) - 0.5,
        "W": rng.normal(d, e, scale=0.7),
        "b": rng.normal(e),
        "bend": SQUARE if case == 1 else rng.one_of(LAYERS),
    }


def _make_maps(W: torch.Tensor, b: torch.Tensor, bend: str) -> dict[str, Map]:
    """Functions from [..., d] to [..., e]: one that is linear, one with a bias, one that bends."""
    relu, tanh = LAYERS
    bends: dict[str, Map] = {
        relu: lambda x: torch.relu(x @ W + b),
        tanh: lambda x: torch.tanh(x @ W + b),
        SQUARE: lambda x: (x @ W) * (x @ W) + x @ W,
    }
    return {"x @ W": lambda x: x @ W, "x @ W + b": lambda x: x @ W + b, bend: bends[bend]}


superposition_error = Exercise(
    "superposition_error",
    draw=_draw_pair,
    where="the section “Linear in what?”.",
    understood="A linear map gives 0 here, up to rounding, and no other continuous map does so for all X and Y.",
    hints=(
        "How often is f called, and on what? Three results are needed.",
        "A norm squares every entry before it sums, so that a positive and a negative one can't cancel. `.norm()` of a tensor does this over all entries.",
        "Take the norm of the difference, not the difference of norms. Then divide by the norm of what f makes of the sum.",
        "`.item()` turns a tensor with one entry into a Python float, and cuts it off the graph.",
    ),
)


@superposition_error.aspect("values", points=2, atol=1e-6, rtol=1e-6)
def superposition_error_values(answer: Any, X: Any, Y: Any, W: Any, b: Any, bend: str) -> Any:
    return {
        f"f(x) = {name}" if "@" in name else f"f is {name}": observe_call(
            lambda f=f: answer(f, X[0].clone(), Y[0].clone())  # type: ignore[misc]
        )
        for name, f in _make_maps(W, b, bend).items()
    }


@superposition_error.aspect("any shape, inputs kept", points=0.5, atol=1e-6, rtol=1e-6)
def superposition_error_any_shape_inputs_kept(answer: Any, X: Any, Y: Any, W: Any, b: Any, bend: str) -> Any:
    f = _make_maps(W, b, bend)[bend]
    outputs: dict[str, Any] = {}
    is_unchanged = True
    alive = tuple((f(X + Y).norm(dim=-1) > 0.1).nonzero()[0].tolist())  # a token of which a ReLU leaves something
    for label, part in (("one token [d]", alive), ("[B, T, d]", ())):
        outputs[label], same = _call_on_copies({"X": X[part], "Y": Y[part]}, lambda X, Y: answer(f, X, Y))
        is_unchanged = is_unchanged and same
    return outputs | {"X and Y are left as they were": is_unchanged}


@superposition_error.aspect("a number, off the graph", points=0.5, atol=1e-6, rtol=1e-6)
def superposition_error_a_number_off_the_graph(answer: Any, X: Any, Y: Any, W: Any, b: Any, bend: str) -> Any:
    result = answer(_make_maps(W.requires_grad_(), b, bend)[bend], X[0], Y[0])
    if isinstance(result, torch.Tensor) and result.requires_grad:
        raise NotAsAsked("the result is a tensor that still hangs on the graph of f; a number was expected")
    return result


# xor_weights

CORNERS = ((0, 0), (0, 1), (1, 0), (1, 1))
NEAR = 0.01  # of the distance from low to high
SHAPES = {"W1": "[2, H]", "b1": "[H]", "W2": "[H, 1]", "b2": "[1]"}

Heights = list[tuple[float, float]]


def _draw_heights(rng: Draw, case: int) -> dict[str, Any]:
    """Pairs (low, high) in random order: either may be the larger, and both, one or none of them below zero."""
    heights: Heights = []
    for upwards in (True, False):
        for least in (-6.0, -1.5, 0.5):
            pair = [round(least + rng.uniform(*ends), 2) for ends in ((0.0, 1.0), (2.0, 5.0))]
            heights.append((pair[0], pair[1]) if upwards else (pair[1], pair[0]))
    return {"heights": [heights[place] for place in rng.distinct(len(heights), 0, len(heights) - 1)]}


xor_weights = Exercise(
    "xor_weights",
    draw=_draw_heights,
    where="the section “Fold the plane”.",
    understood="Each hidden neuron draws one line and is silent on one side of it. Together they do what no single line can.",
    hints=(
        "Look at a + b for the four inputs: 0, 1, 1, 2. You need a function of that one number which is low, high, low.",
        "Up, then down again: one neuron starts to rise at 0. Another starts at 1, and has to pull twice as hard the other way. "
        "The bias says where a neuron starts.",
        "A column of W1 holds what one neuron multiplies a and b by; b1 its threshold, with a minus sign; its row of W2 what it adds to the output.",
        "Another way: one neuron for “a, but not b”, and one for “b, but not a”. Then no b1 is needed.",
        "When the four outputs are 0, 1, 1, 0, you are nearly done: multiplying W2 stretches them, and b2 moves them all.",
    ),
)


def _parse_weights(result: Any) -> dict[str, torch.Tensor]:
    if not isinstance(result, (tuple, list)):
        raise NotAsAsked(f"{describe_result(result)}; four tensors W1, b1, W2, b2 were expected")
    if len(result) != 4:
        raise NotAsAsked(
            f"{type_with_article(result)} of {len(result)} came back; four tensors W1, b1, W2, b2 were expected"
        )
    for name, value in zip(SHAPES, result, strict=True):
        if not isinstance(value, torch.Tensor):
            raise NotAsAsked(f"{name} is {type_with_article(value)}; a tensor was expected")
        if not value.is_floating_point():
            raise NotAsAsked(f"{name} holds whole numbers ({value.dtype}); floating-point numbers were expected")
    return dict(zip(SHAPES, result, strict=True))


def _check_shapes(weights: dict[str, Any]) -> dict[str, bool]:
    shapes = {name: list(value.shape) for name, value in weights.items()}
    dimensions = {name: words.count(",") + 1 for name, words in SHAPES.items()}
    hidden = shapes["b1"][0] if len(shapes["b1"]) == 1 else (*shapes["W1"], 0)[1]  # a wrong b1 blames b1 alone
    expected_shapes = {"W1": [2, hidden], "b1": [hidden], "W2": [hidden, 1], "b2": [1]}
    return {
        **{f"{name} has shape {SHAPES[name]}": shapes[name] == expected_shapes[name] for name in SHAPES},
        **{f"{name} has {plural(n, 'dimension')}": len(shapes[name]) == n for name, n in dimensions.items()},
        "H is 1 to 8": 1 <= hidden <= 8,
    }


def _shape_facts(observation: list[Any], inputs: dict[str, Any]) -> dict[str, bool]:
    """What holds of the shapes, whatever low and high are."""
    checks = [_check_shapes(_parse_weights(weights)) for weights, _ in zip(observation, inputs["heights"], strict=True)]
    return {words: all(check[words] for check in checks) for words in checks[0]}


def _compute_outputs(weights: dict[str, torch.Tensor]) -> list[float]:
    """What the network gives for the four inputs, in float64."""
    if not all(is_met for words, is_met in _check_shapes(weights).items() if "shape" in words):
        shapes_text = ", ".join(f"{name} {list(value.shape)}" for name, value in weights.items())
        raise NotAsAsked(f"the shapes do not fit relu(x @ W1 + b1) @ W2 + b2 with x [4, 2]: {shapes_text}")
    W1, b1, W2, b2 = (value.detach().double() for value in weights.values())
    corners = torch.tensor(CORNERS, dtype=torch.float64)
    outputs: list[float] = (torch.relu(corners @ W1 + b1) @ W2 + b2)[:, 0].tolist()
    return outputs


def _compute_shares(observation: list[Any], inputs: dict[str, Any]) -> list[list[float]]:
    """For each pair (low, high), how much of the way from low to high each of the four outputs has gone: 0, 1, 1, 0 where all is right."""
    pairs = zip(observation, inputs["heights"], strict=True)
    return [
        [(out - low) / (high - low) for out in _compute_outputs(_parse_weights(weights))]
        for weights, (low, high) in pairs
    ]


def _margin(shares: list[float]) -> float:
    """How far the lower of the two outputs that should be high is above the higher of the two others."""
    return min(shares[1], shares[2]) - max(shares[0], shares[3])


def _describe_standouts(shares: list[float]) -> str:
    """Which inputs stand out; the same for every network that does XOR. Outputs on a plane are said to be so."""
    if any(value != value or abs(value) == float("inf") for value in shares):
        return "the outputs are not finite"
    order = sorted(range(4), key=lambda i: -shares[i])
    gaps = [shares[order[n]] - shares[order[n + 1]] for n in range(3)]
    bend = shares[1] + shares[2] - shares[0] - shares[3]
    if _margin(shares) > 1e-6:
        count = 2
    elif max(gaps) <= 1e-6:
        return "none: the four outputs are equal"
    elif abs(bend) <= 1e-6 * max(1.0, *map(abs, shares)):
        return "none: the four outputs lie on a plane"
    else:
        count = 1 + max(range(3), key=lambda n: round(gaps[n], 6))
    return ", ".join(str(CORNERS[i]) for i in sorted(order[:count]))


def _standout_facts(observation: list[Any], inputs: dict[str, Any]) -> dict[str, str]:
    """For each pair, the inputs whose outputs stand out from the others, on the side of high."""
    labels = [f"low = {low:g}, high = {high:g}; inputs on the side of high" for low, high in inputs["heights"]]
    return dict(zip(labels, map(_describe_standouts, _compute_shares(observation, inputs)), strict=True))


def _height_facts(observation: list[Any], inputs: dict[str, Any]) -> dict[str, bool]:
    shares = _compute_shares(observation, inputs)
    return {
        "the outputs for (0, 0) and (1, 1) are low": all(abs(u[i]) <= NEAR for u in shares for i in (0, 3)),
        "the outputs for (0, 1) and (1, 0) are high": all(abs(u[i] - 1) <= NEAR for u in shares for i in (1, 2)),
    }


def _collect_networks(answer: Any, heights: Heights) -> list[tuple[torch.Tensor, ...]]:
    return [tuple(_parse_weights(answer(low, high)).values()) for low, high in heights]


@xor_weights.aspect("which inputs stand out", points=3, facts=_standout_facts)
def xor_weights_which_inputs_stand_out(answer: Any, heights: Any) -> Any:
    return _collect_networks(answer, heights)


@xor_weights.aspect("shapes", points=1, facts=_shape_facts, needs="which inputs stand out")
def xor_weights_shapes(answer: Any, heights: Any) -> Any:
    return _collect_networks(answer, heights)


@xor_weights.aspect("low and high", points=1, facts=_height_facts)
def xor_weights_low_and_high(answer: Any, heights: Any) -> Any:
    return _collect_networks(answer, heights)


# Quizzes. Their texts are in the notebook.

quiz_hull = quiz(
    "quiz_hull",
    options="ABCD",
    where="the section “The desk that pulls its own faders”.",
    understood="Weights that are not negative and sum to 1 make an average, and an average never leaves the convex hull.",
)

quiz_linear = quiz(
    "quiz_linear",
    where="the section “Linear in what?”.",
    understood="With A held fixed, only products with constant matrices are left, so the whole head is linear in X.",
)

quiz_xor = quiz(
    "quiz_xor",
    where="“And a norm?”.",
    understood="LayerNorm makes (1, −1) or (−1, 1) of two clearly different numbers, so it draws a single line. A norm is not linear, "
    "but what it can do depends on its width.",
)
