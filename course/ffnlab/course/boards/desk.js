// @ts-check
// The mixing desk: pull the weights of words until their mix is on the star. Some stars no weights reach.
import { select } from "./d3.js";
import { distance, mix, places, pulled, used } from "./desk_model.js";
import { element, number, plural, unique } from "./runtime.js";

const REACH = 2.3; // how far the plane goes from the origin
const SIDE = 310; // the largest side of the plane, in pixels
const TRAIL = 900; // places of the dot that are remembered
const STAR = [...Array(10).keys()].map((n) => [(n % 2 ? 5.5 : 13) * Math.sin((n * Math.PI) / 5), -(n % 2 ? 5.5 : 13) * Math.cos((n * Math.PI) / 5)]);

/** @param {string} tag @param {Record<string, any>} [attributes] @param {...Node} children @returns {SVGElement} */
function shape(tag, attributes = {}, ...children) {
  const made = document.createElementNS("http://www.w3.org/2000/svg", tag);
  for (const [name, value] of Object.entries(attributes)) made.setAttribute(name, String(value));
  made.append(...children);
  return made;
}

/** @param {any} data @param {number} level */
function begun(data, level) {
  const { words } = data.levels[level];
  return { level, weights: words.map(() => 1 / words.length), pull: null, pulls: 0, turn: 0, stretch: 1 };
}

/** @param {any} state @param {any} data @param {string} name */
const won = (state, data, name) => data.levels[state.level].goal === name && distance(state, data.levels[state.level]) <= data.near;

/** @type {import("./runtime.js").Board} */
export const board = {
  start: (data) => begun(data, 0),

  goals: {
    inside: (state, data) => won(state, data, "inside") && state.pulls,
    outside: (state, data) => won(state, data, "outside"),
    few: (state, data) => won(state, data, "few") && used(state.weights),
    matrix: (state, data) => won(state, data, "matrix"),
  },

  tries: (goal, state, _before, data) => data.levels[state.level].goal === goal && (state.pulls > 0 || state.turn !== 0 || state.stretch !== 1),

  stage(place, play) {
    const { data } = play;
    const most = Math.max(...data.levels.map((/** @type {any} */ level) => level.words.length));
    const tabs = data.levels.map((/** @type {any} */ _, /** @type {number} */ n) =>
      element("button", { type: "button", class: "dk-tab", onclick: () => play.move(begun(data, n)) }, `Level ${n + 1}`));
    const picture = shape("svg", { role: "img", class: "dk-plane" });
    const [axes, trail] = [shape("path", { class: "dk-axes" }), shape("path", { class: "dk-trail" })];
    const [strings, words] = [shape("g"), shape("g")];
    const star = shape("path", { class: "dk-star", d: `M${STAR.map((point) => point.map((value) => value.toFixed(1)).join(" ")).join("L")}Z` });
    const dot = shape("circle", { class: "dk-mix", r: 8 });
    picture.append(axes, trail, strings, star, words, dot);

    /** @param {string} name @param {Record<string, any>} range @param {(value: number) => void} moved */
    function fader(name, range, moved) {
      const id = unique("dk");
      const slider = /** @type {HTMLInputElement} */ (element("input", { type: "range", id, ...range, oninput: (/** @type {any} */ event) => moved(Number(event.target.value)) }));
      const label = element("label", { for: id }, name);
      const says = element("output", { for: id });
      const row = element("div", { class: "dk-fader" }, label, slider, says);
      return { row, slider, label, says };
    }
    const faders = [...Array(most).keys()].map((n) => fader("", { min: 0, max: 100, step: 1 }, (value) => pull(n, value / 100)));
    faders.forEach(({ row }, n) => row.classList.add(`dk-word${n}`));
    const turn = fader("turn", { min: -180, max: 180, step: 5 }, (value) => play.move({ turn: value, pull: null }));
    const stretch = fader("stretch", { min: 0.5, max: 2, step: 0.05 }, (value) => play.move({ stretch: value, pull: null }));
    const sum = element("p", { class: "dk-sum" });
    const matrix = element("div", { class: "dk-matrix" }, element("p", {}, "The matrix"), turn.row, stretch.row);
    const desk = element("div", { class: "dk-desk" }, ...faders.map(({ row }) => row), sum, matrix);
    place.append(element("div", { class: "dk-tabs", role: "group", "aria-label": "Level" }, ...tabs), element("div", { class: "dk-both" }, picture, desk));

    /** @param {number} n @param {number} share */
    function pull(n, share) {
      const state = play.state();
      const same = state.pull?.fader === n;
      const from = same ? state.pull.from : state.weights;
      play.move({ weights: pulled(from, n, share), pull: { fader: n, from }, pulls: state.pulls + (same ? 0 : 1) });
    }

    /** @type {string[]} */
    let been = []; // where the dot has been, as pieces of a path
    let drawn = ""; // for what
    let side = 0;

    /** @param {any} state @param {any} before */
    function draw(state, before) {
      const level = data.levels[state.level];
      if (!before || !side) side = Math.min(place.clientWidth || SIDE, SIDE);
      const to = (/** @type {number[]} */ [x, y]) => [((x + REACH) * side) / (2 * REACH), ((REACH - y) * side) / (2 * REACH)].map((value) => Math.round(10 * value) / 10);
      const at = places(state, level);
      const here = to(mix(at, state.weights));
      const reached = distance(state, level) <= data.near;
      const about = JSON.stringify([state.level, state.turn, state.stretch, side]);
      if (about !== drawn || state.pulls === 0) been = [];
      drawn = about;
      const step = `M${here.join(" ")}h0`;
      if (been[been.length - 1] !== step) been = [...been, step].slice(-TRAIL);

      select(picture).attr("width", side).attr("height", side).attr("viewBox", `0 0 ${side} ${side}`)
        .attr("aria-label", `The plane with the words ${level.words.join(", ")}, their mix and the star`);
      select(axes).attr("d", `M0 ${side / 2}H${side}M${side / 2} 0V${side}`);
      select(trail).attr("d", been.join(""));
      select(strings).selectAll("line").data(at).join("line")
        .attr("class", (/** @type {any} */ _, /** @type {number} */ n) => `dk-string dk-word${n}`)
        .attr("x1", here[0]).attr("y1", here[1])
        .attr("x2", (/** @type {any} */ point) => to(point)[0]).attr("y2", (/** @type {any} */ point) => to(point)[1])
        .attr("stroke-width", (/** @type {any} */ _, /** @type {number} */ n) => (10 * state.weights[n]).toFixed(2));
      select(words).selectAll("g").data(at).join((/** @type {any} */ entering) => {
        const made = entering.append("g");
        made.append("circle").attr("r", 6);
        made.append("text").attr("text-anchor", "middle");
        return made;
      }).attr("class", (/** @type {any} */ _, /** @type {number} */ n) => `dk-point dk-word${n}`)
        .attr("transform", (/** @type {any} */ point) => `translate(${to(point).join(" ")})`)
        .each(/** @this {SVGElement} @param {any} point @param {number} n */ function (point, n) {
          const middle = at.reduce((sum, one) => sum + one[1], 0) / at.length;
          const [x, y] = to(point);
          const half = 4.5 * level.words[n].length + 4; // of a label's width
          const above = point[1] >= middle ? y > 30 : y > side - 34;
          select(this).select("text").text(level.words[n]).attr("x", Math.min(Math.max(x, half), side - half) - x).attr("y", above ? -12 : 23);
        });
      select(star).attr("transform", `translate(${to(level.star).join(" ")})`).classed("dk-reached", reached);
      select(dot).attr("cx", here[0]).attr("cy", here[1]);

      tabs.forEach((/** @type {HTMLElement} */ tab, /** @type {number} */ n) => tab.setAttribute("aria-pressed", String(n === state.level)));
      faders.forEach(({ row, slider, label, says }, n) => {
        row.hidden = n >= level.words.length;
        if (row.hidden) return;
        const share = Math.round(100 * state.weights[n]);
        label.textContent = level.words[n];
        slider.value = String(share);
        slider.setAttribute("aria-valuetext", `${share} percent`);
        says.textContent = `${share} %`;
      });
      matrix.hidden = !level.matrix;
      turn.slider.value = String(state.turn);
      turn.says.textContent = `${number(state.turn, 0)}°`;
      stretch.slider.value = String(state.stretch);
      stretch.says.textContent = `× ${number(state.stretch)}`;
      sum.textContent = `${plural(state.pulls, "pull")}, and the weights sum to 100 %.`;
    }

    /** @param {any} state */
    function told(state) {
      const level = data.levels[state.level];
      const parts = level.words.map((/** @type {string} */ word, /** @type {number} */ n) => `${Math.round(100 * state.weights[n])} % ${word}`);
      const away = distance(state, level);
      return `${parts.slice(0, -1).join(", ")} and ${parts[parts.length - 1]}. The mix is ${away <= data.near ? "on the star" : `${number(away)} away from the star`}.`;
    }
    return { draw, words: told };
  },
};
