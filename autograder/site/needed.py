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

    read: frozenset[str]
    bound: frozenset[str]
    imported: frozenset[str]
    data: frozenset[str]


def needed(cells: Sequence[tuple[str, str]], shown: Collection[str]) -> set[str]:
    """The names of the cells to run, of `cells`, each (name, code).

    shown: functions; a cell that calls one makes something for the page. It needs each earlier cell that binds a name which it reads, itself or in
    a function of an earlier cell, and each that reads the same data, for it may change them. A cell that is not Python by itself needs all before it.
    """
    own = [_names(code) for _, code in cells]
    names = [_through_functions(found, own) for found in own]
    data = set().union(*(found.data for found in names if found))
    wanted: set[int] = set()
    for last, made in enumerate(names):
        if made is None:
            wanted |= set(range(last + 1))
        elif made.read & set(shown):
            wanted |= _with_needs(last, names, data)
    return {cells[n][0] for n in wanted}


def shows(code: str, shown: Collection[str]) -> bool:
    """Whether a cell itself may call one of these functions."""
    found = _names(code)
    return found is None or not found.read.isdisjoint(shown)


def _with_needs(last: int, names: Sequence[_Names | None], data: Collection[str]) -> set[int]:
    """A cell and those before it that it needs, by their places."""
    found, new = set(), {last}
    while new:
        found |= new
        read = set().union(*(one.read for n in found if (one := names[n])))
        new = {
            n
            for n, other in enumerate(names[:last])
            if other is None or other.bound & read or other.read & read & set(data)
        } - found
    return found


def _through_functions(found: _Names | None, every: Sequence[_Names | None]) -> _Names | None:
    """The names of a cell, with those that the functions and classes read which it reads: they are looked up when it calls them."""
    if found is None:
        return None
    read, new = set(found.read), set(found.read)
    while new:
        makers = [other for other in every if other and (other.bound - other.data - other.imported) & new]
        new = set().union(*(other.read for other in makers)) - read
        read |= new
    return replace(found, read=frozenset(read))


def _names(code: str) -> _Names | None:
    """The names of a cell; None where it is not Python by itself, as with a magic command."""
    try:
        table = symtable.symtable(code, "cell", "exec")
    except SyntaxError:
        return None
    read, bound, imported, data = set[str](), set[str](), set[str](), set[str]()
    for symbol in table.get_symbols():
        if symbol.is_referenced():
            read.add(symbol.get_name())
        if symbol.is_assigned() or symbol.is_imported():
            bound.add(symbol.get_name())
            if symbol.is_imported():
                imported.add(symbol.get_name())
            elif not symbol.is_namespace():
                data.add(symbol.get_name())
    inner = list(table.get_children())
    while inner:
        scope = inner.pop()
        inner += scope.get_children()
        for symbol in scope.get_symbols():
            if symbol.is_global():
                read.add(symbol.get_name())
                if symbol.is_assigned():
                    bound.add(symbol.get_name())
                    data.add(symbol.get_name())
    return _Names(frozenset(read), frozenset(bound), frozenset(imported), frozenset(data))
