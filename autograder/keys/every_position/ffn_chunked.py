"""What is right, and what goes wrong, in `ffn_chunked` of notebook 04."""

from __future__ import annotations

import math

import torch
import torch.nn.functional as F

from autograder.keys.key import Key
from ffnlab.course.exercises import every_position as exercises

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


ffn_chunked.slips("""
of padded
in
  - tokens = x.reshape(-1, x.shape[-1])
  - filled = F.pad(tokens, (0, 0, 0, -len(tokens) % c))
  - out = torch.cat([ffn(filled[i : i + c]) for i in range(0, len(filled), c)])
  - return out[: len(tokens)].reshape(x.shape)
one_call_for_all: return ffn(x)
    Too many tokens go through at a time: all in one call, or in parts whose size is not `c`. No more than c of them may be in the hidden layer at a
    time.
c_positions_of_all_sentences
  + if x.ndim == 1:
  +     return ffn(x)
  + return torch.cat([ffn(chunk) for chunk in x.split(c, dim=-2)], dim=-2)
    Each chunk has c **positions**, of all sentences at once: with B sentences these are B·c tokens. Make one long list of tokens first, and cut that.
| c_positions_sliced: return torch.cat([ffn(x[..., i : i + c, :]) for i in range(0, x.shape[-2], c)], dim=-2)
chunks_of_neurons
  + out = ffn.linear2.bias
  + for j in range(0, ffn.linear1.out_features, c):
  +     hidden = ffn.activation(F.linear(x, ffn.linear1.weight[j : j + c], ffn.linear1.bias[j : j + c]))
  +     out = out + F.linear(hidden, ffn.linear2.weight[:, j : j + c])
  + return out
    The **neurons** are cut into chunks, and each chunk of them sees all tokens. That saves memory, too, but the exercise asks for chunks of tokens,
    with all d_ff neurons at work.
list_of_chunks: return [ffn(chunk) for chunk in x.reshape(-1, x.shape[-1]).split(c)]
    A list of chunks comes back. Put them together, with `torch.cat`, and give the result the shape of x.
chunks_viewed
  + tokens = x.view(-1, x.shape[-1])
  + return torch.cat([ffn(chunk) for chunk in tokens.split(c)]).view(x.shape)
    `.view` refuses an x whose memory is not in order, such as a transposed one. `.reshape` copies where it must.
sentences_cut: return torch.cat([ffn(part) for part in x.split(c, dim=0)])
    x is cut along its first dimension. Of x [B, T, d_model] these are sentences, not tokens: it has B·T tokens. Lay them under each other first.
in
  - filled = F.pad(tokens, (0, 0, 0, -len(tokens) % c))
  - out = torch.cat([ffn(filled[i : i + c]) for i in range(0, len(filled), c)])
  - return out[: len(tokens)].reshape(x.shape)
c_chunks: return torch.cat([ffn(chunk) for chunk in tokens.chunk(c)]).reshape(x.shape)
    There are c chunks, and each is larger than c. `chunk(c)` says how **many** pieces are made; `split(c)` says how **large** they are.
cut_after_the_call: return torch.cat([ffn(tokens)[i : i + c] for i in range(0, len(tokens), c)]).reshape(x.shape)
    For each chunk the FFN works on all of x, and all but c tokens are thrown away. So the hidden layer is as large as ever, again and again: cut
    first, then call.
hidden_rows_collected
  + hidden = [ffn.activation(ffn.linear1(chunk)) for chunk in tokens.split(c)]
  + return torch.cat([ffn.linear2(h) for h in hidden]).reshape(x.shape)
    The hidden rows of all chunks are collected first, and `linear2` comes afterwards: so in the end all of them are there at once. Finish each chunk
    before the next one begins.
| hidden_rows_put_together
  - tokens = x.reshape(-1, x.shape[-1])
  - filled = F.pad(tokens, (0, 0, 0, -len(tokens) % c))
  - out = torch.cat([ffn(filled[i : i + c]) for i in range(0, len(filled), c)])
  - return out[: len(tokens)].reshape(x.shape)
  + hidden = []
  + for chunk in x.reshape(-1, x.shape[-1]).split(c):
  +     hidden.append(ffn.activation(ffn.linear1(chunk)))
  + return ffn.linear2(torch.cat(hidden)).reshape(x.shape)
last_chunk_missing
  + out = [ffn(tokens[i * c : (i + 1) * c]) for i in range(len(tokens) // c)]
  + return torch.cat(out).reshape(x.shape)
    The last chunk is missing: c does not divide the number of tokens, and what is left over has to go in as well, as a shorter chunk.
| last_chunk_left_at_zero
  + out = torch.zeros_like(tokens)
  + for i in range(len(tokens) // c):
  +     out[i * c : (i + 1) * c] = ffn(tokens[i * c : (i + 1) * c])
  + return out.reshape(x.shape)
a_token_short
  + out = [ffn(tokens[i : i + c - 1]) for i in range(0, len(tokens), c)]
  + return torch.cat(out).reshape(x.shape)
    The last token of each chunk is lost. A slice `[i : i + c]` ends before i + c, so it has c entries as it is: nothing is to be subtracted.
stacked: return torch.stack([ffn(chunk) for chunk in tokens.split(c)]).reshape(x.shape)
    `torch.stack` wants pieces of one size, and the last chunk is shorter. `torch.cat` puts pieces of any length under each other.
list_of_tokens: return torch.cat([ffn(chunk) for chunk in tokens.split(c)])
    The result is one long list of tokens, [N, d_model]. It should have the shape of x: `.reshape(x.shape)` folds it back.
chunks_cut_off
  + with torch.no_grad():
  +     return torch.cat([ffn(chunk) for chunk in tokens.split(c)]).reshape(x.shape)
    The values are right, but what comes back is cut off from the graph, by `torch.no_grad()` or `.detach()`. Chunks save memory while a model is
    used; here one must be able to train through them as well.
chunks_in_float32
  + out = torch.zeros(tokens.shape)
  + for i in range(0, len(tokens), c):
  +     out[i : i + c] = ffn(tokens[i : i + c])
  + return out.reshape(x.shape)
    The result is float32, whatever came in, because a fresh `torch.zeros(...)` is. `torch.empty_like(x)` has the dtype of x.
""")
