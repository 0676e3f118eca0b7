"""What is right, and what goes wrong, in `audit_published` of notebook 05."""

from __future__ import annotations

from fractions import Fraction

import torch
from torch import nn

from autograder.keys.key import Key
from ffnlab.course.exercises import parameters as exercises

audit_published = Key(exercises.audit_published)


@audit_published.truth
def entry_by_entry(d, f, printed):
    """Counts row by row, and divides whole numbers."""
    correct = 0
    for _ in range(f):
        correct += d + 1  # a hidden neuron: its column of W1 and its entry of b1
    for _ in range(d):
        correct += f + 1
    attention = sum(d for _ in range(4) for _ in range(d))
    block = attention + correct
    return {
        "correct": correct,
        "off_by": printed - correct,
        "attention_share": float(Fraction(attention, block)),
        "ffn_share": float(Fraction(correct, block)),
    }


@audit_published.right("dict(...), by way of the other count")
def by_way_of_the_block(d, f, printed):
    ffn = f * (2 * d + 1) + d
    both = ffn + 4 * d**2
    return dict(correct=ffn, off_by=-(ffn - printed), ffn_share=ffn / both, attention_share=(both - ffn) / both)


@audit_published.right("asks PyTorch, and keeps more than was asked for")
def torch_counts(d, f, printed):
    ffn = nn.Sequential(nn.Linear(d, f), nn.GELU(), nn.Linear(f, d))
    attention = nn.ModuleList([nn.Linear(d, d, bias=False) for _ in range(4)])
    n_ffn = sum(p.numel() for p in ffn.parameters())
    n_attention = sum(p.numel() for p in attention.parameters())
    total = n_ffn + n_attention
    found = {"printed": printed, "correct": n_ffn, "total": total, "off_by": printed - n_ffn}
    found["ffn_share"] = n_ffn / total
    found["attention_share"] = 1 - n_ffn / total
    return found


@audit_published.right("tensors as numbers")
def as_tensors(d, f, printed):
    counts = torch.tensor([4 * d**2, 2 * d * f + f + d])
    shares = counts.double() / counts.sum()
    return {
        "correct": counts[1],
        "off_by": printed - counts[1],
        "attention_share": shares[0],
        "ffn_share": shares[1],
    }


@audit_published.base
def plain_audit_published(d, f, printed):
    correct = 2 * d * f + f + d
    off_by = printed - correct
    attention, ffn = 4 * d * d, correct
    attention_share = attention / (attention + ffn)
    ffn_share = ffn / (attention + ffn)
    return {
        "correct": correct,
        "off_by": off_by,
        "attention_share": attention_share,
        "ffn_share": ffn_share,
    }


audit_published.slip(
    "sizes_of_the_table",
    "The numbers are those of the table above, whatever d, f and `printed` are. Compute with the arguments.",
    replace={"2 * d * f + f + d": "2_099_712", "printed - correct": "4_197_376 - correct", "4 * d * d": "1_048_576"},
)
audit_published.slip(
    "correct_count_of_the_block",
    "`correct` asks for the FFN alone. Yours is FFN and attention together, which is the denominator of the shares.",
    replace={" + d": " + d + 4 * d * d", " * d, correct": " * d, 2 * d * f + f + d"},
)


audit_published.slips("""
in correct = 2 * d * f + f + d
audit_without_biases: correct = 2 * d * f
    The biases are missing from `correct`, and so from what follows: 2·d·f is the two matrices alone. The FFN has b1 and b2.
b1_missing_in_the_audit: correct = 2 * d * f + d
    `correct` has one bias where the FFN has two: b1, one number for each hidden neuron, and b2, one for each number that comes out.
| b2_missing_in_the_audit: f + d -> f
in 2 * d * f + f + d
half_of_what_was_published: printed // 2
    `correct` is half of what the page printed. On one page twice is nearly what went wrong, but not quite, and another page has another slip: count
    the two matrices and the two biases yourself.
printed_is_believed: printed
    `correct` is what the page printed. It is what should be checked: count the two matrices and the two biases yourself.
in printed - correct
off_by_turned_round: correct - printed
    `off_by` has the wrong sign: it is what was printed minus what is right, so a page that counted too much is off by a positive number.
off_by_without_its_sign: abs(printed - correct)
    `off_by` has lost its sign. A page that counted too little is off by a negative number.
in off_by = printed - correct
off_by_as_a_factor: off_by = printed / correct
    `off_by` is a ratio. A difference was asked for: what was printed minus what is right.
off_by_against_the_block: off_by = printed - (correct + 4 * d * d)
    `off_by` compares the printed count of the FFN with FFN and attention together. Compare like with like.
in d, correct
shares_from_the_published_count: d, printed
    The shares are computed with the page's count of the FFN. Put the correct one into the fraction.
shares_of_matrices_alone: d, 2 * d * f
    The shares leave the FFN's biases out. With them the FFN has a little more.
in
  - attention_share = attention / (attention + ffn)
  - ffn_share = ffn / (attention + ffn)
shares_of_the_published_total
  + attention_share = attention / (attention + printed)
  + ffn_share = ffn / (attention + printed)
    The shares are divided by the page's total, which has its wrong count in it, and so they don't add up to 1. Divide by attention and your correct
    FFN together.
shares_in_float32
  + attention_share = torch.tensor(float(attention)) / torch.tensor(float(attention + ffn))
  + ffn_share = torch.tensor(float(ffn)) / torch.tensor(float(attention + ffn))
    The shares have seven digits, not nine: torch computes in float32 unless told otherwise. Divide with Python's own numbers, or use
    dtype=torch.float64.
shares_by_whole_division
  + attention_share = attention // (attention + ffn)
  + ffn_share = ffn // (attention + ffn)
    `//` throws away what comes after the point, and a share is smaller than 1. Use `/`.
exact_thirds
  + attention_share = 1 / 3
  + ffn_share = 2 / 3
    The shares are one third and two thirds, whatever d and f are. They follow from the two counts: divide.
rounded_shares
  + attention_share = round(attention / (attention + ffn), 3)
  + ffn_share = round(ffn / (attention + ffn), 3)
    The shares are rounded. Let Python divide the two counts and hand back what comes out.
| four_digits
  + attention_share = round(attention / (attention + ffn), 4)
  + ffn_share = round(ffn / (attention + ffn), 4)
shares_in_percent
  + attention_share = 100 * attention / (attention + ffn)
  + ffn_share = 100 * ffn / (attention + ffn)
    The shares are percentages. A share of the whole is a number from 0 to 1.
shares_swapped
  + attention_share = ffn / (attention + ffn)
  + ffn_share = attention / (attention + ffn)
    The two shares are swapped: `ffn_share` is the FFN's part of the whole.
ratio_to_attention
  + attention_share = attention / ffn
  + ffn_share = ffn / attention
    These are ratios of one part to the other. A share is a part of the whole: divide by attention and FFN together.
in attention, ffn = 4 * d * d, correct
attention_with_biases: attention, ffn = 4 * d * d + 4 * d, correct
    Attention is counted with biases. The page's attention has none: four matrices [d, d].
three_matrices_of_attention: attention, ffn = 3 * d * d, correct
    Attention has four matrices, not three: the output matrix belongs to queries, keys and values.
""")


@audit_published.mistake("The numbers come back as a tuple. A dict was asked for, with the four names as keys.")
def audit_as_tuple(d, f, printed):
    correct, attention = 2 * d * f + f + d, 4 * d * d
    return correct, printed - correct, attention / (attention + correct), correct / (attention + correct)


@audit_published.mistake("The counts are texts. Return numbers; how they are printed is another matter.")
def counts_as_text(d, f, printed):
    correct, attention = 2 * d * f + f + d, 4 * d * d
    return {
        "correct": f"{correct:,}",
        "off_by": f"{printed - correct:,}",
        "attention_share": attention / (attention + correct),
        "ffn_share": correct / (attention + correct),
    }


@audit_published.mistake("Only the counts are there. Two more keys were asked for: `attention_share` and `ffn_share`.")
def shares_missing(d, f, printed):
    correct = 2 * d * f + f + d
    return {"correct": correct, "off_by": printed - correct}


@audit_published.mistake(
    "The function takes no arguments. It is asked about other pages too: it takes d, f and printed."
)
def takes_nothing():
    return {"correct": 2099712, "off_by": 2097664, "attention_share": 1048576 / 3148288, "ffn_share": 2099712 / 3148288}
