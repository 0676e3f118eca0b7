// @ts-check
// The river of experts: tokens in a plane with the borders of the router, and beside it the share of the tokens that each expert gets, step by step.
import { select } from "./d3.js";
import { bytes, element, number, percent, unique, wholeNumber } from "./runtime.js";

const EXPERTS = 8;
const DOTS = 240; // tokens that are drawn; loads are counted on all
const REACH = 2.8; // the plane is drawn from −REACH to REACH
const BEAT = 125; // milliseconds from one stored step to the next while it plays
const TURN = 320; // milliseconds that another branch takes to appear
const CATCH = 80; // milliseconds that the picture takes to catch up with a hand
const LABEL = 24; // room for the bands' numbers, right of where the river ends
const ERRORS = 0.6; // the error's axis ends here

/** @typedef {{routers: Float64Array[], loads: number[][], errors: number[]}} Run  what is known of a branch at every stored step */

/** Whole numbers of 16 bits in base64, little-endian. @param {string} text @param {boolean} signed */
export function unpack(text, signed) {
  const view = new DataView(bytes(text));
  return Array.from({ length: view.byteLength / 2 }, (_, n) => (signed ? view.getInt16(2 * n, true) : view.getUint16(2 * n, true)));
}

/** The expert whose logit is the largest at a point. A router is the weights of x, those of y, and the biases. @param {ArrayLike<number>} router @param {number} x @param {number} y */
export function expertAt(router, x, y) {
  let best = 0;
  let most = -Infinity;
  for (let e = 0; e < EXPERTS; e++) {
    const logit = router[e] * x + router[EXPERTS + e] * y + router[2 * EXPERTS + e];
    if (logit > most) [best, most] = [e, logit];
  }
  return best;
}

/**
 * The region that a router gives an expert: the square, cut by one straight line for each other expert. Empty where it has none.
 * @param {ArrayLike<number>} router @param {number} expert @returns {[number, number][]}
 */
export function regionOf(router, expert) {
  /** @type {[number, number][]} */
  let corners = [[-REACH, -REACH], [REACH, -REACH], [REACH, REACH], [-REACH, REACH]];
  for (let other = 0; other < EXPERTS && corners.length; other++) {
    if (other === expert) continue;
    const [a, b, c] = [0, EXPERTS, 2 * EXPERTS].map((row) => router[row + expert] - router[row + other]);
    const lead = corners.map(([x, y]) => a * x + b * y + c); // how far the expert is ahead of the other
    /** @type {[number, number][]} */
    const kept = [];
    corners.forEach(([x, y], n) => {
      const m = (n + 1) % corners.length;
      if (lead[n] >= 0) kept.push([x, y]);
      if (lead[n] >= 0 !== lead[m] >= 0) {
        const t = lead[n] / (lead[n] - lead[m]);
        kept.push([x + t * (corners[m][0] - x), y + t * (corners[m][1] - y)]);
      }
    });
    corners = kept;
  }
  return corners;
}

/** Area and centre of a polygon. @param {[number, number][]} corners */
function middleOf(corners) {
  let [area, x, y] = [0, 0, 0];
  corners.forEach(([x0, y0], n) => {
    const [x1, y1] = corners[(n + 1) % corners.length];
    const cross = x0 * y1 - x1 * y0;
    area += cross / 2;
    x += ((x0 + x1) * cross) / 6;
    y += ((y0 + y1) * cross) / 6;
  });
  return { area: Math.abs(area), x: x / area, y: y / area };
}

/** How many experts an uneven load amounts to: the exponential of its entropy. @param {number[]} load */
export const countEffective = (load) => Math.exp(-load.reduce((sum, share) => sum + (share ? share * Math.log(share) : 0), 0));

/** The name of a branch of training. @param {any} data @param {any} state */
function keyOf(data, state) {
  if (state.cure === "none") return "none";
  return `${state.cure === "loss" ? `loss ${data.alphas[state.alpha]}` : state.cure} ${state.when}`;
}

/** The cure that is on, in words: `short` for the picture, `long` for the sentence. @param {any} data @param {any} state */
function sayCure(data, state) {
  const { short, long } = data.cures[state.cure];
  const alpha = `α = ${data.alphas[state.alpha]}`;
  return state.cure === "loss" ? { short: `${short}, ${alpha}`, long: `${long} with ${alpha}` } : { short, long };
}

/** What was sent to the board, unpacked once: the tokens, and every branch at every stored step. */
export class Runs {
  /** @param {any} data */
  constructor(data) {
    this.data = data;
    const tokens = unpack(data.tokens, true).map((value) => value * data.units.token);
    this.points = Array.from({ length: tokens.length / 2 }, (_, n) => [tokens[2 * n], tokens[2 * n + 1]]);
    /** @type {Map<string, Run>} */
    this.known = new Map();
    this.packed = Object.fromEntries(
      Object.entries(data.runs).map(([head, run]) => [head, { routers: unpack(run.routers, true), errors: unpack(run.errors, false) }]),
    );
  }

  /** @param {number} head @param {string} key @returns {Run} */
  run(head, key) {
    const name = `${head} ${key}`;
    const known = this.known.get(name);
    if (known) return known;
    const { steps, branches, units } = this.data;
    const packed = this.packed[head];
    let begin = 0;
    for (const branch of branches) {
      const length = branch.when ? steps.filter((/** @type {number} */ step) => step > branch.when).length : steps.length;
      if (branch.key === key) {
        const plain = branch.when ? this.run(head, "none") : { routers: [], loads: [], errors: [] };
        const shared = steps.length - length;
        const own = Array.from({ length }, (_, n) => this.router(packed.routers, begin + n));
        const errors = packed.errors.slice(begin, begin + length).map((error) => error * units.error);
        const made = {
          routers: [...plain.routers.slice(0, shared), ...own],
          loads: [...plain.loads.slice(0, shared), ...own.map((router) => this.load(router))],
          errors: [...plain.errors.slice(0, shared), ...errors],
        };
        this.known.set(name, made);
        return made;
      }
      begin += length;
    }
    throw new Error(`no branch ${key}`);
  }

  /** @param {number[]} packed @param {number} place */
  router(packed, place) {
    const made = new Float64Array(3 * EXPERTS); // the last expert's numbers stay 0
    for (let row = 0; row < 3; row++) {
      for (let e = 0; e < EXPERTS - 1; e++) made[row * EXPERTS + e] = packed[(3 * place + row) * (EXPERTS - 1) + e] * this.data.units.router;
    }
    return made;
  }

  /** The share of all tokens that each expert gets. @param {Float64Array} router */
  load(router) {
    const counts = Array(EXPERTS).fill(0);
    for (const [x, y] of this.points) counts[expertAt(router, x, y)]++;
    return counts.map((count) => count / this.points.length);
  }
}

const unpacked = new WeakMap();

/** @param {any} data @returns {Runs} */
function runsOf(data) {
  if (!unpacked.has(data)) unpacked.set(data, new Runs(data));
  return unpacked.get(data);
}

/** What there is to know of a state: its branch and the one without a cure, and the load and the error at its step. @param {any} data @param {any} state */
function lookAt(data, state) {
  const runs = runsOf(data);
  const run = runs.run(state.head, keyOf(data, state));
  const plain = runs.run(state.head, "none");
  const load = run.loads[state.at];
  return {
    run, plain, load,
    error: run.errors[state.at],
    without: plain.errors[state.at],
    step: data.steps[state.at],
    cured: state.cure !== "none" && data.steps[state.at] > state.when,
    working: load.filter((share) => share >= data.working).length,
  };
}

/** @type {import("./runtime.js").Board} */
export const board = {
  start: (data) => ({ head: data.start, cure: "none", alpha: data.firstAlpha, when: data.whens[0], at: 0, expert: -1, playing: false }),

  goals: {
    even: (state, data) => {
      const now = lookAt(data, state);
      return state.head === data.start && now.cured && now.working === EXPERTS && now.step;
    },
    useful: (state, data) => {
      const now = lookAt(data, state);
      return state.head === data.start && now.cured && state.at === data.steps.length - 1 && now.working === EXPERTS && now.error < data.wanted * now.without;
    },
    alone: (state, data) => {
      const now = lookAt(data, state);
      return state.head === 0 && state.cure === "none" && now.working === EXPERTS;
    },
    useless: (state, data) => {
      const now = lookAt(data, state);
      return state.head === 0 && now.cured && state.at === data.steps.length - 1 && now.working === EXPERTS && now.error > now.without;
    },
  },

  // What was said of a goal goes away with the settings that it speaks of.
  level(state, data) {
    const isCured = state.cure !== "none";
    if (state.head === 0) return isCured ? (board.goals.useless(state, data) ? "useless" : "") : "alone";
    return isCured ? (board.goals.useful(state, data) ? "useful" : "even") : "";
  },

  // The level without a cure is tried by whoever has seen such a run to its end.
  tries(goal, state, _before, data) {
    if (state.at !== data.steps.length - 1) return false;
    if (goal === "alone") return state.head === 0 && state.cure === "none";
    return state.head === data.start && state.cure !== "none";
  },

  stage(place, play) {
    const { data } = play;
    const last = data.steps.length - 1;
    const points = runsOf(data).points.slice(0, DOTS);
    const numbers = Array.from({ length: EXPERTS }, (_, e) => e);
    const follow = (/** @type {number} */ e) => play.move({ expert: play.state().expert === e ? -1 : e });

    const caption = (/** @type {string} */ text) => element("p", { class: "rv-caption" }, text);

    // The plane.
    const left = element("div", { class: "rv-left" }, caption("Each dot is a token. Its colour is the expert that the router sends it to."));
    const right = element("div", { class: "rv-right" }, caption("The river: how large a share of the tokens each expert gets, step by step of training."));
    place.append(element("div", { class: "rv-top" }, left, right));
    // What moves and what stays lies in layers of its own, so that a frame paints no more than it must.
    const layers = (/** @type {Element} */ into, /** @type {string} */ name, /** @type {number} */ count) => {
      const stack = into.appendChild(element("div", { class: `rv-stack ${name}` }));
      return { stack, svgs: Array.from({ length: count }, (_, n) => select(stack).append("svg").attr(n ? "aria-hidden" : "role", n ? "true" : "img")) };
    };
    const plane = layers(left, "rv-plane", 3);
    const [ground, middle, above] = plane.svgs;
    const regions = ground.append("g").selectAll("path").data(numbers).join("path")
      .attr("class", (/** @type {number} */ e) => `rv-region rv-e${e}`)
      .on("click", (/** @type {Event} */ _, /** @type {number} */ e) => follow(e));
    const dots = middle.append("g").attr("class", "rv-dots").selectAll("circle").data(points).join("circle").attr("r", 3.2);
    const badges = above.append("g").attr("class", "rv-badges").selectAll("g").data(numbers).join("g").attr("class", (/** @type {number} */ e) => `rv-badge rv-e${e}`);
    badges.append("circle").attr("r", 10);
    badges.append("text").attr("dy", "0.36em").text(String);

    // The river: all of it is drawn, and a cover hides what has not yet been.
    const river = layers(right, "rv-river", 2);
    const [bed, surface] = river.svgs;
    const cover = element("div", { class: "rv-cover" });
    /** @type {Element} */ (bed.node()).after(cover);
    const sharedName = unique("rv");
    const bands = bed.append("g").selectAll("path").data(numbers).join("path")
      .attr("class", (/** @type {number} */ e) => `rv-band rv-e${e}`)
      .on("click", (/** @type {Event} */ _, /** @type {number} */ e) => follow(e));
    const behind = surface.append("g");
    const marks = surface.append("g").attr("class", "rv-marks");
    const axis = bed.append("g").attr("class", "rv-axis");
    const ends = surface.append("g").attr("class", "rv-ends").selectAll("text").data(numbers).join("text")
      .attr("class", (/** @type {number} */ e) => `rv-end rv-e${e}`).attr("dy", "0.36em").text(String);
    const head = surface.append("line").attr("class", "rv-head");
    const empty = surface.append("text").attr("class", "rv-empty").text("Press Play");

    const scrub = /** @type {HTMLInputElement} */ (element("input", {
      type: "range", class: "rv-scrub", min: 0, max: last, step: 1, "aria-label": "step of training",
      oninput: () => play.move({ at: Number(scrub.value), playing: false }),
    }));
    right.append(scrub);

    const legend = element("div", { class: "rv-legend", role: "toolbar", "aria-label": "Experts: arrow keys go along them, Enter follows one's tokens" });
    const chips = numbers.map((/** @type {number} */ e) => {
      const made = element("button", { type: "button", class: `rv-chip rv-e${e}`, tabindex: e ? -1 : 0, onclick: () => follow(e) }, element("b", {}, String(e)), element("span"));
      made.addEventListener("focus", () => chips.forEach((chip) => (chip.tabIndex = chip === made ? 0 : -1)));
      return made;
    });
    legend.append(...chips);
    legend.addEventListener("keydown", (event) => {
      const by = { ArrowRight: 1, ArrowDown: 1, ArrowLeft: -1, ArrowUp: -1 }[event.key];
      if (!by) return;
      event.preventDefault();
      chips[(chips.indexOf(/** @type {any} */ (document.activeElement)) + by + EXPERTS) % EXPERTS].focus();
    });

    // What a hand does.
    const press = element("button", { type: "button", class: "rv-play", onclick: () => {
      const state = play.state();
      play.move(state.playing ? { playing: false } : { playing: true, at: state.at === last ? 0 : state.at });
    } });
    const radios = (/** @type {string} */ name, /** @type {string} */ label, /** @type {[any, string][]} */ options, /** @type {(value: any) => void} */ chosen) => {
      const inputs = options.map(([value, text]) => {
        const input = /** @type {HTMLInputElement} */ (element("input", { type: "radio", name: `${sharedName}-${name}`, onchange: () => chosen(value) }));
        return { value, input, label: element("label", { class: "rv-option" }, input, element("span", {}, text)) };
      });
      return { inputs, place: element("div", { class: `rv-choice rv-choose-${name}`, role: "radiogroup", "aria-label": label }, element("span", { class: "rv-title", "aria-hidden": "true" }, label), ...inputs.map((made) => made.label)) };
    };
    const cures = radios("cure", "Cure", Object.entries(data.cures).map(([cure, { button }]) => [cure, button]), (cure) => {
      const { cure: before, at, when } = play.state();
      if (before !== "none" || cure === "none" || !at) return play.move({ cure });
      // A cure that is switched on in the middle begins where it can next. At the end the run goes back to where the cure begins, to be played again.
      const next = data.whens.find((/** @type {number} */ begin) => begin >= data.steps[at]);
      play.move(at < last ? { cure, when: next ?? when } : { cure, at: data.steps.indexOf(when) });
    });
    const alphas = /** @type {HTMLInputElement} */ (element("input", {
      type: "range", class: "rv-slide", min: 0, max: data.alphas.length - 1, step: 1, "aria-label": "α, the weight of the balance loss",
      oninput: () => play.move({ alpha: Number(alphas.value) }),
    }));
    const weighed = element("output", { class: "rv-weighed" });
    const whens = radios("when", "from step", data.whens.map((/** @type {number} */ when) => [when, wholeNumber(when)]), (when) => play.move({ when }));
    const starts = radios("start", "Head start of expert 0", Object.keys(data.runs).map((head) => [Number(head), head]), (head) => play.move({ head }));
    const hands = element("div", { class: "rv-hands" },
      press, starts.place, cures.place,
      element("div", { class: "rv-choice rv-choose-alpha" }, element("span", { class: "rv-title", "aria-hidden": "true" }, "α"), alphas, weighed),
      whens.place,
    );

    const meter = (/** @type {string} */ name) => {
      const words = element("p", { class: "rv-says" });
      const svg = select(element("div")).append("svg").attr("class", "rv-meter").attr("aria-hidden", "true");
      const made = { words, svg, rail: svg.append("rect").attr("class", "rv-rail"), fill: svg.append("rect").attr("class", `rv-fill rv-${name}`), others: svg.append("g").attr("class", "rv-others"), mark: svg.append("line").attr("class", "rv-without"), half: svg.append("line").attr("class", "rv-without") };
      return { ...made, place: element("div", { class: "rv-measure" }, words, /** @type {Element} */ (svg.node())) };
    };
    const fair = meter("fair");
    const useful = meter("useful");
    const hint = element("p", { class: "rv-hint" });
    place.prepend(hands); // what is pressed first is seen first
    place.append(legend, element("div", { class: "rv-measures" }, fair.place, useful.place), hint);

    /** What is drawn now, and the way to what is to be drawn. */
    const shown = { router: new Float64Array(3 * EXPERTS), at: 0 };
    /** @type {{router: Float64Array, at: number, fromRouter: Float64Array, from: number, begin: number, length: number}} */
    let way = { router: shown.router, at: 0, fromRouter: shown.router, from: 0, begin: 0, length: 0 };
    let looping = false;
    let size = { plane: 0, width: 0, height: 0, left: 0, bottom: 0 };

    const across = (/** @type {number} */ at) => size.left + (at / last) * (size.width - size.left - LABEL);
    const down = (/** @type {number} */ share) => 16 + (1 - share) * (size.bottom - 16);
    const inPlane = (/** @type {number} */ x) => ((x + REACH) / (2 * REACH)) * size.plane;

    function layOut() {
      const wide = place.clientWidth;
      const narrow = wide < 560;
      place.classList.toggle("rv-narrow", narrow);
      const side = narrow ? Math.min(wide, 330) : Math.round(0.43 * wide);
      const width = narrow ? wide : wide - side - 14;
      const height = narrow ? 210 : side - 26;
      size = { plane: side, width, height, left: 38, bottom: height - 22 };
      for (const svg of plane.svgs) svg.attr("width", side).attr("height", side).attr("viewBox", `0 0 ${side} ${side}`);
      for (const svg of river.svgs) svg.attr("width", width).attr("height", height).attr("viewBox", `0 0 ${width} ${height}`);
      dots.attr("cx", (/** @type {number[]} */ [x]) => inPlane(x)).attr("cy", (/** @type {number[]} */ [, y]) => size.plane - inPlane(y));
      cover.style.cssText = `left:${size.left}px;top:${down(1)}px;width:${across(last) - size.left}px;height:${down(0) - down(1)}px`;
      empty.attr("x", across(data.steps.indexOf(data.fold) / 2)).attr("y", down(0.5) + 5);
      left.style.width = `${side}px`;
      right.style.width = `${width}px`;
      head.attr("y1", down(1) - 6).attr("y2", down(0) + 4);
      scrub.style.marginLeft = `${size.left - 12}px`;
      scrub.style.width = `${across(last) - size.left + 24}px`;
      const ticks = narrow ? [0, 60, 120, 240, 1200, 3000] : [0, 60, 120, 180, 240, 1200, 3000];
      const tick = axis.selectAll("g.rv-tick").data(ticks, (/** @type {number} */ step) => String(step)).join((/** @type {any} */ entering) => {
        const made = entering.append("g").attr("class", "rv-tick");
        made.append("line");
        made.append("text");
        return made;
      });
      const place_ = (/** @type {any} */ step) => across(data.steps.indexOf(step));
      tick.select("line").attr("x1", place_).attr("x2", place_).attr("y1", down(0)).attr("y2", down(0) + 4);
      tick.select("text").attr("x", place_).attr("y", down(0) + 17).text((/** @type {number} */ step) => wholeNumber(step));
      axis.selectAll("text.rv-share").data([0, 0.5, 1]).join("text").attr("class", "rv-share").attr("x", size.left - 5).attr("y", (/** @type {number} */ share) => down(share) + 4).text((/** @type {number} */ share) => `${100 * share}%`);
      const fold = across(data.steps.indexOf(data.fold));
      behind.selectAll("line.rv-fold").data([0]).join("line").attr("class", "rv-fold").attr("x1", fold).attr("x2", fold).attr("y1", down(1)).attr("y2", down(0));
      axis.selectAll("text.rv-faster").data([0]).join("text").attr("class", "rv-faster").attr("x", across(last)).attr("y", 11).text(narrow ? "time runs 20 × as fast →" : "from step 240 on, time runs 20 times as fast →");
    }

    /** The regions of a router, and how far the river has come. */
    function paint() {
      const { router, at } = shown;
      const found = numbers.map((e) => regionOf(router, e));
      const scale = size.plane / (2 * REACH);
      regions.attr("d", (/** @type {number} */ e) => (found[e].length > 2 ? `M${found[e].map(([x, y]) => `${inPlane(x).toFixed(1)},${(size.plane - inPlane(y)).toFixed(1)}`).join("L")}Z` : null));
      badges.each(/** @this {SVGElement} @param {number} e */ function (e) {
        const { area, x, y } = middleOf(found[e]);
        const large = found[e].length > 2 && area * scale * scale > 700;
        this.style.display = large ? "" : "none";
        if (large) this.setAttribute("transform", `translate(${inPlane(x).toFixed(1)},${(size.plane - inPlane(y)).toFixed(1)})`);
      });
      const x = across(at);
      cover.style.transform = `scaleX(${Math.max(1 - at / last, 0)})`;
      head.attr("x1", x).attr("x2", x);
      const { loads } = lookAt(data, play.state()).run;
      const low = Math.floor(at);
      const part = at - low;
      let below = 0;
      ends.each(/** @this {SVGElement} @param {number} e */ function (e) {
        const share = loads[low][e] * (1 - part) + loads[Math.min(low + 1, last)][e] * part;
        this.setAttribute("x", String(x + 5));
        this.setAttribute("y", String(down(below + share / 2)));
        this.style.display = share * (size.bottom - 16) > 11 ? "" : "none";
        below += share;
      });
    }

    /** @param {number} now */
    function loop(now) {
      if (!place.isConnected) return (looping = false);
      const t = way.length ? Math.min(Math.max((now - way.begin) / way.length, 0), 1) : 1; // a frame can be older than the order
      for (let n = 0; n < shown.router.length; n++) shown.router[n] = way.fromRouter[n] + t * (way.router[n] - way.fromRouter[n]);
      shown.at = way.from + t * (way.at - way.from);
      paint();
      const { playing, at } = play.state();
      if (t === 1 && playing) {
        play.move(at < last ? { at: at + 1, playing: at + 1 < last } : { playing: false });
      }
      looping = t < 1 || play.state().playing;
      if (looping) requestAnimationFrame(loop);
    }

    /** @param {Float64Array} router @param {number} at @param {number} length how many milliseconds it may take */
    function go(router, at, length) {
      way = { router, at, fromRouter: shown.router.slice(), from: shown.at, begin: performance.now(), length };
      if (looping) return;
      looping = true;
      requestAnimationFrame(loop);
    }

    /** @type {string} */
    let drawn = "";

    /** @param {any} state @param {any} before */
    function draw(state, before) {
      const now = lookAt(data, state);
      if (!before) layOut();
      if (!before || play.calm()) {
        shown.router.set(now.run.routers[state.at]);
        shown.at = state.at;
      }
      const other = drawn !== `${state.head} ${keyOf(data, state)}`;
      const playing = state.playing && before?.at !== state.at;
      go(now.run.routers[state.at], state.at, !before ? 0 : play.calm() ? 2 * BEAT * Number(playing) : playing ? BEAT : other ? TURN : CATCH);
      if (!before) paint();

      if (!before || other) {
        drawn = `${state.head} ${keyOf(data, state)}`;
        place.classList.toggle("rv-still", !before); // a river that is laid out anew does not slide
        bands.attr("d", (/** @type {number} */ e) => {
          const low = now.run.loads.map((load) => load.slice(0, e).reduce((a, b) => a + b, 0));
          const upper = now.run.loads.map((load, n) => `${across(n).toFixed(1)},${down(low[n] + load[e]).toFixed(1)}`);
          const lower = low.map((share, n) => `${across(n).toFixed(1)},${down(share).toFixed(1)}`).reverse();
          return `M${[...upper, ...lower].join("L")}Z`;
        });
        const begin = across(data.steps.indexOf(state.when));
        const cure = sayCure(data, state);
        marks.selectAll("g").data(state.cure === "none" ? [] : [cure.short]).join((/** @type {any} */ entering) => {
          const made = entering.append("g");
          made.append("line");
          made.append("rect");
          made.append("text");
          return made;
        });
        marks.select("line").attr("x1", begin).attr("x2", begin).attr("y1", down(1)).attr("y2", down(0));
        const leftwards = begin > (size.width * 2) / 3;
        marks.select("text").attr("x", begin + (leftwards ? -9 : 9)).attr("y", down(1) + 18).attr("text-anchor", leftwards ? "end" : "start").text(cure.short);
        marks.selectAll("g").each(/** @this {SVGGElement} */ function () {
          const box = /** @type {SVGTextElement} */ (this.lastChild).getBBox();
          select(this).select("rect").attr("x", box.x - 5).attr("y", box.y - 1).attr("width", box.width + 10).attr("height", box.height + 2).attr("rx", 4);
        });
      }

      const goes = points.map(([x, y]) => expertAt(now.run.routers[state.at], x, y));
      dots.attr("class", (/** @type {number[]} */ _, /** @type {number} */ n) => `rv-dot rv-e${goes[n]}${state.expert >= 0 && goes[n] !== state.expert ? " rv-fades" : ""}`);
      for (const made of [regions, badges, bands, ends]) made.classed("rv-fades", (/** @type {number} */ e) => state.expert >= 0 && e !== state.expert);
      chips.forEach((chip, e) => {
        const says = percent(now.load[e]);
        /** @type {HTMLElement} */ (chip.lastChild).textContent = says;
        chip.setAttribute("aria-label", `expert ${e}: ${says} of the tokens`);
        chip.setAttribute("aria-pressed", String(state.expert === e));
        chip.classList.toggle("rv-idle", now.load[e] < data.working);
      });

      empty.style("display", state.at || state.playing ? "none" : null);
      press.textContent = state.playing ? "❚❚ Pause" : state.at === last ? "↺ Play again" : "▶ Play";
      scrub.value = String(state.at);
      scrub.setAttribute("aria-valuetext", `step ${now.step}`);
      alphas.value = String(state.alpha);
      alphas.disabled = state.cure !== "loss";
      alphas.setAttribute("aria-valuetext", String(data.alphas[state.alpha]));
      weighed.textContent = String(data.alphas[state.alpha]);
      for (const { value, input } of starts.inputs) input.checked = value === state.head;
      for (const { value, input } of cures.inputs) input.checked = value === state.cure;
      for (const { value, input } of whens.inputs) {
        input.checked = value === state.when;
        input.disabled = state.cure === "none";
      }
      ground.attr("aria-label", `${DOTS} tokens in a plane, by the expert that the router sends them to`);
      bed.attr("aria-label", `shares of the tokens: ${now.load.map((share, e) => `expert ${e} ${percent(share)}`).join(", ")}`);
      measure(state, now);
    }

    /** @param {any} state @param {ReturnType<typeof lookAt>} now */
    function measure(state, now) {
      const wide = size.plane + (place.classList.contains("rv-narrow") ? place.clientWidth - size.plane : 0);
      const known = data.ends[state.head][keyOf(data, state)] ?? { effective: [], errors: [] };
      const many = countEffective(now.load);
      fair.words.replaceChildren(element("b", {}, "How fair? "), `Like ${many.toFixed(1)} equal experts of 8`);
      useful.words.replaceChildren(element("b", {}, "How wrong? "), `Mean squared error ${now.error.toFixed(3)}`);
      const draws = /** @type {const} */ ([[fair, (many - 1) / 7, known.effective.map((/** @type {number} */ value) => (value - 1) / 7)], [useful, now.error / ERRORS, known.errors.map((/** @type {number} */ value) => value / ERRORS)]]);
      for (const [made, part, others] of draws) {
        const full = Math.min(wide, made.place.clientWidth || wide);
        made.svg.attr("width", full).attr("height", 22).attr("viewBox", `0 0 ${full} 22`);
        made.rail.attr("x", 0).attr("y", 0).attr("width", full).attr("height", 12).attr("rx", 3);
        made.fill.attr("x", 0).attr("y", 0).attr("width", Math.max(full * Math.min(part, 1), 1)).attr("height", 12).attr("rx", 3);
        const stroke = (/** @type {number} */ value) => full * Math.min(value, 1);
        made.others.selectAll("line").data(others).join("line").attr("x1", stroke).attr("x2", stroke).attr("y1", 14).attr("y2", 21);
        const line = full * Math.min(now.without / ERRORS, 1);
        made.mark.style("display", made === useful && now.cured ? null : "none").attr("x1", line).attr("x2", line).attr("y1", -1).attr("y2", 13);
        made.half.style("display", made === useful && now.cured && state.head === data.start ? null : "none").attr("x1", data.wanted * line).attr("x2", data.wanted * line).attr("y1", -1).attr("y2", 13);
      }
      const strokes = known.errors.length ? `Small strokes: ${data.fresh} other runs with these settings, at step ${wholeNumber(data.steps[last])}. ` : "";
      const lines = state.head === data.start ? "Dashed lines: the error without a cure, at the same step, and half of it." : "Dashed line: the error without a cure, at the same step.";
      hint.textContent = `${strokes}${now.cured ? lines : ""}`;
    }

    /** @param {any} state */
    const words = (state) => tell(state).replaceAll(" %", "\u00a0%");

    /** @param {any} state */
    function tell(state) {
      const now = lookAt(data, state);
      const { long } = sayCure(data, state);
      const cure = long[0].toUpperCase() + long.slice(1);
      const largest = now.load.indexOf(Math.max(...now.load));
      const work = now.working === EXPERTS ? "all eight have work" : now.working === 1 ? "no other has work" : `${now.working} of the eight have work`;
      const who = `expert ${largest} gets ${percent(now.load[largest])} of the tokens, and ${work}`;
      const error = `The error is ${now.error.toFixed(3)}`;
      const followed = state.expert < 0 ? "" : ` Expert ${state.expert}, whose tokens are shown, gets ${percent(now.load[state.expert])}.`;
      if (now.cured) {
        return `${cure} has been on since step ${wholeNumber(state.when)}. At step ${wholeNumber(now.step)} ${who}. ${error}; without a cure it is ${now.without.toFixed(3)} at this step.${tellOthers(state)}${followed}`;
      }
      const begins = state.cure === "none" ? "" : ` ${cure} begins at step ${wholeNumber(state.when)}.`;
      if (state.at === 0) return `${state.head ? `With a head start of ${state.head}, ` : "Without a head start, "}${who}, before training has begun. ${error}.${begins}${followed}`;
      return `${state.cure === "none" ? "Without a cure, at" : "At"} step ${wholeNumber(now.step)}, ${who}. ${error}.${begins}${tellOthers(state)}${followed}`;
    }

    /** What the small strokes show, once the end is reached. @param {any} state */
    function tellOthers(state) {
      const found = data.ends[state.head][keyOf(data, state)];
      if (state.at !== last || !found) return "";
      const span = (/** @type {number[]} */ errors) => `${Math.min(...errors).toFixed(3)} to ${Math.max(...errors).toFixed(3)}`;
      const plain = state.cure === "none" ? "" : `; without a cure, from ${span(data.ends[state.head].none.errors)}`;
      return ` The errors of the ${data.fresh} other runs are from ${span(found.errors)}${plain}.`;
    }

    return { draw, words };
  },
};
