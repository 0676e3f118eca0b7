// @ts-check
// A board of a demonstration kind, for tests: a number that is moved, and a question to Python.
import { element, number } from "./runtime.js";

/** @type {import("../../course/ffnlab/boards/runtime.js").Board} */
export const board = {
  start: () => ({ height: 0, answer: "" }),
  goals: {
    high: (state, data) => state.height >= data.wanted,
    few: (state) => state.height > 0 && state.height,
    never: () => false,
  },
  stage(place, play) {
    const slider = element("input", { type: "range", min: 0, max: 9, "aria-label": "height", oninput: (/** @type {any} */ event) => play.move({ height: Number(event.target.value) }) });
    const ask = async () => {
      try {
        play.move({ answer: String((await play.ask("double", play.state().height)).value) });
      } catch {}
    };
    const button = element("button", { type: "button", onclick: ask }, "Ask Python");
    const answer = element("output", {});
    place.append(slider, button, answer);
    return {
      draw(state) {
        /** @type {HTMLInputElement} */ (slider).value = state.height;
        answer.textContent = state.answer;
      },
      words: (state) => `The height is ${number(state.height)}.`,
    };
  },
};
