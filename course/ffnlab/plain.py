"""Plain data: what a probe may return, what travels between the jail and the judge, what the shipped answers are made of.

None, bool, int, float, str, lists, tuples and dicts of them, tensors, `Failure` (an exception) and `Opaque` (anything else, by its type's name).
Nothing is ever unpickled: bytes are one safetensors file whose metadata hold the structure as JSON.
"""

from __future__ import annotations

import json
import struct
from dataclasses import dataclass
from typing import Any, TypeAlias

import numpy as np
import safetensors.torch
import torch

MAX_DEPTH = 12
MAX_NODES = 20_000
MAX_TEXT = 20_000
MAX_TENSOR_BYTES = 32 * 2**20
MAX_BYTES = 64 * 2**20

DTYPES = {
    torch.float64, torch.float32, torch.float16, torch.bfloat16,
    torch.int64, torch.int32, torch.int16, torch.int8, torch.uint8, torch.bool,
}  # fmt: skip


@dataclass(frozen=True)
class Failure:
    """An exception: its type's name, its message, and (not compared) where in the student's code it was raised."""

    type: str
    message: str = ""
    line: str = ""


@dataclass(frozen=True)
class Opaque:
    """A value that is not plain data: only its type's name is kept."""

    type: str


Plain: TypeAlias = (
    "bool | int | float | str | torch.Tensor | Failure | Opaque | list[Any] | tuple[Any, ...] | dict[str, Any] | None"
)


class Malformed(ValueError):
    """Bytes that are not a packed plain value, or are too large."""


def of(value: object) -> Plain:
    """`value` as plain data: exact types only, so that a subclass with clever methods is what it stores and nothing more."""
    return _of(value, 0, [0])


def _of(value: Any, depth: int, nodes: list[int]) -> Plain:
    nodes[0] += 1
    if depth > MAX_DEPTH or nodes[0] > MAX_NODES:
        return Opaque("too large a value")
    kind = type(value)
    if value is None or kind is bool:
        return value  # type: ignore[no-any-return]
    if value is ...:
        return Failure("NotImplementedError")
    if kind is Failure:
        return Failure(str(value.type)[:200], str(value.message)[:500], str(value.line)[:300])
    if kind is Opaque:
        return Opaque(str(value.type)[:200])
    if issubclass(kind, torch.Tensor):
        return _tensor(value)
    if issubclass(kind, np.bool_):
        return bool(value)
    if issubclass(kind, np.integer):
        return int(value)
    if issubclass(kind, np.floating):
        return float(value)
    if issubclass(kind, int):
        number = int.__int__(value)
        return number if number.bit_length() <= 512 else Opaque("a very large int")
    if issubclass(kind, float):
        return float.__float__(value)
    if issubclass(kind, str):
        return str.__str__(value)[:MAX_TEXT]
    if issubclass(kind, tuple):
        return tuple(_of(item, depth + 1, nodes) for item in tuple.__iter__(value))
    if issubclass(kind, list):
        return [_of(item, depth + 1, nodes) for item in list.__iter__(value)]
    if issubclass(kind, dict):
        return {_key(key): _of(item, depth + 1, nodes) for key, item in dict.items(value)}
    return Opaque(f"{kind.__module__}.{kind.__qualname__}".removeprefix("builtins.")[:200])


def _key(key: object) -> str:
    return str.__str__(key)[:200] if isinstance(key, str) else f"<{type(key).__name__}>"


def _tensor(value: torch.Tensor) -> Plain:
    with torch._C.DisableTorchFunctionSubclass():
        layout = torch._C.TensorBase.layout.__get__(value)  # type: ignore[attr-defined]  # a subclass may lie about its own
        if layout != torch.strided:
            return Opaque(f"a {layout} tensor")
        value = torch.Tensor.as_subclass(value, torch.Tensor)
        if value.dtype not in DTYPES or value.device.type != "cpu":
            return Opaque(f"a tensor of {value.dtype} on {value.device.type}")
        if value.numel() * value.element_size() > MAX_TENSOR_BYTES:
            return Opaque("a very large tensor")
        copy = torch.empty(value.shape, dtype=value.dtype)
        copy.copy_(value.detach())
        return copy


def describe(value: Plain) -> str:
    """A plain value in a few words."""
    if isinstance(value, torch.Tensor):
        return f"a tensor of shape {list(value.shape)}"
    if isinstance(value, Failure):
        return f"the exception {value.type}"
    if isinstance(value, Opaque):
        return f"an object of type {value.type}"
    if value is None:
        return "None"
    if isinstance(value, str):
        return f"the text {value[:40]!r}"
    if isinstance(value, (bool, int, float)):
        return f"the {type(value).__name__} {value!r}"
    return f"a {type(value).__name__} with {counted(len(value))}"


def counted(values: int) -> str:
    """ "1 value", "2 values"."""
    return f"{values} value{'' if values == 1 else 's'}"


def sentence(text: str) -> str:
    """The text with a full stop, where it has no end yet."""
    return text if text.endswith((".", "!", "?")) else text + "."


def pack(value: Plain) -> bytes:
    """One plain value as bytes."""
    tensors: Tensors = {}
    structure = json.dumps(_encode(value, tensors), ensure_ascii=True)
    return safetensors.torch.save(dict(tensors.values()), metadata={"plain": structure})


# By dtype, shape and bytes: equal tensors are stored once, under one name.
Tensors: TypeAlias = dict[tuple[torch.dtype, tuple[int, ...], bytes], tuple[str, torch.Tensor]]


def _encode(value: Plain, tensors: Tensors) -> Any:
    if value is None or isinstance(value, (bool, str)):
        return value
    if isinstance(value, int):
        return {"int": str(value)}
    if isinstance(value, float):
        return {"float": value.hex()}
    if isinstance(value, torch.Tensor):
        key = (value.dtype, tuple(value.shape), value.detach().flatten().view(torch.uint8).numpy().tobytes())
        if key not in tensors:
            tensors[key] = (str(len(tensors)), value.detach().clone(memory_format=torch.contiguous_format))
        return {"tensor": tensors[key][0]}
    if isinstance(value, Failure):
        return {"failure": [value.type, value.message, value.line]}
    if isinstance(value, Opaque):
        return {"opaque": value.type}
    if isinstance(value, tuple):
        return {"tuple": [_encode(item, tensors) for item in value]}
    if isinstance(value, list):
        return {"list": [_encode(item, tensors) for item in value]}
    if isinstance(value, dict):
        return {"dict": [[key, _encode(item, tensors)] for key, item in value.items()]}
    raise TypeError(f"not plain data: {type(value).__name__}")


def unpack(data: bytes) -> Plain:
    """The plain value in `data`.

    Raises:
        Malformed: the bytes are not what `pack` makes, or exceed a limit.
    """
    if len(data) > MAX_BYTES:
        raise Malformed(f"{len(data):,} bytes are more than {MAX_BYTES:,}")
    try:
        (length,) = struct.unpack("<Q", data[:8])
        if length > len(data):
            raise Malformed("the header is longer than the data")
        header = json.loads(data[8 : 8 + length])
        structure = json.loads(header["__metadata__"]["plain"])
        tensors = safetensors.torch.load(data)
        return _decode(structure, tensors, 0, [0])
    except Malformed:
        raise
    except (RecursionError, Exception) as error:
        raise Malformed(f"not plain data: {type(error).__name__}") from None


def _decode(node: Any, tensors: dict[str, torch.Tensor], depth: int, nodes: list[int]) -> Plain:
    nodes[0] += 1
    if depth > MAX_DEPTH + 4 or nodes[0] > 8 * MAX_NODES:
        raise Malformed("too deep or too many values")
    if node is None or isinstance(node, (bool, str)):
        return node
    if not isinstance(node, dict) or len(node) != 1:
        raise Malformed("an unknown kind of value")
    ((tag, body),) = node.items()

    def inner(item: Any) -> Plain:
        return _decode(item, tensors, depth + 1, nodes)

    if tag == "int" and isinstance(body, str) and len(body) < 200:
        return int(body)
    if tag == "float" and isinstance(body, str):
        return float.fromhex(body)
    if tag == "tensor" and isinstance(body, str):
        if tensors[body].dtype not in DTYPES:
            raise Malformed("a tensor of an unexpected dtype")
        return tensors[body]
    if tag == "failure" and isinstance(body, list) and all(isinstance(text, str) for text in body):
        return Failure(*body)
    if tag == "opaque" and isinstance(body, str):
        return Opaque(body)
    if tag == "tuple" and isinstance(body, list):
        return tuple(inner(item) for item in body)
    if tag == "list" and isinstance(body, list):
        return [inner(item) for item in body]
    if tag == "dict" and isinstance(body, list) and all(isinstance(key, str) for key, _ in body):
        return {key: inner(item) for key, item in body}
    raise Malformed("an unknown kind of value")
