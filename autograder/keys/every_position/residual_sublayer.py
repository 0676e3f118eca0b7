"""What is right, and what goes wrong, in `residual_sublayer` of notebook 04."""

from __future__ import annotations

import torch
from torch import nn

from autograder.keys.key import Key
from ffnlab.course.exercises import every_position as exercises

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


@residual_sublayer.mistake("The FFN's output is multiplied by x. A residual is a sum.")
def multiplied(x, ffn, norm, mode):
    return x * ffn(norm(x)) if mode == "pre" else norm(x * ffn(x))
