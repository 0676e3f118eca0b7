"""What is right, and what goes wrong, in `held` of notebook 11."""

from __future__ import annotations

import torch

from autograder.keys.key import Key
from ffnlab.course.exercises import real as exercises

held = Key(exercises.held)


@held.truth
def number_by_number(act, neuron, value):
    """Builds the last dimension again, one neuron after the other."""

    def change(z):
        h = act(z)
        columns = []
        for j in range(z.shape[-1]):
            columns.append(torch.full_like(h[..., j], value) if j == neuron else h[..., j])
        return torch.stack(columns, dim=-1)

    return change


@held.right("torch.where and a row of flags")
def with_where(act, neuron, value):
    def change(z):
        is_it = torch.arange(z.shape[-1]) == neuron
        return torch.where(is_it, torch.tensor(value, dtype=z.dtype), act(z))

    return change


@held.right("index_fill, which makes a new tensor")
def with_index_fill(act, neuron, value):
    return lambda z: act(z).index_fill(-1, torch.tensor([neuron]), value)


@held.right("times zero, plus the value")
def by_a_mask(act, neuron, value):
    def change(z):
        keep = torch.ones_like(z)
        keep[..., neuron] = 0
        return act(z) * keep + value * (1 - keep)

    return change


@held.base
def plain_held(act, neuron, value):
    def change(z):
        h = act(z).clone()
        h[..., neuron] = value
        return h

    return change


held.slips("""
in h[..., neuron] = value
first_dimension: h[neuron] = value
    `h[neuron]` is row number `neuron` of the first dimension: a whole sentence, or an IndexError if there are fewer sentences. The neurons are the last
    dimension, behind any others: `h[..., neuron]`.
second_dimension: h[:, neuron] = value
    `h[:, neuron]` is a position, or an IndexError if there are fewer positions. The neurons are the last dimension, behind any others: `h[..., neuron]`.
three_dimensions_only: h[:, :, neuron] = value
    A batch is right, but a single token has one dimension only. `[..., neuron]` takes any number of dimensions before the last.
always_zero: h[..., neuron] = 0
    The neuron is off, whatever `value` says. Hold it at `value`.
added: h[..., neuron] += value
    The value is added to what the neuron does. Hold it: it has this value whatever it reads.
scaled: h[..., neuron] *= value
    The neuron is multiplied by the value. Hold it: it has this value whatever it reads.
up_to_it: h[..., :neuron] = value
    The slice holds all neurons before this one. Only number `neuron` is held.
one_before: h[..., neuron - 1] = value
    This is the neuron before. Neurons are counted from 0, and so is `neuron`: take it as it is.
one_after: h[..., neuron + 1] = value
    This is the neuron after. Neurons are counted from 0, and so is `neuron`: take it as it is.
from_it_on: h[..., neuron:] = value
    The slice holds this neuron and all after it. Only number `neuron` is held.
everything: h[...] = value
    All neurons are held. Only number `neuron` is held.
in h = act(z).clone()
no_clone: h = act(z)
    With an `act` that returns its input itself, z is changed by your function. Write into a copy: `.clone()`.
own_activation: h = torch.nn.functional.gelu(z).clone()
    With GELU all is right, but the activation that is handed in as `act` is ignored.
act_forgotten: h = z.clone()
    `act` is never called, so the other neurons are what they were before the activation.
in
  - h = act(z).clone()
  - h[..., neuron] = value
held_too_early
  + h = z.clone()
  + h[..., neuron] = value
  + h = act(h)
    The neuron is held before the activation, so `act` still changes the value. Apply `act` first.
in return change
called_at_once: return change(value)
    `change` is called here. Return the function itself, without brackets; ffn_forward calls it.
the_activation_itself: return act
    What comes back is `act` itself, and no neuron is held.
nothing: pass
    NO_RETURN
""")
