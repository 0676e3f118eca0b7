// @ts-check
// Neurons of a real model as lamps over a sentence. In one guise a reader gives them names; in the other a sentence is to break a name.
import { element, number } from "./runtime.js";

const NEGATION = /\b(not|no|never|none|nobody|nothing|nowhere|neither|nor|cannot|without)\b|n['’]t\b/i;
const NOT = /\bnot\b|n['’]t\b/i;
const FULL = 5; // a lamp that is so active is fully lit

/** @typedef {{tokens: string[], acts: number[][]}} Reading  acts: by token and lamp, in steps */

/** The reading of a state's sentence. @param {any} data @param {any} state @returns {Reading} */
export const reading = (data, state) => state.own ?? data.stored[state.text];

/** How active a lamp is at each token. @param {any} data @param {any} state @param {number} lamp */
export const levels = (data, state, lamp) => reading(data, state).acts.map((row) => row[lamp] / data.steps);

/** How active a lamp is at a word, at most; the model's own two tokens do not count. @param {any} data @param {any} state @param {number} lamp */
export const loudest = (data, state, lamp) => Math.max(...levels(data, state, lamp).slice(1, -1));

/** The state after a lamp was given a name. @param {any} data @param {any} state @param {number} lamp @param {string} name */
export function call(data, state, lamp, name) {
  const { name: letter, is } = data.lamps[lamp];
  const seen = state.seen[lamp];
  if (!name) return { names: { ...state.names, [lamp]: "" }, note: "" };
  if (!seen) return { note: `Lamp ${letter} has not been lit yet. Find a sentence that lights it.` };
  if (name !== is) return { names: { ...state.names, [lamp]: "" }, wrong: state.wrong + 1, note: `Lamp ${letter} does not hear “${name}”. Change one word and look again.` };
  return { names: { ...state.names, [lamp]: name }, note: `Lamp ${letter} hears ${is === "not" ? "“not”" : is}. That name holds on most other sentences, too.` };
}

/** The records after a sentence that was chosen or written: 1265's loudest without a negation, and its quietest with a *not*. @param {any} data @param {any} state */
function records(data, state) {
  const { loud = -1, quiet = Infinity } = state.best ?? {};
  const most = loudest(data, state, 1);
  const best = { ...state.best };
  if (!NEGATION.test(state.text) && most > loud) best.loud = most;
  if (NOT.test(state.text) && most < quiet) best.quiet = most;
  return best;
}

/** The state after another sentence was read. @param {any} data @param {any} state @param {any} patch */
export function turn(data, state, patch) {
  const then = { ...state, ...patch, note: "", error: "" };
  if (data.guise === "two" && then.moved) patch = { ...patch, best: records(data, then) };
  const seen = data.lamps.map((/** @type {any} */ _, /** @type {number} */ lamp) => state.seen[lamp] || Math.max(...levels(data, then, lamp)) > data.lit);
  return { ...patch, seen, note: "", error: "" };
}

/** @param {any} data */
const isNamed = (/** @type {any} */ state, /** @type {any} */ data, /** @type {string} */ name = "") =>
  data.lamps.every((/** @type {any} */ lamp, /** @type {number} */ n) => (name && lamp.is !== name) || state.names[n] === lamp.is);

/** @type {import("./runtime.js").Board} */
export const board = {
  start: (data) => {
    const state = { text: data.begin, picks: data.slots.map(() => 0), own: null, names: {}, wrong: 0, note: "", error: "", moved: false, seen: data.lamps.map(() => false) };
    return { ...state, ...turn(data, state, {}) };
  },

  goals: {
    hear: (state, data) => isNamed(state, data, "not"),
    all: (state, data) => isNamed(state, data),
    sound: (state, data) => state.moved && loudest(data, state, 1) >= data.loud && !NEGATION.test(state.text),
    deaf: (state, data) => state.moved && loudest(data, state, 1) < data.quiet && NOT.test(state.text),
  },

  stage(place, play) {
    const { data } = play;
    const isNaming = data.guise === "eight";

    const slots = data.slots.map((/** @type {string[]} */ texts, /** @type {number} */ n) => {
      const select = /** @type {HTMLSelectElement} */ (element("select", { class: "er-slot", "aria-label": `part ${n + 1} of the sentence`, onchange: pick }, ...texts.map((text, k) => element("option", { value: k }, text))));
      return select;
    });
    const list = /** @type {HTMLSelectElement} */ (
      element("select", { class: "er-list", "aria-label": "a stored sentence", onchange: () => show(list.value) }, ...Object.keys(data.slots.length || data.typed ? {} : data.stored).map((text) => element("option", { value: text }, text)))
    );
    const field = /** @type {HTMLInputElement} */ (element("input", { type: "text", class: "er-own", maxlength: 120, "aria-label": "your own sentence", placeholder: "or write your own sentence" }));
    const form = element("form", { class: "er-form", onsubmit: own }, field, element("button", { type: "submit", class: "er-read" }, "Read it"));
    const error = element("p", { class: "er-error", role: "status" });
    const grid = element("div", { class: "er-grid", tabindex: 0, role: "group", "aria-label": "the neurons over the sentence" });
    const note = element("p", { class: "er-note", role: "status" });
    if (slots.length) place.append(element("div", { class: "er-slots" }, ...slots));
    if (list.options.length) place.append(list);
    if (data.typed || slots.length) place.append(form);
    form.hidden = !data.typed;
    place.append(error, grid, note);

    const head = element("div", { class: "er-row er-head" });
    const rows = data.lamps.map((/** @type {any} */ lamp, /** @type {number} */ n) => {
      const strip = element("span", { class: "er-cells", role: "img" });
      const letter = element("span", { class: "er-letter" }, lamp.where ? `${lamp.name}, ${lamp.where}` : lamp.name);
      const row = element("div", { class: "er-row" }, letter, strip);
      const select = /** @type {HTMLSelectElement} */ (
        element("select", { class: "er-name", "aria-label": `what lamp ${lamp.name} hears`, onchange: () => play.move(call(data, play.state(), n, select.value)) },
          element("option", { value: "" }, "hears …"), ...data.names.map((/** @type {string} */ name) => element("option", { value: name }, name)))
      );
      if (isNaming) row.append(select);
      return { lamp, row, strip, select };
    });
    grid.append(head, ...rows.map((/** @type {any} */ made) => made.row));

    function pick() {
      const before = play.state().picks;
      const picks = slots.map((/** @type {HTMLSelectElement} */ select, /** @type {number} */ n) => (select.value === "" ? before[n] : Number(select.value)));
      show(picks.map((/** @type {number} */ k, /** @type {number} */ n) => data.slots[n][k]).join(" "), { picks });
    }

    /** @param {string} text @param {any} [more] */
    function show(text, more = {}) {
      play.move(turn(data, play.state(), { text, own: null, moved: true, ...more }));
    }

    /** @param {Event} event */
    async function own(event) {
      event.preventDefault();
      const text = field.value.trim();
      if (!text) return;
      try {
        const { value, error: problem } = await play.ask("read", text);
        if (problem) play.move({ error: problem.replace(/^\w+: /, "") });
        else play.move(turn(data, play.state(), { text, own: value, moved: true }));
      } catch {} // the runtime says that Python does not answer
    }

    /** @param {any} state */
    function draw(state) {
      const { tokens } = reading(data, state);
      // While a reader's own sentence is shown, no slot shows another one, and each text can be chosen.
      slots.forEach((/** @type {HTMLSelectElement} */ select, /** @type {number} */ n) => (select.value = state.own ? "" : String(state.picks[n])));
      if (list.options.length) list.value = state.text;
      error.textContent = state.error;
      note.textContent = state.note;
      head.replaceChildren(...tokens.map((token) => element("span", { class: "er-token" }, token)));
      rows.forEach((/** @type {any} */ made, /** @type {number} */ n) => {
        const cells = levels(data, state, n).map((level) => {
          const shown = element("span", { class: level > data.lit ? "er-lamp er-lit" : "er-lamp" }, isNaming ? "" : number(level, 1));
          shown.style.setProperty("--glow", String(Math.min(1, level / FULL)));
          return element("span", { class: "er-cell" }, shown);
        });
        made.strip.replaceChildren(...cells);
        made.strip.setAttribute("aria-label", told(state, made.lamp, n));
        made.row.classList.toggle("er-done", Boolean(state.names[n]));
        made.select.value = state.names[n] ?? "";
      });
    }

    /** Where a lamp is lit. @param {any} state @param {any} lamp @param {number} n */
    function told(state, lamp, n) {
      const { tokens } = reading(data, state);
      const lit = levels(data, state, n).flatMap((level, t) => (level > data.lit ? [`${tokens[t]} ${number(level, 1)}`] : []));
      return `lamp ${lamp.name}: ${lit.length ? `lit at ${lit.join(", ")}` : "dark"}`;
    }

    /** @param {any} state */
    function words(state) {
      if (isNaming) {
        const done = Object.values(state.names).filter(Boolean).length;
        return `${done} of ${data.lamps.length} lamps have a name${state.wrong ? `; wrong names: ${state.wrong}` : ""}.`;
      }
      const most = data.lamps.map((/** @type {any} */ lamp, /** @type {number} */ n) => `${lamp.name} reaches ${number(loudest(data, state, n), 1)}`);
      const { loud, quiet } = state.best ?? {};
      const best = [loud === undefined ? "" : `your loudest without a negation ${number(loud, 1)}`, quiet === undefined ? "" : `your quietest “not” ${number(quiet, 1)}`];
      const record = best.filter(Boolean).join(", ");
      return `“${state.text}”: ${most.join(", ")}.${record ? ` Records: ${record}.` : ""}`;
    }
    return { draw, words };
  },
};
