// @ts-check
// Four words with a vote each: what the mix of two of them says in four sentences. High is into, which is right where water is warm or land is cold.
import { select } from "./d3.js";
import { element, number, plural, unique } from "./runtime.js";

/** @typedef {{place: string, weather: string, into: boolean}} Sentence */

/** The four sentences, with what is right: the first place is water, the first weather cold. @param {any} data @returns {Sentence[]} */
export const sentencesOf = ({ places, weathers }) =>
  places.flatMap((/** @type {string} */ place, /** @type {number} */ p) => weathers.map((/** @type {string} */ weather, /** @type {number} */ w) => ({ place, weather, into: p !== w })));

/** The mix of a sentence's two words, half of each. @param {Record<string, number>} votes @param {Sentence} sentence */
export const mixed = (votes, { place, weather }) => (votes[place] + votes[weather]) / 2;

/** @param {Record<string, number>} votes @param {Sentence} sentence */
export const isRight = (votes, sentence) => (sentence.into ? mixed(votes, sentence) > 0 : mixed(votes, sentence) < 0);

/** @param {any} state @param {any} data */
const right = (state, data) => sentencesOf(data).filter((sentence) => isRight(state.votes, sentence)).length;

/** What a mix says. @param {number} value */
const said = (value) => (value > 0 ? "into" : value < 0 ? "over" : "nothing");

/** @type {import("./runtime.js").Board} */
export const board = {
  start: (data) => ({ votes: Object.fromEntries([...data.places, ...data.weathers].map((word) => [word, 0])) }),

  goals: {
    three: (state, data) => right(state, data) >= 3,
    four: (state, data) => right(state, data) === 4,
  },

  stage(place, play) {
    const { data } = play;
    const faders = [...data.places, ...data.weathers].map((word) => {
      const id = unique("vt");
      const slider = /** @type {HTMLInputElement} */ (element("input", { type: "range", id, min: -data.most, max: data.most, step: 1,
        oninput: (/** @type {any} */ event) => play.move({ votes: { ...play.state().votes, [word]: Number(event.target.value) } }) }));
      const says = element("output", { for: id });
      return { word, slider, says, row: element("div", { class: "vt-fader" }, element("label", { for: id }, word), slider, says) };
    });
    const ends = element("p", { class: "vt-ends", "aria-hidden": "true" }, element("span", {}, "← over"), element("span", {}, "into →"));
    const rows = element("div", { class: "vt-rows" });
    place.append(element("div", { class: "vt-desk" }, ends, ...faders.map(({ row }) => row)), rows);

    /** @param {any} state */
    function draw(state) {
      for (const { word, slider, says } of faders) {
        const vote = state.votes[word];
        slider.value = String(vote);
        slider.setAttribute("aria-valuetext", vote ? `${Math.abs(vote)} for ${said(vote)}` : "no vote");
        says.textContent = number(vote, 0);
      }
      select(rows).selectAll("div.vt-row").data(sentencesOf(data)).join((/** @type {any} */ entering) => {
        const made = entering.append("div").attr("class", "vt-row");
        made.append("span").attr("class", "vt-scene");
        made.append("span").attr("class", "vt-bar").attr("aria-hidden", "true").append("i");
        made.append("span").attr("class", "vt-said");
        return made;
      }).each(/** @this {HTMLElement} @param {Sentence} sentence */ function (sentence) {
        const here = select(this);
        const value = mixed(state.votes, sentence);
        const good = isRight(state.votes, sentence);
        const wide = Math.abs(value / data.most) * 50;
        here.classed("vt-right", good).classed("vt-wrong", value !== 0 && !good);
        here.select(".vt-scene").text(`${sentence.weather} ${sentence.place}: ${sentence.into ? "into" : "over"}`);
        here.select(".vt-bar i").attr("class", `vt-${said(value)}`).style("left", `${value < 0 ? 50 - wide : 50}%`).style("width", `${wide}%`);
        here.select(".vt-said").text(value ? `says ${said(value)} ${good ? "✓" : "✗"}` : "says nothing");
      });
    }

    return { draw, words: (state) => `${plural(right(state, data), "of 4 sentences is right", "of 4 sentences are right")}.` };
  },
};
