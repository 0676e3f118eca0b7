// @ts-check
// A mixing desk: words as points of the plane, a weight for each, and the mix. No weight is below 0, and they sum to 1.

/** @typedef {number[]} Point */
/** @typedef {{words: string[], points: Point[], star: Point, matrix: boolean}} Level */

/** The weights when one of them is pulled to a share: the others give way in proportion to what they had when the pull began, or equally where they had nothing. @param {number[]} from @param {number} fader @param {number} share */
export function pulled(from, fader, share) {
  const rest = from.reduce((sum, weight, n) => sum + (n === fader ? 0 : weight), 0);
  return from.map((weight, n) => (n === fader ? share : (1 - share) * (rest > 1e-9 ? weight / rest : 1 / (from.length - 1))));
}

/** @param {Point[]} points @param {number[]} weights @returns {Point} */
export const mix = (points, weights) => [0, 1].map((axis) => points.reduce((sum, point, n) => sum + weights[n] * point[axis], 0));

/** What a matrix makes of the points that turns them around the origin, in degrees, and stretches them. @param {Point[]} points @param {number} turn @param {number} stretch @returns {Point[]} */
export function moved(points, turn, stretch) {
  const [c, s] = [Math.cos((turn * Math.PI) / 180), Math.sin((turn * Math.PI) / 180)];
  return points.map(([x, y]) => [stretch * (c * x - s * y), stretch * (s * x + c * y)]);
}

/** Where the words of a state are. @param {any} state @param {Level} level */
export const places = (state, level) => (level.matrix ? moved(level.points, state.turn, state.stretch) : level.points);

/** How far the mix is from the star. @param {any} state @param {Level} level */
export function distance(state, level) {
  const [x, y] = mix(places(state, level), state.weights);
  return Math.hypot(x - level.star[0], y - level.star[1]);
}

/** How many words are in the mix. @param {number[]} weights */
export const used = (weights) => weights.filter((weight) => weight > 1e-9).length;
