// @ts-check
// Bars without names: published models as shares of embeddings, attention and FFN. A card describes one of them, and its bar is to be found.
import { element, number, plural } from "./runtime.js";

/** @typedef {{name: string, about: string, fact: string, source: string, embeddings: number, attention: number, ffn: number}} Model */

const FEW = 6; // so many are enough for the first goal

/** @param {any} state */
const found = (state) => state.found.length;

/** @type {import("./runtime.js").Board} */
export const board = {
  start: () => ({ card: 0, found: [], last: -1, presses: 0 }),
  goals: {
    few: (state) => found(state) >= FEW,
    all: (state, data) => found(state) === data.models.length && state.presses,
  },
  stage,
};

/** @param {HTMLElement} place @param {import("./runtime.js").Play} play @returns {import("./runtime.js").Stage} */
function stage(place, play) {
  /** @type {Model[]} */
  const models = play.data.models;
  /** @type {number[]} */
  const order = play.data.cards;

  const waiting = (/** @type {any} */ state) => order.filter((model) => !state.found.includes(model));
  const asked = (/** @type {any} */ state) => waiting(state)[state.card % Math.max(waiting(state).length, 1)];
  const title = element("strong");
  const about = element("span");
  const other = element("button", { type: "button", class: "ba-other", onclick: () => play.move({ card: play.state().card + 1, last: -1 }) }, "Another model");
  const card = element("div", { class: "ba-card" }, element("div", {}, title, " ", about), other);
  const bars = models.map((model, index) => {
    const name = element("span", { class: "ba-name" });
    const parts = /** @type {const} */ (["embeddings", "attention", "ffn"]).map((part) => element("span", { class: `ba-part ba-${part}`, style: `width: ${100 * model[part]}%` }));
    const row = element("button", { type: "button", class: "ba-row", tabindex: index ? -1 : 0, onclick: () => press(index) },
      name, element("span", { class: "ba-bar" }, ...parts), element("span", { class: "ba-share" }, `${number(100 * model.ffn, 1)} %`));
    return { row, name };
  });
  const list = element("div", { class: "ba-list", role: "group", "aria-label": "Bars", onkeydown: walk }, ...bars.map(({ row }) => row));
  const key = element("div", { class: "ba-key" }, ...[["embeddings", "embeddings"], ["attention", "attention"], ["ffn", "FFN, with its share of all parameters at the right"]].map(([part, words]) =>
    element("span", {}, element("i", { class: `ba-part ba-${part}` }), ` ${words}`)));
  place.append(card, list, key);

  /** @param {KeyboardEvent} event */
  function walk(event) {
    const step = event.key === "ArrowDown" ? 1 : event.key === "ArrowUp" ? -1 : 0;
    const at = bars.findIndex(({ row }) => row === document.activeElement);
    if (!step || at < 0) return;
    event.preventDefault();
    const next = bars[Math.min(Math.max(at + step, 0), bars.length - 1)].row;
    for (const { row } of bars) row.tabIndex = row === next ? 0 : -1;
    next.focus();
  }

  /** @param {number} index */
  function press(index) {
    const state = play.state();
    if (state.found.includes(index) || !waiting(state).length) return play.move({ last: index });
    const right = index === asked(state);
    const at = state.card % waiting(state).length;
    play.move({ presses: state.presses + 1, last: index, ...(right && { found: [...state.found, index], card: at }) });
  }

  return {
    draw(state) {
      const model = models[asked(state)];
      title.textContent = model ? `Which bar is ${model.name}?` : "All have their names.";
      about.textContent = model ? model.about : "Press a bar to read of it again.";
      other.hidden = waiting(state).length < 2;
      bars.forEach(({ row, name }, index) => {
        const known = state.found.includes(index);
        name.textContent = known ? models[index].name : "?";
        row.classList.toggle("ba-known", known);
        row.classList.toggle("ba-last", state.last === index);
        row.setAttribute("aria-label", `${known ? models[index].name : `bar ${index + 1}`}: ${shares(models[index])}`);
      });
    },
    words(state) {
      const [last, model] = [models[state.last], models[asked(state)]];
      if (!last) return `${plural(found(state), "bar has its name", "bars have their names")}.`;
      if (state.found.includes(state.last)) return `${last.name}. ${last.fact} (${last.source})`;
      return `That is not ${model.name}: this bar has ${shares(last)}.`;
    },
  };
}

/** @param {Model} model */
const shares = ({ embeddings, attention, ffn }) => `${number(100 * embeddings, 1)} % in embeddings, ${number(100 * attention, 1)} % in attention, ${number(100 * ffn, 1)} % in FFNs`;
