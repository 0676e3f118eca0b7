"""What is right, and what goes wrong, in `residual_sublayer` of notebook 04."""

from __future__ import annotations

import torch

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
    "x is normalised over the tokens, by hand. Use the `norm` you were handed: it works on each token's own numbers."
)
def over_the_tokens(x, ffn, norm, mode):
    def normed(v):
        return (v - v.mean(-2, keepdim=True)) / (v.std(-2, keepdim=True) + 1e-5)

    return x + ffn(normed(x)) if mode == "pre" else normed(x + ffn(x))


residual_sublayer.slips("""
of by_dict
in return {"pre": lambda: ffn(norm(x)) + x, "post": lambda: norm(ffn(x) + x)}[mode]()
exchanged: return norm(x + ffn(x)) if mode == "pre" else x + ffn(norm(x))
    The two modes are exchanged. 'pre' says where the norm is: before the FFN. 'post': after the addition.
both_post: return norm(x + ffn(x))
    Both modes normalise the sum, so 'pre' is a second 'post'. In 'pre' the norm comes before the FFN, and the sum is left as it is.
both_pre: return x + ffn(norm(x))
    Both modes normalise before the FFN, so 'post' is a second 'pre'. In 'post' the norm comes last, after the addition.
residual_from_the_norm
  + if mode == "pre":
  +     x = norm(x)
  +     return x + ffn(x)
  + return norm(x + ffn(x))
    In 'pre' the normalised x is added, not x itself: x + …, with the x that came in. That path without a norm is what pre-norm is for.
post_before_the_addition: return x + ffn(norm(x)) if mode == "pre" else x + norm(ffn(x))
    In 'post' the norm comes before the addition, on the FFN's output alone. The paper of 2017 normalises the sum: norm(x + …).
pre_behind_the_ffn: return x + norm(ffn(x)) if mode == "pre" else norm(x + ffn(x))
    In 'pre' the norm comes after the FFN, on its output. It belongs before: the FFN reads the normalised x.
post_on_x_alone: return x + ffn(norm(x)) if mode == "pre" else norm(x) + ffn(x)
    In 'post' x is normalised alone, and the FFN's output comes on top as it is. The paper of 2017 normalises the sum of the two.
post_with_x_twice: return x + ffn(norm(x)) if mode == "pre" else x + norm(x + ffn(x))
    In 'post' x is added once more after the norm, so it is there twice. Add, then normalise, and that is all.
added_before_the_ffn: return ffn(x + norm(x)) if mode == "pre" else norm(x + ffn(x))
    In 'pre' x is added before the FFN, to what it reads. The residual goes around the FFN: x is added to what the FFN says.
no_residual: return ffn(norm(x)) if mode == "pre" else norm(ffn(x))
    The residual connection is missing in both modes: x must be added to what the FFN says.
no_residual_in_pre: return ffn(norm(x)) if mode == "pre" else norm(x + ffn(x))
    In 'pre' the residual connection is missing: x must be added to what the FFN says.
no_residual_in_post: return x + ffn(norm(x)) if mode == "pre" else norm(ffn(x))
    In 'post' the residual connection is missing: x must be added before the norm.
no_norm: return x + ffn(x)
    The norm is missing in both modes: x + FFN(x) alone is the residual connection.
no_norm_in_pre: return x + ffn(x) if mode == "pre" else norm(x + ffn(x))
    In 'pre' the norm is missing: the FFN reads x as it is. It should read the normalised x.
no_norm_in_post: return x + ffn(norm(x)) if mode == "pre" else x + ffn(x)
    In 'post' the norm is missing: it comes last, after the sum.
normed_twice: return norm(x + ffn(norm(x))) if mode == "pre" else norm(x + ffn(x))
    In 'pre' the sum is normalised as well. One norm a sub-layer: in 'pre' it comes before the FFN, and nothing follows the addition.
post_with_two_norms: return x + ffn(norm(x)) if mode == "pre" else norm(x + ffn(norm(x)))
    In 'post' the FFN gets a normalised x as well. In the form of 2017 it reads x as it is; one norm a sub-layer, after the addition.
own_norm
  + fresh = nn.LayerNorm(x.shape[-1]).to(x.dtype)
  + return x + ffn(fresh(x)) if mode == "pre" else fresh(x + ffn(x))
    You made a norm of your own, with gain 1 and bias 0. Use the `norm` you are given: its gain and bias have been learned.
|| own_norm_in_float32: nn.LayerNorm(x.shape[-1]).to(x.dtype) -> nn.LayerNorm(x.shape[-1])
of over_the_tokens
in return (v - v.mean(-2, keepdim=True)) / (v.std(-2, keepdim=True) + 1e-5)
| functional_norm: return F.layer_norm(v, v.shape[-1:])
of by_dict
in return {"pre": lambda: ffn(norm(x)) + x, "post": lambda: norm(ffn(x) + x)}[mode]()
x_changed
  + if mode == "pre":
  +     x += ffn(norm(x))
  +     return x
  + x += ffn(x)
  + return norm(x)
    x itself is changed: `x += …` writes into the caller's tensor. `x = x + …` makes a new one.
residual_detached: return x.detach() + ffn(norm(x)) if mode == "pre" else norm(x.detach() + ffn(x))
    The x that is added is detached. The values are right, but the gradient loses its direct path, which is what the residual is for.
other_words
  + if mode == "pre-norm":
  +     return x + ffn(norm(x))
  + elif mode == "post-norm":
  +     return norm(x + ffn(x))
    Nothing comes back, in either mode. Is the last line a `return`? Is the mode compared with 'pre' and 'post', in these letters?
nothing_for_post
  + if mode == "pre":
  +     return x + ffn(norm(x))
    For 'post' nothing comes back: only 'pre' reaches a `return`.
nothing_for_pre
  + if mode == "post":
  +     return norm(x + ffn(x))
    For 'pre' nothing comes back: only 'post' reaches a `return`.
refuses_both
  + if mode == "pre-norm":
  +     return x + ffn(norm(x))
  + if mode == "post-norm":
  +     return norm(x + ffn(x))
  + raise ValueError(mode)
    Both modes are refused, by an exception of your own. They are 'pre' and 'post', in these letters.
both_at_once: return x + ffn(norm(x)), norm(x + ffn(x))
    Both outputs come back, as a pair. The argument `mode` says which one is asked for.
multiplied: return x * ffn(norm(x)) if mode == "pre" else norm(x * ffn(x))
    The FFN's output is multiplied by x. A residual is a sum.
""")
