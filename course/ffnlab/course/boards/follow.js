// @ts-check
// A network follows a curve: x² with more and more pieces, whatever a hand draws, and x² for ever. The network is the reader's own function where Python has it.
import { choice, clamp, clipped, frame, knob, outside, path, ribbon, set, shape, slider, spread } from "./marks.js";
import { element, number, plural, wholeNumber } from "./runtime.js";
import { chords, fewest, fits, furthest, heightAt, pieces, targetAt, wireOf } from "./wire_model.js";

/** @typedef {import("./wire_model.js").Wire} Wire */
/** @typedef {import("./wire_model.js").Target} Target */

const SAMPLES = 240; // straight bits of a curve that a hand has drawn, from −1 to 1
const PLACES = spread(-1, 1, SAMPLES);
const HALVES = [0.3, 0.1, 0.03, 0.01]; // of ribbons that can be chosen
const PENS = 24; // stops of the pen that keys move
const BUMP = 10; // samples to each side that the pen lifts with it
const LIFT = 0.1;
const TOP = 1.15; // the curve is drawn from −TOP to TOP
const FINE = 480;
const DEEPEST = 0.002; // how far the wire within a thousandth can be lowered, and in which steps
const DOWN_STEP = 0.00005;

/** @type {Record<string, (x: number) => number>} */
const SHAPES = {
  hills: (x) => 0.62 * Math.sin(4.4 * x + 0.9) + 0.34 * Math.cos(8.3 * x - 0.4),
  cliff: (x) => (x < 0.123 ? -0.6 : 0.7),
  saw: (x) => 0.8 * (2 * Math.abs(((3.1 * (x + 1)) % 1) - 0.5) * 2 - 1),
};

/** @param {string} name */
const drawnAs = (name) => PLACES.map((x) => Math.round(1000 * SHAPES[name](x)) / 1000);

/** Whether a curve is one of those that the board offers. @param {number[]} heights */
const isPreset = (heights) => Object.keys(SHAPES).some((name) => drawnAs(name).join() === heights.join());

/** @param {any} state @returns {Target} */
const targetOf = (state) => (state.heights ? { x: PLACES, y: state.heights } : "square");

/** @param {any} state */
const nodesOf = (state) => chords(targetOf(state), state.n, -1, 1).y;

/** What the network is for: another one is needed where this has changed. @param {any} state */
const keyOf = (state) => `${state.n} ${state.heights ? nodesOf(state).map((y) => y.toFixed(6)).join(" ") : ""}`;

/** The wire of a state; null while Python has not answered. @param {any} state @param {any} data @returns {Wire | null} */
export function wireFor(state, data) {
  if (!data.asks) return lowered(chords(targetOf(state), state.n, -1, 1), state.down);
  return state.net && state.key === keyOf(state) ? lowered(wireOf(state.net, -1, 1), state.down) : null;
}

/** A wire that a hand has lowered, so that the reader's function need not do it. @param {Wire} wire @param {number} [down] @returns {Wire} */
const lowered = ({ x, y }, down = 0) => ({ x, y: y.map((height) => height - down) });

/** @type {WeakMap<number[], Map<number, number>>} */
const counted = new WeakMap();

/** How many equal pieces stay in the ribbon around what is drawn. @param {number[]} heights @param {number} half */
export function needed(heights, half) {
  const known = counted.get(heights) ?? new Map();
  counted.set(heights, known);
  if (!known.has(half)) known.set(half, fewest({ x: PLACES, y: heights }, half, -1, 1, SAMPLES));
  return /** @type {number} */ (known.get(half));
}

/** Where the wire that was built for −reach to reach leaves x² ± 1 at last, right of its last kink. @param {number} n @param {number} reach */
export function leaves(n, reach) {
  const half = reach / n; // of a piece
  return reach - half + Math.sqrt(half * half + 1);
}

/** @param {any} state @param {any} data @param {number} half */
function holds(state, data, half) {
  const wire = wireFor(state, data);
  return wire !== null && fits(furthest(wire, targetOf(state), -1, 1), half);
}

/** @type {Record<string, (data: any) => any>} */
const STARTS = {
  square: ({ first }) => ({ n: 4, down: 0, net: first?.net ?? null, key: first ? "4 " : "", error: first?.error ?? "" }),
  draw: () => ({ heights: drawnAs("hills"), half: 0.1, n: 3, at: PENS / 2, net: null, key: "", error: "" }),
  ever: () => ({ n: 4, reach: 1, view: 2 }),
};

export const follow = {
  start: (/** @type {any} */ data) => STARTS[data.mode](data),
  goals: {
    thousandth: (/** @type {any} */ state, /** @type {any} */ data) => holds(state, data, data.half) && pieces(/** @type {Wire} */ (wireFor(state, data))),
    bill: (/** @type {any} */ state, /** @type {any} */ data) => !isPreset(state.heights) && state.n >= data.bill && state.n === needed(state.heights, state.half) && holds(state, data, state.half),
    beat: () => false,
    ever: () => false,
  },
  level: () => undefined,
  /** A curve of one's own has been followed; elsewhere every move is a try. @type {import("./runtime.js").Tries} */
  tries: (_goal, state, _before, data) => data.mode !== "draw" || (!isPreset(state.heights) && wireFor(state, data) !== null),

  /** @param {HTMLElement} place @param {import("./runtime.js").Play} play @returns {import("./runtime.js").Stage} */
  stage(place, play) {
    return { square, draw: drawing, ever }[/** @type {"square" | "draw" | "ever"} */ (play.data.mode)](place, play);
  },
};

/** Asks Python for the network of a state, one question at a time; what a notebook shows first is asked for by nobody. @param {import("./runtime.js").Play} play */
function asker(play) {
  let busy = false;
  let missed = "";
  /** @param {any} state */
  function request(state) {
    const key = keyOf(state);
    if (!play.data.asks || busy || state.key === key || missed === key) return;
    busy = true;
    play.ask("network", { n: state.n, heights: state.heights ? nodesOf(state) : null }).then(
      ({ value, error }) => {
        busy = false;
        play.move({ net: value ?? null, key, error: error ?? "" });
      },
      () => {
        busy = false;
        missed = key;
        request(play.state());
      },
    );
  }
  return request;
}

/** @param {any} state @param {any} data @param {number} half @returns {string} */
function described(state, data, half) {
  if (state.error) return `Your function ended with an error. ${state.error}`;
  const wire = wireFor(state, data);
  if (!wire) return state.key ? "Your function is at work." : "Draw a curve, or choose one. Then it is your function’s turn.";
  const gap = furthest(wire, targetOf(state), -1, 1);
  const neurons = data.asks ? state.net.w.length : state.n;
  const who = data.asks ? "Your function" : "The board";
  const enough = state.heights && state.n === SAMPLES ? ` This drawing consists of ${SAMPLES} straight strokes, so ${SAMPLES} pieces are always enough. Imagine a truly smooth one.` : "";
  const count = pieces(wire);
  const bought = state.heights ? "" : ` for ${plural(count, "piece")}`;
  const lower = state.down ? ` You have lowered the wire by ${number(state.down, 5)}.` : "";
  const used = `${who} uses ${plural(neurons, "neuron")}${bought}.${lower}${enough}`;
  if (fits(gap, half)) return `${used} The wire stays inside. It is ${Math.abs(gap.gap) < 5e-6 ? "exactly on the curve" : `off by ${number(Math.abs(gap.gap), 5)} at most`}, and the ribbon allows ${number(half, 3)}.`;
  return `${used} The wire is out: at x = ${number(gap.x)} it is ${number(Math.abs(gap.gap), 5)} too ${gap.gap > 0 ? "high" : "low"}, and the ribbon allows ${number(half, 3)}.`;
}

/** x² with n pieces, and the gap magnified. @param {HTMLElement} place @param {import("./runtime.js").Play} play @returns {import("./runtime.js").Stage} */
function square(place, play) {
  const { half } = play.data;
  const request = asker(play);
  const picture = element("div");
  const cuts = slider("pieces", 1, 64, 1, (n) => play.move({ n }), (n) => String(n));
  const down = slider("lower the wire by", 0, Math.round(DEEPEST / DOWN_STEP), 1, (step) => play.move({ down: step * DOWN_STEP }), (step) => number(step * DOWN_STEP, 5));
  place.append(picture, element("div", { class: "wr-hands" }, cuts.whole, down.whole));
  const [high, low, bottom] = [180, 214, 304];
  /** @type {(state: any) => void} */
  let update = () => {};

  /** @param {number} width */
  function build(width) {
    const svg = shape("svg", { class: "wr-picture", width, height: bottom + 6, viewBox: `0 0 ${width} ${bottom + 6}` });
    const above = frame([-1, 1, -0.06, 1.1], 8, width - 8, 4, high);
    const xs = spread(-1, 1, FINE);
    const squares = xs.map((x) => x * x);
    for (const x of [-1, 0, 1]) svg.append(shape("text", { class: "wr-tick", x: clamp(above.x(x), 14, width - 14), y: high + 14 }, number(x)));
    svg.append(shape("path", { class: "wr-target", d: path(above, xs, squares) }));
    const line = svg.appendChild(shape("path", { class: "wr-wire" }));
    const corners = svg.appendChild(shape("g"));
    svg.append(shape("text", { x: 8, y: low - 4 }, "wire minus x², magnified"));
    const band = svg.appendChild(shape("rect", { class: "wr-ribbon", x: 8, width: width - 16 }));
    const gaps = svg.appendChild(shape("path", { class: "wr-wire wr-thin" }));
    const off = svg.appendChild(shape("path", { class: "wr-off wr-thin" }));
    picture.replaceChildren(svg);
    return (/** @type {any} */ state) => {
      const wire = wireFor(state, play.data);
      svg.classList.toggle("wr-waits", !wire);
      if (!wire) return;
      const gap = Math.max(Math.abs(furthest(wire, "square", -1, 1).gap), half);
      const below = frame([-1, 1, -1.15 * gap, 1.15 * gap], 8, width - 8, low, bottom);
      const fine = spread(-1, 1, state.n * Math.max(8, Math.ceil(FINE / state.n)));
      const errors = fine.map((x) => heightAt(wire, x) - x * x);
      set(line, { d: path(above, wire.x, wire.y) });
      set(band, { y: below.y(half), height: Math.max(below.y(-half) - below.y(half), 1) });
      set(gaps, { d: path(below, fine, errors) });
      set(off, { d: outside(below, fine, errors, fine.map(() => 0), half) });
      const marks = state.n <= 16 ? wire.x.slice(1, -1) : [];
      corners.replaceChildren(...marks.map((x) => shape("circle", { r: 3.5, class: "wr-corner", cx: above.x(x), cy: above.y(heightAt(wire, x)) })));
    };
  }

  return {
    draw(state, before) {
      if (!before) update = build(place.clientWidth || 640);
      cuts.show(state.n);
      down.show(Math.round((state.down ?? 0) / DOWN_STEP));
      update(state);
      if (before) request(state);
    },
    words: (state) => described(state, play.data, half),
  };
}

/** A hand draws the curve, and the network follows. @param {HTMLElement} place @param {import("./runtime.js").Play} play @returns {import("./runtime.js").Stage} */
function drawing(place, play) {
  const request = asker(play);
  const names = Object.keys(SHAPES);
  const picture = element("div");
  /** The curve is left as it is, and the network has its turn. @param {any} change */
  const answer = (change) => {
    const state = { ...play.state(), ...change };
    play.move({ ...change, n: Math.min(needed(state.heights, state.half), SAMPLES) });
  };
  const curves = choice("Curve", names, (index) => answer({ heights: drawnAs(names[index]) }));
  const ribbons = choice("Ribbon", HALVES.map((half) => `± ${half}`), (index) => answer({ half: HALVES[index] }));
  const cuts = slider("pieces", 1, SAMPLES, 1, (n) => play.move({ n }), (n) => String(n));
  const turn = element("button", { type: "button", class: "wr-press wr-first", onclick: () => answer({}) }, "As many as it needs");
  place.append(picture, element("div", { class: "wr-hands" }, curves.whole, ribbons.whole), element("div", { class: "wr-hands" }, cuts.whole, turn));
  const tall = 270;
  /** @type {(state: any) => void} */
  let update = () => {};

  /** @param {number} width */
  function build(width) {
    const svg = shape("svg", { class: "wr-picture wr-paper", width, height: tall, viewBox: `0 0 ${width} ${tall}` });
    const at = frame([-1, 1, -TOP, TOP], 12, width - 12, 4, tall - 14);
    svg.append(shape("rect", { class: "wr-sheet", x: 0, y: 0, width, height: tall - 10, rx: 8 }));
    const group = clipped(svg, { ...at, left: 0, right: width });
    const band = group.appendChild(shape("path", { class: "wr-ribbon" }));
    const curve = group.appendChild(shape("path", { class: "wr-target" }));
    const line = group.appendChild(shape("path", { class: "wr-wire" }));
    const off = group.appendChild(shape("path", { class: "wr-off" }));
    const ticks = svg.appendChild(shape("path", { class: "wr-kinks" }));
    const sample = (/** @type {number} */ pixel) => clamp(Math.round(((at.atX(pixel) + 1) / 2) * SAMPLES), 0, SAMPLES);
    const height = (/** @type {number} */ pixel) => clamp(Math.round(1000 * at.atY(pixel)) / 1000, -1, 1);
    /** @type {{index: number, y: number} | null} */
    let last = null;
    let [least, most] = [0, SAMPLES]; // from where to where this curve has been drawn: beyond, it goes on level
    /** From where the pen was to where it is, without a gap. @param {number} x @param {number} y */
    function stroke(x, y) {
      const here = { index: sample(x), y: height(y) };
      const from = last ?? here;
      const heights = [...play.state().heights];
      const steps = Math.max(Math.abs(here.index - from.index), 1);
      for (let n = 0; n <= steps; n++) {
        const share = n / steps;
        heights[Math.round(from.index + share * (here.index - from.index))] = from.y + share * (here.y - from.y);
      }
      last = here;
      [least, most] = [Math.min(least, here.index), Math.max(most, here.index)];
      play.move({ heights: heights.map((y, n) => (n < least ? heights[least] : n > most ? heights[most] : y)) });
    }
    svg.addEventListener("pointerdown", (event) => {
      if (/** @type {Element} */ (event.target).closest(".wr-knob")) return;
      svg.setPointerCapture(event.pointerId);
      event.preventDefault();
      last = null;
      if (isPreset(play.state().heights)) least = most = sample(event.offsetX); // a curve of one's own begins on an empty sheet
      stroke(event.offsetX, event.offsetY);
    });
    svg.addEventListener("pointermove", (event) => {
      if (!last) return;
      const box = svg.getBoundingClientRect();
      stroke(event.clientX - box.left, event.clientY - box.top);
    });
    for (const end of ["pointerup", "pointercancel"])
      svg.addEventListener(end, () => {
        if (last) answer({});
        last = null;
      });
    /** @param {number} up */
    function raise(up) {
      const state = play.state();
      const middle = Math.round((state.at / PENS) * SAMPLES);
      const lifted = (/** @type {number} */ y, /** @type {number} */ n) => y + up * LIFT * Math.max(0, 1 - Math.abs(n - middle) / BUMP);
      answer({ heights: state.heights.map((/** @type {number} */ y, /** @type {number} */ n) => clamp(Math.round(1000 * lifted(y, n)) / 1000, -1, 1)) });
    }
    const pen = knob(svg, {
      label: "the pen: left and right move it, up and down bend the curve", className: "wr-pen", way: "up", low: -1, high: 1,
      drag: (x, y) => {
        const middle = sample(x);
        answer({ at: Math.round((middle / SAMPLES) * PENS), heights: play.state().heights.map((/** @type {number} */ old, /** @type {number} */ n) => (n === middle ? height(y) : old)) });
      },
      key: (across, up) => {
        if (up) raise(up);
        else play.move({ at: clamp(play.state().at + across, 0, PENS) });
      },
    });
    picture.replaceChildren(svg);
    return (/** @type {any} */ state) => {
      set(band, { d: ribbon(at, PLACES, state.heights, state.half) });
      set(curve, { d: path(at, PLACES, state.heights) });
      const x = -1 + (2 * state.at) / PENS;
      const y = targetAt(targetOf(state), x);
      pen(at.x(x), at.y(y), y, `x = ${number(x)}, height ${number(y)}`);
      const wire = wireFor(state, play.data);
      svg.classList.toggle("wr-waits", !wire);
      if (!wire) return;
      const xs = [...new Set([...PLACES, ...wire.x])].sort((a, b) => a - b);
      const ys = xs.map((x) => heightAt(wire, x));
      set(line, { d: path(at, wire.x, wire.y) });
      set(off, { d: outside(at, xs, ys, xs.map((x) => targetAt(targetOf(state), x)), state.half) });
      set(ticks, { d: wire.x.slice(0, -1).map((x) => `M${at.x(x).toFixed(1)} ${tall - 8}v8`).join("") });
    };
  }

  return {
    draw(state, before) {
      if (!before) update = build(place.clientWidth || 640);
      curves.show(names.findIndex((name) => drawnAs(name).join() === state.heights.join()));
      ribbons.show(HALVES.indexOf(state.half));
      cuts.show(state.n);
      update(state);
      if (before) request(state);
    },
    words: (state) => described(state, play.data, state.half),
  };
}

/** x² ± 1 without an end. @param {HTMLElement} place @param {import("./runtime.js").Play} play @returns {import("./runtime.js").Stage} */
function ever(place, play) {
  const picture = element("div");
  const neurons = slider("neurons", 1, 64, 1, (n) => play.move({ n }), (n) => String(n));
  const reach = slider("kinks as far out as", 1, 20, 0.5, (value) => play.move({ reach: value }), (value) => `±${number(value)}`);
  const view = slider("view", 2, 100, 1, (value) => play.move({ view: value }), (value) => `±${value}`);
  place.append(picture, element("div", { class: "wr-hands" }, neurons.whole, reach.whole, view.whole));
  const tall = 250;
  /** @type {(state: any) => void} */
  let update = () => {};

  /** @param {number} width */
  function build(width) {
    const svg = shape("svg", { class: "wr-picture", width, height: tall, viewBox: `0 0 ${width} ${tall}` });
    const edge = frame([0, 1, 0, 1], 8, width - 8, 6, tall - 22);
    const group = clipped(svg, edge);
    const band = group.appendChild(shape("path", { class: "wr-ribbon" }));
    const line = group.appendChild(shape("path", { class: "wr-wire" }));
    const off = group.appendChild(shape("path", { class: "wr-off" }));
    const marks = ["start", "middle", "end"].map((anchor, n) => svg.appendChild(shape("text", { x: [8, width / 2, width - 8][n], y: tall - 6, "text-anchor": anchor })));
    const top = svg.appendChild(shape("text", { class: "wr-tick", x: width / 2, y: 18 }));
    picture.replaceChildren(svg);
    return (/** @type {any} */ state) => {
      const far = state.view;
      const at = frame([-far, far, -0.04 * far * far - 1, far * far + 1], 8, width - 8, 6, tall - 22);
      const built = chords("square", state.n, -state.reach, state.reach);
      const slope = 2 * state.reach - (2 * state.reach) / state.n;
      const end = Math.max(far, state.reach + 1);
      const wire = {
        x: [-end, ...built.x, end],
        y: [built.y[0], ...built.y, state.reach ** 2 + slope * (end - state.reach)],
      };
      const xs = [...new Set([...spread(-far, far, FINE), ...built.x.filter((x) => Math.abs(x) < far)])].sort((a, b) => a - b);
      const ys = xs.map((x) => heightAt(wire, x));
      const squares = xs.map((x) => x * x);
      set(band, { d: ribbon(at, xs, squares, 1) });
      set(line, { d: path(at, wire.x, wire.y) });
      set(off, { d: outside(at, xs, ys, squares, 1) });
      marks.forEach((mark, n) => (mark.textContent = number([-far, 0, far][n])));
      top.textContent = `up to ${wholeNumber(far * far)}`;
    };
  }

  return {
    draw(state, before) {
      if (!before) update = build(place.clientWidth || 640);
      neurons.show(state.n);
      reach.show(state.reach);
      view.show(state.view);
      update(state);
    },
    words(state) {
      const inside = (state.reach / state.n) ** 2;
      const last = `The ${state.n === 1 ? "only" : "last"} kink is at x = ${number(state.reach - (2 * state.reach) / state.n)}.`;
      const where = state.n === 1 ? "Right of it" : "Between two kinks";
      if (inside > 1) return `${last} ${where} the wire is up to ${number(inside)} too high, and the ribbon allows 1. More neurons would help there.`;
      return `${last} On the right the wire leaves the ribbon at x = ${number(leaves(state.n, state.reach))}.`;
    },
  };
}
