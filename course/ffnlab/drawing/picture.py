"""What a figure's draw function returns: a picture, its message, and the same in words."""

from __future__ import annotations

import base64
import re
import struct
from dataclasses import dataclass
from html import escape
from typing import Any

_VIEW = re.compile(r'<svg\b[^>]*?\swidth="([\d.]+)"\s+height="([\d.]+)"')
_PNG = b"\x89PNG\r\n\x1a\n"


@dataclass(frozen=True)
class Picture:
    """A figure's title (its message), one sentence that says the same, and either SVG text or PNG bytes.

    As the last line of a cell it shows as a picture; screen readers and plain text get title and sentence.
    Raises ValueError when there is no picture or two, or no words.
    """

    title: str
    sentence: str
    svg: str = ""
    png: bytes = b""

    def __post_init__(self) -> None:
        if not self.title.strip() or not self.sentence.strip():
            raise ValueError("a picture needs a title and a sentence that says the same in words")
        if bool(self.svg) == bool(self.png):
            raise ValueError(f"the picture {self.title!r} needs exactly one of svg and png")
        if self.svg and not _VIEW.search(self.svg):
            raise ValueError(
                f"the picture {self.title!r} has no <svg> with a width and a height: make it with svg.card"
            )
        if self.png and not self.png.startswith(_PNG):
            raise ValueError(f"the picture {self.title!r} is not PNG")

    @property
    def words(self) -> str:
        """Title and sentence, as the text twin of the picture."""
        return f"{self.title.rstrip('.')}. {self.sentence}"

    @property
    def size(self) -> tuple[float, float]:
        """Width and height in screen pixels, before it is fitted into the room there is."""
        if self.png:
            width, height = struct.unpack(">II", self.png[16:24])
            return float(width), float(height)
        match = _VIEW.search(self.svg)
        assert match
        return float(match[1]), float(match[2])

    def bundle(self) -> dict[str, str]:
        """The picture by media type, for a notebook's output."""
        if self.png:
            return {"image/png": base64.b64encode(self.png).decode(), "text/plain": self.words}
        return {"image/svg+xml": self.svg, "text/plain": self.words}

    def html(self) -> str:
        """The picture with its sentence under it; the same height for every picture of the same size."""
        return wrap_figure(self.svg or self._image("png", self.png), escape(self.sentence), self.size[0])

    def still(self) -> str:
        """The same without elements to press. JupyterLab shows it in an untrusted notebook, where it shows no <svg>."""
        image = self._image("png", self.png) if self.png else self._image("svg+xml", self.svg.encode())
        return wrap_figure(image, escape(self.sentence), self.size[0])

    def _image(self, kind: str, data: bytes) -> str:
        source = base64.b64encode(data).decode()
        return (
            f'<img src="data:image/{kind};base64,{source}" alt="{escape(self.words)}" decoding="sync" '
            f'style="max-width:100%;height:auto;display:block;border-radius:10px">'
        )

    def _repr_mimebundle_(self, include: Any = None, exclude: Any = None) -> dict[str, str]:
        return self.bundle()


def wrap_figure(image: str, caption: str, width: float) -> str:
    """HTML for an image and a caption with room for three lines, so that nothing below it moves."""
    return (
        f'<figure style="margin:0;max-width:{width:g}px">{image}'
        f'<figcaption style="font-size:14px;line-height:20px;min-height:60px;padding:8px 2px 0;'
        f'color:var(--jp-content-font-color1,inherit)">{caption}</figcaption></figure>'
    )
