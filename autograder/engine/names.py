"""Which names a cell's code looks up, and which it defines: read off its bytecode, and nothing of it is run.

What a student typed is compiled in a judge (see `judge_server`), within its limits of time and memory: a compiler can be kept busy too.
"""

from __future__ import annotations

import ast
import builtins
import dis
import re
import warnings
from collections.abc import Iterable
from dataclasses import dataclass
from functools import lru_cache
from types import CodeType

from IPython.core.inputtransformer2 import TransformerManager

KEEPS_NAMES = {"time", "capture", "prun"}  # cell magics after which the notebook has what the cell defines
READS_NAMES = {"timeit", *KEEPS_NAMES}  # and those whose cell sees what the notebook defines
MAX_MAGICS = 10  # one in another; of what is below more, Python makes nothing
CELL_MAGIC = re.compile(r"\s*%%(\w+)[^\n]*\n?")
WORD = re.compile(r"[^\W\d]\w*")
LOADS = {"LOAD_NAME", "LOAD_GLOBAL", "LOAD_FROM_DICT_OR_GLOBALS"}
STORES = {"STORE_NAME", "STORE_GLOBAL"}


@dataclass(frozen=True)
class Names:
    """The names of one cell."""

    uses: frozenset[str] = frozenset()  # that it, or a function in it, takes from the notebook
    defines: frozenset[str] = frozenset()  # that it gives the notebook
    problem: str = ""  # why Python can't compile it, in a line; empty where it can


@lru_cache(maxsize=4096)
def of_source(source: str) -> Names:
    """The names of a cell's source, magics and all."""
    keeps = True
    for _ in range(MAX_MAGICS):
        magic = CELL_MAGIC.match(source)
        if not magic:
            break
        if magic[1] not in READS_NAMES:
            return Names()
        source, keeps = source[magic.end() :], keeps and magic[1] in KEEPS_NAMES
    names = _of_python(source)
    return names if keeps else Names(names.uses, problem=names.problem)


def _of_python(source: str) -> Names:
    try:
        with warnings.catch_warnings(action="ignore"):
            tree = ast.parse(TransformerManager().transform_cell(source))
            code = compile(tree, "cell", "exec", ast.PyCF_ALLOW_TOP_LEVEL_AWAIT, dont_inherit=True)
    except (SyntaxError, ValueError, RecursionError, MemoryError) as error:
        line = f", line {error.lineno}" if isinstance(error, SyntaxError) and error.lineno else ""
        return Names(problem=f"{getattr(error, 'msg', type(error).__name__)}{line}")
    uses, defines = _names_of_code(code)
    return Names(frozenset(uses | set(_words_of_magics(tree))) - set(dir(builtins)), frozenset(defines))


def _names_of_code(module: CodeType) -> tuple[set[str], set[str]]:
    """What the code of a cell takes and gives. A name that the cell itself has given before is not taken."""
    uses, defines = set[str](), set[str]()
    functions = list(_functions_within(module))
    for step in dis.get_instructions(module):
        if step.opname in LOADS and step.argval not in defines:
            uses.add(step.argval)
        elif step.opname in STORES:
            defines.add(step.argval)
    while functions:
        code = functions.pop()
        functions += _functions_within(code)
        own = {step.argval for step in dis.get_instructions(code) if step.opname == "STORE_NAME"}  # of a class
        for step in dis.get_instructions(code):
            if step.opname in LOADS and step.argval not in own | defines:
                uses.add(step.argval)
            elif step.opname == "STORE_GLOBAL":
                defines.add(step.argval)
    return uses, defines


def _functions_within(code: CodeType) -> Iterable[CodeType]:
    return (constant for constant in code.co_consts if isinstance(constant, CodeType))


def _words_of_magics(tree: ast.AST) -> Iterable[str]:
    """The words behind a line's magic, as in `%timeit f(x)`: names, perhaps."""
    for node in ast.walk(tree):
        if isinstance(node, ast.Call) and isinstance(node.func, ast.Attribute) and node.func.attr == "run_line_magic":
            for argument in node.args:
                if isinstance(argument, ast.Constant) and isinstance(argument.value, str):
                    yield from WORD.findall(argument.value)
