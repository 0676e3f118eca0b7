"""The predictions of notebook 04."""

from ffnlab.prediction.prediction import Prediction

PREDICTIONS = {
    "edited_word": Prediction(
        question="""“creek” is word 1 of 15 (we count from 0). It becomes “ditch”, and attention passes that on: at 14 positions the FFN gets
        other numbers than before. At how many does it **give** other numbers?""",
        options=("1", "2", "14", "15"),
        right="2",
        explanation="""Only at “jump”, where “over” or “into” has to come next, and at “was”, before “glad” or “sorry”. There neurons fire, and they
        fire for what has come together. Everywhere else none fires, before or after, and the FFN writes its `b2`: not a rounding
        error of difference. All positions ask one and the same network; each asks it about its own numbers alone.""",
    ),
    "piece_of_sentence": Prediction(
        question="""Tokens 3 to 5 are passed through alone, without the rest of the sentence. Which layer gives for them exactly what it gives
        in the whole sentence?""",
        options=("both", "the FFN only", "attention only", "neither"),
        right="the FFN only",
        explanation="""The FFN treats each token as if it were alone in the world. Attention mixed other tokens in before, and these are missing
        now, so its three rows come out otherwise.""",
    ),
    "jacobian_blocks": Prediction(
        question="For 4 tokens the Jacobian has 16 blocks. How many of them are not zero for the FFN?",
        options=("4", "7", "10", "16"),
        right="4",
        explanation="""For the FFN only the blocks on the diagonal are left: its Jacobian is **block-diagonal**. For causal attention it is the
        diagonal and all below it, 10 blocks. For the convolution it is the diagonal and its two neighbours, also 10 with 4 tokens.
        Choose them in the figure, and add tokens to see the difference.""",
    ),
    "different_rows": Prediction(
        question="The sentence has 14 tokens (13 words and the full stop). How many different rows come out of the FFN?",
        options=("1", "13", "14"),
        right="13",
        explanation="""There are 13 different words: `The` and `the` have one vector here, and so one output, although they are at different
        places. Where the vectors also hold their positions, as in a real model, 14 different rows would come out.""",
    ),
    "shared_for_14": Prediction(
        question="One shared FFN needs 318 parameters for a sentence of 4 tokens. How many does it need for 14 tokens?",
        options=("318", "1,113", "4,452"),
        right="318",
        explanation="""The weights are the same under every token, so they are counted once, whatever the length. With an FFN for each of 8
        positions it would be 8 · 318, and a ninth token would have no FFN at all. Tick the box, and press play.""",
    ),
    "loop_or_call": Prediction(
        question="8 sentences of 128 tokens: by what factor is one call faster than a loop over all tokens?",
        options=("they take equally long", "2 to 5 times", "more than 10 times"),
        right="more than 10 times",
        explanation="""It is some 20 to 60 times on the machine that this was written on; yours will differ, and so will two runs. With one call, a
        single large matrix product replaces many small ones: the same multiplications, with far less to organise. A loop over
        positions, with all sentences at once, lies in between.""",
    ),
    "longer_sequences": Prediction(
        question="How large is its error on sequences of 512, compared with sequences of 8?",
        options=("the same", "about twice as large", "about 64 times as large"),
        right="the same",
        explanation="""The error does not depend on the length. The FFN never learned that there is one: to it, a sequence of 512 is 512 single
        tokens.""",
    ),
    "hidden_memory": Prediction(
        question="""A prompt of 100,000 tokens goes into LLaMA 7B, whose hidden layer is 11,008 numbers wide. How much memory do the hidden
        numbers of **one** layer take, at two bytes each?""",
        options=("2.2 MB", "22 MB", "220 MB", "2.2 GB"),
        right="2.2 GB",
        explanation="""100,000 · 11,008 · 2 bytes are 2.2 GB, for one layer. If at most 1,000 tokens at a time are let in, a hundredth of that is
        enough, 22 MB; for a single token it is 22 kB.""",
    ),
    "in_chunks": Prediction(
        question="""One call for 8,192 tokens, or 32 calls of 256 tokens each, one after the other. How long do the 32 calls take, compared with
        the one?""",
        options=("about as long", "about 5 times as long", "about 32 times as long"),
        right="about as long",
        explanation="""On the machine that this was written on, chunks of 256 tokens take about as long as one call, and need a thirtieth of its
        hidden rows. Chunks of 16 take about twice as long: then there are 512 calls, and each has little to do. Your machine
        may set the border elsewhere.""",
    ),
    "attention_fails": Prediction(
        question="Attention is not position-wise. Which of the three tests finds that out?",
        options=(
            "equal rows in, equal rows out",
            "permuted rows in, permuted rows out",
            "the others change, this token does not",
            "none of them",
        ),
        right="the others change, this token does not",
        explanation="""Attention passes the other two. A weighted mean of equal rows is that row, so equal rows come out equal; this is the
        demonstration that a well-known textbook gives. And attention is “equivariant”: permute the tokens, and its outputs are
        permuted in the same way. But each of the three tests is passed by some function that is not position-wise.""",
    ),
    "conv_shape": Prediction(
        question="""Two sentences of 5 tokens, d_model = 6. `nn.Linear(6, 24)` takes x as [2, 5, 6]. In which shape does `nn.Conv1d(6, 24,
        kernel_size=1)` want it?""",
        options=("[2, 5, 6], as it is", "[2, 6, 5]", "[6, 2, 5]", "[10, 6]"),
        right="[2, 6, 5]",
        explanation="""A convolution wants its channels, which are our d_model numbers, **before** the length. So x has to be transposed on the way
        in and back on the way out. The weight has one dimension more: [24, 6, 1], where the last one is the kernel size.""",
    ),
    "straight_path": Prediction(
        question="In which of the two wirings can x reach the output of the block without passing through a norm?",
        options=("pre-norm", "post-norm", "both", "neither"),
        right="pre-norm",
        explanation="""In pre-norm x meets two sums and no norm on its way through. In post-norm each half of the block ends with a norm, and x has
        to pass both.""",
    ),
    "width_of_one": Prediction(
        question="A network 8 → 32 → **1** returns one number for each token, and x has 8. What does `x + net(x)` do?",
        options=("it raises an error", "it gives 8 numbers for each token", "it gives 1 number for each token"),
        right="it gives 8 numbers for each token",
        explanation="""That is worse than an error. PyTorch stretches the single number over all eight, and nothing warns you. A width of 6 would
        have raised an error at once.""",
    ),
    "pre_norm_size": Prediction(
        question="The numbers that go in have a root mean square of 1. What is it after 24 blocks with **pre-norm**?",
        options=("about 1", "3 to 5", "about 24", "more than 1,000"),
        right="3 to 5",
        explanation="""In pre-norm every layer adds to the path of x, and nothing brings it back to size: here it grows block by block, to three to
        five times its size. Post-norm resets the size after every sum, and stays at 1. Each block reads a normed x, so what it
        adds does not grow with x: what it adds levels off near 1 here. Beside a sum that grows, that counts for less and less.""",
    ),
    "two_neurons": Prediction(
        question="d_model is 3, and d_ff is 2. What do the neurons write for 14 tokens? If each output is a point in a room, the 14 points lie …",
        options=("on a line", "on a plane", "anywhere in the room"),
        right="on a plane",
        explanation="""Two arrows span a plane, and every output is so much of the one plus so much of the other. One neuron leaves a line, three
        neurons the whole room; a fourth would add no direction, for there are only three. There can be fewer: a neuron that never
        fires writes nothing. Turn the view to 120°, and the plane is seen from its edge.""",
    ),
    "adapter_rank": Prediction(
        question="d_model = 8, d_ff = 3, 100 tokens. What the FFN writes has rank 3. Which rank has X + FFN(X)?",
        options=("3", "5", "8", "11"),
        right="8",
        explanation="""With the residual nothing is lost here: x itself passes beside the bottleneck, and only the **change** is limited to three
        directions. In the figure, “+ x” lifts the points off their plane.""",
    ),
}
