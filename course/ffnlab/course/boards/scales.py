"""The boards of notebook 05: a balance with attention on one pan and the FFN on the other, and fifteen models as bars without names."""

from __future__ import annotations

from pathlib import Path
from typing import Any, NamedTuple

from ffnlab.boards import Board, Flag, Goal
from ffnlab.course import atlas

HERE = Path(__file__).parent
WIDEST = 64  # the largest d_ff / d_model that a level offers


def _level(name: str, title: str, live: str, most: int = WIDEST, **start: Any) -> dict[str, Any]:
    """One level as data for scales.js. live: the controls that can be moved. most: the largest d_ff / d_model. start: of the block."""
    usual = {"ratio": 4, "gated": False, "heads": 16, "share": 1, "width": 0, "second": False}
    return {"name": name, "title": title, "live": live.split(), "most": most, "start": usual | start}


LEVELS = (
    _level("two", "1 · 2 : 1", "ratio", most=8, ratio=1),
    _level("even", "2 · 1 : 1", "gated heads share width second"),
    _level("wide", "3 · 64 · d_model", "gated heads share width second", ratio=64),
    _level("eleven", "4 · 11 : 1", "ratio gated heads share second", most=8),
    _level("heads", "5 · heads alone", "heads"),
)


GOALS = (
    Goal(
        "two",
        "1 · Make the FFN exactly twice as heavy as attention.",
        after="At d_ff = 4 · d_model two rectangles of 4 d² hang against four squares of d². That is 8 to 4, and so two thirds.",
    ),
    Goal(
        "even",
        "2 · Now make them even, and leave d_ff at 4 · d_model.",
        after="A block that translates has two attentions. And heads may be wider together than the model, or narrower.",
        flag=Flag(
            (
                "Attention always has four squares, so only d_ff can change the balance.",
                "Sharing makes attention lighter and a gate makes the FFN heavier. Both go the wrong way.",
                "If attention grows, the FFN has to grow with it.",
            ),
            right=-1,
            nudge="The FFN may stay as it is. What would have to grow, and by how much?",
        ),
    ),
    Goal(
        "wide",
        "3 · d_ff is 64 · d_model. Bring the scales back to 2 : 1.",
        after="T5-11B is such a model. It has 128 heads of 128 numbers, so its queries are 16 times as wide as the model.",
        flag=Flag(
            (
                "The FFN is sixteen times as heavy as before, and attention can't have sixteen times as many matrices.",
                "A head can't be wider than d_model divided by the heads.",
                "A second attention only doubles its weight, and that is all that attention can do.",
            ),
            right=-1,
            nudge="How many squares of d² does attention need? And what makes a query matrix wider?",
        ),
    ),
    Goal(
        "eleven",
        "4 · Make the FFN at least 11 times as heavy. d_ff is at most 8 · d_model.",
        after="It takes a gate, d_ff = 8 · d_model, and at least 11 heads that share one head of keys and values. Gemma-1 2B has 8 such heads: 10.7 to 1.",
        flag=Flag(
            (
                "Queries and output keep their size, so attention can't lose more than half.",
                "At 8 · d_model the FFN has 16 squares, and 16 to 4 is no more than 4 to 1.",
                "A gate multiplies two numbers, and a product needs no weights of its own.",
            ),
            right=-1,
            nudge="What is the least that attention can weigh here? And the most that the FFN can weigh?",
        ),
    ),
    Goal(
        "heads",
        "5 · Make attention the heavier one. You may change the number of heads, and nothing else.",
        flag=Flag(
            (
                "There can't be more than 128 heads. With a thousand of them it could be done.",
                "The heads divide the same columns among them, so their number changes no weight.",
                "More heads make queries and keys wider, and the output narrower by as much.",
            ),
            right=1,
            why="A head is a share of the columns: 16 heads of 64 numbers are 1,024 columns, and so are 4 heads of 256. "
            "Only sharing, or a width of their own, makes heads count.",
            nudge="Compare 16 heads with 32. How wide is one head, and how wide are all of them together?",
        ),
    ),
)


def balance(name: str = "scales") -> Board:
    """2 : 1, 1 : 1 without touching d_ff, 2 : 1 at 64 · d_model, 11 : 1, and what the number of heads alone can't do."""
    title = "A balance: the matrices of attention hang on the left, those of the FFN on the right, as areas at one scale. d_ff is four times d_model."
    return Board(HERE / "scales.js", name, title, {"levels": LEVELS}, GOALS, HERE / "stills" / f"{name}.svg")


class _Card(NamedTuple):
    """A model of the atlas, with what is said once its bar is found."""

    name: str
    fact: str
    source: str


# In the order in which they are asked for.
CARDS = (
    _Card("GPT-3 175B", "With 96 blocks of width 12,288 the embeddings are nearly nothing. So the block's two thirds are the model's.", "arXiv 2005.14165"),
    _Card("PaLM-540B", "It is gated at 4 · d_model, and all 48 heads share one head of keys and values.", "arXiv 2204.02311"),
    _Card("Transformer base", "Half of its twelve blocks have a second attention, and 37,000 tokens are many for so small a model.", "arXiv 1706.03762"),
    _Card("T5 v1.0 11B", "Nearly everything is in its blocks, and still the FFN has less than 60 %: half of them have a second attention.", "arXiv 1910.10683"),
    _Card("Mixtral-8x7B", "Eight FFNs stand in each block. A token uses two of them.", "arXiv 2401.04088"),
    _Card("GPT-2 small", "Nearly a third of it is the table of 50,257 tokens.", "the repository openai/gpt-2"),
    _Card("Gemma-1 2B", "Attention has 7 %, since 8 heads share one head of keys and values. The 256,000 tokens have 21 %.", "arXiv 2403.08295"),
    _Card("LLaMA-2 70B", "64 query heads share 8 heads of keys and values, and the FFN is gated at 3.5 · d_model.", "arXiv 2307.09288"),
    _Card("LLaMA-1/2 7B", "Three matrices at 2.69 · d_model weigh about as much as two at 4.", "arXiv 2302.13971"),
    _Card("LLaMA-3 8B", "Its vocabulary is four times that of LLaMA-2, and both have two tables.", "arXiv 2407.21783"),
    _Card("Qwen3-0.6B", "Its 16 heads of 128 numbers are twice as wide as the model. In a block the FFN has 60 %.", "arXiv 2505.09388"),
    _Card("Gemma-2 27B", "Gated at 8 · d_model, the FFN weighs 24 d² in each block.", "arXiv 2408.00118"),
    _Card("BERT-base", "It is built like GPT-2 small, with fewer tokens: 30,522.", "arXiv 1810.04805"),
    _Card("Qwen2.5-7B", "28 query heads share 4 heads of keys and values. Its two tables are a seventh of it.", "arXiv 2412.15115"),
    _Card("T5 v1.1 small", "Two tables of 32,128 tokens are more than all its FFNs.", "google-research/text-to-text-transfer-transformer"),
)  # fmt: skip


def _describe(model: atlas.Model) -> str:
    """A model's configuration in a line, as far as it decides the shares."""
    ratio = f"{model.d_ff / model.d_model:.3g}"
    blocks = f"{model.n_layers} blocks"
    if model.n_encoder:
        blocks = f"{model.n_encoder} blocks, and {model.n_layers} with a second attention"
    width = model.head_dim or model.d_model // model.n_heads
    keys = f", which share {model.n_kv} for keys and values" if model.n_kv and model.n_kv < model.n_heads else ""
    experts = f", {model.experts.n} of them in each block" if model.experts else ""
    tables = "" if model.tied else ", two tables"
    return (
        f"d_model {model.d_model:,}; {'gated' if model.gated else 'plain'} FFN of {ratio} · d_model{experts}; {blocks}; "
        f"{model.n_heads} heads of {width}{keys}; {model.vocab:,} tokens{tables}."
    )


def bars(name: str = "scales_bars") -> Board:
    """Fifteen models as bars of three parts, from the smallest share of the FFN to the largest; a card asks for one of them at a time."""
    entries = []
    for card in CARDS:
        model = atlas.find(card.name)
        parts = atlas.parts(model)
        counts = {"embeddings": parts.embeddings, "attention": parts.attention, "ffn": parts.ffn}
        shares = {part: count / parts.total for part, count in counts.items()}
        entries.append(card._asdict() | {"about": _describe(model)} | shares)
    models = sorted(entries, key=lambda entry: float(entry["ffn"]))
    order = [next(index for index, entry in enumerate(models) if entry["name"] == card.name) for card in CARDS]
    goals = (
        Goal("few", "Give six bars their names.", after="Which three facts of a card decide most? The tables, keys and gate, a second attention."),
        Goal("all", "Give all fifteen their names.", record=15, unit="presses"),
    )  # fmt: skip
    title = "Fifteen published models as bars of three parts: embeddings, attention and FFN. The names are missing."
    return Board(
        HERE / "bars.js", name, title, {"models": models, "cards": order}, goals, HERE / "stills" / f"{name}.svg"
    )
