// @ts-check
// Wire and ribbon: a network of a few ReLU neurons, and the hand that moves its kinks and its slopes until its output stays inside a ribbon.
import { choice, clamp, clipped, frame, knob, outside, path, ribbon, set, shape, spread } from "./marks.js";
import { element, number } from "./runtime.js";
import { fits, furthest, heightAt, output, targetAt, wireOf } from "./wire_model.js";

/** @typedef {{k: number, v: number, s: number}} Neuron  its kink, its strength, and the side on which it slopes: 1 right, -1 left */
/** @typedef {{c: number, neurons: Neuron[]}} Hand  what a hand has set: the height of the wire, and its neurons */
/** @typedef {{name: string, title: string, bend: boolean, target: import("./wire_model.js").Target, half: number, x: number[], y: number[], snap: number, most: number, reach: number, start: Hand}} Level */

const [HIGH, LOW, RAIL] = [180, 96, 25]; // of the wire's picture, of the neurons', and of the rail on which a kink moves, in pixels
const [LEFT, RIGHT] = [26, 14]; // margins
const BEYOND = 0.12; // how much is drawn beyond the ribbon, as a share of its length
const FINE = 480; // places at which the wire is looked at, for what is drawn of it outside of the ribbon
const SMOOTH = 80; // straight bits of which a round ribbon is drawn

/** @param {Hand} hand @returns {import("./wire_model.js").Net} */
export const netOf = ({ c, neurons }) => ({ w: neurons.map(({ s }) => s), b: neurons.map(({ s, k }) => -s * k), v: neurons.map(({ v }) => v), c });

/** Where the wire of a hand is furthest from the target. @param {Level} level @param {Hand} hand */
export const worst = (level, hand) => furthest(wireOf(netOf(hand), level.x[0], level.x[1], level.bend), level.target, level.x[0], level.x[1]);

/** How many neurons are used where the wire is inside the ribbon, and false where it is not. @param {Level} level @param {Hand} hand */
export const used = (level, hand) => fits(worst(level, hand), level.half) && hand.neurons.filter(({ v }) => v).length;

/** One goal for each level, called as it is. @param {string} name */
function goal(name) {
  return (/** @type {any} */ state, /** @type {any} */ data) => {
    const level = data.levels[state.level];
    if (level.name !== name) return false;
    const neurons = used(level, state.hands[state.level]);
    return level.counts ? neurons : neurons !== false;
  };
}

/** @param {Neuron} neuron @param {boolean} bend */
function term({ k, v, s }, bend) {
  const shift = k ? ` ${k > 0 === s > 0 ? "−" : "+"} ${number(Math.abs(k))}` : "";
  return bend || shift ? `${number(Math.abs(v))}·${bend ? "relu" : ""}(${s > 0 ? "x" : "−x"}${shift})` : `${number(Math.abs(v))}·x`;
}

export const hand = {
  start: (/** @type {any} */ data) => ({ level: 0, hands: data.levels.map((/** @type {Level} */ { start }) => start) }),
  goals: Object.fromEntries(["straight", "valley", "tent", "zigzag", "arch"].map((name) => [name, goal(name)])),

  level: (/** @type {any} */ state, /** @type {any} */ data) => data.levels[state.level].name,
  /** A knob of the goal's own level has been moved. @type {import("./runtime.js").Tries} */
  tries: (goal, state, before, data) => data.levels[state.level].name === goal && state.hands !== before.hands,

  /** @param {HTMLElement} place @param {import("./runtime.js").Play} play @returns {import("./runtime.js").Stage} */
  stage(place, play) {
    /** @type {Level[]} */
    const levels = play.data.levels;
    const tabs = choice("Level", levels.map(({ title }) => title), (level) => play.move({ level }));
    const picture = element("div");
    const formula = element("div", { class: "wr-formula" });
    place.append(...(levels.length > 1 ? [tabs.whole] : []), picture, formula);
    /** @type {(state: any) => void} */
    let update = () => {};

    /** @param {any} state @param {Partial<Hand>} change */
    const move = (state, change) => play.move({ hands: state.hands.map((/** @type {Hand} */ hand, /** @type {number} */ n) => (n === state.level ? { ...hand, ...change } : hand)) });
    /** @param {number} j @param {(neuron: Neuron) => Partial<Neuron>} change */
    function turn(j, change) {
      const state = play.state();
      const { neurons } = state.hands[state.level];
      move(state, { neurons: neurons.map((/** @type {Neuron} */ neuron, /** @type {number} */ n) => (n === j ? { ...neuron, ...change(neuron) } : neuron)) });
    }

    /** @param {number} which @param {number} width */
    function build(which, width) {
      const level = levels[which];
      const { bend, half, snap, most, reach } = level;
      const [x0, x1] = level.x;
      const margin = BEYOND * (x1 - x0);
      const neurons = level.start.neurons;
      const low = HIGH + 24;
      const rails = low + LOW + 6;
      const tall = rails + RAIL * neurons.length + 4;
      const svg = shape("svg", { class: "wr-picture", width, height: tall, viewBox: `0 0 ${width} ${tall}` });
      const wide = [LEFT, width - RIGHT];
      const above = frame([x0 - margin, x1 + margin, level.y[0], level.y[1]], wide[0], wide[1], 4, HIGH);
      const lean = 1.18 * most * reach * (1 + 0.3 * (neurons.length - 1));
      const below = frame([x0 - margin, x1 + margin, -lean, lean], wide[0], wide[1], low, low + LOW);
      const hold = (/** @type {number} */ value, /** @type {number} */ from, /** @type {number} */ to) => clamp(Math.round(value / snap) * snap, from, to);
      const inside = spread(x0, x1, FINE);
      const targets = inside.map((x) => targetAt(level.target, x));
      const bends = level.target === "square" ? spread(x0, x1, SMOOTH) : level.target.x; // where the ribbon is drawn from

      for (const x of [x0, (x0 + x1) / 2, x1]) svg.append(shape("text", { class: "wr-tick", x: above.x(x), y: HIGH + 15 }, number(x)));
      for (const at of [above, below]) svg.append(shape("line", { class: "wr-axis", x1: wide[0], x2: wide[1], y1: at.y(0), y2: at.y(0) }));
      const upper = clipped(svg, above);
      const lower = clipped(svg, below);
      upper.append(shape("path", { class: "wr-ribbon", d: ribbon(above, bends, bends.map((x) => targetAt(level.target, x)), half) }));
      const wire = upper.appendChild(shape("path", { class: "wr-wire" }));
      const off = upper.appendChild(shape("path", { class: "wr-off" }));
      const corners = bend ? neurons.map((_, j) => upper.appendChild(shape("circle", { r: 4.5, class: `wr-corner wr-u${j + 1}` }))) : [];
      const lines = neurons.map((_, j) => lower.appendChild(shape("path", { class: `wr-neuron wr-u${j + 1}` })));
      const threads = neurons.map((_, j) => svg.appendChild(shape("line", { class: `wr-thread wr-u${j + 1}`, y1: below.y(0) })));
      neurons.forEach((_, j) => {
        const y = rails + RAIL * (j + 0.5);
        svg.append(shape("line", { class: "wr-rail", x1: wide[0], x2: wide[1], y1: y, y2: y }));
      });
      const strength = (/** @type {number} */ j) => reach * (1 + 0.3 * j); // so that no two knobs are in one place
      const rings = neurons.map((_, j) =>
        knob(svg, {
          label: bend ? `strength of neuron ${j + 1}` : `slope of line ${j + 1}`, className: `wr-ring wr-u${j + 1}`, way: "up", low: -most, high: most,
          drag: (_x, y) => turn(j, () => ({ v: hold(below.atY(y) / strength(j), -most, most) })),
          key: (across, up) => turn(j, ({ v }) => ({ v: hold(v + (across + up) * snap, -most, most) })),
        }),
      );
      const dots = neurons.map((_, j) =>
        knob(svg, {
          label: bend ? `kink of neuron ${j + 1}` : `where line ${j + 1} crosses zero`, className: `wr-kink wr-u${j + 1}`, way: "across", low: x0 - margin, high: x1 + margin,
          drag: (x) => turn(j, () => ({ k: hold(above.atX(x), x0, x1) })),
          key: (across, up) => turn(j, ({ k }) => ({ k: hold(k + (across + up) * snap, x0, x1) })),
        }),
      );
      const lift = knob(svg, {
        label: "height of the whole wire", className: "wr-lift", way: "up", low: level.y[0], high: level.y[1],
        drag: (_x, y) => move(play.state(), { c: hold(above.atY(y), level.y[0], level.y[1]) }),
        key: (across, up) => {
          const state = play.state();
          move(state, { c: hold(state.hands[state.level].c + (across + up) * snap, level.y[0], level.y[1]) });
        },
      });
      const terms = neurons.map((_, j) =>
        bend
          ? element("button", { type: "button", class: `wr-term wr-u${j + 1}`, onclick: () => turn(j, ({ s }) => ({ s: -s })) })
          : element("span", { class: `wr-term wr-u${j + 1}` }),
      );
      const constant = element("span");
      const signs = neurons.map(() => element("span"));
      formula.replaceChildren("y = ", constant, ...terms.flatMap((one, j) => [signs[j], one]));
      picture.replaceChildren(svg);

      return (/** @type {any} */ state) => {
        const hand = state.hands[which];
        const net = netOf(hand);
        const drawn = wireOf(net, x0 - margin, x1 + margin, bend);
        set(wire, { d: path(above, drawn.x, drawn.y) });
        set(off, { d: outside(above, inside, inside.map((x) => heightAt(drawn, x)), targets, half) });
        hand.neurons.forEach((/** @type {Neuron} */ neuron, /** @type {number} */ j) => {
          const own = { w: [net.w[j]], b: [net.b[j]], v: [neuron.v], c: 0 };
          const line = wireOf(own, x0 - margin, x1 + margin, bend);
          set(lines[j], { d: path(below, line.x, line.y) });
          if (corners[j]) set(corners[j], { cx: above.x(neuron.k), cy: above.y(output(net, neuron.k)), opacity: neuron.v ? 1 : 0 });
          const rail = rails + RAIL * (j + 0.5);
          set(threads[j], { x1: above.x(neuron.k), x2: above.x(neuron.k), y2: rail });
          dots[j](above.x(neuron.k), rail, neuron.k, `x = ${number(neuron.k)}`);
          const x = clamp(below.x(neuron.k + neuron.s * strength(j)), 14, width - 14);
          rings[j](x, below.y(neuron.v * neuron.s * (below.atX(x) - neuron.k)), neuron.v, number(neuron.v));
          const said = term(neuron, bend);
          signs[j].textContent = neuron.v < 0 ? " − " : " + ";
          terms[j].textContent = said;
          if (bend) terms[j].setAttribute("aria-label", `neuron ${j + 1}, ${neuron.v < 0 ? "minus " : ""}${said.replaceAll("−", "minus ")}: turn it round`);
        });
        lift(LEFT - 12, above.y(hand.c), hand.c, number(hand.c));
        constant.textContent = number(hand.c);
      };
    }

    return {
      draw(state, before) {
        if (!before || before.level !== state.level) update = build(state.level, place.clientWidth || 640);
        tabs.show(state.level);
        update(state);
      },
      words(state) {
        const level = levels[state.level];
        const gap = worst(level, state.hands[state.level]);
        if (fits(gap, level.half)) return "The wire is inside the ribbon all the way.";
        return `The wire leaves the ribbon. It is furthest out at x = ${number(gap.x)}: ${number(Math.abs(gap.gap))} too ${gap.gap > 0 ? "high" : "low"}, and the ribbon allows ${number(level.half, 3)}.`;
      },
    };
  },
};
