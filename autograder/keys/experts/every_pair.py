"""What is right, and what goes wrong, in `every_pair` of notebook 08."""

from __future__ import annotations

import itertools
import math

import torch

from autograder.keys.key import Key
from ffnlab.course.exercises import experts as exercises

every_pair = Key(exercises.every_pair)


@every_pair.truth
def by_solving(E):
    """Experts on the curve (t, t², t³, t⁴); a token solves for a polynomial that is 0 at its pair and has the slope 0 there."""
    router = torch.tensor([[float(t) ** power for t in range(E)] for power in (1, 2, 3, 4)], dtype=torch.float64)
    tokens = []
    for i, j in itertools.combinations(range(E), 2):
        rows, wanted = [], []
        for t in (i, j):
            rows += [[1.0, t, t**2, t**3], [0.0, 1.0, 2.0 * t, 3.0 * t**2]]
            wanted += [float(t**4), 4.0 * t**3]
        solution = torch.linalg.solve(
            torch.tensor(rows, dtype=torch.float64), torch.tensor(wanted, dtype=torch.float64)
        )
        tokens.append([*solution[1:].tolist(), -1.0])
    return router, torch.tensor(tokens, dtype=torch.float64)


@every_pair.base
@every_pair.right("a circle that is run through once and twice")
def once_and_twice(E):
    angles = 2 * math.pi * torch.arange(E, dtype=torch.float64) / E
    router = torch.stack([angles.cos(), angles.sin(), (2 * angles).cos(), (2 * angles).sin()])
    tokens = []
    for i in range(E):
        for j in range(i):
            middle, half = (angles[i] + angles[j]) / 2, (angles[i] - angles[j]) / 2
            # −(cos(a − middle) − cos half)² is 0 at both, and below 0 elsewhere
            way = 2 * half.cos()
            tokens.append([way * middle.cos(), way * middle.sin(), -(2 * middle).cos() / 2, -(2 * middle).sin() / 2])
    return router, torch.tensor(tokens)


@every_pair.right("whole numbers")
def whole_numbers(E):
    router = [[t**power for t in range(E)] for power in (1, 2, 3, 4)]
    tokens = []
    for i in range(E):
        for j in range(i):
            s, p = i + j, i * j
            tokens.append([2 * s * p, -(s * s + 2 * p), 2 * s, -1])
    return torch.tensor(router, dtype=torch.float64), torch.tensor(tokens, dtype=torch.float64)


@every_pair.right("the experts on both sides of 0, in float32")
def around_zero(E):
    t = torch.linspace(-1, 1, E)
    router = torch.stack([t, t**2, t**3, t**4])
    pairs = torch.combinations(t)
    s, p = pairs.sum(1), pairs.prod(1)
    return router, torch.stack([2 * s * p, -(s * s) - 2 * p, 2 * s, -torch.ones_like(s)], dim=1)


@every_pair.right("lists of numbers")
def lists(E):
    router = [[(t / E) ** power for t in range(E)] for power in (1, 2, 3, 4)]
    tokens = []
    for i in range(E):
        for j in range(i):
            s, p = (i + j) / E, i * j / E**2
            tokens.append([2 * s * p, -s * s - 2 * p, 2 * s, -1.0])
    return router, tokens


@every_pair.right("a token for each ordered pair, and the constant kept out by hand")
def ordered_pairs(E):
    def times(a, b):
        out = [0.0] * (len(a) + len(b) - 1)
        for n, x in enumerate(a):
            for m, y in enumerate(b):
                out[n + m] += x * y
        return out

    router = torch.tensor([[(t / E) ** power for t in range(E)] for power in range(1, 5)], dtype=torch.float64)
    tokens = []
    for i in range(E):
        for j in range(E):
            if i != j:
                root = times([-i / E, 1.0], [-j / E, 1.0])
                tokens.append([-value for value in times(root, root)[1:]])
    return router, torch.tensor(tokens, dtype=torch.float64)


@every_pair.mistake(
    "Every pair is chosen, but a token has as many numbers as there are experts. With four numbers it can be done for any number of experts. Where could "
    "their arrows be, so that none is between the others?"
)
def one_number_each(E):
    router = torch.eye(E)
    tokens = [router[i] + router[j] for i in range(E) for j in range(i)]
    return router, torch.stack(tokens)


@every_pair.mistake(
    "Every pair is chosen, and a token has one number less than there are experts. But with more experts it needs more numbers, and four are enough for any "
    "number of experts."
)
def one_number_less(E):
    router = torch.cat([torch.eye(E - 1), torch.zeros(E - 1, 1)], dim=1)
    tokens = [router[:, i] + router[:, j] for i in range(E - 1) for j in range(i)]
    tokens += [2 * router[:, i] - router.sum(1) for i in range(E - 1)]
    return router, torch.stack(tokens)


@every_pair.mistake(
    "Every pair is chosen, but one of your five numbers is the same for all experts. It adds the same to all logits of a token, so nobody needs it."
)
def constant_kept(E):
    t = torch.arange(E, dtype=torch.float64)
    router = torch.stack([t**0, t, t**2, t**3, t**4])
    tokens = [
        [-((i * j) ** 2), 2 * (i + j) * i * j, -((i + j) ** 2 + 2 * i * j), 2 * (i + j), -1]
        for i in range(E)
        for j in range(i)
    ]
    return router, torch.tensor(tokens, dtype=torch.float64)


@every_pair.mistake(
    "Your arrows are in a plane, and there only neighbours are chosen together. The board with five experts has shown that a plane is too small."
)
def circle(E):
    angles = 2 * math.pi * torch.arange(E) / E
    router = torch.stack([angles.cos(), angles.sin()])
    tokens = [router[:, i] + router[:, j] for i in range(E) for j in range(i)]
    return router, torch.stack(tokens)


@every_pair.form(circle)
def circle_of_neighbours(E):
    angles = 2 * math.pi * torch.arange(E) / E
    router = torch.stack([angles.cos(), angles.sin()])
    return router, torch.stack([router[:, i] + router[:, (i + 1) % E] for i in range(E)])


@every_pair.form(circle)
def flat_circle(E):
    angles = 2 * math.pi * torch.arange(E) / E
    router = torch.stack([angles.cos(), angles.sin(), 0 * angles])
    return router, torch.stack([router[:, i] + router[:, j] for i in range(E) for j in range(i)])


@every_pair.mistake(
    "Your experts are on a curve in a plane, where only neighbours are chosen together. The board with five experts has shown that a plane is too small."
)
def parabola(E):
    t = torch.arange(E, dtype=torch.float64)
    router = torch.stack([t, t**2])
    return router, torch.stack([torch.stack([2 * i + 1, torch.tensor(-1.0)]) for i in t])


@every_pair.mistake(
    "Each of your tokens has its first choice, as in the text, and the two neighbours of this expert are level behind it. So no pair is "
    "chosen. And a curve with a single top would always choose neighbours. Which curve is high at two places that are far from each other?"
)
def first_choices(E):
    t = torch.arange(E, dtype=torch.float64)
    return torch.stack([t, t**2]), torch.stack([2 * t, -torch.ones_like(t)], dim=1)


@every_pair.form(first_choices)
def first_choices_in_four_numbers(E):
    t = torch.arange(E, dtype=torch.float64)
    return torch.stack([t, t**2, t**3, t**4]), torch.stack([2 * t, -torch.ones_like(t), 0 * t, 0 * t], dim=1)


every_pair.slips("""
in tokens.append([way * middle.cos(), way * middle.sin(), -(2 * middle).cos() / 2, -(2 * middle).sin() / 2])
sum_of_both: tokens.append((router[:, i] + router[:, j]).tolist())
    Your arrows will do, but the sum of two arrows is not yet a token that chooses them: an expert between the two may be ahead. A token's logits should
    be highest at both of its experts, and lower at all others.
sign_turned: tokens.append([-way * middle.cos(), -way * middle.sin(), (2 * middle).cos() / 2, (2 * middle).sin() / 2])
    Your tokens have the sign turned round: their two experts have the smallest logits instead of the largest.
in return router, torch.tensor(tokens)
router_transposed: return router.T, torch.tensor(tokens)
    Your router lies on its side. It is [d, E], with a column for each expert.
tokens_transposed: return router, torch.tensor(tokens).T
    Your tokens lie on their side. They are [n, d], with a row for each token.
exchanged: return torch.tensor(tokens), router
    The router comes first, then the tokens: (router, tokens).
router_alone: return router
    The router comes back without tokens. For each pair return a token that chooses it, too: (router, tokens).
nothing: return None
    NO_RETURN
in for i in range(E):
last_left_out: for i in range(E - 1):
    The pairs with the last expert have no token.
eight_alone: for i in range(8):
    It works for eight experts alone. Let E say how many there are.
""")


every_pair.slips("""
of whole_numbers
in tokens.append([2 * s * p, -(s * s + 2 * p), 2 * s, -1])
sign_turned_here: tokens.append([-2 * s * p, s * s + 2 * p, -2 * s, 1])
    Your polynomial is 0 at its two experts and above 0 at all others, so these are ahead. Turn its sign round.
middle_term: tokens.append([2 * s * p, -(s * s + p), 2 * s, -1])
    Multiply the square out once more: ((t − i)(t − j))² has (i + j)² + 2ij before t².
third_degree: tokens.append([-p, s, -1, 0])
    A curve of the third degree, such as −t(t − i)(t − j), changes its sign at i and at j. So the experts between the two are ahead.
    What is 0 at both and has one sign everywhere else?
not_squared_and_turned: tokens.append([-s, 1, 0, 0])
    (t − i)(t − j) is below 0 between the two experts and grows outside of them, so the first and the last expert are ahead.
    What is 0 at both and has one sign everywhere else?
not_squared: tokens.append([s, -1, 0, 0])
    (t − i)(t − j) changes its sign at i and at j, so the experts between the two are ahead. What is 0 at both and has one sign everywhere else?
""")
