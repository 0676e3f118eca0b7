"""Deletes every assert with a transformer of the syntax tree."""

from attacks import Attack

attack = Attack(
    says="is not right",
    answer="""
import ast

class NoAsserts(ast.NodeTransformer):
    def visit_Assert(self, node):
        return ast.Pass()

get_ipython().ast_transformers.append(NoAsserts())

def hello_shape(x):
    return (0, 0, 0)
""",
    twin="""
import ast

def hello_shape(x):
    assert ast.literal_eval("3") == x.dim()
    return tuple(x.shape)
""",
)
