"""What is right, and what goes wrong, in `gate_or_flag` of notebook 07.

Many networks are right. A flag is right for one reason alone: a network is continuous (so no jump), each of its gates makes one corner at most (so two make
no three), and far out on each side it comes near a polynomial of degree two at most (so no cube).
"""

from __future__ import annotations

from autograder.keys.key import Key
from ffnlab.course.exercises import gated as exercises

gate_or_flag = Key(exercises.gate_or_flag)

gate_or_flag.add_source(
    "truth",
    "a_gate_for_each_side",
    "",
    """
gate_or_flag = {
    "x * abs(x)": ("reglu", [1, 0, 1, 0, 1], [-1, 0, -1, 0, -1]),
    "tanh(x)": ("glu", [2, 0, 0, 1, 1], [-2, 0, 0, 1, -1]),
    "sign(x)": "C",
    "max(1 - x**2, 0)": ("reglu", [1, 1, -1, 1, 1], [1, -1, 1, 1, 1]),
    "min(abs(x), 1)": "A",
    "x**3": "B",
}
""",
)

gate_or_flag.add_source(
    "right",
    "a_constant_beside_the_sigmoid",
    "in tanh a neuron with a gate that is always half open",
    """
gate_or_flag = {
    "x * abs(x)": ("reglu", [1, 0, 1, 0, 1], [-1, 0, 1, 0, 1]),
    "tanh(x)": ("glu", [2, 0, 0, 2, 1], [0, 0, 0, 2, -1]),
    "sign(x)": "C",
    "max(1 - x**2, 0)": ("reglu", [-1, 1, 1, 1, 1], [-1, -1, -1, 1, 1]),
    "min(abs(x), 1)": "A",
    "x**3": "B",
}
""",
)
gate_or_flag.base("a_constant_beside_the_sigmoid")

gate_or_flag.add_source(
    "right",
    "tensors",
    "neurons as tensors, and in a list; small letters",
    """
gate_or_flag = {
    "x * abs(x)": ["reglu", torch.tensor([2.0, 0.0, 1.0, 0.0, 0.5]), torch.tensor([-0.5, 0.0, 2.0, 0.0, 1.0])],
    "tanh(x)": ("glu", torch.tensor([[2.0, 0.0, 0.0, 1.0, 1.0], [-2.0, 0.0, 0.0, -1.0, 1.0]])),
    "sign(x)": "c",
    "max(1 - x**2, 0)": ("reglu", ((3, 3, -1, 1, 1 / 3), (0.1, -0.1, 10, 10, 1))),
    "min(abs(x), 1)": " a ",
    "x**3": "b",
}
""",
)

gate_or_flag.add_source(
    "right",
    "computed",
    "a dict that is built, with a neuron as a function",
    """
def neuron(gate, up, down=1.0):
    return (*gate, *up, down)

gate_or_flag = dict.fromkeys(["min(abs(x), 1)"], "A")
gate_or_flag["x**3"] = "B"
gate_or_flag["sign(x)"] = "C"
gate_or_flag["x * abs(x)"] = ("reglu", neuron((7.0, 0), (1.0, 0), 1 / 7), neuron((-0.3, 0), (-1.0, 0), -1 / 0.3))
gate_or_flag["tanh(x)"] = ("glu", neuron((-2, 0), (0, -2)), neuron((0, 0), (0, 2)))
gate_or_flag["max(1 - x**2, 0)"] = ("reglu", neuron((1, 1), (-1, 1)), neuron((1, -1), (1, 1)))
""",
)

gate_or_flag.slips("""
of a_constant_beside_the_sigmoid
in ("reglu", [1, 0, 1, 0, 1], [-1, 0, 1, 0, 1])
a_flag_over_two_half_parabolas: "B"
    A flag is up over x·|x|. What is it on the right of 0, and what on the left? One neuron can be silent on one side.
| too_few_for_two_half_parabolas: "A"
| a_jump_in_two_half_parabolas: "C"
the_square: ("bilinear", [1, 0, 1, 0, 1])
    Your x·|x| goes wrong on the left of 0, where it should be −x². Which neuron is silent on the right?
| the_square_by_two_gates: ("reglu", [1, 0, 1, 0, 1], [-1, 0, -1, 0, 1])
| the_left_is_missing: ("reglu", [1, 0, 1, 0, 1])
the_signs_of_the_left: ("reglu", [1, 0, -1, 0, 1], [-1, 0, -1, 0, 1])
    Your x·|x| has the wrong sign on both sides. The gate is never negative after ReLU, so up and down choose the sign.
smooth_half_parabolas: ("swiglu", [1, 0, 1, 0, 1], [-1, 0, 1, 0, 1])
    Your numbers for x·|x| would do with another activation. Each of the two neurons should be 0 on one side, exactly. Which activation shuts like that?
| half_parabolas_without_activation: ("bilinear", [1, 0, 1, 0, 1], [-1, 0, 1, 0, 1])
nearly_shut: ("swiglu", [1000, 0, 1, 0, 0.001], [-1000, 0, 1, 0, 0.001])
    Your x·|x| is near everywhere, but “equals” is more. A steep gate is still a smooth one. Which activation shuts exactly?
in ("glu", [2, 0, 0, 2, 1], [0, 0, 0, 2, -1])
a_flag_over_tanh: "B"
    A flag is up over tanh. Far out it comes near a constant, as a neuron with a sigmoid gate does if its up is a constant. Compare their two curves.
| too_few_for_tanh: "A"
| a_jump_in_tanh: "C"
the_sigmoid_is_not_lowered: ("glu", [2, 0, 0, 2, 1])
    Your tanh is off by the same number at every x. How high is your curve at x = 0, with the sigmoid at 1/2? A second neuron can take that away.
| the_number_below_is_halved: ("glu", [2, 0, 0, 2, 1], [0, 0, 0, 1, -1])
tanh_with_another_activation: ("swiglu", [2, 0, 0, 1, 1], [-2, 0, 0, -1, 1])
    Your numbers for tanh would do with another activation. tanh stays between −1 and 1. Which activation stays between two numbers?
a_bare_sigmoid: ("glu", [1, 0, 0, 1, 1])
    Your tanh is a sigmoid as it is. A sigmoid goes from 0 to 1, tanh from −1 to 1: stretch it, then lower it.
| a_bare_sigmoid_twice_as_steep: ("glu", [2, 0, 0, 1, 1])
half_a_tanh: ("glu", [2, 0, 0, 1, 1], [0, 0, 0, 1, -1])
    Your tanh is off by the same factor at every x. The sigmoid goes from 0 to 1, and tanh from −1 to 1.
the_sigmoid_is_not_stretched: ("glu", [1, 0, 0, 2, 1], [0, 0, 0, 2, -1])
    Your tanh goes from −1 to 1, as it should, but it rises at another rate. How steep is tanh at 0, and how steep is your curve there?
| the_sigmoid_is_too_steep: ("glu", [4, 0, 0, 2, 1], [0, 0, 0, 2, -1])
tanh_with_a_silent_neuron: ("glu", [2, 0, 0, 0, 1], [0, 0, 0, 2, -1])
    A neuron of your tanh gives 0 at every x: slope and offset of its up are both 0. To hold up at 1, its offset has to be 1.
| tanh_with_two_silent_neurons: ("glu", [2, 0, 0, 0, 1], [-2, 0, 0, 0, -1])
tanh_with_gate_and_up_swapped: ("glu", [0, 2, 2, 0, 1], [0, 2, 0, 0, -1])
    Gate and up have changed places in your tanh. The first two numbers of a neuron are its gate, and only the gate goes through the activation.
| tanh_swapped_throughout: ("glu", [0, 2, 2, 0, 1], [0, 2, 0, 0, -1])
in "C"
too_few_for_a_jump: "A"
    sign(x) can't be done, but more neurons would not help. What happens at 0?
a_jump_far_out: "B"
    sign(x) can't be done, but far out it is a constant, and that is no obstacle. What happens at 0?
a_steep_sigmoid: ("glu", [1000, 0, 0, 2, 1], [0, 0, 0, 2, -1])
    Your sign(x) is steep, and very near 0 it is neither −1 nor 1. Would a steeper one be exact? Think about what it does at 0.
| a_steep_sigmoid_twice: ("glu", [1000, 0, 0, 1, 1], [-1000, 0, 0, 1, -1])
| tanh_for_sign: ("glu", [2, 0, 0, 2, 1], [0, 0, 0, 2, -1])
in ("reglu", [-1, 1, 1, 1, 1], [-1, -1, -1, 1, 1])
a_flag_over_the_arch: "A"
    A flag is up over max(1 − x², 0). It has two corners, and two neurons have two gates. One neuron may do nearly all of it, and go wrong on one side.
| the_arch_has_no_parabola: "B"
| a_jump_in_the_arch: "C"
an_offset_is_missing_in_the_arch: ("reglu", [-1, 0, 1, 1, 1], [-1, -1, -1, 1, 1])
    An offset is missing in your max(1 − x², 0). Where should each gate open, and where should each up be 0?
| another_offset_is_missing_in_the_arch: ("reglu", [1, 1, -1, 0, 1], [1, -1, 1, 1, 1])
a_number_is_wrong_in_the_arch: ("reglu", [-1, 1, 1, 1, 2], [-1, -1, -1, 1, 1])
    One number is wrong in your max(1 − x², 0). Write down each neuron as a parabola, and from where on it is silent.
an_arch_of_smooth_gates: ("swiglu", [-1, 1, 1, 1, 1], [-1, -1, -1, 1, 1])
    Your numbers for max(1 − x², 0) would do with another activation. The arch has sharp corners. Which activation has one?
one_side_of_the_arch: ("reglu", [-1, 1, 1, 1, 1])
    Your max(1 − x², 0) goes wrong on the left, beyond −1. What must a second neuron add there, and only there?
the_other_side_of_the_arch: ("reglu", [1, 1, -1, 1, 1])
    Your max(1 − x², 0) goes wrong on the right, beyond 1. What must a second neuron add there, and only there?
the_arch_never_shuts: ("bilinear", [-1, 1, 1, 1, 1])
    Your max(1 − x², 0) goes wrong on both sides, beyond −1 and 1. There every gate should be shut, or the two neurons should cancel.
| the_arch_as_a_difference: ("bilinear", [0, 1, 0, 1, 1], [1, 0, 1, 0, -1])
the_arch_with_gate_and_up_swapped: ("reglu", [1, 1, -1, 1, 1], [-1, 1, -1, -1, 1])
    Gate and up have changed places in a neuron of your max(1 − x², 0). Only the gate, the first two numbers, is 0 where it would be negative.
the_arch_nearly_shuts: ("swiglu", [-1000, 1000, 1, 1, 0.001], [-1000, -1000, -1, 1, 0.001])
    Your max(1 − x², 0) is near everywhere, but “equals” is more. A steep gate is still a smooth one. Which activation shuts exactly?
the_arch_counts_twice: ("reglu", [1, 1, -1, 1, 1], [-1, 1, 1, 1, 1])
    Each neuron of your max(1 − x², 0) is the arch with one side wrong. Between −1 and 1 both gates are open, so it counts twice.
the_arch_turned: ("reglu", [-1, 1, 1, 1, -1], [-1, -1, -1, 1, -1])
    Your max(1 − x², 0) has the wrong sign everywhere.
in "A"
a_jump_at_the_corners: "C"
    min(|x|, 1) can't be done with two neurons, but it has no jump. What does it have at −1, 0 and 1?
corners_far_out: "B"
    min(|x|, 1) can't be done with two neurons, but far out it is a constant, and that is no obstacle. What does it have at −1, 0 and 1?
right_inside_the_corners: ("reglu", [1, 0, 0, 1, 1], [-1, 0, 0, 1, 1])
    Your min(|x|, 1) goes on rising beyond −1 and 1. How many more corners does it take, and how many gates?
| right_inside_with_up: ("reglu", [1, 0, 0, 1, 1], [-1, 0, 0, 1, 1])
in "B"
too_few_for_a_cube: "A"
    x³ can't be done, but more neurons would not help. How often does one neuron multiply by x, and what do more of them add?
a_jump_in_the_cube: "C"
    x³ can't be done, but it has no jump. What does it do far out?
the_cube_is_a_square: ("bilinear", [1, 0, 1, 0, 1])
    A neuron multiplies x by x at the most, gate times up. So on each side of a gate your x³ is a parabola. Look far out.
| the_cube_is_x_times_its_size: ("reglu", [1, 0, 1, 0, 1], [-1, 0, 1, 0, 1])
""")
