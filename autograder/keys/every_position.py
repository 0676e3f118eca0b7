"""The marking guide of notebook 04, One network, every position.

Each answer is typed as a student would type it in the exercise's cell, with the notebook's imports: torch, F and nn.
"""

from __future__ import annotations

import math

import torch
import torch.nn.functional as F
from torch import nn

from autograder.keys.key import NO_RETURN, Key, question
from ffnlab.course.exercises import every_position as exercises

# ffn_loop

ffn_loop = Key(exercises.ffn_loop)


@ffn_loop.truth
def one_call_a_token(x, ffn):
    """Each token alone, as a sequence of one, in a sentence of one; the rows are put together by concatenation."""
    sentences = []
    for b in range(x.shape[0]):
        rows = [ffn(x[b : b + 1, t : t + 1, :]) for t in range(x.shape[1])]
        sentences.append(torch.cat(rows, dim=1))
    return torch.cat(sentences, dim=0)


@ffn_loop.right("one loop over positions")
def over_positions(x, ffn):
    return torch.stack([ffn(x[:, t]) for t in range(x.shape[1])], dim=1)


@ffn_loop.right("a buffer that is filled row by row")
def filled_buffer(x, ffn):
    out = torch.empty_like(x)
    for b in range(x.shape[0]):
        for t in range(x.shape[1]):
            out[b, t] = ffn(x[b, t])
    return out


@ffn_loop.right("flattened, then looped, then folded back")
def flattened(x, ffn):
    rows = []
    for token in x.reshape(-1, x.shape[-1]):
        rows.append(ffn(token))
    return torch.stack(rows).reshape(x.shape)


@ffn_loop.right("unbind, and a non-contiguous result")
def unbound(x, ffn):
    return torch.stack([ffn(column) for column in x.unbind(1)]).transpose(0, 1)


@ffn_loop.right("no loop at all: the values are what is asked")
def one_call(x, ffn):
    return ffn(x)


@ffn_loop.mistake(
    "The rows are stacked along the first dimension: [T, B, d_model]. The positions belong in dimension 1; `torch.stack` has an argument for that."
)
def stacked_in_front(x, ffn):
    return torch.stack([ffn(x[:, t]) for t in range(x.shape[1])])


@ffn_loop.mistake(
    "The rows are stacked along the last dimension: [B, d_model, T]. A token's numbers stay together, in the last dimension."
)
def stacked_behind(x, ffn):
    return torch.stack([ffn(x[:, t]) for t in range(x.shape[1])], dim=-1)


@ffn_loop.mistake(
    "`torch.cat` lengthens a dimension that is there, so tokens ran together into one long row. `torch.stack` makes a new dimension."
)
def concatenated(x, ffn):
    return torch.cat([ffn(x[:, t]) for t in range(x.shape[1])], dim=1)


@ffn_loop.form(concatenated)
def all_concatenated(x, ffn):
    return torch.cat([ffn(x[b, t]) for b in range(x.shape[0]) for t in range(x.shape[1])])


@ffn_loop.mistake(
    "All tokens of all sentences are in one long list: [B·T, d_model]. Fold it back into sentences: the result has the shape of x."
)
def sentences_lost(x, ffn):
    rows = []
    for b in range(x.shape[0]):
        for t in range(x.shape[1]):
            rows.append(ffn(x[b, t]))
    return torch.stack(rows)


@ffn_loop.mistake(
    "The shape is right, but the tokens are in the wrong places: the outer loop runs over positions, but `reshape` reads the list sentence by sentence."
)
def folded_in_the_wrong_order(x, ffn):
    B, T, d = x.shape
    rows = []
    for t in range(T):
        for b in range(B):
            rows.append(ffn(x[b, t]))
    return torch.stack(rows).reshape(B, T, d)


@ffn_loop.mistake(
    "Every position gets the output of token 0: the loop's index is not used inside. Which token is it turn for?"
)
def token_0_for_all(x, ffn):
    return torch.stack([ffn(x[:, 0]) for t in range(x.shape[1])], dim=1)


@ffn_loop.mistake("Every sentence gets the outputs of sentence 0: both indices, b and t, choose a token.")
def sentence_0_for_all(x, ffn):
    rows = [torch.stack([ffn(x[0, t]) for t in range(x.shape[1])]) for b in range(x.shape[0])]
    return torch.stack(rows)


@ffn_loop.mistake(
    "Only sentence 0 comes back, as [T, d_model]: `x[0, t]` is a token of the first sentence. Loop over all B of them, or take `x[:, t]`."
)
def sentence_0_alone(x, ffn):
    return torch.stack([ffn(x[0, t]) for t in range(x.shape[1])])


ffn_loop.slip(
    "indices_exchanged",
    "The two indices are exchanged: x is [B, T, d_model], so a token is `x[b, t]`, the sentence first.",
    of=filled_buffer,
    replace={"x[b, t]": "x[t, b]"},
)
ffn_loop.slip(
    "without_the_last_token",
    "The last token is left out: `range(n)` ends at n - 1 by itself, so the T positions are `range(T)`.",
    of=filled_buffer,
    replace={".empty_like(x)": ".zeros_like(x)", "x.shape[1]": "x.shape[1] - 1"},
)
ffn_loop.slip(
    "without_the_first_token",
    "The first token is left out: positions are counted from 0, and the loop begins at 1.",
    of=filled_buffer,
    replace={".empty_like(x)": ".zeros_like(x)", "range(x.shape[1])": "range(1, x.shape[1])"},
)


@ffn_loop.mistake(
    "The FFN is put together from its layers, `ffn.linear1` and so on. `ffn` may be any function: call it, `ffn(…)`."
)
def ffn_by_its_layers(x, ffn):
    rows = [ffn.linear2(torch.relu(ffn.linear1(x[:, t]))) for t in range(x.shape[1])]
    return torch.stack(rows, dim=1)


@ffn_loop.mistake(
    "The outputs are averaged over the tokens. An FFN never mixes positions: every token keeps a row of its own."
)
def averaged(x, ffn):
    return torch.stack([ffn(x[:, t]) for t in range(x.shape[1])], dim=1).mean(dim=1)


@ffn_loop.mistake(
    "The outputs are summed up over the tokens (`+=` in the loop). Keep each token's output as a row of its own."
)
def summed(x, ffn):
    total = 0
    for t in range(x.shape[1]):
        total = total + ffn(x[:, t])
    return total


@ffn_loop.mistake(
    "The result is cut off from the graph (by `.detach()`, `.data` or `torch.no_grad()`): nothing could be trained through the loop."
)
def detached(x, ffn):
    return torch.stack([ffn(x[:, t]).detach() for t in range(x.shape[1])], dim=1)


@ffn_loop.mistake(
    "The rows went through Python lists (`.tolist()`, `torch.tensor(...)`): that makes a new tensor, in float32, that no gradient reaches."
)
def through_lists(x, ffn):
    return torch.tensor([[ffn(token).tolist() for token in sentence] for sentence in x])


ffn_loop.slip(
    "buffer_in_float32",
    "The buffer has torch's default dtype, float32, whatever x has. `torch.empty_like(x)` makes one of the same kind.",
    of=filled_buffer,
    replace={".empty_like(x)": ".zeros(x.shape)"},
)


@ffn_loop.mistake(
    "x itself is overwritten, row by row. The caller still needs x, for the residual; collect the rows in a new tensor."
)
def x_overwritten(x, ffn):
    for b in range(x.shape[0]):
        for t in range(x.shape[1]):
            x[b, t] = ffn(x[b, t])
    return x


ffn_loop.slip(
    "copy_overwritten",
    "`ffn` reads its tokens from the tensor that the loop writes into, and autograd finds them overwritten. Read from x, write into "
    "a tensor of your own.",
    of=filled_buffer,
    replace={"torch.empty_like(x)": "x.clone()", "x[b, t]": "out[b, t]"},
)


@ffn_loop.mistake(
    "The loop over positions runs over `x.shape[0]`, the number of sentences. Positions are counted by `x.shape[1]`."
)
def counts_the_sentences(x, ffn):
    return torch.stack([ffn(x[:, t]) for t in range(x.shape[0])], dim=1)


@ffn_loop.mistake(
    "The loop runs over the d_model numbers of a token, and hands `ffn` slices that are not tokens. A token is `x[b, t]`, all of its numbers."
)
def over_features(x, ffn):
    return torch.stack([ffn(x[:, :, i]) for i in range(x.shape[2])], dim=2)


@ffn_loop.mistake(
    "x is added to the output. The residual connection comes later in this notebook; here only FFN(x) is asked for."
)
def residual_added(x, ffn):
    return torch.stack([x[:, t] + ffn(x[:, t]) for t in range(x.shape[1])], dim=1)


@ffn_loop.mistake(
    "Only the last token's output comes back: each turn of the loop replaces what was there. Collect the rows in a list."
)
def only_the_last(x, ffn):
    for t in range(x.shape[1]):
        out = ffn(x[:, t])
    return out


@ffn_loop.mistake(
    "The `return` is inside the loop, so only the first token is computed. Move it to the left, behind the loop."
)
def returned_inside_the_loop(x, ffn):
    for t in range(x.shape[1]):
        out = ffn(x[:, t])
        return out


@ffn_loop.mistake("A list of tensors comes back. `torch.stack` makes one tensor of them.")
def a_list(x, ffn):
    return [ffn(x[:, t]) for t in range(x.shape[1])]


@ffn_loop.mistake(NO_RETURN)
def no_return(x, ffn):
    torch.stack([ffn(x[:, t]) for t in range(x.shape[1])], dim=1)


# ffn_chunked

ffn_chunked = Key(exercises.ffn_chunked)


@ffn_chunked.truth
def a_token_at_a_time(x, ffn, c):
    """The smallest chunks there are: each token alone, whatever c is."""
    if x.ndim == 1:
        return ffn(x)
    return torch.stack([a_token_at_a_time(part, ffn, c) for part in x])


@ffn_chunked.right("a buffer that is filled")
def filled_in_chunks(x, ffn, c):
    tokens = x.flatten(0, -2) if x.ndim > 1 else x.unsqueeze(0)
    out = torch.empty_like(tokens)
    for start in range(0, len(tokens), c):
        out[start : start + c] = ffn(tokens[start : start + c])
    return out.view(x.shape) if x.ndim > 1 else out.squeeze(0)


@ffn_chunked.right("the three parts of ffn, one after the other")
def part_by_part(x, ffn, c):
    tokens, rows = x.reshape(-1, x.shape[-1]), []
    for i in range(math.ceil(len(tokens) / c)):
        hidden = ffn.activation(ffn.linear1(tokens[i * c : (i + 1) * c]))
        rows += ffn.linear2(hidden)
    return torch.stack(rows).reshape(*x.shape)


@ffn_chunked.right("halved until it fits")
def halved(x, ffn, c):
    tokens = x.reshape(-1, x.shape[-1])
    if len(tokens) <= c:
        return ffn(x)
    half = len(tokens) // 2
    return torch.cat([halved(tokens[:half], ffn, c), halved(tokens[half:], ffn, c)]).reshape(x.shape)


@ffn_chunked.right("filled up to a multiple of c, and cut again")
def padded(x, ffn, c):
    tokens = x.reshape(-1, x.shape[-1])
    filled = F.pad(tokens, (0, 0, 0, -len(tokens) % c))
    out = torch.cat([ffn(filled[i : i + c]) for i in range(0, len(filled), c)])
    return out[: len(tokens)].reshape(x.shape)


@ffn_chunked.mistake(
    "Too many tokens go through at a time: all in one call, or in parts whose size is not `c`. No more than c of them may be in the hidden layer at a time."
)
def one_call_for_all(x, ffn, c):
    return ffn(x)


@ffn_chunked.mistake(
    "Each chunk has c **positions**, of all sentences at once: with B sentences these are B·c tokens. Make one long list of tokens first, and cut that."
)
def c_positions_of_all_sentences(x, ffn, c):
    if x.ndim == 1:
        return ffn(x)
    return torch.cat([ffn(chunk) for chunk in x.split(c, dim=-2)], dim=-2)


@ffn_chunked.form(c_positions_of_all_sentences)
def c_positions_sliced(x, ffn, c):
    return torch.cat([ffn(x[..., i : i + c, :]) for i in range(0, x.shape[-2], c)], dim=-2)


@ffn_chunked.mistake(
    "There are c chunks, and each is larger than c. `chunk(c)` says how **many** pieces are made; `split(c)` says how **large** they are."
)
def c_chunks(x, ffn, c):
    tokens = x.reshape(-1, x.shape[-1])
    return torch.cat([ffn(chunk) for chunk in tokens.chunk(c)]).reshape(x.shape)


@ffn_chunked.mistake(
    "For each chunk the FFN works on all of x, and all but c tokens are thrown away. So the hidden layer is as large as ever, again and again: "
    "cut first, then call."
)
def cut_after_the_call(x, ffn, c):
    tokens = x.reshape(-1, x.shape[-1])
    return torch.cat([ffn(tokens)[i : i + c] for i in range(0, len(tokens), c)]).reshape(x.shape)


@ffn_chunked.mistake(
    "The **neurons** are cut into chunks, and each chunk of them sees all tokens. That saves memory as well; asked for are chunks of tokens, with all d_ff "
    "neurons at work."
)
def chunks_of_neurons(x, ffn, c):
    out = ffn.linear2.bias
    for j in range(0, ffn.linear1.out_features, c):
        hidden = ffn.activation(F.linear(x, ffn.linear1.weight[j : j + c], ffn.linear1.bias[j : j + c]))
        out = out + F.linear(hidden, ffn.linear2.weight[:, j : j + c])
    return out


@ffn_chunked.mistake(
    "The hidden rows of all chunks are collected first, and `linear2` comes afterwards: so in the end all of them are there at once. "
    "Finish each chunk before the next one begins."
)
def hidden_rows_collected(x, ffn, c):
    tokens = x.reshape(-1, x.shape[-1])
    hidden = [ffn.activation(ffn.linear1(chunk)) for chunk in tokens.split(c)]
    return torch.cat([ffn.linear2(h) for h in hidden]).reshape(x.shape)


@ffn_chunked.form(hidden_rows_collected)
def hidden_rows_put_together(x, ffn, c):
    hidden = []
    for chunk in x.reshape(-1, x.shape[-1]).split(c):
        hidden.append(ffn.activation(ffn.linear1(chunk)))
    return ffn.linear2(torch.cat(hidden)).reshape(x.shape)


@ffn_chunked.mistake(
    "The last chunk is missing: c does not divide the number of tokens, and what is left over has to go in as well, as a shorter chunk."
)
def last_chunk_missing(x, ffn, c):
    tokens = x.reshape(-1, x.shape[-1])
    out = [ffn(tokens[i * c : (i + 1) * c]) for i in range(len(tokens) // c)]
    return torch.cat(out).reshape(x.shape)


@ffn_chunked.form(last_chunk_missing)
def last_chunk_left_at_zero(x, ffn, c):
    tokens = x.reshape(-1, x.shape[-1])
    out = torch.zeros_like(tokens)
    for i in range(len(tokens) // c):
        out[i * c : (i + 1) * c] = ffn(tokens[i * c : (i + 1) * c])
    return out.reshape(x.shape)


@ffn_chunked.mistake(
    "The last token of each chunk is lost. A slice `[i : i + c]` ends before i + c, so it has c entries as it is: nothing is to be subtracted."
)
def a_token_short(x, ffn, c):
    tokens = x.reshape(-1, x.shape[-1])
    out = [ffn(tokens[i : i + c - 1]) for i in range(0, len(tokens), c)]
    return torch.cat(out).reshape(x.shape)


@ffn_chunked.mistake(
    "`torch.stack` wants pieces of one size, and the last chunk is shorter. `torch.cat` puts pieces of any length under each other."
)
def stacked(x, ffn, c):
    tokens = x.reshape(-1, x.shape[-1])
    return torch.stack([ffn(chunk) for chunk in tokens.split(c)]).reshape(x.shape)


@ffn_chunked.mistake(
    "The result is one long list of tokens, [N, d_model]. It should have the shape of x: `.reshape(x.shape)` folds it back."
)
def list_of_tokens(x, ffn, c):
    tokens = x.reshape(-1, x.shape[-1])
    return torch.cat([ffn(chunk) for chunk in tokens.split(c)])


@ffn_chunked.mistake(
    "A list of chunks comes back. Put them together, with `torch.cat`, and give the result the shape of x."
)
def list_of_chunks(x, ffn, c):
    return [ffn(chunk) for chunk in x.reshape(-1, x.shape[-1]).split(c)]


@ffn_chunked.mistake(
    "The values are right, but what comes back is cut off from the graph, by `torch.no_grad()` or `.detach()`. Chunks save memory while a model "
    "is used; here one must be able to train through them as well."
)
def chunks_cut_off(x, ffn, c):
    tokens = x.reshape(-1, x.shape[-1])
    with torch.no_grad():
        return torch.cat([ffn(chunk) for chunk in tokens.split(c)]).reshape(x.shape)


@ffn_chunked.mistake(
    "The result is float32, whatever came in: a fresh `torch.zeros(...)` that is filled is. `torch.empty_like(x)` has the dtype of x."
)
def chunks_in_float32(x, ffn, c):
    tokens = x.reshape(-1, x.shape[-1])
    out = torch.zeros(tokens.shape)
    for i in range(0, len(tokens), c):
        out[i : i + c] = ffn(tokens[i : i + c])
    return out.reshape(x.shape)


@ffn_chunked.mistake(
    "`.view` refuses an x whose memory is not in order, such as a transposed one. `.reshape` copies where it must."
)
def chunks_viewed(x, ffn, c):
    tokens = x.view(-1, x.shape[-1])
    return torch.cat([ffn(chunk) for chunk in tokens.split(c)]).view(x.shape)


@ffn_chunked.mistake(
    "x is cut along its first dimension. Of x [B, T, d_model] these are sentences, not tokens: it has B·T tokens. Lay them under each other first."
)
def sentences_cut(x, ffn, c):
    return torch.cat([ffn(part) for part in x.split(c, dim=0)])


# is_position_wise

is_position_wise = Key(exercises.is_position_wise)


@is_position_wise.truth
def every_pair_of_positions(f, T, d, seed=0):
    """In float64: changes each token and looks at all the others; then looks at what each position does to the same few vectors."""
    generator = torch.Generator().manual_seed(seed)
    X = torch.randn(T, d, dtype=torch.float64, generator=generator)
    before = f(X)
    limit = 1e-3 * before.abs().max()  # between 1/10,000, which is rounding, and 1/50, which is mixing
    for changed in range(T):
        Y = X.clone()
        Y[changed] = torch.randn(d, dtype=torch.float64, generator=generator)
        after = f(Y)
        for row in range(T):
            if row != changed and (after[row] - before[row]).abs().max() > limit:
                return False
    for _ in range(3):
        vector = torch.randn(d, dtype=torch.float64, generator=generator)
        seen = []
        for t in range(T):
            Y = X.clone()
            Y[t] = vector
            seen.append(f(Y)[t])
        for one in seen:
            for other in seen:
                if (one - other).abs().max() > limit:
                    return False
    return True


@is_position_wise.right("independence, then permutations")
def independent_and_equivariant(f, T, d, seed=0):
    torch.manual_seed(seed)
    X = torch.randn(T, d)
    Y = f(X)
    limit = 0.001 * Y.abs().max()
    for t in range(T):
        X2 = X.clone()
        X2[t] = torch.randn(d)
        others = torch.arange(T) != t
        if ((f(X2) - Y)[others].abs() > limit).any():
            return False
    for _ in range(5):
        order = torch.randperm(T)
        if ((f(X[order]) - Y[order]).abs() > limit).any():
            return False
    return True


@is_position_wise.right("the Jacobian's blocks, then one vector at all positions")
def by_jacobian(f, T, d, seed=0):
    g = torch.Generator().manual_seed(seed)
    X = torch.randn(T, d, generator=g, dtype=torch.float64)
    J = torch.autograd.functional.jacobian(f, X).abs().amax(dim=(1, 3))  # [T, T]
    rows = f(torch.randn(d, generator=g, dtype=torch.float64).expand(T, d))
    mixing = (J - J.diag().diag()).max()
    return mixing <= 1e-3 * J.max() and (rows - rows[:1]).abs().max() <= 1e-3 * rows.abs().max()


@is_position_wise.right("a batch of sequences, one vector moving through all of them")
def moving_vector(f, T, d, seed=0):
    g = torch.Generator().manual_seed(seed)
    X = torch.randn(20, T, T, d, generator=g, dtype=torch.float64)
    v = torch.randn(20, 1, d, generator=g, dtype=torch.float64)
    place = torch.arange(T)
    X[:, place, place] = v
    out = f(X)[:, place, place]
    spread = (out - out[:, :1]).abs().max()
    return bool(spread <= 1e-4 * out.abs().max())


@is_position_wise.right("swaps of two tokens among strangers")
def swaps(f, T, d, seed=0):
    rng = torch.Generator().manual_seed(seed)
    for i in range(T):
        for j in range(T):
            A = torch.randn(T, d, generator=rng).double()
            B = torch.randn(T, d, generator=rng).double()
            B[j] = A[i]
            here, there = f(A), f(B)
            if (here[i] - there[j]).abs().max() > 5e-4 * torch.max(here.abs().max(), there.abs().max()):
                return False
    return True


@is_position_wise.mistake(
    "Your test finds nothing wrong with anything, attention included: it looks at the shape, or changes what can't "
    "matter. Change one token, and look at the rows of the others."
)
def only_the_shape(f, T, d, seed=0):
    X = torch.randn(2, T, d)
    return f(X).shape == X.shape


@is_position_wise.form(only_the_shape)
def permutes_the_batch(f, T, d, seed=0):
    torch.manual_seed(seed)
    X = torch.randn(4, T, d, dtype=torch.float64)
    order = torch.randperm(4)
    return (f(X[order]) - f(X)[order]).abs().max() <= 1e-3 * f(X)[order].abs().max()


@is_position_wise.form(only_the_shape)
def runs_twice(f, T, d, seed=0):
    torch.manual_seed(seed)
    X = torch.randn(T, d)
    return (f(X) - f(X)).abs().max() <= 1e-3 * f(X).abs().max()


@is_position_wise.mistake(
    "Only token 0 is changed. A layer in which tokens see later ones alone, or in which a middle token leaks, goes unnoticed: change every token in turn. "
    "And test that all positions use the same map."
)
def changes_token_0_only(f, T, d, seed=0):
    torch.manual_seed(seed)
    X = torch.randn(T, d, dtype=torch.float64)
    X2 = X.clone()
    X2[0] = torch.randn(d)
    return (f(X)[1:] - f(X2)[1:]).abs().max() <= 1e-3 * f(X2)[1:].abs().max()


@is_position_wise.mistake(
    "Only the last token is changed. In causal attention no earlier row reacts to it, and your test calls that position-wise: change every token in turn. "
    "And test that all positions use the same map."
)
def changes_the_last_token_only(f, T, d, seed=0):
    torch.manual_seed(seed)
    X = torch.randn(T, d, dtype=torch.float64)
    X2 = X.clone()
    X2[-1] = torch.randn(d)
    return (f(X)[:-1] - f(X2)[:-1]).abs().max() <= 1e-3 * f(X2)[:-1].abs().max()


@is_position_wise.mistake(
    "Only one token in the middle is changed. What another token leaks goes unnoticed: change every token in turn. "
    "And test that all positions use the same map."
)
def changes_a_middle_token_only(f, T, d, seed=0):
    torch.manual_seed(seed)
    X = torch.randn(T, d, dtype=torch.float64)
    X2 = X.clone()
    X2[T // 2] = torch.randn(d)
    others = torch.arange(T) != T // 2
    return (f(X)[others] - f(X2)[others]).abs().max() <= 1e-3 * f(X2)[others].abs().max()


@is_position_wise.mistake(
    "Only the rows after the changed token are compared. A layer in which tokens see later ones passes that: compare the rows before it as well. "
    "And test that all positions use the same map."
)
def later_rows_only(f, T, d, seed=0):
    torch.manual_seed(seed)
    X = torch.randn(T, d, dtype=torch.float64)
    for t in range(T - 1):
        X2 = X.clone()
        X2[t] = torch.randn(d)
        if (f(X)[t + 1 :] - f(X2)[t + 1 :]).abs().max() > 1e-3 * f(X2)[t + 1 :].abs().max():
            return False
    return True


@is_position_wise.mistake(
    "Only token 0 is changed before the maps are compared, so what other tokens leak goes unnoticed. Change every token in turn."
)
def token_0_and_same_rows(f, T, d, seed=0):
    torch.manual_seed(seed)
    X = torch.randn(T, d, dtype=torch.float64)
    X2 = X.clone()
    X2[0] = torch.randn(d)
    rows = f(torch.randn(d, dtype=torch.float64).expand(T, d))
    return (f(X)[1:] - f(X2)[1:]).abs().max() <= 1e-3 * f(X2)[1:].abs().max() and (
        rows - rows[:1]
    ).abs().max() <= 1e-3 * rows[:1].abs().max()


@is_position_wise.mistake(
    "This tests permutation equivariance. Attention passes as well: it treats all tokens alike, and still mixes them. "
    "Test also that no token's output depends on another token."
)
def equivariance_only(f, T, d, seed=0):
    torch.manual_seed(seed)
    X = torch.randn(T, d, dtype=torch.float64)
    return all(
        (f(X[p]) - f(X)[p]).abs().max() <= 1e-3 * f(X)[p].abs().max() for p in [torch.randperm(T) for _ in range(8)]
    )


@is_position_wise.form(equivariance_only)
def reversed_and_rolled(f, T, d, seed=0):
    torch.manual_seed(seed)
    X = torch.randn(T, d, dtype=torch.float64)
    rolled = (f(X.roll(1, 0)) - f(X).roll(1, 0)).abs().max() <= 1e-3 * f(X).roll(1, 0).abs().max()
    return rolled and (f(X.flip(0)) - f(X).flip(0)).abs().max() <= 1e-3 * f(X).flip(0).abs().max()


@is_position_wise.base
def plain_is_position_wise(f, T, d, seed=0):
    torch.manual_seed(seed)
    v = torch.randn(d, dtype=torch.float64)
    outs = []
    for t in range(T):
        X = torch.randn(T, d, dtype=torch.float64)
        X[t] = v
        outs.append(f(X)[t])
    return (torch.stack(outs) - outs[0]).abs().max() <= 1e-3 * outs[0].abs().max()


is_position_wise.slip(
    "zeros_elsewhere",
    "The vector moves through a sequence of zeros, so its company is the same wherever it is, and attention passes. Put "
    "it among random tokens, and take new ones for every position.",
    replace={".randn(T, d, dtype=torch.float64)": ".zeros(T, d, dtype=torch.float64)"},
)


@is_position_wise.mistake(
    "A token that you changed is compared as well, and of course its own row changes. Leave that row out. Do earlier changes stay in? "
    "`X2 = X` is a second name for the same tensor, `X.clone()` a copy."
)
def own_row_compared(f, T, d, seed=0):
    torch.manual_seed(seed)
    X = torch.randn(T, d, dtype=torch.float64)
    Y = f(X)
    for t in range(T):
        X2 = X.clone()
        X2[t] = torch.randn(d)
        if (f(X2) - Y).abs().max() > 1e-3 * Y.abs().max():
            return False
    return True


@is_position_wise.form(own_row_compared)
def changes_pile_up(f, T, d, seed=0):
    torch.manual_seed(seed)
    X = torch.randn(T, d, dtype=torch.float64)
    Y = f(X)
    for t in range(T):
        X2 = X
        X2[t] = torch.randn(d)
        others = [i for i in range(T) if i != t]
        if (f(X2)[others] - Y[others]).abs().max() > 1e-3 * Y[others].abs().max():
            return False
    return True


is_position_wise.slip(
    "independence_only",
    "This tests that no token sees another. An FFN with weights of its own at every position passes that, too. "
    "Test also that the same vector, put at another position, is treated in the same way.",
    of=changes_pile_up,
    replace={"X2 = X\nX2[t] = torch.randn(d)": "X2 = X.clone()\nX2[t] += 1"},
)


@is_position_wise.form("independence_only")
def jacobian_only(f, T, d, seed=0):
    torch.manual_seed(seed)
    J = torch.autograd.functional.jacobian(f, torch.randn(T, d, dtype=torch.float64))
    return all(J[i, :, j].abs().max() < 1e-3 for i in range(T) for j in range(T) if i != j)


@is_position_wise.mistake(
    "Equal rows in, equal rows out: attention passes that, since a mean of equal things is the same thing. Let the other tokens differ, and change them."
)
def equal_rows_only(f, T, d, seed=0):
    torch.manual_seed(seed)
    rows = f(torch.randn(d, dtype=torch.float64).expand(T, d))
    return (rows - rows[:1]).abs().max() <= 1e-3 * rows[:1].abs().max()


@is_position_wise.mistake(
    "The outputs are compared exactly. Rounding in the last digit is enough to be called mixing; compare with a tolerance, such as `torch.allclose`."
)
def exact_equality(f, T, d, seed=0):
    torch.manual_seed(seed)
    v = torch.randn(d)
    outs = []
    for t in range(T):
        X = torch.randn(T, d)
        X[t] = v
        outs.append(f(X)[t])
    return all(torch.equal(outs[0], out) for out in outs)


is_position_wise.slip(
    "exact_in_float64",
    replace={"return …": "return bool((torch.stack(outs) == outs[0]).all())"},
    form_of=exact_equality,
)


@is_position_wise.mistake(
    "Your tolerance is too wide: tokens that see a little of each other pass. One token has only a small part in the mean of all, say. Let the others "
    "change, by much, and call nothing rounding that is 1/50 of the output's size or more."
)
def tolerance_too_wide(f, T, d, seed=0):
    torch.manual_seed(seed)
    X = torch.randn(T, d, dtype=torch.float64)
    Y = f(X)
    for t in range(T):
        X2 = X.clone()
        X2[t] = torch.randn(d, dtype=torch.float64)
        others = [i for i in range(T) if i != t]
        if (f(X2)[others] - Y[others]).abs().max() > Y.abs().max():
            return False
    v = torch.randn(d, dtype=torch.float64)
    rows = f(v.expand(T, d))
    return (rows - rows[:1]).abs().max() <= 1e-3 * rows[:1].abs().max()


@is_position_wise.mistake(
    "Attention passes your test. Either a token is changed by so little that the others' reaction stays below your tolerance, or two "
    "tokens only change places, and attention follows. Replace a token by another random vector, and let every position have its turn."
)
def nudge_too_small(f, T, d, seed=0):
    torch.manual_seed(seed)
    X = torch.randn(T, d, dtype=torch.float64)
    Y = f(X)
    for t in range(T):
        X2 = X.clone()
        X2[t] += 1e-8
        others = [i for i in range(T) if i != t]
        if (f(X2)[others] - Y[others]).abs().max() > 1e-3 * Y[others].abs().max():
            return False
    order = torch.arange(T).flip(0)
    return (f(X[order])[0] - f(X)[-1]).abs().max() <= 1e-3 * f(X)[-1].abs().max()


@is_position_wise.form(nudge_too_small)
def one_exchange(f, T, d, seed=0):
    torch.manual_seed(seed)
    X = torch.randn(T, d, dtype=torch.float64)
    order = torch.arange(T)
    order[:2] = torch.tensor([1, 0])
    return (f(X[order]) - f(X)[order]).abs().max() <= 1e-3 * f(X)[order].abs().max()


is_position_wise.slip(
    "in_training_mode",
    "f is switched to training mode, and its dropout makes every call differ. A test looks at a module in the mode it was given.",
    replace={"torch.manual_seed(seed)": ("if isinstance(f, nn.Module):\n    f.train()\ntorch.manual_seed(seed)")},
)
is_position_wise.slip(
    "switched_to_eval",
    "`f.eval()` is called, and most of the functions here are no modules. Nothing has to be switched: a test looks at f as it was given.",
    replace={"torch.manual_seed(seed)": "f.eval()\ntorch.manual_seed(seed)"},
)
is_position_wise.slip(
    "tolerance_with_a_graph",
    "A module's output carries a graph, and such a tensor is not taken as a tolerance. Make it a number with `.item()`, or "
    "compute under `torch.no_grad()`.",
    replace={
        "return …": (
            "rows = torch.stack(outs)\n"
            "return torch.allclose(rows, rows[0].expand(T, d), rtol=1e-4, atol=1e-4 * rows.abs().max())"
        )
    },
)


@is_position_wise.mistake(
    "You demand that a token's output changes when the token does. A map may give the same output for all inputs and still be one map for all positions."
)
def own_row_must_change(f, T, d, seed=0):
    torch.manual_seed(seed)
    v, w = torch.randn(2, d, dtype=torch.float64)
    outs = []
    for t in range(T):
        X = torch.randn(T, d, dtype=torch.float64)
        X[t] = v
        X2 = X.clone()
        X2[t] = w
        if (f(X)[t] - f(X2)[t]).abs().max() <= 1e-3 * f(X2)[t].abs().max():
            return False
        outs.append(f(X)[t])
    return (torch.stack(outs) - outs[0]).abs().max() <= 1e-3 * outs[0].abs().max()


@is_position_wise.mistake(
    "f is called with a single token. It takes sequences of exactly T tokens: put the token into a sequence, at every position in turn, among random others."
)
def calls_single_tokens(f, T, d, seed=0):
    torch.manual_seed(seed)
    X = torch.randn(T, d, dtype=torch.float64)
    return all((f(X)[t] - f(X[t : t + 1])[0]).abs().max() <= 1e-3 * f(X[t : t + 1])[0].abs().max() for t in range(T))


@is_position_wise.form(calls_single_tokens)
def calls_bare_vectors(f, T, d, seed=0):
    torch.manual_seed(seed)
    X = torch.randn(T, d, dtype=torch.float64)
    return (f(X) - torch.stack([f(x) for x in X])).abs().max() <= 1e-3 * torch.stack([f(x) for x in X]).abs().max()


is_position_wise.slip(
    "the_wrong_way_round",
    "The answer is the wrong way round: your test finds the difference, and returns True for it. True means position-wise.",
    replace={" <= 1e-3": " > 1e-3"},
)


@is_position_wise.mistake(
    "Only positions 0 and 1 are compared. The others may be treated differently, or see each other: let t run over all of them."
)
def two_positions_only(f, T, d, seed=0):
    torch.manual_seed(seed)
    X, X2 = torch.randn(2, T, d, dtype=torch.float64)
    X2[1] = X[0]
    return (f(X)[0] - f(X2)[1]).abs().max() <= 1e-3 * f(X2)[1].abs().max()


is_position_wise.slip(
    "one_answer_per_position",
    "A tensor with one truth value per position comes back. One is asked for: `.all()` tells whether all of them hold.",
    replace={".max() <= 1e-3 * outs[0].abs().max()": ".amax(dim=1) < 1e-6"},
)
is_position_wise.slip(
    "first_position_left_out",
    "The first position, or the last, is never tested. It may be the one that is treated differently, or that sees another: "
    "let t run over all T of them.",
    replace={"range(T)": "range(1, T)"},
)
is_position_wise.slip("last_position_left_out", replace={"range(T)": "range(T - 1)"}, form_of="first_position_left_out")
is_position_wise.slip("both_ends_left_out", replace={"range(T)": "range(1, T - 1)"}, form_of="first_position_left_out")
is_position_wise.slip(
    "signs_ignored",
    "The difference is compared with its sign: one that is negative everywhere counts as none. `.abs()` comes before the `max`.",
    replace={".abs().max() <= 1e-3": ".max() <= 1e-3"},
)
is_position_wise.slip(
    "negative_signs_alone",
    replace={"(torch.stack(outs) - outs[0]).abs()": "(outs[0] - torch.stack(outs))"},
    form_of="signs_ignored",
)
is_position_wise.slip(
    "absolute_limit",
    "The tolerance is not a part of the output's size: it is a number of its own, or a part of the input's size. Where all outputs are very small, "
    "their differences are as well. Compare with the output's largest number.",
    replace={"1e-3 * outs[0].abs().max()": "2e-3"},
)
is_position_wise.slip("limit_from_the_input", replace={"outs[0].abs": "v.abs"}, form_of="absolute_limit")
is_position_wise.slip(
    "a_number_beside_a_part",
    replace={"return …": "return torch.allclose(torch.stack(outs), outs[0].expand(T, d), rtol=1e-2, atol=1e-4)"},
    form_of="absolute_limit",
)


@is_position_wise.mistake(
    "You turn the sequence around and look whether the outputs turn along. A layer may treat both ends alike and the middle differently: "
    "it passes. Put the same vector at every position in turn."
)
def turned_around_alone(f, T, d, seed=0):
    torch.manual_seed(seed)
    X, Y = torch.randn(T, d, dtype=torch.float64), torch.randn(T, d, dtype=torch.float64)
    out = f(X)
    limit = 1e-3 * out.abs().max()
    for t in range(T):
        Z = Y.clone()
        Z[t] = X[t]
        if (f(Z)[t] - out[t]).abs().max() > limit:
            return False
    return bool((f(X.flip(0)).flip(0) - out).abs().max() <= limit)


is_position_wise.slip(
    "limit_too_narrow",
    "Your tolerance is too narrow: differences below 1/10,000 of the output's size are rounding here, and your test calls them mixing. "
    "(`torch.allclose` alone allows 1/100,000 of each number, and next to nothing where a number is near 0.)",
    replace={"return …": "return torch.allclose(torch.stack(outs), outs[0].expand(T, d))"},
)
is_position_wise.slip(
    "limit_of_a_millionth",
    replace={"return …": ("rows = torch.stack(outs)\nreturn (rows - rows[0]).abs().max() <= 1e-6 * rows.abs().max()")},
    form_of="limit_too_narrow",
)


@is_position_wise.mistake(
    "Only a token's neighbours are looked at when it changes. One token may tell another that is further away: compare all the other rows."
)
def neighbours_only(f, T, d, seed=0):
    torch.manual_seed(seed)
    X = torch.randn(T, d, dtype=torch.float64)
    Y = f(X)
    for t in range(T):
        X2 = X.clone()
        X2[t] = torch.randn(d)
        for row in (t - 1, t + 1):
            if 0 <= row < T and (f(X2)[row] - Y[row]).abs().max() > 1e-3 * Y.abs().max():
                return False
    rows = f(torch.randn(d, dtype=torch.float64).expand(T, d))
    return (rows - rows[:1]).abs().max() <= 1e-3 * rows.abs().max()


is_position_wise.slip(
    "features_added_up",
    "The numbers of a token are added up, or averaged, before they are compared. What one of them gains and another loses goes unnoticed: "
    "take `.abs()` of each difference first.",
    replace={"f(X)[t]": "f(X)[t].sum()"},
)
is_position_wise.slip(
    "means_compared",
    replace={
        "return …": (
            "rows = torch.stack(outs)\nreturn (rows - rows[0]).mean(dim=1).abs().max() <= 1e-3 * rows.abs().max()"
        )
    },
    form_of="features_added_up",
)
is_position_wise.slip(
    "mode_not_restored",
    "A module comes back in another mode than it came: `f.eval()` is called and never undone. It is somebody else's module; look at it as it was given.",
    of="in_training_mode",
    replace={"f.train": "f.eval"},
)


@is_position_wise.mistake(
    "The function ends without a `return` where nothing was found. Finding no difference is an answer: True."
)
def nothing_when_right(f, T, d, seed=0):
    torch.manual_seed(seed)
    v = torch.randn(d, dtype=torch.float64)
    first = None
    for t in range(T):
        X = torch.randn(T, d, dtype=torch.float64)
        X[t] = v
        out = f(X)[t]
        first = out if first is None else first
        if (out - first).abs().max() > 1e-3 * first.abs().max():
            return False


# ffn_as_conv1d

ffn_as_conv1d = Key(exercises.ffn_as_conv1d)


@ffn_as_conv1d.truth
def window_by_window(ffn):
    """Slides over the sequence with windows of one token, one output channel at a time; only the parameters are conv weights."""

    class Sliding(nn.Module):
        def __init__(self):
            super().__init__()
            first, second = ffn.linear1, ffn.linear2
            self.W1 = nn.Parameter(first.weight.detach().clone())
            self.b1 = nn.Parameter(first.bias.detach().clone())
            self.W2 = nn.Parameter(second.weight.detach().clone())
            self.b2 = nn.Parameter(second.bias.detach().clone())

        def slide(self, x, weight, bias):  # x [B, channels, T]
            windows = [F.conv1d(x[:, :, t : t + 1], weight.unsqueeze(2), bias) for t in range(x.shape[2])]
            return torch.cat(windows, dim=2)

        def forward(self, x):
            hidden = torch.relu(self.slide(x.permute(0, 2, 1), self.W1, self.b1))
            return self.slide(hidden, self.W2, self.b2).permute(0, 2, 1)

    return Sliding()


@ffn_as_conv1d.base
@ffn_as_conv1d.right("nn.Conv1d, filled by copy_")
def copied_into_conv1d(ffn):
    d_ff, d_model = ffn.linear1.weight.shape

    class Conv(nn.Module):
        def __init__(self):
            super().__init__()
            self.conv1 = nn.Conv1d(d_model, d_ff, kernel_size=1)
            self.conv2 = nn.Conv1d(d_ff, d_model, kernel_size=1)
            self.activation = ffn.activation
            with torch.no_grad():
                self.conv1.weight.copy_(ffn.linear1.weight.unsqueeze(-1))
                self.conv1.bias.copy_(ffn.linear1.bias)
                self.conv2.weight.copy_(ffn.linear2.weight.unsqueeze(-1))
                self.conv2.bias.copy_(ffn.linear2.bias)

        def forward(self, x):
            return self.conv2(self.activation(self.conv1(x.transpose(1, 2)))).transpose(1, 2)

    return Conv()


ffn_as_conv1d.slip(
    "shared_parameters",
    "weights that share memory with the FFN's",
    replace={
        (
            "with torch.no_grad():\n"
            "    self.conv1.weight.copy_(ffn.linear1.weight.unsqueeze(-1))\n"
            "    self.conv1.bias.copy_(ffn.linear1.bias)\n"
            "    self.conv2.weight.copy_(ffn.linear2.weight.unsqueeze(-1))\n"
            "    self.conv2.bias.copy_(ffn.linear2.bias)"
        ): (
            "self.conv1.weight = nn.Parameter(ffn.linear1.weight[:, :, None])\n"
            "self.conv2.weight = nn.Parameter(ffn.linear2.weight[:, :, None])\n"
            "self.conv1.bias, self.conv2.bias = ffn.linear1.bias, ffn.linear2.bias"
        )
    },
    kind="right",
)
ffn_as_conv1d.slip(
    "conv_holds_the_ffn",
    "F.conv1d with the FFN's own parameters",
    of="shared_parameters",
    replace={
        (
            "self.conv1 = nn.Conv1d(d_model, d_ff, kernel_size=1)\n"
            "self.conv2 = nn.Conv1d(d_ff, d_model, kernel_size=1)\n"
            "self.activation = ffn.activation\n"
            "self.conv1.weight = nn.Parameter(ffn.linear1.weight[:, :, None])\n"
            "self.conv2.weight = …"
        ): "",
        "self.conv1.bias, self.conv2.bias = …": "self.ffn = ffn",
        "def forward(self, x):\n    return …": (
            "def forward(self, x):\n"
            "    f = self.ffn\n"
            "    h = f.activation(F.conv1d(x.mT, f.linear1.weight.unsqueeze(2), f.linear1.bias))\n"
            "    return F.conv1d(h, f.linear2.weight.unsqueeze(2), f.linear2.bias).mT"
        ),
    },
    kind="right",
)
ffn_as_conv1d.slip(
    "by_data_and_permute",
    ".data, permute, nn.ReLU, a contiguous result",
    of="conv_holds_the_ffn",
    replace={
        "self.ffn = ffn": (
            "self.conv1, self.conv2 = nn.Conv1d(d_model, d_ff, 1), nn.Conv1d(d_ff, d_model, 1)\n"
            "self.act = nn.ReLU()\n"
            "self.conv1.weight.data = ffn.linear1.weight.data.unsqueeze(-1).clone()\n"
            "self.conv1.bias.data = ffn.linear1.bias.data.clone()\n"
            "self.conv2.weight.data = ffn.linear2.weight.data.reshape(d_model, d_ff, 1)\n"
            "self.conv2.bias.data = ffn.linear2.bias.data.clone()"
        ),
        "f = self.ffn": "",
        "h = …": "h = self.act(self.conv1(x.permute(0, 2, 1)))",
        "F.conv1d(h, f.linear2.weight.unsqueeze(2), f.linear2.bias).mT": "self.conv2(h).permute(0, 2, 1).contiguous()",
    },
    kind="right",
)
ffn_as_conv1d.slip(
    "sequential_between_transposes",
    "one nn.Sequential inside",
    of="conv_holds_the_ffn",
    replace={
        "self.ffn = ffn": (
            "self.net = nn.Sequential(nn.Conv1d(d_model, d_ff, 1), nn.ReLU(), nn.Conv1d(d_ff, d_model, 1))\n"
            "for conv, linear in ((self.net[0], ffn.linear1), (self.net[2], ffn.linear2)):\n"
            '    conv.load_state_dict({"weight": linear.weight.unsqueeze(-1), "bias": linear.bias})'
        ),
        "f = self.ffn\nh = …": "",
        "F.conv1d(h, f.linear2.weight.unsqueeze(2), f.linear2.bias).mT": "torch.transpose(self.net(torch.transpose(x, -1, -2)), -1, -2)",
    },
    kind="right",
)
ffn_as_conv1d.slip(
    "no_transpose",
    "The convolution gets x as it is, [B, T, d_model]. `nn.Conv1d` wants the channels in the middle, [B, d_model, T]: transpose first.",
    replace={
        ".conv2(self.activation(self.conv1(x.transpose(1, 2)))).transpose(1, 2)": ".conv2(self.activation(self.conv1(x)))"
    },
)
ffn_as_conv1d.slip(
    "not_transposed_back",
    "The result comes out as [B, d_model, T], the way a convolution makes it. Transpose it back.",
    of="no_transpose",
    replace={".conv1(x)": ".conv1(x.transpose(1, 2))"},
)
ffn_as_conv1d.slip(
    "reshape_for_transpose",
    "`reshape` and `view` keep the numbers in their order in memory and cut them into other rows; here rows and "
    "columns must change places. That is `transpose(1, 2)`.",
    replace={
        "def forward(self, x):\n    return …": (
            "def forward(self, x):\n"
            "    B, T, d = x.shape\n"
            "    return self.conv2(self.activation(self.conv1(x.reshape(B, d, T)))).reshape(B, T, d)"
        )
    },
)
ffn_as_conv1d.slip(
    "wrong_transpose",
    "Sentences and positions were exchanged, `transpose(0, 1)`. The channels must come to the middle: `transpose(1, 2)`.",
    replace={
        ".conv2(self.activation(self.conv1(x.transpose(1, 2)))).transpose(1, 2)": ".conv2(self.activation(self.conv1(x.transpose(0, 1)))).transpose(0, 1)"
    },
)
ffn_as_conv1d.slip(
    "weight_without_kernel_dimension",
    "A linear weight [out, in] does not fit a convolution's [out, in, 1]: the dimension of the kernel is missing. `unsqueeze(-1)` adds it.",
    replace={".linear1.weight.unsqueeze(-1)": ".linear1.weight", ".linear2.weight.unsqueeze(-1)": ".linear2.weight"},
)
ffn_as_conv1d.slip(
    "flat_weight_as_data",
    "The convolution's weight was replaced by a linear one, [out, in]. It needs a third dimension, that of the kernel: [out, in, 1].",
    of="shared_parameters",
    replace={
        (
            "self.conv1.weight = nn.Parameter(ffn.linear1.weight[:, :, None])\n"
            "self.conv2.weight = nn.Parameter(ffn.linear2.weight[:, :, None])\n"
            "self.conv1.bias, self.conv2.bias = …"
        ): (
            "self.conv1.weight.data = ffn.linear1.weight.data.clone()\n"
            "self.conv1.bias.data = ffn.linear1.bias.data.clone()\n"
            "self.conv2.weight.data = ffn.linear2.weight.data.clone()\n"
            "self.conv2.bias.data = ffn.linear2.bias.data.clone()"
        )
    },
)
ffn_as_conv1d.slip(
    "tensor_assigned_as_parameter",
    "A parameter can't be replaced by a plain tensor, and `unsqueeze` makes one. Copy under `torch.no_grad()`, or wrap it in `nn.Parameter`.",
    of="shared_parameters",
    replace={
        (
            "self.conv1.weight = nn.Parameter(ffn.linear1.weight[:, :, None])\n"
            "self.conv2.weight = nn.Parameter(ffn.linear2.weight[:, :, None])\n"
            "self.conv1.bias, self.conv2.bias = …"
        ): (
            "self.conv1.weight = ffn.linear1.weight.unsqueeze(-1)\n"
            "self.conv1.bias = ffn.linear1.bias\n"
            "self.conv2.weight = ffn.linear2.weight.unsqueeze(-1)\n"
            "self.conv2.bias = ffn.linear2.bias"
        )
    },
)
ffn_as_conv1d.slip(
    "copied_with_gradient",
    "Copying into a parameter is an operation that autograd refuses. Do it under `torch.no_grad()`.",
    of="shared_parameters",
    replace={
        (
            "self.conv1.weight = nn.Parameter(ffn.linear1.weight[:, :, None])\n"
            "self.conv2.weight = nn.Parameter(ffn.linear2.weight[:, :, None])\n"
            "self.conv1.bias, self.conv2.bias = …"
        ): (
            "self.conv1.weight.copy_(ffn.linear1.weight.unsqueeze(-1))\n"
            "self.conv1.bias.copy_(ffn.linear1.bias)\n"
            "self.conv2.weight.copy_(ffn.linear2.weight.unsqueeze(-1))\n"
            "self.conv2.bias.copy_(ffn.linear2.bias)"
        )
    },
)
ffn_as_conv1d.slip(
    "channels_swapped",
    "Channels in and out are exchanged: `nn.Conv1d` takes the number of input channels first. The first convolution goes from d_model to d_ff.",
    replace={
        ".Conv1d(d_model, d_ff, kernel_size=1)": ".Conv1d(d_ff, d_model, 1)",
        ".Conv1d(d_ff, d_model, kernel_size=1)": ".Conv1d(d_model, d_ff, 1)",
    },
)
ffn_as_conv1d.slip(
    "weights_transposed",
    "The weights are transposed. A linear layer and a convolution both store [out, in, …]: only a dimension is added.",
    replace={
        ".Conv1d(d_model, d_ff, kernel_size=1)": ".Conv1d(d_model, d_ff, 1)",
        ".Conv1d(d_ff, d_model, kernel_size=1)": ".Conv1d(d_ff, d_model, 1)",
        "ffn.linear1.weight.unsqueeze": "ffn.linear1.weight.T.unsqueeze",
        "ffn.linear2.weight.unsqueeze": "ffn.linear2.weight.T.unsqueeze",
    },
)
ffn_as_conv1d.slip(
    "each_others_weights",
    "Each convolution got the other one's weights, reshaped until they fitted. conv1 does what linear1 does, conv2 what linear2 does.",
    replace={
        ".linear1.weight.unsqueeze(-1)": ".linear2.weight.reshape(d_ff, d_model, 1)",
        ".linear2.weight.unsqueeze(-1)": ".linear1.weight.reshape(d_model, d_ff, 1)",
    },
)
KERNEL_3 = (
    "The kernel has size 3: each output looks at a token and both of its neighbours. An FFN looks at one token alone."
)
ffn_as_conv1d.slip(
    "kernel_3",
    KERNEL_3,
    replace={
        ".Conv1d(d_model, d_ff, kernel_size=1)": ".Conv1d(d_model, d_ff, kernel_size=3, padding=1)",
        ".Conv1d(d_ff, d_model, kernel_size=1)": ".Conv1d(d_ff, d_model, kernel_size=3, padding=1)",
    },
)
ffn_as_conv1d.slip(
    "kernel_3_without_padding",
    replace={
        ".Conv1d(d_model, d_ff, kernel_size=1)": ".Conv1d(d_model, d_ff, kernel_size=3)",
        ".Conv1d(d_ff, d_model, kernel_size=1)": ".Conv1d(d_ff, d_model, kernel_size=3)",
    },
    form_of="kernel_3",
)
ffn_as_conv1d.slip(
    "kernel_3_around_zeros",
    "The kernel has size 3, and a window of one token is enough. The values are right because the weights of both neighbours are 0, but there are "
    "three times as many weights.",
    of="kernel_3",
    replace={
        (
            "self.conv1.weight.copy_(ffn.linear1.weight.unsqueeze(-1))\n"
            "self.conv1.bias.copy_(ffn.linear1.bias)\n"
            "self.conv2.weight.copy_(ffn.linear2.weight.unsqueeze(-1))\n"
            "self.conv2.bias.copy_(ffn.linear2.bias)"
        ): (
            "for conv, linear in ((self.conv1, ffn.linear1), (self.conv2, ffn.linear2)):\n"
            "    conv.weight.zero_()\n"
            "    conv.weight[:, :, 1] = linear.weight\n"
            "    conv.bias.copy_(linear.bias)"
        )
    },
)
ffn_as_conv1d.slip(
    "padded",
    "With kernel size 1 there is nothing to pad: `padding=1` adds a token of zeros at either end of the sequence.",
    replace={".Conv1d(d_model, d_ff, kernel_size=1)": ".Conv1d(d_model, d_ff, kernel_size=1, padding=1)"},
)
ffn_as_conv1d.slip(
    "without_biases",
    "The convolutions have no biases. The FFN has two, and `nn.Conv1d` has one unless told otherwise.",
    replace={
        ".Conv1d(d_model, d_ff, kernel_size=1)": ".Conv1d(d_model, d_ff, 1, bias=False)",
        ".Conv1d(d_ff, d_model, kernel_size=1)": ".Conv1d(d_ff, d_model, 1, bias=False)",
        "self.conv1.bias.copy_(ffn.linear1.bias)": "",
        "self.conv2.bias.copy_(ffn.linear2.bias)": "",
    },
)
ffn_as_conv1d.slip(
    "without_first_bias",
    "The first convolution has no bias. `linear1` has one, and it comes before the bend.",
    replace={
        ".Conv1d(d_model, d_ff, kernel_size=1)": ".Conv1d(d_model, d_ff, 1, bias=False)",
        ".Conv1d(d_ff, d_model, kernel_size=1)": ".Conv1d(d_ff, d_model, 1)",
        "self.conv1.bias.copy_(ffn.linear1.bias)": "",
    },
)
ffn_as_conv1d.slip(
    "without_second_bias",
    "The second convolution has no bias. `linear2` has one: it is added to every token's output.",
    replace={
        ".Conv1d(d_model, d_ff, kernel_size=1)": ".Conv1d(d_model, d_ff, 1)",
        ".Conv1d(d_ff, d_model, kernel_size=1)": ".Conv1d(d_ff, d_model, 1, bias=False)",
        "self.conv2.bias.copy_(ffn.linear2.bias)": "",
    },
)
ffn_as_conv1d.slip(
    "biases_not_copied",
    "The weights are those of the FFN, the biases are still the random ones of `nn.Conv1d`. Copy all four.",
    replace={"self.conv1.bias.copy_(ffn.linear1.bias)": "", "self.conv2.bias.copy_(ffn.linear2.bias)": ""},
)
ffn_as_conv1d.slip(
    "nothing_copied",
    "The convolutions have the right shapes and random weights: nothing was copied from the FFN.",
    of="shared_parameters",
    replace={
        (
            "self.conv1.weight = nn.Parameter(ffn.linear1.weight[:, :, None])\n"
            "self.conv2.weight = nn.Parameter(ffn.linear2.weight[:, :, None])\n"
            "self.conv1.bias, self.conv2.bias = …"
        ): ""
    },
)
ffn_as_conv1d.slip(
    "activation_missing",
    "The activation is missing: two convolutions in a row are one. Where does the FFN bend?",
    replace={".activation(self.conv1(x.transpose(1, 2)))": ".conv1(x.transpose(1, 2))"},
)
ffn_as_conv1d.slip(
    "activation_too_late",
    "The activation comes after the second convolution. It belongs between the two, on the d_ff channels.",
    replace={
        ".conv2(self.activation(self.conv1(x.transpose(1, 2))))": ".activation(self.conv2(self.conv1(x.transpose(1, 2))))"
    },
)
ffn_as_conv1d.slip(
    "residual",
    "x is added to the output. The residual connection goes around the FFN, not inside; the module should equal ffn.",
    replace={"return self.conv2": "return x + self.conv2"},
)
ffn_as_conv1d.slip(
    "function_in_sequential",
    "`nn.Sequential` takes modules only, and `ffn.activation` is a function. Call it in `forward`, or use `nn.ReLU()`.",
    of="conv_holds_the_ffn",
    replace={
        "self.ffn = ffn": "self.net = nn.Sequential(nn.Conv1d(d_model, d_ff, 1), ffn.activation, nn.Conv1d(d_ff, d_model, 1))",
        "f = self.ffn\nh = …": "",
        "F.conv1d(h, f.linear2.weight.unsqueeze(2), f.linear2.bias).mT": "self.net(x.transpose(1, 2)).transpose(1, 2)",
    },
)
ffn_as_conv1d.slip(
    "the_ffn_itself",
    "No convolution takes place: the FFN's own linear layers do the work. Build it from two `nn.Conv1d`.",
    replace={"Conv()": "ffn"},
)
A_FUNCTION = "A function comes back. A module is asked for, which owns its parameters: an object of a class with `nn.Module` in brackets."
ffn_as_conv1d.slip("a_function", A_FUNCTION, replace={"Conv()": "Conv().forward"})
ffn_as_conv1d.slip("a_plain_function", replace={"Conv()": "lambda x: Conv()(x)"}, form_of="a_function")
ffn_as_conv1d.slip(
    "a_class", "The class comes back instead of an object of it: call it, with brackets.", replace={"Conv()": "Conv"}
)
ffn_as_conv1d.slip(
    "parameters_twice",
    "The module keeps the FFN besides its two convolutions, so every parameter is there twice. Copy what you need, and let go of ffn.",
    of="nothing_copied",
    replace={
        "self.activation = ffn.activation": (
            "self.activation = ffn.activation\n"
            "with torch.no_grad():\n"
            "    self.conv1.weight.copy_(ffn.linear1.weight.unsqueeze(-1))\n"
            "    self.conv1.bias.copy_(ffn.linear1.bias)\n"
            "    self.conv2.weight.copy_(ffn.linear2.weight.unsqueeze(-1))\n"
            "    self.conv2.bias.copy_(ffn.linear2.bias)\n"
            "self.ffn = ffn"
        )
    },
)
FROZEN = (
    "The weights are no parameters of the module, or are frozen: an optimiser would find nothing to train. "
    "Keep them as parameters, as `nn.Conv1d` makes them."
)
ffn_as_conv1d.slip("frozen", FROZEN, of="parameters_twice", replace={"self.ffn = ffn": "self.requires_grad_(False)"})
ffn_as_conv1d.slip(
    "plain_tensors",
    of="conv_holds_the_ffn",
    replace={
        "self.ffn = ffn": (
            "self.w1, self.b1 = ffn.linear1.weight.detach().unsqueeze(-1), ffn.linear1.bias.detach()\n"
            "self.w2, self.b2 = ffn.linear2.weight.detach().unsqueeze(-1), ffn.linear2.bias.detach()"
        ),
        "f = self.ffn\nh = …": "",
        "F.conv1d(h, f.linear2.weight.unsqueeze(2), f.linear2.bias)": "F.conv1d(torch.relu(F.conv1d(x.mT, self.w1, self.b1)), self.w2, self.b2)",
    },
    form_of="frozen",
)
ffn_as_conv1d.slip(
    "no_grad_in_forward",
    "`forward` computes under `torch.no_grad()`, or detaches: no gradient arrives. Copying needs that, computing must not.",
    replace={
        "return self.conv2(self.activation(self.conv1(x.transpose(1, 2)))).transpose(1, 2)": (
            "with torch.no_grad():\n"
            "    return self.conv2(self.activation(self.conv1(x.transpose(1, 2)))).transpose(1, 2)"
        )
    },
)
ffn_as_conv1d.slip(
    "ffn_taken_apart",
    "The FFN you were given is changed: its own weights got a third dimension. `.data =` on ffn works on the original; change your own layers only.",
    of="nothing_copied",
    replace={
        "self.activation = ffn.activation": (
            "self.activation = ffn.activation\n"
            "ffn.linear1.weight.data = ffn.linear1.weight.data.unsqueeze(-1)\n"
            "ffn.linear2.weight.data = ffn.linear2.weight.data.unsqueeze(-1)\n"
            "self.conv1.weight, self.conv1.bias = ffn.linear1.weight, ffn.linear1.bias\n"
            "self.conv2.weight, self.conv2.bias = ffn.linear2.weight, ffn.linear2.bias"
        )
    },
)
ffn_as_conv1d.slip(
    "conv_returns_nothing",
    "`forward` hands nothing back: it ends without a `return`. Is it finished?",
    replace={"return self.conv2": "self.conv2"},
)
ffn_as_conv1d.slip(
    "no_super_init",
    "`super().__init__()` is missing: it has to come first in `__init__`, before any layer is assigned.",
    replace={"super().__init__()": ""},
)
ffn_as_conv1d.slip("conv_not_handed_back", NO_RETURN, replace={"return Conv()": "Conv()"})


# residual_sublayer

residual_sublayer = Key(exercises.residual_sublayer)


@residual_sublayer.truth
def token_by_token(x, ffn, norm, mode):
    """One token at a time, with the norm's formula written out from its parameters."""

    def normed(v):
        mean = sum(v) / len(v)
        variance = sum((n - mean) ** 2 for n in v) / len(v)
        return (v - mean) / torch.sqrt(variance + norm.eps) * norm.weight + norm.bias

    rows = []
    for token in x.reshape(-1, x.shape[-1]):
        if mode == "pre":
            rows.append(token + ffn(normed(token)))
        elif mode == "post":
            rows.append(normed(token + ffn(token)))
        else:
            raise ValueError(mode)
    return torch.stack(rows).reshape(x.shape)


@residual_sublayer.right("if and else, with names for the parts")
def with_names(x, ffn, norm, mode):
    if mode == "pre":
        update = ffn(norm(x))
        return x + update
    if mode == "post":
        total = x + ffn(x)
        return norm(total)
    raise ValueError(f"unknown mode {mode}")


@residual_sublayer.right("one line each in a dict of functions")
def by_dict(x, ffn, norm, mode):
    return {"pre": lambda: ffn(norm(x)) + x, "post": lambda: norm(ffn(x) + x)}[mode]()


@residual_sublayer.right("in place on the fresh output of the FFN")
def in_place_on_fresh(x, ffn, norm, mode):
    out = ffn(norm(x)) if mode == "pre" else ffn(x)
    out += x
    if mode == "post":
        out = norm(out)
    return out


@residual_sublayer.right("match, and torch.add")
def with_match(x, ffn, norm, mode):
    match mode:
        case "pre":
            return torch.add(x, ffn(norm(x)))
        case "post":
            return norm(torch.add(x, ffn(x)))
        case _:
            raise ValueError("mode must be pre or post")


@residual_sublayer.mistake(
    "The two modes are exchanged. 'pre' says where the norm is: before the FFN. 'post': after the addition."
)
def exchanged(x, ffn, norm, mode):
    return norm(x + ffn(x)) if mode == "pre" else x + ffn(norm(x))


@residual_sublayer.mistake(
    "Both modes normalise the sum, so 'pre' is a second 'post'. In 'pre' the norm comes before the FFN, and the sum is left as it is."
)
def both_post(x, ffn, norm, mode):
    return norm(x + ffn(x))


@residual_sublayer.mistake(
    "Both modes normalise before the FFN, so 'post' is a second 'pre'. In 'post' the norm comes last, after the addition."
)
def both_pre(x, ffn, norm, mode):
    return x + ffn(norm(x))


@residual_sublayer.mistake(
    "In 'pre' the normalised x is added, not x itself: x + …, with the x that came in. That path without a norm is what pre-norm is for."
)
def residual_from_the_norm(x, ffn, norm, mode):
    if mode == "pre":
        x = norm(x)
        return x + ffn(x)
    return norm(x + ffn(x))


@residual_sublayer.mistake(
    "In 'post' the norm comes before the addition, on the FFN's output alone. The paper of 2017 normalises the sum: norm(x + …)."
)
def post_before_the_addition(x, ffn, norm, mode):
    return x + ffn(norm(x)) if mode == "pre" else x + norm(ffn(x))


@residual_sublayer.mistake(
    "In 'pre' the norm comes after the FFN, on its output. It belongs before: the FFN reads the normalised x."
)
def pre_behind_the_ffn(x, ffn, norm, mode):
    return x + norm(ffn(x)) if mode == "pre" else norm(x + ffn(x))


@residual_sublayer.mistake(
    "In 'post' x is normalised alone, and the FFN's output comes on top as it is. The paper of 2017 normalises the sum of the two."
)
def post_on_x_alone(x, ffn, norm, mode):
    return x + ffn(norm(x)) if mode == "pre" else norm(x) + ffn(x)


@residual_sublayer.mistake(
    "In 'post' x is added once more after the norm, so it is there twice. Add, then normalise, and that is all."
)
def post_with_x_twice(x, ffn, norm, mode):
    return x + ffn(norm(x)) if mode == "pre" else x + norm(x + ffn(x))


@residual_sublayer.mistake(
    "In 'pre' x is added before the FFN, to what it reads. The residual goes around the FFN: x is added to what the FFN says."
)
def added_before_the_ffn(x, ffn, norm, mode):
    return ffn(x + norm(x)) if mode == "pre" else norm(x + ffn(x))


@residual_sublayer.mistake("The residual connection is missing in both modes: x must be added to what the FFN says.")
def no_residual(x, ffn, norm, mode):
    return ffn(norm(x)) if mode == "pre" else norm(ffn(x))


@residual_sublayer.mistake("In 'pre' the residual connection is missing: x must be added to what the FFN says.")
def no_residual_in_pre(x, ffn, norm, mode):
    return ffn(norm(x)) if mode == "pre" else norm(x + ffn(x))


@residual_sublayer.mistake("In 'post' the residual connection is missing: x must be added before the norm.")
def no_residual_in_post(x, ffn, norm, mode):
    return x + ffn(norm(x)) if mode == "pre" else norm(ffn(x))


@residual_sublayer.mistake("The norm is missing in both modes: x + FFN(x) alone is the residual connection.")
def no_norm(x, ffn, norm, mode):
    return x + ffn(x)


@residual_sublayer.mistake("In 'pre' the norm is missing: the FFN reads x as it is. It should read the normalised x.")
def no_norm_in_pre(x, ffn, norm, mode):
    return x + ffn(x) if mode == "pre" else norm(x + ffn(x))


@residual_sublayer.mistake("In 'post' the norm is missing: it comes last, after the sum.")
def no_norm_in_post(x, ffn, norm, mode):
    return x + ffn(norm(x)) if mode == "pre" else x + ffn(x)


@residual_sublayer.mistake(
    "In 'pre' the sum is normalised as well. One norm a sub-layer: in 'pre' it comes before the FFN, and nothing follows the addition."
)
def normed_twice(x, ffn, norm, mode):
    return norm(x + ffn(norm(x))) if mode == "pre" else norm(x + ffn(x))


@residual_sublayer.mistake(
    "In 'post' the FFN gets a normalised x as well. In the form of 2017 it reads x as it is; one norm a sub-layer, after the addition."
)
def post_with_two_norms(x, ffn, norm, mode):
    return x + ffn(norm(x)) if mode == "pre" else norm(x + ffn(norm(x)))


@residual_sublayer.mistake(
    "x is normalised over the tokens, by hand. Use the `norm` you were handed: it works on each token's own numbers."
)
def over_the_tokens(x, ffn, norm, mode):
    def normed(v):
        return (v - v.mean(-2, keepdim=True)) / (v.std(-2, keepdim=True) + 1e-5)

    return x + ffn(normed(x)) if mode == "pre" else normed(x + ffn(x))


@residual_sublayer.mistake(
    "A new norm is made, with gain 1 and bias 0. Use the `norm` you were handed: its gain and bias have been learned."
)
def own_norm(x, ffn, norm, mode):
    fresh = nn.LayerNorm(x.shape[-1]).to(x.dtype)
    return x + ffn(fresh(x)) if mode == "pre" else fresh(x + ffn(x))


residual_sublayer.slip(
    "functional_norm",
    of=over_the_tokens,
    replace={"(v - v.mean(-2, keepdim=True)) / (v.std(-2, keepdim=True) + 1e-5)": "F.layer_norm(v, v.shape[-1:])"},
    form_of=own_norm,
)


@residual_sublayer.mistake(
    "x itself is changed: `x += …` writes into the caller's tensor. `x = x + …` makes a new one."
)
def x_changed(x, ffn, norm, mode):
    if mode == "pre":
        x += ffn(norm(x))
        return x
    x += ffn(x)
    return norm(x)


@residual_sublayer.mistake(
    "The x that is added is detached. The values are right, but the gradient loses its direct path, which is what the residual is for."
)
def residual_detached(x, ffn, norm, mode):
    return x.detach() + ffn(norm(x)) if mode == "pre" else norm(x.detach() + ffn(x))


@residual_sublayer.mistake(
    "Nothing comes back, in either mode. Is the last line a `return`? Is the mode compared with 'pre' and 'post', in these letters?"
)
def other_words(x, ffn, norm, mode):
    if mode == "pre-norm":
        return x + ffn(norm(x))
    elif mode == "post-norm":
        return norm(x + ffn(x))


@residual_sublayer.mistake("For 'post' nothing comes back: only 'pre' reaches a `return`.")
def nothing_for_post(x, ffn, norm, mode):
    if mode == "pre":
        return x + ffn(norm(x))


@residual_sublayer.mistake("For 'pre' nothing comes back: only 'post' reaches a `return`.")
def nothing_for_pre(x, ffn, norm, mode):
    if mode == "post":
        return norm(x + ffn(x))


@residual_sublayer.mistake(
    "Both modes are refused, by an exception of your own. They are 'pre' and 'post', in these letters."
)
def refuses_both(x, ffn, norm, mode):
    if mode == "pre-norm":
        return x + ffn(norm(x))
    if mode == "post-norm":
        return norm(x + ffn(x))
    raise ValueError(mode)


@residual_sublayer.mistake("Both outputs come back, as a pair. The argument `mode` says which one is asked for.")
def both_at_once(x, ffn, norm, mode):
    return x + ffn(norm(x)), norm(x + ffn(x))


@residual_sublayer.mistake("What the FFN says is multiplied with x. A residual is a sum.")
def multiplied(x, ffn, norm, mode):
    return x * ffn(norm(x)) if mode == "pre" else norm(x * ffn(x))


# bottleneck_rank

bottleneck_rank = Key(exercises.bottleneck_rank)


@bottleneck_rank.truth
def by_turning_columns(ffn, X):
    """Hestenes 1958, in float64, on what the neurons write: pairs of columns are turned until all are orthogonal. Their lengths are the singular values."""
    hidden = X.double() @ ffn.linear1.weight.double().T + ffn.linear1.bias.double()
    written = (torch.relu(hidden) @ ffn.linear2.weight.double().T).detach()
    columns = list(written.T)
    for _ in range(30):
        turned = False
        for i in range(len(columns)):
            for j in range(i):
                one, other = columns[i], columns[j]
                a, b, c = float(one @ one), float(other @ other), float(one @ other)
                if abs(c) <= 1e-15 * (a * b) ** 0.5:
                    continue
                angle = 0.5 * math.atan2(2 * c, a - b)
                columns[i] = math.cos(angle) * one + math.sin(angle) * other
                columns[j] = math.cos(angle) * other - math.sin(angle) * one
                turned = True
        if not turned:
            break
    lengths = [float(column.norm()) for column in columns]
    return sum(length > 1e-6 * max(lengths) for length in lengths)


@bottleneck_rank.right("singular values, with a relative tolerance")
def by_svd(ffn, X):
    with torch.no_grad():
        s = torch.linalg.svdvals(ffn(X) - ffn.linear2.bias)
    return int((s > 1e-6 * s[0]).sum())


@bottleneck_rank.right("what the neurons write, without ever adding b2")
def without_adding_b2(ffn, X):
    written = ffn.activation(ffn.linear1(X)) @ ffn.linear2.weight.T
    return torch.linalg.matrix_rank(written, rtol=1e-6).item()


@bottleneck_rank.right("a 0-d tensor as the answer")
def a_tensor(ffn, X):
    out = ffn(X).detach() - ffn.linear2.bias.detach()
    return torch.linalg.matrix_rank(out, rtol=1e-6)


@bottleneck_rank.right("numpy's singular values")
def with_numpy(ffn, X):
    import numpy as np

    out = (ffn(X) - ffn.linear2.bias).detach().numpy()
    s = np.linalg.svd(out, compute_uv=False)
    return int((s > s.max() * 1e-6).sum())


@bottleneck_rank.right("the eigenvalues of the d × d product, in float64")
def by_eigenvalues(ffn, X):
    out = (ffn(X) - ffn.linear2.bias).detach().double()
    size = out.abs().max()
    if size == 0:
        return 0
    values = torch.linalg.eigvalsh(out.T @ out / size**2)
    return int((values > 1e-12 * values.max()).sum())


@bottleneck_rank.mistake(
    "b2 is still in the output. It shifts all rows by the same vector, which counts as a direction of its own. Subtract it first."
)
def b2_not_subtracted(ffn, X):
    return int(torch.linalg.matrix_rank(ffn(X), rtol=1e-6))


@bottleneck_rank.mistake(
    "The mean row is subtracted instead of b2. Part of what the neurons write goes with it, and of a few inputs "
    "one is lost. b2 is what does not come from neurons."
)
def mean_subtracted(ffn, X):
    out = ffn(X)
    return int(torch.linalg.matrix_rank(out - out.mean(0), rtol=1e-6))


@bottleneck_rank.mistake(
    "This is the rank of the weights, the most that is possible. Few inputs, or neurons that never fire, leave less: look at the output for the given X."
)
def rank_of_the_weights(ffn, X):
    return int(torch.linalg.matrix_rank(ffn.linear2.weight @ ffn.linear1.weight))


@bottleneck_rank.form(rank_of_the_weights)
def smaller_width(ffn, X):
    d_ff, d_model = ffn.linear1.weight.shape
    return min(d_ff, d_model)


@bottleneck_rank.mistake(
    "This is d_ff, the number of hidden neurons. It is only a bound: the output can't have more than d_model "
    "directions, nor more than there are inputs, or neurons that fire."
)
def number_of_neurons(ffn, X):
    return ffn.linear1.out_features


@bottleneck_rank.mistake(
    "This is min(N, d_model, d_ff), the most that is possible. Neurons that never fire write nothing: count the directions in the output."
)
def smallest_size(ffn, X):
    return min(*X.shape, ffn.linear1.out_features)


@bottleneck_rank.mistake(
    "This is the rank of X. The bottleneck can lower it, and the bend can raise it: look at the output."
)
def rank_of_X(ffn, X):
    return int(torch.linalg.matrix_rank(X, rtol=1e-6))


@bottleneck_rank.mistake(
    "This is the rank of the hidden layer, or the number of its neurons that fire. With d_ff above d_model it exceeds what the d_model outputs can "
    "hold: go on through linear2."
)
def rank_of_the_hidden_layer(ffn, X):
    return int(torch.linalg.matrix_rank(ffn.activation(ffn.linear1(X)), rtol=1e-6))


@bottleneck_rank.mistake(
    "The activation is missing, so this is the rank of a straight network: neurons that never fire are counted as if they did."
)
def without_activation(ffn, X):
    hidden = ffn.linear1(X) - ffn.linear1.bias
    return int(torch.linalg.matrix_rank(hidden @ ffn.linear2.weight.T, rtol=1e-6))


@bottleneck_rank.mistake(
    "Every singular value above zero is counted. Rounding leaves tiny ones where there should be none: compare with a millionth of the largest."
)
def all_above_zero(ffn, X):
    return int((torch.linalg.svdvals(ffn(X) - ffn.linear2.bias) > 0).sum())


@bottleneck_rank.mistake(
    "The tolerance is an absolute number. With smaller or larger weights it cuts too much or too little: compare with the largest singular value."
)
def absolute_tolerance(ffn, X):
    return int((torch.linalg.svdvals(ffn(X) - ffn.linear2.bias) > 1e-3).sum())


@bottleneck_rank.form(absolute_tolerance)
def absolute_millionth(ffn, X):
    return int((torch.linalg.svdvals(ffn(X) - ffn.linear2.bias) > 1e-6).sum())


@bottleneck_rank.form(absolute_tolerance)
def atol_of_matrix_rank(ffn, X):
    return int(torch.linalg.matrix_rank(ffn(X) - ffn.linear2.bias, atol=1e-6))


@bottleneck_rank.mistake(
    "The output was computed in float32 and made float64 afterwards. That keeps the rounding, and the default tolerance of float64 "
    "counts it as directions. What counts as zero here is a millionth of the largest: `rtol=1e-6`."
)
def float64_too_late(ffn, X):
    return int(torch.linalg.matrix_rank((ffn(X) - ffn.linear2.bias).double()))


@bottleneck_rank.mistake(
    "What is less than a millionth of the largest singular value is counted. The default tolerance of `matrix_rank` is made for rounding alone: in "
    "float64 it lies at a hundred-millionth of a millionth. Say yours with `rtol`."
)
def default_tolerance(ffn, X):
    return int(torch.linalg.matrix_rank(ffn(X) - ffn.linear2.bias))


@bottleneck_rank.mistake(
    "Directions that are weak, and real, are taken for zero: the tolerance is larger than a millionth of the largest singular value."
)
def tolerance_too_large(ffn, X):
    s = torch.linalg.svdvals(ffn(X) - ffn.linear2.bias)
    return int((s > 1e-4 * s[0]).sum())


@bottleneck_rank.form(tolerance_too_large)
def percents_alone(ffn, X):
    s = torch.linalg.svdvals(ffn(X) - ffn.linear2.bias)
    return int((s > 1e-3 * s.sum()).sum())


@bottleneck_rank.mistake(
    "Where no neuron fires, all singular values are 0, and so is a millionth of the largest: `>=` counts them all. What is written has to be larger."
)
def not_less_than_nothing(ffn, X):
    s = torch.linalg.svdvals(ffn(X) - ffn.linear2.bias)
    return int((s >= 1e-6 * s[0]).sum())


@bottleneck_rank.mistake(
    "This is min(N, d_model), as much as an output can have. Are singular values counted that are zero up to rounding? Is X added? "
    "The residual, whose rank is that of X, goes around the FFN."
)
def number_of_singular_values(ffn, X):
    return len(torch.linalg.svdvals(ffn(X) - ffn.linear2.bias))


@bottleneck_rank.form(number_of_singular_values)
def with_the_residual(ffn, X):
    return int(torch.linalg.matrix_rank(X + ffn(X) - ffn.linear2.bias, rtol=1e-6))


@bottleneck_rank.mistake(
    "numpy takes no tensor that carries a graph: `.detach()` cuts it off, or compute under `torch.no_grad()`."
)
def numpy_with_a_graph(ffn, X):
    import numpy as np

    return int(np.linalg.matrix_rank(ffn(X) - ffn.linear2.bias))


@bottleneck_rank.mistake("The rank is a float here. It counts something: make it an int.")
def a_float(ffn, X):
    return float(torch.linalg.matrix_rank(ffn(X) - ffn.linear2.bias, rtol=1e-6))


@bottleneck_rank.mistake(
    "The FFN you were given is changed: b2 is gone, for whoever uses the FFN next. Subtract it from the output instead."
)
def b2_set_to_zero(ffn, X):
    ffn.linear2.bias.data.zero_()
    return int(torch.linalg.matrix_rank(ffn(X), rtol=1e-6))


@bottleneck_rank.form(b2_set_to_zero)
def b2_removed(ffn, X):
    ffn.linear2.bias = None
    return int(torch.linalg.matrix_rank(ffn(X), rtol=1e-6))


@bottleneck_rank.mistake(
    "b1 is subtracted, or the wrong bias: the one that every output row contains is `ffn.linear2.bias`, with d_model numbers."
)
def b1_subtracted(ffn, X):
    return int(torch.linalg.matrix_rank(ffn(X) - ffn.linear1.bias, rtol=1e-6))


@bottleneck_rank.mistake(
    "The singular values themselves come back. The rank is how many of them are not zero, up to rounding."
)
def the_singular_values(ffn, X):
    return torch.linalg.svdvals(ffn(X) - ffn.linear2.bias)


@bottleneck_rank.mistake(NO_RETURN)
def rank_not_returned(ffn, X):
    int(torch.linalg.matrix_rank(ffn(X) - ffn.linear2.bias, rtol=1e-6))


# Questions

quiz_equivariant = question(
    exercises.quiz_equivariant,
    right="B",
    wrong={
        "A": "That would be invariance: outputs that do not notice the order at all. Here each output moves along with its token.",
        "C": "An FFN does not know the positions, so it can't treat a token differently at another place. The outputs are the old ones, in a new order.",
    },
)

quiz_kernel = question(
    exercises.quiz_kernel,
    right="A",
    wrong={
        "B": "It could, with zeros for both neighbours; with any other weights an output would depend on three tokens. A smaller window is enough.",
        "C": "It could, with zeros everywhere but one place; with any other weights an output would depend on several tokens. And the kernel would "
        "have to grow with the sequence. A smaller window is enough.",
    },
)

quiz_shared = question(
    exercises.quiz_shared,
    right="C",
    wrong={
        "A": "All positions share the weights of one layer's FFN, but each layer of a Transformer has weights of its own. `[ffn] * 6` has one set for all six.",
        "B": "A list is not a copy: `[ffn] * 6` holds the same object six times. Six different ones need six calls of the constructor.",
    },
)
