"""What the class says about help from language models: the instructor's words where the handout has them, else the course's."""

from __future__ import annotations

from IPython.display import Markdown

from ffnlab.checking import record

FILE = "language_models.md"  # beside the notebooks; autograder handout writes it from course.toml
USUAL = """\
**May I ask a language model?** It explains terms and error messages well. The exercises are made so that you see your own mistake, and you see nothing
if it writes the answer. Several of them it gets wrong, and it sounds just as sure. So try first and run the check. Then ask for a hint: run
`from ffnlab import report` and `report("hello_shape")` in a cell of your own, and you have a text with your code and what the check says, to ask anybody with.
What your class allows, your instructor says."""
MAX_BYTES = 10_000


def language_models() -> Markdown:
    """The paragraph that stands in the first notebook."""
    folder = record.folder()
    try:
        text = (folder / FILE).read_bytes()[:MAX_BYTES].decode("utf-8", "replace") if folder else ""
    except OSError:
        text = ""
    return Markdown(text.strip() or USUAL)
