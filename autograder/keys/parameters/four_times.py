"""What is right, and what goes wrong, in `four_times` of notebook 05."""

from __future__ import annotations

from autograder.keys.key import Key
from ffnlab.course.exercises import parameters as exercises

four_times = Key(exercises.four_times)
# Attention has 24 d² against the FFN's 8 d²; then 1.06 d² against 12 d².
four_times.add_value(
    "truth",
    "wide_and_narrow",
    "",
    (
        {"d_model": 1024, "n_heads": 16, "head_dim": 192, "attentions": 2},
        {"d_model": 1024, "n_heads": 8, "n_kv": 1, "head_dim": 60, "gated": True},
    ),
)
four_times.add_value(
    "right",
    "one_wide_attention",
    "very wide heads in a single attention, and one narrow head; a list",
    [
        {"d_model": 8, "n_heads": 5, "head_dim": 8},
        {"d_model": 8, "n_heads": 1, "head_dim": 1, "gated": True},
    ],
)
four_times.add_value(
    "right",
    "nothing_left_out",
    "every key is there, None where it means the default",
    (
        {"d_model": 4096, "n_heads": 64, "n_kv": 64, "head_dim": 256, "gated": True, "attentions": 2},
        {"d_model": 4096, "n_heads": 32, "n_kv": 2, "head_dim": 64, "gated": True, "attentions": 1},
    ),
)
four_times.add_value(
    "right",
    "plain_above",
    "no gate in either, and none needed",
    (
        {"d_model": 1024, "n_heads": 128, "head_dim": 128, "n_kv": None, "attentions": 1},
        {"d_model": 1024, "n_heads": 4, "n_kv": 1, "head_dim": 64},
    ),
)

four_times.slips("""
of wide_and_narrow
in ({'d_model': 1024, 'n_heads': 16, 'head_dim': 192, 'attentions': 2},
in_the_other_order
  - ({'d_model': 1024, 'n_heads': 16, 'head_dim': 192, 'attentions': 2}, {'d_model': 1024, 'n_heads': 8, 'n_kv': 1, 'head_dim': 60, 'gated': True})
  + ({'d_model': 1024, 'n_heads': 8, 'n_kv': 1, 'head_dim': 60, 'gated': True}, {'d_model': 1024, 'n_heads': 16, 'head_dim': 192, 'attentions': 2})
    Both blocks are well found, but they are in the other order: first the one below a third, then the one above 90 %.
second_attention_alone: ({'d_model': 1024, 'n_heads': 16, 'attentions': 2},
    Below: your block has two attentions, no gate and nothing shared, but attention still has no more than 16 d². It needs more. What else makes it heavier?
wide_heads_alone: ({'d_model': 1024, 'n_heads': 16, 'head_dim': 192},
    Below: attention needs more than 16 d², and your block has only one attention. A second makes it twice as heavy, and heads may be wider than usual, too.
sharing_below: ({'d_model': 1024, 'n_heads': 16, 'head_dim': 400, 'n_kv': 2},
    Below: your block shares keys and values, and that makes attention lighter. Here attention should be heavy.
gated_below: ({'d_model': 1024, 'n_heads': 16, 'head_dim': 128, 'attentions': 2, 'gated': True},
    Below: your block has a gate, and that makes the FFN half as heavy again. Here the FFN should be light.
in 'n_kv': 1, 'head_dim': 60, 'gated': True})
sharing_alone: 'n_kv': 1, 'gated': True})
    Above: with one head of keys and values, sharing can do no more. Queries and output are n_heads · head_dim wide. What could make these two narrower?
several_key_heads: 'n_kv': 2, 'gated': True})
    Above: your block has more than one head of keys and values. All query heads may share a single one.
gate_alone: 'gated': True})
    Above: in your block each query head has keys and values of its own. What makes these two matrices smaller?
sharing_without_a_gate: 'n_kv': 1})
    Above: there is no gate. A third matrix makes the FFN half as heavy again.
above_with_two_attentions: 'n_kv': 1, 'head_dim': 128, 'gated': True, 'attentions': 2})
    Above: your block has two attentions, and both weigh against the FFN.
d_ff_is_settled: 'n_kv': 1, 'd_ff': 8192, 'gated': True})
    A block has a `d_ff` here. In both blocks d_ff is 4 · d_model, so it is left out: only the rest is yours to choose.
""")
