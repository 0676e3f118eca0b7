// @ts-check
// Gradient descent moves one neuron, act(w·x + b), towards seventeen dots. A step that is too large kills it.
import { choice, clipped, frame, path, ribbon, set, shape, slider, spread } from "./marks.js";
import { element, number, plural, powerOfTen } from "./runtime.js";

/** @typedef {{w: number, b: number}} Neuron */

const RATES = [0.05, 0.1, 0.2, 0.4, 0.6, 0.8, 1, 1.5, 2, 3];
const DOTS = spread(-2, 2, 16);
const HALF = 0.35; // of the ribbon's width
const FAR = 1e6; // what grows beyond this is left as it is
const FINE = 480;

/** Where the dots are. @param {number} x */
const wanted = (x) => Math.max(x - 0.5, 0);

/** The complementary error function; its relative error is below 1.2e-7, far out as well (Press and others, Numerical Recipes, erfcc). @param {number} x */
function erfc(x) {
  const size = Math.abs(x);
  const t = 1 / (1 + 0.5 * size);
  const series = [-1.26551223, 1.00002368, 0.37409196, 0.09678418, -0.18628806, 0.27886807, -1.13520398, 1.48851587, -0.82215223, 0.17087277];
  const value = t * Math.exp(-size * size + series.reduceRight((sum, number) => sum * t + number, 0));
  return x >= 0 ? value : 2 - value;
}
const below = (/** @type {number} */ z) => 0.5 * erfc(-z / Math.SQRT2); // the share of standard normal numbers below z
const sigmoid = (/** @type {number} */ z) => 1 / (1 + Math.exp(-z));

/** Value and slope of each activation. @type {Record<string, (z: number) => [number, number]>} */
const ACTIVATIONS = {
  ReLU: (z) => [Math.max(z, 0), z > 0 ? 1 : 0],
  GELU: (z) => [z * below(z), below(z) + (z * Math.exp((-z * z) / 2)) / Math.sqrt(2 * Math.PI)],
  SiLU: (z) => [z * sigmoid(z), sigmoid(z) * (1 + z * (1 - sigmoid(z)))],
};

/** The mean squared error at the dots, its gradient, and at how many of them the sum is above zero and the wire inside the ribbon. @param {string} name @param {Neuron} neuron */
export function gradient(name, { w, b }) {
  const found = { w: 0, b: 0, loss: 0, above: 0, inside: 0 };
  for (const x of DOTS) {
    const z = w * x + b;
    const [value, slope] = ACTIVATIONS[name](z);
    const error = value - wanted(x);
    found.w += (2 * error * slope * x) / DOTS.length;
    found.b += (2 * error * slope) / DOTS.length;
    found.loss += error ** 2 / DOTS.length;
    found.above += Number(z > 0);
    found.inside += Number(Math.abs(error) <= HALF);
  }
  return found;
}

/** The neuron after some steps. @param {string} name @param {Neuron} neuron @param {number} rate @param {number} steps @returns {Neuron} */
export function descend(name, neuron, rate, steps) {
  let { w, b } = neuron;
  for (let n = 0; n < steps && Math.abs(w) < FAR && Math.abs(b) < FAR; n++) {
    const found = gradient(name, { w, b });
    [w, b] = [w - rate * found.w, b - rate * found.b];
  }
  return { w, b };
}

/** A gradient for people: small ones as powers of ten. @param {number} value */
function small(value) {
  if (value === 0) return "exactly 0";
  if (Math.abs(value) >= 0.001) return number(value, 3);
  return powerOfTen(value);
}

/** @param {any} state @param {any} data */
const look = (state, data) => gradient(data.acts[state.act], state);

export const descent = {
  start: (/** @type {any} */ data) => ({ act: 0, rate: RATES.indexOf(data.rate), from: 0, ...data.starts[0], steps: 0 }),
  goals: {
    fit: (/** @type {any} */ state, /** @type {any} */ data) => state.steps > 0 && look(state, data).inside === DOTS.length,
    kill: (/** @type {any} */ state, /** @type {any} */ data) => state.steps === 1 && look(state, data).above === 0,
    wake: () => false,
    soft: (/** @type {any} */ state, /** @type {any} */ data) => state.steps > 0 && look(state, data).inside === DOTS.length,
    lost: (/** @type {any} */ state, /** @type {any} */ data) => data.acts[state.act] === "GELU" && state.from === 0 && state.steps >= 100 && look(state, data).above === 0,
    buried: (/** @type {any} */ state, /** @type {any} */ data) => data.acts[state.act] !== "ReLU" && state.from === 1 && state.steps >= 1000,
  },

  level: (/** @type {any} */ state) => `${state.act} ${state.from} ${state.steps > 0}`, // a new neuron is another level
  /** A neuron that was silent at every dot has taken a step. @type {import("./runtime.js").Tries} */
  tries: (_goal, state, before, data) => state.steps > before.steps && look(before, data).above === 0,

  /** @param {HTMLElement} place @param {import("./runtime.js").Play} play @returns {import("./runtime.js").Stage} */
  stage(place, play) {
    const { acts, starts } = play.data;
    const back = (/** @type {any} */ change) => {
      const state = { ...play.state(), ...change };
      play.move({ ...change, ...starts[state.from], steps: 0 });
    };
    const step = (/** @type {number} */ steps) => {
      const state = play.state();
      play.move({ ...descend(acts[state.act], /** @type {any} */ (state), RATES[state.rate], steps), steps: state.steps + steps });
    };
    const kinds = choice("Activation", acts, (act) => back({ act }));
    const depths = choice("Start", starts.map((/** @type {Neuron} */ { b }) => `start at b = ${number(b)}`), (from) => back({ from }));
    const rate = slider("learning rate", 0, RATES.length - 1, 1, (index) => play.move({ rate: index }), (index) => number(RATES[index]));
    const press = (/** @type {number} */ steps) =>
      element("button", { type: "button", class: `wr-press ${steps === 1 ? "wr-first" : ""}`, onclick: () => step(steps) }, plural(steps, "step"));
    const anew = element("button", { type: "button", class: "wr-press", onclick: () => back({}) }, "New neuron");
    const picture = element("div");
    const tall = 250;
    const gauges = ["w", "b"].map((name) => {
      const value = element("output", { class: "wr-value" });
      const bar = element("span", { class: "wr-bar" });
      return { name, value, bar, whole: element("div", { class: "wr-gauge" }, value, element("span", { class: "wr-bed" }, bar)) };
    });
    if (acts.length > 1) place.append(element("div", { class: "wr-hands wr-above" }, kinds.whole, depths.whole));
    place.append(picture, element("div", { class: "wr-gauges" }, ...gauges.map(({ whole }) => whole)), element("div", { class: "wr-hands" }, rate.whole, press(1), press(10), press(100), anew));
    /** @type {(state: any) => void} */
    let update = () => {};

    /** @param {number} width */
    function build(width) {
      const svg = shape("svg", { class: "wr-picture", width, height: tall, viewBox: `0 0 ${width} ${tall}` });
      const at = frame([-2.3, 2.3, -0.75, 2.6], 8, width - 8, 4, tall - 18);
      const xs = spread(-2.3, 2.3, FINE);
      const inner = [-2, 0.5, 2];
      for (const x of [-2, 0, 2]) svg.append(shape("text", { class: "wr-tick", x: at.x(x), y: tall - 4 }, number(x)));
      const group = clipped(svg, at);
      group.append(shape("path", { class: "wr-ribbon", d: ribbon(at, inner, inner.map(wanted), HALF) }), shape("line", { class: "wr-axis", x1: at.left, x2: at.right, y1: at.y(0), y2: at.y(0) }));
      const line = group.appendChild(shape("path", { class: "wr-wire wr-moves" }));
      const dots = DOTS.map((x) => svg.appendChild(shape("circle", { r: 5, cx: at.x(x), cy: at.y(wanted(x)) })));
      picture.replaceChildren(svg);
      return (/** @type {any} */ state) => {
        const act = ACTIVATIONS[acts[state.act]];
        const value = (/** @type {number} */ x) => act(state.w * x + state.b)[0];
        set(line, { d: path(at, xs, xs.map(value)) });
        dots.forEach((dot, n) => set(dot, { class: Math.abs(value(DOTS[n]) - wanted(DOTS[n])) <= HALF ? "wr-hits" : "wr-misses" }));
      };
    }

    return {
      draw(state, before) {
        if (!before) update = build(place.clientWidth || 640);
        kinds.show(state.act);
        depths.show(state.from);
        rate.show(state.rate);
        update(state);
        const found = look(state, play.data);
        for (const { name, value, bar } of gauges) {
          const slope = found[/** @type {"w" | "b"} */ (name)];
          value.textContent = `${name} = ${number(state[name])}, gradient ${small(slope)}`;
          bar.style.width = `${Math.min(50, 30 * Math.abs(slope))}%`;
          bar.style.left = slope < 0 ? `${50 - Math.min(50, 30 * Math.abs(slope))}%` : "50%";
        }
      },
      words(state) {
        const found = look(state, play.data);
        const steps = state.steps ? `After ${plural(state.steps, "step")}` : "Before the first step";
        const fires = found.above ? `at ${found.above} of the ${DOTS.length} dots` : "at no dot";
        const gone = found.w === 0 && found.b === 0 ? " Both gradients are exactly 0." : "";
        return `${steps} the sum w·x + b is above zero ${fires}, and the wire is inside the ribbon at ${found.inside} of the ${DOTS.length} dots.${gone}`;
      },
    };
  },
};
