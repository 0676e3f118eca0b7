// @ts-check
// What all boards share: their place in a page, goals and what was reached, the flag, the sentence, and Python where a kernel runs.
// A board is {start, goals, stage}. It computes everything itself, so it plays in a saved notebook and on a web page, too.

/**
 * @typedef {Record<string, any>} State  plain data: what a hand has done
 * @typedef {{reasons: string[], right: number, why: string, nudge: string}} Flag  why a goal can't be reached; right is -1 where it can
 * @typedef {{name: string, text: string, after: string, record?: number, unit?: string, flag?: Flag}} Goal
 * @typedef {{how: "reached" | "flag", score?: number, wrong?: number}} Result
 * @typedef {{name: string, title: string, data: any, goals: Goal[], results: Record<string, Result>, token: string, state?: State}} Spec
 * @typedef {{draw: (state: State, before: State | null) => void, words: (state: State) => string, stop?: () => void}} Stage
 * @typedef {(goal: string, state: State, before: State, data: any) => boolean} Tries  whether a move tries a goal that has a flag
 * @typedef {{start: (data: any) => State, goals: Record<string, (state: State, data: any) => boolean | number>, stage: (place: HTMLElement, play: Play) => Stage, level?: (state: State, data: any) => string | undefined, tries?: Tries}} Board
 * @typedef {{data: any, state: () => State, move: (patch: State) => void, calm: () => boolean, ask: (name: string, value: any) => Promise<any>}} Play
 */

const REST = 600; // milliseconds that a state stays before its sentence is spoken
const ANSWER = 2000; // milliseconds until Python is missed
const GESTURE = 300; // milliseconds: what follows sooner is the same move, as while a slider is drawn
const MOVES = 3; // a wrong flag can be raised again after so many moves

/** An HTML element. Attributes that begin with "on" are listeners. @param {string} tag @param {Record<string, any>} [attributes] @param {...(Node | string)} children */
export function element(tag, attributes = {}, ...children) {
  const made = document.createElement(tag);
  for (const [name, value] of Object.entries(attributes)) {
    if (name.startsWith("on")) made.addEventListener(name.slice(2), value);
    else if (value !== false && value != null) made.setAttribute(name, value === true ? "" : String(value));
  }
  made.append(...children);
  return made;
}

/** A name for an element that no other board of the page has. @param {string} kind */
export function unique(kind) {
  const page = /** @type {any} */ (globalThis);
  page.ffnNames = (page.ffnNames ?? 0) + 1;
  return `${kind}-${page.ffnNames}`;
}

/** A number for people: a real minus sign, no zeros at the end. @param {number} value @param {number} [digits] */
export function number(value, digits = 2) {
  const text = value.toFixed(digits);
  return (Number(text) === 0 ? "0" : digits ? text.replace(/\.?0+$/, "") : text).replace("-", "−");
}

/** @param {number} share */
export const percent = (share) => `${share > 0.9995 && share < 1 ? "99.9" : number(100 * share, share > 0.99 || share < 0.01 ? 1 : 0)} %`;

/** A number for people as a multiple of a power of ten, with one digit: 2·10⁻⁶. @param {number} value */
export function powerOfTen(value) {
  const [digit, power] = value.toExponential(0).split("e");
  return `${digit.replace("-", "−")}·10${raised(Number(power))}`;
}

/** A whole number as an exponent. @param {number} power */
export const raised = (power) => [...String(power)].map((sign) => (sign === "-" ? "⁻" : "⁰¹²³⁴⁵⁶⁷⁸⁹"[Number(sign)])).join("");

/** A whole number for people, with a comma at the thousands. @param {number} value */
export const wholeNumber = (value) => value.toLocaleString("en-US");

/** "1 move", "2 moves", "1 of 4 is right"; `nouns` is a plural that does not end in s. @param {number} count @param {string} noun @param {string} [nouns] */
export const plural = (count, noun, nouns = `${noun}s`) => `${wholeNumber(count)} ${count === 1 ? noun : nouns}`;

/** What base64 stands for. @param {string} text @returns {ArrayBuffer} */
export const bytes = (text) => Uint8Array.from(atob(text), (letter) => letter.charCodeAt(0)).buffer;

/** What has been reached before: Python says it when the cell runs, and the browser remembers what came afterwards. @param {Spec} spec */
function remembered(spec) {
  try {
    return { ...spec.results, ...JSON.parse(localStorage.getItem(`ffn-board ${spec.token}`) ?? "{}") };
  } catch {
    return { ...spec.results };
  }
}

/** Puts a board in a place that holds its still picture. @param {HTMLElement} place @param {Spec} spec @param {Board} board */
export function mount(place, spec, board) {
  if (place.dataset.mounted) return;
  place.dataset.mounted = "true";

  /** @type {Record<string, Result>} */
  const results = remembered(spec);
  const moves = { all: 0, last: -GESTURE, flagged: -MOVES };
  /** @type {Set<string>} */
  const tried = new Set(); // the goals whose flag can be raised
  const start = board.start(spec.data);
  const atStart = JSON.stringify(start);
  let state = { ...start, ...spec.state };
  let speaking = 0;

  const body = element("div", { class: "ffp-stage" });
  const sentence = element("p", { class: "ffp-sentence" });
  const aloud = element("p", { class: "ffp-aloud", role: "status" });
  const note = element("p", { class: "ffp-note", role: "status" });
  const goals = element("ol", { class: "ffp-goals", "aria-label": "Goals" });
  const after = element("div", { class: "ffp-afters" }); // below the picture, so that nothing moves under a hand
  const again = element("button", { type: "button", class: "ffp-again", onclick: restart }, "Start again");
  const foot = element("div", { class: "ffp-foot" }, again);
  const whole = element(
    "section",
    { class: "ffp", role: "group", "aria-label": spec.title, "data-lm-suppress-shortcuts": "true" },
    note, goals, body, sentence, after, foot, aloud,
  );
  // JupyterLab takes arrow keys, Enter and letters for its own unless they stop here.
  whole.addEventListener("keydown", (event) => event.stopPropagation());

  /** @type {Play} */
  const play = { data: spec.data, state: () => state, move, calm: () => matchMedia("(prefers-reduced-motion: reduce)").matches, ask };
  const stage = board.stage(body, play);

  /** @param {State} patch */
  function move(patch) {
    const before = state;
    state = { ...state, ...patch };
    if (performance.now() - moves.last > GESTURE) moves.all++;
    moves.last = performance.now();
    for (const { name, flag } of spec.goals) if (flag && (board.tries?.(name, state, before, spec.data) ?? true)) tried.add(name);
    note.textContent = "";
    show(before);
    for (const goal of spec.goals) {
      const got = board.goals[goal.name]?.(state, spec.data);
      if (got === false || got === undefined || impossible(goal)) continue;
      settle(goal, { how: "reached", ...(typeof got === "number" && { score: got }) });
    }
  }

  function restart() {
    const before = state;
    state = start;
    note.textContent = "";
    show(before);
  }

  /** @param {State | null} before */
  function show(before) {
    if (before && board.level?.(state, spec.data) !== board.level?.(before, spec.data)) say();
    stage.draw(state, before);
    const words = stage.words(state);
    if (sentence.textContent !== words) sentence.textContent = words; // a motion with the same sentence lays out no text
    again.hidden = JSON.stringify(state) === atStart;
    if (!before) return;
    clearTimeout(speaking);
    speaking = window.setTimeout(() => (aloud.textContent = sentence.textContent), REST);
  }

  /** Keeps a result if it is the first, or better. @param {Goal} goal @param {Result} result */
  function settle(goal, result) {
    const old = results[goal.name];
    if (old && old.how && !(result.score !== undefined && result.score < (old.score ?? Infinity))) return;
    results[goal.name] = { ...(old?.wrong && { wrong: old.wrong }), ...result };
    keep();
    list(goal.name);
    announce(goal.name);
  }

  /** Says on the page that a goal is settled, for texts that wait for it. @param {string} goal */
  function announce(goal) {
    const name = `${spec.name}.${goal}`;
    (/** @type {any} */ (globalThis).ffnSettled ??= new Set()).add(name);
    document.dispatchEvent(new CustomEvent("ffn-settled", { detail: { name } }));
  }

  function keep() {
    try {
      localStorage.setItem(`ffn-board ${spec.token}`, JSON.stringify(results));
    } catch {} // a private window keeps nothing
    place.dispatchEvent(new CustomEvent("ffn-results", { detail: { ...results } })); // a copy: a widget hands on only what differs from what it has
  }

  /** @param {Goal} goal */
  const impossible = (goal) => goal.flag !== undefined && goal.flag.right >= 0;

  /** @param {string} [fresh] the goal that has just been reached */
  function list(fresh) {
    goals.replaceChildren(
      ...spec.goals.map((goal) => {
        const result = results[goal.name];
        const done = Boolean(result?.how);
        const item = element("li", { class: `ffp-goal ${done ? "ffp-done" : ""} ${fresh === goal.name ? "ffp-fresh" : ""}` });
        const mark = element("span", { class: "ffp-mark", "aria-hidden": "true" }, done ? (result.how === "flag" ? "⚑" : "✓") : "");
        item.append(mark, element("span", {}, goal.text, element("span", { class: "ffp-aloud" }, done ? ", settled" : ", open")));
        if (result?.score !== undefined && goal.record !== undefined) item.append(element("span", { class: "ffp-record" }, record(goal, result.score)));
        if (goal.flag && !done) item.append(raise(goal));
        return item;
      }),
    );
    goals.hidden = !spec.goals.length;
    say(fresh);
  }

  /** Says what a settled goal has shown: the one that was settled last, on a board with levels that of its level. @param {string} [fresh] */
  function say(fresh) {
    const level = fresh ? undefined : board.level?.(state, spec.data);
    const said = spec.goals.filter(({ name }) => results[name]?.how && (level === undefined || name === level)).sort((a, b) => Number(a.name === fresh) - Number(b.name === fresh));
    const texts = said.map((goal) => (results[goal.name].how === "flag" ? goal.flag?.why : goal.after)).filter(Boolean);
    after.replaceChildren(...texts.slice(-1).map((text) => element("p", { class: "ffp-after" }, /** @type {string} */ (text))));
  }

  /** @param {Goal} goal @param {number} score */
  function record(goal, score) {
    const best = goal.record ?? score;
    const units = goal.unit ?? "";
    const used = plural(score, units.replace(/s\b/, ""), units); // "sentences for a box": of one thing the first s is left out
    if (score > best) return `You used ${used}. It can be done with ${wholeNumber(best)}.`;
    return score < best ? `You used ${used}: fewer than anybody before you.` : `${used}, and that is the record.`;
  }

  /** The flag: that a goal can't be reached is said with its reason, and a wrong reason costs three moves. @param {Goal} goal */
  function raise(goal) {
    const flag = /** @type {Flag} */ (goal.flag);
    const summary = element("summary", {}, "⚑ It can’t be done");
    const reasons = element("div", { class: "ffp-reasons" }, element("p", {}, "Because …"));
    const details = element("details", { class: "ffp-flag" }, summary, reasons);
    summary.addEventListener("click", () => {
      for (const other of goals.querySelectorAll("details[open]")) if (other !== details) other.removeAttribute("open"); // one list at a time: they lie in one place
    });
    flag.reasons.forEach((reason, index) => {
      const press = () => {
        details.removeAttribute("open"); // it lies above the picture
        if (!tried.has(goal.name)) {
          note.textContent = "Try it first.";
        } else if (moves.all - moves.flagged < MOVES) {
          note.textContent = `Play on first: after ${plural(MOVES - (moves.all - moves.flagged), "more move")} you can raise the flag again.`;
        } else if (index === flag.right) {
          settle(goal, { how: "flag" });
        } else {
          moves.flagged = moves.all;
          results[goal.name] = { .../** @type {any} */ (results[goal.name]), wrong: (results[goal.name]?.wrong ?? 0) + 1 };
          keep();
          note.textContent = flag.right < 0 ? `It can be done. ${flag.nudge}` : `That is not why. ${flag.nudge}`;
        }
      };
      reasons.append(element("button", { type: "button", onclick: press }, reason));
    });
    return details;
  }

  /** What Python says to a question; it fails where no kernel answers. @param {string} name @param {any} value */
  function ask(name, value) {
    return new Promise((resolve, reject) => {
      const late = setTimeout(() => {
        note.textContent = "No answer from Python. Run this cell again.";
        whole.classList.add("ffp-missed");
        reject(new Error("no answer from Python"));
      }, ANSWER);
      const done = (/** @type {any} */ answer) => {
        clearTimeout(late);
        note.textContent = "";
        whole.classList.remove("ffp-missed");
        resolve(answer);
      };
      place.dispatchEvent(new CustomEvent("ffn-ask", { detail: { name, value, done } }));
    });
  }

  for (const still of place.querySelectorAll(".ffp-still")) still.remove();
  place.append(whole);
  list();
  for (const [goal, result] of Object.entries(results)) if (result.how) announce(goal);
  show(null);
  // The width decides how a board is laid out.
  let wide = body.clientWidth;
  new ResizeObserver(() => {
    if (Math.abs(body.clientWidth - wide) < 1) return;
    wide = body.clientWidth;
    stage.draw(state, null);
  }).observe(body);
}
