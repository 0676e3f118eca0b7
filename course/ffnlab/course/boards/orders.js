// @ts-check
// One thing at a time: runs with eight drawings of the weights in eight orders of the sentences. Like a rook, a hand moves along a row or a column.
import { element, plural } from "./runtime.js";

/** @typedef {[number, number]} Cell  weights and order */
/** @typedef {{at: Cell, seen: Cell[]}} Walk */

/** @param {any} data @param {Cell} cell */
const found = (data, [weights, order]) => data.way[weights][order] >= data.threshold;
/** @param {Walk} walk @param {number} weights @param {number} order */
const isSeen = ({ seen }, weights, order) => seen.some(([w, o]) => w === weights && o === order);

/** Whether two uncovered runs that share one thing, 0 for the weights and 1 for the order, end otherwise. @param {Walk} walk @param {any} data @param {number} shared */
const differ = ({ seen }, data, shared) => seen.some((cell) => seen.some((other) => other[shared] === cell[shared] && found(data, cell) && !found(data, other)));

/** Whether four uncovered runs are an XOR: of two weights in two orders, each finds the rule in one order, and not in the same. @param {Walk} walk @param {any} data */
function crossed(walk, data) {
  return walk.seen.some(([w, o]) => found(data, [w, o]) && walk.seen.some(([v, p]) => v > w && p !== o && found(data, [v, p])
    && isSeen(walk, w, p) && isSeen(walk, v, o) && !found(data, [w, p]) && !found(data, [v, o])));
}

/** @type {import("./runtime.js").Board} */
export const board = {
  start: (data) => ({ at: data.start, seen: [data.start] }),
  goals: {
    order: (state, data) => differ(/** @type {any} */ (state), data, 0),
    weights: (state, data) => differ(/** @type {any} */ (state), data, 1),
    both: (state, data) => crossed(/** @type {any} */ (state), data),
  },
  tries: (_goal, state) => state.seen.length > 4,
  stage,
};

/** @param {HTMLElement} place @param {import("./runtime.js").Play} play @returns {import("./runtime.js").Stage} */
function stage(place, play) {
  const { data } = play;
  const many = data.way.length;
  const numbers = Array.from({ length: many }, (_, n) => n);
  const go = (/** @type {number} */ weights, /** @type {number} */ order) => {
    const state = play.state();
    if (weights !== state.at[0] && order !== state.at[1]) return;
    play.move({ at: [weights, order], seen: isSeen(/** @type {any} */ (state), weights, order) ? state.seen : [...state.seen, [weights, order]] });
  };
  const cells = numbers.map((weights) => numbers.map((order) => element("button", { type: "button", class: "or-cell", onclick: () => go(weights, order) })));
  const grid = element("div", { class: "or-grid", role: "group", "aria-label": "Runs: a row for each drawing of the weights, a column for each order. Arrow keys go one step." },
    element("span"), ...numbers.map((order) => element("span", { class: "or-name" }, String.fromCharCode(65 + order))),
    ...numbers.flatMap((weights) => [element("span", { class: "or-name" }, String(weights + 1)), ...cells[weights]]));
  grid.addEventListener("keydown", (event) => {
    const step = /** @type {Record<string, Cell>} */ ({ ArrowUp: [-1, 0], ArrowDown: [1, 0], ArrowLeft: [0, -1], ArrowRight: [0, 1] })[event.key];
    if (!step) return;
    event.preventDefault();
    const [weights, order] = play.state().at.map((/** @type {number} */ here, /** @type {number} */ n) => (here + step[n] + many) % many);
    go(weights, order);
    cells[weights][order].focus();
  });
  place.append(element("p", { class: "or-caption" }, "Rows: eight drawings of the weights. Columns: eight orders of the sentences. A number says in how many of 1,792 new scenes, in %, the run says over or into rightly. Framed: where you are. You can go along its row and its column."), grid);

  return {
    draw(state) {
      cells.forEach((row, weights) => row.forEach((cell, order) => {
        const seen = isSeen(/** @type {any} */ (state), weights, order);
        const here = state.at[0] === weights && state.at[1] === order;
        const can = weights === state.at[0] || order === state.at[1];
        const percent = Math.floor(100 * data.way[weights][order] + 1e-9);
        cell.textContent = seen ? String(percent) : "";
        cell.className = `or-cell ${seen ? (found(data, [weights, order]) ? "or-found" : "or-lost") : ""} ${here ? "or-here" : ""} ${can ? "or-can" : ""}`;
        cell.setAttribute("aria-label", `weights ${weights + 1}, order ${String.fromCharCode(65 + order)}: ${seen ? `${percent} %` : "covered"}`);
        cell.setAttribute("aria-disabled", String(!can));
        cell.setAttribute("tabindex", here ? "0" : "-1");
      }));
    },
    words(state) {
      const [weights, order] = state.at;
      const percent = Math.floor(100 * data.way[weights][order] + 1e-9);
      const has = state.seen.filter((/** @type {Cell} */ cell) => found(data, cell)).length;
      return `Weights ${weights + 1}, order ${String.fromCharCode(65 + order)}: right in ${percent} % of the new scenes, so it has ${found(data, state.at) ? "found" : "not found"} the rule. Uncovered so far: ${plural(state.seen.length, "run")}, of which ${has} found it.`;
    },
  };
}
