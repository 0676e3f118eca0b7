"""`predict`: a question that is answered with a click before the answer is shown. The first guess is kept beside the progress, and never counts for points."""

from __future__ import annotations

import inspect
from functools import cache
from html import escape
from pathlib import Path
from typing import Any

from IPython.display import display

from ffnlab import palette
from ffnlab.checking import panel, record
from ffnlab.drawing import widget_output
from ffnlab.phrases import sentence
from ffnlab.prediction.prediction import Prediction
from ffnlab.registry import active_course

EDGE = palette.LIGHT["press"]
PAPER = palette.mix(palette.LIGHT["paper"], EDGE, 0.06)


def predict(name: str) -> None:
    """Ask the prediction called `name`; after the guess, or where there is one already, say what is so and why."""
    try:
        prediction = active_course().prediction(name)
    except LookupError as error:
        display(panel.message(f"? {name}", sentence(str(error.args[0]))))
        return
    widget_output.show(_widget()(name, prediction), saved_html(prediction), as_text(prediction))


@cache
def _widget() -> Any:
    """The widget's class. anywidget is loaded when the first question is asked: graders import this package and ask none."""
    import anywidget
    import traitlets

    class Guess(anywidget.AnyWidget):
        """One question in a live notebook. All words are here: it opens without a kernel, too; only keeping the guess needs one."""

        _esm = Path(__file__).with_name("prediction_widget.js")
        question = traitlets.Unicode().tag(sync=True)
        options = traitlets.List(traitlets.Unicode()).tag(sync=True)
        slider = traitlets.Dict().tag(sync=True)
        right = traitlets.Any().tag(sync=True)
        within = traitlets.Float().tag(sync=True)
        explanation = traitlets.Unicode().tag(sync=True)
        colours = traitlets.Unicode().tag(sync=True)
        name = traitlets.Unicode().tag(sync=True)
        guess = traitlets.Any(None, allow_none=True).tag(sync=True)
        steps = traitlets.List(traitlets.Unicode()).tag(sync=True)
        sure = traitlets.Int(0).tag(sync=True)

        def __init__(self, name: str, prediction: Prediction) -> None:
            earlier_guess = record.read_guess(name)
            guess = earlier_guess if prediction.takes(earlier_guess) else None
            super().__init__(**as_json(prediction), name=name, guess=guess, sure=record.read_sure(name))
            self.observe(lambda change: self.keep(name, prediction, change["new"]), names="guess")

        def keep(self, name: str, prediction: Prediction, guess: Any) -> None:
            if prediction.takes(guess):
                record.save_guess(name, guess, prediction.is_right(guess), self.sure)

    return Guess


def as_json(prediction: Prediction) -> dict[str, Any]:
    """A prediction as JSON data, for prediction_widget.js."""
    return {
        "question": markdown_to_html(prediction.question),
        "options": list(prediction.options),
        "slider": {k: getattr(prediction, k) for k in ("low", "high", "step", "unit")} if prediction.is_number else {},
        "right": prediction.right,
        "within": prediction.within,
        "explanation": markdown_to_html(prediction.explanation),
        "colours": palette.declarations(),
        "steps": list(record.SURE),
    }


def markdown_to_html(text: str) -> str:
    """Markdown as HTML: paragraphs, lists, tables, bold, italic and code."""
    import mistune  # as anywidget: only where a question is asked

    return str(mistune.html(inspect.cleandoc(text))).strip()


def saved_html(prediction: Prediction) -> str:
    """What a saved or printed notebook shows: the question with its options, and the explanation in a fold."""
    answers = "".join(f"<li>{escape(option)}</li>" for option in prediction.options)
    option_list = f"<ul>{answers}</ul>" if prediction.options else f"<p>{escape(_range(prediction))}</p>"
    return (
        f'<div style="border-left:5px solid {EDGE};background:{PAPER};color:{panel.INK};padding:.6em .95em;border-radius:0 6px 6px 0;max-width:46em;'
        'font-size:14px;line-height:1.5;font-family:system-ui,-apple-system,Segoe UI,sans-serif">'
        f"<strong>Predict</strong>{markdown_to_html(prediction.question)}{option_list}"
        f"<details><summary>Open this when you have made your guess</summary>"
        f"<p>It is: <strong>{escape(prediction.in_words(prediction.right))}</strong></p>{markdown_to_html(prediction.explanation)}</details></div>"
    )


def as_text(prediction: Prediction) -> str:
    """The same for a reader without pictures: the explanation stands at the end."""
    options = [f"  ( ) {option}" for option in prediction.options] or [f"  {_range(prediction)}"]
    answer = f"Make your guess before you read on. It is: {prediction.in_words(prediction.right)}"
    return "\n".join(
        [
            "Predict",
            inspect.cleandoc(prediction.question),
            *options,
            "",
            answer,
            inspect.cleandoc(prediction.explanation),
        ]
    )


def _range(prediction: Prediction) -> str:
    return f"a number from {prediction.in_words(prediction.low)} to {prediction.in_words(prediction.high)}"
