"""How Sphinx makes the pages. Nothing of them asks another host: fonts are the reader's own, formulas are MathML."""

import re
from html import escape, unescape
from pathlib import Path
from typing import Any

from sphinx.application import Sphinx

import ffnlab
from autograder.authoring.stills import PREVIEW_SIZE, PROMISE
from ffnlab import palette
from ffnlab.registry import DEFAULT, active_course

ABOUT = "The Transformer's feed-forward network in twelve notebooks: figures that move, and exercises whose check names the mistake."
ABOUT_OTHERS = "A course in notebooks, with exercises whose check names the mistake."
FFNLAB = Path(ffnlab.__file__).parent

IS_FIRST_COURSE = active_course().package == DEFAULT
project = html_title = "Feed forward"  # of another course, make.py says it
version = release = ffnlab.__version__
language = "en"
extensions = ["myst_nb", "autograder.site.maths"]
exclude_patterns = [] if IS_FIRST_COURSE else ["**/preview.png"]  # which shows a board of the first course

html_theme = "furo"
html_theme_options: dict[str, list[str]] = {"top_of_page_buttons": []}
html_static_path = [
    "static",
    *(
        str(FFNLAB / name)
        for name in (
            "drawing/figure_widget.js",
            "drawing/figure_widget.css",
            "drawing/stored_frames.js",
            "drawing/dark.css",
            "prediction/prediction_widget.js",
        )
    ),
]
html_favicon = "static/favicon.svg"
html_css_files = ["figure_widget.css", "dark.css", "site.css"]
html_js_files = [("site.js", {"type": "module"})]
html_math_renderer = "mathml"
COLOURS = palette.sheet(paper=".ffn-picture svg, .ffn-predict")
# Where it changes, all pages are made anew.
html_context = {"made_by": [COLOURS, Path(__file__).read_text(encoding="utf-8")]}
html_copy_source = html_show_sphinx = html_show_copyright = html_use_index = False
pygments_style = "a11y-high-contrast-light"
pygments_dark_style = "a11y-high-contrast-dark"
highlight_language = "none"  # a block that does not say what it is

nb_execution_mode = "off"  # notebooks were run before, by running.py
nb_code_prompt_show = "Show the code"
nb_code_prompt_hide = "Hide the code"
nb_ipywidgets_js: dict[str, dict[str, str]] = {}
myst_enable_extensions = ["dollarmath"]
myst_heading_anchors = 3


def setup(app: Sphinx) -> None:
    app.connect("html-page-context", _captions, priority=900)  # after furo, whose navigation it mends
    app.connect("html-page-context", _head)


def _captions(app: Sphinx, name: str, template: str, context: dict[str, Any], doctree: object) -> None:
    """A heading by its role alone needs a level, for who hears the page."""
    tree = context.get("furo_navigation_tree", "")
    context["furo_navigation_tree"] = tree.replace('role="heading"', 'role="heading" aria-level="2"')


def _head(app: Sphinx, name: str, template: str, context: dict[str, Any], doctree: object) -> None:
    """The colours; and what a search engine and a message with a link to a page show. The viewport is furo's alone."""
    tags = re.sub(r'\s*<meta name="viewport"[^>]*>', "", context.get("metatags", ""))
    title = unescape(re.sub(r"<[^>]*>", "", context.get("title", app.config.project)))
    base = app.config.html_baseurl
    words = ABOUT if IS_FIRST_COURSE else ABOUT_OTHERS
    about = {
        "og:type": "website",
        "og:site_name": app.config.project,
        "og:title": PROMISE if name == "index" and IS_FIRST_COURSE else title,
        "og:description": words,
    }
    if IS_FIRST_COURSE:
        about |= {
            "og:image": f"{base}_static/preview.png"
            if base
            else context["pathto"]("_static/preview.png", resource=True),
            "og:image:width": str(PREVIEW_SIZE[0]),
            "og:image:height": str(PREVIEW_SIZE[1]),
            "og:image:alt": "A small Transformer goes on with a sentence; its feed-forward network has a switch.",
        }
    if base:
        about["og:url"] = base + app.builder.get_target_uri(name)
    lines = [f'<meta property="{attribute}" content="{escape(value)}">' for attribute, value in about.items()]
    lines.append(f'<meta name="twitter:card" content="summary{"_large_image" if IS_FIRST_COURSE else ""}">')
    if name == "index":
        lines.append(f'<meta name="description" content="{words}">')
    context["metatags"] = "\n".join([tags, *lines, f"<style>{COLOURS}</style>"])
