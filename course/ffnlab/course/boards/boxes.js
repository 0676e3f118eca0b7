// @ts-check
// Closed boxes that read one sentence. In one guise a reader changes its words, watches lamps and says which box is real; in the other the reader's function does.
import { observe } from "./boxes_model.js";
import { element, plural } from "./runtime.js";

const CHARGES = /** @type {const} */ (["real", "sideways", "favourite"]);
const SAYS = { real: "real", sideways: "looks sideways", favourite: "has a favourite" };
const BOTH = { real: "", sideways: " It also has a favourite.", favourite: " It also looks sideways." }; // what else is said of a box that breaks both rules
const COST = 5; // edits that a wrong verdict costs

/** @type {WeakMap<any, ReturnType<typeof observe>[]>} */
const looks = new WeakMap();

/** What is seen of each box in a state, computed once for each sentence. @param {any} data @param {any} state */
function look(data, state) {
  const known = looks.get(state.words);
  if (known) return known;
  const made = data.boxes.map((/** @type {any} */ box) => observe(box.layer, box.vectors, data.sentence, state.words));
  looks.set(state.words, made);
  return made;
}

/**
 * The evidence on each box, seen now or before. sideways: an output moved under an unchanged word. unequal: one word had two outputs, which can have two reasons.
 * favourite: the same while one word stood everywhere, so that only the position was different.
 * @param {any} data @param {any} state
 */
function evidence(data, state) {
  const isOneWord = state.words.every((/** @type {string} */ word) => word === state.words[0]);
  return look(data, state).map((lamps, n) => {
    const sideways = lamps.some(({ moved }, t) => moved > 0 && state.words[t] === data.sentence[t]);
    const unequal = lamps.some(({ twin, differs }) => twin >= 0 && differs);
    const old = state.evidence[n];
    return { sideways: old.sideways || sideways, unequal: old.unequal || unequal, favourite: old.favourite || (isOneWord && unequal) };
  });
}

/** By box and position, whether a lamp has ever been lit under a word that was left alone. @param {any} data @param {any} state */
function marks(data, state) {
  return look(data, state).map((lamps, n) => lamps.map(({ moved }, t) => state.marks[n][t] || (moved > 0 && state.words[t] === data.sentence[t])));
}

/** The state after a word was written at a place. @param {any} data @param {any} state @param {number} place */
export function write(data, state, place) {
  const [word, now] = [state.hand, state.words[place]];
  const next = now === word ? data.sentence[place] : word;
  if (next === now) return { note: `“${word}” is there already.` };
  const words = state.words.map((/** @type {string} */ other, /** @type {number} */ t) => (t === place ? next : other));
  const changed = state.changed.map((/** @type {boolean} */ before, /** @type {number} */ t) => before || words[t] !== data.sentence[t]);
  const patch = { words, changed, at: place, edits: state.edits + 1, note: "" };
  const then = { ...state, ...patch };
  return { ...patch, evidence: evidence(data, then), marks: marks(data, then) };
}

/** The state after a verdict on a box. @param {any} data @param {any} state @param {number} n @param {typeof CHARGES[number]} charge */
export function judge(data, state, n, charge) {
  const name = `Box ${n + 1}`;
  const { breaks } = data.boxes[n];
  const open = data.sentence.filter((/** @type {string} */ _, /** @type {number} */ t) => !state.changed[t]);
  if (charge === "real" && open.length) {
    const which = open.length > 4 ? `${open.length} words` : open.map((/** @type {string} */ word) => `“${word}”`).join(", ");
    return { note: `You can’t clear a box yet: ${which} ${open.length === 1 ? "is" : "are"} still unchanged.` };
  }
  if (charge === "real" && breaks.length) {
    return { edits: state.edits + COST, wrong: state.wrong + 1, note: `${name} is not real. You have not caught it yet. That costs ${COST} edits.` };
  }
  if (charge !== "real" && !state.evidence[n][charge]) return { note: refusal(name, state.evidence[n], charge) };
  return { verdicts: { ...state.verdicts, [n]: charge }, note: `${name}: ${SAYS[charge]}. That is right.${breaks.length > 1 ? BOTH[charge] : ""}` };
}

/** Why a charge is not heard. @param {string} name @param {{unequal: boolean}} found @param {"sideways" | "favourite"} charge */
function refusal(name, found, charge) {
  if (charge === "sideways") return `No evidence: no lamp of ${name.toLowerCase()} was lit under a word that you had left alone.`;
  if (!found.unequal) return `No evidence: there has been no ≠ in ${name.toLowerCase()} so far. Write the same word at two positions.`;
  return `No proof: ${name.toLowerCase()} gave one word two answers, but the words around were different, and it may have looked at them. Write one word everywhere. Is a ≠ left?`;
}

/** @param {any} state @param {any} data */
const settled = (state, data) => Object.keys(state.verdicts).length === data.boxes?.length;

/** @param {any} state @param {any} data */
const right = (state, data) => state.reports.length === data.count && state.reports.every((/** @type {any} */ report) => report.says === report.truth);

/** @type {import("./runtime.js").Board} */
export const board = {
  start: (data) =>
    data.guise === "inspector"
      ? { round: 0, reports: [] }
      : {
          words: data.sentence, hand: data.hand[0], at: 1, edits: 0, wrong: 0, verdicts: {}, note: "",
          changed: data.sentence.map(() => false), evidence: data.boxes.map(() => ({ sideways: false, unequal: false, favourite: false })),
          marks: data.boxes.map(() => data.sentence.map(() => false)),
        },

  goals: {
    charge: (state) => Object.values(state.verdicts).some((verdict) => verdict !== "real"),
    all: (state, data) => settled(state, data) && state.edits,
    right: (state, data) => right(state, data) && Math.max(...state.reports.map((/** @type {any} */ report) => report.sentences)),
  },

  stage: (place, play) => (play.data.guise === "inspector" ? inspector(place, play) : lineUp(place, play)),
};

/** The nine boxes, to be questioned by hand. @param {HTMLElement} place @param {import("./runtime.js").Play} play */
function lineUp(place, play) {
  const { data } = play;
  const chips = data.hand.map((/** @type {string} */ word) => {
    const radio = /** @type {HTMLInputElement} */ (element("input", { type: "radio", name: "hand", value: word, onchange: () => play.move({ hand: word, note: "" }) }));
    return { word, radio, label: element("label", { class: "bx-chip" }, radio, word) };
  });
  const form = element("form", { class: "bx-hand", role: "radiogroup", "aria-label": "The word that you write" }, "Write ", ...chips.map(({ label }) => label), " over a word:");

  const buttons = data.sentence.map((/** @type {string} */ _, /** @type {number} */ t) => {
    const text = element("span", { class: "bx-text" });
    return { text, button: element("button", { type: "button", class: "bx-word", onclick: () => play.move(write(data, play.state(), t)) }, text) };
  });
  const words = element("div", { class: "bx-words", role: "toolbar", "aria-label": "The sentence: arrow keys go along it, Enter writes over a word" }, ...buttons.map((/** @type {any} */ made) => made.button));
  words.addEventListener("keydown", (event) => {
    const by = { ArrowRight: 1, ArrowDown: 1, ArrowLeft: -1, ArrowUp: -1 }[event.key];
    if (!by) return;
    event.preventDefault();
    const at = buttons.findIndex((/** @type {any} */ made) => made.button === document.activeElement);
    buttons[(at + by + buttons.length) % buttons.length].button.focus();
  });

  const rows = data.boxes.map((/** @type {any} */ _, /** @type {number} */ n) => {
    const lamps = data.sentence.map(() => element("span", { class: "bx-lamp" }));
    const strip = element("div", { class: "bx-lamps", role: "img" }, ...lamps.map((/** @type {HTMLElement} */ lamp) => element("span", { class: "bx-cell" }, lamp)));
    const charges = CHARGES.map((charge) => {
      const press = () => play.move(judge(data, play.state(), n, charge));
      return element("button", { type: "button", class: "bx-charge", "aria-label": `box ${n + 1} ${charge === "real" ? "is real" : SAYS[charge]}`, onclick: press }, charge);
    });
    const verdict = element("span", { class: "bx-verdict" });
    const say = element("div", { class: "bx-say", role: "group", "aria-label": `verdict on box ${n + 1}` }, ...charges, verdict);
    return { lamps, strip, charges, verdict, row: element("div", { class: "bx-row" }, element("b", { class: "bx-name" }, String(n + 1)), strip, say) };
  });
  const note = element("p", { class: "bx-note", role: "status" });
  const count = element("p", { class: "bx-count" });
  place.append(
    form,
    element("div", { class: "bx-row bx-head" }, element("span", { class: "bx-name" }), words, element("span", { class: "bx-say" }, "what is it?")),
    ...rows.map((/** @type {any} */ made) => made.row),
    note, count,
    element("p", { class: "bx-legend" }, element("span", { class: "bx-lamp bx-lit" }), " this output has moved. ", element("span", { class: "bx-cell bx-was" }), " it has moved under a word that was left alone. ", element("b", {}, "="), " or ", element("b", {}, "≠"), " the word is here for the second time: its output is the same as the first time, or not."),
  );

  /** @param {any} state */
  function draw(state) {
    for (const { word, radio } of chips) radio.checked = word === state.hand;
    buttons.forEach((/** @type {any} */ made, /** @type {number} */ t) => {
      const isChanged = state.words[t] !== data.sentence[t];
      made.text.textContent = state.words[t];
      made.button.classList.toggle("bx-changed", isChanged);
      made.button.tabIndex = t === state.at ? 0 : -1;
      made.button.setAttribute("aria-label", `word ${t + 1}, “${state.words[t]}”${isChanged ? `, was “${data.sentence[t]}”` : ""}`);
    });
    look(data, state).forEach((known, n) => {
      const seen = state.edits ? known : known.map((lamp) => ({ ...lamp, twin: -1 })); // nothing has been asked before the first edit
      const { lamps, strip, charges, verdict, row } = rows[n];
      const lit = [];
      seen.forEach(({ moved, twin, differs }, t) => {
        const glow = moved ? 0.55 + 0.45 * Math.min(1, Math.max(0, 1 + Math.log10(moved) / 3)) : 0;
        lamps[t].style.setProperty("--glow", String(glow));
        lamps[t].classList.toggle("bx-lit", moved > 0);
        lamps[t].textContent = twin < 0 ? "" : differs ? "≠" : "=";
        lamps[t].parentElement.classList.toggle("bx-own", state.words[t] !== data.sentence[t]);
        lamps[t].parentElement.classList.toggle("bx-was", state.marks[n][t]);
        if (moved) lit.push(state.words[t]);
      });
      const unequal = seen.flatMap(({ twin, differs }, t) => (twin >= 0 && differs ? [`“${state.words[t]}” at ${twin + 1} and ${t + 1}`] : []));
      const was = state.words.filter((/** @type {string} */ _, /** @type {number} */ t) => state.marks[n][t]);
      strip.setAttribute("aria-label", `box ${n + 1}: ${lit.length ? `lit under ${lit.join(", ")}` : "no lamp is lit"}${was.length ? `; marked: ${was.join(", ")}` : ""}${unequal.length ? `; different outputs for ${unequal.join(", ")}` : ""}`);
      const done = state.verdicts[n];
      for (const charge of charges) charge.hidden = Boolean(done);
      verdict.textContent = done ? `✓ ${SAYS[/** @type {keyof typeof SAYS} */ (done)]}` : "";
      row.classList.toggle("bx-done", Boolean(done));
    });
    note.textContent = state.note;
    const fine = state.wrong ? `, ${COST * state.wrong} of them for ${state.wrong === 1 ? "a wrong verdict" : plural(state.wrong, "wrong verdict")}` : "";
    count.textContent = `${plural(state.edits, "edit")}${fine}. ${plural(state.changed.filter(Boolean).length, `of ${data.sentence.length} words has`, `of ${data.sentence.length} words have`)} been changed at least once.`;
  }

  /** @param {any} state */
  function words_(state) {
    const changed = state.words.filter((/** @type {string} */ word, /** @type {number} */ t) => word !== data.sentence[t]).length;
    const lit = look(data, state).map((seen, n) => `${seen.filter(({ moved }) => moved).length} in box ${n + 1}`);
    if (!changed) return "Nothing is changed, so no lamp is lit. Choose a word and press another one.";
    return `${plural(changed, "word is", "words are")} changed. Lamps lit: ${lit.join(", ")}.`;
  }
  return { draw, words: words_ };
}

/** The reader's function, which is sent into one box after the other. @param {HTMLElement} place @param {import("./runtime.js").Play} play */
function inspector(place, play) {
  const { data } = play;
  const tile = (/** @type {number} */ n) => element("li", { class: "bx-tile" }, element("span", { class: "bx-tile-name" }, n < data.known ? String(n + 1) : "?"), element("span", { class: "bx-tile-says" }));
  const tiles = Array.from({ length: data.count }, (_, n) => tile(n));
  const send = element("button", { type: "button", class: "bx-send", onclick: go }, "Send in your inspector");
  const wrong = element("ul", { class: "bx-wrong" });
  place.append(
    send,
    element("p", { class: "bx-title" }, `The ${data.known} that you know`), element("ul", { class: "bx-tiles" }, ...tiles.slice(0, data.known)),
    element("p", { class: "bx-title" }, `${data.count - data.known} that you don’t, drawn anew each time`), element("ul", { class: "bx-tiles" }, ...tiles.slice(data.known)),
    wrong,
  );
  let isRunning = false;

  async function go() {
    if (isRunning) return;
    isRunning = true;
    const round = play.state().round + 1;
    play.move({ round, reports: [] });
    try {
      for (let box = 0; box < data.count; box++) {
        const { value, error } = await play.ask("inspect", { box, round });
        if (error) throw new Error(error);
        if (play.state().round !== round) break; // it was started again
        play.move({ reports: [...play.state().reports, value] });
      }
    } catch {} // the runtime says that Python does not answer
    isRunning = false;
  }

  /** @param {any} report */
  const says = (report) => (report.says === null ? "an error" : report.says ? "real" : "a cheat");

  /** @param {any} state */
  function draw(state) {
    tiles.forEach((made, n) => {
      const report = state.reports[n];
      made.classList.toggle("bx-hit", Boolean(report) && report.says === report.truth);
      made.classList.toggle("bx-miss", Boolean(report) && report.says !== report.truth);
      const [name, text] = made.children;
      name.textContent = n < data.known ? String(n + 1) : report ? "" : "?";
      text.textContent = !report ? "" : report.says === null ? "!" : report.says ? "real" : "cheat";
      made.title = report ? report.what : "";
      made.setAttribute("aria-label", report ? `${report.what}: your inspector says ${says(report)}` : `box ${n + 1}: not inspected`);
    });
    const missed = state.reports.filter((/** @type {any} */ report) => report.says !== report.truth);
    const line = (/** @type {any} */ report) => element("li", {}, element("b", {}, report.what), report.error ? `: ${report.error}` : `: your inspector says that it is ${says(report)}.`);
    wrong.replaceChildren(...missed.slice(0, 5).map(line), ...(missed.length > 5 ? [element("li", {}, `and ${missed.length - 5} more`)] : []));
  }

  /** @param {any} state */
  function words(state) {
    const { reports } = state;
    if (!reports.length) return "Your inspector has not been sent in yet.";
    const hits = reports.filter((/** @type {any} */ report) => report.says === report.truth).length;
    const most = Math.max(...reports.map((/** @type {any} */ report) => report.sentences));
    return `Your inspector is right about ${hits} of ${reports.length} boxes. It never fed a box more than ${plural(most, "sentence")}.`;
  }
  return { draw, words };
}
