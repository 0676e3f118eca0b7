"""What is right, and what goes wrong, in `audit_file` of notebook 05."""

from __future__ import annotations

import itertools
import math
from collections import Counter

import torch

from autograder.keys.key import NO_RETURN, Key
from ffnlab.course.exercises import parameters as exercises

audit_file = Key(exercises.audit_file)
audit_file.namespace["Counter"] = Counter


@audit_file.truth
def tries_every_explanation(shapes):
    """Builds the blocks of every thinkable model, and takes the one that leaves least of the file. Only tables and one square may be left."""
    there = Counter(shapes)
    matrices = Counter(shape for shape in shapes if len(shape) == 2)
    sizes = sorted({size for shape in matrices for size in shape})
    explanations = []
    for d, d_ff, kv, into in itertools.product(sizes, sizes, sizes, (1, 2)):
        n_ffns = there[d, d_ff]
        if not n_ffns or not d_ff > d >= kv:
            continue
        ffn = Counter()
        ffn[d_ff, d] += into * n_ffns
        ffn[d, d_ff] += n_ffns
        for n_attentions in range(n_ffns, 2 * n_ffns + 1):
            built = ffn.copy()
            for shape in ((d, d), (d, d), (kv, d), (kv, d)):
                built[shape] += n_attentions
            rest = matrices - built
            is_all_there = not built - matrices
            if is_all_there and all(columns == d and number <= 2 for (_, columns), number in rest.items()):
                explanations.append((rest.total(), (d, d_ff, n_ffns, into == 2, n_attentions, kv < d)))
    least = min(left for left, _ in explanations)
    (found,) = {explanation for left, explanation in explanations if left == least}
    d, d_ff, n_ffns, gated, n_attentions, shared = found
    parameters = sum(there[shape] * shape[0] * shape[1] for shape in ((d_ff, d), (d, d_ff)))
    everything = sum(torch.empty(shape, device="meta").numel() for shape in shapes)
    return {
        "d_model": d,
        "d_ff": d_ff,
        "ffns": n_ffns,
        "gated": gated,
        "attentions": n_attentions,
        "shared": shared,
        "ffn_share": parameters / everything,
    }


@audit_file.right("keys are what is narrow and there more than twice")
def by_ratios(shapes):
    count = Counter(shapes)
    matrices = [shape for shape in count if len(shape) == 2]
    (d,) = set.intersection(*[set(shape) for shape in matrices])
    d_ff = sorted(shape[1] for shape in matrices if shape[0] == d)[-1]
    ffns = count[d, d_ff]
    many = [count[shape] for shape in matrices if shape[0] < d and count[shape] > 2]
    attentions = many[0] // 2 if many else count[d, d] // 4
    ffn = sum(count[shape] * d * d_ff for shape in ((d_ff, d), (d, d_ff)))
    total = sum(torch.Size(shape).numel() for shape in shapes)
    return dict(
        d_model=d, d_ff=d_ff, ffns=ffns, gated=count[d_ff, d] > ffns, attentions=attentions, shared=len(many) > 0, ffn_share=ffn / total
    )  # fmt: skip


@audit_file.right("d_model as the most frequent side, and lists instead of a Counter; numbers as tensors")
def with_lists(shapes):
    sides = [size for shape in shapes if len(shape) == 2 for size in set(shape)]
    d = max(sides, key=sides.count)
    out = [shape[1] for shape in shapes if len(shape) == 2 and shape[0] == d]
    d_ff = max(out)
    n = out.count(d_ff)
    into = shapes.count((d_ff, d))
    narrow = [shape for shape in shapes if len(shape) == 2 and shape[0] < d and shapes.count(shape) >= 2 * n]
    attentions = len(narrow) // 2 if narrow else shapes.count((d, d)) // 4
    total = 0
    for shape in shapes:
        size = 1
        for side in shape:
            size = size * side
        total += size
    return {
        "d_model": torch.tensor(d),
        "d_ff": torch.tensor(d_ff),
        "ffns": n,
        "gated": into == 2 * n,
        "attentions": attentions,
        "shared": len(narrow) > 0,
        "ffn_share": torch.tensor((into + n) * d * d_ff / total, dtype=torch.float64),
    }


@audit_file.right("squares for each FFN tell whether keys are shared")
def takes_away(shapes):
    count = Counter(shapes)
    d = next(n for n in max(count, key=len) if all(n in shape for shape in count if len(shape) == 2))
    back = {shape[1]: number for shape, number in count.items() if len(shape) == 2 and shape[0] == d}
    d_ff, ffns = max(back.items())
    keys = {shape: number for shape, number in count.items() if len(shape) == 2 and shape[0] < d and number > 2}
    attentions = (back[d] + sum(keys.values())) // 4
    return {
        "d_model": d, "d_ff": d_ff, "ffns": ffns, "gated": count[d_ff, d] // ffns == 2,
        "attentions": attentions, "shared": len(keys) == 1,
        "ffn_share": d * d_ff * (count[d_ff, d] + ffns) / sum(shape[0] * (shape[1] if len(shape) == 2 else 1) for shape in shapes),
    }  # fmt: skip


@audit_file.base
def plain_audit_file(shapes):
    count = Counter(shapes)
    matrices = [shape for shape in count if len(shape) == 2]
    d = next(n for n in matrices[0] if all(n in shape for shape in matrices))
    d_ff = max(b for a, b in matrices if a == d)
    ffns = count[d, d_ff]
    gated = count[d_ff, d] == 2 * ffns
    narrow = [(a, b) for a, b in matrices if a < d and count[a, b] >= 2 * ffns]
    shared = bool(narrow)
    attentions = count[d, d] // 2 if shared else count[d, d] // 4
    ffn = (count[d_ff, d] + ffns) * d * d_ff
    everything = sum(math.prod(shape) for shape in shapes)
    return {
        "d_model": d,
        "d_ff": d_ff,
        "ffns": ffns,
        "gated": gated,
        "attentions": attentions,
        "shared": shared,
        "ffn_share": ffn / everything,
    }


audit_file.slips(
    """
in d = next(n for n in matrices[0] if all(n in shape for shape in matrices))
smallest_side_taken: d = min(min(shape) for shape in matrices)
    The smallest side of all is taken for d_model. Keys that are shared are narrower still. Which number is a side of **every** matrix?
in d_ff = max(b for a, b in matrices if a == d)
widest_table_taken: d_ff = max(a for a, b in matrices if b == d)
    d_ff is a number of rows of a table: of the words, or of the positions. A table is never turned round: [V, d_model] is there, [d_model, V] is not.
most_frequent_taken: d_ff = max((shape for shape in matrices if shape != (d, d)), key=lambda shape: count[shape])[0]
    d_ff is a side of the matrices that are there most often. These can be shared keys and values. Which shapes lead back to the stream?
four_times_d_model: d_ff = 4 * d
    d_ff is taken to be 4·d_model. That is a habit, not a law: read it off the shapes.
in ffns = count[d, d_ff]
gates_counted_as_ffns: ffns = count[d_ff, d]
    What leads into the hidden layer is counted. With a gate there are two such matrices in each FFN, and one that leads out.
| gates_counted_and_keys_found
  - ffns = count[d, d_ff]
  + ffns = count[d_ff, d]
  - count[a, b] >= 2 * ffns
  + count[a, b] > 2
matrices_counted_as_ffns: ffns = (count[d, d_ff] + count[d_ff, d]) // 2
    You divide all matrices of the FFNs by two. A gated FFN has three of them, and one leads out.
in gated = count[d_ff, d] == 2 * ffns
never_gated: gated = False
    `gated` is False for every file. With a gate there are two matrices [d_ff, d_model] for one that leads out.
gated_turned_round: gated = count[d_ff, d] == ffns
    `gated` is the wrong way round: as many matrices in as out is a plain FFN, twice as many is a gated one.
in narrow = [(a, b) for a, b in matrices if a < d and count[a, b] >= 2 * ffns]
tables_taken_for_keys: narrow = [(a, b) for a, b in matrices if a not in (d, d_ff)]
    A table is taken for keys and values. These are there twice for each attention, and narrower than the queries; a table is
    there once or twice in the whole file.
narrow_tables_taken_for_keys: narrow = [(a, b) for a, b in matrices if a < d]
    A table with few rows is taken for keys and values. Both are narrower than d_model, but keys and values are there twice for **each** attention.
| pairs_taken_for_keys: narrow = [(a, b) for a, b in matrices if a < d and count[a, b] >= 2]
| narrow_tables_counted
  - narrow = [(a, b) for a, b in matrices if a < d and count[a, b] >= 2 * ffns]
  + narrow = [(a, b) for a, b in matrices if a < d]
  - attentions = count[d, d] // 2 if shared else count[d, d] // 4
  + attentions = count[narrow[0]] // 2 if shared else count[d, d] // 4
in shared = bool(narrow)
never_shared: shared = False
    `shared` is False for every file, and what follows from it is wrong where keys and values are narrower than the queries.
in attentions = count[d, d] // 2 if shared else count[d, d] // 4
one_attention_for_each_ffn: attentions = ffns
    You count one attention for each FFN. In some files every block has two, in another one half of the blocks have.
keys_and_values_counted_apart: attentions = count[narrow[0]] if shared else count[d, d] // 4
    Where keys are shared, you count twice as many attentions as there are. Each has two matrices of the shape that you count: keys and values, or
    queries and output, if you count squares.
| squares_counted_apart: attentions = count[d, d] if shared else count[d, d] // 4
squares_by_four: attentions = count[d, d] // 4
    You divide the squares by four everywhere. Where keys are shared, an attention has two squares, queries and output.
three_squares: attentions = count[d, d] // 2 if shared else count[d, d] // 3
    Where nothing is shared, each attention has four squares: queries, keys, values and output.
squares_not_divided: attentions = count[d, d] / 2 if shared else count[d, d] / 4
    One square more is in some files, and it belongs to no attention. Divide with `//`: what is left over is none.
| squares_not_divided_where_shared: attentions = count[d, d] / 2 if shared else count[d, d] // 4
| squares_not_divided_elsewhere: attentions = count[d, d] // 2 if shared else count[d, d] / 4
one_square_taken_off: attentions = (count[d, d] - 1) // 2 if shared else (count[d, d] - 1) // 4
    You take one square off in every file, as in the real one. In a file without such a layer at the end an attention is missing then.
attentions_are_floats: attentions = float(count[d, d] // 2 if shared else count[d, d] // 4)
    The numbers of attentions are right, but they are floats, since `/` gives floats. Use `//`.
blocks_taken_to_be_alike: attentions = ffns if count[d, d] in (2 * ffns, 4 * ffns) else 2 * ffns
    You give every block as many attentions as the others. In one file half of the blocks have a second one,
    and in some a square is left over that belongs to none.
heads_counted_as_layers: attentions = count[d, d]
    You count every square as an attention. An attention has several matrices: which of them are squares, and how many?
in ffn = (count[d_ff, d] + ffns) * d * d_ff
biases_counted: ffn = (count[d_ff, d] + ffns) * d * d_ff + (count[d_ff, d] * d_ff + ffns * d if (d_ff,) in count else 0)
    Your share counts the FFNs' biases as well. The text asks for their matrices alone.
| biases_counted_everywhere: ffn = (count[d_ff, d] + ffns) * d * d_ff + count[d_ff, d] * d_ff + ffns * d
| one_bias_each_everywhere: ffn = (count[d_ff, d] + ffns) * d * d_ff + ffns * (d_ff + d)
| first_biases_counted: ffn = (count[d_ff, d] + ffns) * d * d_ff + count[d_ff,] * d_ff
every_vector_counted: ffn = (count[d_ff, d] + ffns) * d * d_ff + count[d_ff,] * d_ff + count[d,] * d
    Your share gives the FFNs every vector of length d_model, and most of these are norms and biases of attention. The text asks for the FFNs' matrices alone.
norms_counted: ffn = (count[d_ff, d] + ffns) * d * d_ff + 2 * ffns * d
    Your share gives each FFN one or two vectors of length d_model, its norms or its last bias. The text asks for the FFNs' matrices alone.
| one_norm_counted: ffn = (count[d_ff, d] + ffns) * d * d_ff + ffns * d
two_matrices_in_each: ffn = 2 * ffns * d * d_ff
    The share counts two matrices in every FFN. A gated one has three.
one_block: ffn = (3 if gated else 2) * d * d_ff
    The share counts the matrices of a single FFN. There is one in each block.
in everything = sum(math.prod(shape) for shape in shapes)
every_shape_once: everything = sum(math.prod(shape) for shape in count)
    Each shape is counted once in the whole file. There are many arrays of the same shape, and all of them are in it.
matrices_alone: everything = sum(math.prod(shape) for shape in shapes if len(shape) == 2)
    The whole file is counted without its vectors. Biases and norms are parameters as well.
tables_left_out: everything = sum(math.prod(shape) for shape in shapes if count[shape] > 2)
    The share is of the blocks alone, without the tables. The share of the whole file is asked for.
second_table_left_out: everything = sum(math.prod(shape) * (number if number != 2 else 1) for shape, number in count.items())
    A table that is there twice is counted once. Both are in the file, one for the input and one for the output.
blocks_alone: everything = ffn + attentions * 4 * d * d
    The share is that of a block, FFN and attention. Everything in the file is asked for, tables and vectors too.
in ffn / everything
audit_in_percent: 100 * ffn / everything
    The share is a percentage. A number from 0 to 1 is asked for.
audit_rounded: round(ffn / everything, 3)
    The share is rounded. Let Python divide, and hand back what comes out.
audit_no_return: return { -> found = {
    NO_RETURN
""",
    NO_RETURN=NO_RETURN,
)
