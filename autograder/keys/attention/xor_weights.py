"""What is right, and what goes wrong, in `xor_weights` of notebook 01.

Many answers are right, so the truth is one of them and the facts say what all have in common.
"""

from __future__ import annotations

import torch
from torch import nn

from autograder.keys.key import Key
from ffnlab.course.exercises import attention as exercises

xor_weights = Key(exercises.xor_weights)


@xor_weights.truth
def rise_then_fall(over, into):
    """With s = a + b: relu(s) − 2·relu(s − 1) is 0, 1, 1, 0, which is stretched and moved."""
    return (
        torch.ones(2, 2, dtype=torch.float64),
        torch.tensor([0.0, -1.0], dtype=torch.float64),
        torch.tensor([[1.0], [-2.0]], dtype=torch.float64) * (into - over),
        torch.tensor([over], dtype=torch.float64),
    )


@xor_weights.right("one neuron for “a, not b” and one for “b, not a”; b1 is not needed")
def one_but_not_the_other(over, into):
    W1 = torch.tensor([[1.0, -1.0], [-1.0, 1.0]])
    return W1, torch.zeros(2), torch.full((2, 1), into - over), torch.full((1,), over)


@xor_weights.right("one neuron a corner, in float16, as parameters")
def one_neuron_per_corner(over, into):
    W1 = nn.Parameter(torch.tensor([[-1, -1, 1, 1], [-1, 1, -1, 1]], dtype=torch.float16))
    b1 = nn.Parameter(torch.tensor([1, 0, 0, -1], dtype=torch.float16))
    W2 = nn.Parameter(torch.tensor([[over], [into], [into], [over]], dtype=torch.float16))
    return W1, b1, W2, nn.Parameter(torch.tensor([0.0], dtype=torch.float16))


@xor_weights.right("off by a little less than a hundredth, three neurons, as a list")
def nearly_exact(over, into):
    W1 = torch.tensor([[3.0, 3.0, -1.0], [3.0, 3.0, 0.5]])
    b1 = torch.tensor([0.0, -3.0, -2.0])
    W2 = torch.tensor([[1.0], [-2.0], [1.0]]) * (into - over) / 3 * 1.009
    return [W1, b1, W2, torch.tensor([over])]


@xor_weights.right("found by training, from a seed, then stretched and moved")
def trained(over, into):
    torch.manual_seed(1)
    net = nn.Sequential(nn.Linear(2, 8), nn.ReLU(), nn.Linear(8, 1))
    x = torch.tensor([[0.0, 0.0], [0.0, 1.0], [1.0, 0.0], [1.0, 1.0]])
    y = torch.tensor([[0.0], [1.0], [1.0], [0.0]])
    optimiser = torch.optim.Adam(net.parameters(), lr=0.05)
    for _ in range(300):
        optimiser.zero_grad()
        ((net(x) - y) ** 2).mean().backward()
        optimiser.step()
    W2, b2 = net[2].weight.T * (into - over), net[2].bias * (into - over) + over
    return net[0].weight.T, net[0].bias, W2, b2


@xor_weights.base
def plain_xor_weights(over, into):
    W1 = torch.ones(2, 2)
    b1 = torch.tensor([0.0, -1.0])
    W2 = torch.tensor([[1.0], [-2.0]]) * (into - over)
    b2 = torch.tensor([over])
    return W1, b1, W2, b2


xor_weights.slips("""
sign_of_W2
  - [[1.0], [-2.0]]
  + [[-1.0], [2.0]]
  - [over]
  + [into]
    It is the wrong way round: (0, 0) and (1, 1) come out on the side of `into`. Are `over` and `into` swapped, or the signs of W2? (Weights made for
    neurons that say 0 or 1, as in an old perceptron, do this, too: a ReLU does not stop at 1.)
follows_a
  - .ones(2, 2)
  + .tensor([[1.0, 1.0], [0.0, 1.0]])
  - -2.0
  + 0.25
    The outputs follow one of the two features, whatever the other says. XOR needs both: look for a neuron whose column of W1 is zero for one of them,
    or for a neuron that is missing.
over_and_into_ignored
  -  * (into - over)
  +
  - .tensor([over])
  + .zeros(1)
    Weights for one pair of heights come back whatever `over` and `into` are. Where `into` is below `over`, they are the wrong way round.
takes_nothing
  - def xor_weights(over, into):
  + def xor_weights():
  -  * (into - over)
  +
  - .tensor([over])
  + .zeros(1)
    The function takes nothing, and it is called with two numbers: `def xor_weights(over, into)`.
whole_numbers
  - .ones(2, 2)
  + .tensor([[1, 1], [1, 1]])
  - [0.0, -1.0]
  + [0, -1]
    A tensor of whole numbers came back: `torch.tensor([[1, 1], [1, 1]])` has dtype int64. Write 1.0, or add `dtype=torch.float64`.
in
  - W1 = torch.ones(2, 2)
  - b1 = torch.tensor([0.0, -1.0])
  - W2 = torch.tensor([[1.0], [-2.0]]) * (into - over)
computes_and
  + W1 = torch.ones(2, 1)
  + b1 = torch.tensor([-1.0])
  + W2 = torch.ones(1, 1) * (into - over)
    This is AND: only (1, 1) stands out. One neuron with one threshold does that; XOR has to come back again for (1, 1).
only_one_zero
  + W1 = torch.tensor([[1.0], [-1.0]])
  + b1 = torch.zeros(1)
  + W2 = torch.ones(1, 1) * (into - over)
    Of the two inputs that should stand out only (1, 0) does. The other needs a neuron, too.
only_zero_one
  + W1 = torch.tensor([[-1.0], [1.0]])
  + b1 = torch.zeros(1)
  + W2 = torch.ones(1, 1) * (into - over)
    Of the two inputs that should stand out only (0, 1) does. The other needs a neuron, too.
computes_nor
  + W1 = -torch.ones(2, 2)
  + b1 = torch.tensor([2.0, 1.0])
  + W2 = torch.tensor([[1.0], [2.0]]) * (into - over)
    This is NOR: (0, 0) alone stands out, and every feature that is on only leads away from `into`. XOR has to go there before it comes back.
one_pulled_back
  + W1 = torch.tensor([[-1.0], [1.0]])
  + b1 = torch.zeros(1)
  + W2 = -torch.ones(1, 1) * (into - over)
    One of (0, 1) and (1, 0) is left behind, and the three other inputs are nearer to `into`: an input that should go there is pulled back. Follow it
    through your neurons: which one wakes up, and with which sign in W2?
|| the_other_pulled_back: [-1.0], [1.0] -> [1.0], [-1.0]
made_for_gelu
  + W1 = torch.full((2, 1), 4.25)
  + b1 = torch.tensor([-5.0])
  + W2 = -torch.ones(1, 1) * (into - over)
    (1, 1) alone stands out, on the far side: this is NAND. If the weights were made for GELU: that function dips below zero before it rises, and one
    neuron of it can do XOR. ReLU is flat there.
too_wide
  + W1 = torch.cat([torch.ones(2, 2), torch.zeros(2, 7)], dim=1)
  + b1 = torch.cat([torch.tensor([0.0, -1.0]), torch.zeros(7)])
  + W2 = torch.cat([torch.tensor([[1.0], [-2.0]]), torch.zeros(7, 1)]) * (into - over)
    The hidden layer is wider than 8. Two neurons can do it.
in W2 = torch.tensor([[1.0], [-2.0]]) * (into - over)
computes_or: W2 = torch.tensor([[1.0], [-1.0]]) * (into - over)
    This is OR: (1, 1) stands out, as (0, 1) and (1, 0) do. Something must pull it back, and pull harder than the first neuron lifts.
everything_equal: W2 = torch.zeros(2, 1)
    All four inputs get the same output. Either no neuron wakes up for any of them, because the biases are too far below zero, or W2 lets nothing
    through. Inputs are 0 and 1 here, not −1 and 1.
laid_out_the_other_way: W2 = torch.tensor([[1.0, -2.0]]) * (into - over)
    The weights are laid out [out, in], as nn.Linear stores them. Here x is on the left, `x @ W1`: W1 is [2, H] and W2 [H, 1].
| three_neurons_laid_out_the_other_way
  - W1 = torch.ones(2, 2)
  - b1 = torch.tensor([0.0, -1.0])
  - W2 = torch.tensor([[1.0], [-2.0]]) * (into - over)
  + W1 = torch.tensor([[1.0, 1.0], [1.0, 1.0], [1.0, 0.0]])
  + b1 = torch.tensor([0.0, -1.0, 0.0])
  + W2 = torch.tensor([[1.0, -2.0, 0.0]]) * (into - over)
without_the_sign: W2 = torch.tensor([[1.0], [-2.0]]) * abs(into - over)
    Only the size of the distance is used, so the outputs always rise. `into` may be the smaller of the two: then they have to fall.
W2_flat: W2 = torch.tensor([1.0, -2.0]) * (into - over)
    W2 has one dimension. It is a matrix [H, 1]: one row per neuron, one output.
in b1 = torch.tensor([0.0, -1.0])
zero_biases: b1 = torch.zeros(2)
    The four outputs lie on a plane: out(0, 1) + out(1, 0) equals out(0, 0) + out(1, 1), as for an affine map. Either no neuron has its kink between these
    inputs (with a + b and a bias of 0 or more it is never silent: give one of them a threshold), or the kinks cancel. Inputs are 0 and 1 here, not −1
    and 1.
|| zero_biases_and_rising: W2 = torch.tensor([[1.0], [-2.0]]) * -> W2 = torch.ones(2, 1) *
b1_as_a_row: b1 = torch.tensor([[0.0, -1.0]])
    b1 has two dimensions. A bias is one number per neuron, [H], not a row of a matrix.
in b2 = torch.tensor([over])
over_forgotten: b2 = torch.zeros(1)
    It is XOR, and the distance of the outputs is right, but they begin in the wrong place: for (0, 0) the output must be `over`. Which of the four is
    added whatever the input is?
b2_without_dimension: b2 = torch.tensor(over)
    b2 has no dimension. It is a tensor with one entry, shape [1]: `torch.tensor([…])`, with brackets.
b2_a_plain_number: b2 = over
    b2 is a plain number. Make it a tensor like the others, with one entry: shape [1].
in (into - over)
a_little_off: (into - over) * 1.012
    It is XOR, but the outputs for (0, 1) and (1, 0) are off by more than a hundredth of the distance from `over` to `into`. Weights found by training, or
    rounded, need a last touch by hand.
into_for_the_distance: into
    The outputs rise by `into` where they should rise from `over` to `into`. How far is it from one to the other?
over_is_zero
  - (into - over)
  + into
  - b2 = torch.tensor([over])
  + b2 = torch.zeros(1)
    This does it where `over` is 0. With another `over`, what lifts (0, 0) to it?
over_in_b1
  - b1 = torch.tensor([0.0, -1.0])
  + b1 = torch.tensor([over, over - 1.0])
  - b2 = torch.tensor([over])
  + b2 = torch.zeros(1)
    `over` is in b1, where it moves the kinks of your neurons. Where must it be to move all four outputs and nothing else?
| over_in_the_first_of_b1
  - b1 = torch.tensor([0.0, -1.0])
  + b1 = torch.tensor([over, -1.0])
  - b2 = torch.tensor([over])
  + b2 = torch.zeros(1)
| over_in_b1_and_b2: b1 = torch.tensor([0.0, -1.0]) -> b1 = torch.tensor([over, over - 1.0])
| over_in_b1_and_into_in_W2
  - b1 = torch.tensor([0.0, -1.0])
  + b1 = torch.tensor([over, over - 1.0])
  - (into - over)
  + into
  - b2 = torch.tensor([over])
  + b2 = torch.zeros(1)
in W1, b1, W2, b2
lists: W1.tolist(), b1.tolist(), W2.tolist(), b2.tolist()
    Nested lists came back. Four tensors are asked for: put `torch.tensor(...)` around each.
numpy_arrays: W1.numpy(), b1.numpy(), W2.numpy(), b2.numpy()
    Arrays of numpy came back. Tensors are asked for: `torch.from_numpy(...)` turns one into the other.
the_outputs: torch.tensor([[over], [into], [into], [over]])
    The answers came back, not the weights. Return W1, b1, W2 and b2: the check computes the outputs from them.
in return W1, b1, W2, b2
matrices_first: return W1, W2, b1, b2
    The four are in another order. Return W1, b1, W2, b2: each matrix is followed by its bias.
one_missing: return W1, b1, W2
    One of the four is missing. W1, b1, W2 and b2 are asked for, in this order; a bias that is not needed is `torch.zeros(...)`.
|| both_biases_missing: b1, W2 -> W2
takes_x
  - over, into
  + x
  - W2 = torch.tensor([[1.0], [-2.0]]) * (into - over)
  - b2 = torch.tensor([over])
  - return W1, b1, W2, b2
  + W2 = torch.tensor([[1.0], [-2.0]])
  + b2 = torch.zeros(1)
  + return torch.relu(x @ W1 + b1) @ W2 + b2
    The function takes other arguments: it is called with the two numbers `over` and `into`, and returns the weights. The check computes the outputs
    from them.
|| sign_of_W2 | sign_of_W2_alone: [into] -> [over]
|| follows_a | follows_b: = torch.tensor([[1.0, 1.0], [0.0, 1.0]]) -> = torch.tensor([[0.0, 1.0], [1.0, 1.0]])
|| follows_not_a: [1.0] -> [-1.0]
| zero_biases | bends_that_cancel
  - [0.0, -1.0]
  + [-0.5, -1.5]
  - 2.0
  + 1.0
of follows_b
| follows_a | follows_not_b: [1.0] -> [-1.0]
of base
weights_not_returned: return W1, b1, W2, b2 ->
    NO_RETURN
""")
