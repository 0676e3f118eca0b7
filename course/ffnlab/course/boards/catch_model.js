// @ts-check
// Closed boxes, asked with one number in each array. A box is a line of stations; tests hold every verdict, of all 16,807 settings, to the mistake's own code.

/** @typedef {{x: number, W1: number, b1: number, W2: number, b2: number}} Test */
/** @typedef {{name: string, title: string, line: string[], message: string, caught_by: string}} Box */
/** @typedef {{kind: "number" | "shape" | "error" | "nothing" | "two", number: number, read: number | undefined}} Said  read: what met its activation, after W1 */

const NEAR = 1e-9; // as the check: what differs by less, or by this part of the right number, is rounding
export const ARRAYS = /** @type {const} */ (["x", "W1", "b1", "W2", "b2"]);
const ACTIVATIONS = ["act", "relu", "gelu", "max(0, …)"];

/** 1 − erf, with a relative error below 2 · 10⁻⁷. @param {number} z */
function erfc(z) {
  const t = 1 / (1 + Math.abs(z) / 2);
  const powers = [-1.26551223, 1.00002368, 0.37409196, 0.09678418, -0.18628806, 0.27886807, -1.13520398, 1.48851587, -0.82215223, 0.17087277];
  const tail = t * Math.exp(-z * z + powers.reduceRight((sum, factor) => sum * t + factor, 0));
  return z >= 0 ? tail : 2 - tail;
}

/** @param {number} z */
const gelu = (z) => (z * erfc(-z / Math.SQRT2)) / 2;

/** What a box answers. @param {string[]} line @param {Test} test @returns {Said} */
export function run(line, test) {
  /** @type {Said} */
  const said = { kind: "number", number: test.x, read: undefined };
  let product = false;
  for (const station of line) {
    if (product && said.read === undefined && ACTIVATIONS.includes(station)) said.read = said.number;
    if (/\bW[12]\b/.test(station)) {
      // @, * and a transpose are one and the same for matrices with one entry
      said.number *= station.includes("W1") ? test.W1 : test.W2;
      product ||= station.includes("W1");
    } else if (station.startsWith("+ ")) said.number += test[/** @type {keyof Test} */ (station.slice(2))];
    else if (station === "act" || station === "relu") said.number = Math.max(said.number, 0);
    else if (station === "gelu") said.number = gelu(said.number);
    else if (station === "clamp(max=6)") said.number = Math.min(said.number, 6);
    else if (station === "max(0, …)" && !(said.number > 0)) said.kind = "error";
    else if (station === "B, T, d = x.shape") said.kind = "error";
    else if (station === "mean(-2)" || station === "squeeze()") said.kind = "shape";
    else if (station === "no return") said.kind = "nothing";
    else if (station === "return h, y") said.kind = "two";
    if (said.kind === "error") return said;
  }
  return said;
}

/** Whether a box answers wrongly. @param {Said} said @param {Said} right */
export const differs = (said, right) => said.kind !== "number" || Math.abs(said.number - right.number) > NEAR + NEAR * Math.abs(right.number);

/** The places of the boxes that answer wrongly. @param {Box[]} boxes @param {Test} test */
export function wrongOnes(boxes, test) {
  const right = run(boxes[rightOne(boxes)].line, test);
  return [...boxes.keys()].filter((n) => differs(run(boxes[n].line, test), right));
}

/** The place of the right box. @param {Box[]} boxes */
export const rightOne = (boxes) => boxes.findIndex((box) => !box.name);

/** What the right neuron reads, and what comes out. @param {Test} test */
export function workedOut(test) {
  const read = test.x * test.W1 + test.b1;
  return { read, out: Math.max(read, 0) * test.W2 + test.b2 };
}

/**
 * Two lines beside each other: what both have, what the wrong one lacks, and what it has too much. The longest common part is found from the end.
 * @param {string[]} right @param {string[]} wrong @returns {{station: string, is: "same" | "missing" | "extra"}[]}
 */
export function compare(right, wrong) {
  if (!right.length) return wrong.map((station) => ({ station, is: "extra" }));
  if (!wrong.length) return right.map((station) => ({ station, is: "missing" }));
  if (right[0] === wrong[0]) return [{ station: right[0], is: "same" }, ...compare(right.slice(1), wrong.slice(1))];
  const [without, withExtra] = [compare(right.slice(1), wrong), compare(right, wrong.slice(1))];
  const changes = (/** @type {{is: string}[]} */ parts) => parts.filter(({ is }) => is !== "same").length;
  return changes(without) <= changes(withExtra) ? [{ station: right[0], is: "missing" }, ...without] : [{ station: wrong[0], is: "extra" }, ...withExtra];
}
