// @ts-check
// The mathematics of gated neurons of one input: each multiplies two lines, gate and up, and the gate may go through an activation.
import { targetAt } from "./wire_model.js";

/** @typedef {{gate: number[], up: number[]}} Neuron  the heights of its two lines where a hand holds them, left and right */
/** @typedef {{slope: number, height: number}} Line  its height is that at x = 0 */
/** @typedef {"none" | "relu" | "silu" | "sigmoid"} Act */
/** @typedef {import("./wire_model.js").Target} Target */
/** @typedef {import("./wire_model.js").Gap} Gap */

export const GATE_AT = 2; // a hand holds the gate at x = −2 and 2
export const UP_AT = 1; // and up at −1 and 1, so that no two rings are ever in one place
const NEAR = 1e-9; // what is rounding
const FINE = 0.01; // between two places at which a smooth curve is looked at
const SETTLED = 40; // where the gate's sum is so far from 0, a smooth gate is open or shut, to 16 digits

/** @param {number[]} heights @param {number} at @returns {Line} */
const lineOf = ([left, right], at) => ({ slope: (right - left) / (2 * at), height: (left + right) / 2 });
/** @param {Neuron} neuron */
export const gateOf = (neuron) => lineOf(neuron.gate, GATE_AT);
/** @param {Neuron} neuron */
export const upOf = (neuron) => lineOf(neuron.up, UP_AT);
/** @param {Line} line @param {number} x */
export const on = ({ slope, height }, x) => slope * x + height;

const sigmoid = (/** @type {number} */ z) => 1 / (1 + Math.exp(-z));
/** @type {Record<Act, (z: number) => number>} */
export const ACTS = { none: (z) => z, relu: (z) => Math.max(z, 0), silu: (z) => z * sigmoid(z), sigmoid };

/** What the neurons add up to. @param {Neuron[]} neurons @param {Act} act @param {number} x */
export const summed = (neurons, act, x) => neurons.reduce((sum, neuron) => sum + ACTS[act](on(gateOf(neuron), x)) * on(upOf(neuron), x), 0);

/** The polynomial to which the curve comes as near as one likes, far out on one side: what stands before 1, x and x². @param {Neuron[]} neurons @param {Act} act @param {number} side  1 right, −1 left @returns {number[]} */
export function farOut(neurons, act, side) {
  const sum = [0, 0, 0];
  for (const neuron of neurons) {
    const [gate, up] = [gateOf(neuron), upOf(neuron)];
    /** @type {Line} what has become of the gate */
    let left = gate;
    if (act !== "none") {
      const way = gate.slope * side;
      if (way === 0) left = { slope: 0, height: ACTS[act](gate.height) };
      else if (way < 0) left = { slope: 0, height: 0 };
      else if (act === "sigmoid") left = { slope: 0, height: 1 };
    }
    sum[0] += left.height * up.height;
    sum[1] += left.height * up.slope + left.slope * up.height;
    sum[2] += left.slope * up.slope;
  }
  return sum;
}

/** Where the curve is furthest from its target, between two ends. It is exact where the curve is made of parabolas. @param {Neuron[]} neurons @param {Act} act @param {Target} target @param {number} low @param {number} high @returns {Gap} */
export function furthestProduct(neurons, act, target, low, high) {
  const gapAt = (/** @type {number} */ x) => summed(neurons, act, x) - targetAt(target, x);
  const places = placesOf(neurons, act, target, low, high);
  if (act === "none" || act === "relu") places.push(...vertices(places, gapAt));
  let worst = { x: low, gap: 0 };
  for (const x of places) {
    const gap = gapAt(x);
    if (Math.abs(gap) > Math.abs(worst.gap)) worst = { x, gap };
  }
  return worst;
}

/** Where one parabola ends and the next begins; of a smooth curve, places close to each other. @param {Neuron[]} neurons @param {Act} act @param {Target} target @param {number} low @param {number} high */
function placesOf(neurons, act, target, low, high) {
  const corners = target === "square" ? [] : target.x;
  const kinks = act === "relu" ? neurons.map(gateOf).map(({ slope, height }) => -height / slope) : [];
  const between = act === "none" || act === "relu" ? 0 : Math.ceil((high - low) / FINE) - 1;
  const close = Array.from({ length: between }, (_, n) => low + ((high - low) * (n + 1)) / (between + 1));
  return [low, ...[...corners, ...kinks, ...close].filter((x) => x > low && x < high), high].sort((a, b) => a - b);
}

/** Where a parabola between two places turns. @param {number[]} places @param {(x: number) => number} gapAt */
function vertices(places, gapAt) {
  return places.slice(1).flatMap((b, n) => {
    const a = places[n];
    const [left, middle, right] = [gapAt(a), gapAt((a + b) / 2), gapAt(b)];
    const bend = left - 2 * middle + right;
    if (Math.abs(bend) < NEAR) return [];
    const x = (a + b) / 2 - ((b - a) * (right - left)) / (4 * bend);
    return x > a && x < b ? [x] : [];
  });
}

/** Beyond this all gates are open or shut for good. @param {Neuron[]} neurons @param {Act} act */
function settledAt(neurons, act) {
  const far = act === "silu" || act === "sigmoid" ? SETTLED : 0;
  const ends = neurons.map(gateOf).map(({ slope, height }) => (slope ? (Math.abs(height) + far) / Math.abs(slope) : 0));
  return Math.max(2, ...ends) + 1;
}

/** Whether the curve stays so near to x² on the whole line. @param {Neuron[]} neurons @param {Act} act @param {number} half */
export function forEver(neurons, act, half) {
  const flat = [1, -1].every((side) => {
    const [constant, slope, square] = farOut(neurons, act, side);
    return Math.abs(square - 1) < NEAR && Math.abs(slope) < NEAR && Math.abs(constant) <= half + NEAR;
  });
  if (!flat) return false;
  const end = settledAt(neurons, act);
  return Math.abs(furthestProduct(neurons, act, "square", -end, end).gap) <= half + NEAR;
}
