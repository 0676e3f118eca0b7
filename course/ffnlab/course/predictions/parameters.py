"""The predictions of notebook 05."""

from ffnlab.prediction.prediction import Prediction

PREDICTIONS = {
    "ffn_or_attention": Prediction(
        question="Which of the two has more parameters, attention or the FFN?",
        options=(
            "attention, about twice as many",
            "both have about as many",
            "the FFN, about twice as many",
            "the FFN, about four times as many",
        ),
        right="the FFN, about twice as many",
        explanation="""256 against 552: the FFN is 2.16 times as large. Its d_ff is four times as large as d_model, but it has two matrices where
        attention has four. When d_model grows, and d_ff with it, the factor comes down to 2, because the biases matter less and
        less.""",
    ),
    "sentence_or_numbers": Prediction(
        question="The sentence says one third and two thirds, the numbers say 20 % and 80 %. Which is wrong?",
        options=("the sentence", "the numbers", "both"),
        right="the numbers",
        explanation="""The first number of the table is the one to check, because all others but attention's were made from it. Find out by how
        much it is wrong: that is your next exercise.""",
    ),
    "more_heads": Prediction(
        question="""It should make a difference, or should it? How does attention's count change when 512 numbers are split among 1, 2, 4, 8 or
        16 heads?""",
        options=("it grows with the heads", "it shrinks with the heads", "it does not change"),
        right="it does not change",
        explanation="It does not change: heads divide the columns of the same matrices among them. All five lines say 1,048,576.",
    ),
    "llama_70b": Prediction(
        question="LLaMA-2 70B has 64 query heads and 8 of keys and values. How large is its attention, compared with 4·d²?",
        options=("an eighth", "a quarter", "a little more than a half", "nine tenths"),
        right="a little more than a half",
        explanation="""Queries and output keep their size, keys and values shrink to an eighth, so it is (2 + 2/8) / 4 = 0.5625. Qwen3-0.6B shares
        keys two by two and still has more than 4·d², because its 16 heads of 128 numbers are twice as wide as d_model.""",
    ),
    "decoder_share": Prediction(
        question="Of the parameters of attention and FFN together, how large is the FFN's share in a block of the **decoder**?",
        options=("a third", "a half", "two thirds", "three quarters"),
        right="a half",
        explanation="""Two thirds in the encoder, a half in the decoder, whose class calls the second attention `multihead_attn`. (PyTorch's
        attention has biases unless told otherwise: 4 · 512 more than in section 3.)""",
    ),
    "gpt2_share": Prediction(
        question="The figure begins with the sizes of GPT-2 small, but for its heads. How large is the FFN's share of **all** its parameters?",
        options=("67 %", "46 %", "25 %"),
        right="46 %",
        explanation="""Two thirds of each layer are FFN, but embeddings are nearly a third of so small a model. More layers, a smaller vocabulary, a wider
        model: each pushes the embeddings aside, and none gets the FFN beyond its share of a layer. Taken as far as the sliders go,
        a vocabulary of 1,000 does most, 66.1 %; d_model = 16,384 gives 65.3 % and 126 layers 63.9 %.""",
    ),
    "smallest_share": Prediction(
        question="In which of these is the FFN's share of everything the smallest?",
        options=("the Transformer of 2017", "GPT-2 small", "GPT-3", "Mixtral, a mixture of experts"),
        right="the Transformer of 2017",
        explanation="""It has two attentions in half of its blocks, and many embeddings for few layers. In small models with large vocabularies the
        embeddings weigh most. In large **dense** models, those without experts, the FFN has from about two thirds to nearly nine
        tenths; only T5 stays below, with the two attentions of its decoder. In mixtures of experts it is nearly everything, and
        most of that is idle for any one token: of DeepSeek-V3's 671 billion parameters a token uses about 38 billion.""",
    ),
    "grows_with_length": Prediction(
        question="T doubles. Which of the three numbers **per token** grows?",
        options=("the FFN's", "the projections'", "the mixing's", "all three"),
        right="the mixing's",
        explanation="""The matrices cost the same for every token. Mixing compares each token with all T, so it grows with T: twice as long a text,
        twice as much **per token**.""",
    ),
    "gpt3_crossing": Prediction(
        question="At how many positions does GPT-3's attention, projections and mixing together, cost as much as its FFN?",
        options=("about 2,000", "about 25,000", "about a million"),
        right="about 25,000",
        explanation="""Both scales of the figure are logarithmic: each step of the slider doubles T, and GPT-3's lines cross at 24,576. GPT-3 was
        trained on 2,048 positions, far to the left of its crossing: there the FFN is about two thirds of the work too. Only for
        long texts is attention the expensive part.""",
    ),
    "sixteen_tokens": Prediction(
        question="A matrix of 4096 · 4096 numbers meets one token, and then 16 tokens at once. How much longer do the 16 take?",
        options=("less than 10 times as long", "about 16 times as long", "more than 16 times as long"),
        right="less than 10 times as long",
        explanation="""On the machine that this was written on it was three to six times as long, and the time **per token** falls and falls. For a
        single token most of the time goes into reading the matrix; but a weight that has come serves all tokens that wait for it. In
        the end the arithmetic takes over.""",
    ),
    "laptop_speed": Prediction(
        question="""A model of 8 billion parameters writes for one person, on a laptop that does 1,000 billion operations and reads 100 billion
        bytes per second. How many tokens per second can it write at best, with 16 bits per parameter, and with 4?""",
        options=("about 6, and 25", "about 60, and 60", "about 60, and 250", "about 100, and 400"),
        right="about 6, and 25",
        explanation="""Every token needs every parameter. At 16 bits these are 16 GB, which takes 0.16 seconds to read; at 4 bits it is a quarter.
        The laptop could compute 62 tokens per second, so it waits. For one person, speed is bandwidth divided by the bytes of the
        model.""",
    ),
}
