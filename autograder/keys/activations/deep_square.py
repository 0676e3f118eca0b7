"""What is right, and what goes wrong, in `deep_square` of notebook 03.

Many networks are right. The facts say how near each is to x², with how many neurons, and what kind of wire it is where it is not near.
"""

from __future__ import annotations

import torch

from autograder.keys.key import Key
from ffnlab.course.exercises import activations as exercises

deep_square = Key(exercises.deep_square)
Weights = list[tuple[list[list[float]], list[float]]]
ABS = ([[1.0, -1.0]], [0.0, 0.0])  # |x| is the sum of its two neurons


def folded(count: int, peak: float = 0.5, weight: float = -0.25, ratio: float = 0.25, first: float = 1.0) -> Weights:
    """|x| and `count` tents behind each other, and a third neuron that carries the sum: first · |x|, and weight · ratioⁿ of tent n + 1.

    peak: where the tent turns; it comes back to 0 at twice that.
    """
    layers = [ABS]
    tent, total = [1.0, 1.0], [first, first]
    for _ in range(count):
        layers.append(([[t, t, s] for t, s in zip(tent, total, strict=True)], [0.0, -peak, 0.0]))
        tent = [1 / peak, -2 / peak, 0.0]
        total = [weight * tent[0], weight * tent[1], 1.0]
        weight *= ratio
    return [*layers, ([[s] for s in total], [0.0])]


def in_thirds() -> Weights:
    """|x|, then three pieces, then four: 24 in all, so nine neurons do it, if the wire is lowered by half of its gap."""
    third = ([[1.0, 1.0, 1.0]] * 2, [0.0, -1 / 3, -2 / 3])
    # What is read off these three neurons: a fold in three, and the wire of six pieces.
    zigzag, total = (3.0, -6.0, 6.0), (1 / 3, 2 / 3, 2 / 3)
    quarters = [[s - z / 12, z, z, z] for z, s in zip(zigzag, total, strict=True)]
    out = [[1.0], [1 / 18], [1 / 18], [1 / 18]]
    return [ABS, third, (quarters, [0.0, -0.25, -0.5, -0.75]), (out, [-1 / 1152])]


def without_carrying_first() -> Weights:
    """After the first tent the sum is |x| itself, and the last layer needs only the sum and its kink: twelve neurons."""
    layers = folded(4)
    second = ([[1.0, 1.0]] * 2, [0.0, -0.5])
    third = ([[2.0, 2.0, 0.5], [-4.0, -4.0, 1.0]], [0.0, -0.5, 0.0])
    last = (
        [[-2 / 4**4 * t + s, t] for t, s in zip((2.0, -4.0, 0.0), (-2 / 4**3, 4 / 4**3, 1.0), strict=True)],
        [0.0, -0.5],
    )
    return [ABS, second, third, layers[3], last, ([[1.0], [4 / 4**4]], [0.0])]


def with_idle(layers: Weights, count: int) -> Weights:
    """The same, and `count` neurons in the first layer that do nothing."""
    (W, b), (W2, b2), *later = layers
    return [([W[0] + [1.0] * count], b + [0.0] * count), (W2 + [[0.0] * len(b2)] * count, b2), *later]


def in_one_layer(pieces: int, down: float = 0.0) -> Weights:
    corners = [-1 + 2 * n / pieces for n in range(pieces)]
    return [
        ([[1.0] * pieces], [-corner for corner in corners]),
        ([[-2 + 2 / pieces], *[[4 / pieces]] * (pieces - 1)], [1.0 - down]),
    ]


def one_of_two(layers: Weights) -> Weights:
    """|x| without its left half."""
    return [([[1.0, 0.0]], [0.0, 0.0]), *layers[1:]]


deep_square.add_value("truth", "four_tents", "", folded(4))
deep_square.add_value(
    "right", "in_thirds", "|x|, three pieces, four pieces, and the wire lowered by half of its gap", in_thirds()
)
deep_square.add_value(
    "right", "five_tents_lowered", "the sum is carried only where it has to be", without_carrying_first()
)
deep_square.add_value(
    "right", "in_tensors", "a list of tuples of tensors", [(torch.tensor(W), torch.tensor(b)) for W, b in folded(4)]
)
deep_square.add_value("right", "in_lists", "lists in place of pairs", [[W, b] for W, b in folded(4)])


def mistake(name: str, message: str, answer: Weights) -> None:
    deep_square.add_value("mistake", name, message, answer)


mistake(
    "many_neurons",
    "Nearly. It is within a thousandth with fewer neurons than one layer takes. Fourteen are enough: which of yours do nothing, or could share a layer?",
    with_idle(folded(4), 3),
)
mistake(
    "no_fewer",
    f"It is within a thousandth, but a single layer does that with {exercises.IN_ONE_LAYER} neurons. Yours has as many, or more. What could each "
    "layer leave to the one behind it?",
    with_idle(folded(4), 8),
)
mistake(
    "one_layer",
    "It is within a thousandth, but with one hidden layer, where each kink takes a neuron of its own. Put layers behind each other.",
    in_one_layer(32),
)
mistake(
    "one_short_layer",
    "It has one hidden layer, so each neuron makes one kink at most, and these are too few. Behind a fold a kink counts twice: put a second layer "
    "behind the first.",
    in_one_layer(20),
)
mistake(
    "right_half",
    "Right of 0 the wire is good, but left of it it isn't. x² is the same at −x and at x, so fold there first: what does the first layer pass on of a "
    "negative x?",
    one_of_two(folded(4)),
)
mistake(
    "too_low",
    "The shape of the wire is right. All of it is too high or too low by the same amount, which is a matter of the last b.",
    [*folded(4)[:-1], (folded(4)[-1][0], [-0.25])],
)
mistake(
    "too_few_tents",
    "The sum is right as far as it goes, and each tent makes what is left a quarter as large. Go on until that is below 0.001.",
    folded(3),
)
mistake(
    "tents_added",
    "The tents are added to |x|. But |x| is above x² everywhere, so something has to be taken off it.",
    folded(4, weight=0.25),
)
mistake(
    "halved",
    "From tent to tent your weights are halved. The gap is ((t − s)/2)² for a piece from s to t: how does it change when a piece is half as long?",
    folded(4, weight=-0.5, ratio=0.5),
)
mistake(
    "all_alike",
    "All tents are taken off with the same weight. Each of them only repairs what the one before has left over, and that is smaller every time.",
    folded(4, ratio=1.0),
)


def last_tent_only(count: int) -> Weights:
    layers = folded(count)
    return [*layers[:-1], ([[-2 / 4**count], [4 / 4**count], [0.0]], [0.0])]


mistake(
    "sum_lost",
    "Only the last tent arrives at the end. A layer sees nothing but the layer before it, so what you want to add up later has to be carried along, by a "
    "neuron of its own.",
    last_tent_only(4),
)


def not_coming_back(count: int) -> Weights:
    """The second neuron has −2 for −4: it stops the rise, and nothing comes down."""
    layers = folded(count)
    flat = [
        ([[t / 2 if n == 1 and i < 2 else t for i, t in enumerate(row)] for n, row in enumerate(W)], b)
        for W, b in layers[2:-1]
    ]
    return [*layers[:2], *flat, layers[-1]]


mistake(
    "no_fold",
    "Your wire is not a sum of |x| and of tents. Look at it layer by layer on the board. On [0, 1] a tent rises to 1 at ½, and it comes back "
    "to 0 at 1, so there its slope changes from 2 to −2.",
    not_coming_back(4),
)
mistake(
    "one_fold",
    "After |x| nothing is folded any more: your wire turns at 0 and nowhere else. Give the second layer a neuron with its kink at ½.",
    [ABS, ([[1.0], [1.0]], [0.0]), ([[1.0]], [0.0])],
)
mistake(
    "turned_around",
    "In one layer W has a row for each of its neurons, as torch's nn.Linear keeps it. Here a row is for each number that comes in: shape [before, after].",
    [([[1.0], [-1.0]], [0.0, 0.0]), *folded(4)[1:]],
)
mistake(
    "last_b_a_number",
    "A b is a plain number. It is a list with one number for each neuron of its layer; the last layer has one output, so its b is like `[0.]`.",
    [*folded(4)[:-1], (folded(4)[-1][0], 0.0)],  # type: ignore[list-item]
)
mistake(
    "weights_alone",
    "The b are missing. Each layer is a pair, W and b, also where all of b is 0.",
    [W for W, _ in folded(4)],  # type: ignore[misc]
)
