"""The colours of the course, one for each meaning: boards, figures, plots, panels, predictions and the site all take theirs from here.

docs/boards.md says what each means. What is drawn on paper (figures, plots, panels, predictions) goes through a filter where the page is dark
(`drawing/dark.css`); boards and the site have variables. Both show the same colours, since DARK is what that filter makes of LIGHT.
"""

from __future__ import annotations

LIGHT = {
    "ink": "#1f2933",
    "muted": "#5b6673",
    "rule": "#cbd2d9",
    "tint": "#edf0f3",
    "paper": "#ffffff",
    "right": "#007f5b",
    "wrong": "#a9457f",
    "ffn": "#5a3fb0",
    "attention": "#8a5f00",
    "plus": "#0072b2",
    "minus": "#c24e00",
    "lamp": "#e69f00",
    "press": "#1f4e8c",
    "on-press": "#ffffff",
    "s1": "#1f77b4",
    "s2": "#c46a00",
    "s3": "#2a8a3e",
    "s4": "#b83232",
    "s5": "#7a55b0",
    "s6": "#7d5a4a",
    "s7": "#c2559d",
    "s8": "#4d7f8c",
}
INVERSION, BRIGHTNESS = 0.9, 1.15  # of the filter in drawing/dark.css, whose hue-rotate is by half a turn
# hue-rotate(180deg) by https://www.w3.org/TR/filter-effects-1/#feColorMatrixElement: of red, green and blue, what comes from each.
HUE_ROTATION = ((-0.574, 1.43, 0.144), (0.426, 0.43, 0.144), (0.426, 1.43, -0.856))


def mix(low: str, high: str, share: float) -> str:
    """The colour between two, `share` of the way from low to high."""
    return _hex([a + (b - a) * share for a, b in zip(_channels(low), _channels(high), strict=True)])


def in_the_dark(colour: str) -> str:
    """What the filter makes of a colour."""
    inverse = [255 * INVERSION + part * (1 - 2 * INVERSION) for part in _channels(colour)]
    rotation = [_within(sum(part * share for part, share in zip(inverse, row, strict=True))) for row in HUE_ROTATION]
    return _hex([_within(BRIGHTNESS * part) for part in rotation])


def _channels(colour: str) -> list[int]:
    return [int(colour[i : i + 2], 16) for i in (1, 3, 5)]


def _within(part: float) -> float:
    return min(max(part, 0.0), 255.0)


def _hex(channels: list[float]) -> str:
    return "#" + "".join(f"{round(part):02x}" for part in channels)


DARK = {name: in_the_dark(colour) for name, colour in LIGHT.items()} | {
    "ink": "#e6eaee",
    "muted": "#a7b0ba",
    "rule": "#465059",
    "tint": "#262d34",
    "paper": "#14181c",
    "lamp": "#ffc24d",  # a light stays one
    "on-press": "#10151a",
}


def declarations(colours: dict[str, str] = LIGHT) -> str:
    """The colours as variables of CSS."""
    return "; ".join(f"--{name}: {colour}" for name, colour in colours.items())


def sheet(part: str = "", paper: str = "", still: str = "") -> str:
    """The variables for a part of a page, as " .ffp", or for its body: light and dark, and on a printer light.

    paper: a selector of what in it goes through the filter. still: one of what stands alone, and follows the reader's system.
    """
    dark = f"{{ {declarations(DARK)}; }}"
    themes = ('body[data-jp-theme-light="false"]', 'body[data-theme="dark"]', "body.vscode-dark")
    automatic = ", ".join([f'body[data-theme="auto"]{part}', *([still] if still else [])])
    light = f"{{ {declarations()}; }}\n"
    return (
        f"{part.strip() or 'body'} {light}@media not print {{\n{', '.join(theme + part for theme in themes)} {dark}\n"
        f"@media (prefers-color-scheme: dark) {{ {automatic} {dark} }}\n}}\n{f'{paper} {light}' if paper else ''}"
    )
