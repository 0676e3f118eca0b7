"""Inside the jail: runs the cells of one submission in an IPython shell and answers probes. It knows no truth and judges nothing."""

from __future__ import annotations

import socket
from typing import Any

from IPython.core.interactiveshell import InteractiveShell
from IPython.utils.capture import capture_output
from traitlets.config import Config

from autograder.jail import wire
from ffnlab.checking import checks
from ffnlab.observation import plain_data
from ffnlab.observation.containment import contain, default_dtype
from ffnlab.observation.exercise import failure, has_unfinished_line
from ffnlab.registry import active_course


class Shell(InteractiveShell):
    """IPython's shell without a terminal: errors travel as data instead of text, and there is no event loop for windows."""

    def _showtraceback(self, *_: object) -> None:
        return

    def enable_gui(self, gui: str | None = None) -> None:
        return


def shell() -> InteractiveShell:
    """The IPython shell in which cells run: no history, no colours."""
    config = Config()
    config.HistoryManager.enabled = False
    config.InteractiveShell.colors = "NoColor"
    config.InteractiveShell.xmode = "Plain"
    return Shell.instance(config=config)


def serve(channel: socket.socket, max_output: int, max_observation: int) -> None:
    """Answer requests until the other side goes away."""
    while True:
        try:
            request = wire.receive(channel)
        except (wire.Closed, wire.TooLarge, plain_data.Malformed):
            return
        try:
            answer = _answer(request, max_output)
        except (Exception, SystemExit, KeyboardInterrupt) as error:
            answer = {"broken": failure(error)}
        try:
            frame = wire.frame(answer)
            if request["do"] == "probe" and len(frame) > max_observation:
                frame = wire.frame(
                    {"broken": plain_data.Failure("ValueError", "what it computed is too large to be looked at")}
                )
            wire.send(channel, frame)
        except wire.Closed:
            return
        except Exception as error:  # what student code left behind can't be packed
            wire.send(channel, {"broken": plain_data.Failure(type(error).__name__, "the result can't be sent")})


def _answer(request: dict[str, Any], max_output: int) -> dict[str, Any]:
    if request["do"] == "run":
        return run(request["source"], max_output)
    if request["do"] == "probe":
        return probe(request["exercise"], request["inputs"], max_output)
    if request["do"] == "ping":
        return {"pong": True}
    raise ValueError(f"unknown request {request['do']!r}")


def run(source: str, max_output: int) -> dict[str, Any]:
    """Run one cell. Returns its outputs (as nbformat's, texts bounded), and its error if it ended in one."""
    ip = Shell.instance()
    _handed_over.clear()
    with capture_output() as capture:
        result = ip.run_cell(source, store_history=True)  # type: ignore[no-untyped-call]
    error = result.error_before_exec or result.error_in_exec
    outputs: list[dict[str, Any]] = []
    room = max_output
    for name, text in (("stdout", capture.stdout), ("stderr", capture.stderr)):
        if text:
            outputs.append({"output_type": "stream", "name": name, "text": _truncate(text, room)})
            room -= min(room, len(text))
    for display in capture.outputs[: wire.MAX_DISPLAYS]:
        data = _rich(display, room)
        room -= sum(map(len, data.values()))
        outputs.append({"output_type": "display_data", "data": data})
    checked = list(_handed_over)[: wire.MAX_DISPLAYS]
    return {"outputs": outputs, "error": failure(error) if error else None, "checked": checked}


def _rich(display: Any, most: int) -> dict[str, str]:
    """What is shown, by mime type, as far as there is room: half a picture is none."""
    data = {}
    for kind, content in dict(display.data).items():
        if kind in wire.MIME_TYPES and isinstance(content, str) and len(content) <= most:
            data[kind] = content
            most -= len(content)
    return data


def _truncate(text: str, most: int) -> str:
    return text if len(text) <= most else text[:most] + "\n… (cut)"


def probe(name: str, inputs: list[dict[str, Any]], max_output: int) -> dict[str, Any]:
    """What the answer called `name` does on each of the inputs, and what it printed; `defined` says whether there is one.

    The answer is what the cell that was run last gave to `check`, if it did, and else what the notebook calls so.
    """
    answer = _handed_over.pop(name, Shell.instance().user_ns.get(name, _NOTHING))
    if answer is _NOTHING:
        return {"defined": False, "observations": [], "printed": ""}
    exercise = active_course().exercise(name)
    with contain() as output:
        observations = [exercise.observe(answer, case) for case in inputs]
    printed_text = "\n".join([output.console.text(MAX_LINES, max_output), *output.warnings]).strip("\n")
    return {
        "defined": True,
        "observations": observations,
        "unfinished": has_unfinished_line(answer),
        "default_dtype": default_dtype(),
        "printed": _truncate(printed_text, max_output),
    }


MAX_LINES = 10_000  # of what an answer prints
_NOTHING = object()
# By exercise: what the cell that is running, or was run last, has given to `check`.
_handed_over: dict[str, object] = {}


def _hand_over(name: str, answer: object) -> None:
    _handed_over.pop(name, None)
    _handed_over[name] = answer


checks.hand_over_to(_hand_over)
