// @ts-check
// One sentence through the little Transformer: choose its words, switch the FFN off in the middle, and, where lamps are shown, put out or light single neurons.
import { CreekModel } from "./creek_model.js";
import { select } from "./d3.js";
import { element, number, percent } from "./runtime.js";

const KINDS = ["place", "weather", "mood", "creature"];
const GIVEN = 8; // so many words open the sentence
const VERB = 10; // the position of the word after which it is over or into
const QUESTIONS = { way: { before: VERB, words: ["over", "into"], says: "wanted to " }, feeling: { before: 14, words: ["glad", "sorry"], says: "and " } };
const SURE = 0.75; // a word that is less probable wavers
const ACTIVE = 0.05; // a smaller activation is not counted, nor shown
const STRONGEST = 4; // how many times as bright as usual a lamp can be made
const FIRES = 0.2; // of its largest activation: a neuron that reaches less counts as dark
const GOOD = 0.9; // the precision and the recall that a name has to reach

/**
 * The sentence as this world would have it; the order of the words of a kind says which attribute they have.
 * @param {Record<string, string[]>} kinds @param {Record<string, any>} scene
 */
export function wish(kinds, scene) {
  const [water, cold, spunky] = [isFirst(kinds.place, scene.place), isFirst(kinds.weather, scene.weather), isFirst(kinds.mood, scene.mood)];
  const sight = water ? (cold ? "ice" : "waves") : cold ? "snow" : "flowers";
  return [
    ...opening(scene), "wanted", "to", spunky ? "jump" : "creep", water === cold ? "over" : "into",
    "it", "and", "was", cold === spunky ? "glad" : "sorry", "about", "the", sight, ".",
  ];
}

/** @param {Record<string, any>} scene */
const opening = (scene) => ["the", scene.place, "was", scene.weather, "and", "the", scene.mood, scene.creature];

const models = new WeakMap();

/** @param {any} data @param {any} state @returns {CreekModel} */
function modelOf(data, state) {
  if (!models.has(data)) {
    const made = Object.entries(data.models).map(([name, weights]) => [name, new CreekModel({ vocabulary: data.vocabulary, weights })]);
    models.set(data, Object.fromEntries(made));
  }
  return models.get(data)[state.model];
}

/** @param {any} data */
const questionOf = (data) => QUESTIONS[/** @type {"way" | "feeling"} */ (data.question)];

/** @type {WeakMap<any, {right: string[], steps: {word: string, share: number, other: string, otherShare: number}[], shares: number[]}>} */
const looks = new WeakMap();

/**
 * What there is to know of a state, computed once: the sentence as this world would have it, what the model writes, and how probable it finds
 * the two words of the board's question. @param {any} data @param {any} state
 */
function lookAt(data, state) {
  const known = looks.get(state);
  if (known) return known;
  const model = modelOf(data, state);
  const right = wish(data.kinds, state);
  const { before, words } = questionOf(data);
  const lamps = lampsSet(data, state);
  const chances = model.after(right.slice(0, before + 1), state.ffn, lamps);
  const made = { right, steps: model.write(opening(state), state.ffn, lamps), shares: words.map((word) => chances[model.number.get(word) ?? 0]) };
  looks.set(state, made);
  return made;
}

/** The lamps that were put out or lit by hand, at the verb. @param {any} data @param {any} state @returns {import("./creek_model.js").Lamps} */
function lampsSet(data, state) {
  const activations = Object.fromEntries(Object.entries(state.set).map(([neuron, times]) => [neuron, times * data.usual[Number(neuron)]]));
  return { place: VERB, activations };
}

/** Whether an activation counts as lit: a fainter one than a fifth of the neuron's largest does not. @param {any} data @param {number} neuron @param {number} activation */
const isLit = (data, neuron, activation) => activation > Math.max(ACTIVE, FIRES * data.largest[neuron]);

/** What each neuron would be at the verb if no hand had touched it: [64]. @param {any} data @param {any} state */
function untouched(data, state) {
  const model = modelOf(data, state);
  return model.hidden(/** @type {Float64Array} */ (model.gather(lookAt(data, state).right.slice(0, VERB + 1)).pop()));
}

/** Whether all that was written before a word is what this world would say. @param {number} before @param {{word: string}[]} steps @param {string[]} right */
const asAsked = (before, steps, right) => steps.slice(0, before + 1 - GIVEN).every(({ word }, n) => word === right[GIVEN + n]);

/** How many words of a state are not those of the board's start. @param {any} data @param {any} state */
const wordsChanged = (data, state) => KINDS.filter((kind) => state[kind] !== board.start(data)[kind]).length;

/** Whether a word has the first of its kind's two attributes. @param {string[]} words @param {string} word */
const isFirst = (words, word) => words.indexOf(word) < words.length / 2;

/**
 * What was written for over or into with the FFN on, for each kind of scene that was looked at: {"water cold": "over", …}.
 * @param {any} data @param {any} state @returns {Record<string, string>}
 */
function seenWays(data, state) {
  if (state.ffn !== true) return state.seen;
  return { ...state.seen, [kindOfScene(data, state)]: lookAt(data, state).steps[VERB + 1 - GIVEN].word };
}

/** @param {any} data @param {any} state */
const kindOfScene = ({ kinds }, state) => `${isFirst(kinds.place, state.place) ? "water" : "land"} ${isFirst(kinds.weather, state.weather) ? "cold" : "warm"}`;

/** @param {string[]} words */
const list = (words) => (words.length > 4 ? `${words.length} words` : words.length > 1 ? `${words.slice(0, -1).join(", ")} and ${words[words.length - 1]}` : words[0] ?? "");

/** @type {import("./runtime.js").Board} */
export const board = {
  start: (data) => ({ place: "creek", weather: "cold", mood: "spunky", creature: "dog", ffn: true, model: "shipped", set: {}, names: {}, lamp: 10, seen: {}, ...data.start }),

  goals: {
    table: (state, data) => Object.keys(seenWays(data, state)).length === 4,
    off: (state) => !state.ffn,
    sorry: (state, data) => wordsChanged(data, state) === 1 && lookAt(data, state).steps.some(({ word }) => word === "sorry"),
    twin_off: (state) => !state.ffn && state.model === "twin",
    twin_mean: (state) => state.ffn === "mean" && state.model === "twin",
    hesitate(state, data) {
      const times = Object.values(state.set);
      const isUnsure = Math.max(...lookAt(data, state).shares) < SURE;
      return wordsChanged(data, state) === 0 && isUnsure && times.length > 0 && times.every((each) => each === 0) && times.length;
    },
    steer(state, data) {
      const [lit, ...others] = Object.entries(state.set);
      if (!lit || others.length || wordsChanged(data, state) > 0) return false;
      const [neuron, times] = lit;
      return times > 0 && !isLit(data, Number(neuron), untouched(data, state)[Number(neuron)]) && lookAt(data, state).shares[1] > SURE;
    },
    names: (state, data) => Object.entries(state.names).filter(([neuron, name]) => refuting(data, Number(neuron), name) === "").length >= 4,
  },

  stage(place, play) {
    const { data } = play;
    const lamps = data.guise === "lamps" ? lampsOf(data, play) : null;

    /** What was seen so far stays in the table. @param {any} changes */
    const move = (changes) => play.move({ ...changes, seen: seenWays(data, play.state()) });
    const selects = KINDS.map((kind) => {
      const options = data.kinds[kind].map((/** @type {string} */ word) => element("option", { value: word }, word));
      return element("select", { class: "ck-choice", "aria-label": kind, onchange: (/** @type {any} */ event) => move({ [kind]: event.target.value }) }, ...options);
    });
    const word = (/** @type {string} */ text) => element("span", { class: "ck-given" }, text);
    const [thing, weather, mood, creature] = selects;
    const given = element("span", { class: "ck-prompt" }, word("The"), thing, word("was"), weather, word("and the"), mood, creature);
    const written = element("span", { class: "ck-written" });
    const sentence = element("div", { class: "ck-sentence" }, given, written);
    const legend = element("p", { class: "ck-legend" }, "The line under a word: how probable the model finds it. ", "The runner-up appears below any word under 75 %. ", element("span", { class: "ck-no" }, "Pink"), ": not what this world would say.");

    const hasTwin = Boolean(data.models.twin);
    const knob = element("button", { type: "button", role: "switch", class: "ck-switch", "aria-label": "FFN", onclick: () => move({ ffn: !play.state().ffn }) });
    const says = element("span", { class: "ck-says", "aria-hidden": "true" });
    const modes = hasTwin ? radios("ffn", "What the FFN adds", { true: "on", false: "zeros", mean: "its mean" }, (mode) => play.move({ ffn: mode === "mean" ? mode : mode === "true" })) : null;
    const machine = element(
      "div",
      { class: "ck-machine" },
      element("span", { class: "ck-part ck-attention" }, "attention"), element("span", { class: "ck-arrow", "aria-hidden": "true" }, "→"),
      element("span", { class: "ck-part ck-ffn" }, "FFN", ...(modes ? [modes.place] : [knob, says])), element("span", { class: "ck-arrow", "aria-hidden": "true" }, "→"),
      element("span", { class: "ck-next" }, "next word"),
    );
    const kinds = hasTwin ? radios("model", "Which model", { shipped: "this model", twin: "its twin" }, (model) => play.move({ model })) : null;
    if (kinds) machine.append(kinds.place);

    const asked = questionOf(data);
    const question = element("span", { class: "ck-question" });
    const sides = asked.words.map((name, n) => {
      const colour = ["over", "into"][n];
      return { name, label: element("span", { class: `ck-label ck-${colour}` }), side: element("span", { class: `ck-side ck-side-${colour}` }) };
    });
    const [first, second] = sides;
    const tug = element("div", { class: "ck-tug", "aria-hidden": "true" }, first.side, element("span", { class: "ck-middle" }), second.side);
    place.append(sentence, legend, element("div", { class: "ck-ask" }, question, first.label, tug, second.label));
    const table = data.table ? tableOfWays() : null;
    if (data.question === "way") place.append(element("div", { class: "ck-foot" }, machine, ...(table ? [table.place] : []))); // whoever looks for the other rule needs no switch
    if (lamps) place.append(lamps.place);

    /** @param {any} state @param {any} before */
    function draw(state, before) {
      const { right, steps, shares } = lookAt(data, state);
      selects.forEach((made, n) => (/** @type {HTMLSelectElement} */ (made).value = state[KINDS[n]]));
      knob.setAttribute("aria-checked", String(state.ffn));
      says.textContent = state.ffn ? "on" : "off";
      place.classList.toggle("ck-off", !state.ffn);
      kinds?.choose(state.model);
      modes?.choose(String(state.ffn));

      select(written)
        .selectAll("span.ck-word")
        .data(steps)
        .join((/** @type {any} */ entering) => {
          const made = entering.append("span").attr("class", "ck-word");
          made.append("span").attr("class", "ck-text");
          made.append("span").attr("class", "ck-bar").attr("aria-hidden", "true").append("i");
          made.append("span").attr("class", "ck-other").attr("aria-hidden", "true");
          return made;
        })
        .each(/** @this {HTMLElement} @param {any} step @param {number} n */ function (step, n) {
          const here = select(this);
          const text = here.select(".ck-text");
          const wavers = step.share < SURE;
          if (before && text.text() !== step.word && !play.calm()) {
            this.animate([{ opacity: 0.2, transform: "translateY(-4px)" }, { opacity: 1, transform: "none" }], { duration: 220, delay: 25 * n, fill: "backwards" });
          }
          text.text(step.word);
          here.classed("ck-wavers", wavers).classed("ck-wrong", step.word !== right[GIVEN + n]);
          here.select("i").style("width", `${100 * step.share}%`);
          here.select(".ck-other").text(wavers ? `${step.other} ${percent(step.otherShare)}` : "");
        });

      const said = asked.says + right[asked.before];
      question.textContent = asAsked(asked.before, steps, right) ? `… ${said} …` : `if it had said “${said}” …`;
      for (const [n, { name, label, side }] of sides.entries()) {
        const share = shares[n];
        side.style.flexGrow = String(Math.max(share, 0.002));
        const mark = right[asked.before + 1] === name ? element("span", { class: "ck-tick", title: "what this world would say" }, " ✓") : "";
        label.replaceChildren(element("i", {}), element("b", {}, name), ` ${percent(share)}`, mark);
      }
      const rest = 1 - shares[0] - shares[1];
      tug.style.setProperty("--rest", String(Math.max(rest, 0)));
      table?.draw(seenWays(data, state), state.ffn === true ? kindOfScene(data, state) : "");
      lamps?.draw(state);
    }

    /** @param {any} state */
    function words(state) {
      const { right, steps, shares } = lookAt(data, state);
      const wavering = steps.filter(({ share }) => share < SURE).map(({ word: said }) => `“${said}”`);
      const wrong = steps.filter(({ word: said }, n) => said !== right[GIVEN + n]).map(({ word: said }) => `“${said}”`);
      const who = state.model === "twin" ? "the twin" : "the model";
      const zeros = hasTwin ? " Its FFN adds zeros." : " Its FFN is off.";
      const added = state.ffn === "mean" ? " Its FFN adds its mean." : state.ffn ? "" : zeros;
      const said = asked.says + right[asked.before];
      const chances = `“${asked.words[0]}” ${percent(shares[0])} probable and “${asked.words[1]}” ${percent(shares[1])}`;
      const lead = asAsked(asked.before, steps, right) ? `After “${said}” ${who} finds ${chances}.` : `If it had said “${said}”, ${who} would find ${chances}.`;
      const rest = wavering.length ? `It is less than ${percent(SURE)} sure of ${list(wavering)}` : `It is at least ${percent(SURE)} sure of each of its ${steps.length} words`;
      const not = wrong.length > 4 ? `${wrong.length} of its ${steps.length} words are` : `${list(wrong)} ${wrong.length === 1 ? "is" : "are"}`;
      return `${lead}${added} ${rest}${wrong.length ? `, and ${not} not what this world would say` : ""}.`;
    }

    return { draw, words };
  },
};

/** An empty table of the four kinds of scene, which the model's own words fill. */
function tableOfWays() {
  const cells = new Map();
  const cell = (/** @type {string} */ role, /** @type {string} */ text) => element("span", { role, class: `ck-${role}` }, text);
  const row = (/** @type {string} */ ground) => {
    const made = ["cold", "warm"].map((weather) => {
      const way = cell("cell", "?");
      cells.set(`${ground} ${weather}`, way);
      return way;
    });
    return element("div", { role: "row" }, cell("rowheader", `on ${ground}`), ...made);
  };
  const head = element("div", { role: "row" }, cell("columnheader", ""), cell("columnheader", "cold"), cell("columnheader", "warm"));
  const place = element("div", { class: "ck-table", role: "table", "aria-label": "Over or into, with the FFN on" }, head, row("water"), row("land"));
  /** @param {Record<string, string>} seen @param {string} now the kind of scene that is being written */
  function draw(seen, now) {
    for (const [kind, way] of cells) {
      way.textContent = seen[kind] ?? "?";
      way.className = `ck-cell ck-cell-${seen[kind] ?? "open"}${kind === now ? " ck-now" : ""}`;
    }
  }
  return { place, draw };
}

/**
 * A group of radio buttons, and what chooses one of them. @param {string} name @param {string} label
 * @param {Record<string, string>} options labels by value @param {(value: string) => void} chosen
 */
function radios(name, label, options, chosen) {
  const made = Object.entries(options).map(([value, text]) => {
    const radio = /** @type {HTMLInputElement} */ (element("input", { type: "radio", name, onchange: () => chosen(value) }));
    return { value, radio, label: element("label", {}, radio, text) };
  });
  const place = element("form", { class: "ck-radios", role: "radiogroup", "aria-label": label }, ...made.map(({ label }) => label));
  const choose = (/** @type {string} */ wanted) => made.forEach(({ value, radio }) => (radio.checked = value === wanted));
  return { place, choose };
}

/**
 * What a neuron makes of the words that differ from sentence to sentence: by how much each raises it above the mean of the words that could be there.
 * `common` is the rest, the same in every sentence; votes and common add up to what ReLU gets.
 * @param {CreekModel} model @param {Record<string, string[]>} kinds @param {string[]} sentence @param {number} neuron
 */
export function votesOf(model, kinds, sentence, neuron) {
  const choices = /** @type {[number, string[]][]} */ ([[1, kinds.place], [3, kinds.weather], [6, kinds.mood], [7, kinds.creature], [VERB, ["jump", "creep"]]]);
  const read = (/** @type {string} */ word, /** @type {number} */ place) => model.reads(model.part(word, place, sentence.length), false)[neuron];
  const parts = sentence.map(read);
  const votes = choices.map(([place, words]) => {
    const other = words.map((word) => read(word, place));
    return { word: sentence[place], vote: parts[place] - other.reduce((a, b) => a + b) / other.length };
  });
  const total = parts.reduce((a, b) => a + b, model.weights.up_bias[neuron]);
  return { votes, common: total - votes.reduce((before, { vote }) => before + vote, 0) };
}

/** @type {Map<string, string>} */
const known = new Map();

/**
 * Why a name does not fit a neuron: what it does in one scene; empty where the name fits. @param {any} data @param {number} neuron @param {string} name
 */
function refuting(data, neuron, name) {
  const asked = `${neuron} ${name}`;
  if (!known.has(asked)) known.set(asked, findScene(data, neuron, name));
  return known.get(asked) ?? "";
}

/** @param {any} data @param {number} neuron @param {string} name */
function findScene(data, neuron, name) {
  const model = modelOf(data, { model: "shipped" });
  const wanted = name.split(" ");
  const counts = { both: 0, lit: 0, named: 0 };
  let dark = "", bright = "";
  for (const place of data.kinds.place) {
    for (const weather of data.kinds.weather) {
      for (const mood of data.kinds.mood) {
        const scene = { place, weather, mood, creature: "dog" };
        const x = /** @type {Float64Array} */ (model.gather(wish(data.kinds, scene).slice(0, VERB + 1)).pop());
        const lit = isLit(data, neuron, model.hidden(x)[neuron]);
        const kind = kindOfScene(data, scene).split(" ");
        const isNamed = wanted.every((word) => kind.includes(word));
        counts.both += Number(lit && isNamed);
        counts.lit += Number(lit);
        counts.named += Number(isNamed);
        if (isNamed && !lit && !dark) dark = `it stays dark at the ${weather} ${place}`;
        if (lit && !isNamed && !bright) bright = `it is lit at the ${weather} ${place} as well`;
      }
    }
  }
  if (counts.lit === 0) return "by itself it is dark in all scenes at this word, so nobody can say what it looks for";
  return counts.both >= GOOD * counts.lit && counts.both >= GOOD * counts.named ? "" : counts.both >= GOOD * counts.named ? bright : dark;
}

/** The 64 neurons at one word: lamps that can be put out, lit and named. @param {any} data @param {import("./runtime.js").Play} play */
function lampsOf(data, play) {
  const buttons = Array.from({ length: 64 }, (_, neuron) =>
    element("button", { type: "button", class: "ck-lamp", tabindex: -1, onclick: () => press(neuron), onfocus: () => look(neuron) }, String(neuron)),
  );
  const head = element("p", { class: "ck-head" });
  const board = element("div", { class: "ck-lamps", role: "toolbar", "aria-label": "Neurons: arrow keys go along them, Enter puts one out or lights it" }, ...buttons);
  board.addEventListener("keydown", (event) => {
    const columns = getComputedStyle(board).gridTemplateColumns.split(" ").length;
    const by = /** @type {Record<string, number>} */ ({ ArrowRight: 1, ArrowLeft: -1, ArrowDown: columns, ArrowUp: -columns })[event.key];
    if (!by) return;
    event.preventDefault();
    const at = buttons.indexOf(/** @type {HTMLElement} */ (document.activeElement));
    buttons[(at + by + buttons.length) % buttons.length].focus();
  });
  const title = element("b");
  const strength = element("input", { type: "range", min: 0, max: STRONGEST, step: 0.25, "aria-label": "brightness", oninput: (/** @type {any} */ event) => turn(play.state().lamp, Number(event.target.value)) });
  const times = element("span", { class: "ck-times" });
  const names = element(
    "select",
    { class: "ck-choice", "aria-label": "what it looks for", onchange: (/** @type {any} */ event) => call(play.state().lamp, event.target.value) },
    ...["", ...data.names].map((name) => element("option", { value: name }, name || "…")),
  );
  const note = element("p", { class: "ck-note", "aria-live": "polite" });
  const reads = element("div", { class: "ck-reads", role: "img" });
  const sum = element("p", { class: "ck-sum" });
  const writes = element("p", { class: "ck-writes" });
  const back = element("button", { type: "button", class: "ffp-button", onclick: () => play.move({ set: {} }) }, "All lamps as they were");
  const inside = element("details", { class: "ck-inside" }, element("summary", {}, "What does it read and write?"), reads, sum, writes);
  const place = element(
    "div",
    { class: "ck-panel" },
    head, board,
    element(
      "div",
      { class: "ck-detail" },
      element("div", { class: "ck-name" }, title, element("label", {}, "brightness ", strength, times), element("label", {}, "it looks for ", names), back),
      note, inside,
    ),
  );

  /** @param {number} neuron @param {number} brightness in times the usual one */
  const turn = (neuron, brightness) => play.move({ set: { ...play.state().set, [neuron]: brightness }, lamp: neuron });
  /** @param {number} neuron */
  function press(neuron) {
    const { [neuron]: touched, ...others } = play.state().set;
    if (touched !== undefined) play.move({ set: others, lamp: neuron });
    else turn(neuron, isLit(data, neuron, untouched(data, play.state())[neuron]) ? 0 : 1);
  }
  /** @param {number} neuron */
  const look = (neuron) => play.state().lamp !== neuron && play.move({ lamp: neuron });
  /** @param {number} neuron @param {string} name */
  function call(neuron, name) {
    const { [neuron]: _, ...others } = play.state().names;
    play.move({ names: name ? { ...others, [neuron]: name } : others });
  }

  /** @param {string} label @param {number} vote @param {number} largest */
  function column(label, vote, largest) {
    const bar = element("i", { class: vote < 0 ? "ck-minus" : "ck-plus", style: `height:${number((44 * Math.abs(vote)) / largest, 1)}px` });
    return element("span", { class: "ck-vote" }, element("span", { class: "ck-bars" }, bar), element("span", { class: "ck-vote-word" }, label), element("span", { class: "ck-vote-number" }, number(vote)));
  }

  /** @param {any} state */
  function draw(state) {
    const sentence = lookAt(data, state).right.slice(0, VERB + 1);
    const natural = untouched(data, state);
    const { activations } = lampsSet(data, state);
    const now = natural.map((activation, neuron) => activations[neuron] ?? activation);
    const lit = [...now].filter((activation, neuron) => isLit(data, neuron, activation)).length;
    head.textContent = `At “${sentence[VERB]}”, ${lit} of 64 neurons ${lit === 1 ? "is" : "are"} lit. Press a lit one to put it out, and a dark one to light it.`;
    for (const [neuron, button] of buttons.entries()) {
      const isTouched = neuron in state.set;
      const glow = isLit(data, neuron, now[neuron]) ? 0.6 + 0.4 * Math.min(now[neuron] / 1.5, 1) : 0; // from 0.6 on, so that its number can be read
      button.style.setProperty("--glow", String(glow));
      button.classList.toggle("ck-silent", isTouched && now[neuron] === 0);
      button.classList.toggle("ck-strong", isTouched && now[neuron] > 0);
      button.classList.toggle("ck-named", neuron in state.names && refuting(data, neuron, state.names[neuron]) === "");
      button.classList.toggle("ck-chosen", neuron === state.lamp);
      const called = state.names[neuron] ? `, “${state.names[neuron]}”` : "";
      const how = !isTouched ? "" : now[neuron] > 0 ? ", set by you" : ", put out by you";
      button.setAttribute("aria-label", `neuron ${neuron}${called}: ${isLit(data, neuron, now[neuron]) ? `lit, ${number(now[neuron])}` : "dark"}${how}`);
      button.setAttribute("aria-pressed", String(isTouched));
      button.tabIndex = neuron === state.lamp ? 0 : -1;
      button.title = state.names[neuron] ?? "";
    }
    const neuron = state.lamp;
    const name = state.names[neuron] ?? "";
    title.textContent = `Neuron ${neuron}`;
    const shown = now[neuron] / data.usual[neuron];
    /** @type {HTMLInputElement} */ (strength).value = String(Math.min(shown, STRONGEST));
    times.textContent = now[neuron] > 0 ? ` × ${number(shown)}` : " off";
    /** @type {HTMLSelectElement} */ (names).value = name;
    back.hidden = Object.keys(state.set).length === 0;
    const why = name ? refuting(data, neuron, name) : "";
    note.textContent = !name ? "" : why ? `“${name}” does not fit neuron ${neuron}: ${why}.` : `“${name}” fits neuron ${neuron}: by itself it is lit in these scenes, and in no others.`;
    note.classList.toggle("ck-fits", Boolean(name) && !why);
    drawInside(neuron, sentence, now[neuron], neuron in state.set, state);
  }

  /** @param {number} neuron @param {string[]} sentence @param {number} activation @param {boolean} isTouched @param {any} state */
  function drawInside(neuron, sentence, activation, isTouched, state) {
    const model = modelOf(data, state);
    const { votes, common } = votesOf(model, data.kinds, sentence, neuron);
    const columns = [...votes, { word: "all the rest", vote: common }];
    const largest = Math.max(...columns.map(({ vote }) => Math.abs(vote)));
    reads.replaceChildren(...columns.map(({ word, vote }) => column(word, vote, largest)));
    reads.setAttribute("aria-label", `What neuron ${neuron} reads: ${columns.map(({ word, vote }) => `${word} ${number(vote)}`).join(", ")}`);
    const total = columns.reduce((before, { vote }) => before + vote, 0);
    const natural = total <= 0 ? "so ReLU makes it 0, and the neuron is dark" : "so the neuron is lit";
    sum.textContent = `Together they are ${number(total)}, ${natural}.${isTouched ? ` You have set it to ${number(activation)}.` : ""}`;
    const pushes = model.writes(neuron);
    const push = (/** @type {string} */ word) => pushes[model.number.get(word) ?? 0];
    const [up, down] = push("over") > push("into") ? ["over", "into"] : ["into", "over"];
    writes.textContent = `When it is lit, it pushes “${up}” up against “${down}”, by ${number(push(up) - push(down), 1)} times its activation.`;
  }
  return { place, draw };
}
