"""What is right, and what goes wrong, in `PositionwiseFeedForward` of notebook 02."""

from __future__ import annotations

import math

import torch
import torch.nn.functional as F
from torch import nn

from autograder.keys.key import NO_RETURN, Key
from ffnlab.course.exercises import feed_forward as exercises

PositionwiseFeedForward = Key(exercises.PositionwiseFeedForward)


@PositionwiseFeedForward.truth
class Written(nn.Module):
    """Neuron by neuron from the weights, with dropout drawn by hand; the activations by their definitions."""

    def __init__(self, d_model, d_ff, dropout=0.1, activation="relu"):
        super().__init__()
        named = {
            "relu": lambda x: torch.where(x > 0, x, torch.zeros_like(x)),
            "gelu": lambda x: x * (1 + torch.erf(x / math.sqrt(2))) / 2,
            "silu": lambda x: x / (1 + torch.exp(-x)),
        }
        if not callable(activation) and activation not in named:
            raise ValueError(f"unknown activation {activation!r}")
        self.act = activation if callable(activation) else named[activation]
        self.d_model, self.d_ff, self.p = d_model, d_ff, dropout
        self.linear1 = nn.Linear(d_model, d_ff)
        self.linear2 = nn.Linear(d_ff, d_model)

    def forward(self, x):
        output = self.linear2.bias.expand(x.shape)
        for j in range(self.d_ff):
            read = (x * self.linear1.weight[j]).sum(-1) + self.linear1.bias[j]
            hidden = self.act(read)
            if self.training:
                kept = torch.rand(hidden.shape, dtype=x.dtype) >= self.p
                hidden = hidden * kept / (1 - self.p)
            output = output + hidden.unsqueeze(-1) * self.linear2.weight[:, j]
        return output

    def extra_repr(self):
        return f"{self.d_model} -> {self.d_ff}"


@PositionwiseFeedForward.right("nn.Dropout and modules for the activations")
class WithModules(nn.Module):
    def __init__(self, d_model, d_ff, dropout=0.1, activation="relu"):
        super().__init__()
        self.d_model = d_model
        self.d_ff = d_ff
        self.linear1 = nn.Linear(d_model, d_ff)
        self.linear2 = nn.Linear(d_ff, d_model)
        self.dropout = nn.Dropout(p=dropout)
        if activation == "relu":
            self.activation = nn.ReLU()
        elif activation == "gelu":
            self.activation = nn.GELU()
        elif activation == "silu":
            self.activation = nn.SiLU()
        elif callable(activation):
            self.activation = activation
        else:
            raise ValueError("unknown activation: " + str(activation))

    def forward(self, x):
        x = self.linear1(x)
        x = self.activation(x)
        x = self.dropout(x)
        return self.linear2(x)

    def extra_repr(self):
        return f"d_model={self.d_model}, d_ff={self.d_ff}"


@PositionwiseFeedForward.right("F.dropout that asks for the mode")
class WithFDropout(nn.Module):
    def __init__(self, d_model, d_ff, dropout=0.1, activation="relu"):
        super().__init__()
        if isinstance(activation, str):
            try:
                activation = {"relu": F.relu, "gelu": F.gelu, "silu": F.silu}[activation]
            except KeyError:
                raise ValueError(f"unknown activation {activation!r}") from None
        elif not callable(activation):
            raise ValueError("activation must be a name or a callable")
        self.act, self.p = activation, dropout
        self.linear1, self.linear2 = nn.Linear(d_model, d_ff), nn.Linear(d_ff, d_model)

    def forward(self, x):
        hidden = self.act(self.linear1(x))
        hidden = F.dropout(hidden, self.p, training=self.training)
        return self.linear2(hidden)

    def extra_repr(self):
        d_ff, d_model = self.linear1.weight.shape
        return f"d_model={d_model}, d_ff={d_ff}, p={self.p}"


@PositionwiseFeedForward.right("a Sequential around the two named layers")
class WithSequential(nn.Module):
    def __init__(self, d_model, d_ff, dropout=0.1, activation="relu"):
        super().__init__()
        named = {"relu": nn.ReLU, "gelu": nn.GELU, "silu": nn.SiLU}

        class Apply(nn.Module):
            def __init__(self, function):
                super().__init__()
                self.function = function

            def forward(self, x):
                return self.function(x)

        if callable(activation):
            middle = Apply(activation)
        elif activation in named:
            middle = named[activation]()
        else:
            raise ValueError(activation)
        self.linear1 = nn.Linear(d_model, d_ff)
        self.linear2 = nn.Linear(d_ff, d_model)
        self.net = nn.Sequential(self.linear1, middle, nn.Dropout(dropout), self.linear2)

    def forward(self, x):
        return self.net(x)

    def extra_repr(self):
        return f"{self.linear1.in_features}→{self.linear1.out_features}→{self.linear2.out_features}"


@PositionwiseFeedForward.right("matrix products with the layers' parameters, getattr for the activation")
class WithGetattr(nn.Module):
    def __init__(self, d_model, d_ff, dropout=0.1, activation="relu"):
        super().__init__()
        self.linear1 = nn.Linear(d_model, d_ff, bias=True)
        self.linear2 = nn.Linear(d_ff, d_model, bias=True)
        self.drop = nn.Dropout(dropout)
        self.sizes = (d_model, d_ff)
        if callable(activation):
            self.f = activation
        else:
            if activation not in ("relu", "gelu", "silu"):
                raise ValueError("bad activation")
            self.f = getattr(F, activation)

    def forward(self, x):
        pre = torch.matmul(x, self.linear1.weight.transpose(0, 1)) + self.linear1.bias
        hidden = self.drop(self.f(pre))
        return torch.matmul(hidden, self.linear2.weight.transpose(0, 1)) + self.linear2.bias

    def extra_repr(self):
        return "d_model=" + str(self.sizes[0]) + ", d_ff=" + str(self.sizes[1])


@PositionwiseFeedForward.base
class PlainPositionwiseFeedForward(nn.Module):
    def __init__(self, d_model, d_ff, dropout=0.1, activation="relu"):
        super().__init__()
        self.d_model, self.d_ff = d_model, d_ff
        self.linear1, self.linear2 = nn.Linear(d_model, d_ff), nn.Linear(d_ff, d_model)
        self.dropout = nn.Dropout(dropout)
        functions = {"relu": F.relu, "gelu": F.gelu, "silu": F.silu}
        if not callable(activation) and activation not in functions:
            raise ValueError(f"unknown activation: {activation}")
        self.activation = activation if callable(activation) else functions[activation]

    def forward(self, x):
        return self.linear2(self.dropout(self.activation(self.linear1(x))))

    def extra_repr(self):
        return f"d_model={self.d_model}, d_ff={self.d_ff}"


PositionwiseFeedForward.slip(
    "linear2_copied_from_linear1",
    "linear2 has the widths of linear1: copied, and not turned round. The second layer contracts: from d_ff back to d_model.",
    replace={".Linear(d_ff, d_model)": ".Linear(d_model, d_ff)"},
)
PositionwiseFeedForward.slip(
    "widths_swapped",
    "Both layers are the wrong way round. nn.Linear takes (in, out): the first goes from d_model to d_ff, the second back.",
    replace={".Linear(d_model, d_ff), nn.Linear(d_ff, d_model)": ".Linear(d_ff, d_model), nn.Linear(d_model, d_ff)"},
)
PositionwiseFeedForward.slip(
    "other_names",
    "The layers have other names than the exercise asks. It needs `linear1` and `linear2`, so that weights can be copied in from elsewhere.",
    replace={
        "self.linear1, self.linear2": "self.w_1, self.w_2",
        ".linear2(self.dropout(self.activation(self.linear1(x))))": ".w_2(self.dropout(self.activation(self.w_1(x))))",
    },
)
PositionwiseFeedForward.slip(
    "layers_without_bias",
    "The layers have no biases: `bias=False` belongs to other models. The FFN of the 2017 paper has b1 and b2.",
    replace={
        ".Linear(d_model, d_ff), nn.Linear(d_ff, d_model)": ".Linear(d_model, d_ff, bias=False), nn.Linear(d_ff, d_model, bias=False)"
    },
)
PositionwiseFeedForward.slip(
    "weights_as_plain_tensors",
    "`parameters()` is empty, so an optimiser would have nothing to train. A module knows the layers that are stored in it, `self.linear1 = nn.Linear(…)`; "
    "plain tensors it does not know, and without `self.` a layer is gone when `__init__` ends.",
    replace={
        "self.linear1, self.linear2 = …": (
            "self.W1, self.b1 = torch.randn(d_model, d_ff), torch.zeros(d_ff)\n"
            "self.W2, self.b2 = torch.randn(d_ff, d_model), torch.zeros(d_model)"
        ),
        ".linear2(self.dropout(self.activation(self.linear1(x))))": ".dropout(self.activation(x @ self.W1 + self.b1)) @ self.W2 + self.b2",
    },
)
PositionwiseFeedForward.slip(
    "no_super_init",
    "`super().__init__()` is missing. An nn.Module must be set up before layers can be assigned to it: it is the first line of `__init__`.",
    replace={"super().__init__()": "pass"},
)
PositionwiseFeedForward.slip(
    "not_a_module",
    "The class does not inherit from nn.Module, so PyTorch knows nothing of its layers: `class PositionwiseFeedForward(nn.Module):`.",
    replace={"nn.Module": "object"},
)
PositionwiseFeedForward.slip(
    "activation_missing",
    "The activation is never called in `forward`: without it the two layers collapse into one linear map.",
    replace={".activation(self.linear1(x))": ".linear1(x)"},
)
PositionwiseFeedForward.slip(
    "activation_on_the_output",
    "The activation is applied to the output, after linear2. It belongs between the two layers.",
    replace={
        ".linear2(self.dropout(self.activation(self.linear1(x))))": ".activation(self.linear2(self.dropout(self.linear1(x))))"
    },
)
PositionwiseFeedForward.slip(
    "activation_name_ignored",
    "The argument `activation` is never looked at: it is ReLU whatever one asks for. Choose the function in `__init__`, from the argument.",
    replace={
        "if not callable(activation) and activation not in functions:\n    raise …": "",
        "activation if callable(activation) else functions[activation]": "F.relu",
    },
)
PositionwiseFeedForward.slip(
    "callable_not_accepted",
    "A callable is refused: only names are looked up. A function such as torch.tanh is a legal `activation` too; `callable(activation)` tells.",
    replace={
        "not callable(activation) and activation not in functions": "activation not in functions",
        "activation if callable(activation) else functions[activation]": "functions[activation]",
    },
)
PositionwiseFeedForward.slip(
    "names_not_accepted",
    "Names are not looked up: the text itself is called like a function. 'relu', 'gelu' and 'silu' stand for F.relu, F.gelu and F.silu.",
    of="activation_name_ignored",
    replace={"self.activation = F.relu": "self.activation = activation"},
)
PositionwiseFeedForward.slip(
    "tanh_gelu",
    "'gelu' here gives the tanh approximation. Without “tanh”, the name means the exact form with erf, which is what `F.gelu` computes by default.",
    replace={
        'functions = {"relu": F.relu, "gelu": F.gelu, "silu": F.silu}': (
            'functions = {"relu": F.relu, "gelu": F.gelu, "silu": F.silu}\n'
            'functions["gelu"] = lambda h: F.gelu(h, approximate="tanh")'
        )
    },
)
PositionwiseFeedForward.slip(
    "silu_without_the_factor",
    "'silu' here gives sigmoid(x). SiLU is x·sigmoid(x): a gate that lets x itself through.",
    of="tanh_gelu",
    replace={'functions["gelu"] = …': 'functions["silu"] = torch.sigmoid'},
)
PositionwiseFeedForward.slip(
    "default_activation_gelu",
    "Without the argument the activation must be ReLU; yours is GELU. Look at the default in the signature.",
    replace={'activation="relu"': 'activation="gelu"'},
)
PositionwiseFeedForward.slip(
    "key_error",
    "An unknown name ends in the dict's KeyError. Say it in the caller's terms: raise a ValueError that names the unknown activation.",
    replace={"if not callable(activation) and activation not in functions:\n    raise …": ""},
)
PositionwiseFeedForward.slip(
    "error_too_late",
    "The unknown name is noticed only when the module is called. Look it up in `__init__`, where the mistake is made.",
    of="key_error",
    replace={
        "self.activation = …": "self.name, self.functions = activation, functions",
        "return self.linear2(self.dropout(self.activation(self.linear1(x))))": (
            "if not callable(self.name) and self.name not in self.functions:\n"
            '    raise ValueError(f"unknown activation: {self.name}")\n'
            "activation = self.name if callable(self.name) else self.functions[self.name]\n"
            "return self.linear2(self.dropout(activation(self.linear1(x))))"
        ),
    },
)
PositionwiseFeedForward.slip(
    "unknown_name_becomes_gelu",
    "An unknown name is silently taken for some default: with a typo such as 'sulu' a whole training run would use the wrong function. Raise ValueError.",
    of="key_error",
    replace={"functions[activation]": "functions.get(activation, F.gelu)"},
)
PositionwiseFeedForward.slip(
    "anything_taken_as_it_is",
    "Whatever is not a known name is taken as it is, a typo such as 'sulu' included: it only fails when it is called. Ask `callable(activation)` "
    "in `__init__`, and raise ValueError otherwise.",
    of="key_error",
    replace={
        "self.activation = …": (
            "if activation in functions:\n"
            "    self.activation = functions[activation]\n"
            "else:\n"
            "    self.activation = activation"
        )
    },
)
PositionwiseFeedForward.slip(
    "only_texts_are_refused",
    "A bad name is refused, but something that is neither text nor function, such as 3, gets through. Anything that can't be called is a ValueError.",
    replace={
        "not callable(activation)": "isinstance(activation, str)",
        "activation if callable(activation) else functions[activation]": "functions[activation] if isinstance(activation, str) else activation",
    },
)
PositionwiseFeedForward.slip(
    "any_name_of_torch",
    "Every name that torch.nn.functional knows is accepted, 'dropout' too. Only 'relu', 'gelu' and 'silu' are names here; others are a ValueError.",
    replace={
        "activation not in functions": "not hasattr(F, str(activation))",
        "functions[activation]": "getattr(F, activation)",
    },
)
PositionwiseFeedForward.slip(
    "assertion_for_a_bad_name",
    "A bad activation ends in an AssertionError. `assert` is for what can't happen; for a caller's mistake raise ValueError.",
    replace={
        "if not callable(activation) and activation not in functions:\n    raise …": "assert callable(activation) or activation in functions"
    },
)
PositionwiseFeedForward.slip(
    "probability_called",
    "self.dropout holds the number p, and `forward` calls it like a function. Make a layer of it: nn.Dropout(dropout).",
    replace={"nn.Dropout(dropout)": "dropout"},
)
PositionwiseFeedForward.slip(
    "dropout_fixed_at_a_tenth",
    "The argument `dropout` is not looked at: p is 0.1 whatever one asks for. Hand the argument on to nn.Dropout.",
    replace={".Dropout(dropout)": ".Dropout(0.1)"},
)
PositionwiseFeedForward.slip(
    "activation_twice",
    "The activation is applied twice: on the hidden layer, where it belongs, and on the output as well. The last layer is linear.",
    of="activation_on_the_output",
    replace={".linear1(x)": ".activation(self.linear1(x))"},
)
PositionwiseFeedForward.slip(
    "dropout_on_the_output",
    "Dropout is applied to the output, where it also drops b2. Here it belongs on the hidden layer: after the activation, before linear2.",
    replace={
        ".linear2(self.dropout(self.activation(self.linear1(x))))": ".dropout(self.linear2(self.activation(self.linear1(x))))"
    },
)
PositionwiseFeedForward.slip(
    "dropout_before_the_activation",
    "Dropout comes before the activation, so the activation gets values that are scaled up already. Put it behind the activation.",
    replace={".dropout(self.activation(self.linear1(x)))": ".activation(self.dropout(self.linear1(x)))"},
)
PositionwiseFeedForward.slip(
    "dropout_on_the_input",
    "Dropout is applied to x. Here it belongs on the hidden layer: after the activation, before linear2.",
    replace={".dropout(self.activation(self.linear1(x)))": ".activation(self.linear1(self.dropout(x)))"},
)
PositionwiseFeedForward.slip(
    "dropout_twice",
    "There are two dropouts, on the hidden layer and on the output. Here only the hidden layer has one.",
    of="dropout_on_the_output",
    replace={".activation(self.linear1(x))": ".dropout(self.activation(self.linear1(x)))"},
)
PositionwiseFeedForward.slip(
    "dropout_never_used",
    "Dropout has no effect: two calls in training mode give the same. It is made, or its probability is taken, but `forward` never applies it.",
    replace={".dropout(self.activation(self.linear1(x)))": ".activation(self.linear1(x))"},
)
PositionwiseFeedForward.slip(
    "dropout_always_on",
    "Dropout stays on in eval mode: `F.dropout` without `training=self.training` can't know the mode. nn.Dropout follows it by itself.",
    replace={
        "self.dropout = nn.Dropout(dropout)": "self.p = dropout",
        "self.dropout(self.activation(self.linear1(x)))": "F.dropout(self.activation(self.linear1(x)), self.p)",
    },
)
PositionwiseFeedForward.slip(
    "dropout_not_scaled",
    "The hidden values that remain are not scaled up by 1/(1 − p), so in training mode everything is smaller on average than in eval mode.",
    replace={
        "self.dropout = nn.Dropout(dropout)": "self.p = dropout",
        "return self.linear2(self.dropout(self.activation(self.linear1(x))))": (
            "hidden = self.activation(self.linear1(x))\n"
            "if self.training:\n"
            "    hidden = hidden * (torch.rand_like(hidden) >= self.p)\n"
            "return self.linear2(hidden)"
        ),
    },
)
PositionwiseFeedForward.slip(
    "dropout_of_2014",
    "Eval mode multiplies the hidden values by 1 − p, and training leaves the survivors as they are: dropout as it was first published in 2014. "
    "Here it is the other way round: survivors grow while training, and eval mode changes nothing.",
    of="dropout_not_scaled",
    replace={"return self.linear2(hidden)": ("else:\n    hidden = hidden * (1 - self.p)\nreturn self.linear2(hidden)")},
)
PositionwiseFeedForward.slip(
    "dropout_mask_shared",
    "All tokens lose the same neurons: one mask is drawn for all of them. Each hidden value is dropped by a chance of its own; `nn.Dropout` draws "
    "a mask of the hidden layer's whole shape.",
    of="dropout_not_scaled",
    replace={"(torch.rand_like(hidden) >= self.p)": "(torch.rand(hidden.shape[-1:]) >= self.p) / (1 - self.p)"},
)
PositionwiseFeedForward.slip(
    "relu6",
    "'relu' here gives ReLU6, which is flat from 6 on. ReLU lets every positive number through as it is.",
    of="tanh_gelu",
    replace={'functions["gelu"] = …': 'functions["relu"] = F.relu6'},
)
PositionwiseFeedForward.slip(
    "dropout_keeps_p",
    "p is taken for the share that stays. It is the share that is dropped: p = 0.1 sets one hidden value in ten to zero.",
    replace={".Dropout(dropout)": ".Dropout(1 - dropout if 0 < dropout < 1 else dropout)"},
)
PositionwiseFeedForward.slip(
    "default_dropout_half",
    "Without the argument p must be 0.1. Look at the default in the signature: nn.Dropout's own is 0.5.",
    replace={"0.1": "0.5"},
)
PositionwiseFeedForward.slip(
    "dropout_probability_ignored",
    "Another share is dropped than `dropout` says. Is the argument handed on (nn.Dropout() alone drops half), and as the probability to drop, not to keep?",
    replace={".Dropout(dropout)": ".Dropout()"},
)
PositionwiseFeedForward.slip(
    "residual_inside",
    "x is added to the output. The residual connection is the block's business, around this module.",
    replace={"return self.linear2": "return x + self.linear2"},
)
PositionwiseFeedForward.slip(
    "extra_repr_missing",
    "`extra_repr` is missing, so printing the module shows its layers but not its two sizes. It returns a text with d_model and d_ff.",
    replace={"def extra_repr(self):\n    return …": ""},
)
PositionwiseFeedForward.slip(
    "extra_repr_without_values",
    '`extra_repr` returns the words d_model and d_ff but not their values. An f-string puts values into a text: f"d_model={...}".',
    replace={'f"d_model={self.d_model}, d_ff={self.d_ff}"': '"d_model, d_ff"'},
)
PositionwiseFeedForward.slip(
    "extra_repr_swapped",
    "The text of `extra_repr` has the two sizes the wrong way round: d_model is what goes in and comes out, d_ff the width of the hidden layer.",
    replace={'f"d_model={self.d_model}, d_ff={self.d_ff}"': 'f"d_model={self.d_ff}, d_ff={self.d_model}"'},
)
PositionwiseFeedForward.slip(
    "extra_repr_prints",
    "`extra_repr` prints instead of returning: PyTorch wants the text handed back.",
    replace={
        'return f"d_model={self.d_model}, d_ff={self.d_ff}"': 'print(f"d_model={self.d_model}, d_ff={self.d_ff}")'
    },
)
PositionwiseFeedForward.slip("forward_returns_nothing", NO_RETURN, replace={"return self.linear2": "self.linear2"})
PositionwiseFeedForward.slip(
    "batches_flattened",
    "`.view(-1, d_model)` in `forward` loses the shape, or refuses an x whose memory is not in order. nn.Linear takes any leading dimensions as they are.",
    replace={".linear1(x)": ".linear1(x.reshape(-1, self.d_model))"},
)
