// @ts-check
// An FFN that stores facts, as `ffnlab.course.experiments.fact_stores` has it: scores of all answers to all questions, with all neurons or without some.
// N questions of d numbers, C answers, f neurons. Tests hold every number to PyTorch's.
import { bytes } from "./runtime.js";

/** @typedef {{d: number, weights: Record<string, string>, right: number[]}} StoreData  E [N, d], U [C, d], keys and values [f, d], b1 [f], b2 [d], as float32 in rows */

export class Store {
  /** @param {StoreData} data */
  constructor({ d, weights, right }) {
    const { E, U, keys, b1, values, b2 } = Object.fromEntries(Object.entries(weights).map(([name, text]) => [name, new Float32Array(bytes(text))]));
    [this.d, this.E, this.U, this.right] = [d, E, U, right];
    [this.N, this.C, this.f] = [E.length / d, U.length / d, b1.length];
    this.hidden = product(E, keys, d).map((sum, i) => Math.max(0, sum + b1[i % this.f])); // [N, f]
    this.pushes = product(values, U, d); // [f, C]: how far each neuron's value points along each answer
    const passed = product(E.map((entry, i) => entry + b2[i % d]), U, d); // [N, C]: what question and b2 alone score
    for (let n = 0; n < this.N; n++) this.add(passed, n, this.hidden.subarray(n * this.f, (n + 1) * this.f));
    this.scores = passed;
  }

  /** Adds to the scores of question n what neurons with these coefficients write. @param {Float64Array} scores [N, C] @param {number} n @param {ArrayLike<number>} coefficients [f] */
  add(scores, n, coefficients) {
    for (let j = 0; j < this.f; j++) {
      const h = coefficients[j];
      if (h) for (let c = 0; c < this.C; c++) scores[n * this.C + c] += h * this.pushes[j * this.C + c];
    }
  }

  /** The scores [N, C] without some neurons. @param {number[]} out */
  without(out) {
    const scores = Float64Array.from(this.scores);
    for (let n = 0; n < this.N; n++) {
      for (const j of out) {
        const h = this.hidden[n * this.f + j];
        if (h) for (let c = 0; c < this.C; c++) scores[n * this.C + c] -= h * this.pushes[j * this.C + c];
      }
    }
    return scores;
  }

  /** How far the right answer to question n is ahead of the best other one. @param {Float64Array} scores [N, C] @param {number} n */
  lead(scores, n) {
    return lead(scores.subarray(n * this.C, (n + 1) * this.C), this.right[n]);
  }

  /** What neuron j adds to the score of the right answer to question n. @param {number} j @param {number} n */
  adds(j, n) {
    return this.hidden[n * this.f + j] * this.pushes[j * this.C + this.right[n]];
  }

  /** How well each question matches question n: [N]. A question matches itself by its own length. @param {number} n */
  matches(n) {
    const key = this.E.subarray(n * this.d, (n + 1) * this.d);
    const length = Math.hypot(...key);
    return product(this.E, key, this.d).map((sum) => sum / length);
  }

  /** The scores [N, C] with one more neuron: its coefficients, and the answer along which it writes, by a value of length 1. @param {ArrayLike<number>} coefficients [N] @param {number} answer */
  withOne(coefficients, answer) {
    const value = this.U.subarray(answer * this.d, (answer + 1) * this.d);
    const length = Math.hypot(...value);
    const push = product(this.U, value, this.d).map((sum) => sum / length); // [C]
    return this.scores.map((score, i) => score + coefficients[Math.floor(i / this.C)] * push[i % this.C]);
  }
}

/** How far answer c is ahead of the best other one. @param {ArrayLike<number>} scores [C] @param {number} c */
export function lead(scores, c) {
  let best = -Infinity;
  for (let other = 0; other < scores.length; other++) if (other !== c && scores[other] > best) best = scores[other];
  return scores[c] - best;
}

/** The answers with the highest scores, the best first. @param {ArrayLike<number>} scores [C] @param {number} count */
export const ranked = (scores, count) => Array.from(scores, (_, c) => c).sort((a, b) => scores[b] - scores[a]).slice(0, count);

/** Every row of A times every row of B: [rows of A, rows of B]. @param {Float32Array} A @param {Float32Array} B @param {number} d */
function product(A, B, d) {
  const [rows, columns] = [A.length / d, B.length / d];
  const result = new Float64Array(rows * columns);
  for (let row = 0; row < rows; row++) {
    for (let column = 0; column < columns; column++) {
      let sum = 0;
      for (let i = 0; i < d; i++) sum += A[row * d + i] * B[column * d + i];
      result[row * columns + column] = sum;
    }
  }
  return result;
}
