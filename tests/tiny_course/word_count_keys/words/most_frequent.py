"""What is right, and what goes wrong, where the most frequent word is asked for."""

from __future__ import annotations

from autograder.keys.key import Key
from word_counts.exercises import words as exercises

most_frequent = Key(exercises.most_frequent)


@most_frequent.truth
def sorted_by_count(text):
    """Sorts all words by their counts."""
    words = text.split()
    return sorted(words, key=words.count)[-1]


@most_frequent.right("a dictionary")
def with_a_dictionary(text):
    counts = {}
    for word in text.split():
        counts[word] = counts.get(word, 0) + 1
    return max(counts, key=counts.get)


@most_frequent.mistake(
    "This is the longest word, and not the one that comes most often: `max` needs a key that counts."
)
def longest(text):
    return max(text.split(), key=len)


@most_frequent.mistake(
    "This is the word that comes last in the alphabet: `max` compares words as text where it has no key."
)
def last_in_the_alphabet(text):
    return max(text.split())
