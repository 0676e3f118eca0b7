"""The course on web pages: figures answer without a kernel, everybody can use every page, and no answer is in any file of it."""

from __future__ import annotations

import gzip
import re
import shutil
import subprocess
import sys
from collections.abc import Iterator
from html import unescape
from html.parser import HTMLParser
from pathlib import Path
from typing import Any
from urllib.parse import unquote, urlsplit

import figure_page
import nbformat
import pytest
from conftest import ROOT, needs_chromium, often
from lab import web_pages
from PIL import Image
from test_desk import AXE, violations

pytest.importorskip("sphinx", reason="Sphinx is not installed: pip install -e '.[site]'")

from autograder import keys
from autograder.authoring import build, frames, stills
from autograder.errors import UserError
from autograder.paths import release, solution
from autograder.reference import compute
from autograder.site import make, pages, running
from autograder.site.needed import find_cells_to_run
from ffnlab.course import real_file
from ffnlab.drawing import controls, svg
from ffnlab.drawing.picture import Picture
from ffnlab.prediction import prediction_widget
from ffnlab.registry import Course, active_course

SUBSET = ("00_start_here", "02_feed_forward")
WIDTHS = (1280, 390)


@pytest.fixture(scope="session")
def work(tmp_path_factory: pytest.TempPathFactory) -> Path:
    return tmp_path_factory.mktemp("site-work")


@pytest.fixture(scope="session")
def built(work: Path, tmp_path_factory: pytest.TempPathFactory) -> tuple[Path, make.BuiltSite]:
    """A site with two notebooks, from nothing: the folder, and what is known of it. A warning would have ended it."""
    target = tmp_path_factory.mktemp("site")
    return target, make.build(target, work, SUBSET, workers=1)


@pytest.fixture(scope="session")
def site(built: tuple[Path, make.BuiltSite]) -> Path:
    return built[0]


@pytest.fixture(scope="session")
def address(site: Path) -> Iterator[str]:
    with web_pages(site) as address:
        yield address


@pytest.fixture(scope="module")
def chromium() -> Iterator[Any]:
    pytest.importorskip("playwright", reason="playwright is not installed")
    from lab import browser

    with browser() as opened:
        yield opened


def html_files(site: Path) -> list[Path]:
    return sorted(site.rglob("*.html"))


# What is on it


def test_every_notebook_and_every_document_has_a_page(built: tuple[Path, make.BuiltSite]) -> None:
    target, known = built
    assert known.new_pages == SUBSET
    assert [figure.name for figure in known.notebooks[1].figures] == [
        "by-hand",
        "fold",
        "trace",
    ]
    names = {path.relative_to(target).as_posix() for path in html_files(target)}
    documents = {f"docs/{path.stem}.html" for path in (ROOT / "docs").glob("*.md")}
    assert {*documents, "index.html", "course/README.html", "CONTRIBUTING.html", "instructor.html"} <= names
    assert {f"course/{name}.html" for name in SUBSET} <= names
    front = (target / "index.html").read_text(encoding="utf-8")
    minutes = re.findall(r'<span class="ffn-minutes">(\d+) minutes</span>', front)
    headers = [re.search(r"\*\*Time\*\* \| (\d+)", release(name).read_text(encoding="utf-8")) for name in SUBSET]
    assert minutes == [header[1] for header in headers if header]
    assert front.count('name="description"') == front.count('name="viewport"') == 1
    assert re.findall(r'<img [^>]*src="(thumbnails/[^"]*)"', front) == [f"thumbnails/{name}.svg" for name in SUBSET]


def properties(page: Path) -> dict[str, str]:
    """What a page says of itself to whoever shows a link to it."""
    pairs = re.findall(r'<meta property="([^"]+)" content="([^"]*)">', page.read_text(encoding="utf-8"))
    assert len(dict(pairs)) == len(pairs)
    return {name: unescape(value) for name, value in pairs}


def test_a_link_to_any_page_shows_a_picture_a_title_and_words(site: Path) -> None:
    for path in html_files(site):
        meta = properties(path)
        assert meta["og:title"] and "<" not in meta["og:title"] and len(meta["og:description"]) > 80
        assert (path.parent / meta["og:image"]).resolve() == site / "_static" / "preview.png"
        assert "og:url" not in meta and 'rel="canonical"' not in path.read_text(encoding="utf-8")
    assert properties(site / "index.html")["og:title"] == stills.PROMISE
    assert properties(site / "course" / "02_feed_forward.html")["og:title"].startswith("02 · Light a lamp")
    picture = Image.open(site / "_static" / "preview.png")
    meta = properties(site / "index.html")
    assert picture.size == (int(meta["og:image:width"]), int(meta["og:image:height"]))


def test_where_its_address_is_known_the_site_says_it(
    built: tuple[Path, make.BuiltSite], work: Path, tmp_path: Path
) -> None:
    whole, before = (shutil.copytree(folder, tmp_path / name) for folder, name in ((built[0], "site"), (work, "work")))
    make.build(whole, before, SUBSET, url="https://example.org/ffn")
    base = "https://example.org/ffn/"
    meta = properties(whole / "course" / "02_feed_forward.html")
    assert (meta["og:image"], meta["og:url"]) == (f"{base}_static/preview.png", f"{base}course/02_feed_forward.html")
    page = Links((whole / "404.html").read_text(encoding="utf-8"))  # is shown for addresses in any folder
    mine = [target for target in page.links + page.loads if not target.startswith("#")]
    assert len(mine) > 20 and all(target.startswith(("https://", "data:")) for target in mine)
    assert f"{base}index.html" in mine or base in mine
    assert (whole / "404.html").read_text(encoding="utf-8").count(f'data-content_root="{base}"') == 1


def test_the_site_is_small(built: tuple[Path, make.BuiltSite], work: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """The same files have the same size everywhere. The whole course has 12 notebooks in 12 MB."""
    target, known = built
    assert known.size < 3_200_000
    for notebook in known.notebooks:
        for figure in notebook.figures:
            file = target / "frames" / notebook.name / f"{figure.name}.json.gz"
            packed = file.read_bytes()
            assert len(packed) == figure.wire and len(packed) * 5 < len(gzip.decompress(packed))
    monkeypatch.setattr(make, "MAX_SITE_BYTES", known.size - 1)
    with pytest.raises(UserError, match=r"the site has .* its heaviest file is"):
        make.build(target, work, SUBSET)


def test_a_page_says_how_to_open_its_notebook(site: Path) -> None:
    for name in SUBSET:
        text = words_of(site / "course" / f"{name}.html")
        assert f"python start.py in the folder course, then {name}" in text


def words_of(path: Path) -> str:
    """The text of a file without markup, blanks squeezed."""
    content = path.read_bytes()
    text = (gzip.decompress(content) if path.suffix == ".gz" else content).decode()
    if path.suffix in (".html", ".json", ".gz"):
        return words_in(text)
    return re.sub(r"\s+", " ", text)


def words_in(html: str) -> str:
    return re.sub(r"\s+", " ", unescape(re.sub(r"<[^>]*>", "", html)))


def secret_lines(name: str) -> set[str]:
    """Lines of a notebook's solutions, hidden tests and kept answers that its student does not get anyway."""
    whole = "\n".join(cell.source for cell in build.notebook_of(name).cells)
    regions = re.findall(r"### BEGIN (?:SOLUTION|HIDDEN TESTS)\n(.*?)### END (?:SOLUTION|HIDDEN TESTS)", whole, re.S)
    code = [line for region in regions for line in region.splitlines()]
    code += [
        line
        for key in keys.of_notebook(name)
        for known_answer in compute.all_answers(key)
        for line in known_answer.source.splitlines()
    ]
    student_text = "\n".join(cell.source for cell in pages.students(name).cells)
    lines = {re.sub(r"\s+", " ", line).strip() for line in code}
    return {line for line in lines if len(line) > 24 and line not in re.sub(r"\s+", " ", student_text)}


def test_no_answer_is_in_any_file(site: Path) -> None:
    secret = {line for name in SUBSET for line in secret_lines(name)}
    assert len(secret) > 10 and "from autograder import recheck" in secret
    files = [
        path
        for path in site.rglob("*")
        if path.suffix in (".html", ".js", ".json", ".gz", ".css", ".svg", ".txt", ".md")
    ]
    for path in files:
        text = words_of(path)
        if path.relative_to(site).parts[0] == "CONTRIBUTING.html" or "searchindex" in path.name:
            text = text.replace("from autograder import recheck", "")  # it shows how a hidden test is written
        leaks = {line for line in secret if line in text}
        assert not leaks, f"{path.relative_to(site)}: {leaks}"
    assert not list(site.rglob("*.ipynb")) and not list(site.rglob("*.safetensors"))


def test_the_texts_are_those_that_students_get() -> None:
    name = next((candidate for candidate in SUBSET if build.is_current(candidate)), None)
    if name is None:
        pytest.skip("the student notebooks are older than their sources: `make build`")
    notebook = nbformat.read(release(name), as_version=4)
    assert [cell.source for cell in pages.students(name).cells] == [cell.source for cell in notebook.cells]


class Links(HTMLParser):
    """What a page points to, what it loads, and what can be pointed to on it."""

    def __init__(self, text: str) -> None:
        super().__init__()
        self.links: list[str] = []
        self.loads: list[str] = []
        self.ids: set[str] = set()
        self.feed(text)

    def handle_starttag(self, tag: str, attributes: list[tuple[str, str | None]]) -> None:
        for name, value in attributes:
            if name == "id":
                self.ids.add(value or "")
            elif name == "href" and tag == "a":
                self.links.append(value or "")
            elif name in ("src", "data-frames", "srcset", "action") or (name == "href" and tag == "link"):
                self.loads.append(value or "")


def test_all_links_resolve_and_nothing_is_loaded_from_another_host(site: Path) -> None:
    parsed = {path: Links(path.read_text(encoding="utf-8")) for path in html_files(site)}
    for path, page in parsed.items():
        for target in page.loads:
            assert not urlsplit(target).netloc, f"{path.name} loads {target}"
        for target in page.links + page.loads:
            parts = urlsplit(target)
            if parts.scheme in ("http", "https", "data"):
                continue
            file = (path.parent / unquote(parts.path)).resolve() if parts.path else path
            file = file / "index.html" if file.is_dir() else file
            assert file.is_file(), f"{path.relative_to(site)} points to {target}"
            if parts.fragment and file in parsed:
                assert unquote(parts.fragment) in parsed[file].ids, f"{path.relative_to(site)} points to {target}"
    for style in site.rglob("*.css"):
        outside = re.findall(r"(?:url\(|@import)\s*[\"']?(?:https?:)?//[^)\"']+", style.read_text(encoding="utf-8"))
        assert not outside, f"{style.name}: {outside}"


def test_formulas_are_mathml(site: Path) -> None:
    text = (site / "course" / "02_feed_forward.html").read_text(encoding="utf-8")
    assert "<math" in text and "mathjax.js" not in text.lower() and r"\mathrm" not in text


# In a browser


@needs_chromium
@pytest.mark.parametrize("width", WIDTHS)
@pytest.mark.parametrize("name", SUBSET)
def test_a_figure_is_moved_and_its_picture_and_sentence_change(
    name: str, width: int, address: str, chromium: Any
) -> None:
    page = chromium.new_page(viewport={"width": width, "height": 900})
    page.set_default_timeout(10_000)
    outside, trouble = [], []
    page.on(
        "request", lambda request: None if request.url.startswith((address, "data:")) else outside.append(request.url)
    )
    page.on("pageerror", lambda error: trouble.append(str(error)))
    page.goto(f"{address}/course/{name}.html")
    figures = page.locator(".ffn-figure").all()
    assert figures
    for figure in figures:
        figure.scroll_into_view_if_needed()
        figure.locator("xpath=self::*[@data-ready]").wait_for()
        before = figure.locator(".ffn-picture svg").inner_html()
        sentence = figure.locator("figcaption").inner_text()
        control = figure.locator(".ffn-control").first.locator("input, select")
        if control.evaluate("one => one.tagName") == "SELECT":
            last = control.locator("option").count() - 1
            control.select_option(index=0 if control.input_value() == str(last) else last)
        elif control.get_attribute("type") == "checkbox":
            control.set_checked(not control.is_checked())
        else:
            control.press("ArrowRight" if control.input_value() != control.get_attribute("max") else "ArrowLeft")
        page.wait_for_function(
            "([figure, before]) => figure.querySelector('figcaption').innerText !== before",
            arg=[figure.element_handle(), sentence],
        )
        assert figure.locator(".ffn-picture svg").inner_html() != before
    page.wait_for_timeout(2000)  # longer than a figure waits before it says that a picture is missing
    assert [figure.locator(".ffn-note").inner_text() for figure in figures] == [""] * len(figures)
    assert page.evaluate("document.documentElement.scrollWidth") <= width
    assert (outside, trouble) == ([], [])
    page.close()


@needs_chromium
def test_a_mark_is_pressed_and_a_knob_is_dragged(address: str, chromium: Any) -> None:
    page = chromium.new_page(viewport={"width": 1280, "height": 1200})
    page.goto(f"{address}/course/02_feed_forward.html")
    figure = page.locator(".ffn-figure[data-frames$='/trace.json.gz']")
    figure.scroll_into_view_if_needed()
    figure.locator("xpath=self::*[@data-ready]").wait_for()
    dog = figure.get_by_role("button", name=re.compile("dog")).first
    dog.click()
    figure.locator("figcaption").get_by_text("dog").wait_for()
    knob = page.locator(".ffn-figure").first.get_by_role("slider", name=re.compile("cold")).last
    knob.focus()
    page.keyboard.press("ArrowRight")
    page.wait_for_function("() => document.querySelector('.ffn-figure figcaption').innerText.includes('cold 1.5')")
    page.close()


@needs_chromium
def test_a_finger_on_a_handle_moves_it_and_does_not_scroll_the_picture(address: str, chromium: Any) -> None:
    context = chromium.new_context(viewport={"width": 390, "height": 800}, has_touch=True, is_mobile=True)
    page = context.new_page()
    page.goto(f"{address}/course/02_feed_forward.html")
    figure = page.locator(".ffn-figure").first
    figure.scroll_into_view_if_needed()
    figure.locator("xpath=self::*[@data-ready]").wait_for()
    knob = figure.get_by_role("slider", name=re.compile("cold")).last
    knob.scroll_into_view_if_needed()
    page.evaluate("window.lost = 0; addEventListener('pointercancel', () => window.lost++, true)")
    box = knob.bounding_box()
    x, y = box["x"] + box["width"] / 2, box["y"] + box["height"] / 2
    finger = context.new_cdp_session(page)
    for kind, dx in (("touchStart", 0), ("touchMove", 10), ("touchMove", 30), ("touchMove", 60), ("touchMove", -60)):
        finger.send("Input.dispatchTouchEvent", {"type": kind, "touchPoints": [{"x": x + dx, "y": y}]})
    finger.send("Input.dispatchTouchEvent", {"type": "touchEnd", "touchPoints": []})
    page.wait_for_timeout(200)
    assert page.evaluate("window.lost") == 0
    context.close()


OPTIONS, NUMBER = "nothing_in", "gpt3_ffn_share"  # predictions of notebooks 02 and 00


def last_words(name: str) -> str:
    """The end of what is said after the guess: in sight, all of it is."""
    return words_in(prediction_widget.markdown_to_html(active_course().prediction(name).explanation))[-50:]


@needs_chromium
def test_a_prediction_is_answered_with_a_click_and_remembered(address: str, chromium: Any) -> None:
    context = chromium.new_context(viewport={"width": 1280, "height": 900})
    page = context.new_page()
    page.set_default_timeout(10_000)
    page.goto(f"{address}/course/02_feed_forward.html")
    place = page.locator(f".ffn-predict[data-name={OPTIONS}]")
    answers = place.get_by_role("group", name="Your prediction").get_by_role("button")
    assert tuple(answers.all_inner_texts()) == active_course().prediction(OPTIONS).options
    assert "You said" not in place.inner_text() and last_words(OPTIONS) not in place.inner_text()
    answers.first.click()
    message = "You said “nothing, 0 and 0”; it is “over”."
    place.get_by_text(message).wait_for()
    assert last_words(OPTIONS) in place.inner_text()
    if AXE.is_file():
        assert violations(page) == []
    page.reload()
    assert place.get_by_text(message).is_visible() and answers.first.is_disabled()
    others = [question for question in page.locator(".ffn-predict").all() if "You said" in question.inner_text()]
    assert len(others) == 1
    context.close()


@needs_chromium
def test_a_prediction_is_answered_with_the_keyboard_and_remembered(address: str, chromium: Any) -> None:
    context = chromium.new_context(viewport={"width": 390, "height": 900})
    page = context.new_page()
    page.set_default_timeout(10_000)
    page.goto(f"{address}/course/00_start_here.html")
    place = page.locator(f".ffn-predict[data-name={NUMBER}]")
    assert place.get_by_role("button", name="This is my guess").is_disabled(), "the slider's first place is no guess"
    place.get_by_role("slider").focus()
    page.keyboard.press("Home")
    page.keyboard.press("ArrowRight")
    assert "You said" not in place.inner_text()
    page.keyboard.press("Tab")
    page.keyboard.press("Enter")
    message = "You said 1 %; it is 66 %."
    place.get_by_text(message).wait_for()
    assert place.locator(".after").evaluate("one => one === document.activeElement")
    page.reload()
    assert place.get_by_text(message).is_visible() and last_words(NUMBER) in place.inner_text()
    assert place.get_by_role("slider").input_value() == "1"
    context.close()


@needs_chromium
@pytest.mark.parametrize(
    "store",
    [
        "Object.defineProperty(window, 'localStorage', { get() { throw new Error('denied') } })",
        f"localStorage.setItem('ffn-guess-{OPTIONS}', '{{')",
        f"localStorage.setItem('ffn-guess-{OPTIONS}', '\"an option of last year\"')",
    ],
)
def test_a_prediction_is_asked_where_nothing_is_kept_or_something_else(store: str, address: str, chromium: Any) -> None:
    page = chromium.new_page()
    page.set_default_timeout(10_000)
    trouble: list[str] = []
    page.on("pageerror", lambda error: trouble.append(error.stack))
    page.add_init_script(store)
    page.goto(f"{address}/course/02_feed_forward.html")
    place = page.locator(f".ffn-predict[data-name={OPTIONS}]")
    place.get_by_role("button", name="over").click()
    place.get_by_text("You said “over”, and so it is.").wait_for()
    # The theme's own scripts do fail.
    assert not [stack for stack in trouble if "site.js" in stack or "prediction_widget.js" in stack]
    page.close()


@needs_chromium
@pytest.mark.parametrize("width", WIDTHS)
def test_a_picture_can_be_read_on_a_phone_and_scrolls_in_its_own_box(width: int, address: str, chromium: Any) -> None:
    page = chromium.new_page(viewport={"width": width, "height": 900})
    page.set_default_timeout(10_000)
    page.goto(f"{address}/course/02_feed_forward.html")
    figure = page.locator(".ffn-figure[data-frames$='/trace.json.gz']")
    figure.scroll_into_view_if_needed()
    figure.locator("xpath=self::*[@data-ready]").wait_for()
    box = figure.locator(".ffn-picture")
    smallest = box.evaluate(
        """box => Math.min(...[...box.querySelectorAll('svg text')].map(
            text => text.getAttribute('font-size') * text.getScreenCTM().a))"""
    )
    assert smallest > 9.5  # pixels
    if width > 800:
        assert [box.get_attribute(name) for name in ("tabindex", "role", "aria-label")] == [None] * 3
        page.close()
        return
    assert box.get_attribute("aria-label") == "A picture that scrolls sideways"
    box.focus()
    page.keyboard.press("ArrowRight")
    page.wait_for_function("box => box.scrollLeft > 20", arg=box.element_handle())
    page.wait_for_function(  # the scrolling is smooth: until it rests
        "box => { const was = box.was; box.was = box.scrollLeft; return was === box.was }",
        arg=box.element_handle(),
        polling=100,
    )
    before = box.evaluate("box => [box.scrollLeft, box.querySelector('figcaption').innerText]")
    figure.get_by_label("activation", exact=True).select_option(index=0)
    page.wait_for_function(
        "([box, before]) => box.querySelector('figcaption').innerText !== before", arg=[box.element_handle(), before[1]]
    )
    assert box.evaluate("box => box.scrollLeft") == before[0]  # a new picture stays where the old one was
    left, right = figure.locator("figcaption").evaluate("one => [(one = one.getBoundingClientRect()).left, one.right]")
    assert left >= 0 and right <= width
    assert page.evaluate("[scrollX, document.documentElement.scrollWidth]") == [0, width]
    page.close()


@needs_chromium
def test_without_javascript_there_are_pictures_words_and_answers(address: str, chromium: Any) -> None:
    context = chromium.new_context(java_script_enabled=False, viewport={"width": 390, "height": 900})
    page = context.new_page()
    page.goto(f"{address}/course/02_feed_forward.html")
    for figure in page.locator(".ffn-figure").all():
        assert figure.locator("svg").first.is_visible()
        assert len(figure.locator("figcaption").inner_text()) > 20
        assert figure.get_by_role("group", name="A picture that scrolls sideways").get_attribute("tabindex") == "0"
    place = page.locator(f".ffn-predict[data-name={OPTIONS}]")
    assert place.get_by_text("0 and 0").is_visible() and last_words(OPTIONS) not in place.inner_text()
    place.get_by_text("Open this when you have made your guess").click()
    assert last_words(OPTIONS) in place.inner_text()
    question = page.get_by_role("group", name="Your answer to quiz_rank")
    assert not question.get_by_text("Why not").first.is_visible()
    question.get_by_label("A", exact=True).check()
    assert question.get_by_text("The thinner FFN lets 100 directions through").is_visible()
    question.get_by_label("C", exact=True).check()
    assert question.get_by_text("earned").is_visible()
    assert not question.get_by_text("The thinner FFN lets 100 directions through").is_visible()
    context.close()


@needs_chromium
@pytest.mark.skipif(not AXE.is_file(), reason="axe-core is not installed: `make hub`, with npm")
@pytest.mark.parametrize(("width", "pages"), often([(1280, "some"), (390, "some"), (390, "all")], [(1280, "some")]))
def test_everybody_can_use_every_page(width: int, pages: str, site: Path, address: str, chromium: Any) -> None:
    """One page of each kind on a large screen; in a sweep also on a phone, where more scrolls inside itself, and all pages there."""
    kinds = [
        site / "index.html",
        *(site / "course").glob("*.html"),
        site / "docs" / "grading.html",
        site / "search.html",
    ]
    for path in html_files(site) if pages == "all" else kinds:
        page = chromium.new_page(viewport={"width": width, "height": 900})
        page.goto(f"{address}/{path.relative_to(site).as_posix()}")
        assert violations(page) == [], path.relative_to(site)
        assert page.evaluate("document.documentElement.scrollWidth") <= width, path.relative_to(site)
        page.close()


# Built again


def test_a_second_build_draws_nothing(built: tuple[Path, make.BuiltSite], work: Path) -> None:
    target, first = built
    times = {path: path.stat().st_mtime_ns for path in (work / "frames").rglob("*.json.gz")}
    again = make.build(target, work, SUBSET)
    assert again.new_pages == ()
    assert again.notebooks == first.notebooks
    assert {path: path.stat().st_mtime_ns for path in (work / "frames").rglob("*.json.gz")} == times


def test_only_what_has_changed_is_drawn_again(
    built: tuple[Path, make.BuiltSite], work: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    target, _ = built
    notebooks: list[str] = []
    stamp = make.stamp
    monkeypatch.setattr(make, "stamp", lambda name: "another" if name == SUBSET[0] else stamp(name))

    def draw(inside: Path, work: Path, names: list[str], *_: object) -> list[str]:
        notebooks.extend(names)
        return names

    monkeypatch.setattr(make, "_draw", draw)
    make.build(target, work, SUBSET)
    assert notebooks == [SUBSET[0]]


def test_a_changed_prediction_draws_its_page_again(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    before = make.stamp(SUBSET[0])
    changed = tmp_path / "start_here.py"
    changed.write_bytes(active_course().predictions_file(SUBSET[0]).read_bytes() + b"\nANOTHER_WORD = 1\n")
    monkeypatch.setattr(Course, "predictions_file", lambda self, notebook: changed)
    assert make.stamp(SUBSET[0]) != before


def test_a_notebook_that_is_no_longer_asked_for_leaves_nothing(
    built: tuple[Path, make.BuiltSite], work: Path, tmp_path: Path
) -> None:
    whole, before = (shutil.copytree(folder, tmp_path / name) for folder, name in ((built[0], "site"), (work, "work")))
    left = make.build(whole, before, SUBSET[1:])
    assert (left.new_pages, [notebook.name for notebook in left.notebooks]) == ((), [SUBSET[1]])
    assert not [path for path in whole.rglob("*") if path.stem == SUBSET[0]]
    assert SUBSET[0] not in (whole / "index.html").read_text(encoding="utf-8")


def test_a_page_that_is_too_heavy_ends_the_build_and_names_the_figure(
    built: tuple[Path, make.BuiltSite], work: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    target, known = built
    monkeypatch.setattr(make, "MAX_PAGE_BYTES", known.wires["00_start_here"] - 1)
    with pytest.raises(UserError, match="its heaviest figure is added"):
        make.build(target, work, SUBSET)


@pytest.mark.parametrize(
    ("text", "says"),
    [("# A title\n\n[nowhere](missing.md)\n", "missing"), ("# A title\n\n$\\unheard{x}$\n", r"\\unheard")],
)
def test_a_warning_ends_the_build(text: str, says: str, tmp_path: Path) -> None:
    (tmp_path / "source").mkdir()
    (tmp_path / "source" / "index.md").write_text(text, encoding="utf-8")
    with pytest.raises(UserError, match=says):
        make._sphinx(tmp_path / "source", tmp_path / "out", tmp_path / "trees")


# What is run again

CELLS = {
    "imports": "import torch\nfrom ffnlab.drawing import controls",
    "facts": "facts = torch.ones(3)",
    "train": "def train(steps):\n    return facts * steps",
    "changed": "facts.add_(1)",
    "long": "losses = [train(n) for n in range(9)]",
    "figure": "controls.show(lambda n: train(n))",
    "later": "facts = None",
    "plot": "print(losses)",
}


def test_only_what_a_page_makes_itself_is_run_again_and_what_it_needs() -> None:
    wanted = {"imports", "facts", "train", "changed", "long", "figure"}
    assert find_cells_to_run(list(CELLS.items()), ("controls",)) == wanted  # the long one reads what could change by it
    cells = CELLS | {"train": "def train(steps):\n    return steps"}
    assert find_cells_to_run(list(cells.items()), ("controls",)) == {"imports", "train", "figure"}
    assert find_cells_to_run(list(CELLS.items()), ("predict",)) == set()


@pytest.mark.parametrize(
    "figure",
    ["%time controls.show(train)", "def f():\n    global losses\n    losses = 1\n    controls.show(losses)\nf()"],
)
def test_what_can_not_be_seen_from_names_is_run(figure: str) -> None:
    assert find_cells_to_run(list((CELLS | {"figure": figure}).items()), ("controls",)) >= {
        "imports",
        "facts",
        "long",
        "figure",
    }


def test_a_page_has_the_outputs_of_the_built_notebook() -> None:
    name = next((candidate for candidate in SUBSET if build.is_current(candidate)), None)
    if name is None:
        pytest.skip("the solution notebooks are older than their sources: `make build`")
    built = running._built_outputs(name)
    cells = {running.cell_name(cell): cell for cell in nbformat.read(solution(name), as_version=4).cells}
    assert {*built} == {*cells}
    texts = {cell: "".join(output.get("text", "") for output in outputs) for cell, outputs in built.items()}
    assert sum(len(text) for text in texts.values()) > 200
    for cell, text in texts.items():
        stdout = [output.text for output in cells[cell].get("outputs", []) if output.get("name") == "stdout"]
        assert text == "".join(stdout)


# What a figure does without Python


def plane(x: float = 0.0, y: float = 0.0, z: float = 0.0, word: str = "one") -> Picture:
    sentence = f"x is {x:g}, y is {y:g}, z is {z:g}, the word is {word}."
    mark = svg.button(svg.rect(10, 60, 80, 40, fill="#ccc"), sets={"word": "two"}, name="choose two")
    return Picture("A plane", sentence, svg.card(160, "A plane", sentence, svg.text(20, 130, sentence), mark))


@needs_chromium
def test_where_not_all_is_drawn_the_rest_goes_back_to_its_start(
    tmp_path: Path, chromium: Any, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(frames, "MAX_FRAMES", 40)
    sliders = {name: controls.slider(name, -10, 10, 1, 0) for name in "xyz"}
    words = controls.free("word", ["one", "two"], "one")
    figure = figure_page.write(tmp_path, controls.Figure(plane, {**sliders, "word": words}))
    assert figure.pictures["limits"] == "fewer steps and no more than 2 controls away from their start"
    with web_pages(tmp_path) as address:
        page = chromium.new_page()
        page.set_default_timeout(10_000)
        page.goto(address)
        page.locator(".ffn-figure[data-ready]").wait_for()
        says = page.locator("figcaption")
        for name in "xy":
            page.get_by_label(name, exact=True).press("End")
        says.get_by_text("x is 10, y is 10, z is 0, the word is one").wait_for()
        page.get_by_label("z", exact=True).press("End")
        says.get_by_text("x is 0, y is 10, z is 10, the word is one").wait_for()
        assert page.get_by_label("x", exact=True).get_attribute("aria-valuetext") == "0"  # the control went along
        page.get_by_role("button", name="choose two").click()
        says.get_by_text("x is 0, y is 0, z is 10, the word is two").wait_for()
        page.close()


def test_the_page_of_a_real_model_is_the_same_on_every_machine(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """Its cells say where the model is, or would be; a page names no folder, and no board waits for Python."""
    folder = tmp_path / "authors-own"
    folder.mkdir()
    for name in real_file.SUMS:
        (folder / name).touch()
    monkeypatch.setenv(real_file.VARIABLE, str(folder))
    code = "from autograder.site import running; print(running.run('11_real').outputs)"
    done = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, check=True, cwd=tmp_path)
    assert "The model is not on this machine" in done.stdout
    assert not re.search(r"authors-own|[\\/]tmp\w+[\\/]", done.stdout)
    assert done.stdout.count('"typed": false') + done.stdout.count('"typed":false') == 2
