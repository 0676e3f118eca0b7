"""What is right, and what goes wrong, in `cost_of_a_step` of notebook 05."""

from __future__ import annotations

from fractions import Fraction

import torch

from autograder.keys.key import Key
from ffnlab.course.exercises import parameters as exercises

cost_of_a_step = Key(exercises.cost_of_a_step)


@cost_of_a_step.truth
def weight_by_weight(n, batch, size, flops, bandwidth):
    """What one weight does and what one weight weighs, in exact fractions, then n times that; `even` is found by halving an interval."""
    there = ["multiply", "add"]
    back = ["multiply", "add", "multiply", "add"]  # for the weight's own gradient, and for that of what came in
    rate, width, each = Fraction(flops), Fraction(bandwidth), Fraction(size)

    def computing(tokens):
        return n * tokens * len(there) / rate

    reading = n * each / width
    low, high = Fraction(0), Fraction(10**9)
    for _ in range(120):
        middle = (low + high) / 2
        low, high = (middle, high) if computing(middle) < reading else (low, middle)
    return {
        "flops": float(n * batch * len(there)),
        "training": float(n * batch * (len(there) + len(back))),
        "bytes": float(n * each),
        "seconds": float(computing(batch) if computing(batch) > reading else reading),
        "even": float(low),
    }


@cost_of_a_step.right("times first, then a comparison; `even` from the machine and the size alone")
def times_first(n, batch, size, flops, bandwidth):
    forward = n * batch * 2
    backward = 2 * forward
    load = size * n
    t_compute = forward / flops
    t_memory = load / bandwidth
    seconds = t_compute
    if t_memory > t_compute:
        seconds = t_memory
    return dict(
        flops=forward, training=forward + backward, bytes=load, seconds=seconds, even=size * flops / (2 * bandwidth)
    )


@cost_of_a_step.right("by arithmetic intensity, as in a roofline")
def by_intensity(n, batch, size, flops, bandwidth):
    cost = {"flops": 2.0 * n * batch, "bytes": float(n * size)}
    intensity = cost["flops"] / cost["bytes"]  # FLOPs per byte
    cost["seconds"] = cost["flops"] / min(flops, intensity * bandwidth)
    cost["training"] = 3 * cost["flops"]
    cost["even"] = (flops / bandwidth) / (2 / size)
    return cost


@cost_of_a_step.right("torch's numbers, in float64")
def in_tensors(n, batch, size, flops, bandwidth):
    work = torch.tensor([2, 6], dtype=torch.float64) * n * batch
    both = torch.stack([work[0] / flops, torch.tensor(n * size / bandwidth, dtype=torch.float64)])
    return {
        "flops": work[0],
        "training": work[1],
        "bytes": torch.tensor(n * size, dtype=torch.float64),
        "seconds": both.max(),
        "even": both[1] / both[0] * batch,
        "bound": "memory" if both.argmax() else "compute",
    }


@cost_of_a_step.base
def plain_cost_of_a_step(n, batch, size, flops, bandwidth):
    work = 2 * n * batch
    load = n * size
    return {
        "flops": work,
        "training": 3 * work,
        "bytes": load,
        "seconds": max(work / flops, load / bandwidth),
        "even": size * flops / bandwidth / 2,
    }


cost_of_a_step.slip(
    "one_operation_per_weight",
    "A weight is counted with one operation per token. It is multiplied, and the product is added: two.",
    replace={"2 * n": "n", " / 2": ""},
)


cost_of_a_step.slips("""
in work = 2 * n * batch
| one_operation_per_weight | one_operation_the_rest_right: work = n * batch
operations_of_one_token: work = 2 * n
    The operations do not depend on the batch. Every person's token meets every weight: two people, twice the work.
in load = n * size
read_anew_for_everybody: load = n * size * batch
    The weights are read anew for everybody. They are read once per step, and then serve all tokens of the batch: that is what a batch is good for.
bits_for_bytes: load = 8 * n * size
    These are bits. `size` is given in bytes, and bytes are asked for.
in n * size
parameters_for_bytes: n
    The number of parameters is taken for the number of bytes. Each has `size` bytes.
divided_by_size: n / size
    The number of parameters is divided by their size. The larger each is, the more bytes they are.
training_four: "training": 3 * work, -> "training": 2 * work,
    Training is counted with 4 operations per parameter and token. Perhaps you count the way back alone, or the way back like the way there. The way
    back has two products for each one there: one for the gradient of the weight, and one for the gradient of the input. Training goes both ways.
in 3 * work
training_as_the_way_there: work
    Training is counted like running. The way back comes on top of it.
training_of_one_token: 6 * n
    Training does not depend on the batch here. Each token costs as much again.
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
in "even": size * flops / bandwidth / 2,
even_twice_too_large: "even": size * flops / bandwidth,
    `even` is twice too large: each weight needs two operations per token.
even_without_size: "even": flops / bandwidth / 2,
    `even` does not know how large a parameter is. The more bytes each has, the longer reading takes, and the more tokens are needed.
in size * flops / bandwidth / 2
even_upside_down: 2 * bandwidth / (size * flops)
    `even` is upside down. The faster a machine computes, the **more** tokens it takes until computing is what one waits for.
even_rounded: round(size * flops / bandwidth / 2)
    `even` is rounded to a whole number. It is where two lines meet, and need not be whole.
| even_rounded_down: / bandwidth / 2, -> // (2 * bandwidth),
|| even_rounded_up: round -> math.ceil
""")


@cost_of_a_step.mistake(
    "The numbers come back as a tuple. A dict is asked for, so that each has its name: flops, training, bytes, seconds, even."
)
def step_as_a_tuple(n, batch, size, flops, bandwidth):
    work, load = 2 * n * batch, n * size
    return work, 3 * work, load, max(work / flops, load / bandwidth), size * flops / bandwidth / 2
