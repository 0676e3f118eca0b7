// @ts-check
// One sentence through the little Transformer: choose its words, switch the FFN off in the middle, and, where lamps are shown, silence single neurons.
import { CreekModel, amplified } from "./creek_model.js";
import { select } from "./d3.js";
import { element, number, percent } from "./runtime.js";

const KINDS = ["place", "weather", "mood", "creature"];
const GIVEN = 8; // so many words open the sentence
const VERB = 10; // the place of the word after which it is over or into
const QUESTIONS = { way: { before: VERB, words: ["over", "into"], says: "wanted to " }, feeling: { before: 14, words: ["glad", "sorry"], says: "and " } };
const SURE = 0.75; // a word that is less probable wavers
const ACTIVE = 0.05; // a smaller activation is not counted, nor shown
const STRONGEST = 4; // how many times as strong a lamp can be made

/**
 * The sentence as this world would have it; the order of the words of a kind says which attribute they have.
 * @param {Record<string, string[]>} kinds @param {Record<string, any>} scene
 */
export function wish(kinds, scene) {
  const first = (/** @type {string} */ kind) => kinds[kind].indexOf(scene[kind]) < kinds[kind].length / 2;
  const [water, cold, spunky] = [first("place"), first("weather"), first("mood")];
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
  const chances = model.after(right.slice(0, before + 1), state.ffn, state.gains);
  const made = { right, steps: model.write(opening(state), state.ffn, state.gains), shares: words.map((word) => chances[model.number.get(word) ?? 0]) };
  looks.set(state, made);
  return made;
}

/** Whether all that was written before a word is what this world would say. @param {number} before @param {{word: string}[]} steps @param {string[]} right */
const asAsked = (before, steps, right) => steps.slice(0, before + 1 - GIVEN).every(({ word }, n) => word === right[GIVEN + n]);

/** How many words of a state are not those of the board's start. @param {any} data @param {any} state */
const wordsChanged = (data, state) => KINDS.filter((kind) => state[kind] !== board.start(data)[kind]).length;

/** @param {string[]} words */
const list = (words) => (words.length > 4 ? `${words.length} words` : words.length > 1 ? `${words.slice(0, -1).join(", ")} and ${words[words.length - 1]}` : words[0] ?? "");

/** The strengths that differ from 1. @param {Record<string, number>} gains */
const changed = (gains) => Object.entries(gains).filter(([, gain]) => gain !== 1);

/** @type {import("./runtime.js").Board} */
export const board = {
  start: (data) => ({ place: "creek", weather: "cold", mood: "spunky", creature: "dog", ffn: true, model: "shipped", gains: {}, lamp: 10, ...data.start }),

  goals: {
    into: (state, data) => state.ffn && lookAt(data, state).shares[1] > SURE,
    off: (state) => !state.ffn,
    sorry: (state, data) => wordsChanged(data, state) === 1 && lookAt(data, state).steps.some(({ word }) => word === "sorry"),
    twin_off: (state) => !state.ffn && state.model === "twin",
    twin_mean: (state) => state.ffn === "mean" && state.model === "twin",
    unsure(state, data) {
      const { shares } = lookAt(data, state);
      const silent = changed(state.gains).length;
      return state.ffn && Math.max(...shares) < SURE && silent > 0 && silent;
    },
  },

  stage(place, play) {
    const { data } = play;
    const lamps = data.guise === "lamps" ? lampsOf(data, play) : null;

    const selects = KINDS.map((kind) => {
      const options = data.kinds[kind].map((/** @type {string} */ word) => element("option", { value: word }, word));
      return element("select", { class: "ck-choice", "aria-label": kind, onchange: (/** @type {any} */ event) => play.move({ [kind]: event.target.value }) }, ...options);
    });
    const word = (/** @type {string} */ text) => element("span", { class: "ck-given" }, text);
    const [thing, weather, mood, creature] = selects;
    const given = element("span", { class: "ck-prompt" }, word("The"), thing, word("was"), weather, word("and the"), mood, creature);
    const written = element("span", { class: "ck-written" });
    const sentence = element("div", { class: "ck-sentence" }, given, written);
    const legend = element("p", { class: "ck-legend" }, "The line under a word: how probable the model finds it. ", "Below a word that is less than 75 % probable stands the next best. ", element("span", { class: "ck-no" }, "Pink"), ": not what this world would say.");

    const hasTwin = Boolean(data.models.twin);
    const knob = element("button", { type: "button", role: "switch", class: "ck-switch", "aria-label": "FFN", onclick: () => play.move({ ffn: !play.state().ffn }) });
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
    if (data.question === "way") place.append(machine); // whoever looks for the other rule needs no switch
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

/** The 64 neurons at one word: lamps that can be silenced and made stronger. @param {any} data @param {import("./runtime.js").Play} play */
function lampsOf(data, play) {
  const groups = data.groups.map((/** @type {{title: string, neurons: number[]}} */ group) => {
    const buttons = group.neurons.map((neuron) =>
      element("button", { type: "button", class: "ck-lamp", "data-neuron": neuron, tabindex: -1, onclick: () => press(neuron), onfocus: () => look(neuron), onpointerenter: () => look(neuron) }, String(neuron)),
    );
    return { title: group.title, buttons, place: element("div", { class: "ck-group" }, element("span", { class: "ck-group-title" }, group.title), element("div", { class: "ck-row" }, ...buttons)) };
  });
  const buttons = groups.flatMap((/** @type {any} */ group) => group.buttons);
  const head = element("p", { class: "ck-head" });
  const board = element("div", { class: "ck-lamps", role: "toolbar", "aria-label": "Neurons: arrow keys go along them, Enter silences one" }, ...groups.map((/** @type {any} */ group) => group.place));
  board.addEventListener("keydown", (event) => {
    const by = { ArrowRight: 1, ArrowDown: 1, ArrowLeft: -1, ArrowUp: -1 }[event.key];
    if (!by) return;
    event.preventDefault();
    const at = buttons.indexOf(document.activeElement);
    buttons[(at + by + buttons.length) % buttons.length].focus();
  });
  const title = element("b");
  const strength = element("input", { type: "range", min: 0, max: STRONGEST, step: 0.25, "aria-label": "strength", oninput: (/** @type {any} */ event) => turn(play.state().lamp, Number(event.target.value)) });
  const times = element("span", { class: "ck-times" });
  const reads = element("div", { class: "ck-reads", role: "img" });
  const sum = element("p", { class: "ck-sum" });
  const writes = element("p", { class: "ck-writes" });
  const place = element(
    "div",
    { class: "ck-panel" },
    head, board,
    element("div", { class: "ck-detail" }, element("div", { class: "ck-name" }, title, element("label", {}, "strength ", strength, times)), reads, sum, writes),
  );

  /** @param {number} neuron @param {number} gain */
  function turn(neuron, gain) {
    const { [neuron]: _, ...others } = play.state().gains;
    play.move({ gains: gain === 1 ? others : { ...others, [neuron]: gain }, lamp: neuron });
  }
  /** @param {number} neuron */
  const press = (neuron) => turn(neuron, (play.state().gains[neuron] ?? 1) === 1 ? 0 : 1);
  /** @param {number} neuron */
  const look = (neuron) => play.state().lamp !== neuron && play.move({ lamp: neuron });

  /** @param {string} label @param {number} vote @param {number} largest */
  function column(label, vote, largest) {
    const bar = element("i", { class: vote < 0 ? "ck-minus" : "ck-plus", style: `height:${number((44 * Math.abs(vote)) / largest, 1)}px` });
    return element("span", { class: "ck-vote" }, element("span", { class: "ck-bars" }, bar), element("span", { class: "ck-vote-word" }, label), element("span", { class: "ck-vote-number" }, number(vote)));
  }

  /** @param {any} state */
  function draw(state) {
    const model = modelOf(data, state);
    const sentence = lookAt(data, state).right.slice(0, VERB + 1);
    const x = /** @type {Float64Array} */ (model.gather(sentence).pop());
    const raw = model.hidden(x);
    const hidden = amplified(raw, state.gains);
    const lit = state.ffn ? [...hidden].filter((h) => h > ACTIVE).length : 0;
    head.textContent = `${lit} of 64 neurons ${lit === 1 ? "is" : "are"} active at “${sentence[VERB]}”. Press one to silence it.`;
    for (const button of buttons) {
      const neuron = Number(button.dataset.neuron);
      const gain = state.gains[neuron] ?? 1;
      const glow = state.ffn && hidden[neuron] > ACTIVE ? 0.6 + 0.4 * Math.min(hidden[neuron] / 1.5, 1) : 0; // from 0.6 on, so that its number can be read
      button.style.setProperty("--glow", String(glow));
      button.classList.toggle("ck-silent", gain === 0);
      button.classList.toggle("ck-strong", gain !== 0 && gain !== 1);
      button.setAttribute("aria-pressed", String(gain === 0));
      button.setAttribute("aria-label", `neuron ${neuron}${data.names[neuron] ? `, “${data.names[neuron]}”` : ""}: ${number(hidden[neuron])}${gain === 0 ? ", silenced" : ""}`);
      button.tabIndex = neuron === state.lamp ? 0 : -1;
      button.classList.toggle("ck-chosen", neuron === state.lamp);
    }
    const neuron = state.lamp;
    const gain = state.gains[neuron] ?? 1;
    title.textContent = `Neuron ${neuron}${data.names[neuron] ? `, “${data.names[neuron]}”` : ""}`;
    /** @type {HTMLInputElement} */ (strength).value = String(gain);
    times.textContent = ` × ${number(gain)}`;
    const { votes, common } = votesOf(model, data.kinds, sentence, neuron);
    const columns = [...votes, { word: "all the rest", vote: common }];
    const largest = Math.max(...columns.map(({ vote }) => Math.abs(vote)));
    reads.replaceChildren(...columns.map(({ word, vote }) => column(word, vote, largest)));
    reads.setAttribute("aria-label", `What neuron ${neuron} reads: ${columns.map(({ word, vote }) => `${word} ${number(vote)}`).join(", ")}`);
    const total = columns.reduce((before, { vote }) => before + vote, 0);
    const together = `Together they are ${number(total)}`;
    if (total <= 0) sum.textContent = `${together}, and ReLU makes that 0.`;
    else if (!state.ffn) sum.textContent = `${together}, but the FFN is off.`;
    else if (gain === 0) sum.textContent = `${together}, but you have silenced the neuron.`;
    else sum.textContent = `${together}, so the neuron is active.`;
    const pair = data.groups[1].neurons.includes(neuron) ? ["glad", "sorry"] : ["over", "into"];
    const pushes = model.writes(neuron);
    const push = (/** @type {string} */ word) => pushes[model.number.get(word) ?? 0];
    const [up, down] = push(pair[0]) > push(pair[1]) ? pair : [pair[1], pair[0]];
    writes.textContent = `When it is active, it pushes “${up}” up against “${down}”, by ${number(push(up) - push(down), 1)} for each unit of its activation.`;
  }
  return { place, draw };
}
