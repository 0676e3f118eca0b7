"""The predictions of notebook 09."""

from ffnlab.prediction.prediction import Prediction

PREDICTIONS = {
    "head_start": Prediction(
        question="""With a head start of 3 (the figure opens with 1), expert 0 begins with nearly all tokens. Nothing in the task
        prefers it, and its head start can be
        unlearned. What does training make of it, in 300 steps?""",
        options=("it undoes the head start", "a few experts share the work in the end", "expert 0 keeps everything"),
        right="expert 0 keeps everything",
        explanation="""With a head start of 3 or 2, expert 0 gets everything, and keeps it. With 1, hardly more than two experts are left in
        effect. Without one nothing collapses onto a single expert: the load is uneven, three to five experts share the work, and
        the others get nothing.""",
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
    "which_alpha": Prediction(
        question="The same head start of 3, now with your loss. Which of the weights α ends with the smallest error?",
        options=("0.001", "0.01", "1", "0.01 and 1, equally"),
        right="0.01",
        explanation="""α = 0.001 is too weak against this head start, 0.01 and 1 spread the load over all eight experts. But an even load is not
        the aim: a small error is. With α = 1 the error is larger than with 0.01, in every seed. Where nothing was planted, α = 1
        has, seed by seed, 1.4 to 2.8 times the error of no loss at all: its load is even, and the router has followed the loss instead of the
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
    "shifted_logits": Prediction(
        question="100 is added to all logits. Which of the two columns changes, the first probability or the z-loss?",
        options=("the probability", "the z-loss", "both", "neither"),
        right="the z-loss",
        explanation="""Softmax does not notice a shift, the z-loss does; a factor changes both. Of the five shifts −2 is the best. The best of all
        is minus the mean logsumexp, −2.40 for these random logits; if all logits were equal, it would be −ln 8 ≈ −2.08.""",
    ),
    "who_is_dropped": Prediction(
        question="Factor 1, k = 2, and a router that is not even. Who is dropped first?",
        options=("first choices", "second choices", "both equally often"),
        right="second choices",
        explanation="""Factor 1 has exactly as many places as slots, up to rounding. An even router fills them all. With the uneven one some wait
        at a full expert while places at others stay empty. Second choices are hit first, since all first choices were served before
        them; and late tokens before early ones: with k = 1 and factor 0.5 none of the last four finds a place, for no other reason
        than their place in the sentence.""",
    ),
    "token_without_expert": Prediction(
        question="What comes out of the block's sum x + output for a token that found no place at any expert?",
        options=("0", "x, unchanged", "the mean of the other tokens", "NaN"),
        right="x, unchanged",
        explanation="The residual connection carries it past the layer, unchanged. Nothing breaks; the token has only missed a layer.",
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
    "which_step": Prediction(
        question="""Head start 3 again, no loss, only your update, and sigmoid scores. Which u ends with the smallest error after 300 steps?""",
        options=("0.001", "0.01", "0.1"),
        right="0.01",
        explanation="""The steps have one size. With u = 0.001 the bias can move by 0.3 at most in 300 steps: too little here, and when the steps
        end, tokens are still changing experts. u = 0.01 is enough. With 0.1 each update overshoots, and tokens are thrown to and
        fro: the load is a little less even, and the error is about that of the collapse, or larger.""",
    ),
    "perfect_and_bad": Prediction(
        question="Nothing was planted (set the head start below to 0). Which setting looks perfect in the coloured area, and bad in the error dots?",
        options=("none of the cures", "the loss with α = 0.01", "the loss with α = 1", "the bias with u = 0.01"),
        right="the loss with α = 1",
        explanation="""α = 1 with an even load is as wrong there (0.0112 to 0.0139) as the collapse itself (0.0116 to 0.0127). **Even is not the
        same as good.** With α = 0.01 the experts share just as evenly, and the errors are 0.0030 to 0.0068.""",
    ),
    "permutation": Prediction(
        question="""A table in which each cluster has an expert of its own is a permutation. Without a head start, after 300 steps: which of the three
        tables comes nearest to one?""",
        options=("that without a loss", "that of α = 0.01", "that of α = 1", "all three alike"),
        right="that of α = 0.01",
        explanation="""An untrained router tells clusters apart by chance, 0.51 to 0.64 of what there is to tell. With α = 0.01 it discovers them: 0.82 to
        1.00 after training, and in the first seed the table is a permutation. Without a loss it ends at 0.46 to 0.72, for the experts at work
        serve several clusters each and some columns stay empty. With α = 1 it falls to 0.41 to 0.47, below where it began: each cluster
        goes to several experts, and each expert has to serve several clusters.""",
    ),
    "finer_experts": Prediction(
        question="Experts are cut finer: twice as many, each half as wide, and twice as many chosen. What changes?",
        options=(
            "the parameters of all experts",
            "the parameters that a token uses",
            "the number of ways to choose",
            "all three",
        ),
        right="the number of ways to choose",
        explanation="Parameters and work stay the same, the ways to combine experts explode: from 120 to 35,960 to 4.4 billion.",
    ),
}
