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
    """Builds the blocks of every thinkable model, and takes the one that leaves least of the file. Only tables and squares may be left."""
    there = Counter(shapes)
    matrices = Counter(shape for shape in shapes if len(shape) == 2)
    sizes = sorted({size for shape in matrices for size in shape})
    explanations = []
    for d, d_ff, inner, kv, into in itertools.product(sizes, sizes, sizes, sizes, (1, 2)):
        n_ffns = there[d, d_ff]
        if not n_ffns or not d_ff > inner >= kv or d_ff <= d:
            continue
        ffn = Counter()
        ffn[d_ff, d] += into * n_ffns
        ffn[d, d_ff] += n_ffns
        for n_attentions in range(n_ffns, 2 * n_ffns + 1):
            built = ffn.copy()
            for shape in ((inner, d), (d, inner), (kv, d), (kv, d)):
                built[shape] += n_attentions
            rest = matrices - built
            is_all_there = not built - matrices
            if is_all_there and all(columns == d and number <= 3 for (_, columns), number in rest.items()):
                explanations.append((rest.total(), (d, d_ff, n_ffns, into == 2, n_attentions, kv < inner)))
    least = min(left for left, _ in explanations)
    (found,) = {explanation for left, explanation in explanations if left == least}
    d, d_ff, n_ffns, gated, n_attentions, shared = found
    parameters = sum(d_ff for _ in range(there[d_ff,])) + (n_ffns * d if there[d_ff,] else 0)
    for shape in ((d_ff, d), (d, d_ff)):
        parameters += there[shape] * shape[0] * shape[1]
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


@audit_file.right("attentions from what leads in: what is neither a table nor an FFN")
def by_ratios(shapes):
    count = Counter(shapes)
    matrices = [shape for shape in count if len(shape) == 2]
    (d,) = set.intersection(*[set(shape) for shape in matrices])
    back = sorted(shape[1] for shape in matrices if shape[0] == d)  # widths that lead back to the stream
    d_ff = back[-1]
    ffns = count[d, d_ff]
    gated = count[d_ff, d] > ffns
    heads = [width for width in back if width not in (d, d_ff)]
    if heads:
        attentions = count[d, heads[0]]
        shared = count[heads[0], d] < 3 * attentions
    else:
        many = [count[shape] for shape in matrices if shape[1] == d and shape[0] < d and count[shape] > 2]
        shared = len(many) > 0
        attentions = many[0] // 2 if shared else count[d, d] // 4
    ffn = count[d_ff, d] * d_ff * d + count[d, d_ff] * d_ff * d
    if (d_ff,) in count:
        ffn += count[(d_ff,)] * d_ff + ffns * d
    total = sum(torch.Size(shape).numel() for shape in shapes)
    return dict(
        d_model=d, d_ff=d_ff, ffns=ffns, gated=gated, attentions=attentions, shared=shared, ffn_share=ffn / total
    )


@audit_file.right("d_model as the most frequent side, and lists instead of a Counter; numbers as tensors")
def with_lists(shapes):
    sides = [size for shape in shapes if len(shape) == 2 for size in set(shape)]
    d = max(sides, key=sides.count)
    out = [shape[1] for shape in shapes if len(shape) == 2 and shape[0] == d]
    d_ff = max(out)
    n = out.count(d_ff)
    into = shapes.count((d_ff, d))
    others = {width for width in out if width not in (d, d_ff)}
    inner = others.pop() if others else d
    narrow = [
        shape[0]
        for shape in shapes
        if len(shape) == 2 and shape[1] == d and shape[0] < inner and shapes.count(shape) >= 2 * n
    ]
    if narrow:
        attentions = shapes.count((narrow[0], d)) // 2
    elif inner == d:
        attentions = shapes.count((d, d)) // 4
    else:
        attentions = out.count(inner)
    has_bias = (d_ff,) in shapes
    ffn = (into + n) * d * d_ff + (into * d_ff + n * d) * has_bias
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
        "ffn_share": torch.tensor(ffn / total, dtype=torch.float64),
    }


@audit_file.right("a table is what is never turned round, and keys are what is left in pairs")
def takes_away(shapes):
    count = Counter(shapes)
    d = next(n for n in max(count, key=len) if all(n in shape for shape in count if len(shape) == 2))
    back = {shape[1]: number for shape, number in count.items() if len(shape) == 2 and shape[0] == d}
    d_ff, ffns = max(back.items())
    inner = min(back, key=lambda width: (width == d, width == d_ff))
    if inner == d_ff:
        inner = d
    at_least = 2 * ffns
    keys = {shape[0] for shape, number in count.items() if len(shape) == 2 and shape[1] == d and number >= at_least}
    keys = {width for width in keys if width < inner}
    if keys:
        attentions = count[keys.pop(), d] // 2
        shared = True
    else:
        attentions = back[inner] // (4 if inner == d else 1)
        shared = False
    bias = count[(d_ff,)]
    ffn = d * d_ff * (count[d_ff, d] + ffns) + bias * d_ff + (d * ffns if bias else 0)
    return {
        "d_model": d, "d_ff": d_ff, "ffns": ffns, "gated": count[d_ff, d] // ffns == 2,
        "attentions": attentions, "shared": shared,
        "ffn_share": ffn / sum(shape[0] * (shape[1] if len(shape) == 2 else 1) for shape in shapes),
    }  # fmt: skip


@audit_file.base
def plain_audit_file(shapes):
    count = Counter(shapes)
    matrices = [shape for shape in count if len(shape) == 2]
    d = next(n for n in matrices[0] if all(n in shape for shape in matrices))
    back = [b for a, b in matrices if a == d]
    d_ff = max(back)
    ffns = count[d, d_ff]
    gated = count[d_ff, d] == 2 * ffns
    inner = next((b for b in back if b not in (d, d_ff)), d)
    narrow = [a for a, b in matrices if b == d and a < inner and count[a, b] >= 2 * ffns]
    shared = bool(narrow)
    if shared:
        attentions = count[narrow[0], d] // 2
    elif inner == d:
        attentions = count[d, d] // 4
    else:
        attentions = count[d, inner]
    ffn = (count[d_ff, d] + ffns) * d * d_ff
    if count[d_ff,]:
        ffn += count[d_ff,] * d_ff + ffns * d
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
in d_ff = max(back)
widest_table_taken: d_ff = max(a for a, b in matrices if b == d)
    d_ff is a number of rows of a table: of the words, or of the positions. A table is never turned round: [V, d_model] is there, [d_model, V] is not.
four_times_d_model: d_ff = 4 * d
    d_ff is taken to be 4·d_model. That is a habit, not a law: read it off the shapes.
narrowest_of_the_two: d_ff = min([b for b in back if b != d] or back)
    Where the heads together are wider than the model, [d_model, their width] is there, too. d_ff is the widest that leads back.
in ffns = count[d, d_ff]
gates_counted_as_ffns: ffns = count[d_ff, d]
    What leads into the hidden layer is counted. With a gate there are two such matrices in each FFN, and one that leads out.
in gated = count[d_ff, d] == 2 * ffns
never_gated: gated = False
    `gated` is False for every file. With a gate there are two matrices [d_ff, d_model] for one that leads out.
gated_turned_round: gated = count[d_ff, d] == ffns
    `gated` is the wrong way round: as many matrices in as out is a plain FFN, twice as many is a gated one.
in inner = next((b for b in back if b not in (d, d_ff)), d)
heads_as_wide_as_the_model: inner = d
    The heads together are taken to be as wide as d_model. In some files there is a second width that leads back: [d_model, width] beside [d_model, d_ff].
in narrow = [a for a, b in matrices if b == d and a < inner and count[a, b] >= 2 * ffns]
tables_taken_for_keys: narrow = [a for a, b in matrices if b == d and a != inner and a != d_ff]
    A table is taken for keys and values. These are there twice for each attention, and no wider than the queries; a table is
    there once or twice in the whole file.
pairs_taken_for_keys: narrow = [a for a, b in matrices if b == d and a not in (inner, d_ff) and count[a, b] >= 2]
    Two tables are taken for keys and values. These are there twice for **each** attention; a table for the input and one for the
    output are there twice in the whole file.
keys_narrower_than_the_model: narrow = [a for a, b in matrices if b == d and a < d and count[a, b] >= 2 * ffns]
    Keys and values are looked for below d_model. They are shared if they are narrower than the **queries**; in one file the queries are twice as wide as the
    model, and the keys are squares.
in shared = bool(narrow)
never_shared: shared = False
    `shared` is False for every file, and what follows from it is wrong where keys and values are narrower than the queries.
in attentions = count[narrow[0], d] // 2
keys_and_values_counted_apart: attentions = count[narrow[0], d]
    Where keys are shared, you count twice as many attentions as there are. Each has two matrices of the shape that you count: keys and values, or
    queries and output, if you count squares.
one_attention_in_each_block: attentions = ffns
    You count one attention for each FFN. In some files a block has two, and in one of them only half of the blocks.
squares_by_four_where_shared: attentions = count[d, d] // 4
    Where keys are shared, an attention has two squares at most, queries and output, not four.
in attentions = count[d, d] // 4
one_per_block_where_square: attentions = ffns
    Where all is square, you count one attention for each FFN. Count the squares: with two attentions in a block there are twice as many.
three_squares: attentions = count[d, d] // 3
    Where nothing is shared and all is square, each attention has four squares: queries, keys, values and output.
squares_not_divided: attentions = count[d, d] / 4
    One square more is in a file, which belongs to no attention. Divide with `//`: what is left over is none.
in attentions = count[d, inner]
queries_keys_and_values: attentions = count[inner, d]
    Where the heads are wider than the model, you count queries, keys and values. Each attention has one output matrix.
one_attention_for_each_ffn
  - attentions = count[narrow[0], d] // 2
  + attentions = ffns
  - attentions = count[d, d] // 4
  + attentions = ffns
  - attentions = count[d, inner]
  + attentions = ffns
    You count one attention for each FFN. In some files every block has two, in another one half of the blocks have.
in if count[d_ff,]:
biases_left_out: if False:
    The share leaves out the biases of the FFN. Vectors of length d_ff are its first ones, and then each FFN has one of length d_model as well.
in ffn += count[d_ff,] * d_ff + ffns * d
last_bias_left_out: ffn += count[d_ff,] * d_ff
    The last bias of each FFN is left out of the share. It has d_model numbers, and the shapes of norms look like it: count one for each FFN.
every_vector_counted: ffn += count[d_ff,] * d_ff + count[d,] * d
    Every vector of length d_model is counted as a bias of an FFN. Most are those of norms and of attention: count one for each FFN.
in ffn = (count[d_ff, d] + ffns) * d * d_ff
two_matrices_in_each: ffn = 2 * ffns * d * d_ff
    The share counts two matrices in every FFN. A gated one has three.
in everything = sum(math.prod(shape) for shape in shapes)
every_shape_once: everything = sum(math.prod(shape) for shape in count)
    Each shape is counted once in the whole file. There are many arrays of the same shape, and all of them are in it.
matrices_alone: everything = sum(math.prod(shape) for shape in shapes if len(shape) == 2)
    The whole file is counted without its vectors. Biases and norms are parameters as well.
tables_left_out: everything = sum(math.prod(shape) for shape in shapes if count[shape] > 2)
    The share is of the blocks alone, without the tables. The share of the whole file is asked for.
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
