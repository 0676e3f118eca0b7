"""The exercises that are parts of a Transformer, and how the little Transformer of notebook 00 is put together from their answers.

`PARTS` is the whole list. A part of which there is no answer yet is torch's own. Nothing here needs more than torch. The whole block, `BLOCK`, has
weights of its own, which it learns in notebook 10: `own_block` keeps and runs it.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from typing import Any

import torch

from ffnlab.course import toy_transformer, world
from ffnlab.course.ffn_probes import TwoLayerFFN
from ffnlab.observation.containment import Stop
from ffnlab.observation.exercise import describe_result, type_with_article
from ffnlab.registry import KeptCode

D_MODEL, D_FF = toy_transformer.D_MODEL, toy_transformer.D_FF
CHUNK = 16  # tokens at a time, for `ffn_chunked`
EXPERTS, TOP_K = 4, 2  # how many experts there are at least, and how many a token visits

PARTS = {
    "self_attention": "attention",
    "ffn_forward": "the FFN",
    "PositionwiseFeedForward": "the FFN as a module",
    "activation": "the activation",
    "residual_sublayer": "the residual connection",
    "ffn_chunked": "the FFN, 16 tokens at a time",
    "decompose_output": "the FFN, neuron by neuron",
    "glu_variant": "the FFN with an open gate",
    "route": "the router",
    "moe_loop": "the mixture of experts",
    "generate": "what writes",
}
"""What an exercise's answer is in the model, in the order of the notebooks; `Assembly` says how it is called."""

BLOCK = "Block"
KEPT = KeptCode("my_transformer.py", (*PARTS, BLOCK), packages=("torch",))

Sublayer = Callable[[torch.Tensor], torch.Tensor]  # attention or the FFN: [..., d_model] -> [..., d_model]


class PartFailed(Exception):
    """A part raises, or gives what has another shape.

    exercise: whose answer it is. what: what it does, in words that follow its name.
    """

    def __init__(self, exercise: str, what: str) -> None:
        super().__init__(exercise, what)
        self.exercise, self.what = exercise, what


class Assembly:
    """The little Transformer, put together from parts.

    Several answers are the same FFN written in different ways: as a function, as a module, in chunks, neuron by neuron, gated. They take turns, or they
    are the experts of a mixture. All compute the same, so a mixture of them whose gates add up to 1 computes it as well. That is how a mixture can start
    from copies of a trained FFN: Komatsuzaki et al. 2023, *Sparse Upcycling*, arXiv 2212.05055.
    """

    def __init__(self, model: toy_transformer.ToyTransformer, parts: Mapping[str, Any]) -> None:
        """model: one whose attention averages. parts: by exercise, answers. Their names are among PARTS.

        Raises:
            PartFailed: one of them can't be made ready.
        """
        attention, linear1, linear2 = model.attention, model.linear1, model.linear2
        assert isinstance(attention, toy_transformer.Average) and linear1 is not None and linear2 is not None
        self._model, self._parts = model, parts
        self.failures: list[PartFailed] = []  # also what a part around the one that failed has caught
        self._Wv, self._Wo = attention.value.weight.T, 4 * attention.output.weight.T
        self._W1, self._b1 = linear1.weight.T, linear1.bias
        self._W2, self._b2 = linear2.weight.T, linear2.bias
        self._module = TwoLayerFFN(D_MODEL, D_FF).eval()  # what functions of an FFN are handed
        self._module.activation = self._activation  # type: ignore[assignment]  # any function of a tensor will do
        _fill(self._module, model)
        self._ffns = self._all_ffns()
        count = max(EXPERTS, len(self._ffns))
        self._experts = [self._ffns[n % len(self._ffns)] for n in range(count)]
        self._router = torch.randn(D_MODEL, count, generator=torch.Generator().manual_seed(0))  # any router will do

    def gather(self, words: torch.Tensor) -> torch.Tensor:
        """The stream after attention: numbers of words [B, T] -> [B, T, d_model]."""
        x: torch.Tensor = self._model.words(words) + self._model.places.weight[: words.shape[1]]
        return self._add_sublayer(x, self._attention, torch.nn.Identity())

    def scores(self, x: torch.Tensor) -> torch.Tensor:
        """Scores for the next word, from the stream after attention: [B, T, d_model] -> [B, T, V]."""
        logits: torch.Tensor = self._model.scores(
            self._model.after(self._add_sublayer(x, self._ffn, self._model.before))
        )
        return logits

    def _attention(self, x: torch.Tensor) -> torch.Tensor:
        """What attention writes: [B, T, d_model] -> [B, T, d_model]."""
        if "self_attention" not in self._parts:
            output: torch.Tensor = self._model.attention(x)
            return output
        T = x.shape[1]
        pattern = torch.ones(T, T).tril()
        pattern = pattern / pattern.sum(-1, keepdim=True)  # [T, T]
        nothing = torch.zeros(D_MODEL, D_MODEL)  # in place of Wq and Wk, since the pattern is handed in

        def one(X: torch.Tensor) -> torch.Tensor:
            pair = self._call("self_attention", X, nothing, nothing, self._Wv, self._Wo, A=pattern)
            return self._first_of_pair("self_attention", pair, "(out, A)", X.shape)

        return torch.stack([one(X) for X in x])

    def write(self, words: Sequence[str], count: int) -> list[str]:
        """The next words of a sentence, the most probable ones: `count` of them by `generate`; without it one."""
        ids = world.numbers(words)

        def model(tokens: torch.Tensor) -> torch.Tensor:
            return self.scores(self.gather(tokens))

        if "generate" not in self._parts:
            return [world.WORDS[int(model(torch.tensor([ids]))[0, -1].argmax())]]
        numbers = self._call("generate", model, ids, [0.5] * count, toy_transformer.LONGEST, 0.0)
        is_list = isinstance(numbers, (list, tuple)) and len(numbers) == count
        if not is_list or not all(isinstance(n, int) and 0 <= n < len(world.WORDS) for n in numbers):
            raise self._failure("generate", f"should give {count} numbers of words, and {describe_result(numbers)}")
        return [world.WORDS[n] for n in numbers]

    def _add_sublayer(self, x: torch.Tensor, sublayer: Sublayer, norm: torch.nn.Module) -> torch.Tensor:
        """The stream after attention, or after the FFN: [B, T, d_model]."""
        if "residual_sublayer" not in self._parts:
            return torch.add(x, sublayer(norm(x)))
        return self._check_shape(
            "residual_sublayer", self._call("residual_sublayer", x, sublayer, norm, "pre"), x.shape
        )

    def _ffn(self, x: torch.Tensor) -> torch.Tensor:
        """What the FFN writes, [..., d_model], by the mixture or by the FFNs in turns."""
        tokens = x.reshape(-1, D_MODEL)  # [N, d_model]
        return self._by_experts(tokens).reshape(x.shape)

    def _by_experts(self, tokens: torch.Tensor) -> torch.Tensor:  # [N, d_model] -> [N, d_model]
        logits = tokens @ self._router  # [N, experts]
        gates = torch.full_like(logits, 1 / len(self._experts))
        if "route" in self._parts:
            gates = self._check_shape("route", self._call("route", logits, TOP_K, "topk_softmax"), logits.shape)
        if "moe_loop" in self._parts:
            return self._check_shape("moe_loop", self._call("moe_loop", tokens, gates, self._experts), tokens.shape)
        if "route" in self._parts:
            favourites = gates.argmax(-1).tolist()
            return torch.cat([self._experts[n](tokens[i : i + 1]) for i, n in enumerate(favourites)])
        output = torch.empty_like(tokens)
        count = len(self._ffns)
        for n, ffn in enumerate(self._ffns):
            output[n::count] = ffn(tokens[n::count])
        return output

    def _all_ffns(self) -> list[Sublayer]:
        """The FFN in each way in which there is an answer for it; torch's own where there is none."""
        makers: dict[str, Callable[[], Sublayer]] = {
            "ffn_forward": lambda: self._forward,
            "PositionwiseFeedForward": self._make_module,
            "ffn_chunked": lambda: self._run_chunked,
            "decompose_output": lambda: self._neuron_by_neuron,
            "glu_variant": lambda: self._run_gated,
        }
        ffns = [make() for exercise, make in makers.items() if exercise in self._parts] or [self._module]
        return [_also_of_nothing(ffn) for ffn in ffns]

    def _activation(self, x: torch.Tensor) -> torch.Tensor:
        if "activation" not in self._parts:
            return torch.relu(x)
        return self._first_of_pair("activation", self._call("activation", "relu", x), "(value, slope)", x.shape)

    def _forward(self, x: torch.Tensor) -> torch.Tensor:
        weights = (self._W1, self._b1, self._W2, self._b2)
        return self._check_shape("ffn_forward", self._call("ffn_forward", x, *weights, self._activation), x.shape)

    def _make_module(self) -> Sublayer:
        name = "PositionwiseFeedForward"
        module = self._call(name, D_MODEL, D_FF, activation=self._activation)
        try:
            _fill(module.eval(), self._model)
        except Exception as error:
            raise self._failure(name, _raises(error)) from None
        return lambda x: self._check_shape(name, self._call(name, x, of=module), x.shape)

    def _run_chunked(self, x: torch.Tensor) -> torch.Tensor:
        return self._check_shape("ffn_chunked", self._call("ffn_chunked", x, self._module, CHUNK), x.shape)

    def _neuron_by_neuron(self, x: torch.Tensor) -> torch.Tensor:
        """The sum of what the neurons write, and b2. One token at a time."""

        def one(token: torch.Tensor) -> torch.Tensor:
            return self._check_shape(
                "decompose_output", self._call("decompose_output", self._module, token), (D_FF, D_MODEL)
            )

        return torch.stack([one(token).sum(0) + self._b2 for token in x])

    def _run_gated(self, x: torch.Tensor) -> torch.Tensor:
        """The FFN as ReGLU: every token gets a 1 at its end, for the biases and for the gates' other branch, which is 1 for every neuron.

        One more neuron, which is always 1, writes b2.
        """
        wide = torch.zeros(D_MODEL + 1, D_FF + 1)
        gate, up, down = wide, wide.clone(), wide.T.clone()
        gate[:-1, :-1], gate[-1, :-1], gate[-1, -1] = self._W1, self._b1, 1
        up[-1] = 1
        down[:-1, :-1], down[-1, :-1] = self._W2, self._b2
        with_one = torch.cat([x, torch.ones_like(x[..., :1])], -1)
        out = self._call("glu_variant", with_one, gate, up, down, "reglu")
        return self._check_shape("glu_variant", out, with_one.shape)[..., :-1]

    def _call(self, exercise: str, *arguments: Any, of: Any = None, **keywords: Any) -> Any:
        """What an answer, or something `of` its making, returns."""
        before = len(self.failures)
        try:
            return (of or self._parts[exercise])(*arguments, **keywords)
        except (Exception, Stop) as error:
            inside = self.failures[before:]  # of a part that this one calls
            raise inside[0] if inside else self._failure(exercise, _raises(error)) from None

    def _first_of_pair(self, exercise: str, pair: Any, names: str, shape: Sequence[int]) -> torch.Tensor:
        """The first of two results, which has to be a tensor of a certain shape."""
        if not isinstance(pair, (tuple, list)) or len(pair) != 2:
            raise self._failure(exercise, f"should give a pair {names}, and {describe_result(pair)}")
        return self._check_shape(exercise, pair[0], shape)

    def _check_shape(self, exercise: str, result: Any, shape: Sequence[int]) -> torch.Tensor:
        """A result that has to be a tensor of a certain shape."""
        if not isinstance(result, torch.Tensor):
            raise self._failure(exercise, f"should give a tensor, and {describe_result(result)}")
        if result.shape != torch.Size(shape):
            raise self._failure(exercise, f"gives the shape {list(result.shape)} in place of {list(shape)}")
        return result

    def _failure(self, exercise: str, what: str) -> PartFailed:
        self.failures.append(PartFailed(exercise, what))
        return self.failures[-1]


def _fill(module: Any, model: toy_transformer.ToyTransformer) -> None:
    """Give an FFN with `linear1` and `linear2` the weights of the model's."""
    assert model.linear1 is not None and model.linear2 is not None
    with torch.no_grad():
        for mine, theirs in ((module.linear1, model.linear1), (module.linear2, model.linear2)):
            mine.weight.copy_(theirs.weight)
            mine.bias.copy_(theirs.bias)


def _also_of_nothing(ffn: Sublayer) -> Sublayer:
    """An FFN that is not called where there are no tokens: a mixture may call an expert that nobody has chosen."""
    return lambda x: ffn(x) if len(x) else x


def _raises(error: BaseException) -> str:
    return f"raises {type_with_article(error)}"
