// @ts-check
// Two experts for each token: which pairs can be chosen, if a token is a direction in a plane?
import { arrowsIn, handOf, planeIn, REACH, turnIn } from "./arrows.js";
import { choice, frame, set, shape } from "./marks.js";
import { pairs } from "./router_model.js";
import { element, plural } from "./runtime.js";

/** @typedef {import("./router_model.js").Point} Point */
/** @typedef {import("./router_model.js").Stretch} Stretch */
/** @typedef {{name: string, title: string, start: Point[]}} Level */

const THINNEST = 0.01; // radians: a stretch of directions below this is no choice that anybody can see
const BAND = 13; // of each of the two rings around the plane, in pixels

/** @param {any} state @param {any} data @returns {Level} */
const levelOf = (state, data) => data.levels[state.level];

/** The pairs that some direction chooses. @param {Point[]} arrows */
export const seen = (arrows) => new Set(pairs(arrows).filter(({ width }) => width > THINNEST).map(({ pair }) => pair));

/** All pairs of so many experts. @param {number} count */
const every = (count) => Array.from({ length: count }, (_, a) => Array.from({ length: count - a - 1 }, (_, n) => `${a} ${a + n + 1}`)).flat();

/** @param {string} name */
const goal = (name) => (/** @type {any} */ state, /** @type {any} */ data) => levelOf(state, data).name === name && seen(handOf(state)).size === every(handOf(state).length).length;

/** @type {import("./runtime.js").Board} */
export const board = {
  start: (data) => ({ level: 0, hands: data.levels.map((/** @type {Level} */ { start }) => start) }),
  goals: { four: goal("four"), five: goal("five") },
  level: (state, data) => levelOf(state, data).name,
  tries: (name, state, before, data) => levelOf(state, data).name === name && state.hands !== before.hands,
  stage,
};

/** @param {HTMLElement} place @param {import("./runtime.js").Play} play @returns {import("./runtime.js").Stage} */
function stage(place, play) {
  /** @type {Level[]} */
  const levels = play.data.levels;
  const tabs = choice("Level", levels.map(({ title }) => title), (level) => play.move({ level }));
  const picture = element("div");
  const beside = element("div", { class: "ar-beside" });
  place.append(tabs.whole, element("div", { class: "ar-sides" }, picture, beside));
  /** @type {(state: any) => void} */
  let update = () => {};

  /** @param {number} which @param {number} width */
  function build(which, width) {
    const level = levels[which];
    const { side, svg } = planeIn(place, width);
    const inset = 2 * BAND + 6;
    const at = frame([-REACH, REACH, -REACH, REACH], inset, side - inset, inset, side - inset);
    const ring = svg.appendChild(shape("g"));
    const outline = svg.appendChild(shape("path", { class: "pa-hull" }));
    const draw = arrowsIn(svg, at, level.start.length, turnIn(play));
    picture.replaceChildren(svg);
    const chips = every(level.start.length).map((pair) => {
      const [a, b] = pair.split(" ");
      return { pair, chip: element("span", { class: "pa-chip", role: "listitem" }, element("span", { class: `pa-half ar-e${a}` }, a), element("span", { class: `pa-half ar-e${b}` }, b)) };
    });
    const says = element("p", { class: "ro-says" });
    const legend = element("p", { class: "ro-legend" }, "The ring is all directions that a token can have. Its two colours are the two experts that such a token chooses.");
    beside.replaceChildren(says, element("div", { class: "pa-chips", role: "list", "aria-label": "Pairs of experts" }, ...chips.map(({ chip }) => chip)), legend);
    return (/** @type {any} */ state) => {
      const arrows = handOf(state);
      const found = seen(arrows);
      ring.replaceChildren(...pairs(arrows).flatMap((stretch) => arcs(stretch, side / 2)));
      set(outline, { d: arrows.flatMap(([x, y], n) => arrows.slice(n + 1).map(([u, v]) => `M${at.x(x).toFixed(1)} ${at.y(y).toFixed(1)}L${at.x(u).toFixed(1)} ${at.y(v).toFixed(1)}`)).join("") });
      draw(arrows);
      says.textContent = `${found.size} of ${plural(chips.length, "pair")}`;
      for (const { pair, chip } of chips) {
        chip.classList.toggle("pa-found", found.has(pair));
        chip.setAttribute("aria-label", `${pair.replace(" ", " and ")}${found.has(pair) ? "" : ", chosen by no direction"}`);
      }
    };
  }

  return {
    draw(state, before) {
      if (!before || before.level !== state.level) update = build(state.level, place.clientWidth || 700);
      tabs.show(state.level);
      update(state);
    },
    words(state) {
      const all = every(handOf(state).length);
      const missing = all.filter((pair) => !seen(handOf(state)).has(pair)).map((pair) => pair.replace(" ", " and "));
      return missing.length ? `No direction chooses ${missing.join(", ")}.` : `Each of the ${all.length} pairs is chosen by some direction.`;
    },
  };
}

/** A stretch of directions as two arcs, one for each of its experts. @param {Stretch} stretch @param {number} middle */
function arcs({ pair, width, middle: way }, middle) {
  return pair.split(" ").map((expert, n) => {
    const radius = middle - BAND / 2 - 2 - BAND * n;
    const half = Math.min(width / 2, Math.PI - 1e-3);
    const end = (/** @type {number} */ turn) => `${(middle + radius * Math.cos(turn)).toFixed(1)} ${(middle - radius * Math.sin(turn)).toFixed(1)}`;
    return shape("path", { class: `pa-arc ar-e${expert}`, "stroke-width": BAND, d: `M${end(way - half)}A${radius} ${radius} 0 ${width > Math.PI ? 1 : 0} 0 ${end(way + half)}` });
  });
}
