"""The one cleaning function: whatever a submission holds, what comes out can be encoded, stored, printed, and read in its order."""

from __future__ import annotations

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from ffnlab.untrusted_text import CUT, clean, in_a_line

ANY_TEXT = st.text(st.characters(exclude_categories=())) | st.text("\x1b[]31m;\\\x07\r\n\t\x00\ud800a", max_size=60)


@settings(deadline=None)
@given(ANY_TEXT)
def test_whatever_comes_in_what_comes_out_can_be_stored_and_printed(text: str) -> None:
    output = clean(text)
    assert output.encode("utf-8").decode("utf-8") == output
    assert all(c in "\n\t" or (ord(c) >= 32 and not 127 <= ord(c) < 160) for c in output)
    assert not set("\u202a\u202b\u202c\u202d\u202e\u2066\u2067\u2068\u2069") & set(output)
    assert clean(output) == output, "cleaning twice is cleaning once"
    assert "\n" not in in_a_line(text)


@pytest.mark.parametrize(
    ("text", "output"),
    [
        ("x = σ(W₁·x) — ✔ 😀\n\tdone", "x = σ(W₁·x) — ✔ 😀\n\tdone"),
        ("one\r\ntwo\rthree", "one\ntwo\nthree"),
        ("lone \ud800 surrogate", "lone � surrogate"),
        ("NUL \x00", "NUL �"),
        ("\x1b[31mred\x1b[0m \x1b]0;title\x07on \x1b(Bterminals", "red on terminals"),
        ("\x1b[" + "1" * 1000, "�[" + "1" * 1000),
        ("if admin\u202e # nothing", "if admin� # nothing"),
        ("שלום and ‏ marks", "שלום and ‏ marks"),
        ("page\fbreak", "pagebreak"),
    ],
)
def test_what_a_reader_sees(text: str, output: str) -> None:
    assert clean(text) == output


def test_a_long_text_is_cut_with_a_sign() -> None:
    assert clean("x" * 10, 10) == "x" * 10
    assert clean("x" * 11, 10) == "xxx" + CUT
    assert in_a_line("a\nb\u2028c\t d " * 1000, 20) == "a b c d a b c" + CUT
