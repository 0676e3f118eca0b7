// @ts-check
// A deep ReLU network of one input, layer by layer: |x| and tents of tents, or the reader's own. Behind a fold one neuron makes many kinks.
import { choice, clamp, clipped, frame, outside, path, set, shape, slider, spread } from "./marks.js";
import { element, number, plural } from "./runtime.js";
import { fits, furthest, heightAt, kinksOf, passThrough, pieces } from "./wire_model.js";

/** @typedef {import("./wire_model.js").Layer} Layer */
/** @typedef {import("./wire_model.js").Passed} Passed */

const [HIGH, LOW, BOTTOM] = [210, 262, 326]; // where the upper picture ends, and where the magnified gap begins and ends, in pixels
const FINE = 1920; // bits of which the gap is drawn
const COLOURS = ["--s1", "--s2", "--s3", "--s4", "--s5", "--s6", "--s7", "--s8"]; // neurons beyond are drawn in the same ones again

/** @type {WeakMap<Layer[], Passed[]>} */
const known = new WeakMap();

/** What each layer of a network makes of the numbers from −1 to 1. @param {Layer[]} layers */
function passed(layers) {
  const found = known.get(layers) ?? passThrough(layers, -1, 1);
  known.set(layers, found);
  return found;
}

/** The network that is looked at; null while the reader's own has not come. @param {any} state @param {any} data @returns {Layer[] | null} */
const shown = (state, data) => (state.own ? state.net : state.gap ? data.fold : data.tents);

/** The neurons of the first layers. @param {Layer[]} layers @param {number} count */
const neuronsIn = (layers, count) => layers.slice(0, count).reduce((sum, { b }) => sum + b.length, 0);

/** The line that comes out at the end. @param {Layer[]} layers @returns {import("./wire_model.js").Wire} */
function wireFrom(layers) {
  const { x, ys } = passed(layers)[layers.length - 1];
  return { x, y: ys[0] };
}

/** How many neurons the reader's network has, where it is deep and near enough; false elsewhere. @param {any} state @param {any} data */
function near(state, data) {
  if (!state.own || !state.net || state.net.length < 3) return false;
  return fits(furthest(wireFrom(state.net), "square", -1, 1), data.half) && neuronsIn(state.net, state.net.length - 1);
}

export const layers = {
  start: () => ({ own: false, gap: false, layer: 1, net: null, error: "" }),
  goals: {
    folds: (/** @type {any} */ state, /** @type {any} */ data) => !state.own && !state.gap && state.layer >= data.tents.length - 1,
    deep: near,
  },
  level: () => undefined,
  tries: () => true,

  /** @param {HTMLElement} place @param {import("./runtime.js").Play} play @returns {import("./runtime.js").Stage} */
  stage(place, play) {
    const picture = element("div");
    let busy = false;
    /** Asks Python for what the reader's cell holds now. */
    function ask() {
      play.move({ own: true, gap: false, layer: 1 });
      if (busy) return;
      busy = true;
      play.ask("network", null).then(
        ({ value, error }) => {
          busy = false;
          play.move({ net: value ?? null, error: error ?? "", layer: value ? value.length : 1 });
        },
        () => {
          busy = false;
        },
      );
    }
    const looks = [
      () => play.move({ own: false, gap: false, layer: 1 }),
      () => play.move({ own: false, gap: true, layer: play.data.fold.length }), // its output, below which the gap is drawn
      ask,
    ];
    const whose = choice("Network", ["|x| and three tents", "|x|, and its gap", "your network"], (index) => looks[index]());
    const step = slider("layer", 1, 2, 1, (layer) => play.move({ layer }), (layer) => named(layer));
    const input = /** @type {HTMLInputElement} */ (step.whole.querySelector("input"));
    /** @param {number} layer */
    function named(layer) {
      const net = shown(play.state(), play.data);
      return net && layer >= net.length ? "output" : String(layer);
    }
    place.append(element("div", { class: "wr-hands wr-above" }, whose.whole, step.whole), picture);
    /** @type {(state: any) => void} */
    let update = () => {};

    /** @param {number} width */
    function build(width) {
      const svg = shape("svg", { class: "wr-picture", width, height: BOTTOM + 6, viewBox: `0 0 ${width} ${BOTTOM + 6}` });
      const edge = frame([-1, 1, 0, 1], 8, width - 8, 6, HIGH);
      for (const x of [-1, 0, 1]) svg.append(shape("text", { class: "wr-tick", x: clamp(edge.x(x), 14, width - 14), y: HIGH + 22 }, number(x)));
      const axis = svg.appendChild(shape("line", { class: "wr-axis", x1: 8, x2: width - 8 }));
      const upper = clipped(svg, frame([-1, 1, 0, 1], 4, width - 4, 2, HIGH + 4));
      const ticks = svg.appendChild(shape("path", { class: "wr-kinks" }));
      const below = svg.appendChild(shape("g"));
      picture.replaceChildren(svg);
      const fine = spread(-1, 1, FINE);

      /** The wire and x², and the gap between the two. @param {Layer[]} net @param {import("./wire_model.js").Frame} at */
      function target(net, at) {
        const wire = wireFrom(net);
        const squares = spread(-1, 1, 120);
        upper.prepend(shape("path", { class: "wr-target", d: path(at, squares, squares.map((x) => x * x)) }));
        const errors = fine.map((x) => heightAt(wire, x) - x * x);
        const gap = Math.max(Math.abs(furthest(wire, "square", -1, 1).gap), play.data.half);
        const lens = frame([-1, 1, -1.15 * gap, 1.15 * gap], 8, width - 8, LOW, BOTTOM);
        below.append(
          shape("text", { x: 8, y: LOW - 4 }, "wire minus x², magnified"),
          shape("rect", { class: "wr-ribbon", x: 8, width: width - 16, y: lens.y(play.data.half), height: Math.max(lens.y(-play.data.half) - lens.y(play.data.half), 1) }),
          shape("path", { class: "wr-wire wr-thin", d: path(lens, fine, errors) }),
          shape("path", { class: "wr-off wr-thin", d: outside(lens, fine, errors, fine.map(() => 0), play.data.half) }),
        );
      }

      return (/** @type {any} */ state) => {
        upper.replaceChildren();
        below.replaceChildren();
        const net = shown(state, play.data);
        if (!net) return set(ticks, { d: "" });
        const last = state.layer >= net.length;
        const { x, ys } = passed(net)[Math.min(state.layer, net.length) - 1];
        const heights = ys.flat();
        const [least, most] = [Math.min(0, ...heights), Math.max(0.001, ...heights)];
        const at = frame([-1, 1, least - 0.04 * (most - least), most + 0.04 * (most - least)], 8, width - 8, 6, HIGH);
        set(axis, { y1: at.y(0), y2: at.y(0) });
        ys.forEach((/** @type {number[]} */ y, /** @type {number} */ j) => {
          const look = last ? "wr-wire" : "wr-neuron";
          upper.append(shape("path", { class: look, style: last ? "" : `--mine: var(${COLOURS[j % COLOURS.length]})`, d: path(at, x, y) }));
        });
        set(ticks, { d: kinksOf(passed(net)[Math.min(state.layer, net.length) - 1]).map((/** @type {number} */ kink) => `M${edge.x(kink).toFixed(1)} ${HIGH}v8`).join("") });
        if (last && (state.own || state.gap)) target(net, at);
      };
    }

    return {
      draw(state, before) {
        if (!before) update = build(place.clientWidth || 640);
        const net = shown(state, play.data);
        whose.show(state.own ? 2 : Number(state.gap));
        input.max = String(net ? net.length : 1);
        step.show(state.layer);
        step.whole.hidden = !net;
        update(state);
      },
      words: (state) => described(state, play.data),
    };
  },
};

/** @param {any} state @param {any} data @returns {string} */
function described(state, data) {
  if (state.own && state.error) return state.error.replace(/^\w+: /, "");
  const net = shown(state, data);
  if (!net) return "Your network has not come yet. Run its cell, then press again.";
  const all = neuronsIn(net, net.length - 1);
  if (state.layer < net.length) {
    const kinks = kinksOf(passed(net)[state.layer - 1]).length;
    const made = state.layer === 1 ? "They make" : `With all before it that is ${neuronsIn(net, state.layer)}, and they make`;
    return `Layer ${state.layer} has ${plural(net[state.layer - 1].b.length, "neuron")}. ${made} ${plural(kinks, "kink")}.`;
  }
  const wire = wireFrom(net);
  const count = `The wire has ${plural(pieces(wire), "piece")}, from ${plural(all, "neuron")} in ${plural(net.length - 1, "hidden layer")}.`;
  if (!state.own && !state.gap) return `${count} In one layer, ${plural(all, "neuron makes", "neurons make")} ${plural(all + 1, "piece")} at most.`;
  const gap = furthest(wire, "square", -1, 1);
  if (state.gap) return `|x| is too high by |x| − x², which is drawn below: 0 at −1, 0 and 1, and up to ${number(gap.gap)} between them.`;
  const judged = fits(gap, data.half) ? "It stays inside:" : "It is out:";
  return `${count} ${judged} at x = ${number(gap.x)} it is ${number(Math.abs(gap.gap), 5)} too ${gap.gap > 0 ? "high" : "low"}, and ${number(data.half, 3)} is allowed.`;
}
