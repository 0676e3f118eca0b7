"""What is right, and what goes wrong, where words are counted."""

from __future__ import annotations

from collections import Counter, defaultdict

from autograder.keys.key import Key
from word_counts.exercises import words as exercises

count_words = Key(exercises.count_words)


@count_words.truth
def for_each_word_anew(text):
    """Goes through the whole text for every word in it."""
    words = [word.lower() for word in text.split()]
    return {word: sum(1 for other in words if other == word) for word in words}


@count_words.right("list.count")
def with_count(text):
    words = text.lower().split()
    return {word: words.count(word) for word in set(words)}


@count_words.right("collections.Counter")
def with_counter(text):
    return dict(Counter(text.lower().split()))


@count_words.right("a dictionary that begins at 0")
def with_default(text):
    counts = defaultdict(int)
    for word in text.split():
        counts[word.lower()] += 1
    return dict(counts)


@count_words.mistake(
    "“Tea” and “tea” are counted apart. They are one word: turn the text into lower case before you split it."
)
def case_matters(text):
    counts = {}
    for word in text.split():
        counts[word] = counts.get(word, 0) + 1
    return counts


@count_words.mistake(
    "Letters are counted, and not words: a loop over a string gives its letters. `text.split()` gives words."
)
def letters(text):
    counts = {}
    for letter in text.lower():
        counts[letter] = counts.get(letter, 0) + 1
    return counts
