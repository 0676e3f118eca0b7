// @ts-check
// Arrows in a plane, one for each expert, that hands and keys move: the columns of a router.
import { clamp, knob, set, shape } from "./marks.js";
import { number, plural } from "./runtime.js";

/** @typedef {import("./marks.js").Frame} Frame */
/** @typedef {import("./router_model.js").Point} Point */

export const REACH = 3; // the plane is drawn from −REACH to REACH
const WIDEST = 430; // of the plane, in pixels
const NARROW = 560; // below this, what stands beside the plane is under it
const BESIDE = 220; // of what stands beside the plane, in pixels
const LONGEST = 2.7; // of an arrow
const GRID = 0.05; // on which a hand puts a tip
const STEP = 0.1; // of an arrow key

/** A tip where a hand can put it. @param {number} x @param {number} y @returns {Point} */
export function held(x, y) {
  const far = Math.hypot(x, y);
  const shrink = far > LONGEST ? LONGEST / far : 1;
  return /** @type {Point} */ ([x, y].map((value) => Math.round((value * shrink) / GRID) * GRID));
}

/** The direction of an arrow in degrees, from −180 to 180. @param {Point} arrow */
const degrees = ([x, y]) => Math.round((Math.atan2(y, x) * 180) / Math.PI);

/** The arrows of a board's level that a hand has put there. @param {any} state @returns {Point[]} */
export const handOf = (state) => state.hands[state.level];

/** What moves an arrow of the level that is played. @param {import("./runtime.js").Play} play */
export function turnIn(play) {
  return (/** @type {number} */ expert, /** @type {Point} */ to) => {
    const state = play.state();
    const moved = handOf(state).map((arrow, e) => (e === expert ? to : arrow));
    play.move({ hands: state.hands.map((/** @type {Point[]} */ hand, /** @type {number} */ n) => (n === state.level ? moved : hand)) });
  };
}

/** The empty plane of a board that has so much room. @param {HTMLElement} place @param {number} width */
export function planeIn(place, width) {
  const narrow = width < NARROW;
  const side = Math.min(width, WIDEST, narrow ? width : width - BESIDE);
  place.classList.toggle("ar-narrow", narrow);
  const svg = shape("svg", { class: "wr-picture ar-plane", width: side, height: side, viewBox: `0 0 ${side} ${side}` });
  return { narrow, side, svg };
}

/**
 * The arrows of a picture, and what draws them. Without `turn` nobody can move them.
 * @param {SVGElement} svg @param {Frame} at @param {number} count @param {((expert: number, to: Point) => void) | null} turn
 */
export function arrowsIn(svg, at, count, turn) {
  const lines = Array.from({ length: count }, (_, e) => svg.appendChild(shape("line", { class: `ar-line ar-e${e}`, x1: at.x(0), y1: at.y(0) })));
  svg.append(shape("circle", { class: "ar-middle", cx: at.x(0), cy: at.y(0), r: 4 }));
  /** @type {Point[]} */
  let now = [];
  const tips = Array.from({ length: count }, (_, e) => {
    const name = shape("text", { class: "ar-name", dy: "0.36em" }, String(e));
    if (!turn) {
      const tip = svg.appendChild(shape("g", { class: `ar-tip ar-e${e}` }, shape("circle", { r: 11, class: "wr-dot" }), name));
      return (/** @type {number} */ x, /** @type {number} */ y) => set(tip, { transform: `translate(${x.toFixed(1)} ${y.toFixed(1)})` });
    }
    const move = knob(svg, {
      label: `arrow of expert ${e}`, className: `ar-tip ar-e${e}`, way: "across", low: -180, high: 180,
      drag: (x, y) => turn(e, held(at.atX(x), at.atY(y))),
      key: (across, up) => turn(e, held(now[e][0] + STEP * across, now[e][1] + STEP * up)),
    });
    const made = /** @type {SVGElement} */ (svg.lastElementChild);
    set(/** @type {Element} */ (made.querySelector(".wr-dot")), { r: 11 });
    made.querySelector(".wr-grip")?.replaceWith(name);
    return (/** @type {number} */ x, /** @type {number} */ y) => move(x, y, degrees(now[e]), `${plural(degrees(now[e]), "degree")}, ${number(Math.hypot(...now[e]), 1)} long`);
  });
  return (/** @type {Point[]} */ arrows) => {
    now = arrows;
    arrows.forEach(([x, y], e) => {
      const [left, top] = [clamp(at.x(x), 12, at.right - 12), clamp(at.y(y), 12, at.bottom - 12)];
      set(lines[e], { x2: left.toFixed(1), y2: top.toFixed(1) });
      tips[e](left, top);
    });
  };
}
