"""The predictions of notebook 05."""

from ffnlab.prediction.prediction import Prediction

PREDICTIONS = {
    "minilm_largest": Prediction(
        question="What part of this file's numbers belongs to the FFNs?",
        low=0,
        high=100,
        step=1,
        right=31,
        within=5,
        unit=" %",
        explanation="""Two thirds of each block are FFN, 66.6 %. But the table of 30,522 tokens has 384 numbers for each, and six narrow blocks can't keep up
        with it. The embeddings have 52.5 % of the file, the FFNs 31.2 %. So “two thirds of a Transformer” is false of one of the most used.""",
    ),
    "cache_or_weights": Prediction(
        question="""LLaMA-2 7B writes for 64 people, and each of them has a text of 4,096 tokens. With 16 bits for a number its weights are
        13.5 GB. How large are the keys and values of all 64 together?""",
        options=("0.1 GB", "2 GB", "14 GB", "137 GB"),
        right="137 GB",
        explanation="""A token leaves a key and a value of 4,096 numbers in each of the 32 blocks: 524,288 bytes. After 4,096 tokens that is 2.1 GB for one
        person, and for 64 people ten times as much as all weights.""",
    ),
    "gpt3_crossing": Prediction(
        question="In GPT-3, at how many positions do attention's matrices and its mixing together cost as much work as the FFN?",
        options=("about 2,000", "about 25,000", "about a million"),
        right="about 25,000",
        explanation="""Choose GPT-3 in the figure: its lines cross at 24,576. It was trained on texts of 2,048 tokens, far to the left of its crossing. There
        the FFN is about two thirds of the work, too. Only for long texts is attention the expensive part.""",
    ),
    "laptop_speed": Prediction(
        question="""A model of 8 billion parameters writes for one person, on a laptop that does 1,000 billion operations and reads 100 billion
        bytes per second. How many tokens per second can it write at best, with 16 bits per parameter, and with 4?""",
        options=("about 6, and 25", "about 60, and 60", "about 60, and 250", "about 100, and 400"),
        right="about 6, and 25",
        explanation="""Every token needs nearly every parameter. At 16 bits these are 16 GB, which takes 0.16 seconds to read; at 4 bits it is a quarter.
        The laptop could compute 62 tokens per second, so it waits. For one person, speed is bandwidth divided by the bytes of the
        model.""",
    ),
    "sixteen_tokens": Prediction(
        question="How much longer do 16 tokens take than one?",
        options=("less than 10 times as long", "about 16 times as long", "more than 16 times as long"),
        right="less than 10 times as long",
        explanation="""On the machine that this was written on it was three to six times as long, and the time **per token** falls and falls. For a
        single token most of the time goes into reading the matrix; but a weight that has come serves all tokens that wait for it. In
        the end the arithmetic takes over.""",
    ),
}
