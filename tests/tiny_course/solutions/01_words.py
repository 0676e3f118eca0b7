# ---
# jupyter:
#   jupytext:
#     text_representation:
#       extension: .py
#       format_name: percent
#   kernelspec:
#     display_name: Python 3 (ipykernel)
#     language: python
#     name: python3
# ---

# %% [markdown] text="title"
# # 01 · Words
#
# Two exercises about counting words.

# %% setup="imports"
from word_counts import check, hint, progress

# %% [markdown] text="count_words-text"
# ## 1 · A dictionary of counts
#
# Write `count_words(text)`: a dictionary with each word of the text in lower case, and how often it comes.

# %% exercise="count_words"
def count_words(text):
    """By word, in lower case, how often it comes in the text."""
    ### BEGIN SOLUTION
    counts = {}
    for word in text.lower().split():
        counts[word] = counts.get(word, 0) + 1
    return counts
    ### END SOLUTION
    raise NotImplementedError

# %% [markdown] text="most_frequent-text"
# ## 2 · The winner
#
# Write `most_frequent(text)`: the word that comes most often. There is only one such word.

# %% exercise="most_frequent"
def most_frequent(text):
    """The word that comes most often."""
    ### BEGIN SOLUTION
    words = text.split()
    return max(words, key=words.count)
    ### END SOLUTION
    raise NotImplementedError

# %% figure="progress"
progress()
