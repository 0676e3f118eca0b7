// @ts-check
// Two wires, one product: a hand moves the lines of gate and up, and the neurons' products add up to a curve that should stay inside a ribbon.
import { choice, clamp, clipped, frame, knob, outside, path, ribbon, set, shape, spread } from "./marks.js";
import { ACTS, GATE_AT, UP_AT, forEver, furthestProduct, gateOf, on, summed, upOf } from "./product_model.js";
import { element, number } from "./runtime.js";
import { fits, targetAt } from "./wire_model.js";

/** @typedef {import("./product_model.js").Neuron} Neuron */
/** @typedef {{name: string, title: string, act: import("./product_model.js").Act, target: import("./wire_model.js").Target, half: number, ever: boolean, y: number[], start: Neuron[]}} Level */
/** @typedef {import("./marks.js").Frame} Frame */

const [LEFT, RIGHT] = [10, 10]; // margins, in pixels
const EDGE = 2.35; // what is drawn beside the ends of the lines
const STRIP = 84; // of the picture of what is missing, in pixels
const PANEL = 170; // of a neuron's own picture
const TALL = 3.5; // how far up and down such a picture goes
const VIEWS = [2, 10, 100]; // how far out one can look
const SNAP = { gate: 0.5, up: 0.25 };
const MOST = { gate: 3, up: 3 };
const SPOKEN = { none: "", relu: "relu", silu: "silu", sigmoid: "sigmoid" };
const FINE = 480;

/** @param {any} state @param {any} data @returns {Level} */
const levelOf = (state, data) => data.levels[state.level];
/** @param {any} state @returns {Neuron[]} */
const handOf = (state) => state.hands[state.level];

/** Whether the curve is inside: for ever, or on the picture. @param {Level} level @param {Neuron[]} neurons */
export function inside(level, neurons) {
  if (level.ever) return forEver(neurons, level.act, level.half);
  return fits(furthestProduct(neurons, level.act, level.target, -2, 2), level.half);
}

/** @param {string} name */
const goal = (name) => (/** @type {any} */ state, /** @type {any} */ data) => levelOf(state, data).name === name && inside(levelOf(state, data), handOf(state));

/** A line as people write it. @param {import("./product_model.js").Line} line */
function written({ slope, height }) {
  if (!slope) return number(height, 3);
  const rising = slope === 1 ? "x" : slope === -1 ? "−x" : `${number(slope, 3)}x`;
  return height ? `${rising} ${height > 0 ? "+" : "−"} ${number(Math.abs(height), 3)}` : rising;
}

/** @type {import("./runtime.js").Board} */
export const board = {
  start: (data) => ({ level: 0, view: 0, hands: data.levels.map((/** @type {Level} */ { start }) => start) }),
  goals: Object.fromEntries(["ever", "valley", "bent", "smooth", "shut"].map((name) => [name, goal(name)])),
  level: (state, data) => levelOf(state, data).name,
  tries: (name, state, before, data) => levelOf(state, data).name === name && state.hands !== before.hands,
  stage,
};

/** @param {HTMLElement} place @param {import("./runtime.js").Play} play @returns {import("./runtime.js").Stage} */
function stage(place, play) {
  /** @type {Level[]} */
  const levels = play.data.levels;
  const tabs = choice("Level", levels.map(({ title }) => title), (level) => play.move({ level }));
  const views = choice("How far you look", VIEWS.map((far) => `x from −${far} to ${far}`), (view) => play.move({ view }));
  const picture = element("div");
  const formula = element("div", { class: "wr-formula" });
  const look = element("div", { class: "wr-hands" }, views.whole);
  place.append(tabs.whole, picture, look, formula);
  /** @type {(state: any) => void} */
  let update = () => {};

  /** Moves one end of a line. @param {number} j @param {"gate" | "up"} which @param {number} end @param {(height: number) => number} to */
  function turn(j, which, end, to) {
    const state = play.state();
    const held = (/** @type {number} */ height) => clamp(Math.round(to(height) / SNAP[which]) * SNAP[which], -MOST[which], MOST[which]);
    const moved = handOf(state).map((neuron, n) => (n === j ? { ...neuron, [which]: neuron[which].map((height, k) => (k === end ? held(height) : height)) } : neuron));
    play.move({ hands: state.hands.map((/** @type {Neuron[]} */ hand, /** @type {number} */ n) => (n === state.level ? moved : hand)) });
  }

  /** @param {number} which @param {number} width */
  function build(which, width) {
    const level = levels[which];
    const alone = level.start.length === 1;
    const high = alone ? 270 : 190;
    const strip = high + 40;
    const panels = level.ever ? strip + STRIP + 54 : high + 58;
    const tall = alone ? strip + STRIP + 20 : panels + PANEL + 6;
    const svg = shape("svg", { class: "wr-picture", width, height: tall, viewBox: `0 0 ${width} ${tall}` });
    const at = frame([-EDGE, EDGE, level.y[0], level.y[1]], LEFT, width - RIGHT, 4, high);
    const upper = clipped(svg, at);
    const xs = spread(-EDGE, EDGE, FINE);
    const seen = level.ever ? xs : spread(-2, 2, FINE);
    const targets = seen.map((x) => targetAt(level.target, x));
    upper.append(
      shape("path", { class: "wr-ribbon", d: ribbon(at, seen, targets, level.half) }),
      shape("line", { class: "wr-axis", x1: at.left, x2: at.right, y1: at.y(0), y2: at.y(0) }),
    );
    for (const x of [-2, -1, 0, 1, 2]) svg.append(shape("text", { class: "wr-tick", x: at.x(x), y: high + 15 }, number(x)));
    const drawers = level.start.map((_, j) => {
      if (alone) return neuronIn(svg, upper, at, level, j);
      const wide = (width - LEFT - RIGHT - 12) / 2;
      const left = LEFT + j * (wide + 12);
      const own = frame([-EDGE, EDGE, -TALL, TALL], left, left + wide, panels, panels + PANEL);
      svg.append(shape("rect", { class: "pr-sheet", x: left, y: panels, width: wide, height: PANEL, rx: 6 }));
      svg.append(shape("text", { x: left, y: panels - 6 }, `neuron ${j + 1}`));
      const group = clipped(svg, own);
      group.append(shape("line", { class: "wr-axis", x1: own.left, x2: own.right, y1: own.y(0), y2: own.y(0) }));
      return neuronIn(svg, group, own, level, j);
    });
    const curve = upper.appendChild(shape("path", { class: "wr-wire" }));
    const off = upper.appendChild(shape("path", { class: "wr-off" }));
    const missing = level.ever ? stripIn(svg, width, strip, level) : () => {};
    key(svg, alone ? at.left + 4 : LEFT, alone ? high - 6 : panels - 24, level);
    picture.replaceChildren(svg);

    return (/** @type {any} */ state) => {
      const neurons = handOf(state);
      set(curve, { d: path(at, xs, xs.map((x) => summed(neurons, level.act, x))) });
      set(off, { d: outside(at, seen, seen.map((x) => summed(neurons, level.act, x)), targets, level.half) });
      drawers.forEach((draw, j) => draw(neurons[j]));
      missing(neurons, VIEWS[state.view]);
      formula.textContent = `y = ${neurons.map((neuron) => term(level, neuron)).join(" + ")}`;
    };
  }

  /** The lines of one neuron, and the four rings that hold them. @param {Element} svg @param {Element} group @param {Frame} at @param {Level} level @param {number} j */
  function neuronIn(svg, group, at, level, j) {
    const xs = spread(-EDGE, EDGE, 160);
    const alone = level.start.length === 1;
    const product = alone ? null : group.appendChild(shape("path", { class: "pr-product" }));
    const straight = level.act === "none" ? null : group.appendChild(shape("path", { class: "wr-neuron pr-gate pr-before" }));
    const gate = group.appendChild(shape("path", { class: "wr-neuron pr-gate" }));
    const up = group.appendChild(shape("path", { class: "wr-neuron pr-up" }));
    const of = alone ? "" : ` of neuron ${j + 1}`;
    const rings = /** @type {const} */ (["gate", "up"]).flatMap((which) =>
      [0, 1].map((end) => {
        const move = knob(svg, {
          label: `${which}${of}, ${end ? "right" : "left"} end`, className: which === "gate" ? "wr-ring pr-gate" : "pr-up", way: "up", low: -MOST[which], high: MOST[which],
          drag: (_x, y) => turn(j, which, end, () => at.atY(y)),
          key: (across, up) => turn(j, which, end, (height) => height + (across + up) * SNAP[which]),
        });
        const x = (end ? 1 : -1) * (which === "gate" ? GATE_AT : UP_AT);
        return (/** @type {Neuron} */ neuron) => move(at.x(x), at.y(neuron[which][end]), neuron[which][end], number(neuron[which][end]));
      }),
    );
    return (/** @type {Neuron} */ neuron) => {
      const [lineOfGate, lineOfUp] = [gateOf(neuron), upOf(neuron)];
      if (straight) set(straight, { d: path(at, xs, xs.map((x) => on(lineOfGate, x))) });
      set(gate, { d: path(at, xs, xs.map((x) => ACTS[level.act](on(lineOfGate, x)))) });
      set(up, { d: path(at, xs, xs.map((x) => on(lineOfUp, x))) });
      if (product) set(product, { d: path(at, xs, xs.map((x) => summed([neuron], level.act, x))) });
      for (const ring of rings) ring(neuron);
    };
  }

  return {
    draw(state, before) {
      if (!before || before.level !== state.level) update = build(state.level, place.clientWidth || 640);
      tabs.show(state.level);
      views.show(state.view);
      look.hidden = !levelOf(state, play.data).ever;
      update(state);
    },
    words: (state) => described(levelOf(state, play.data), handOf(state), VIEWS[state.view]),
  };
}

/** @param {Level} level @param {Neuron} neuron */
const term = ({ act }, neuron) => `${SPOKEN[act]}(${written(gateOf(neuron))})·(${written(upOf(neuron))})`;

/** What the colours mean. @param {Element} svg @param {number} left @param {number} y @param {Level} level */
function key(svg, left, y, level) {
  const names = [["pr-gate", level.act === "none" ? "gate" : `${SPOKEN[level.act]}(gate)`], ["pr-up", "up"], ["pr-thick", level.start.length > 1 ? "product" : "gate · up"]];
  let x = left;
  for (const [look, name] of names) {
    svg.append(shape("line", { class: look === "pr-thick" ? "pr-product" : `wr-neuron ${look}`, x1: x, x2: x + 16, y1: y - 4, y2: y - 4 }), shape("text", { x: x + 21, y }, name));
    x += 34 + 7 * name.length;
  }
}

/** What is missing to x², as far out as one looks. @param {Element} svg @param {number} width @param {number} top @param {Level} level */
function stripIn(svg, width, top, { act, half }) {
  const at = frame([-1, 1, -4 * half, 4 * half], LEFT, width - RIGHT, top, top + STRIP);
  svg.append(shape("text", { x: LEFT, y: top - 5 }, "curve minus x²"));
  const group = clipped(svg, at);
  group.append(shape("rect", { class: "wr-ribbon", x: at.left, width: at.right - at.left, y: at.y(half), height: at.y(-half) - at.y(half) }));
  const curve = group.appendChild(shape("path", { class: "wr-wire wr-thin" }));
  const off = group.appendChild(shape("path", { class: "wr-off wr-thin" }));
  const ticks = [-1, 0, 1].map((x) => svg.appendChild(shape("text", { class: "wr-tick", x: clamp(at.x(x), 20, width - 20), y: top + STRIP + 14 })));
  return (/** @type {Neuron[]} */ neurons, /** @type {number} */ far) => {
    const xs = spread(-1, 1, FINE);
    const gaps = xs.map((x) => summed(neurons, act, far * x) - (far * x) ** 2);
    set(curve, { d: path(at, xs, gaps) });
    set(off, { d: outside(at, xs, gaps, xs.map(() => 0), half) });
    ticks.forEach((tick, n) => (tick.textContent = number((n - 1) * far)));
  };
}

/** @param {Level} level @param {Neuron[]} neurons @param {number} far @returns {string} */
function described(level, neurons, far) {
  const end = level.ever ? far : 2;
  const gap = furthestProduct(neurons, level.act, level.target, -end, end);
  const where = level.ever ? `from x = −${far} to ${far}` : "all the way";
  if (inside(level, neurons)) return level.ever ? "The curve stays inside the ribbon, for every x there is." : "The curve is inside the ribbon all the way.";
  if (fits(gap, level.half)) return `The curve is inside the ribbon ${where}. Further out it leaves it.`;
  return `The curve leaves the ribbon. ${level.ever ? `As far as you look, it` : "It"} is furthest out at x = ${number(gap.x)}: ${number(Math.abs(gap.gap))} too ${gap.gap > 0 ? "high" : "low"}, and the ribbon allows ${number(level.half, 3)}.`;
}
