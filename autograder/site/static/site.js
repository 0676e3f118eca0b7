// The course on a page: the board of the notebooks plays pictures that were drawn when the site was built, and a prediction keeps its guess
// in the reader's browser. Without this script a page still has every figure's first picture and its sentence, and every question.
import board from "./figure_widget.js";
import guess from "./prediction_widget.js";

const MARGIN = "600px"; // how far below the screen a figure is when its pictures are fetched
const SIDEWAYS = document.querySelector(".ffn-wide")?.getAttribute("aria-label"); // the words for a box that scrolls

/** The JSON of a gzipped file, whether or not its server has said so and the browser has unpacked it. */
async function unpacked(file) {
  const [first, second] = new Uint8Array(await file.slice(0, 2).arrayBuffer());
  const isPacked = first === 0x1f && second === 0x8b;
  return new Response(isPacked ? file.stream().pipeThrough(new DecompressionStream("gzip")) : file).json();
}

/** What stands in for a kernel: it knows the picture of every state that was drawn, and brings the rest back to one. */
function playing(figure) {
  const { controls, at } = JSON.parse(figure.querySelector("script").textContent);
  const here = figure.querySelector(".ffn-here");
  const data = { controls, at, shown: { at, html: here.querySelector(".ffn-wide").innerHTML }, missed: "The pictures of this figure are still on their way." };
  const heard = {};
  const recent = []; // parameters, the one moved last first
  let drawn = null;

  const set = (name, value) => {
    data[name] = value;
    for (const tell of heard[`change:${name}`] ?? []) tell();
  };
  const key = (state) => controls.map(({ name }) => state[name]).join(",");

  /** The nearest state with a picture: what was moved last stays, and of the rest as much as can. */
  function reachable(wanted) {
    if (key(wanted) in drawn.frames) return wanted;
    const found = { ...at };
    for (const name of [...recent, ...Object.keys(wanted)]) {
      const next = { ...found, [name]: wanted[name] };
      if (key(next) in drawn.frames) found[name] = wanted[name];
    }
    return found;
  }

  function answer() {
    if (!drawn) return;
    const state = reachable(data.at);
    if (key(state) !== key(data.at)) set("at", state);
    const row = drawn.pictures[drawn.frames[key(state)]];
    set("shown", { at: state, html: row.map((piece) => drawn.pieces[piece]).join("") });
  }

  async function fetched() {
    try {
      const response = await fetch(figure.dataset.frames);
      if (!response.ok) throw new Error(response.statusText);
      drawn = await unpacked(await response.blob());
      figure.dataset.ready = "";
      if (data.at !== data.shown.at) answer();
    } catch {
      data.missed = "The pictures of this figure could not be fetched; the first one stays. Load the page again.";
    }
  }

  const model = {
    get: (name) => data[name],
    set(name, value) {
      if (name === "at") {
        for (const parameter of Object.keys(value).filter((one) => value[one] !== data.at[one])) {
          if (recent.includes(parameter)) recent.splice(recent.indexOf(parameter), 1);
          recent.unshift(parameter);
        }
      }
      set(name, value);
    },
    on: (name, tell) => (heard[name] ??= []).push(tell),
    off() {},
    save_changes: answer,
  };
  here.replaceChildren();
  board.render({ model, el: here });
  here.querySelector(".ffn-picture").classList.add("ffn-wide");
  return fetched;
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
  waiting.set(figure, playing(figure));
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
