"""Answers with a tensor whose memory it has given back."""

from attacks import Attack

attack = Attack(
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
