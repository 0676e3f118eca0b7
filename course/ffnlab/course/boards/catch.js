// @ts-check
// Catch them all: closed boxes that claim to be one function. Five dials set a test, and the boxes that answer it wrongly are marked. Who keeps a test says what is
// right, and the marked boxes open.
import { ARRAYS, compare, differs, rightOne, run, workedOut, wrongOnes } from "./catch_model.js";
import { bytes, element, number, plural, unique } from "./runtime.js";

/** @typedef {import("./catch_model.js").Box} Box */
/** @typedef {import("./catch_model.js").Test} Test */

const NOTCH = 30; // pixels from one number of a dial to the next
const FLIP = 90; // milliseconds between two boxes that open
const SHOWN = /** @type {Record<string, string>} */ ({ x: "x", W1: "· W1", b1: "+ b1", W2: "· W2", b2: "+ b2" });
/** How a station is written beside a box: what is everybody's, as on the dials. @param {string} station */
const written = (station) => station.replace(/^@ (W\d)$/, "· $1");

/** @type {WeakMap<any, Box[]>} */
const opened = new WeakMap();
/** @param {any} data @returns {Box[]} */
function boxesOf(data) {
  const known = opened.get(data);
  if (known) return known;
  const boxes = data.boxes.map((/** @type {string} */ text) => JSON.parse(new TextDecoder().decode(bytes(text))));
  opened.set(data, boxes);
  return boxes;
}

/** The places of the boxes that kept tests catch. @param {Box[]} boxes @param {Test[]} kept */
const caughtBy = (boxes, kept) => new Set(kept.flatMap((test) => wrongOnes(boxes, test)));

/** How many wrong boxes some number shows. @param {Box[]} boxes */
const reachable = (boxes) => boxes.filter((box) => box.name && !box.caught_by).length;

/** What a box did in a test. @param {Box[]} boxes @param {number} n @param {Test} test */
function told(boxes, n, test) {
  const [said, right] = [run(boxes[n].line, test), run(boxes[rightOne(boxes)].line, test)];
  if (said.kind === "error") return "it stops with an error";
  if (said.kind === "nothing") return "it returns nothing";
  if (said.kind === "two") return "it returns two things";
  if (said.kind === "shape") return `the number is right, and the shape is not: ${boxes[n].line.includes("squeeze()") ? "[]" : "[1]"} instead of [1, 1]`;
  let digits = 2;
  while (digits < 12 && number(said.number, digits) === number(right.number, digits)) digits++;
  return `it says ${number(said.number, digits)}, and right is ${number(right.number, 0)}`;
}

/** A whole number from what somebody typed, or none. @param {string} text */
function typed(text) {
  const plain = text.trim().replace("−", "-");
  return /^[-+]?\d+$/.test(plain) ? Number(plain) : undefined;
}

/** The box that says what somebody typed, one that is closed first. @param {any} state @param {Box[]} boxes @param {(n: number) => boolean} says */
function likewise(state, boxes, says) {
  const alike = [...boxes.keys()].filter((n) => boxes[n].name && says(n));
  return alike.find((n) => !state.seen.includes(n)) ?? alike[0];
}

/** Whether the test on the dials is kept already. @param {any} state */
const isKept = ({ hand, kept }) => kept.some((/** @type {Test} */ test) => ARRAYS.every((name) => test[name] === hand[name]));

/** What an answer leads to: a patch of the state. @param {any} state @param {Box[]} boxes */
function judge(state, boxes) {
  const { hand, kept, seen } = state;
  const right = workedOut(hand);
  const [read, out] = [typed(state.read), typed(state.out)];
  if (read === undefined || out === undefined) return { note: "A test needs its right answer. Work out z, what the neuron reads, and y, what comes out. Both are whole numbers." };
  if (isKept(state)) return { note: "You have kept this test already." };
  const wrong = read !== right.read ? read : out !== right.out ? out : undefined;
  if (wrong !== undefined) {
    const atRead = read !== right.read;
    const n = likewise(state, boxes, (place) => {
      const said = run(boxes[place].line, hand);
      return atRead ? said.read === wrong : said.kind === "number" && Math.abs(said.number - wrong) < 1e-6;
    });
    const where = atRead ? "z" : "y";
    if (n === undefined) return { note: `${where} is not ${number(wrong, 0)}, and no box makes that mistake either.` };
    const says = atRead ? `Box ${n + 1}, too, reads ${number(wrong, 0)}.` : `Box ${n + 1}, too, answers ${number(wrong, 0)}.`;
    return { note: `${says} You made its mistake, so now you know it.`, chosen: n, seen: seen.includes(n) ? seen : [...seen, n], fresh: seen.includes(n) ? [] : [n] };
  }
  const marked = wrongOnes(boxes, hand);
  const before = caughtBy(boxes, kept);
  const gained = marked.filter((n) => !before.has(n)).length;
  const fresh = marked.filter((n) => !seen.includes(n));
  const note = gained ? `Right. This test catches ${plural(marked.length, "box", "boxes")}${kept.length ? `, ${gained} of them new` : ""}.` : "Right, but this test catches no box that another test doesn’t.";
  return { kept: [...kept, { ...hand }], seen: [...seen, ...fresh], fresh, chosen: fresh[0] ?? state.chosen, read: "", out: "", note };
}

/** @type {import("./runtime.js").Board} */
export const board = {
  start: () => ({ hand: { x: 0, W1: 0, b1: 0, W2: 0, b2: 0 }, kept: [], seen: [], fresh: [], chosen: -1, read: "", out: "", note: "" }),

  goals: {
    all: (state, data) => caughtBy(boxesOf(data), state.kept).size >= reachable(boxesOf(data)) && state.kept.length,
    best: (state, data) => state.kept.some((/** @type {Test} */ test) => wrongOnes(boxesOf(data), test).length >= reachable(boxesOf(data)) - 1),
    at_once: (state, data) => state.kept.some((/** @type {Test} */ test) => wrongOnes(boxesOf(data), test).length >= reachable(boxesOf(data))),
    one_more: (state, data) => caughtBy(boxesOf(data), state.kept).size > reachable(boxesOf(data)),
  },
  tries: (_goal, state, before) => state.kept.length > before.kept.length,

  stage(place, play) {
    const boxes = boxesOf(play.data);
    const wrong = boxes.length - 1;
    const machine = makeMachine(play, keep);
    const count = element("p", { class: "ct-count" });
    const note = element("p", { class: "ct-note", role: "status" });
    const tiles = makeTiles(boxes, play);
    const detail = element("div", { class: "ct-detail" });
    const tests = element("ol", { class: "ct-tests", "aria-label": "The tests that you have kept" });
    const silent = makeFold(boxes, play.data.name, tiles.showRight);
    place.append(machine.place, count, note, tiles.place, detail, tests, silent);

    function keep() {
      play.move(judge(play.state(), boxes));
    }

    /** @param {any} state @param {any} before */
    function draw(state, before) {
      machine.draw(state);
      const marked = wrongOnes(boxes, state.hand);
      const caught = caughtBy(boxes, state.kept);
      const gained = marked.filter((n) => !caught.has(n)).length;
      const more = isKept(state) ? ". You have kept this test." : state.kept.length ? `, ${gained || "none"} of them new.` : ".";
      count.replaceChildren(element("b", {}, String(marked.length)), ` of ${plural(wrong, "wrong box", "wrong boxes")} give themselves away${more}`);
      note.textContent = state.note;
      tiles.draw(state, before, marked, caught);
      drawDetail(detail, boxes, state);
      drawTests(tests, boxes, state, play);
    }

    /** @param {any} state */
    function words(state) {
      const caught = caughtBy(boxes, state.kept).size;
      if (!state.kept.length) return `One of the ${boxes.length} boxes is right. Turn the dials as you like: a box with ≠ answers wrongly. Keep a test, and those boxes open.`;
      const rest = caught >= reachable(boxes) ? ` The other ${plural(wrong - caught, "wrong box", "wrong boxes")} return the right number at every setting.` : "";
      return `${plural(state.kept.length, "test")} caught ${caught} of ${plural(wrong, "wrong box", "wrong boxes")}.${rest}`;
    }
    return { draw, words };
  },
};

/** The dials, what the reader works out, and the button. @param {import("./runtime.js").Play} play @param {() => void} keep */
function makeMachine(play, keep) {
  const dials = ARRAYS.map((name) => makeDial(play, name));
  /** @param {"read" | "out"} name @param {string} letter @param {string} label */
  const field = (name, letter, label) => {
    const input = /** @type {HTMLInputElement} */ (element("input", { type: "text", class: "ct-answer", autocomplete: "off", "aria-label": label, placeholder: "?", oninput: () => play.move({ [name]: input.value, note: "" }) }));
    input.addEventListener("keydown", (event) => event.key === "Enter" && keep());
    return { input, place: element("label", { class: "ct-cell" }, element("span", { class: "ct-label" }, `= ${letter}`), input) };
  };
  const read = field("read", "z", "z: what the neuron reads, x times W1 plus b1");
  const out = field("out", "y", "y: what comes out, after W2 and b2");
  const relu = element("span", { class: "ct-relu", "aria-hidden": "true" });
  relu.innerHTML = '<svg viewBox="0 0 40 34" width="40" height="34"><path d="M2 26H20L36 6" fill="none" stroke="currentColor" stroke-width="3" stroke-linecap="round" stroke-linejoin="round"/></svg><span>ReLU</span>';
  const half = (/** @type {(Node | string)[]} */ ...parts) => element("div", { class: "ct-half" }, ...parts);
  const button = element("button", { type: "button", class: "ct-keep", onclick: keep }, "Keep this test");
  const place = element(
    "div", { class: "ct-machine" },
    half(...dials.slice(0, 3).map((dial) => dial.place), read.place),
    half(relu, ...dials.slice(3).map((dial) => dial.place), out.place),
    button,
  );
  /** @param {any} state */
  function draw(state) {
    for (const dial of dials) dial.draw(state);
    if (read.input.value !== state.read) read.input.value = state.read;
    if (out.input.value !== state.out) out.input.value = state.out;
  }
  return { place, draw };
}

/** A dial as of a combination lock: pressed above or below its number, drawn, or turned by arrow keys. @param {import("./runtime.js").Play} play @param {keyof Test} name */
function makeDial(play, name) {
  const { largest } = play.data;
  const values = Array.from({ length: 2 * largest + 1 }, (_, n) => largest - n);
  const strip = element("span", { class: "ct-strip", "aria-hidden": "true" }, ...values.map((value) => element("span", {}, number(value, 0))));
  const label = element("span", { class: "ct-label", id: unique("ct-label") }, SHOWN[name]);
  const drum = element("span", { class: "ct-drum", role: "spinbutton", tabindex: 0, "aria-label": name, "aria-valuemin": -largest, "aria-valuemax": largest }, strip);
  const turnTo = (/** @type {number} */ value) => {
    const { hand } = play.state();
    const wanted = Math.max(-largest, Math.min(largest, value));
    if (wanted !== hand[name]) play.move({ hand: { ...hand, [name]: wanted }, read: "", out: "", note: "", fresh: [] });
  };
  drum.addEventListener("keydown", (event) => {
    const now = play.state().hand[name];
    const to = /** @type {Record<string, number>} */ ({ ArrowUp: now + 1, ArrowRight: now + 1, ArrowDown: now - 1, ArrowLeft: now - 1, Home: -largest, End: largest })[event.key];
    if (to === undefined) return;
    event.preventDefault();
    turnTo(to);
  });
  /** @type {{y: number, value: number, moved: boolean} | null} */
  let grip = null;
  drum.addEventListener("pointerdown", (event) => {
    grip = { y: event.clientY, value: play.state().hand[name], moved: false };
    drum.setPointerCapture(event.pointerId);
  });
  drum.addEventListener("pointermove", (event) => {
    if (!grip) return;
    const by = Math.round((event.clientY - grip.y) / NOTCH);
    grip.moved ||= by !== 0;
    if (grip.moved) turnTo(grip.value + by);
  });
  drum.addEventListener("pointerup", (event) => {
    const row = Math.floor((event.clientY - drum.getBoundingClientRect().top) / NOTCH);
    if (grip && !grip.moved) turnTo(grip.value + (row < 1 ? 1 : row > 1 ? -1 : 0));
    grip = null;
  });
  drum.addEventListener("pointercancel", () => (grip = null));

  /** @param {any} state */
  function draw(state) {
    const value = state.hand[name];
    drum.setAttribute("aria-valuenow", value);
    drum.setAttribute("aria-valuetext", number(value, 0));
    strip.style.transform = `translateY(${NOTCH * (1 - (largest - value))}px)`;
    values.forEach((other, n) => strip.children[n].classList.toggle("ct-now", other === value));
  }
  return { place: element("span", { class: "ct-cell" }, label, drum), draw };
}

/** The boxes. @param {Box[]} boxes @param {import("./runtime.js").Play} play */
function makeTiles(boxes, play) {
  const tiles = boxes.map((_, n) =>
    element("button", { type: "button", class: "ct-box", tabindex: n ? -1 : 0, onclick: () => play.move({ chosen: n, fresh: [] }) },
      element("i", { class: "ct-lid" }), element("span", { class: "ct-number" }, String(n + 1)), element("i", { class: "ct-mark" }, "≠"), element("span", { class: "ct-title" })),
  );
  const place = element("div", { class: "ct-grid", role: "toolbar", "aria-label": "Boxes. Arrow keys go along them." }, ...tiles);
  place.addEventListener("keydown", (event) => {
    const columns = getComputedStyle(place).gridTemplateColumns.split(" ").length;
    const by = /** @type {Record<string, number>} */ ({ ArrowRight: 1, ArrowLeft: -1, ArrowDown: columns, ArrowUp: -columns })[event.key];
    const from = tiles.indexOf(/** @type {HTMLElement} */ (document.activeElement));
    if (!by || from < 0) return;
    event.preventDefault();
    const to = from + by;
    if (!tiles[to]) return;
    tiles.forEach((tile, n) => (tile.tabIndex = n === to ? 0 : -1));
    tiles[to].focus();
  });

  /** @param {any} state @param {any} before @param {number[]} marked @param {Set<number>} caught */
  function draw(state, before, marked, caught) {
    const turning = before && state.fresh !== before.fresh ? state.fresh : [];
    for (const [n, tile] of tiles.entries()) {
      const isOpen = state.seen.includes(n) || tile.classList.contains("ct-right");
      tile.classList.toggle("ct-wrong", marked.includes(n));
      tile.classList.toggle("ct-new", marked.includes(n) && !caught.has(n));
      tile.classList.toggle("ct-open", isOpen);
      tile.classList.toggle("ct-caught", caught.has(n));
      tile.classList.toggle("ct-chosen", n === state.chosen);
      const text = isOpen ? boxes[n].title : "";
      if (tile.lastChild && tile.lastChild.textContent !== text) tile.lastChild.textContent = text;
      const tale = [`box ${n + 1}`, isOpen ? boxes[n].title : "closed", ...(marked.includes(n) ? ["answers wrongly"] : []), ...(isOpen && !caught.has(n) ? ["not caught"] : [])];
      tile.setAttribute("aria-label", tale.join(", "));
      const turn = turning.indexOf(n);
      if (turn >= 0 && !play.calm()) tile.animate([{ transform: "rotateX(-80deg)", opacity: 0.3 }, { transform: "none", opacity: 1 }], { duration: 280, delay: FLIP * turn, fill: "backwards", easing: "ease-out" });
    }
  }
  /** The right box tells what it is. */
  function showRight() {
    const tile = tiles[rightOne(boxes)];
    tile.classList.add("ct-right");
    if (tile.lastChild) tile.lastChild.textContent = boxes[rightOne(boxes)].title;
  }
  return { place, draw, showRight };
}

/** What is told of the box that was pressed. @param {HTMLElement} place @param {Box[]} boxes @param {any} state */
function drawDetail(place, boxes, state) {
  const box = boxes[state.chosen];
  if (!box || !state.seen.includes(state.chosen)) {
    const text = box ? `Box ${state.chosen + 1} is closed.` : state.seen.length ? "Press an open box to see what is in it." : "";
    return place.replaceChildren(...(text ? [element("p", {}, text)] : []));
  }
  const n = state.kept.findIndex((/** @type {Test} */ test) => differs(run(box.line, test), run(boxes[rightOne(boxes)].line, test)));
  const evidence = n < 0 ? "No test that you have kept catches it." : `In test ${n + 1}, ${told(boxes, state.chosen, state.kept[n])}.`;
  const names = { same: "", missing: ", missing", extra: ", wrong" };
  const stations = compare(boxes[rightOne(boxes)].line, box.line).map(({ station, is }) =>
    element("li", { class: `ct-station ct-${is}` }, element("code", {}, written(station)), element("span", { class: "ffp-aloud" }, names[is])));
  place.replaceChildren(
    element("p", {}, element("b", {}, `Box ${state.chosen + 1} · ${box.title}`)),
    element("ol", { class: "ct-line", "aria-label": "What it does to x" }, element("li", { class: "ct-station ct-same" }, element("code", {}, "x")), ...stations),
    element("p", {}, ...marked(box.message)),
    element("p", { class: "ct-evidence" }, evidence),
  );
}

/** A message with its code set as code. @param {string} text */
const marked = (text) => text.split("`").map((part, n) => (n % 2 ? element("code", {}, part) : part));

/** The kept tests. @param {HTMLElement} place @param {Box[]} boxes @param {any} state @param {import("./runtime.js").Play} play */
function drawTests(place, boxes, state, play) {
  place.replaceChildren(
    ...state.kept.map((/** @type {Test} */ test, /** @type {number} */ n) => {
      const { read, out } = workedOut(test);
      const lamp = element("i", { class: `ct-lamp ${read > 0 ? "ct-glows" : ""}`, title: read > 0 ? "the neuron is on" : "the neuron is off" });
      const numbers = element("span", { class: "ct-numbers" }, ARRAYS.map((name) => `${name} ${number(test[name], 0)}`).join(" · "));
      const drop = element("button", { type: "button", class: "ct-drop", "aria-label": `drop test ${n + 1}`, onclick: () => play.move({ kept: state.kept.filter((/** @type {Test} */ other) => other !== test), fresh: [], note: "" }) }, "×");
      return element("li", {}, element("span", {}, `${n + 1}`), lamp, numbers, element("span", { class: "ct-made" }, `z ${number(read, 0)}, y ${number(out, 0)}`), element("b", {}, plural(wrongOnes(boxes, test).length, "box", "boxes")), drop);
    }),
  );
}

/** The boxes that no number catches, in a fold that is there once the reader has said why none does. @param {Box[]} boxes @param {string} name @param {() => void} showRight */
function makeFold(boxes, name, showRight) {
  const silent = [...boxes.keys()].filter((n) => boxes[n].caught_by);
  /** @type {Map<string, number[]>} */
  const groups = new Map();
  for (const n of silent) groups.set(boxes[n].caught_by, [...(groups.get(boxes[n].caught_by) ?? []), n]);
  const rows = () => [...groups].sort(([, a], [, b]) => b.length - a.length).map(([kind, places]) =>
    element("li", {}, element("b", {}, kind), ": ", places.map((n) => `${boxes[n].title} (${n + 1})`).join(", ")));
  const list = element("ul", {});
  const fold = element("details", { class: "ct-fold", hidden: true }, element("summary", {}, `${plural(silent.length, "box", "boxes")} always return the right number. What would catch them?`), list);
  const goal = `${name}.one_more`;
  const show = () => {
    fold.hidden = false;
    showRight();
    list.replaceChildren(...rows(), element("li", {}, `Box ${rightOne(boxes) + 1} is the right one.`));
  };
  if (/** @type {any} */ (globalThis).ffnSettled?.has(goal)) show();
  document.addEventListener("ffn-settled", (event) => /** @type {CustomEvent} */ (event).detail.name === goal && show());
  return fold;
}
