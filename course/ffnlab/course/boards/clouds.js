// @ts-check
// Fourteen tokens on their way through random layers, four times on one clock: attention alone, with an FFN, with residual connections, with all.
import { select } from "./d3.js";
import { element, number, plural, powerOfTen, raised } from "./runtime.js";

const NAMES = /** @type {Record<string, string>} */ ({ attention: "attention alone", ffn: "attention, FFN", skip: "attention, residual", all: "residual, FFN, norm" });
const LENGTHS = /** @type {Record<string, string>} */ ({ ffn: "as it comes", "ffn, same length": "as long as its input", "ffn, four times": "four times as long" });
const STEP = 900; // milliseconds a layer while it plays
const GUESSED = 4; // stops of the clock, after which what is to come is drawn as well
const FLOOR = -16; // the lowest power of ten in the curve
const LEAST = 1e-15; // in double precision, smaller ones are rounding
const CROSSED = 1e-6; // the line that one cloud is to be below while the others are above
const SVG = "http://www.w3.org/2000/svg";

/** What is drawn for a cloud: one of the stored runs. @param {string} cloud @param {any} state */
const runOf = (cloud, state) => (cloud === "ffn" ? state.length : cloud);

/** How far the tokens are from their mean, in words. @param {number} r */
export function spread(r) {
  if (r < LEAST) return `below 10${raised(FLOOR + 1)}`;
  return r >= 0.01 ? number(r, 2) : powerOfTen(r);
}

/** The clouds whose r is below a millionth. @param {any} state @param {any} data */
const below = (state, data) => Object.keys(NAMES).filter((cloud) => data.runs[runOf(cloud, state)].shown[state.at] < CROSSED);

/** @param {string} tag @param {Record<string, any>} attributes */
function shape(tag, attributes) {
  const made = document.createElementNS(SVG, tag);
  for (const [name, value] of Object.entries(attributes)) made.setAttribute(name, String(value));
  return made;
}

/** @type {import("./runtime.js").Board} */
export const board = {
  start: () => ({ at: 0, length: "ffn", isPlaying: false }),

  goals: {
    first: (state, data) => !state.isPlaying && state.length === "ffn" && below(state, data).join() === "ffn",
    slower: (state, data) => data.depths.some((/** @type {number} */ depth, /** @type {number} */ n) => depth >= 3 && n <= state.at && data.runs[runOf("ffn", state)].shown[n] > 100 * data.runs.attention.shown[n]),
  },

  stage(place, play) {
    const { data } = play;
    const last = data.depths.length - 1;
    let timer = 0;
    const slider = /** @type {HTMLInputElement} */ (element("input", { type: "range", min: 0, max: last, step: 1, "aria-label": "layers", oninput: () => play.move({ at: Number(slider.value), isPlaying: false }) }));
    const layers = element("output", { class: "cl-layers" });
    const run = element("button", { type: "button", class: "cl-play", onclick: toggle }, "Play");
    const lengths = Object.entries(LENGTHS).map(([length, label]) => {
      const radio = /** @type {HTMLInputElement} */ (element("input", { type: "radio", name: "length", onchange: () => play.move({ length }) }));
      return { length, radio, label: element("label", {}, radio, label) };
    });
    const form = element("form", { class: "cl-lengths", role: "radiogroup", "aria-label": "How long the FFN's output is made" }, "The FFN’s output: ", ...lengths.map(({ label }) => label));
    const clouds = Object.keys(NAMES).map((cloud) => {
      const svg = shape("svg", { viewBox: "-2 -2 4 4", class: "cl-cloud", "aria-hidden": "true" });
      svg.append(shape("circle", { r: 1, class: "cl-ring" }));
      const value = element("span", { class: "cl-value" });
      return { cloud, svg, value, place: element("div", { class: `cl-panel cl-${cloud}` }, element("b", {}, NAMES[cloud]), svg, value) };
    });
    const chart = shape("svg", { class: "cl-chart", "aria-hidden": "true" });
    place.append(
      element("div", { class: "cl-clock" }, run, slider, layers), form,
      element("div", { class: "cl-clouds" }, ...clouds.map((made) => made.place)), chart,
      element("p", { class: "cl-legend" }, "Each dot is a token, in two of 64 directions. The middle is the mean of all fourteen. The ring is r = 1, and r is the tokens’ distance from their mean, divided by their length. The lower axis leaves layers out as it goes on."),
    );

    function toggle() {
      const { at, isPlaying } = play.state();
      play.move({ isPlaying: !isPlaying, at: !isPlaying && at === last ? 0 : at });
      if (!isPlaying) timer = window.setTimeout(step, 200);
    }
    function step() {
      const at = play.state().at + 1;
      play.move({ at, isPlaying: at < last && place.isConnected });
      if (play.state().isPlaying) timer = window.setTimeout(step, STEP);
    }

    /** @param {any} state */
    function draw(state) {
      if (!state.isPlaying) clearTimeout(timer);
      run.textContent = state.isPlaying ? "Stop" : "Play";
      slider.value = String(state.at);
      const depth = data.depths[state.at];
      layers.textContent = plural(depth, "layer");
      slider.setAttribute("aria-valuetext", layers.textContent);
      for (const { length, radio } of lengths) radio.checked = length === state.length;
      for (const { cloud, svg, value } of clouds) {
        const stored = data.runs[runOf(cloud, state)];
        select(svg).selectAll("circle.cl-dot").data(stored.dots[state.at]).join("circle").attr("class", "cl-dot").attr("r", 0.1)
          .style("transform", (/** @type {number[]} */ [x, y]) => `translate(${x}px, ${-y}px)`);
        value.textContent = `r = ${spread(stored.shown[state.at])}`;
      }
      curve(state);
    }

    /** @param {any} state */
    function curve(state) {
      const [wide, high, left, bottom] = [Math.max(place.clientWidth, 300), 170, 40, 22];
      const x = (/** @type {number} */ n) => left + ((wide - left - 14) * n) / last;
      const y = (/** @type {number} */ r) => 10 + ((high - bottom - 10) * Math.max(Math.log10(Math.max(r, 1e-99)), FLOOR)) / FLOOR;
      chart.setAttribute("width", String(wide));
      chart.setAttribute("height", String(high));
      const few = wide < 500;
      const marks = [0, -4, -8, -12, -16].flatMap((power) => {
        const label = shape("text", { x: left - 6, y: y(10 ** power) + 4, "text-anchor": "end", class: "cl-tick" });
        label.textContent = power ? `10${raised(power)}` : "1";
        return [shape("line", { x1: left, x2: wide - 14, y1: y(10 ** power), y2: y(10 ** power), class: "cl-rule" }), label];
      });
      const ticks = data.depths.flatMap((/** @type {number} */ depth, /** @type {number} */ n) => {
        if (few && n % 2 && n !== last) return [];
        const label = shape("text", { x: x(n), y: high - 5, "text-anchor": "middle", class: "cl-tick" });
        label.textContent = String(depth);
        return [label];
      });
      const paths = clouds.map(({ cloud }) => {
        const values = data.runs[runOf(cloud, state)].shown;
        const path = (/** @type {number} */ to) => values.slice(0, to + 1).map((/** @type {number} */ r, /** @type {number} */ n) => `${n ? "L" : "M"}${x(n)},${y(r)}`).join("");
        const ghost = state.at >= GUESSED ? [shape("path", { d: path(last), class: `cl-line cl-ghost cl-${cloud}` })] : [];
        return [...ghost, shape("path", { d: path(state.at), class: `cl-line cl-${cloud}` }), shape("circle", { cx: x(state.at), cy: y(values[state.at]), r: 5, class: `cl-end cl-${cloud}` })];
      });
      chart.replaceChildren(...marks, ...ticks, ...paths.flat());
    }

    /** @param {any} state */
    function words(state) {
      const depth = data.depths[state.at];
      const r = clouds.map(({ cloud }) => `${NAMES[cloud]} ${spread(data.runs[runOf(cloud, state)].shown[state.at])}`);
      const length = state.length === "ffn" ? "" : `, with the FFN’s output made ${LENGTHS[state.length]}`;
      return `After ${plural(depth, "layer")}${length}, r is: ${r.join("; ")}.`;
    }
    return { draw, words };
  },
};
