"""Attacks that return objects which are not what they seem: they are equal to everything, have no memory, or act when they are read."""

from attacks import Attack

equals_everything = Attack(
    "Returns an object that is equal to everything",
    says="is not right",
    mark="attack: it is equal True",
    answer="""
class Yes(tuple):
    def __eq__(self, other):
        return True
    def __ne__(self, other):
        return False
    __hash__ = tuple.__hash__

def hello_shape(x):
    print("attack: it is equal", Yes((0, 0, 0)) == tuple(x.shape))
    return Yes((0, 0, 0))
""",
    twin="""
from typing import NamedTuple

class Shape(NamedTuple):
    B: int
    T: int
    d: int

def hello_shape(x):
    return tuple(Shape(*x.shape))
""",
)

clever_numbers = Attack(
    "Returns integers that are equal to everything",
    says="is not right",
    mark="attack: it is equal True, and differs by 0",
    answer="""
class Any(int):
    def __eq__(self, other):
        return True
    def __sub__(self, other):
        return 0
    __hash__ = int.__hash__

def hello_shape(x):
    print(f"attack: it is equal {Any(0) == x.shape[0]}, and differs by {Any(0) - x.shape[0]}")
    return (Any(0), Any(0), Any(0))
""",
    twin="""
def hello_shape(x):
    return tuple(int(size) for size in x.shape)
""",
)

tensor_subclass = Attack(
    "Answers with a Tensor subclass whose every operation says yes",
    says="a tensor of shape \\[3\\] is not right",
    answer="""
import torch

class Yes(torch.Tensor):
    @classmethod
    def __torch_function__(cls, func, types, args=(), kwargs=None):
        return True

def hello_shape(x):
    return torch.zeros(3).as_subclass(Yes)
""",
    twin="""
import torch

class Plain(torch.Tensor):
    pass

def hello_shape(x):
    return tuple(x.as_subclass(Plain).shape)
""",
)

tensor_without_memory = Attack(
    "Answers with a tensor whose memory it has given back",
    says="ended without an answer",
    answer="""
import torch

def hello_shape(x):
    numbers = torch.ones(1000)
    numbers.untyped_storage().resize_(0)
    return numbers
""",
    twin="""
import torch

def hello_shape(x):
    numbers = torch.ones(1000)
    numbers.untyped_storage().resize_(0)
    return tuple(x.shape)
""",
)

tensors_that_are_not = Attack(
    "Answers with tensors that are not what they seem: without memory, without end, without numbers, or left over from a transformation",
    says="a tuple with 11 values is not right",
    answer="""
import numpy as np
import torch

leftover = []
torch.vmap(lambda row: (leftover.append(row), row)[1])(torch.ones(3, 2))

class Empty(torch.Tensor):
    @staticmethod
    def __new__(cls):
        return torch.Tensor._make_wrapper_subclass(cls, (10**6,), dtype=torch.float32)
    @classmethod
    def __torch_dispatch__(cls, call, types, arguments=(), named=None):
        return torch.zeros(3)

ODD = [
    lambda: torch.ones(1).expand(10**12),
    lambda: torch.ones(1, 0).expand(10**12, 0),
    lambda: torch.eye(3).to_sparse(),
    lambda: torch.quantize_per_tensor(torch.ones(3), 0.1, 0, torch.quint8),
    lambda: torch.ones(3, device="meta"),
    lambda: torch.ones(3, dtype=torch.complex32),
    lambda: torch.imag(torch.ones(3, dtype=torch.complex64).conj()),
    lambda: torch._efficientzerotensor((10**6,)),
    lambda: torch.nn.UninitializedParameter(),
    lambda: np.arange(6.0)[::-1],
    Empty,
]

def hello_shape(x):
    return tuple(make() for make in ODD) if x.shape[0] > 1 else leftover[0]
""",
    twin="""
import numpy as np
import torch

def hello_shape(x):
    sizes = torch.as_tensor(np.array(tuple(x.shape)[::-1])[::-1].copy())
    return tuple(int(size) for size in torch._neg_view(-sizes))
""",
)

unpickled = Attack(
    "Returns an object that does something when it is unpickled",
    says="Bomb",
    answer="""
class Bomb:
    def __reduce__(self):
        return (print, ("2.0",))

def hello_shape(x):
    return (Bomb(), Bomb(), Bomb())
""",
    twin="""
import pickle

def hello_shape(x):
    return pickle.loads(pickle.dumps(tuple(x.shape)))
""",
)
