// @ts-check
// The scales of notebook 05: attention's matrices on one pan, the FFN's on the other, as areas at one scale.
import { choice, clamp, knob, set, shape } from "./marks.js";
import { D_MODEL, inner, keyHeads, matrices, packed, ratioOf, sideOf, weights } from "./scales_model.js";
import { element, number, plural, wholeNumber } from "./runtime.js";

/** @typedef {import("./scales_model.js").Block} Block */
/** @typedef {{name: string, title: string, live: string[], most: number, start: Block}} Level */

const RATIOS = [1, 2, 3, 4, 6, 8, 16, 32, 64];
const POWERS = [1, 2, 4, 8, 16, 32, 64, 128];
const WIDTHS = [0, 32, 64, 128, 256];
const [TOP, FLOOR, LOAD] = [44, 258, 150]; // of the picture, in pixels: beam, pans at rest, what a pan can hold
const TILT = 36; // of a pan that weighs infinitely more than the other
const SLOW = 4; // doublings after which the beam has gone half of its way
const MOST = 44; // the largest side of a square [d_model, d_model]

/** @param {any} state @param {any} data @returns {Level} */
const levelOf = (state, data) => data.levels[state.level];
/** @param {any} state @returns {Block} */
const blockOf = (state) => state.blocks[state.level];

/** @type {Record<string, (on: {attention: number, ffn: number}) => boolean>} */
const GOALS = {
  two: ({ attention, ffn }) => ffn === 2 * attention,
  even: ({ attention, ffn }) => ffn === attention,
  wide: ({ attention, ffn }) => ffn === 2 * attention,
  eleven: ({ attention, ffn }) => ffn >= 11 * attention,
  heads: ({ attention, ffn }) => attention > ffn,
};

/** @type {import("./runtime.js").Board} */
export const board = {
  start: (data) => ({ level: 0, blocks: data.levels.map((/** @type {Level} */ { start }) => start) }),
  goals: Object.fromEntries(Object.entries(GOALS).map(([name, reached]) => [name, (state, data) => levelOf(state, data).name === name && reached(weights(blockOf(state)))])),
  level: (state, data) => levelOf(state, data).name,
  tries: (name, state, before, data) => levelOf(state, data).name === name && state.blocks !== before.blocks,
  stage,
};

/** By how many pixels the FFN's pan hangs below its rest: every change of the ratio moves it, however far it hangs. @param {{attention: number, ffn: number}} on */
export const swingOf = ({ attention, ffn }) => (TILT * Math.atan(Math.log2(ffn / attention) / SLOW)) / (Math.PI / 2);

/** A slider over a few values, with its name. @param {string} name @param {(index: number) => void} move */
function stops(name, move) {
  const value = element("output", { class: "sc-value" });
  const input = /** @type {HTMLInputElement} */ (element("input", { type: "range", min: 0, step: 1, "aria-label": name, oninput: () => move(Number(input.value)) }));
  const whole = element("label", { class: "sc-slider" }, element("span", {}, name), input, value);
  return {
    whole,
    show: (/** @type {number} */ index, /** @type {number} */ count, /** @type {string} */ says) => {
      input.max = String(count - 1);
      input.value = String(index);
      input.setAttribute("aria-valuetext", says);
      value.textContent = says;
    },
  };
}

/** @param {string} name @param {(on: boolean) => void} move */
function tick(name, move) {
  const input = /** @type {HTMLInputElement} */ (element("input", { type: "checkbox", onchange: () => move(input.checked) }));
  return { whole: element("label", { class: "sc-tick" }, input, ` ${name}`), show: (/** @type {boolean} */ on) => (input.checked = on) };
}

/** @param {HTMLElement} place @param {import("./runtime.js").Play} play @returns {import("./runtime.js").Stage} */
function stage(place, play) {
  /** @type {Level[]} */
  const levels = play.data.levels;
  /** @param {Partial<Block>} patch */
  const change = (patch) => {
    const state = play.state();
    const block = { ...blockOf(state), ...patch };
    if (block.share > block.heads) block.share = block.heads;
    play.move({ blocks: state.blocks.map((/** @type {Block} */ old, /** @type {number} */ n) => (n === state.level ? block : old)) });
  };
  const ratios = () => RATIOS.filter((ratio) => ratio <= levelOf(play.state(), play.data).most);
  const shares = () => POWERS.filter((share) => share <= blockOf(play.state()).heads);
  const tabs = choice("Level", levels.map(({ title }) => title), (level) => play.move({ level }));
  const controls = {
    ratio: stops("d_ff / d_model", (index) => change({ ratio: ratios()[index] })),
    gated: tick("gate", (gated) => change({ gated })),
    heads: stops("query heads", (index) => change({ heads: POWERS[index] })),
    share: stops("K and V shared by", (index) => change({ share: shares()[index] })),
    width: stops("width of a head", (index) => change({ width: WIDTHS[index] })),
    second: tick("second attention", (second) => change({ second })),
  };
  const picture = element("div");
  place.append(tabs.whole, picture, element("div", { class: "sc-controls" }, ...Object.values(controls).map(({ whole }) => whole)));
  /** @type {(state: any) => void} */
  let update = () => {};

  return {
    draw(state, before) {
      if (!before) update = balance(picture, place.clientWidth || 640, (ratio) => change({ ratio }), ratios);
      const [level, block] = [levelOf(state, play.data), blockOf(state)];
      tabs.show(state.level);
      for (const [name, { whole }] of Object.entries(controls)) whole.hidden = !level.live.includes(name);
      controls.ratio.show(ratios().indexOf(block.ratio), ratios().length, number(block.ratio));
      controls.gated.show(block.gated);
      controls.heads.show(POWERS.indexOf(block.heads), POWERS.length, number(block.heads));
      controls.share.show(shares().indexOf(block.share), shares().length, `${block.share > 1 && block.share === block.heads ? "all " : ""}${plural(block.share, "head")}`);
      controls.width.show(WIDTHS.indexOf(block.width), WIDTHS.length, block.width ? number(block.width) : `d_model / heads = ${number(D_MODEL / block.heads)}`);
      controls.second.show(block.second);
      update({ block, live: level.live.includes("ratio") });
    },
    words: (state) => described(blockOf(state)),
  };
}

/**
 * The picture: a beam, two pans, and what lies on them.
 * @param {HTMLElement} picture @param {number} width @param {(ratio: number) => void} drag @param {() => number[]} ratios
 */
function balance(picture, width, drag, ratios) {
  const tall = FLOOR + TILT + 62;
  const svg = shape("svg", { class: "wr-picture sc-picture", width, height: tall, viewBox: `0 0 ${width} ${tall}` });
  const middle = width / 2;
  const pan = middle - 20; // how wide a pan is
  const ends = { attention: middle / 2, ffn: middle * 1.5 };
  const post = shape("path", { class: "sc-post", d: `M${middle} ${TOP}V${tall - 8}M${middle - 26} ${tall - 8}H${middle + 26}` });
  const beam = shape("line", { class: "sc-beam" });
  const tells = shape("text", { class: "sc-ratio", x: middle, y: TOP - 16 });
  svg.append(post, beam, shape("circle", { class: "sc-hub", cx: middle, cy: TOP, r: 5 }), tells);
  const sides = /** @type {const} */ (["attention", "ffn"]).map((name) => {
    const [strings, floor] = [shape("path", { class: "sc-string" }), shape("line", { class: "sc-floor" })];
    const [title, count] = [shape("text", { class: `sc-name sc-${name}` }, name === "ffn" ? "FFN" : "attention"), shape("text", { class: "sc-count" })];
    svg.append(strings, floor, title, count);
    return { name, strings, floor, title, count };
  });
  const loads = svg.appendChild(shape("g"));
  /** @type {Map<string, {whole: SVGElement, rect: SVGElement, text: SVGElement, tip: SVGElement}>} */
  const shown = new Map();
  let grip = { left: 0, side: 1, ratio: 1 };
  const near = (/** @type {number} */ wanted) => ratios().reduce((best, ratio) => (Math.abs(ratio - wanted) < Math.abs(best - wanted) ? ratio : best));
  const edge = knob(svg, {
    label: "d_ff in multiples of d_model", className: "sc-edge wr-ring", way: "across", low: 1, high: 64,
    drag: (x) => drag(near((x - grip.left) / grip.side)),
    key: (across, up) => {
      const stopsOf = ratios();
      drag(stopsOf[clamp(stopsOf.indexOf(grip.ratio) + across + up, 0, stopsOf.length - 1)]);
    },
  });
  const ring = /** @type {SVGElement} */ (svg.lastElementChild);
  picture.replaceChildren(svg);

  /** @param {string} name @param {string} label @param {string} kind */
  function made(name, label, kind) {
    const old = shown.get(name);
    if (old) return old;
    const [rect, text, tip] = [shape("rect", { class: `sc-matrix sc-${kind}` }), shape("text", { class: "sc-label" }, label), shape("title")];
    const whole = loads.appendChild(shape("g", {}, rect, text));
    rect.append(tip);
    const one = { whole, rect, text, tip };
    shown.set(name, one);
    return one;
  }

  return (/** @type {{block: Block, live: boolean}} */ { block, live }) => {
    const all = matrices(block);
    const on = weights(block);
    const sizes = sides.map(({ name }) => all.filter((matrix) => matrix.pan === name).map(({ rows, columns }) => ({ wide: columns / D_MODEL, high: rows / D_MODEL })));
    const side = sideOf(sizes, pan, LOAD, MOST);
    const swing = swingOf(on);
    set(beam, { x1: ends.attention, y1: TOP - swing, x2: ends.ffn, y2: TOP + swing });
    tells.textContent = ratioOf(block);
    const names = new Set(all.map(({ name }) => name));
    for (const [name, { whole }] of shown) if (!names.has(name)) whole.remove(), shown.delete(name);
    sides.forEach(({ name, strings, floor, title, count }, n) => {
      const down = name === "ffn" ? swing : -swing;
      const [x, y] = [ends[name], FLOOR + down];
      const left = x - pan / 2;
      set(strings, { d: `M${left} ${y}L${x} ${TOP + down}L${left + pan} ${y}` });
      set(floor, { x1: left, x2: left + pan, y1: y + 2, y2: y + 2 });
      set(title, { x, y: y + 20 });
      set(count, { x, y: y + 38 });
      count.textContent = `${wholeNumber(on[name])} = ${number(on[name] / D_MODEL ** 2, 3)} d²`;
      const { places } = packed(sizes[n], pan, LOAD, side);
      all.filter((matrix) => matrix.pan === name).forEach((matrix, k) => {
        const { whole, rect, text, tip } = made(matrix.name, matrix.label, name);
        const at = places[k];
        const [atX, atY] = [left + at.x, y - at.y - at.high];
        set(rect, { x: atX, y: atY, width: Math.max(at.wide, 1), height: at.high, rx: Math.min(3, at.high / 4) });
        set(text, { x: atX + at.wide / 2, y: atY + at.high / 2 + 4 });
        tip.textContent = `${matrix.name}: ${wholeNumber(matrix.rows)} · ${wholeNumber(matrix.columns)}`;
        set(whole, { class: at.high < 15 || at.wide < 9 * matrix.label.length + 2 ? "sc-small" : "" });
        if (matrix.name !== "W1" && matrix.name !== "gate") return;
        grip = { left: atX, side, ratio: block.ratio };
        edge(atX + at.wide, atY + at.high / 2, block.ratio, `d_ff is d_model times ${number(block.ratio)}`);
      });
    });
    set(ring, { class: `wr-knob sc-edge wr-ring${live ? "" : " sc-gone"}`, tabindex: live ? 0 : -1, "aria-hidden": String(!live) });
  };
}

/** @param {Block} block */
function described(block) {
  const { attention, ffn } = weights(block);
  const heads = `${plural(block.heads, "head")} of ${number(inner(block) / block.heads)}`;
  const keys = keyHeads(block) < block.heads ? `, ${plural(keyHeads(block), "head")} of keys and values` : "";
  const heavier = ffn === attention ? "The scales are even" : ffn > attention ? "The FFN is heavier" : "Attention is heavier";
  return `${heavier}. FFN to attention is ${ratioOf(block)}. Of all these numbers the FFN has ${number((100 * ffn) / (ffn + attention), 1)} %. d_model is ${wholeNumber(D_MODEL)}; ${heads}${keys}.`;
}
