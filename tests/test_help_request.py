"""`report`: the Markdown that a student asks somebody with."""

from __future__ import annotations

import sys
from collections.abc import Callable, Iterator
from pathlib import Path

import pytest
from IPython.core.interactiveshell import InteractiveShell

from ffnlab.checking import checks

SETUP = "import torch\nfrom ffnlab import check, report"
SCALE = "def scale_by(x):\n    return x * FACTOR"
WRONG = "def hello_shape(x):\n    print('hello')\n    B, T, d = x.shape\n    return d, T, B"


@pytest.fixture
def cells(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> Iterator[Callable[..., str]]:
    """Runs cells of a notebook in a folder of its own, with nothing recorded; gives what they show."""
    monkeypatch.chdir(tmp_path)
    monkeypatch.setenv("FFNLAB_PROGRESS", str(tmp_path / "progress.json"))
    monkeypatch.delenv("FFNLAB_STRICT", raising=False)
    monkeypatch.delenv("NBGRADER_EXECUTION", raising=False)
    monkeypatch.setitem(sys.modules, "__main__", sys.modules["__main__"])  # a shell puts its own there
    shell = InteractiveShell.instance()

    def run(*sources: str) -> str:
        capsys.readouterr()
        for source in (SETUP, *sources):
            shell.run_cell(source, store_history=True)
        return capsys.readouterr().out

    yield run
    shell.reset()
    InteractiveShell.clear_instance()


def test_it_has_the_panel_the_code_and_the_versions(cells: Callable[..., str], tmp_path: Path) -> None:
    shown = cells(WRONG, "report('hello_shape')")
    text = (tmp_path / "report_hello_shape.md").read_text(encoding="utf-8")
    assert text in shown and "I would like a hint, not the answer" in text
    assert "✘ hello_shape: not yet" in text and "| hello" in text and f"```python\n{WRONG}\n```" in text
    assert "- torch 2" in text and "- Python 3" in text and "in 00_start_here" in text
    assert str(Path.home()) not in text and str(tmp_path) not in text


def test_the_code_comes_with_what_it_uses(cells: Callable[..., str], tmp_path: Path) -> None:
    cells(
        "FACTOR = 3",
        SCALE,
        "def hello_shape(x):\n    return tuple(torch.tensor(scale_by(x).shape))",
        "report('hello_shape')",
    )
    text = (tmp_path / "report_hello_shape.md").read_text(encoding="utf-8")
    assert (
        text.index("import torch")
        < text.index("FACTOR = 3")
        < text.index("def scale_by")
        < text.index("def hello_shape")
    )


def test_it_says_what_is_missing_instead(cells: Callable[..., str], tmp_path: Path) -> None:
    assert "not defined in this notebook yet" in cells("report('ffn_forward')")
    assert "Did you mean" in (said := cells("report('helo_shape')")) or "hello_shape" in said
    cells("exec('def hello_shape(x): return x')", "report('hello_shape')")
    assert "It could not be copied" in (tmp_path / "report_hello_shape.md").read_text(encoding="utf-8")


def test_where_nothing_can_be_saved_it_is_shown(cells: Callable[..., str], tmp_path: Path) -> None:
    (tmp_path / "report_hello_shape.md").mkdir()
    shown = cells(WRONG, "report('hello_shape')")
    assert "could not be saved" in shown and WRONG in shown


def test_an_answer_that_breaks_the_check_is_told_as_such(cells: Callable[..., str], tmp_path: Path) -> None:
    cells(
        "class Mean:\n    @property\n    def __code__(self):\n        raise RuntimeError",
        "hello_shape = Mean()",
        "report('hello_shape')",
    )
    assert "## Versions" in (tmp_path / "report_hello_shape.md").read_text(encoding="utf-8")


def test_nothing_is_recorded_and_nothing_done_in_grading(
    cells: Callable[..., str], tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    cells("def hello_shape(x):\n    return tuple(x.shape)", "report('hello_shape')")
    assert not (tmp_path / "progress.json").exists()
    monkeypatch.setattr(checks, "_collector", lambda name, answer: None)
    (tmp_path / "report_hello_shape.md").unlink()
    assert cells("report('hello_shape')").strip() == "" and not (tmp_path / "report_hello_shape.md").exists()
