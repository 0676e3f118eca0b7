// The course on a page: the board of the notebooks plays pictures that were drawn when the site was built, and a prediction keeps its guess
// in the reader's browser. Without this script a page still has every figure's first picture and its sentence, and every question.
import guess from "./prediction_widget.js";
import { play, unpacked } from "./stored_frames.js";

const MARGIN = "600px"; // how far below the screen a figure is when its pictures are fetched
const SIDEWAYS = document.querySelector(".ffn-wide")?.getAttribute("aria-label"); // the words for a box that scrolls

/** Shows a figure of this page; returns a function that fetches its pictures. */
function figureOf(place) {
  const about = JSON.parse(place.querySelector("script").textContent);
  const here = place.querySelector(".ffn-here");
  const take = play(here, { ...about, html: here.querySelector(".ffn-wide").innerHTML });
  here.querySelector(".ffn-picture").classList.add("ffn-wide");
  return async () => {
    try {
      const response = await fetch(place.dataset.frames);
      if (!response.ok) throw new Error(response.statusText);
      const pictures = await unpacked(await response.blob());
      place.dataset.ready = "";
      take(pictures);
    } catch {
      take("The pictures of this figure could not be fetched; the first one stays. Load the page again.");
    }
  };
}

const waiting = new Map();
const seen = new IntersectionObserver(
  (entries) => {
    for (const { isIntersecting, target } of entries) {
      if (!isIntersecting) continue;
      seen.unobserve(target);
      waiting.get(target)();
    }
  },
  { rootMargin: MARGIN },
);
for (const figure of document.querySelectorAll(".ffn-figure")) {
  waiting.set(figure, figureOf(figure));
  seen.observe(figure);
}

/** What stands in for a kernel where a prediction is asked. A browser that keeps nothing, as in some private windows, asks again. */
function asking(place) {
  const data = JSON.parse(place.querySelector("script").textContent);
  const here = place.querySelector(".ffn-here");
  const key = `ffn-guess-${place.dataset.name}`;
  const { low, high } = data.slider;
  const takes = (kept) => (low === undefined ? data.options.includes(kept) : typeof kept === "number" && low <= kept && kept <= high);
  data.name = place.dataset.name;
  data.guess = null;
  try {
    const kept = JSON.parse(localStorage.getItem(key));
    if (takes(kept)) data.guess = kept;
  } catch {}
  const model = {
    get: (name) => data[name],
    set: (name, value) => (data[name] = value),
    on() {},
    off() {},
    save_changes() {
      try {
        localStorage.setItem(key, JSON.stringify(data.guess));
      } catch {}
    },
  };
  here.replaceChildren();
  guess.render({ model, el: here });
}
for (const place of document.querySelectorAll(".ffn-predict")) asking(place);

// What scrolls inside itself is reached with the keyboard, too: only where it does scroll.
function reach() {
  for (const box of document.querySelectorAll(".ffn-wide")) {
    const scrolls = box.scrollWidth > box.clientWidth;
    for (const [name, value] of Object.entries({ tabindex: 0, role: "group", "aria-label": SIDEWAYS })) {
      if (scrolls) box.setAttribute(name, value);
      else box.removeAttribute(name);
    }
  }
  for (const box of document.querySelectorAll("pre, .table-wrapper, .ffn-formula")) {
    if (box.scrollWidth > box.clientWidth) box.tabIndex = 0;
    else box.removeAttribute("tabindex");
  }
}
reach();
new ResizeObserver(reach).observe(document.body);
