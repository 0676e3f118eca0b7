"""Formulas as MathML, made when the site is built: a page needs no script for them, and asks nobody. A Sphinx extension."""

from __future__ import annotations

import re
from typing import Any

from latex2mathml import converter
from sphinx.application import Sphinx
from sphinx.util import logging

log = logging.getLogger(__name__)


def mathml(latex: str, display: str = "inline") -> str:
    """A formula as a <math> element. A command that the converter does not know is a warning, which ends the build."""
    try:
        element = str(converter.convert(latex, display=display))
    except Exception as error:
        log.warning("the formula %s can't be converted: %s", latex, error or type(error).__name__)
        return ""
    unknown = re.findall(r">\s*(\\[A-Za-z]+)", element)
    if unknown:
        log.warning("the formula %s has %s, which the converter does not know", latex, ", ".join(unknown))
    return element


def _inline(writer: Any, node: Any) -> None:
    writer.body.append(mathml(_take_latex(node)))


def _block(writer: Any, node: Any) -> None:
    writer.body.append(f'<div class="ffn-formula">{mathml(_take_latex(node), "block")}</div>\n')


def _take_latex(node: Any) -> str:
    latex = str(node.astext())
    node.clear()  # so that the writer finds no text to write again
    return latex


def _skip(writer: Any, node: Any) -> None:
    pass


def setup(app: Sphinx) -> dict[str, bool]:
    app.add_html_math_renderer("mathml", (_inline, _skip), (_block, _skip))
    return {"parallel_read_safe": True, "parallel_write_safe": True}
