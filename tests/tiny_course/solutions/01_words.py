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
# One exercise about counting words.

# %% setup="imports"
from word_counts import check, hint, progress

# %% [markdown] text="count_words-text"
# ## 1 · A dictionary of counts
#
# ### Exercise `count_words`
#
# *{points} · difficulty ●○○ · 5 minutes*
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

# %% figure="progress"
progress()
