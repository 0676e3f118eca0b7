"""Which cells of a notebook must be run again for its page, where the outputs of all are there already: those that show what a page makes for itself,
and those that these depend on. Found by names, and rather one too many than one too few.
"""

from __future__ import annotations

import symtable
from collections.abc import Collection, Sequence
from dataclasses import dataclass, replace


@dataclass(frozen=True)
class _Names:
    """Of a cell: the global names that it reads, those that it binds, among these those of imports, and of what is no import, function or class."""

    reads: frozenset[str]
    bindings: frozenset[str]
    imports: frozenset[str]
    data: frozenset[str]


def find_cells_to_run(cells: Sequence[tuple[str, str]], functions: Collection[str]) -> set[str]:
    """The names of the cells to run, of `cells`, each (name, code).

    functions: a cell that calls one makes something for the page. It needs each earlier cell that binds a name which it reads, itself or in
    a function of an earlier cell, and each that reads the same data, for it may change them. A cell that is not Python by itself needs all before it.
    """
    own = [_names(code) for _, code in cells]
    names = [_through_functions(cell_names, own) for cell_names in own]
    data = set().union(*(cell_names.data for cell_names in names if cell_names))
    places: set[int] = set()
    for last, cell_names in enumerate(names):
        if cell_names is None:
            places |= set(range(last + 1))
        elif cell_names.reads & set(functions):
            places |= _with_needs(last, names, data)
    return {cells[n][0] for n in places}


def shows(code: str, functions: Collection[str]) -> bool:
    """Whether a cell itself may call one of these functions."""
    names = _names(code)
    return names is None or not names.reads.isdisjoint(functions)


def _with_needs(last: int, names: Sequence[_Names | None], data: Collection[str]) -> set[int]:
    """A cell and those before it that it needs, by their places."""
    places: set[int] = set()
    new = {last}
    while new:
        places |= new
        known = [names[place] for place in places]
        reads = set().union(*(cell_names.reads for cell_names in known if cell_names))
        new = {
            n
            for n, other in enumerate(names[:last])
            if other is None or other.bindings & reads or other.reads & reads & set(data)
        } - places
    return places


def _through_functions(names: _Names | None, every: Sequence[_Names | None]) -> _Names | None:
    """The names of a cell, with those that the functions and classes read which it reads: they are looked up when it calls them."""
    if names is None:
        return None
    reads = set(names.reads)
    new = set(names.reads)
    while new:
        makers = [other for other in every if other and (other.bindings - other.data - other.imports) & new]
        new = set().union(*(other.reads for other in makers)) - reads
        reads |= new
    return replace(names, reads=frozenset(reads))


def _names(code: str) -> _Names | None:
    """The names of a cell; None where it is not Python by itself, as with a magic command."""
    try:
        table = symtable.symtable(code, "cell", "exec")
    except SyntaxError:
        return None
    reads, bindings, imports, data = set[str](), set[str](), set[str](), set[str]()
    for symbol in table.get_symbols():
        if symbol.is_referenced():
            reads.add(symbol.get_name())
        if symbol.is_assigned() or symbol.is_imported():
            bindings.add(symbol.get_name())
            if symbol.is_imported():
                imports.add(symbol.get_name())
            elif not symbol.is_namespace():
                data.add(symbol.get_name())
    inner = list(table.get_children())
    while inner:
        scope = inner.pop()
        inner += scope.get_children()
        for symbol in scope.get_symbols():
            if symbol.is_global():
                reads.add(symbol.get_name())
                if symbol.is_assigned():
                    bindings.add(symbol.get_name())
                    data.add(symbol.get_name())
    return _Names(frozenset(reads), frozenset(bindings), frozenset(imports), frozenset(data))
