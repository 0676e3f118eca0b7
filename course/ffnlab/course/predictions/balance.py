"""The predictions of notebook 09."""

from ffnlab.prediction.prediction import Prediction

PREDICTIONS = {
    "head_start": Prediction(
        question="""With a head start of 3 (the figure opens with 1), expert 0 begins with nearly all tokens. Nothing in the task
        prefers it, and its head start can be
        unlearned. What does training make of it, in 300 steps?""",
        options=("it undoes the head start", "a few experts share the work in the end", "expert 0 keeps everything"),
        right="expert 0 keeps everything",
        explanation="""With a head start of 3 expert 0 kept everything in fifteen other runs, and with 2 nearly everything in fourteen of them. With
        1, between one and four experts were left in effect. Without one nothing collapsed onto a single expert: the load was uneven,
        three to seven experts shared the work, and the others got nothing.""",
    ),
    "which_alpha": Prediction(
        question="The same head start of 3, now with your loss. Which of the weights α ends with the smallest error?",
        options=("0.001", "0.01", "1", "0.01 and 1, equally"),
        right="0.01",
        explanation="""α = 0.001 is too weak against this head start, 0.01 and 1 spread the load over all eight experts. But an even load is not
        the aim: a small error is. With α = 1 it was larger than with 0.01 in each of fifteen other runs. Where nothing was planted, α = 1
        had 1.4 to 3.2 times the error of no loss at all: its load is even, and the router has followed the loss instead of the
        task.""",
    ),
    "rounded_choice": Prediction(
        question="""Logits of size 64 are rounded to bfloat16, which keeps 8 significant bits: near 1 its numbers are 1/128 apart, near 128 a
        whole 1. For how many of 1000 tokens does that change the chosen expert?""",
        options=("1 to 3", "about 30", "about 300"),
        right="1 to 3",
        explanation="""The choice hardly suffers, and not more for large logits than for small ones: all of them are rounded in proportion. But an
        error of δ in a logit is a factor of e^δ in exp(z), so the probabilities, and with them the gates, get worse as the logits
        grow: they are off by up to 0.003 at size 1, and by up to 0.08 to 0.1 at size 64.""",
    ),
    "partner_changes": Prediction(
        question="""Expert 4 is third. A bias brings it in, in place of expert 2. What happens to the weight of expert 0, which was chosen
        before and still is?""",
        options=("it falls", "it stays", "it rises"),
        right="it rises",
        explanation="""A bias of 0.1 brings expert 4 in. Expert 0 then has a weaker partner, and its weight rises from 0.54 to 0.62. The bias
        decides **who** works, not how much their word counts: among the same two experts a larger bias changes nothing. In the
        weights it would change the output of every token that this expert is chosen for, at every update.""",
    ),
    "perfect_and_bad": Prediction(
        question="Nothing was planted (set the head start below to 0). Which setting looks perfect in the coloured area, and bad in the error dots?",
        options=("none of the cures", "the loss with α = 0.01", "the loss with α = 1", "the bias with u = 0.01"),
        right="the loss with α = 1",
        explanation="""α = 1 with an even load is as wrong there as the collapse itself: in 11 of 15 other runs its error was the larger one. **Even is
        not the same as good.** With α = 0.01 the experts share just as evenly, with 0.37 times the error.""",
    ),
    "below_one": Prediction(
        question="""Ten tokens, three experts, k = 1. Some tokens are undecided and choose expert 0 with 0.34. The others choose expert 1 with
        0.51, and give expert 0 nothing. Can the loss be smaller than 1?""",
        options=(
            "no, 1 is the least that is possible",
            "yes, with some tokens of both kinds",
            "yes, when all tokens are of one kind",
        ),
        right="yes, with some tokens of both kinds",
        explanation="""With six undecided tokens the loss is 0.850. Expert 0 has most of the tokens, but little probability, since its tokens chose
        it with 0.34 and the others gave it 0. Where much load meets little probability, the sum falls below 1. If f is even, or P,
        the loss is exactly 1, whatever the other one is. So 1 means neither “balanced” nor “as good as it gets”.""",
    ),
}
