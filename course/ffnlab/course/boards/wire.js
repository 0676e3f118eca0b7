// @ts-check
// The levels of notebook 03. Each is one of three kinds: a hand sets the units, a network follows a curve, gradient descent moves one unit.
import { follow } from "./follow.js";
import { descent } from "./descent.js";
import { hand } from "./ribbon.js";

const KINDS = { hand, follow, descent };
/** @param {any} data */
const kindOf = (data) => KINDS[/** @type {keyof typeof KINDS} */ (data.kind)];

/** @type {import("./runtime.js").Board} */
export const board = {
  start: (data) => kindOf(data).start(data),
  goals: { ...hand.goals, ...follow.goals, ...descent.goals },
  level: (state, data) => kindOf(data).level(state, data),
  tries: (goal, state, before, data) => kindOf(data).tries(goal, state, before, data),
  stage: (place, play) => kindOf(play.data).stage(place, play),
};
