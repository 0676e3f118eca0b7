// @ts-check
// A network relu(x · W1 + b1) · W2 + b2 with two inputs, and what its hinges and its boundary make of a sheet of the plane.

/** @typedef {number[]} Point */
/** @typedef {{W1: number[][], b1: number[], W2: number[], b2: number}} Net  W1 [2, H], b1 [H], W2 [H] */
/** @typedef {{corners: Point[], fires: boolean[]}} Piece  a part of the sheet on which each unit either fires or is silent */

export const POINTS = [[0, 0], [0, 1], [1, 0], [1, 1]];
export const XOR = [0, 1, 1, 0];
export const HALF = 0.5; // an output above it says 1
export const LOW = -0.5; // the sheet, in both directions
export const HIGH = 1.5;
const CLEAR = 0.02; // a point that is nearer to the knife than this is on neither side
const SMALL = 1e-9;

/** The sums before ReLU. @param {Net} net @param {Point} x */
export const sums = (net, x) => net.b1.map((b, k) => x[0] * net.W1[0][k] + x[1] * net.W1[1][k] + b);

/** @param {Net} net @param {Point} x */
export const hidden = (net, x) => sums(net, x).map((z) => Math.max(z, 0));

/** @param {Net} net @param {Point} x */
export const output = (net, x) => hidden(net, x).reduce((total, h, k) => total + h * net.W2[k], net.b2);

/** Which of the four points get the right side. @param {Net} net */
export const hits = (net) => POINTS.map((point, n) => (XOR[n] ? output(net, point) - HALF : HALF - output(net, point)) > CLEAR);

/** How many numbers of a network are not 0. @param {Net} net */
export const nonzero = ({ W1, b1, W2, b2 }) => [...W1.flat(), ...b1, ...W2, b2].filter((value) => value !== 0).length;

/** @param {Net} net */
export const right = (net) => hits(net).filter(Boolean).length;

/** A unit's weights. @param {Net} net @param {number} unit */
export const weights = (net, unit) => [net.W1[0][unit], net.W1[1][unit]];

/** @param {Net} net @param {number} unit */
export const size = (net, unit) => Math.hypot(net.W1[0][unit], net.W1[1][unit]);

/** @param {Point} a @param {Point} b @param {number} share */
export const between = (a, b, share) => [a[0] + share * (b[0] - a[0]), a[1] + share * (b[1] - a[1])];

/** The part of a convex piece in which a linear function, given at its corners, is at least 0. @param {Point[]} corners @param {number[]} heights @returns {Point[]} */
export function part(corners, heights) {
  return corners.flatMap((a, n) => {
    const next = (n + 1) % corners.length;
    const crossing = heights[n] >= 0 !== heights[next] >= 0 ? [between(a, corners[next], heights[n] / (heights[n] - heights[next]))] : [];
    return heights[n] >= 0 ? [a, ...crossing] : crossing;
  });
}

/** @param {Point[]} corners */
const area = (corners) => Math.abs(corners.reduce((sum, [x, y], n) => sum + x * corners[(n + 1) % corners.length][1] - y * corners[(n + 1) % corners.length][0], 0)) / 2;

/** The sheet, cut along every hinge. @param {Net} net @returns {Piece[]} */
export function pieces(net) {
  /** @type {Piece[]} */
  let found = [{ corners: [[LOW, LOW], [HIGH, LOW], [HIGH, HIGH], [LOW, HIGH]], fires: [] }];
  for (const [unit, b] of net.b1.entries()) {
    const [wx, wy] = weights(net, unit);
    found = found.flatMap(({ corners, fires }) => {
      const heights = corners.map(([x, y]) => x * wx + y * wy + b);
      if (heights.every((height) => height <= 0)) return [{ corners, fires: [...fires, false] }];
      if (heights.every((height) => height >= 0)) return [{ corners, fires: [...fires, true] }];
      const halves = [{ corners: part(corners, heights), fires: [...fires, true] }, { corners: part(corners, heights.map((height) => -height)), fires: [...fires, false] }];
      return halves.filter((half) => half.corners.length > 2 && area(half.corners) > SMALL);
    });
  }
  return found;
}

/** Where the output is one half: in each piece a straight segment, or nothing. @param {Net} net @param {Piece[]} [sheet] @returns {Point[][]} */
export function boundary(net, sheet = pieces(net)) {
  return sheet.flatMap(({ corners }) => {
    const heights = corners.map((corner) => output(net, corner) - HALF);
    const ends = corners.flatMap((a, n) => {
      const next = (n + 1) % corners.length;
      return heights[n] >= 0 !== heights[next] >= 0 ? [between(a, corners[next], heights[n] / (heights[n] - heights[next]))] : [];
    });
    return ends.length === 2 && apart(ends[0], ends[1]) > SMALL ? [ends] : [];
  });
}

/** @param {Point} a @param {Point} b */
export const apart = (a, b) => Math.hypot(a[0] - b[0], a[1] - b[1]);

/** Segments that meet are one line: its segments, line by line. @param {Point[][]} segments */
export function lines(segments) {
  /** @type {Point[][][]} */
  let found = [];
  for (const segment of segments) {
    const touching = found.filter((line) => line.some((other) => other.some((a) => segment.some((b) => apart(a, b) < 1e-6))));
    found = [...found.filter((line) => !touching.includes(line)), [segment, ...touching.flat()]];
  }
  return found;
}

/** Whether a line has a bend. @param {Point[][]} line */
export function bent(line) {
  const [[a, b], ...others] = line;
  const way = [(b[0] - a[0]) / apart(a, b), (b[1] - a[1]) / apart(a, b)];
  return others.some(([c, d]) => Math.abs(way[0] * (d[1] - c[1]) - way[1] * (d[0] - c[0])) > 1e-6 * apart(c, d));
}

/** Whether one straight line can have the folded points with XOR = 1 on one side and the others on the other. @param {Net} net */
export function parted(net) {
  const ones = POINTS.filter((_, n) => XOR[n]).map((point) => hidden(net, point));
  const zeros = POINTS.filter((_, n) => !XOR[n]).map((point) => hidden(net, point));
  // Of two segments in a plane, the way across the widest gap is across one of them, or from an end of one to an end of the other.
  const across = [ones, zeros].flatMap(([a, b]) => [[a[1] - b[1], b[0] - a[0]], [b[1] - a[1], a[0] - b[0]]]);
  const ways = [...across, ...ones.flatMap((one) => zeros.map((zero) => [one[0] - zero[0], one[1] - zero[1]]))];
  return ways.some((way) => {
    const length = Math.hypot(way[0], way[1]);
    const along = (/** @type {Point} */ point) => (way[0] * point[0] + way[1] * point[1]) / length;
    return length > SMALL && Math.min(...ones.map(along)) - Math.max(...zeros.map(along)) > 1e-7;
  });
}

/** Whether all four points are on one side of a unit's hinge, and none is nearer than `clear`. @param {Net} net @param {number} unit @param {number} [clear] */
export function away(net, unit, clear = 0.1) {
  const heights = POINTS.map((point) => sums(net, point)[unit] / (size(net, unit) || 1));
  return Math.min(...heights) >= clear || Math.max(...heights) <= -clear;
}

/** Whether a unit's hinge is upright or level: then it sees only one of the inputs. @param {Net} net @param {number} unit */
export const single = (net, unit) => net.W1[0][unit] === 0 || net.W1[1][unit] === 0;
