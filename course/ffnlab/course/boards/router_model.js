// @ts-check
// What a linear router of the plane does: an arrow for each expert, and a point goes to the expert whose arrow reaches furthest in its direction.

/** @typedef {[number, number]} Point */
/** @typedef {{pair: string, width: number, middle: number}} Stretch  directions that choose the same two experts, in radians */

const NEAR = 1e-9; // what is rounding

/** @param {Point} a @param {Point} b */
const dot = (a, b) => a[0] * b[0] + a[1] * b[1];

/** The expert whose logit is the largest at a point. @param {Point[]} arrows @param {Point} point */
export function chosen(arrows, point) {
  let best = 0;
  arrows.forEach((arrow, e) => {
    if (dot(arrow, point) > dot(arrows[best], point)) best = e;
  });
  return best;
}

/** The region of an expert: the square from −reach to reach, cut by one straight line for each other expert. Empty where it has none. @param {Point[]} arrows @param {number} expert @param {number} reach @returns {Point[]} */
export function region(arrows, expert, reach) {
  /** @type {Point[]} */
  let corners = [[-reach, -reach], [reach, -reach], [reach, reach], [-reach, reach]];
  arrows.forEach((other, o) => {
    if (o === expert || !corners.length) return;
    /** @type {Point} */
    const across = [arrows[expert][0] - other[0], arrows[expert][1] - other[1]];
    if (Math.abs(across[0]) + Math.abs(across[1]) < NEAR) {
      if (o < expert) corners = []; // of two equal arrows the first gets all
      return;
    }
    const lead = corners.map((corner) => dot(across, corner));
    /** @type {Point[]} */
    const kept = [];
    corners.forEach((corner, n) => {
      const m = (n + 1) % corners.length;
      if (lead[n] >= 0) kept.push(corner);
      if (lead[n] >= 0 !== lead[m] >= 0) {
        const t = lead[n] / (lead[n] - lead[m]);
        kept.push([corner[0] + t * (corners[m][0] - corner[0]), corner[1] + t * (corners[m][1] - corner[1])]);
      }
    });
    corners = kept;
  });
  return corners;
}

/** The solution of a small symmetric system by elimination; where a pivot is nothing, its unknown is 0. @param {number[][]} rows  each with its right sides at the end */
function solve(rows) {
  const size = rows.length;
  const scale = Math.max(...rows.map((row, n) => Math.abs(row[n])), NEAR);
  const used = rows.map(() => false);
  for (let n = 0; n < size; n++) {
    used[n] = Math.abs(rows[n][n]) > NEAR * scale;
    if (!used[n]) continue;
    for (let m = 0; m < size; m++) {
      if (m === n) continue;
      const times = rows[m][n] / rows[n][n];
      rows[m] = rows[m].map((value, c) => value - times * rows[n][c]);
    }
  }
  return rows.map((row, n) => row.slice(size).map((value) => (used[n] ? value / row[n] : 0)));
}

/**
 * Each expert is fitted to its points by least squares, an affine map of the plane. The squared miss of each point, summed over both outputs.
 * @param {Point[]} points @param {Point[]} targets @param {number[]} goes  the expert of each point
 */
export function misses(points, targets, goes) {
  const missed = points.map(() => 0);
  for (const expert of new Set(goes)) {
    const mine = goes.flatMap((other, n) => (other === expert ? [n] : []));
    const mean = (/** @type {Point[]} */ of, /** @type {number} */ part) => mine.reduce((sum, n) => sum + of[n][part], 0) / mine.length;
    const [x, y, u, v] = [mean(points, 0), mean(points, 1), mean(targets, 0), mean(targets, 1)];
    const [xx, xy, yy, xu, xv, yu, yv] = Array(7).fill(0).map((_, part) => mine.reduce((sum, n) => {
      const [dx, dy, du, dv] = [points[n][0] - x, points[n][1] - y, targets[n][0] - u, targets[n][1] - v];
      return sum + [dx * dx, dx * dy, dy * dy, dx * du, dx * dv, dy * du, dy * dv][part];
    }, 0));
    const [a, b] = solve([[xx, xy, xu, xv], [xy, yy, yu, yv]]);
    for (const n of mine) {
      const [dx, dy] = [points[n][0] - x, points[n][1] - y];
      missed[n] = (u + a[0] * dx + b[0] * dy - targets[n][0]) ** 2 + (v + a[1] * dx + b[1] * dy - targets[n][1]) ** 2;
    }
  }
  return missed;
}

/** @param {number[]} numbers */
export const total = (numbers) => numbers.reduce((sum, number) => sum + number, 0);

/** The pairs of experts that directions choose, all around, each stretch of directions once. With two experts for each token only its direction counts. @param {Point[]} arrows @returns {Stretch[]} */
export function pairs(arrows) {
  const turns = new Set([0]);
  arrows.forEach((one, i) => {
    for (const other of arrows.slice(i + 1)) {
      const turn = Math.atan2(one[0] - other[0], -(one[1] - other[1])); // where both logits are equal, and half a turn further
      for (const way of [turn, turn + Math.PI]) turns.add((way + 4 * Math.PI) % (2 * Math.PI));
    }
  });
  const stops = [...turns].sort((a, b) => a - b);
  /** @type {Stretch[]} */
  const found = [];
  stops.forEach((from, n) => {
    const width = (n + 1 < stops.length ? stops[n + 1] : stops[0] + 2 * Math.PI) - from;
    if (width < NEAR) return;
    const pair = firstTwo(arrows, from + width / 2);
    const last = found.at(-1);
    if (last?.pair === pair) last.width += width;
    else found.push({ pair, width, middle: from });
  });
  if (found.length > 1 && found[0].pair === found.at(-1)?.pair) {
    const last = /** @type {Stretch} */ (found.pop());
    found[0].middle = last.middle - 2 * Math.PI;
    found[0].width += last.width;
  }
  for (const stretch of found) stretch.middle += stretch.width / 2; // until here: where it begins
  return found;
}

/** The two experts with the largest logits in a direction, as "0 3". @param {Point[]} arrows @param {number} turn */
export function firstTwo(arrows, turn) {
  /** @type {Point} */
  const way = [Math.cos(turn), Math.sin(turn)];
  const order = arrows.map((_, e) => e).sort((a, b) => dot(arrows[b], way) - dot(arrows[a], way));
  return order.slice(0, 2).sort((a, b) => a - b).join(" ");
}
