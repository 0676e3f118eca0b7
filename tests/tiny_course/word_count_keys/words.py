"""The keys of the notebook on counting words."""

from __future__ import annotations

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
