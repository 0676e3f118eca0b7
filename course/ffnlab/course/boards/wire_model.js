// @ts-check
// The mathematics of a wire: a ReLU network of one input as a line of straight pieces, and how far it is from a target.

/** @typedef {{w: number[], b: number[], v: number[], c: number}} Net  it computes the sum of v·relu(w·x + b), plus c */
/** @typedef {{x: number[], y: number[]}} Wire  its corners from left to right, the two ends included */
/** @typedef {{x: number[], y: number[]} | "square"} Target  corners of a line, or x² */
/** @typedef {{W: number[][], b: number[]}} Layer  W has a row for each number that comes in */
/** @typedef {{x: number[], ys: number[][]}} Passed  what a layer makes of the numbers x: a list for each of its neurons */
/** @typedef {{x: number, gap: number}} Gap  where, and how much too high; below 0 it is too low */

const NEAR = 1e-9; // what is rounding
const SAME_SLOPE = 1e-4; // so is this, for slopes of networks in float32

/** What the network computes; without its activation, the sum of straight lines. @param {Net} net @param {number} x @param {boolean} [bend] */
export function output(net, x, bend = true) {
  return net.w.reduce((sum, w, j) => {
    const z = w * x + net.b[j];
    return sum + net.v[j] * (bend ? Math.max(z, 0) : z);
  }, net.c);
}

/** The network as a wire from low to high. @param {Net} net @param {number} low @param {number} high @param {boolean} [bend] @returns {Wire} */
export function wireOf(net, low, high, bend = true) {
  const kinks = bend ? net.w.map((w, j) => -net.b[j] / w).filter((x) => x > low && x < high) : [];
  const x = [low, ...new Set(kinks.sort((a, b) => a - b)), high];
  return { x, y: x.map((at) => output(net, at, bend)) };
}

/** How many straight pieces a wire has: 1, and 1 for each place where its slope changes by more than rounding. @param {Wire} wire */
export function pieces({ x, y }) {
  const [xs, ys] = [[x[0]], [y[0]]];
  for (let n = 1; n < x.length; n++) {
    if (x[n] - xs[xs.length - 1] < NEAR) continue; // two kinks in one place
    xs.push(x[n]);
    ys.push(y[n]);
  }
  const slopes = xs.slice(1).map((at, n) => (ys[n + 1] - ys[n]) / (at - xs[n]));
  return 1 + slopes.slice(1).filter((slope, n) => Math.abs(slope - slopes[n]) > SAME_SLOPE).length;
}

/** The height of a line of straight pieces; beyond its ends the last piece goes on. @param {Wire} wire @param {number} x */
export function heightAt({ x: xs, y: ys }, x) {
  let [low, high] = [0, xs.length - 1];
  while (high - low > 1) {
    const middle = (low + high) >> 1;
    if (xs[middle] <= x) low = middle;
    else high = middle;
  }
  return ys[low] + ((ys[high] - ys[low]) * (x - xs[low])) / (xs[high] - xs[low]);
}

/** @param {Target} target @param {number} x */
export const targetAt = (target, x) => (target === "square" ? x * x : heightAt(target, x));

/** Where a wire is furthest from its target, between two ends. It is exact: both are looked at wherever one of them can be furthest. @param {Wire} wire @param {Target} target @param {number} low @param {number} high @returns {Gap} */
export function furthest(wire, target, low, high) {
  const inside = (/** @type {number} */ x) => x > low && x < high;
  const stops = [low, ...wire.x.filter(inside), ...(target === "square" ? [] : target.x.filter(inside)), high].sort((a, b) => a - b);
  const places = [...stops];
  if (target === "square") {
    // Within a straight piece the gap is largest where the curve is as steep as the piece.
    for (let n = 0; n < stops.length - 1; n++) {
      const [a, b] = [stops[n], stops[n + 1]];
      if (b - a < NEAR) continue;
      const x = (heightAt(wire, b) - heightAt(wire, a)) / (b - a) / 2;
      if (x > a && x < b) places.push(x);
    }
  }
  let worst = { x: low, gap: 0 };
  for (const x of places) {
    const gap = heightAt(wire, x) - targetAt(target, x);
    if (Math.abs(gap) > Math.abs(worst.gap)) worst = { x, gap };
  }
  return worst;
}

/** What each layer of a deep network makes of the numbers from low to high, with all kinks among them. The last layer has no ReLU. @param {Layer[]} layers @param {number} low @param {number} high @returns {Passed[]} */
export function passThrough(layers, low, high) {
  /** @type {number[]} */
  let x = [low, high];
  let ys = [x];
  return layers.map(({ W, b }, n) => {
    const sums = b.map((bias, j) => x.map((_, i) => ys.reduce((sum, y, k) => sum + W[k][j] * y[i], bias)));
    if (n < layers.length - 1) ({ x, ys } = pressed(x, sums));
    else ys = sums;
    return { x, ys };
  });
}

/** ReLU of some lines. Where a line crosses 0 there is a kink, and a corner more. @param {number[]} x @param {number[][]} sums @returns {Passed} */
function pressed(x, sums) {
  const crossings = sums.flatMap((y) => x.slice(1).map((at, i) => (y[i] * y[i + 1] < 0 ? x[i] + ((at - x[i]) * y[i]) / (y[i] - y[i + 1]) : x[i])));
  const corners = [...x, ...crossings].sort((a, b) => a - b).filter((at, i, all) => i === 0 || at - all[i - 1] > NEAR);
  return { x: corners, ys: sums.map((y) => corners.map((at) => Math.max(heightAt({ x, y }, at), 0))) };
}

/** Where what a layer passes on has a kink, in any of its neurons. @param {Passed} passed */
export function kinksOf({ x, ys }) {
  const slope = (/** @type {number[]} */ y, /** @type {number} */ i) => (y[i + 1] - y[i]) / (x[i + 1] - x[i]);
  return x.slice(1, -1).filter((_, i) => ys.some((y) => Math.abs(slope(y, i + 1) - slope(y, i)) > SAME_SLOPE));
}

/** Whether a gap is within the ribbon, edges included. @param {Gap} gap @param {number} half */
export const fits = (gap, half) => Math.abs(gap.gap) <= half + NEAR;

/** A line that meets the target at the ends of n equal pieces. @param {Target} target @param {number} n @param {number} low @param {number} high @returns {Wire} */
export function chords(target, n, low, high) {
  const x = Array.from({ length: n + 1 }, (_, i) => (i === n ? high : low + ((high - low) * i) / n));
  return { x, y: x.map((at) => targetAt(target, at)) };
}

/** The smallest number of equal pieces with which `chords` stays in the ribbon; most + 1 if none does. @param {Target} target @param {number} half @param {number} low @param {number} high @param {number} most */
export function fewest(target, half, low, high, most) {
  let n = 1;
  while (n <= most && !fits(furthest(chords(target, n, low, high), target, low, high), half)) n++;
  return n;
}
