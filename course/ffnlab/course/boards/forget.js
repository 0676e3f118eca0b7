// @ts-check
// An FFN that knows facts about people. Its neurons can be pressed out until somebody forgets ("forget"), in stores that are more or less full ("fill"); and
// one neuron can be written by hand ("write").
import { select } from "./d3.js";
import { Store, lead, ranked } from "./forget_model.js";
import { element, number, percent, wholeNumber } from "./runtime.js";

const NEAR = 2; // a fact with a smaller lead is close to being forgotten
const NAMED = 6; // others who are named when they forget
const SVG = "http://www.w3.org/2000/svg";

const stores = new WeakMap();

/** @param {any} data @returns {Store} */
function storeOf(data) {
  if (!stores.has(data)) stores.set(data, new Store(data.store));
  return stores.get(data);
}

/** @typedef {{row: ArrayLike<number>, right: number, says: number, lead: number, leads: number[], fires: boolean[], others: number[]}} Look */

/** @type {WeakMap<any, Look>} */
const looks = new WeakMap();

/**
 * What is seen of a state, computed once: the scores of the person's answers, whose right answer still leads and by how much, for whom a written neuron
 * fires, and who else gives another answer than before. @param {any} data @param {any} state @returns {Look}
 */
function look(data, state) {
  const known = looks.get(state);
  if (known) return known;
  const made = data.guise === "fill" ? lookAtFilled(data, state) : lookAtAll(data, state);
  looks.set(state, made);
  return made;
}

/** @param {any} data @param {any} state @returns {Look} */
function lookAtFilled(data, state) {
  const { right, scores, lamps } = data.stores[state.stop];
  const row = scores.map((/** @type {number} */ score, /** @type {number} */ c) => score - state.out.reduce((/** @type {number} */ sum, /** @type {number} */ j) => sum + lampOf(lamps, j).pushes[c], 0));
  return { row, right, says: ranked(row, 1)[0], lead: lead(row, right), leads: [], fires: [], others: [] };
}

/** @param {any[]} lamps @param {number} neuron */
const lampOf = (lamps, neuron) => lamps.find((lamp) => lamp.neuron === neuron);

/** @param {any} data @param {any} state @returns {Look} */
function lookAtAll(data, state) {
  const store = storeOf(data);
  const { fact } = data.people[state.person];
  const coefficients = data.guise === "write" ? written(data, state) : [];
  const scores = data.guise === "write" ? store.withOne(coefficients.map((h) => h * state.strength), data.answer) : store.without(state.out);
  const leads = store.right.map((_, n) => store.lead(scores, n));
  const row = scores.subarray(fact * store.C, (fact + 1) * store.C);
  const others = leads.flatMap((ahead, n) => (n !== fact && ahead <= 0 ? [n] : []));
  return { row, right: store.right[fact], says: ranked(row, 1)[0], lead: leads[fact], leads, fires: coefficients.map((h) => h > 0), others };
}

/** The coefficients of the neuron that is written by hand: [N]. @param {any} data @param {any} state */
function written(data, state) {
  const matches = storeOf(data).matches(data.people[state.person].fact);
  return Array.from(matches, (match) => Math.max(0, match - state.threshold));
}

/** @param {any} data @param {any} state @param {string} name */
const aloneFor = (data, state, name) => data.people[state.person].name === name && look(data, state).lead <= 0 && look(data, state).others.length === 0 && state.out.length;

/** @type {import("./runtime.js").Board} */
export const board = {
  start(data) {
    if (data.guise === "write") return { person: 0, threshold: 0, strength: 0, out: [] };
    return { person: 0, out: [], at: 0, ...(data.guise === "fill" && { stop: 0, won: false }) };
  },

  goals: {
    forgets: (state, data) => state.person === 0 && look(data, state).lead <= 0 && state.out.length,
    gofine: (state, data) => aloneFor(data, state, "Gofine"),
    godelu: (state, data) => aloneFor(data, state, "Godelu"),
    full: (state, data) => state.out.length === 1 && look(data, state).lead <= 0,
    written: (state, data) => look(data, state).says === data.answer && look(data, state).fires.filter(Boolean).length === 1,
  },

  // What was said of somebody goes away with them, and what was said of neurons with these.
  level(state, data) {
    if (data.guise !== "forget") return undefined;
    if (state.person === 0) return look(data, state).lead <= 0 ? "forgets" : "one";
    return data.people[state.person].name.toLowerCase();
  },

  tries(goal, state, _before, data) {
    if (goal === "one") return state.person === 0 && state.out.length === 1;
    return data.people[state.person].name === "Godelu" && state.out.length > 0;
  },

  stage(place, play) {
    const { data } = play;
    if (data.guise === "write") return writing(place, play);
    return pressing(place, play);
  },
};

/** The state after a neuron was pressed. @param {any} data @param {any} state @param {number} neuron @param {number} at */
export function press(data, state, neuron, at) {
  const out = state.out.includes(neuron) ? state.out.filter((/** @type {number} */ j) => j !== neuron) : [...state.out, neuron];
  const patch = { out, at };
  const won = data.guise === "fill" && (state.won || (out.length === 1 && look(data, { ...state, ...patch }).lead <= 0));
  return data.guise === "fill" ? { ...patch, won } : patch;
}

/** @param {any} data @param {any} state @returns {{neuron: number, adds: number}[]} */
function lampsOf(data, state) {
  if (data.guise === "fill") {
    const { right, lamps } = data.stores[state.stop];
    return lamps.map((/** @type {any} */ lamp) => ({ neuron: lamp.neuron, adds: lamp.pushes[right] }));
  }
  const { fact, lamps } = data.people[state.person];
  return lamps.map((/** @type {number} */ neuron) => ({ neuron, adds: storeOf(data).adds(neuron, fact) }));
}

/** Neurons that can be pressed out. @param {HTMLElement} place @param {import("./runtime.js").Play} play */
function pressing(place, play) {
  const { data } = play;
  const isFill = data.guise === "fill";
  const people = isFill ? filling(play) : chips(play);
  const tiles = Array.from({ length: data.lamps }, (_, n) => {
    const bar = element("i", { class: "fg-adds" });
    const name = element("span", { class: "fg-neuron" });
    const button = element("button", { type: "button", class: "fg-lamp", onclick: () => play.move(press(data, play.state(), lampsOf(data, play.state())[n].neuron, n)) }, element("span", { class: "fg-well", "aria-hidden": "true" }, bar), name);
    return { button, bar, name };
  });
  const lamps = element("div", { class: "fg-lamps", role: "toolbar", "aria-label": "Neurons: arrow keys go along them, Enter presses one out or in" }, ...tiles.map(({ button }) => button));
  lamps.addEventListener("keydown", (event) => {
    const by = { ArrowRight: 1, ArrowDown: 1, ArrowLeft: -1, ArrowUp: -1 }[event.key];
    if (!by) return;
    event.preventDefault();
    const at = tiles.findIndex(({ button }) => button === document.activeElement);
    tiles[(at + by + tiles.length) % tiles.length].button.focus();
  });
  const legend = element("p", { class: "fg-legend" });
  const scores = scoreBars();
  const squares = isFill ? null : squaresOf(data);
  const curves = isFill ? curvesOf(data) : null;
  place.append(people.place, lamps, legend, scores.place, ...(squares ? [squares.place] : []), ...(curves ? [curves.place] : []));

  /** @param {any} state */
  function draw(state) {
    const found = look(data, state);
    const lamps = lampsOf(data, state);
    const most = Math.max(...lamps.map(({ adds }) => adds));
    people.draw(state);
    lamps.forEach(({ neuron, adds }, n) => {
      const { button, bar, name } = tiles[n];
      const isOut = state.out.includes(neuron);
      button.classList.toggle("fg-out", isOut);
      button.setAttribute("aria-pressed", String(isOut));
      button.setAttribute("aria-label", `neuron ${neuron}, adds ${number(adds, 1)}${isOut ? ", out" : ""}`);
      button.tabIndex = n === state.at ? 0 : -1;
      bar.style.height = `${(100 * Math.max(adds, 0)) / most}%`;
      name.textContent = String(neuron);
    });
    legend.textContent = `Sixteen neurons that push “${data.likes[found.right]}” for ${data.people[state.person].name}. The bar says how much each adds to its score.`;
    scores.draw(data.likes, found);
    squares?.draw(data, state, found);
    curves?.draw(state);
  }

  /** @param {any} state */
  function words(state) {
    const found = look(data, state);
    const { name } = data.people[state.person];
    const answer = data.likes[found.right];
    const out = state.out.length ? `Out: ${[...state.out].sort((a, b) => a - b).join(", ")}. ` : "";
    const his = found.lead > 0 ? `${name} likes ${answer}, ${number(found.lead, 1)} ahead of the next answer.` : `${name} has forgotten: the store says “${data.likes[found.says]}”.`;
    if (isFill) {
      const { count, carriers } = data.stores[state.stop];
      return `${out}${wholeNumber(count)} facts in 128 neurons. ${his} ${name}’s fact is spread as if ${number(carriers, 0)} equal neurons carried it.`;
    }
    return `${out}${his} ${told(data, found.others, state.out.length)}`;
  }
  return { draw, words };
}

/** Who else has forgotten, in words. @param {any} data @param {number[]} others @param {number} out */
function told(data, others, out) {
  if (!others.length) return out ? "Nobody else has forgotten anything." : "";
  const names = others.slice(0, NAMED).map((n) => `${data.names[n]} (${data.likes[data.store.right[n]]})`);
  const rest = others.length - names.length;
  return `${others.length} ${others.length === 1 ? "other has" : "others have"} forgotten: ${names.join(", ")}${rest > 0 ? ` and ${rest} more` : ""}.`;
}

/** The people, one of whom is chosen. @param {import("./runtime.js").Play} play */
function chips(play) {
  const made = play.data.people.map((/** @type {any} */ person, /** @type {number} */ n) => {
    const radio = /** @type {HTMLInputElement} */ (element("input", { type: "radio", name: `fg-${play.data.guise}`, onchange: () => play.move({ person: n, out: [], at: 0 }) }));
    return { radio, label: element("label", { class: "fg-chip" }, radio, person.name) };
  });
  const place = element("form", { class: "fg-people", role: "radiogroup", "aria-label": "Who shall forget?" }, ...made.map((/** @type {any} */ chip) => chip.label));
  return { place, draw: (/** @type {any} */ state) => made.forEach((/** @type {any} */ chip, /** @type {number} */ n) => (chip.radio.checked = n === state.person)) };
}

/** The slider that fills the store. @param {import("./runtime.js").Play} play */
function filling(play) {
  const { stores: all } = play.data;
  const slider = /** @type {HTMLInputElement} */ (element("input", { type: "range", min: 0, max: all.length - 1, step: 1, "aria-label": "facts in the store", oninput: (/** @type {any} */ event) => play.move({ stop: Number(event.target.value), out: [], at: 0 }) }));
  const says = element("b", { class: "fg-count" });
  const place = element("div", { class: "fg-slide" }, element("span", {}, "facts in the store"), slider, says);
  return {
    place,
    draw(/** @type {any} */ state) {
      const { count } = all[state.stop];
      slider.value = state.stop;
      slider.setAttribute("aria-valuetext", `${wholeNumber(count)} facts`);
      says.textContent = wholeNumber(count);
    },
  };
}

/** The right answer's score and those of the three best others, as bars from the lowest of them. */
function scoreBars() {
  const rows = Array.from({ length: 4 }, () => {
    const [name, bar, value] = [element("span", { class: "fg-answer" }), element("i"), element("span", { class: "fg-value" })];
    return { name, bar, value, row: element("div", { class: "fg-score" }, name, element("span", { class: "fg-track", "aria-hidden": "true" }, bar), value) };
  });
  const place = element("div", { class: "fg-scores" }, ...rows.map(({ row }) => row));
  /** @param {string[]} likes @param {Look} found */
  function draw(likes, { row, right, says }) {
    const shown = [right, ...ranked(row, 4).filter((c) => c !== right)].slice(0, 4);
    const low = Math.min(0, ...shown.map((c) => row[c]));
    const high = Math.max(30, ...shown.map((c) => row[c]));
    const digits = new Set(shown.map((c) => number(row[c], 1))).size < shown.length ? 2 : 1; // two that look level get a second digit
    shown.forEach((c, n) => {
      rows[n].name.textContent = `${c === says ? "▸ " : ""}${likes[c]}`;
      rows[n].bar.style.width = `${(100 * (row[c] - low)) / (high - low)}%`;
      rows[n].value.textContent = number(row[c], digits);
      rows[n].row.classList.toggle("fg-right", c === right);
      rows[n].row.classList.toggle("fg-says", c === says);
    });
  }
  return { place, draw };
}

/** All facts, a square each. @param {any} data */
function squaresOf(data) {
  const svg = document.createElementNS(SVG, "svg");
  svg.setAttribute("class", "fg-squares");
  svg.setAttribute("role", "img");
  const legend = element("p", { class: "fg-legend" }, element("i", { class: "fg-key fg-near" }), ` the lead is below ${NEAR}. `, element("i", { class: "fg-key fg-lost" }), data.guise === "write" ? " another answer than before. " : " forgotten. ", "The ring: the person.");
  const place = element("div", { class: "fg-all" }, svg, legend);
  /** @param {any} data @param {any} state @param {Look} found */
  function draw(data, state, found) {
    const width = Math.max(place.clientWidth, 300);
    const columns = width < 560 ? 32 : 64;
    const pitch = width / columns;
    const rows = Math.ceil(found.leads.length / columns);
    svg.setAttribute("viewBox", `0 0 ${width} ${rows * pitch}`);
    svg.setAttribute("height", String(rows * pitch));
    svg.setAttribute("aria-label", `${found.leads.length} facts, ${found.others.length} lost besides`);
    const me = data.people[state.person].fact;
    select(svg)
      .selectAll("rect")
      .data(found.leads)
      .join("rect")
      .attr("x", (/** @type {number} */ _, /** @type {number} */ n) => (n % columns) * pitch + 1)
      .attr("y", (/** @type {number} */ _, /** @type {number} */ n) => Math.floor(n / columns) * pitch + 1)
      .attr("width", pitch - 2)
      .attr("height", pitch - 2)
      .attr("rx", 1.5)
      .attr("class", (/** @type {number} */ ahead, /** @type {number} */ n) => `fg-square ${ahead <= 0 ? "fg-lost" : ahead < NEAR ? "fg-near" : ""} ${n === me ? "fg-me" : ""}`);
  }
  return { place, draw };
}

/** Fifteen other stores at each filling: what is lost without its strongest neuron, and over how many neurons a fact is spread. Seen once one press was enough. @param {any} data */
function curvesOf(data) {
  const counts = data.stores.map((/** @type {any} */ store) => store.count);
  const panels = [
    { title: "lost without its strongest neuron", runs: data.runs.lost, top: 1, says: percent },
    { title: "neurons that carry a fact", runs: data.runs.carriers, top: 20, says: (/** @type {number} */ value) => number(value, 0) },
  ].map((panel) => ({ ...panel, svg: document.createElementNS(SVG, "svg") }));
  const place = element(
    "div",
    { class: "fg-curves" },
    ...panels.map(({ title, svg }) => element("figure", {}, element("figcaption", {}, title), svg)),
    element("p", { class: "fg-legend" }, "A stroke for each of fifteen other stores, 128 neurons each; from left to right 64 to 2,048 facts."),
  );
  /** @param {any} state */
  function draw(state) {
    place.hidden = !state.won;
    for (const { svg, runs, top, title, says } of panels) {
      const [width, height, left, right, bottom, above] = [300, 130, 44, 20, 20, 8];
      const x = (/** @type {number} */ stop) => left + ((width - left - right) * stop) / (counts.length - 1);
      const y = (/** @type {number} */ value) => above + (height - above - bottom) * (1 - value / top);
      const path = (/** @type {number[]} */ run) => run.map((value, stop) => `${stop ? "L" : "M"}${x(stop)} ${y(value)}`).join("");
      const here = runs.map((/** @type {number[]} */ run) => run[state.stop]).sort((/** @type {number} */ a, /** @type {number} */ b) => a - b);
      svg.setAttribute("viewBox", `0 0 ${width} ${height}`);
      svg.setAttribute("role", "img");
      svg.setAttribute("aria-label", `${title}: with ${counts[state.stop]} facts ${says(here[0])} to ${says(here[here.length - 1])} in fifteen stores`);
      svg.innerHTML =
        `<line class="fg-axis" x1="${left}" x2="${width - right}" y1="${y(0)}" y2="${y(0)}"/><line class="fg-here" x1="${x(state.stop)}" x2="${x(state.stop)}" y1="${above}" y2="${y(0)}"/>` +
        [0, top / 2, top].map((value) => `<text x="${left - 6}" y="${y(value) + 4}" text-anchor="end">${says(value)}</text>`).join("") +
        counts.map((/** @type {number} */ count, /** @type {number} */ stop) => `<text x="${x(stop)}" y="${height - 4}" text-anchor="middle">${count}</text>`).join("") +
        runs.map((/** @type {number[]} */ run) => `<path class="fg-run" d="${path(run)}"/>`).join("");
    }
  }
  return { place, draw };
}

/** One neuron that is written by hand. @param {HTMLElement} place @param {import("./runtime.js").Play} play */
function writing(place, play) {
  place.classList.add("fg-writing"); // here the new answer is what is wanted
  const { data } = play;
  const store = storeOf(data);
  const { fact, name } = data.people[0];
  const matches = store.matches(fact);
  const answer = data.likes[data.answer];
  const [low, high] = [-6, Math.ceil(matches[fact])];
  const slide = (/** @type {string} */ label, /** @type {string} */ key, /** @type {number} */ from, /** @type {number} */ to) => {
    const input = /** @type {HTMLInputElement} */ (element("input", { type: "range", min: from, max: to, step: 0.1, "aria-label": label, oninput: (/** @type {any} */ event) => play.move({ [key]: Number(event.target.value) }) }));
    const says = element("b", { class: "fg-count" });
    return { key, input, says, row: element("div", { class: "fg-slide" }, element("span", {}, label), input, says) };
  };
  const sliders = [slide("threshold", "threshold", low, high), slide("strength", "strength", 0, 20)];
  const svg = document.createElementNS(SVG, "svg");
  svg.setAttribute("class", "fg-strip");
  svg.setAttribute("role", "img");
  const scores = scoreBars();
  const squares = squaresOf(data);
  place.append(...sliders.map(({ row }) => row), svg, element("p", { class: "fg-legend" }, `A dot for each of the ${store.N} questions: how well it matches ${name}’s. Right of the line the new neuron fires.`), scores.place, squares.place);

  /** @param {any} state */
  function draw(state) {
    const found = look(data, state);
    const width = Math.max(place.clientWidth, 300);
    const x = (/** @type {number} */ match) => 10 + ((width - 20) * (match - low)) / (high - low);
    for (const { key, input, says } of sliders) {
      input.value = state[key];
      says.textContent = number(state[key], 1);
    }
    const fires = found.fires.filter(Boolean).length;
    svg.setAttribute("viewBox", `0 0 ${width} 64`);
    svg.setAttribute("height", "64");
    svg.setAttribute("aria-label", `the new neuron fires for ${fires} of ${store.N} questions`);
    select(svg)
      .selectAll("circle")
      .data([...matches])
      .join("circle")
      .attr("cx", x)
      .attr("cy", (/** @type {number} */ _, /** @type {number} */ n) => (n === fact ? 32 : 8 + ((n * 29) % 48)))
      .attr("r", (/** @type {number} */ _, /** @type {number} */ n) => (n === fact ? 7 : 3))
      .attr("class", (/** @type {number} */ _, /** @type {number} */ n) => `fg-dot ${found.fires[n] ? "fg-fires" : ""} ${n === fact ? "fg-me" : ""}`);
    select(svg).selectAll("line").data([state.threshold]).join("line").attr("class", "fg-here").attr("x1", x).attr("x2", x).attr("y1", 0).attr("y2", 64);
    scores.draw(data.likes, found);
    squares.draw(data, state, found);
  }

  /** @param {any} state */
  function words(state) {
    const found = look(data, state);
    const fires = found.fires.filter(Boolean).length;
    const own = found.says === data.answer ? `The store says that ${name} likes ${answer}.` : `The store still says that ${name} likes ${data.likes[found.says]}.`;
    const others = found.others.length ? `${found.others.length} ${found.others.length === 1 ? "other answer has" : "other answers have"} changed.` : "No other answer has changed.";
    return `The new neuron fires for ${fires} of ${store.N} questions and pushes “${answer}”. ${own} ${others}`;
  }
  return { draw, words };
}
