"""What a prediction is made of. Imports nothing, so that counting right guesses costs nothing."""

from __future__ import annotations

from dataclasses import dataclass


@dataclass(frozen=True)
class Prediction:
    """A question with a few options, or a number to be set with a slider, and what is said once the guess is made.

    Raises:
        ValueError: it can't be asked like that.
    """

    question: str  # Markdown; it stands above the options
    right: str | float  # the right option, letter for letter; for a number, that number
    explanation: str  # Markdown; it is folded until the guess
    options: tuple[str, ...] = ()  # two to five, in the order in which they stand
    # For a number, the slider.
    low: float = 0.0
    high: float = 0.0
    step: float = 1.0
    within: float = 0.0  # for a number, how far a guess may be from it and still count as right, in its own unit
    unit: str = ""  # of a number

    def __post_init__(self) -> None:
        if not (self.question.strip() and self.explanation.strip()):
            raise ValueError("a prediction needs a question and an explanation")
        if isinstance(self.right, str):
            if not 2 <= len(self.options) <= 5 or len(set(self.options)) < len(self.options):
                raise ValueError(f"two to five different options, not {self.options}")
            if self.right not in self.options:
                raise ValueError(f"the right option {self.right!r} is not among {self.options}")
        elif self.options or not self.low <= self.right <= self.high or not self.step > 0:
            raise ValueError(f"a number from {self.low} to {self.high}, without options, not {self.right}")

    @property
    def is_number(self) -> bool:
        """Whether a slider is asked for."""
        return not isinstance(self.right, str)

    def is_right(self, guess: str | float) -> bool:
        """Whether a guess counts as right."""
        if isinstance(self.right, str) or isinstance(guess, str):
            return guess == self.right
        return abs(guess - self.right) <= self.within

    def takes(self, guess: object) -> bool:
        """Whether this can be a guess: one of the options, or a number on the slider."""
        if isinstance(self.right, str):
            return guess in self.options
        return isinstance(guess, (int, float)) and self.low <= guess <= self.high

    def in_words(self, guess: str | float) -> str:
        """An option, or a number with its unit, as it is read."""
        if isinstance(guess, str):
            return guess
        return f"{guess:g}{self.unit}".replace("-", "\u2212")
