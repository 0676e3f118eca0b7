// @ts-check
// What a block weighs: attention's matrices and the FFN's, counted without biases, as notebook 05 counts them. Tests hold every count to torch's.

/**
 * A block. ratio: d_ff / d_model. heads: of the queries. share: how many of them share one head of keys and values. width: of a head; 0 is d_model / heads.
 * second: whether there is a second attention. @typedef {{ratio: number, gated: boolean, heads: number, share: number, width: number, second: boolean}} Block
 * A matrix of it, [rows, columns], with the side on which it hangs. @typedef {{name: string, label: string, pan: "attention" | "ffn", rows: number, columns: number}} Matrix
 */

export const D_MODEL = 1024;

/** How many heads have keys and values of their own. @param {Block} block */
export const keyHeads = ({ heads, share }) => Math.max(1, heads / share);

/** How wide the queries are, all heads together. @param {Block} block */
export const inner = ({ heads, width }) => (width ? heads * width : D_MODEL);

/** @param {Block} block @returns {Matrix[]} */
export function matrices(block) {
  const queries = inner(block);
  const keys = (queries / block.heads) * keyHeads(block);
  const f = block.ratio * D_MODEL;
  /** @param {string} suffix @returns {Matrix[]} */
  const attention = (suffix) => [
    { name: `queries${suffix}`, label: "Q", pan: "attention", rows: D_MODEL, columns: queries },
    { name: `output${suffix}`, label: "O", pan: "attention", rows: D_MODEL, columns: queries },
    { name: `keys${suffix}`, label: "K", pan: "attention", rows: D_MODEL, columns: keys },
    { name: `values${suffix}`, label: "V", pan: "attention", rows: D_MODEL, columns: keys },
  ];
  /** @type {[string, string][]} */
  const names = block.gated ? [["gate", "gate"], ["up", "up"], ["down", "down"]] : [["W1", "W1"], ["W2", "W2"]];
  return [
    ...attention(""),
    ...(block.second ? attention(" of the second attention") : []),
    ...names.map(([name, label]) => /** @type {Matrix} */ ({ name, label, pan: "ffn", rows: D_MODEL, columns: f })),
  ];
}

/** How many numbers hang on each side. @param {Block} block */
export function weights(block) {
  const on = { attention: 0, ffn: 0 };
  for (const { pan, rows, columns } of matrices(block)) on[pan] += rows * columns;
  return on;
}

/** The larger whole number for the smaller: "2 : 1", "1 : 1.33". @param {Block} block */
export function ratioOf(block) {
  const { attention, ffn } = weights(block);
  const digits = (/** @type {number} */ value) => value.toFixed(value < 100 ? 2 : 0).replace(/\.?0+$/, (end) => (end.includes(".") ? "" : end));
  return ffn >= attention ? `${digits(ffn / attention)} : 1` : `1 : ${digits(attention / ffn)}`;
}

/**
 * Where rectangles lie in a pan, from its floor upwards, as large as fits. Sizes are in multiples of d_model.
 * @param {{wide: number, high: number}[]} sizes @param {number} wide @param {number} high @param {number} side the side of a square [d_model, d_model]
 */
export function packed(sizes, wide, high, side) {
  const gap = side > 12 ? 4 : 2;
  let [x, y, row] = [0, 0, 0];
  const places = sizes.map((size) => {
    const [w, h] = [size.wide * side, size.high * side];
    if (x > 0 && x + w > wide) [x, y, row] = [0, y + row + gap, 0];
    const at = { x, y, wide: w, high: h };
    x += w + gap;
    row = Math.max(row, h);
    return at;
  });
  return { places, fits: y + row <= high && places.every((place) => place.x + place.wide <= wide) };
}

/** The largest side with which both pans hold what they are to hold. @param {{wide: number, high: number}[][]} loads @param {number} wide @param {number} high @param {number} most */
export function sideOf(loads, wide, high, most) {
  let side = most;
  while (side > 1 && !loads.every((sizes) => packed(sizes, wide, high, side).fits)) side *= 0.97;
  return side;
}
