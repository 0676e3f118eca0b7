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
from typing import Any

import jinja2
import nh3
from markupsafe import Markup
from pygments.token import STANDARD_TYPES

from autograder.engine.submitted_notebook import PICTURE, with_pictures
from ffnlab.untrusted_text import CUT, clean, in_a_line

# Characters, pictures not counted, of a cell and of a page that are rendered; what is beyond is shown as plain text, and beyond that cut. Rendering Markdown
# can take a time that grows with the square of a cell's length, and meanwhile Jupyter's server does nothing else; it reads once more every mark of the whole
# page. No cell of ours has 4,000, no notebook 25,000. A tag or an entity of HTML, and what turns a terminal's colour, counts for MARKUP_WEIGHT characters.
MAX_CELL = {
    "markdown": 10_000,
    "code": 20_000,
    "ansi": 100_000,
    "html": 500_000,
    "latex": 5_000,
    "formula": 400,
    "plain": 500_000,
}
MAX_PAGE = {
    "markdown": 100_000,
    "code": 60_000,
    "ansi": 500_000,
    "html": 1_000_000,
    "latex": 20_000,
    "formula": 2_000,
    "plain": 500_000,
}
MARKUP_WEIGHT = 50
MAX_ESCAPES = 1_000  # of a terminal, that colour one output
MAX_DEPTH = 30  # of tags in tags

PHOTOS = ("image/png", "image/jpeg")
LINK = re.compile(r"(?:https?://|mailto:|#)", re.IGNORECASE)
# Formulas that do more than set type: links, styles, names for other parts of the page, extensions loaded from elsewhere; and macros of one's own, with which
# a line unfolds to millions of characters, or `\verb`, whose braces are none.
ACTIVE_MACRO = re.compile(
    r"\\(?:href|url|class|cssId|style|data|html\w*|require|bbox|mmlToken|includegraphics"
    r"|[egx]?def|(?:future)?let|(?:re)?newcommand|providecommand|(?:re)?newenvironment|Declare\w+|Newextarrow|verb)(?![A-Za-z])"
)
# What lies in what, in a formula: braces, and macros that take in all that follows. A tab of Chromium ends over a formula that is nested 150 times.
NESTING = re.compile(
    r"\\(?P<takes_in>left|begin|raise|lower|\w+style|[tT]iny|scriptsize|small|normalsize|[lL]arge|LARGE|[hH]uge)(?![A-Za-z])"
    r"|\\.|%.*|(?P<brace>[{}])"
)
MAX_NESTED = 60
FORMULA = re.compile(r"\$|\\[(\[]|\\begin|&#")  # where one begins or ends
# A tag begins with < and a letter, or one of / ! ?, in whatever dialect of Markdown or HTML.
HARMLESS_TAG = (
    r"/?(?:b|br|code|details|em|hr|i|kbd|li|ol|p|pre|s|strong|sub|summary|sup|table|tbody|td|th|thead|tr|u|ul) ?/?>"
)
TAG = re.compile(rf"<(?=[A-Za-z/!?])(?!{HARMLESS_TAG})")
# A link leads to the web: what follows its ](, or the ]: of one that is defined elsewhere, is such an address. A picture is in the text itself.
LINKED = re.compile(rf"\](?=\(|:)(?!\(?:?[ \n]?(?:{LINK.pattern}|{PICTURE.pattern}))", re.IGNORECASE)
PICTURED = re.compile(rf"!(?=\[)(?!\[[^\[\]]{{0,300}}\]\({PICTURE.pattern}[ )])")

# A tag that is plain to read: no quotation mark or angle bracket where one reader of HTML could see the tag end and another not.
SPACE = r"[ \t\n\f\r]"
ATTRIBUTE = rf"""{SPACE}+[^\s"'<>/=]+(?:{SPACE}*={SPACE}*(?:"[^"<>]*"|'[^'<>]*'|[^\s"'<>=`]+))?"""
PLAIN_TAG = re.compile(
    rf"<(?:!--[^<>]*-->|(?P<end>/?)(?P<name>[A-Za-z][A-Za-z0-9]*)(?:{ATTRIBUTE}){{0,20}}{SPACE}*/?>|(?P<odd>[A-Za-z/!?]))"
)
CLOSES_ITSELF = {"p", "li", "dt", "dd", "td", "th", "tr", "thead", "tbody", "tfoot", "option"}
EMPTY = {"br", "hr", "img", "wbr", "col", "input", "link", "meta", "source", "area", "embed", "track", "base", "param"}
SCRIPT, SCRIPT_END = (re.compile(rf"<{part}(?=[\s/>])[^>]*>?", re.IGNORECASE) for part in ("script", "/script"))

OutputBudget = dict[str, int]  # of a notebook or a page: by kind, what of it has been rendered


def markdown(source: str) -> str:
    """Markdown that shows the same words, formulas, code and pictures in any viewer, and nothing else: a tag is shown as text, and so is a link to anything but
    an address on the web. What is too long to be rendered becomes a block of plain text.
    """
    source = clean(source, len(source))
    if _length(source) > MAX_CELL["markdown"] or _is_nested(source):
        return plain(source)
    words, pictures = _aside(source)
    return _put_back(PICTURED.sub("! ", LINKED.sub("] ", TAG.sub("< ", _without_macros(words)))), pictures)


def plain(source: str) -> str:
    """Markdown that shows a text as it stands."""
    source = clean(source, len(source))
    fence = "`" * (3 + max((len(run) for run in re.findall(r"`+", source)), default=0))
    return f"{fence}text\n{source}\n{fence}"


def output(raw: Mapping[str, Any], budget: OutputBudget) -> dict[str, Any]:
    """One output of a cell, in nbformat's form: cleaned, and of the types of data only those that can be shown without acting, in a form that does not.
    budget: of the outputs before it in the same notebook; it is counted there.
    """
    if raw["output_type"] == "stream":
        return {"output_type": "stream", "name": raw["name"], "text": clean(raw["text"], len(raw["text"]))}
    if raw["output_type"] == "error":
        texts = {name: in_a_line(raw[name], 2_000) for name in ("ename", "evalue")}
        return {"output_type": "error", **texts, "traceback": [clean(line) for line in raw["traceback"]]}
    return {"output_type": "display_data", "metadata": {}, "data": _harmless(raw["data"], budget)}


def _harmless(data: Mapping[str, Any], budget: OutputBudget) -> dict[str, str]:
    safe_data: dict[str, str] = {}
    texts = {kind: content for kind, content in data.items() if isinstance(content, str)}
    for kind, content in texts.items():
        if kind not in PHOTOS:
            content = clean(content, len(content))
        if kind == "text/plain":
            safe_data[kind] = content
        elif kind == "text/html":
            safe_html = _affordable_html(content, budget)
            if safe_html is None:
                safe_data.setdefault("text/plain", content)
            else:
                safe_data[kind] = safe_html
        elif kind == "text/markdown":
            safe_data[kind] = markdown(content)
        elif kind == "text/latex":
            safe_data["text/plain" if _is_nested(content) else kind] = _without_macros(content)
        elif kind in PHOTOS and _is_base64(content):
            safe_data[kind] = content
        elif kind == "image/svg+xml":  # inside <img>, a picture runs nothing and loads nothing
            base64_text = base64.b64encode(content.encode()).decode()
            safe_data["text/html"] = f'<img alt="a drawing" src="data:image/svg+xml;base64,{base64_text}">'
    return safe_data


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


def _affordable_html(text: str, budget: OutputBudget) -> str | None:
    """HTML that a student made, as `html` cleans it; None where that, or to show it, would be dear."""
    text = "".join(SCRIPT.split(part, maxsplit=1)[0] for part in SCRIPT_END.split(text))
    if _weight(text) > MAX_CELL["html"] or not _is_orderly(text):
        return None
    safe_html = html(text)
    if _is_nested(safe_html):
        return None
    affordable = _affordable(budget, "html", _weight(safe_html)) and _affordable(
        budget, "formula", _formulas(safe_html)
    )
    return safe_html if affordable else None


def _weight(text: str) -> int:
    return _length(text) + MARKUP_WEIGHT * (text.count("<") + text.count("&"))


def _is_orderly(text: str) -> bool:
    """Whether what is opened is closed again in its order, and nothing lies deep. Else a reader of HTML has to put it in order: what a paragraph leaves open
    is opened again in each that follows, so that n tags become n² elements; and each takes the longer the deeper it lies.
    """
    around: list[str] = []
    for tag in PLAIN_TAG.finditer(text):
        if tag["odd"]:
            return False
        name = (tag["name"] or "").lower()
        if not name or name in EMPTY:
            continue
        if tag["end"]:
            while around and around[-1] != name and around[-1] in CLOSES_ITSELF:
                around.pop()
            if not around or around.pop() != name:
                return False
        else:
            if around and around[-1] == name and name in CLOSES_ITSELF:
                around.pop()
            around.append(name)
            if len(around) > MAX_DEPTH:
                return False
    return True


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


def _formulas(text: str) -> int:
    return sum(1 for _ in FORMULA.finditer(text))


def _is_nested(text: str) -> bool:
    """Whether a formula in it may be nested more deeply than a browser can stand."""
    taken_in = depth = deepest = 0
    for token in NESTING.finditer(text):
        taken_in += bool(token["takes_in"])
        if token["brace"]:
            depth = max(0, depth + (1 if token["brace"] == "{" else -1))
            deepest = max(deepest, depth)
    return taken_in + deepest > MAX_NESTED


def _without_macros(text: str) -> str:
    return ACTIVE_MACRO.sub(r"\\text", text)


def _is_base64(text: str) -> bool:
    try:
        return bool(base64.b64decode("".join(text.split()), validate=True))
    except (binascii.Error, ValueError):
        return False


def _aside(text: str) -> tuple[str, list[str]]:
    """A text with a short stand-in for each picture, and the pictures: whatever reads a text takes long over millions of characters."""
    pictures: list[str] = []

    def stand_in(match: re.Match[str]) -> str:
        pictures.append(match[0])
        return f"data:image/png;base64,{len(pictures) - 1:08}"

    return PICTURE.sub(stand_in, text), pictures


STAND_IN = re.compile(r'(?P<image_tag><img [^<>]*src=")?data:image/png;base64,(?P<number>\d{8})')


def _put_back(text: str, pictures: list[str], only_in_tags: bool = False) -> str:
    """The text with its pictures. only_in_tags: the text is HTML; where a picture is not to be seen, it is words, and its beginning is enough. Each is put back
    once, however often it is named.
    """
    pictures_left = dict(enumerate(pictures))

    def put(match: re.Match[str]) -> str:
        picture = pictures_left.get(int(match["number"]), "")
        if only_in_tags and not match["image_tag"]:
            return picture[:100]
        pictures_left.pop(int(match["number"]), None)
        return (match["image_tag"] or "") + picture

    return STAND_IN.sub(put, text)


def _affordable(budget: OutputBudget, kind: str, length: int) -> bool:
    """Whether a text of this length is still rendered; if so, it is counted."""
    if length > MAX_CELL[kind] or budget.get(kind, 0) + length > MAX_PAGE[kind]:
        return False
    budget[kind] = budget.get(kind, 0) + length
    return True


# Filters in the place of nbconvert's own of the same names.


def _output_budget(context: jinja2.runtime.Context) -> OutputBudget:
    """What has been rendered on the page that is being made."""
    budget: OutputBudget = context.get("resources", {}).setdefault("autograder_rendered", {})
    return budget


def _words(context: jinja2.runtime.Context, text: str) -> Markup:
    """A text as it is, as far as the page has room for it."""
    budget = _output_budget(context)
    room = MAX_PAGE["plain"] - budget.get("plain", 0)
    budget["plain"] = budget.get("plain", 0) + min(room, len(text))
    return Markup(escape(text if len(text) <= room else text[:room] + CUT, quote=False))


def _plain(context: jinja2.runtime.Context, text: str) -> Markup:
    return Markup("<pre>{}</pre>").format(_words(context, text))


@jinja2.pass_context
def markdown2html(context: jinja2.runtime.Context, source: str) -> Markup:
    """A Markdown cell, or a comment, as HTML that does not act."""
    cell = context.get("cell", {})
    budget = _output_budget(context)
    source, pictures = _aside(with_pictures(source, cell.get("attachments", {})))
    if not (_affordable(budget, "markdown", _length(source)) and _affordable(budget, "formula", _formulas(source))):
        return _plain(context, _put_back(source, pictures, only_in_tags=True))
    if not cell.get("metadata", {}).get("nbgrader", {}).get("locked"):
        source = markdown(source)  # so that what is taken out below is read as text
    html_text = trusted_markdown(source)
    if _is_nested(html_text):  # by entities, of which the source shows nothing
        return _plain(context, _put_back(source, pictures, only_in_tags=True))
    return Markup(_put_back(html_text, pictures, only_in_tags=True))


def trusted_markdown(source: str) -> Markup:
    """Markdown of ours as HTML that does not act all the same. Rendering it takes as long as it takes."""
    from nbconvert.filters.markdown_mistune import IPythonRenderer, MarkdownWithMath

    renderer = IPythonRenderer(escape=False, attachments={}, exclude_anchor_links=True)
    return Markup(html(MarkdownWithMath(renderer=renderer).render(source)))


def strip_files_prefix(text: str) -> str:
    """Nothing here has such a prefix; and what filters made stays marked as such."""
    return text


@jinja2.pass_context
def clean_html(context: jinja2.runtime.Context, element: str | bytes) -> Markup:
    """HTML of an output, or of a filter before this one."""
    if isinstance(element, Markup):
        return Markup(html(element))
    text = element.decode("utf-8", "replace") if isinstance(element, bytes) else str(element)
    safe_html = _affordable_html(text, _output_budget(context))
    return _plain(context, text) if safe_html is None else Markup(safe_html)


@jinja2.pass_context
def highlight_code(context: jinja2.runtime.Context, source: str, metadata: Any = None) -> Markup:
    """Code in colours."""
    from nbconvert.filters.highlight import Highlight2HTML

    if not _affordable(_output_budget(context), "code", len(source)):
        return _plain(context, source)
    return Markup(Highlight2HTML(pygments_lexer="ipython3")(source, metadata=metadata))


@jinja2.pass_context
def ansi2html(context: jinja2.runtime.Context, text: str) -> Markup:
    """What a terminal would have shown."""
    from nbconvert.filters import ansi2html as in_colours

    text = str(text)
    escapes = text.count("\x1b")
    if escapes > MAX_ESCAPES or not _affordable(_output_budget(context), "ansi", len(text) + MARKUP_WEIGHT * escapes):
        return _words(context, clean(text, len(text)))
    return Markup(in_colours(text))


@jinja2.pass_context
def formula(context: jinja2.runtime.Context, text: str) -> Markup:
    """A formula of an output, for MathJax."""
    text = _without_macros(str(text))
    budget = _output_budget(context)
    affordable = _affordable(budget, "latex", len(text)) and _affordable(budget, "formula", _formulas(text))
    return Markup(escape(text)) if affordable and not _is_nested(text) else _plain(context, text)


FILTERS: dict[str, Any] = {
    filter.__name__: filter for filter in (markdown2html, clean_html, highlight_code, ansi2html, strip_files_prefix)
} | {"e": formula}
