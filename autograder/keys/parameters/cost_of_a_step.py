"""What is right, and what goes wrong, in `cost_of_a_step` of notebook 05."""

from __future__ import annotations

from fractions import Fraction

import torch

from autograder.keys.key import Key
from ffnlab.course.exercises import parameters as exercises

cost_of_a_step = Key(exercises.cost_of_a_step)


@cost_of_a_step.truth
def weight_by_weight(n, batch, size, flops, bandwidth, cache=0):
    """What one weight does and what one weight weighs, in exact fractions, then n times that; `even` is found by halving an interval."""
    there = ["multiply", "add"]
    rate, width, each = Fraction(flops), Fraction(bandwidth), Fraction(size)

    def computing(people):
        return n * people * len(there) / rate

    def reading(people):
        return (n * each + people * Fraction(cache)) / width

    far = Fraction(10**15)
    even = None
    if computing(far) > reading(far):
        low, high = Fraction(0), far
        for _ in range(140):
            middle = (low + high) / 2
            low, high = (middle, high) if computing(middle) < reading(middle) else (low, middle)
        even = float(low)
    return {
        "flops": float(n * batch * len(there)),
        "bytes": float(n * each + batch * Fraction(cache)),
        "seconds": float(computing(batch) if computing(batch) > reading(batch) else reading(batch)),
        "even": even,
    }


@cost_of_a_step.right("times first, then a comparison; `even` from the costs of one person")
def times_first(n, batch, size, flops, bandwidth, cache=0):
    forward = n * batch * 2
    load = size * n + cache * batch
    t_compute = forward / flops
    t_memory = load / bandwidth
    seconds = t_compute
    if t_memory > t_compute:
        seconds = t_memory
    gain = 2 * n / flops - cache / bandwidth
    return dict(flops=forward, bytes=load, seconds=seconds, even=size * n / bandwidth / gain if gain > 0 else None)


@cost_of_a_step.right("by arithmetic intensity, as in a roofline")
def by_intensity(n, batch, size, flops, bandwidth, cache=0):
    cost = {"flops": 2.0 * n * batch, "bytes": float(n * size + batch * cache)}
    intensity = cost["flops"] / cost["bytes"]  # FLOPs per byte
    cost["seconds"] = cost["flops"] / min(flops, intensity * bandwidth)
    ridge = flops / bandwidth
    # 2·n·b = ridge · (n·size + b·cache)
    if ridge * cache < 2 * n:
        cost["even"] = ridge * n * size / (2 * n - ridge * cache)
    else:
        cost["even"] = None
    return cost


@cost_of_a_step.right("torch's numbers, in float64")
def in_tensors(n, batch, size, flops, bandwidth, cache=0):
    work = torch.tensor(2, dtype=torch.float64) * n * batch
    load = torch.tensor(n * size + batch * cache, dtype=torch.float64)
    both = torch.stack([work / flops, load / bandwidth])
    slope = 2 * n / flops - cache / bandwidth
    return {
        "flops": work,
        "bytes": load,
        "seconds": both.max(),
        "even": None if slope <= 0 else torch.tensor(n * size / bandwidth / slope, dtype=torch.float64),
        "bound": "memory" if both.argmax() else "compute",
    }


@cost_of_a_step.base
def plain_cost_of_a_step(n, batch, size, flops, bandwidth, cache=0):
    work = 2 * n * batch
    load = n * size + batch * cache
    gain = 2 * n * bandwidth - cache * flops
    even = n * size * flops / gain if gain > 0 else None
    return {
        "flops": work,
        "bytes": load,
        "seconds": max(work / flops, load / bandwidth),
        "even": even,
    }


cost_of_a_step.slips("""
one_operation_per_weight
  - work = 2 * n
  + work = n
  - gain = 2 * n
  + gain = n
    A weight is counted with one operation per token. It is multiplied, and the product is added: two.
in work = 2 * n * batch
| one_operation_per_weight | one_operation_the_rest_right: work = n * batch
operations_of_one_token: work = 2 * n
    The operations do not depend on the batch. Every person's token meets every weight: two people, twice the work.
operations_of_training: work = 6 * n * batch
    Six operations for each weight and token is training, forward and back. While a model writes, there is no way back.
in load = n * size + batch * cache
cache_left_out: load = n * size
    The cache is not read here. Each person's keys and values have to be read for that person's next token.
cache_read_once: load = n * size + cache
    The cache is read once for all. Weights are the same for everybody, keys and values are not: each person has their own.
read_anew_for_everybody: load = (n * size + cache) * batch
    The weights are read anew for everybody. They are read once per step, and then serve all tokens of the batch: that is what a batch is good for.
cache_in_numbers: load = n * size + batch * cache * size
    The cache is multiplied by `size`. It is given in bytes already.
bits_for_bytes: load = 8 * (n * size + batch * cache)
    These are bits. `size` is given in bytes, and bytes are asked for.
parameters_for_bytes: load = n + batch * cache
    The number of parameters is taken for the number of their bytes. Each has `size` bytes.
divided_by_size: load = n / size + batch * cache
    The number of parameters is divided by their size. The larger each is, the more bytes they are.
in max(work / flops, load / bandwidth)
seconds_added_up: work / flops + load / bandwidth
    The two times are added. Reading and computing go on at the same time, so one waits for the slower of the two only.
computing_alone: work / flops
    Only computing takes time here. With few tokens the arithmetic is done long before all weights have been read.
reading_alone: load / bandwidth
    Only reading takes time here. With many tokens the arithmetic takes longer than reading the weights once.
in "seconds": max(work / flops, load / bandwidth),
the_faster_one: "seconds": min(work / flops, load / bandwidth),
    The faster of the two decides here. One waits for the slower one.
seconds_per_token: "seconds": max(work / flops, load / bandwidth) / batch,
    These are seconds per token: the time of the step is divided by the batch. The exercise asks for the whole step, in which everybody gets one
    token.
rate_over_work: "seconds": max(flops / work, bandwidth / load),
    Operations per second are divided by operations: that is steps per second. Seconds are the other way round.
|| steps_per_second: max -> min
in
  - gain = 2 * n * bandwidth - cache * flops
  - even = n * size * flops / gain if gain > 0 else None
even_without_a_cache
  + even = size * flops / bandwidth / 2
    `even` does not know of the cache. Reading grows with the batch as well then, so the two times meet later, or never.
even_never_none
  + gain = 2 * n * bandwidth - cache * flops
  + even = n * size * flops / gain
    For a large cache `even` is below 0. Reading one more person's cache takes longer there than computing one more token, so the times never meet: None.
even_infinite
  + gain = 2 * n * bandwidth - cache * flops
  + even = n * size * flops / gain if gain > 0 else float("inf")
    Where the two times never meet, `even` is infinite here. The exercise asks for None.
even_adds_the_cache
  + gain = 2 * n * bandwidth + cache * flops
  + even = n * size * flops / gain if gain > 0 else None
    In `even` the cache has the wrong sign. It makes reading slower, so **more** people are needed until computing is what one waits for.
even_twice_too_large
  + gain = n * bandwidth - cache * flops / 2
  + even = n * size * flops / gain if gain > 0 else None
    `even` is twice too large: each weight needs two operations per token.
even_upside_down
  + gain = 2 * n * bandwidth - cache * flops
  + even = gain / (n * size * flops) if gain > 0 else None
    `even` is upside down. The faster a machine computes, the **more** tokens it takes until computing is what one waits for.
even_without_size
  + gain = 2 * n * bandwidth - cache * flops
  + even = n * flops / gain if gain > 0 else None
    `even` does not know how large a parameter is. The more bytes each has, the longer reading takes, and the more tokens are needed.
even_rounded
  + gain = 2 * n * bandwidth - cache * flops
  + even = round(n * size * flops / gain) if gain > 0 else None
    `even` is rounded to a whole number. It is where two lines meet, and need not be whole.
| even_rounded_up
  + gain = 2 * n * bandwidth - cache * flops
  + even = math.ceil(n * size * flops / gain) if gain > 0 else None
| even_rounded_down
  + gain = 2 * n * bandwidth - cache * flops
  + even = n * size * flops // gain if gain > 0 else None
even_of_this_batch
  + even = batch * (load / bandwidth) / (work / flops)
    `even` is right without a cache. With one the time of reading depends on the batch itself, so it can't be taken as it is for this
    batch: write both as formulas.
""")


@cost_of_a_step.mistake(
    "The numbers come back as a tuple. A dict is asked for, so that each has its name: flops, bytes, seconds, even."
)
def step_as_a_tuple(n, batch, size, flops, bandwidth, cache=0):
    work, load = 2 * n * batch, n * size + batch * cache
    return work, load, max(work / flops, load / bandwidth), None
