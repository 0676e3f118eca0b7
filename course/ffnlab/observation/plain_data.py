"""Plain data: what a probe may return, what travels between the jail and the judge, what the shipped reference outputs are made of.

None, bool, int, float, str, lists, tuples and dicts of them, tensors, `Failure` (an exception) and `Opaque` (anything else, by its type's name).
Nothing is ever unpickled: bytes are one safetensors file whose metadata hold the structure as JSON.
"""

from __future__ import annotations

import json
import math
import struct
from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any, TypeAlias

import numpy as np
import safetensors.torch
import torch

from ffnlab.phrases import cut, plural
from ffnlab.untrusted_text import clean

MAX_DEPTH = 12
MAX_BYTES = 64 * 2**20  # of a packed value

DTYPES = {  # with their names in safetensors
    torch.float64: "F64", torch.float32: "F32", torch.float16: "F16", torch.bfloat16: "BF16",
    torch.int64: "I64", torch.int32: "I32", torch.int16: "I16", torch.int8: "I8", torch.uint8: "U8", torch.bool: "BOOL",
}  # fmt: skip


@dataclass
class Size:
    """How much a value holds: values, bytes of tensors, characters of texts. What is named several times counts each time."""

    values: int = 0
    bytes: int = 0
    characters: int = 0

    def exceeds(self, most: Size) -> bool:
        return self.values > most.values or self.bytes > most.bytes or self.characters > most.characters

    def larger(self, other: Size) -> Size:
        """The larger of both, in each."""
        return Size(
            max(self.values, other.values), max(self.bytes, other.bytes), max(self.characters, other.characters)
        )


MAX_OBSERVATION = Size(values=4_000, bytes=4 * 2**20, characters=100_000)  # what a probe may return


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
    """`value` as plain data: exact types only, so that a subclass with clever methods is what it stores and nothing more.

    Texts are cleaned; what is larger than MAX_OBSERVATION is left out.
    """
    return _of(value, 0, Size())


TOO_LARGE = Opaque("too large a value")


def _of(value: Any, depth: int, size: Size) -> Plain:
    size.values += 1
    if depth > MAX_DEPTH or size.exceeds(MAX_OBSERVATION):
        return TOO_LARGE
    kind = type(value)
    if value is None or kind is bool:
        return value  # type: ignore[no-any-return]
    if value is ...:
        return Failure("NotImplementedError")
    if kind is Failure:
        return Failure(clean(str(value.type), 200), clean(str(value.message), 500), clean(str(value.line), 300))
    if kind is Opaque:
        return Opaque(clean(str(value.type), 200))
    if issubclass(kind, torch.Tensor):
        return _tensor(value, size)
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
        text = clean(str.__str__(value))
        size.characters += len(text)
        return text
    if issubclass(kind, tuple):
        return tuple(_of(item, depth + 1, size) for item in tuple.__iter__(value))
    if issubclass(kind, list):
        return [_of(item, depth + 1, size) for item in list.__iter__(value)]
    if issubclass(kind, dict):
        return {_key(key, size): _of(item, depth + 1, size) for key, item in dict.items(value)}
    return Opaque(clean(f"{kind.__module__}.{kind.__qualname__}".removeprefix("builtins."), 200))


def _key(key: object, size: Size) -> str:
    text = clean(str.__str__(key), 200) if isinstance(key, str) else f"<{clean(type(key).__name__, 200)}>"
    size.characters += len(text)
    return text


def _tensor(value: torch.Tensor, size: Size) -> Plain:
    with torch._C.DisableTorchFunctionSubclass():
        layout = torch._C.TensorBase.layout.__get__(value)  # type: ignore[attr-defined]  # a subclass may lie about its own
        if layout != torch.strided:
            return Opaque(f"a {layout} tensor")
        value = torch.Tensor.as_subclass(value, torch.Tensor)
        if value.dtype not in DTYPES or value.device.type != "cpu":
            return Opaque(f"a tensor of {value.dtype} on {value.device.type}")
        size.bytes += bytes_of(value)
        if size.exceeds(MAX_OBSERVATION):
            return Opaque("a very large tensor")
        copy = torch.empty(value.shape, dtype=value.dtype)
        copy.copy_(value.detach())
        return copy


def bytes_of(tensor: torch.Tensor) -> int:
    """How many bytes a tensor stands for. An empty dimension counts as one: [45000, 0] holds nothing, and its product with itself 15 GiB."""
    count = tensor.numel() or math.prod(max(1, length) for length in tensor.shape)
    return count * tensor.element_size()


def size_of(value: Plain, size: Size | None = None) -> Size:
    """How much a plain value holds."""
    size = size or Size()
    size.values += 1
    if isinstance(value, torch.Tensor):
        size.bytes += bytes_of(value)
    elif isinstance(value, str):
        size.characters += len(value)
    elif isinstance(value, Failure):
        size.characters += len(value.type) + len(value.message) + len(value.line)
    elif isinstance(value, dict):
        for key, item in value.items():
            size.characters += len(key)
            size_of(item, size)
    elif isinstance(value, (list, tuple)):
        for item in value:
            size_of(item, size)
    return size


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
        return f"the text {cut(value, 40)!r}"
    if isinstance(value, (bool, int, float)):
        return f"the {type(value).__name__} {value!r}"
    return f"a {type(value).__name__} with {plural(len(value), 'value')}"


def pack(value: Plain) -> bytes:
    """One plain value as bytes: a safetensors file, written here, as the library's own way takes five times as long for small tensors."""
    tensors: Tensors = {}
    header: dict[str, Any] = {"__metadata__": {"plain": json.dumps(_encode(value, tensors))}}
    end = 0
    for (dtype, shape, content), name in tensors.items():
        header[name] = {"dtype": DTYPES[dtype], "shape": shape, "data_offsets": (end, end := end + len(content))}
    text = json.dumps(header).encode()
    text += b" " * (-len(text) % 8)  # the format wants the data to begin at a multiple of 8
    return b"".join((struct.pack("<Q", len(text)), text, *(content for _, _, content in tensors)))


# By dtype, shape and bytes: equal tensors are stored once, under one name.
Tensors: TypeAlias = dict[tuple[torch.dtype, tuple[int, ...], bytes], str]


def _encode(value: Plain, tensors: Tensors) -> Any:
    if value is None or isinstance(value, (bool, str)):
        return value
    if isinstance(value, int):
        return {"int": str(value)}
    if isinstance(value, float):
        return {"float": value.hex()}
    if isinstance(value, torch.Tensor):
        content = value.detach().contiguous().flatten().view(torch.uint8).numpy().tobytes()
        return {"tensor": tensors.setdefault((value.dtype, tuple(value.shape), content), str(len(tensors)))}
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


def unpack(data: bytes, most: Size | None = None) -> Plain:
    """The plain value in `data`.

    most: given where the bytes come from a submission: how much they may hold. Every text is then cleaned.

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
        return _Reader(tensors, most).value(structure)
    except Malformed:
        raise
    except (RecursionError, Exception) as error:
        raise Malformed(f"not plain data: {type(error).__name__}") from None


class _Reader:
    """Reads one structure. most: see `unpack`; `_size` is what was read so far."""

    def __init__(self, tensors: dict[str, torch.Tensor], most: Size | None) -> None:
        self._tensors = tensors
        self._most = most
        self._size = Size()

    def value(self, node: Any, depth: int = 0) -> Plain:
        size, most = self._size, self._most
        size.values += 1
        if depth > MAX_DEPTH + 4 or (most and size.exceeds(most)):
            raise Malformed("too deep or too large")
        if isinstance(node, str):
            return self._text(node, most.characters if most else 0)
        if node is None or isinstance(node, bool):
            return node
        if not isinstance(node, dict) or len(node) != 1:
            raise Malformed("an unknown kind of value")
        ((tag, body),) = node.items()
        if tag == "tensor" and isinstance(body, str):
            tensor = self._tensors[body]
            size.bytes += bytes_of(tensor)
            if tensor.dtype not in DTYPES or (most and size.exceeds(most)):
                raise Malformed("a tensor of an unexpected dtype, or too large")
            return tensor
        if tag == "dict" and isinstance(body, list) and _are_texts([key for key, _ in body]):
            return {self._text(key, 200): self.value(item, depth + 1) for key, item in body}
        if tag == "tuple" and isinstance(body, list):
            return tuple([self.value(item, depth + 1) for item in body])
        if tag == "list" and isinstance(body, list):
            return [self.value(item, depth + 1) for item in body]
        if tag == "int" and isinstance(body, str) and len(body) < 200:
            return int(body)
        if tag == "float" and isinstance(body, str) and len(body) < 50:
            return float.fromhex(body)
        if tag == "failure" and _are_texts(body) and len(body) == 3:
            return Failure(self._text(body[0], 200), self._text(body[1], 500), self._text(body[2], 300))
        if tag == "opaque" and isinstance(body, str):
            return Opaque(self._text(body, 200))
        raise Malformed("an unknown kind of value")

    def _text(self, body: str, length: int) -> str:
        self._size.characters += len(body)
        return clean(body, length) if self._most else body


def _are_texts(body: Any) -> bool:
    return isinstance(body, Sequence) and not isinstance(body, str) and all(isinstance(text, str) for text in body)
