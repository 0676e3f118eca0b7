"""How each exercise on counting words is called, and on what inputs. No answers."""

from __future__ import annotations

from typing import Any

from ffnlab.observation.exercise import Draw, Exercise

NOTEBOOK = "01_words"
WORDS = ("tea", "milk", "lemon", "honey", "sugar")


def _text(rng: Draw, case: int) -> dict[str, Any]:
    words = [rng.one_of(WORDS) for _ in range(rng.integer(5, 9))]
    return {"text": " ".join([words[0].capitalize(), *words])}


count_words = Exercise(
    "count_words",
    draw=_text,
    where="section “A dictionary of counts”.",
    understood="A text is split into words, and a dictionary has a count for each.",
    hints=("What does `text.split()` give?", "`counts.get(word, 0)` is 0 for a word that is new."),
)


@count_words.aspect("counts", points=2)
def count_words_counts(answer: Any, text: str) -> Any:
    return answer(text)


@count_words.aspect("an empty text", points=1, needs="counts")
def count_words_empty_text(answer: Any, text: str) -> Any:
    return answer("")
