"""What students wrote, as it may be shown to whoever reads it: words, formulas, code and pictures stay; what a browser would act on does not.

Twice, so that neither depends on the other. `markdown` and `output` are for what we write into a graded notebook, which is then harmless in any viewer: a tag
becomes text. The filters are for nbgrader's formgrader and its feedback pages, which also render notebooks that others have written.
nbgrader_config.py names them.
"""

from __future__ import annotations

import base64
import binascii
import re
from collections.abc import Mapping
from html import escape
from types import MappingProxyType
from typing import Any

import jinja2
import nh3
from markupsafe import Markup
from pygments.token import STANDARD_TYPES

from autograder.engine.rebuild import PICTURE
from ffnlab.cleaning import clean, in_a_line

# Characters, pictures not counted, of a cell and of a page that are rendered; what is beyond is shown as plain text. Rendering Markdown can take a time that
# grows with the square of a cell's length, and meanwhile Jupyter's server does nothing else. No cell of ours has 4,000, no notebook 25,000.
MAX_CELL = {"markdown": 10_000, "code": 20_000, "ansi": 100_000}
MAX_PAGE = {"markdown": 100_000, "code": 100_000, "ansi": 1_000_000}
MAX_ESCAPES = 1_000  # of a terminal, that colour one output

PHOTOS = ("image/png", "image/jpeg")
LINK = re.compile(r"(?:https?://|mailto:|#)", re.IGNORECASE)
# Formulas that do more than set type: links, styles, names for other parts of the page, extensions loaded from elsewhere.
ACTIVE_MACRO = re.compile(
    r"\\(?:href|url|class|cssId|style|data|html\w*|require|bbox|mmlToken|includegraphics)(?![A-Za-z])"
)
# A tag begins with < and a letter, or one of / ! ?, in whatever dialect of Markdown or HTML.
HARMLESS_TAG = (
    r"/?(?:b|br|code|details|em|hr|i|kbd|li|ol|p|pre|s|strong|sub|summary|sup|table|tbody|td|th|thead|tr|u|ul) ?/?>"
)
TAG = re.compile(rf"<(?=[A-Za-z/!?])(?!{HARMLESS_TAG})")
# A link leads to the web: what follows its ](, or the ]: of one that is defined elsewhere, is such an address. A picture is in the text itself.
LINKED = re.compile(rf"\](?=\(|:)(?!\(?:?[ \n]?(?:{LINK.pattern}|{PICTURE.pattern}))", re.IGNORECASE)
PICTURED = re.compile(rf"!(?=\[)(?!\[[^\[\]]{{0,300}}\]\({PICTURE.pattern}[ )])")


def markdown(source: str) -> str:
    """Markdown that shows the same words, formulas, code and pictures in any viewer, and nothing else: a tag is shown as text, and so is a link to anything but
    an address on the web. What is too long to be rendered becomes a block of plain text.
    """
    source = clean(source, len(source))
    if _length(source) > MAX_CELL["markdown"]:
        fence = "`" * (3 + max((len(run) for run in re.findall(r"`+", source)), default=0))
        return f"{fence}text\n{source}\n{fence}"
    return PICTURED.sub("! ", LINKED.sub("] ", TAG.sub("< ", _without_macros(source))))


def output(raw: Mapping[str, Any]) -> dict[str, Any]:
    """One output of a cell, in nbformat's form: cleaned, and of the types of data only those that can be shown without acting, in a form that does not."""
    if raw["output_type"] == "stream":
        return {"output_type": "stream", "name": raw["name"], "text": clean(raw["text"], len(raw["text"]))}
    if raw["output_type"] == "error":
        texts = {name: in_a_line(raw[name], 2_000) for name in ("ename", "evalue")}
        return {"output_type": "error", **texts, "traceback": [clean(line) for line in raw["traceback"]]}
    return {"output_type": "display_data", "metadata": {}, "data": _harmless(raw["data"])}


def _harmless(data: Mapping[str, Any]) -> dict[str, str]:
    shown = {}
    texts = {kind: content for kind, content in data.items() if isinstance(content, str)}
    for kind, content in texts.items():
        if kind not in PHOTOS:
            content = clean(content, len(content))
        if kind == "text/plain":
            shown[kind] = content
        elif kind == "text/html":
            shown[kind] = html(content)
        elif kind == "text/markdown":
            shown[kind] = markdown(content)
        elif kind == "text/latex":
            shown[kind] = _without_macros(content)
        elif kind in PHOTOS and _is_base64(content):
            shown[kind] = content
        elif kind == "image/svg+xml":  # inside <img>, a picture runs nothing and loads nothing
            encoded = base64.b64encode(content.encode()).decode()
            shown["text/html"] = f'<img alt="a drawing" src="data:image/svg+xml;base64,{encoded}">'
    return shown


def html(text: str) -> str:
    """HTML without scripts, styles, names, forms and frames; links lead to the web, pictures are inside."""
    clean = nh3.clean(
        text,
        tags=nh3.ALLOWED_TAGS,
        attributes=_ATTRIBUTES,
        attribute_filter=_attribute,
        url_schemes={"http", "https", "mailto", "data"},
        allowed_classes=_CLASSES,
        link_rel="noopener noreferrer nofollow",
        set_tag_attribute_values={"a": {"target": "_blank"}},
    )
    return _without_macros(clean)


_ATTRIBUTES = {
    "a": {"href", "title"},
    "img": {"src", "alt", "title", "width", "height"},
    "td": {"colspan", "rowspan"},
    "th": {"colspan", "rowspan", "scope"},
    "ol": {"start"},
    "details": {"open"},
}
_PYGMENTS = set(STANDARD_TYPES.values()) - {""}
_CLASSES = {"div": {"highlight", "hl-ipython3"}, "span": _PYGMENTS, "table": {"dataframe"}}


def _attribute(tag: str, name: str, value: str) -> str | None:
    if (tag, name) == ("a", "href"):
        return value if LINK.match(value) else None
    if (tag, name) == ("img", "src"):
        return value if PICTURE.fullmatch(value) else None
    return value


def _length(source: str) -> int:
    return len(PICTURE.sub("", source))


def _without_macros(text: str) -> str:
    return ACTIVE_MACRO.sub(r"\\text", text)


def _is_base64(text: str) -> bool:
    try:
        return bool(base64.b64decode("".join(text.split()), validate=True))
    except (binascii.Error, ValueError):
        return False


def _plain(source: str) -> Markup:
    return Markup(f"<pre>{escape(source)}</pre>")


# Filters in the place of nbconvert's own of the same names.


def _affordable(context: jinja2.runtime.Context, kind: str, length: int) -> bool:
    """Whether a text of this length is still rendered on the page that is being made; if so, it is counted."""
    spent = context.get("resources", {}).setdefault("autograder_rendered", {})
    if length > MAX_CELL[kind] or spent.get(kind, 0) + length > MAX_PAGE[kind]:
        return False
    spent[kind] = spent.get(kind, 0) + length
    return True


@jinja2.pass_context
def markdown2html(context: jinja2.runtime.Context, source: str) -> Markup:
    """A Markdown cell, or a comment, as HTML that does not act."""
    if not _affordable(context, "markdown", _length(source)):
        return _plain(source)
    cell = context.get("cell", {})
    if not cell.get("metadata", {}).get("nbgrader", {}).get("locked"):
        source = markdown(source)  # so that what is taken out below is read as text
    return trusted_markdown(source, cell.get("attachments", {}))


def trusted_markdown(source: str, attachments: Mapping[str, Any] = MappingProxyType({})) -> Markup:
    """Markdown of ours as HTML that does not act all the same. Rendering it takes as long as it takes."""
    from nbconvert.filters.markdown_mistune import IPythonRenderer, MarkdownWithMath

    renderer = IPythonRenderer(escape=False, attachments=dict(attachments), exclude_anchor_links=True)
    return Markup(html(MarkdownWithMath(renderer=renderer).render(source)))


def clean_html(element: str | bytes) -> Markup:
    """HTML of an output, or of a filter before this one."""
    return Markup(html(element.decode("utf-8", "replace") if isinstance(element, bytes) else str(element)))


@jinja2.pass_context
def highlight_code(context: jinja2.runtime.Context, source: str, metadata: Any = None) -> Markup:
    """Code in colours."""
    from nbconvert.filters.highlight import Highlight2HTML

    if not _affordable(context, "code", len(source)):
        return _plain(source)
    return Markup(Highlight2HTML(pygments_lexer="ipython3")(source, metadata=metadata))


@jinja2.pass_context
def ansi2html(context: jinja2.runtime.Context, text: str) -> Markup:
    """What a terminal would have shown."""
    from nbconvert.filters import ansi2html as in_colours

    text = str(text)
    if text.count("\x1b") > MAX_ESCAPES or not _affordable(context, "ansi", len(text)):
        return Markup(escape(clean(text, len(text))))
    return Markup(in_colours(text))


def formula(text: str) -> Markup:
    """A formula of an output, for MathJax."""
    return Markup(escape(_without_macros(str(text))))


FILTERS: dict[str, Any] = {
    filter.__name__: filter for filter in (markdown2html, clean_html, highlight_code, ansi2html)
} | {"e": formula}
