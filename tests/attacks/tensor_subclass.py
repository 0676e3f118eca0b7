"""Answers with a Tensor subclass whose every operation says yes."""

from attacks import Attack

attack = Attack(
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
