// @ts-check
// Nine layers that are closed boxes: from a vector a word to a vector a word, computed as torch computes them. Tests hold every number to torch's, 1e-9.

/**
 * A matrix in rows. @typedef {number[][]} Matrix
 * norm: over the numbers of each token, over the tokens of the sequence, or none. mix: what happens before the FFN: attention that looks back, a window of
 * three tokens, the average over a token and those before it, added through a matrix, or nothing. positions: what is added to the tokens first. peek: one output that reads one other word. own: a place where W2 is another one.
 * @typedef {{W1: Matrix, b1: number[], W2: Matrix, b2: number[], activation: "relu" | "gelu", skip: boolean, norm: "none" | "token" | "sequence",
 *   positions: Matrix, mix: "none" | "attention" | "window" | "average", q: Matrix, k: Matrix, v: Matrix, window: Matrix[], average: Matrix, peek: {to: number, from: number, matrix: Matrix} | null,
 *   own: {place: number, W2: Matrix} | null}} Layer
 */

export const MOVED = 1e-4; // an output has moved if a number of it differs by more than this part of the largest number

/** @param {number[]} x @param {Matrix} matrix */
const times = (x, matrix) => matrix[0].map((_, column) => x.reduce((sum, entry, row) => sum + entry * matrix[row][column], 0));

/** @param {number[]} a @param {number[]} b */
const plus = (a, b) => a.map((entry, i) => entry + b[i]);

/** @param {number[]} values */
function normed(values) {
  const mean = values.reduce((a, b) => a + b) / values.length;
  const variance = values.reduce((sum, entry) => sum + (entry - mean) ** 2, 0) / values.length;
  return values.map((entry) => (entry - mean) / Math.sqrt(variance + 1e-5));
}

/** @param {Matrix} matrix @returns {Matrix} */
const transposed = (matrix) => matrix[0].map((_, column) => matrix.map((row) => row[column]));

/** GELU by its formula with tanh, or ReLU. @param {string} name @param {number} z */
const activate = (name, z) => (name === "relu" ? Math.max(z, 0) : 0.5 * z * (1 + Math.tanh(Math.sqrt(2 / Math.PI) * (z + 0.044715 * z ** 3))));

/** Attention of one head; a token looks at itself and at earlier ones. @param {Layer} layer @param {Matrix} x @returns {Matrix} */
function attend({ q, k, v }, x) {
  const [queries, keys, values] = [q, k, v].map((matrix) => x.map((row) => times(row, matrix)));
  return queries.map((query, t) => {
    const scores = keys.slice(0, t + 1).map((key) => query.reduce((sum, entry, i) => sum + entry * key[i], 0) / Math.sqrt(query.length));
    const highest = Math.max(...scores);
    const powers = scores.map((score) => Math.exp(score - highest));
    const sum = powers.reduce((a, b) => a + b);
    return values[0].map((_, i) => powers.reduce((mixed, power, s) => mixed + (power / sum) * values[s][i], 0));
  });
}

/** Each token, and the average of it and all earlier ones through a matrix. @param {Layer} layer @param {Matrix} x @returns {Matrix} */
function average(layer, x) {
  const sum = x[0].map(() => 0);
  return x.map((row, t) => {
    row.forEach((entry, i) => (sum[i] += entry));
    return plus(row, times(sum.map((entry) => entry / (t + 1)), layer.average));
  });
}

/** The outputs of a layer: one vector a word. @param {Layer} layer @param {Matrix} x @returns {Matrix} */
export function run(layer, x) {
  let read = layer.norm === "token" ? x.map(normed) : layer.norm === "sequence" ? transposed(transposed(x).map(normed)) : x;
  if (layer.positions.length) read = read.map((row, t) => plus(row, layer.positions[t]));
  if (layer.mix === "average") read = average(layer, read);
  if (layer.mix === "attention") read = attend(layer, read);
  if (layer.mix === "window") {
    const rows = read;
    const zero = rows[0].map(() => 0);
    read = rows.map((_, t) => layer.window.reduce((sum, matrix, i) => plus(sum, times(rows[t + i - 1] ?? zero, matrix)), zero));
  }
  return read.map((row, t) => {
    const hidden = plus(times(row, layer.W1), layer.b1).map((z) => activate(layer.activation, z));
    let output = plus(times(hidden, layer.own?.place === t ? layer.own.W2 : layer.W2), layer.b2);
    if (layer.skip) output = plus(output, x[t]);
    if (layer.peek?.to === t) output = plus(output, times(x[layer.peek.from], layer.peek.matrix).map(Math.abs));
    return output;
  });
}

/** By how much two vectors differ, as a part of the largest number. @param {number[]} a @param {number[]} b @param {number} size */
export const difference = (a, b, size) => Math.max(...a.map((entry, i) => Math.abs(entry - b[i]))) / size;

/** The largest number of some outputs, without its sign. @param {Matrix} outputs */
export const sizeOf = (outputs) => Math.max(...outputs.flat().map(Math.abs));

/**
 * What a reader sees of a layer: by how much each output has moved against the unedited sentence, and for a word that is there more than once whether its output
 * is that of its first place. @param {Layer} layer @param {Record<string, number[]>} vectors @param {string[]} original @param {string[]} words
 */
export function observe(layer, vectors, original, words) {
  const [before, after] = [original, words].map((sentence) => run(layer, sentence.map((word) => vectors[word])));
  const size = Math.max(sizeOf(before), sizeOf(after));
  return words.map((word, t) => {
    const first = words.indexOf(word);
    const moved = difference(after[t], before[t], size);
    return { moved: moved > MOVED ? moved : 0, twin: first < t ? first : -1, differs: difference(after[t], after[first], size) > MOVED };
  });
}
