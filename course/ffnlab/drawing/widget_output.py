"""A widget for a live notebook, with a still picture for a saved one.

A saved notebook holds no widgets, and JupyterLab then shows an error where one was, whatever else that output holds. So a cell shows
two outputs: the still, which is plain HTML, and the widget. The style sheet in the still shows one of them at a time. Where its selectors
mean nothing, as in VS Code, the widget's script hides the element whose `data-still` is its own trait `still`.
"""

from __future__ import annotations

from collections.abc import Callable
from typing import TYPE_CHECKING

from IPython.display import display
from traitlets import Unicode

from ffnlab.drawing import style
from ffnlab.environment import element_id

if TYPE_CHECKING:
    from anywidget import AnyWidget

VIEW = "application/vnd.jupyter.widget-view+json"
# JupyterLab and Notebook 7. An untrusted notebook drops the style sheet, and does not show the widget's output at all.
STYLE = """<style>
.jp-OutputArea-child:has(> * .ffn-still):has(+ .jp-OutputArea-child .ffn-live) { display: none }
.jp-OutputArea-child:has(> * .ffn-still) + .jp-OutputArea-child:not(:has(.ffn-live)) { display: none }
</style>"""


def show(widget: AnyWidget, still: str | Callable[[str], str], words: str) -> None:
    """Displays a widget, whose view has an element of the class `ffn-live`.

    still: HTML that is shown when the notebook is opened again without the widget, or a function that makes it for the `data-still` of its element.
        It needs no script and no style sheet.
    words: the same as plain text.
    """
    name = element_id(words)
    widget.add_traits(still=Unicode(name).tag(sync=True))
    html = f'{STYLE}{style.dark_sheet()}<div class="ffn-still" data-still="{name}">{still(name) if callable(still) else still}</div>'
    display({"text/html": html, "text/plain": words}, raw=True)
    show_view(widget)


def show_view(widget: AnyWidget) -> None:
    """Displays a widget alone, without the text that would stand for it."""
    live, metadata = widget._repr_mimebundle_() or ({}, {})  # the metadata tell Colab how to load the widget again
    display({VIEW: live[VIEW]}, raw=True, metadata=metadata)
