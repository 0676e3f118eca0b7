"""Every figure of the site played on a phone's width, by touch and then with the keyboard alone.

    autograder site && python tests/on_a_phone.py

Controls are tapped, marks pressed, handles dragged with a finger and moved with the arrow keys. A line for each figure says how many of them changed the
picture, and which are smaller than a fingertip needs (24 pixels, WCAG 2.5.8). Exit status 1 where something does not answer.
"""

from __future__ import annotations

import sys
from pathlib import Path
from typing import Any

from lab import browser, web_pages

ROOT = Path(__file__).resolve().parent.parent
WIDTH, FINGER = 390, 24
MARKS = 12  # of a figure, spread over all that it has
PATIENCE = 4_000  # milliseconds


class PhoneFigure:
    """One figure on a page of the site."""

    def __init__(self, page: Any, place: int) -> None:
        self.page, self.here = page, page.locator(".ffn-figure").nth(place)
        self.name = str(self.here.get_attribute("data-frames")).removesuffix(".json.gz").split("/")[-1]
        self.silent: list[str] = []
        self.small: list[str] = []
        self.answered = {"controls": 0, "marks": 0, "handles": 0, "keys": 0}

    def play(self) -> None:
        """All of it, one after the other."""
        self.here.scroll_into_view_if_needed()
        self.here.locator("xpath=self::*[@data-ready]").wait_for()
        for place in range(self.here.locator(".ffn-control").count()):
            self._expect("controls", f"control {place}", lambda place=place: self._control(place))
        total = self.here.locator("[data-sets]").count()
        for place in range(0, total, max(1, total // MARKS)):
            self._mark(place)
        for place in range(self.here.locator("[data-drags]").count()):
            self._handle(place)

    def _expect(self, kind: str, what: str, act: Any) -> bool:
        before = self._looks()
        try:
            act()
            self.page.wait_for_function(
                "([figure, before]) => figure.querySelector('.ffn-picture').innerHTML !== before",
                arg=[self.here.element_handle(), before],
                timeout=PATIENCE,
            )
        except Exception as error:
            self.silent.append(f"{what} ({str(error).splitlines()[0][:60]})")
            return False
        self.answered[kind] += 1
        return True

    def _looks(self) -> str:
        return str(self.here.locator(".ffn-picture").inner_html())

    def _control(self, place: int) -> None:
        control = self.here.locator(".ffn-control").nth(place)
        if control.locator("select").count():
            select = control.locator("select")
            last = select.locator("option").count() - 1
            select.select_option(index=0 if select.input_value() == str(last) else last)
        elif control.locator("input[type=checkbox]").count():
            control.locator("label").tap()
        else:
            slider = control.locator("input[type=range]")
            box = slider.bounding_box()
            at_end = slider.input_value() == slider.get_attribute("max")
            slider.tap(position={"x": box["width"] * (0.05 if at_end else 0.97), "y": box["height"] / 2})

    def _mark(self, place: int) -> None:
        mark = self.here.locator("[data-sets]").nth(place)
        if not mark.count() or mark.get_attribute("aria-pressed") == "true":
            return
        name = mark.get_attribute("aria-label") or mark.get_attribute("data-sets")
        self._room(mark, f"mark “{name}”")
        self._expect("marks", f"mark “{name}” by touch", mark.tap)
        again = self.here.locator("[data-sets][aria-pressed=false]").first
        if again.count():
            again.focus()
            self._expect(
                "keys",
                f"mark “{again.get_attribute('aria-label')}” with Enter",
                lambda: self.page.keyboard.press("Enter"),
            )

    def _handle(self, place: int) -> None:
        knob = self.here.locator("[data-drags]").nth(place)
        name = knob.get_attribute("aria-label") or knob.get_attribute("data-drags")
        self._room(knob, f"handle “{name}”")
        moved = any(
            self._quietly(lambda dx=dx, dy=dy: self._drag(place, dx, dy))
            for dx, dy in ((120, 0), (-120, 0), (0, -90), (0, 90))
        )
        if moved:
            self.answered["handles"] += 1
        else:
            self.silent.append(f"handle “{name}” by touch")
        self.here.locator("[data-drags]").nth(place).focus()
        keys = ("ArrowRight", "ArrowLeft", "ArrowUp", "ArrowDown")
        if any(self._quietly(lambda key=key: self.page.keyboard.press(key)) for key in keys):
            self.answered["keys"] += 1
        else:
            self.silent.append(f"handle “{name}” with the arrow keys")

    def _quietly(self, act: Any) -> bool:
        before = self._looks()
        act()
        self.page.wait_for_timeout(120)
        return self._looks() != before

    def _drag(self, place: int, dx: float, dy: float) -> None:
        knob = self.here.locator("[data-drags]").nth(place)
        knob.scroll_into_view_if_needed()
        box = knob.bounding_box()
        x, y = box["x"] + box["width"] / 2, box["y"] + box["height"] / 2
        finger = self.page.context.new_cdp_session(self.page)
        ways = [("touchStart", 0.0), *(("touchMove", share) for share in (0.25, 0.5, 0.75, 1.0))]
        for kind, share in ways:
            there = {"x": x + dx * share, "y": y + dy * share}
            finger.send("Input.dispatchTouchEvent", {"type": kind, "touchPoints": [there]})
        finger.send("Input.dispatchTouchEvent", {"type": "touchEnd", "touchPoints": []})
        finger.detach()

    def _room(self, mark: Any, what: str) -> None:
        box = mark.bounding_box()
        if box and min(box["width"], box["height"]) < FINGER:
            self.small.append(f"{what} {box['width']:.0f} × {box['height']:.0f}")


def main(pages: list[str]) -> int:
    """Play the figures of these notebooks, or of all; how many things did not answer."""
    site, silent = ROOT / "dist" / "site", 0
    names = pages or sorted(path.stem for path in (site / "course").glob("[0-9]*.html"))
    with web_pages(site) as address, browser() as chromium:
        context = chromium.new_context(viewport={"width": WIDTH, "height": 800}, has_touch=True, is_mobile=True)
        for name in names:
            page = context.new_page()
            page.set_default_timeout(PATIENCE)
            page.goto(f"{address}/course/{name}.html")
            for place in range(page.locator(".ffn-figure").count()):
                figure = PhoneFigure(page, place)
                figure.play()
                counted = ", ".join(f"{count} {kind}" for kind, count in figure.answered.items() if count)
                print(f"{name[:2]} {figure.name:<24}{counted}", flush=True)
                for line in figure.silent:
                    print(f"      does not answer: {line}")
                if figure.small:
                    print(f"      small: {len(figure.small)}, such as {figure.small[0]}")
                silent += len(figure.silent)
            width = page.evaluate("document.documentElement.scrollWidth")
            if width > WIDTH:
                print(f"{name[:2]} is {width} pixels wide")
                silent += 1
            page.close()
    print("everything answers" if not silent else f"{silent} things do not answer")
    return int(silent > 0)


if __name__ == "__main__":
    sys.exit(main(sys.argv[1:]))
