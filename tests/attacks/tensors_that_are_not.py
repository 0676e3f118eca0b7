"""Answers with tensors that are not what they seem: without memory, without end, without numbers, or left over from a transformation"""

from attacks import Attack

attack = Attack(
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
