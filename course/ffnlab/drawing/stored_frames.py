"""Pictures of a figure that were drawn when the course was built: with them its controls work where there is no Python, as in a notebook that was saved
and opened again.

A file belongs to a figure whose draw function is the course's own and whose other parameters are plain data: nothing of the reader's is in it.
`autograder/authoring/frames.py` writes it; stored_frames.js plays it.
"""

from __future__ import annotations

import base64
import gzip
import hashlib
import json
import re
from functools import cache
from pathlib import Path
from typing import TYPE_CHECKING, Any

from ffnlab import palette
from ffnlab.registry import active_course

if TYPE_CHECKING:
    from ffnlab.drawing.controls import Figure

HERE = Path(__file__).parent
SCRIPTS = ("figure_widget.js", "stored_frames.js")
IMPORT = re.compile(r"^import .*\n", re.MULTILINE)


def name(figure: Figure) -> str | None:
    """The name of the file with a figure's pictures; None where it shows something of the reader's, and can have none."""
    module = str(getattr(figure.draw, "__module__", ""))
    if not module.startswith(f"{active_course().package}."):
        return None
    try:
        description = json.dumps([figure.describe(), figure.start, figure.fixed], sort_keys=True)
    except TypeError:
        return None
    digest = hashlib.sha256(description.encode()).hexdigest()[:8]
    return f"{module.rpartition('.')[2]}.{figure.draw.__name__}-{digest}.json.gz"


def find(figure: Figure) -> bytes | None:
    """The packed pictures of a figure, gzipped JSON; None where there are none.

    They are {"controls": as in figure_widget.js, "at": the state at the start, "limits": what can't be reached, in words,
    "frames": {state: number of its picture}, "pictures": by number, those of its pieces, "pieces": HTML}.
    """
    file = name(figure)
    path = file and next(active_course().frames_folder.glob(f"*/{file}"), None)
    return path.read_bytes() if path else None


def unpack(archive: bytes) -> dict[str, Any]:
    """The pictures of a figure as JSON data."""
    data: dict[str, Any] = json.loads(gzip.decompress(archive))
    return data


def html(still: str, archive: bytes, place: str) -> str:
    """A figure that plays without Python: its still picture, with a line below it for where no script runs, and what wakes it where one does.

    place: the `data-still` of the element that this stands in.
    """
    data = base64.b64encode(archive).decode()
    return f'{still}<style>{sheet()}</style><script type="module">\n{_script()}\nwake("{place}", "{data}");\n</script>'


@cache
def sheet() -> str:
    """The style sheet of a figure with its controls, with its colours."""
    rules = (HERE / "figure_widget.css").read_text(encoding="utf-8")
    return palette.sheet(" .ffn-board", paper=".ffn-picture svg") + rules


@cache
def _script() -> str:
    return "\n".join(IMPORT.sub("", (HERE / name).read_text(encoding="utf-8")) for name in SCRIPTS)
