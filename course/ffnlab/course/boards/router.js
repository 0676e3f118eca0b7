// @ts-check
// You are the router: a hand turns the arrows of experts, regions follow, each expert is fitted at once, and the error falls. Then stored runs learn.
import { arrowsIn, handOf, planeIn, REACH, turnIn } from "./arrows.js";
import { choice, clipped, frame, set, shape, slider } from "./marks.js";
import { chosen, misses, region, total } from "./router_model.js";
import { element, percent, plural } from "./runtime.js";

/** @typedef {import("./router_model.js").Point} Point */
/** @typedef {{name: string, title: string, dots: Point[], targets: Point[], start: Point[], learns?: boolean}} Level */

const BEAT = 450; // milliseconds from one look at a run to the next
const BAR = 22;
const STACK = 7; // from one mark to the next, in pixels

/** @param {any} state @param {any} data @returns {Level} */
const levelOf = (state, data) => data.levels[state.level];

/** The arrows that are seen: a hand's, or those of a run. @param {any} state @param {any} data @returns {Point[]} */
function arrowsOf(state, data) {
  if (!levelOf(state, data).learns) return handOf(state);
  const [xs, ys] = data.runs[state.run][state.at];
  return xs.map((/** @type {number} */ x, /** @type {number} */ e) => [data.length * x, data.length * ys[e]]);
}

/** Where the dots go, and what each expert misses, as a share of what a single expert misses on all. @param {Level} level @param {Point[]} arrows */
export function judge({ dots, targets }, arrows) {
  const goes = dots.map((dot) => chosen(arrows, dot));
  const missed = misses(dots, targets, goes);
  const single = total(misses(dots, targets, dots.map(() => 0)));
  return { goes, missed: missed.map((miss) => miss / single), error: total(missed) / single };
}

/** Ends of runs in stacks: those that would lie on each other. @param {number[]} ends @returns {number[][]} */
function stacked(ends) {
  const stacks = new Map();
  for (const end of ends) stacks.set(Math.round(80 * end), [...(stacks.get(Math.round(80 * end)) ?? []), end]);
  return [...stacks.values()];
}

/** @param {string} name */
const goal = (name) => (/** @type {any} */ state, /** @type {any} */ data) => levelOf(state, data).name === name && judge(levelOf(state, data), arrowsOf(state, data)).error < data.good;

/** @type {import("./runtime.js").Board} */
export const board = {
  start: (data) => ({ level: 0, hands: data.levels.map((/** @type {Level} */ { start }) => start), run: 0, at: 0, playing: false }),
  goals: {
    six: goal("six"), three: goal("three"), between: goal("between"),
    learn: (state, data) => state.at === data.looks.length - 1 && goal("learn")(state, data),
  },
  level: (state, data) => levelOf(state, data).name,
  // The last level is tried by whoever has seen a run to its end.
  tries: (name, state, before, data) => levelOf(state, data).name === name && (name === "learn" ? state.at === data.looks.length - 1 : state.hands !== before.hands),
  stage,
};

/** @param {HTMLElement} place @param {import("./runtime.js").Play} play @returns {import("./runtime.js").Stage} */
function stage(place, play) {
  const { data } = play;
  /** @type {Level[]} */
  const levels = data.levels;
  const last = data.looks.length - 1;
  const tabs = choice("Level", levels.map(({ title }) => title), (level) => play.move({ level, playing: false }));
  const picture = element("div");
  const meter = element("div", { class: "ar-beside" });
  const runs = choice("Run", data.runs.map((/** @type {any} */ _, /** @type {number} */ n) => `run ${n + 1}`), (run) => look(run, 0));
  const steps = slider("step", 0, last, 1, (at) => look(play.state().run, at), (at) => String(data.looks[at]));
  const press = element("button", { type: "button", class: "wr-press", onclick: toggle });
  const hands = element("div", { class: "wr-hands" }, runs.whole, press, steps.whole);
  const sides = element("div", { class: "ar-sides" }, picture, meter);
  place.append(tabs.whole, hands, sides);
  let timer = 0;
  /** @type {(state: any) => void} */
  let update = () => {};

  /** Shows a run at one of its steps. @param {number} run @param {number} at @param {boolean} [playing] */
  const look = (run, at, playing = false) => play.move({ run, at, playing });

  function toggle() {
    const { run, at, playing } = play.state();
    if (playing) play.move({ playing: false });
    else {
      look(run, at === last ? 0 : at, true);
      timer = window.setTimeout(step, BEAT);
    }
  }

  function step() {
    const { run, at, playing } = play.state();
    if (!playing) return;
    look(run, at + 1, at + 1 < last && place.isConnected);
    if (play.state().playing) timer = window.setTimeout(step, BEAT);
  }

  /** @param {number} which @param {number} width */
  function build(which, width) {
    const level = levels[which];
    const { narrow, side, svg } = planeIn(place, width);
    const at = frame([-REACH, REACH, -REACH, REACH], 0, side, 0, side);
    const ground = clipped(svg, at);
    const regions = level.start.map((_, e) => ground.appendChild(shape("path", { class: `ar-region ar-e${e}` })));
    const rings = level.dots.map(([x, y]) => ground.appendChild(shape("circle", { class: "ro-miss", cx: at.x(x), cy: at.y(y) })));
    const dots = level.dots.map(([x, y]) => ground.appendChild(shape("circle", { cx: at.x(x), cy: at.y(y), r: 3.4 })));
    const draw = arrowsIn(svg, at, level.start.length, level.learns ? null : turnIn(play));
    picture.replaceChildren(svg);
    const show = meterIn(meter, level, narrow ? width : width - side - 18);
    return (/** @type {any} */ state) => {
      const arrows = arrowsOf(state, data);
      const { goes, missed, error } = judge(level, arrows);
      regions.forEach((made, e) => set(made, { d: region(arrows, e, REACH).map(([x, y], n) => `${n ? "L" : "M"}${at.x(x).toFixed(1)} ${at.y(y).toFixed(1)}`).join("") }));
      dots.forEach((made, n) => set(made, { class: `ro-dot ar-e${goes[n]}` }));
      rings.forEach((made, n) => set(made, { r: (Math.min(Math.sqrt(missed[n] * level.dots.length) * 11, 15) + 3).toFixed(1), "fill-opacity": missed[n] * level.dots.length < 1e-4 ? 0 : 1 }));
      draw(arrows);
      show(error, goes);
    };
  }

  /** The error as a bar, and how many dots each expert has. @param {HTMLElement} into @param {Level} level @param {number} width */
  function meterIn(into, level, width) {
    const groups = level.learns ? Object.entries(data.ends).map(([name, ends]) => ({ name, stacks: stacked(/** @type {number[]} */ (ends)) })) : [];
    const says = element("p", { class: "ro-says" });
    const wide = Math.max(width - 4, 150);
    const across = (/** @type {number} */ error) => Math.min(error, 1) * (wide - 4) + 2;
    const svg = shape("svg", { class: "wr-picture", width: wide, "aria-hidden": "true" });
    svg.append(shape("rect", { class: "ro-rail", width: wide, height: BAR, rx: 4 }));
    const fill = svg.appendChild(shape("rect", { class: "ro-fill", height: BAR, rx: 4 }));
    svg.append(shape("text", { x: 0, y: BAR + 14 }, "0"), shape("text", { x: wide, y: BAR + 14, "text-anchor": "end" }, "a single expert"));
    let low = BAR + 18;
    for (const { name, stacks } of groups) {
      low += 16;
      svg.append(shape("text", { x: 0, y: low }, name));
      low += 2;
      for (const stack of stacks) stack.forEach((end, n) => svg.append(shape("circle", { class: "ro-end", cx: Math.max(across(end), 3).toFixed(1), cy: low + 5 + STACK * n, r: 3 })));
      low += STACK * Math.max(...stacks.map(({ length }) => length)) + 6;
    }
    set(svg, { height: low });
    const legend = element("p", { class: "ro-legend" }, groups.length ? "Each small dot is where another run ended." : "A red disc shows how far a dot’s expert misses its task.");
    const chips = level.start.map((_, e) => element("span", { class: `ro-chip ar-e${e}`, role: "listitem" }));
    into.replaceChildren(says, svg, legend, element("div", { class: "ro-chips", role: "list", "aria-label": "How many dots each expert has" }, ...chips));
    return (/** @type {number} */ error, /** @type {number[]} */ goes) => {
      says.textContent = `Error: ${percent(error)}`;
      set(fill, { width: across(error).toFixed(1), class: `ro-fill${error < data.good ? " ro-good" : ""}` });
      chips.forEach((chip, e) => (chip.textContent = `${e}: ${plural(goes.filter((other) => other === e).length, "dot")}`));
    };
  }

  return {
    draw(state, before) {
      if (!state.playing) clearTimeout(timer);
      if (!before || before.level !== state.level) update = build(state.level, place.clientWidth || 700);
      tabs.show(state.level);
      runs.show(state.run);
      steps.show(state.at);
      press.textContent = state.playing ? "Stop" : "Let it learn";
      hands.hidden = !levelOf(state, data).learns;
      update(state);
    },
    words(state) {
      const level = levelOf(state, data);
      const { goes, error } = judge(level, arrowsOf(state, data));
      const busy = new Set(goes).size;
      const which = level.learns ? `Run ${state.run + 1}, step ${data.looks[state.at]}: ` : "";
      return `${which}${busy} of ${plural(level.start.length, "expert has", "experts have")} dots, and the error is ${percent(error)} of a single expert’s.`;
    },
  };
}
