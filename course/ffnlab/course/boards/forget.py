"""A store of facts whose neurons can be pressed out, as boards for notebook 06.

`forget.one()` makes somebody forget, `forget.fill()` does it in stores that are more or less full, and `forget.write()` changes a fact by a neuron that a
hand writes.
"""

from __future__ import annotations

import base64
from pathlib import Path
from typing import Any

import torch

from ffnlab.boards import Board, Flag, Goal
from ffnlab.course.experiments import fact_stores
from ffnlab.course.figures.memory import LIKES, N_FACTS, PEOPLE
from ffnlab.course.figures.memory import name as name_of

HERE = Path(__file__).parent
LAMPS = 16  # neurons of a person that can be pressed out: those that add most to the right answer
BAMABA = 40
NEW_ANSWER = LIKES.index("tea")


def _base64(tensor: torch.Tensor) -> str:
    return base64.b64encode(tensor.contiguous().numpy().astype("<f4").tobytes()).decode()


def contributions(facts: fact_stores.Facts, store: fact_stores.Store, fact: int) -> torch.Tensor:
    """What each neuron adds to the score of the right answer to one question: [f]."""
    h = torch.relu(facts.E[fact] @ store.keys.T + store.b1)
    added: torch.Tensor = h * (store.values @ facts.U[facts.y[fact]])
    return added


def _store_data() -> dict[str, Any]:
    facts, store = fact_stores.store()
    weights = {"E": facts.E, "U": facts.U, **store._asdict()}
    return {
        "d": fact_stores.D_MODEL,
        "weights": {part: _base64(tensor) for part, tensor in weights.items()},
        "right": facts.y.tolist(),
    }


def _person(fact: int) -> dict[str, Any]:
    """One of the people of the shipped store, with the neurons that can be pressed, in the order of their numbers."""
    top = contributions(*fact_stores.store(), fact).topk(LAMPS).indices
    return {"name": name_of(fact), "fact": fact, "lamps": sorted(top.tolist())}


def _filled(count: int) -> dict[str, Any]:
    """What Bamaba's question meets in a store of so many facts: all scores, and what each of sixteen neurons adds to them."""
    facts, store = fact_stores.filled(count)
    x = facts.E[BAMABA]
    h = torch.relu(x @ store.keys.T + store.b1)
    pushes = h[:, None] * (store.values @ facts.U.T)  # [f, C]
    scores = (x + store.b2) @ facts.U.T + pushes.sum(0)
    added = contributions(facts, store, BAMABA)
    helps = added.clamp(min=0)
    return {
        "count": count,
        "right": int(facts.y[BAMABA]),
        "scores": _rounded(scores),
        "carriers": round(float(helps.sum() ** 2 / (helps**2).sum()), 2),
        "lamps": [{"neuron": j, "pushes": _rounded(pushes[j])} for j in sorted(added.topk(LAMPS).indices.tolist())],
    }


def _rounded(numbers: torch.Tensor) -> list[float]:
    return [round(number, 3) for number in numbers.tolist()]


def _board(name: str, title: str, data: dict[str, Any], *goals: Goal) -> Board:
    shared = {"likes": LIKES, "lamps": LAMPS}
    return Board(HERE / "forget.js", name, title, shared | data, goals, HERE / "stills" / f"{name}.svg")


ONE_GOALS = (
    Goal(
        "forgets",
        "Make Bamaba forget that he likes oats: press neurons out.",
        after="His answer was a sum. Without these neurons another answer leads. The squares show who else lost an answer on the way.",
        record=2,
        unit="neurons",
    ),
    Goal(
        "one",
        "Make Bamaba forget by a single neuron.",
        flag=Flag(
            (
                "One neuron is one fact, and his is not among the sixteen.",
                "Each of them fires for other people too, so none can be taken out for him alone.",
                "No one neuron gives oats their whole lead over any rival.",
            ),
            right=2,
            why="Oats lead by 8.1. A neuron counts by what it adds to oats, less what it adds to the rival. Of all 128, neuron 80 counts for most, "
            "and without it oats still lead by 0.4.",
            nudge="Press neuron 80 alone and compare the two longest bars, before and after.",
        ),
    ),
    Goal(
        "gofine",
        "Make Gofine forget, and nobody else.",
        after="Taking her strongest two costs two other people an answer. Without her second strongest and a much weaker one, she alone forgets.",
        record=2,
        unit="neurons",
    ),
    Goal(
        "godelu",
        "Deeper, and hard: make Godelu forget, and nobody else.",
        after="Strongest first, Godelu takes four neurons, and seventeen others forget as well. The others depend on which neurons you choose.",
        record=3,
        unit="neurons",
        flag=Flag(
            (
                "Her strongest neuron serves others as well, so somebody always forgets, too.",
                "Weaker neurons add too little to cost her the answer.",
                "Whoever has forgotten stays lost, whatever else is pressed.",
            ),
            right=-1,
            nudge="Leave her strongest in. And press a second neuron beside one that costs somebody an answer: does that person come back?",
        ),
    ),
)


def one(name: str = "forget_one") -> Board:
    """Eight people of the shipped store of 512 facts, each with sixteen neurons."""
    title = (
        "A network knows what 512 people like. Sixteen of its neurons can be pressed out, until one of them forgets."
    )
    names = [name_of(n) for n in range(N_FACTS)]
    people = [_person(fact) for _, fact in PEOPLE]
    return _board(
        name, title, {"guise": "forget", "store": _store_data(), "names": names, "people": people}, *ONE_GOALS
    )


def fill(name: str = "forget_fill") -> Board:
    """Bamaba in six stores of 128 neurons, with more and more facts."""
    full = {count: fact_stores.full(count) for count in fact_stores.FULL}
    runs = {
        what: [[full[count][what][n] for count in fact_stores.FULL] for n in range(len(fact_stores.FRESH))]
        for what in ("lost", "carriers")
    }
    data = {
        "guise": "fill",
        "stores": [_filled(count) for count in fact_stores.FULL],
        "people": [{"name": name_of(BAMABA), "fact": BAMABA}],
        "runs": runs,
    }
    goal = Goal("full", "Fill the store until one press makes Bamaba forget.")
    return _board(name, "Stores of 64 to 2,048 facts in 128 neurons, and what one of the facts rests on.", data, goal)


def write(name: str = "forget_write") -> Board:
    """The shipped store with one more neuron, which listens to Bamaba's question and pushes another answer."""
    goal = Goal(
        "written",
        "Make the store say that Bamaba likes tea, by a neuron that fires for him alone.",
        after="The key is Bamaba's question, so it matches his best of all. A threshold below his match and above the second best keeps the neuron silent for "
        "everybody else.",
    )
    data = {
        "guise": "write",
        "store": _store_data(),
        "answer": NEW_ANSWER,
        "names": [name_of(n) for n in range(N_FACTS)],
        "people": [{"name": name_of(BAMABA), "fact": BAMABA}],
    }
    return _board(name, "A network knows what 512 people like, and one more neuron can be written into it.", data, goal)
