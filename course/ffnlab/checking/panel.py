"""Panels: a small block of HTML with a plain-text twin, readable without colour. Used by check, hint, progress and the feedback pages."""

from __future__ import annotations

import re
from collections.abc import Sequence
from dataclasses import dataclass
from html import escape

from ffnlab import palette
from ffnlab.checking.verdict import NEARLY, AspectVerdict, Outcome, Verdict
from ffnlab.phrases import RAISED, capitalise, in_sentences, plural, sentence, with_minus

SIGNS = {
    Outcome.EARNED: ("✔", "earned"),
    Outcome.NOT_EARNED: ("✘", "not yet"),
    Outcome.NOT_ATTEMPTED: ("○", "not attempted"),
    Outcome.NOT_GRADED: ("?", "not graded"),
}
INK, MUTED = palette.LIGHT["ink"], palette.LIGHT["muted"]
COLOURS = {
    Outcome.EARNED: palette.LIGHT["right"],
    Outcome.NOT_EARNED: palette.LIGHT["wrong"],
    Outcome.NOT_ATTEMPTED: MUTED,
    Outcome.NOT_GRADED: MUTED,
}

NOT_ATTEMPTED = (
    "Write your code in the cell above and run it, then run this cell again. "
    "If your code is there already, it still has a line `raise NotImplementedError` or `...`, or calls a function that has one."
)
NOT_ANSWERED = 'Replace `...` with the letter of your answer, in quotes as in `"A"`, and run this cell again.'


@dataclass(frozen=True)
class Panel:
    """What a cell displays: `html` where it can be shown, else `text`."""

    html: str
    text: str

    def __repr__(self) -> str:
        return self.text

    def _repr_mimebundle_(self, include: object = None, exclude: object = None) -> dict[str, str]:
        return {"text/html": self.html, "text/plain": self.text}


AS_ABOVE = "the same as above"  # of an aspect whose line is below one that says it in full


def box(outcome: Outcome, title: str, body: str) -> str:
    """A framed block: a heavy left edge, a title line, the body's HTML."""
    ink = COLOURS[outcome]
    paper = palette.mix(palette.LIGHT["paper"], ink, 0.07)
    return (
        f'<div class="ffnlab-panel" role="status" style="border-left:5px solid {ink};background:{paper};'
        f"color:{INK};padding:.6em .95em .65em;margin:.35em 0;border-radius:0 6px 6px 0;max-width:46em;"
        'font-size:14px;line-height:1.5;font-family:system-ui,-apple-system,Segoe UI,sans-serif">'
        f'<div style="color:{ink};font-weight:600">{title}</div>{body}</div>'
    )


def of_verdict(
    verdict: Verdict,
    understood: str = "",
    console_text: str = "",
    more: str = "",
    inputs: str = "",
    warnings: Sequence[str] = (),
    note: str = "",
    code_note: str = "",
) -> Panel:
    """The panel of a verdict.

    understood: shown where it is earned. console_text: what the student's code printed. more: one more line, e.g. on hints.
    inputs: on which inputs, where that must be said. warnings: what Python and torch warned of meanwhile. note: what is to be read before all else.
    code_note: what has become of an earned answer's code.
    """
    sign, word = SIGNS[verdict.outcome]
    points_text = f"{verdict.points:g} of {_points(verdict.max_points)}" if verdict.max_points else ""
    is_attempted = verdict.outcome is not Outcome.NOT_ATTEMPTED
    head = f"{sign} {verdict.exercise}{f' on {inputs}' if inputs else ''}: {word}" + (
        f", {points_text}" if is_attempted and points_text else ""
    )
    lines, parts = [head], []
    if note:
        lines.append(f"  {note}")
        parts.append(f'<div style="margin-top:.2em"><b>{_text(note)}</b></div>')
    if verdict.outcome is Outcome.EARNED:
        for text in filter(None, (understood, code_note)):
            lines.append(f"  {text}")
            parts.append(f'<div style="margin-top:.2em">{_text(text)}</div>')
    elif verdict.outcome is Outcome.NOT_ATTEMPTED:
        what_to_do = NOT_ANSWERED if _is_quiz(verdict) else NOT_ATTEMPTED
        lines.append(f"  {what_to_do}")
        parts.append(f"<div>{_text(what_to_do)}</div>")
    else:
        lines += _reasons_text(verdict)
        parts.append(_reasons_html(verdict))
        if more:
            lines.append(f"  {more}")
            parts.append(f'<div style="color:{MUTED};margin-top:.3em">{_text(more)}</div>')
    for title, text in (("Your code printed", console_text), ("Python warned", "\n".join(warnings))):
        if text:
            lines += [f"  {title}:", *(f"  | {line}" for line in text.splitlines())]
            parts.append(
                f'<details style="margin-top:.3em"><summary>{title}</summary>'
                f'<pre style="margin:.3em 0 0;white-space:pre-wrap;background:none;color:inherit">{escape(text)}</pre></details>'
            )
    return Panel(box(verdict.outcome, escape(head), "".join(parts)), "\n".join(lines))


def message(title: str, body: str, outcome: Outcome = Outcome.NOT_ATTEMPTED) -> Panel:
    """A panel with a title and one paragraph."""
    return Panel(box(outcome, escape(title), f'<div style="margin-top:.2em">{_text(body)}</div>'), f"{title}\n  {body}")


def with_listing(title: str, body: str, listing: str) -> Panel:
    """A panel with a title, one paragraph, and a text to copy; one click selects all of it."""
    style = "margin:.5em 0 0;padding:.6em;max-height:24em;overflow:auto;white-space:pre-wrap;user-select:all;background:rgba(0,0,0,.05);color:inherit"
    parts = f'<div style="margin-top:.2em">{_text(body)}</div><pre style="{style}">{escape(listing)}</pre>'
    return Panel(box(Outcome.NOT_ATTEMPTED, escape(title), parts), f"{title}\n  {body}\n\n{listing}")


def _reasons_text(verdict: Verdict) -> list[str]:
    """The cause comes first where it is known, then where to look, then what was seen."""
    lines = [f"  {_cause_title(verdict)}. {_cause(verdict)}"] if verdict.cause else []
    symptoms = [f"  {'✘' if aspect.symptom else '✔'} {_aspect(aspect)}" for aspect in _merge_repeats(verdict)]
    where = [f"  {_where(verdict)}"] if verdict.where else []
    return lines + (where + symptoms if verdict.cause else symptoms + where)


def _reasons_html(verdict: Verdict) -> str:
    """The same. What was seen is folded where the cause is known."""
    rows = "".join(
        f'<li style="margin:.1em 0">{"✘" if aspect.symptom else "✔"} {_text(_aspect(aspect))}</li>'
        for aspect in _merge_repeats(verdict)
    )
    symptom_list = f'<ul style="list-style:none;margin:.25em 0 .35em;padding:0">{rows}</ul>' if rows else ""
    where = f"<div>{_text(_where(verdict))}</div>" if verdict.where else ""
    if not verdict.cause:
        return symptom_list + where
    cause = f'<div style="margin:.35em 0"><b>{_cause_title(verdict)}.</b> {_text(_cause(verdict))}</div>'
    if symptom_list:
        symptom_list = f'<details style="margin-top:.3em"><summary>What the check saw</summary>{symptom_list}</details>'
    return cause + where + symptom_list


def _merge_repeats(verdict: Verdict) -> list[AspectVerdict]:
    """One line an aspect; where the same thing is wrong everywhere, one line says it. A quiz's single aspect says nothing new."""
    if _is_quiz(verdict) and verdict.cause:
        return []
    first = next((aspect.symptom for aspect in verdict.aspects if aspect.symptom), "")
    if first and all(_again(aspect.symptom, first) for aspect in verdict.aspects):
        in_one_place = RAISED not in first or all(aspect.symptom == first for aspect in verdict.aspects)
        symptom = first if in_one_place else first[first.index(RAISED) :]
        return [AspectVerdict("", verdict.points, verdict.max_points, symptom)]
    aspects, last, above = [], "", ""
    for aspect in verdict.aspects:
        again = _again(aspect.symptom, last) if aspect.symptom and last else ""
        if again.endswith(AS_ABOVE) and not above:  # between the two is a line that says something else
            again = ""
        aspects.append(AspectVerdict(aspect.name, aspect.points, aspect.max_points, again or aspect.symptom))
        last, above = aspect.symptom or last, aspect.symptom
    return aspects


def _again(symptom: str, previous: str) -> str:
    """In few words, what an aspect has to tell after `previous`, if that is the same, in whatever place; else nothing. Numbers in an exception may differ."""
    place, marker, error = symptom.partition(RAISED)
    if marker and _without_numbers(error) == _without_numbers(previous.partition(RAISED)[2]):
        return "the same error" if symptom == previous else f"{place}the same error"
    if symptom == previous or symptom.endswith(f": {previous}"):
        return symptom.removesuffix(previous) + AS_ABOVE
    return ""


def _without_numbers(text: str) -> str:
    return re.sub(r"\d+", "#", text)


def _is_quiz(verdict: Verdict) -> bool:
    return [aspect.name for aspect in verdict.aspects] == ["choice"]


def _cause_title(verdict: Verdict) -> str:
    if _is_quiz(verdict):
        return "Why not"
    if verdict.cause.startswith(NEARLY):
        return NEARLY.rstrip(". ")
    return "Likely cause" if verdict.likely else "What is wrong"


def _cause(verdict: Verdict) -> str:
    """The cause, without what its title says."""
    return verdict.cause.removeprefix(NEARLY)


def _where(verdict: Verdict) -> str:
    return sentence(f"Look at {verdict.where}")


def _aspect(aspect: AspectVerdict) -> str:
    symptom = in_sentences(with_minus(aspect.symptom)) if aspect.symptom else ""
    if not aspect.name:
        return capitalise(symptom)
    points_text = f"{aspect.points:g} of {_points(aspect.max_points)}"
    return f"{aspect.name} ({points_text})" + (f": {symptom}" if symptom else "")


def _points(points: float) -> str:
    return plural(f"{points:g}", "point")


def _text(text: str) -> str:
    """Escaped text in which `code` is set as code."""
    parts = escape(text).split("`")
    if len(parts) % 2 == 0:
        return escape(text)
    style = "background:rgba(0,0,0,.06);color:inherit;padding:0 .25em;border-radius:3px"
    return "".join(f'<code style="{style}">{part}</code>' if index % 2 else part for index, part in enumerate(parts))
