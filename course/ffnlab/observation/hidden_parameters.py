"""Where a module keeps layers and weights that its `parameters()` does not list: in a plain list, say, or in a function's variables.

They stay as they are when the module is moved, converted, trained or saved. What that leads to, such as two dtypes that do not go together, is then no
more than a symptom. So this is looked at before anything is computed, and `recognition` knows it before it says what a symptom means.
"""

from __future__ import annotations

import dis
import functools
from collections import deque
from collections.abc import Iterator
from dataclasses import dataclass, field
from types import CodeType, FunctionType, GeneratorType, MethodType
from typing import Any

import torch
from torch import nn

KEY = "hidden parameters"  # under which an observation has them, beside what the probes saw
MAX_VALUES = 2_000  # that are looked at: a module of an exercise has far fewer
MAX_DEPTH = 6  # containers in containers

LIST, TUPLE, DICT, SET, OBJECT = "in a list", "in a tuple", "in a dict", "in a set", "in an object"
FUNCTION, CLASS, GLOBAL, FORWARD = "in a function", "of the class", "of the notebook", "made in forward"
GENERATOR, PLAIN, COMPUTED = "in a generator", "a plain tensor", "computed from a parameter"
CONSTANT, COPY = "a constant", "computed from what is registered"  # may do no harm
PLACES = (
    LIST, TUPLE, DICT, SET, OBJECT, FUNCTION, CLASS, GLOBAL, FORWARD, GENERATOR, PLAIN, COMPUTED, CONSTANT, COPY,
)  # fmt: skip

ELSEWHERE = (FUNCTION, CLASS, GLOBAL)  # a container there would hide its layers even if it were a module
CONTAINERS = {list: LIST, tuple: TUPLE, deque: LIST, set: SET, frozenset: SET, dict: DICT}
LAZY = (GeneratorType, map, filter, zip)
# What of torch.nn has weights, and is made in `forward` by a beginner.
LAYERS = {"Linear", "LayerNorm", "RMSNorm", "Embedding", "MultiheadAttention", "Parameter"}
# Beside these, a layer's name may stand for a question about its type.
TESTS = {"isinstance", "issubclass", "type"}
OWN_ATTRIBUTES = set(nn.Module().__dict__)  # the module's own, in which torch keeps what is registered


def find(module: nn.Module) -> list[str]:
    """The places, of PLACES, where `module` keeps what it should have registered: none where all is as it should be."""
    return _Search(module).places()


@dataclass
class _Search:
    module: nn.Module
    registered: set[int] = field(init=False)  # parameters and buffers, by identity
    modules: set[int] = field(init=False)
    seen: set[int] = field(default_factory=set)
    kept: list[Any] = field(default_factory=list)  # what was seen, so that no identity is given away twice

    def __post_init__(self) -> None:
        self.registered = {id(tensor) for tensor in (*self.module.parameters(), *self.module.buffers())}
        self.modules = {id(part) for part in self.module.modules()}

    def places(self) -> list[str]:
        found = {place for part in self.module.modules() for place in self._in_module(part)}
        return [place for place in PLACES if place in found]

    def _in_module(self, module: nn.Module) -> Iterator[str]:
        """What one registered module hides: among its attributes, in its class, and in what its `forward` uses."""
        for name, value in list(module.__dict__.items()):
            if name not in OWN_ATTRIBUTES:
                yield from self._in_value(value, OBJECT, 0)
        for kind in type(module).__mro__:
            if kind.__module__.partition(".")[0] == "torch" or kind is object:
                continue
            for value in list(vars(kind).values()):
                yield from self._in_value(value, CLASS, 0)
            forward = vars(kind).get("forward")
            if isinstance(forward, FunctionType) and _makes_layers(forward.__code__):
                yield FORWARD

    def _in_value(self, value: Any, place: str, depth: int) -> Iterator[str]:
        if depth > MAX_DEPTH or len(self.seen) > MAX_VALUES or isinstance(value, type) or id(value) in self.seen:
            return
        if isinstance(value, torch.Tensor):
            yield from self._in_tensor(value, place)
        elif isinstance(value, nn.Module):
            yield from self._in_another_module(value, place)
        elif isinstance(value, LAZY):
            yield GENERATOR
        else:
            self.seen.add(id(value))
            self.kept.append(value)
            for inner, inner_place in _parts(value, place):
                yield from self._in_value(inner, inner_place, depth + 1)

    def _in_tensor(self, tensor: torch.Tensor, place: str) -> Iterator[str]:
        if id(tensor) in self.registered:
            return
        if not tensor.requires_grad:
            if tensor.is_floating_point() and place is OBJECT:
                yield CONSTANT
        elif tensor.grad_fn is None:
            yield PLAIN if place is OBJECT else place
        elif any(id(leaf) not in self.registered for leaf in _leaves(tensor)):
            yield place if place in ELSEWHERE else COMPUTED
        else:
            yield COPY

    def _in_another_module(self, module: nn.Module, place: str) -> Iterator[str]:
        """A module that is not among the registered ones: it hides what has parameters that these have not."""
        if id(module) not in self.modules and any(id(p) not in self.registered for p in module.parameters()):
            yield place


def _parts(value: Any, place: str) -> Iterator[tuple[Any, str]]:
    """What a value that is neither a tensor nor a module holds, each with the place that it is in."""
    for kind, name in CONTAINERS.items():
        if isinstance(value, kind):
            items = [*dict.keys(value), *dict.values(value)] if isinstance(value, dict) else list(kind.__iter__(value))
            yield from ((item, place if place in ELSEWHERE else name) for item in items)
            return
    if isinstance(value, (staticmethod, classmethod)):
        value = value.__func__
    if isinstance(value, MethodType):
        yield from ((part, FUNCTION) for part in (value.__self__, value.__func__))
    elif isinstance(value, functools.partial):
        yield from ((part, FUNCTION) for part in (value.func, *value.args, *value.keywords.values()))
    elif isinstance(value, FunctionType):
        yield from _parts_of_function(value)
    elif isinstance(getattr(value, "__dict__", None), dict) and not type(value).__module__.startswith("torch"):
        yield from ((part, place) for part in list(value.__dict__.values()))


def _parts_of_function(function: FunctionType) -> Iterator[tuple[Any, str]]:
    """The variables that a function has from where it was made, its defaults, and the names of the notebook that it uses."""
    for cell in function.__closure__ or ():
        try:
            yield cell.cell_contents, FUNCTION
        except ValueError:  # it has no value yet
            continue
    yield from (
        (value, FUNCTION) for value in (*(function.__defaults__ or ()), *(function.__kwdefaults__ or {}).values())
    )
    if _is_typed(function):
        for instruction in dis.get_instructions(function.__code__):
            if instruction.opname == "LOAD_GLOBAL" and instruction.argval in function.__globals__:
                yield function.__globals__[instruction.argval], GLOBAL


def _is_typed(function: FunctionType) -> bool:
    """Whether a function is the notebook's, and not a library's: a library's names would lead through all of it."""
    return function.__globals__.get("__name__") in (
        "__main__",
        "kept",
        None,
    ) or function.__code__.co_filename.startswith("<")


def _makes_layers(code: CodeType) -> bool:
    """Whether code, or a function or comprehension in it, uses a class of layers, and not to ask for a type."""
    names = set(code.co_names)
    inner = [constant for constant in code.co_consts if isinstance(constant, CodeType)]
    return (bool(names & LAYERS) and not names & TESTS) or any(map(_makes_layers, inner))


def _leaves(tensor: torch.Tensor) -> Iterator[torch.Tensor]:
    """The tensors that a tensor was computed from and that gradients stop at."""
    waiting: list[Any] = [tensor.grad_fn]
    seen: set[Any] = set()
    while waiting and len(seen) < MAX_VALUES:
        node = waiting.pop()
        if node is None or node in seen:
            continue
        seen.add(node)
        if hasattr(node, "variable"):
            yield node.variable
        waiting += [following for following, _ in node.next_functions]
