// @ts-check
// Draw until you dare: two kinds with a lever each. A pull draws one of the stored runs and drops a dot; whoever dares sees where a thousand others were.
import { choice, set, shape } from "./marks.js";
import { element, number, plural, wholeNumber } from "./runtime.js";

/** @typedef {{label: string, runs: number[]}} Kind  its runs, as shares from 0 to 1 */
/** @typedef {{name: string, title: string, kinds: Kind[], better: number, covered: boolean}} Level  better is -1 where both levers draw from the same runs */
/** @typedef {{first: number, neither: number, second: number}} Others  which kind is ahead, as probabilities */

const OTHERS = 1000;
const COLUMNS = 50; // of the squares that stand for the others
const LEAST = 0.4; // where the axis begins
const [LEFT, RIGHT] = [14, 16]; // margins, in pixels
const HIGH = 92; // of the picture of one kind
const SIDES = ["first", "second"];

/** Of so many pulls, the probability of each number of runs that found the rule. @param {number} pulls @param {number} share */
export function chances(pulls, share) {
  let row = [1];
  for (let n = 0; n < pulls; n++) {
    const next = Array(row.length + 1).fill(0);
    row.forEach((chance, hits) => {
      next[hits] += chance * (1 - share);
      next[hits + 1] += chance * share;
    });
    row = next;
  }
  return row;
}

/** Which kind is ahead for whoever pulls so often: the one of whose pulls a larger share found the rule. @param {number[]} pulls @param {number[]} shares @returns {Others} */
export function others(pulls, shares) {
  const [rows, sum] = [pulls.map((count, n) => chances(count, shares[n])), { first: 0, neither: 0, second: 0 }];
  rows[0].forEach((a, hits) => rows[1].forEach((b, more) => {
    const lead = hits * pulls[1] - more * pulls[0];
    sum[lead > 0 ? "first" : lead < 0 ? "second" : "neither"] += a * b;
  }));
  return sum;
}

/** Whole numbers of a thousand people, which add up to a thousand. @param {Others} share */
export function people({ first, second }) {
  const [a, b] = [Math.round(OTHERS * first), Math.round(OTHERS * second)];
  return { first: a, neither: OTHERS - a - b, second: b };
}

/** The groups of the thousand others. Where names are covered, it is not said how many have which kind ahead: equal groups would give the flag away. @param {Others} count @param {number} better */
export function crowdOf(count, better) {
  const neither = { many: count.neither, look: "lv-neither", name: "neither" };
  if (better < 0) return [{ many: count.first + count.second, look: "lv-ahead", name: "one of the two is ahead" }, neither];
  const [good, bad] = better === 1 ? [count.second, count.first] : [count.first, count.second];
  return [{ many: good, look: "lv-right", name: "the better one is ahead" }, neither, { many: bad, look: "lv-wrong", name: "the worse one is ahead" }];
}

/** @param {any} state @param {any} data @returns {Level} */
const levelOf = (state, data) => data.levels[state.level];
/** @param {number[]} runs @param {any} data */
const shareFound = (runs, data) => runs.filter((run) => run >= data.threshold).length / runs.length;
/** @param {any} state @param {any} data */
const askOthers = (state, data) => others(state.pulls[state.level].map((/** @type {number[]} */ drawn) => drawn.length), levelOf(state, data).kinds.map(({ runs }) => shareFound(runs, data)));

/** Whether a level's dare is right, and would be for enough of those who stop there; then how many pulls it took. @param {string} name */
const won = (name) => (/** @type {any} */ state, /** @type {any} */ data) => {
  const { name: here, better } = levelOf(state, data);
  if (here !== name || state.dared[state.level] !== better || better < 0) return false;
  return people(askOthers(state, data))[SIDES[better]] >= data.sure && state.pulls[state.level].flat().length;
};

/** @type {import("./runtime.js").Board} */
export const board = {
  start: (data) => ({ level: 0, pulls: data.levels.map(() => [[], []]), dared: data.levels.map(() => -1) }),
  goals: { without: won("without"), equal: won("equal") },
  level: (state, data) => levelOf(state, data).name,
  tries: (name, state, before, data) => levelOf(state, data).name === name && state.dared[state.level] >= 0,
  stage,
};

/** @param {HTMLElement} place @param {import("./runtime.js").Play} play @returns {import("./runtime.js").Stage} */
function stage(place, play) {
  const { data } = play;
  const tabs = choice("Level", data.levels.map((/** @type {Level} */ { title }) => title), (level) => play.move({ level }));
  const rows = [0, 1].map((side) => {
    const label = element("b");
    const count = element("span", { class: "lv-count" });
    const press = (/** @type {number} */ times) => element("button", { type: "button", class: "wr-press lv-pull", onclick: () => pull(side, times) }, times === 1 ? "Pull" : `Pull ${times}`);
    const svg = shape("svg", { class: "wr-picture lv-strip", "aria-hidden": "true" });
    const dare = element("button", { type: "button", class: "wr-press lv-dare", onclick: () => play.move({ dared: replaced(play.state().dared, side) }) });
    return { label, count, svg, dare, whole: element("div", { class: `lv-kind lv-${SIDES[side]}` }, element("div", { class: "lv-head" }, label, count, element("span", { class: "lv-hands" }, press(1), press(5), dare)), svg) };
  });
  const crowd = shape("svg", { class: "wr-picture lv-crowd", "aria-hidden": "true" });
  const key = element("p", { class: "lv-key" });
  const caption = element("p", { class: "lv-caption" }, "Each dot is a run: in how many of 1,792 new scenes, in %, it says over or into rightly. Right of the dashed line, from 95 % on, it has found the rule.");
  place.append(tabs.whole, caption, ...rows.map(({ whole }) => whole), crowd, key);

  /** One thing of the level that is shown, in a list with a thing for each level. @template T @param {T[]} list @param {T} thing @returns {T[]} */
  function replaced(list, thing) {
    return list.map((old, n) => (n === play.state().level ? thing : old));
  }

  /** @param {number} side @param {number} times */
  function pull(side, times) {
    const state = play.state();
    const { runs } = levelOf(state, data).kinds[side];
    const drawn = Array.from({ length: times }, () => Math.floor(Math.random() * runs.length));
    const own = state.pulls[state.level].map((/** @type {number[]} */ old, /** @type {number} */ n) => (n === side ? [...old, ...drawn].slice(0, data.most) : old));
    play.move({ pulls: replaced(state.pulls, own), dared: replaced(state.dared, -1) });
  }

  /** @param {any} state @param {number} side @param {boolean} fresh  whether its last dot has just been drawn */
  function strip(state, side, fresh) {
    const wide = Math.max(place.clientWidth, 280);
    const { runs } = levelOf(state, data).kinds[side];
    const x = (/** @type {number} */ share) => LEFT + ((wide - LEFT - RIGHT) * (Math.max(share, LEAST) - LEAST)) / (1 - LEAST);
    const base = HIGH - 20;
    const stacks = new Map();
    const drawn = state.pulls[state.level][side].map((/** @type {number} */ run) => {
      const column = Math.round(x(runs[run]) / 8);
      stacks.set(column, (stacks.get(column) ?? 0) + 1);
      return { x: x(runs[run]), height: stacks.get(column) };
    });
    const step = Math.min(9, (base - 12) / Math.max(1, ...stacks.values()));
    const { svg } = rows[side];
    set(svg, { width: wide, height: HIGH, viewBox: `0 0 ${wide} ${HIGH}` });
    const ticks = [0.4, 0.5, 0.6, 0.7, 0.8, 0.9, 1].map((share) => shape("text", { class: "wr-tick", x: x(share), y: HIGH - 4 }, number(100 * share, 0)));
    svg.replaceChildren(
      shape("rect", { class: "lv-ground", x: x(data.threshold), y: 4, width: wide - x(data.threshold) - 4, height: base - 4 }),
      shape("line", { class: "wr-axis", x1: LEFT, x2: wide - 4, y1: base, y2: base }),
      shape("line", { class: "lv-line", x1: x(data.threshold), x2: x(data.threshold), y1: 4, y2: base }),
      ...ticks,
      ...drawn.map((/** @type {any} */ dot, /** @type {number} */ n) => shape("circle", { class: `lv-dot ${n === drawn.length - 1 ? "lv-last" : ""} ${fresh && n === drawn.length - 1 ? "lv-fresh" : ""}`, cx: dot.x, cy: base - 5 - step * (dot.height - 1), r: 4.5 })),
    );
  }

  /** The others, a square each. @param {any} state */
  function gather(state) {
    const shown = state.dared[state.level] >= 0;
    crowd.toggleAttribute("hidden", !shown);
    key.hidden = !shown;
    if (!shown) return;
    const { better } = levelOf(state, data);
    const count = people(askOthers(state, data));
    const groups = crowdOf(count, better);
    const cell = Math.min(Math.floor(Math.max(place.clientWidth, 280) / COLUMNS), 10);
    const high = (OTHERS / COLUMNS) * cell;
    set(crowd, { width: COLUMNS * cell, height: high, viewBox: `0 0 ${COLUMNS * cell} ${high}` });
    let begun = 0;
    crowd.replaceChildren(...groups.map(({ many, look }) => {
      const squares = Array.from({ length: many }, (_, k) => {
        const [column, row] = [(begun + k) % COLUMNS, Math.floor((begun + k) / COLUMNS)];
        return `M${column * cell} ${row * cell}h${cell - 1}v${cell - 1}h${1 - cell}z`;
      });
      begun += many;
      return shape("path", { class: `lv-person ${look}`, d: squares.join("") });
    }));
    key.replaceChildren(...groups.map(({ many, look, name }) => element("span", {}, element("i", { class: look }), `${name}: ${wholeNumber(many)}`)));
  }

  return {
    draw(state, before) {
      const level = levelOf(state, data);
      tabs.show(state.level);
      const counts = state.pulls[state.level].map((/** @type {number[]} */ drawn) => drawn.length);
      rows.forEach(({ label, count, dare }, side) => {
        label.textContent = level.kinds[side].label;
        count.textContent = said(level, state, side, data);
        dare.textContent = "This one is better";
        dare.disabled = counts.includes(0);
        dare.setAttribute("aria-pressed", String(state.dared[state.level] === side));
        strip(state, side, before !== null && before.level === state.level && before.pulls[state.level][side].length < counts[side]);
      });
      gather(state);
    },
    words: (state) => described(state, data),
  };
}

/** What was pulled of a kind. @param {Level} level @param {any} state @param {number} side @param {any} data */
function said({ kinds }, state, side, data) {
  const drawn = state.pulls[state.level][side];
  const found = drawn.filter((/** @type {number} */ run) => kinds[side].runs[run] >= data.threshold).length;
  return drawn.length ? `${found} of ${drawn.length} found the rule` : "not pulled yet";
}

/** @param {any} state @param {any} data */
function described(state, data) {
  const level = levelOf(state, data);
  const [first, second] = [0, 1].map((side) => `${level.kinds[side].label}: ${said(level, state, side, data)}`);
  const dared = state.dared[state.level];
  if (dared < 0) return `${first}. ${second}.`;
  const count = people(askOthers(state, data));
  const pulls = state.pulls[state.level].map((/** @type {number[]} */ drawn) => drawn.length);
  const stop = pulls[0] === pulls[1] ? `after ${plural(pulls[0], "pull")} of each` : `after ${pulls[0]} and ${plural(pulls[1], "pull")}`;
  const they = `Of a thousand others who stop ${stop}`;
  if (level.better < 0) return `${they}, ${count.first + count.second} have one of the two ahead, and ${count.neither} neither.`;
  const ahead = SIDES[level.better];
  const yours = dared === level.better ? "You chose the better kind." : "You chose the worse kind.";
  return `${yours} ${they}, ${count[/** @type {keyof Others} */ (ahead)]} have the better one ahead, ${count[/** @type {keyof Others} */ (SIDES[1 - level.better])]} the worse one, and ${count.neither} neither.`;
}
