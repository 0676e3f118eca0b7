// @ts-check
// The levels of notebook 03. Each is one of four kinds: a hand sets the neurons, a network follows a curve, a deep network is looked at, gradient descent moves one neuron.
import { follow } from "./follow.js";
import { layers } from "./layers.js";
import { descent } from "./descent.js";
import { hand } from "./ribbon.js";

const KINDS = { hand, follow, layers, descent };
/** @param {any} data */
const kindOf = (data) => KINDS[/** @type {keyof typeof KINDS} */ (data.kind)];

/** @type {import("./runtime.js").Board} */
export const board = {
  start: (data) => kindOf(data).start(data),
  goals: { ...hand.goals, ...follow.goals, ...layers.goals, ...descent.goals },
  level: (state, data) => kindOf(data).level(state, data),
  tries: (goal, state, before, data) => kindOf(data).tries(goal, state, before, data),
  stage: (place, play) => kindOf(play.data).stage(place, play),
};
