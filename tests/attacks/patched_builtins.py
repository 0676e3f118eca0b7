"""Replaces builtins by ones that say yes."""

from attacks import Attack

attack = Attack(
    says="ended without an answer|is not right",
    answer="""
import builtins

builtins.isinstance = lambda *args: True
builtins.all = builtins.any = lambda *args: True
builtins.abs = lambda x: 0
builtins.AssertionError = KeyboardInterrupt

def hello_shape(x):
    return (0, 0, 0)
""",
    twin="""
def hello_shape(x):
    max = 3  # hides a builtin, harmlessly
    return tuple(x.shape[:max])
""",
)
