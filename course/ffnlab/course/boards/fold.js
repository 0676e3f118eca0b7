// @ts-check
// The pressed plane: a ReLU layer of two neurons presses the plane of two inputs, one straight knife cuts it, and the film is rewound to show where
// the cut was. The code says hinge for a neuron's kink in the plane, and folded for pressed; what a reader sees does not.
import { easeCubicInOut, select } from "./d3.js";
import { HALF, HIGH, LOW, POINTS, XOR, apart, away, bent, between, boundary, hidden, hits, lines, nonzero, output, part, parted, pieces, right, single, size, sums, weights } from "./fold_model.js";
import { element, number, plural, unique } from "./runtime.js";

/** @typedef {import("./fold_model.js").Point} Point */
/** @typedef {import("./fold_model.js").Net} Net */

const STOPS = ["plane", "W₁, b₁", "neuron 1", "neuron 2", "cut", "rewind"]; // of the scrubber, 0 to 5
const [PLANE, LAID, FIRST, FOLDED, CUT, UNFOLDED] = STOPS.keys();
const SPEED = 0.75; // stops in a second, when it plays
const HASTE = 1.8; // the same, when one stop is asked for
const SNAP = 4; // degrees from an eighth of a turn at which a turning hand is held
const REACH = 1.85; // how far an axis of the folded plane goes, in lengths of a weight vector of 1
const EDGE = 0.2; // how far a knob stays from the edge of the sheet
const MOST = 3; // hinges that have knobs
const MARGIN = 0.09; // of the plane around the sheet

/** @param {string} tag @param {Record<string, any>} [attributes] @param {...Node} children @returns {SVGElement} */
function shape(tag, attributes = {}, ...children) {
  const made = document.createElementNS("http://www.w3.org/2000/svg", tag);
  set(made, attributes);
  made.append(...children);
  return made;
}

/** @param {Element} made @param {Record<string, any>} attributes */
function set(made, attributes) {
  for (const [name, value] of Object.entries(attributes)) made.setAttribute(name, String(value));
}

const clamp = (/** @type {number} */ value, low = 0, high = 1) => Math.min(Math.max(value, low), high);
const px = (/** @type {number} */ value) => String(Math.round(10 * value) / 10);
/** @param {Point[]} points */
const path = (points) => points.map(([x, y], n) => `${n ? "L" : "M"}${px(x)} ${px(y)}`).join("");
/** @param {Point[]} points */
const closed = (points) => (points.length ? `${path(points)}Z` : "");
/** @param {Point[]} points */
const dotted = (points) => points.map(([x, y]) => `M${px(x)} ${px(y)}h0`).join("");

/** The cosine and the sine, and exactly 0 and 1 where they are. @param {number} degrees @returns {Point} */
function direction(degrees) {
  const turn = (degrees * Math.PI) / 180;
  return [Math.cos(turn), Math.sin(turn)].map((value) => (Math.abs(value) < 1e-12 ? 0 : value));
}

/** @param {Point} vector */
const degrees = ([x, y]) => (Math.round((Math.atan2(y, x) * 180) / Math.PI) + 360) % 360;

/** A turning hand's angle, held at eighths of a turn. @param {Point} vector */
function snapped([x, y]) {
  const angle = (Math.atan2(y, x) * 180) / Math.PI;
  const near = 45 * Math.round(angle / 45);
  return Math.abs(angle - near) < SNAP ? near : angle;
}

/** @param {any} state @returns {Net} */
const netOf = ({ W1, b1, W2, b2 }) => ({ W1, b1, W2, b2 });

/** What follows from a network, computed once as long as no hand changes it: most pictures of a motion have the same. */
function following() {
  /** @type {any} */
  let known = null;
  /** @param {any} state */
  return (state) => {
    if (known && ["W1", "b1", "W2", "b2"].every((name) => known.net[name] === state[name])) return known;
    const net = netOf(state);
    const sheet = pieces(net);
    const all = points();
    const over = all.map((point) => output(net, point) > HALF);
    known = {
      net, sheet, ok: hits(net), right: right(net), cuts: boundary(net, sheet),
      halves: /** @type {(1 | -1)[]} */ ([1, -1]).map((sign) => sheet.map(({ corners }) => half(net, corners, sign)).filter((corners) => corners.length)),
      ordered: [...sheet].sort((a, b) => b.fires.filter(Boolean).length - a.fires.filter(Boolean).length),
      grid: raster().map((line) => bends(net, line)),
      hinges: net.b1.map((_, k) => hinge(net, k)),
      creases: net.b1.map((_, k) => (hinge(net, k).length ? bends(net, hinge(net, k)) : [])),
      groups: [all, all.filter((_, n) => over[n]), all.filter((_, n) => !over[n])],
    };
    return known;
  };
}

const NEAREST = LOW + EDGE;
const FURTHEST = HIGH - EDGE;

/** Where on its line a knob is best seen: on the sheet, and away from the balls and from other knobs. @param {Point} way across the line @param {Point} foot a point of the line @param {Point[]} others @param {Point} low @param {Point} high @returns {Point} */
function seat(way, foot, others, low, high) {
  const length = Math.hypot(...way) || 1;
  const along = [-way[1] / length, way[0] / length];
  const places = [...Array(41).keys()].map((n) => [foot[0] + 0.05 * (n - 20) * along[0], foot[1] + 0.05 * (n - 20) * along[1]]);
  const inside = places.filter(([x, y]) => x >= low[0] && x <= high[0] && y >= low[1] && y <= high[1]);
  if (!inside.length) return [clamp(foot[0], low[0], high[0]), clamp(foot[1], low[1], high[1])];
  const room = (/** @type {Point} */ place) => {
    const tip = [place[0] + (0.34 * way[0]) / length, place[1] + (0.34 * way[1]) / length];
    return Math.min(0.4, ...others.flatMap((other) => [apart(place, other), apart(tip, other) + 0.05])) - 0.1 * apart(place, foot);
  };
  return inside.reduce((best, place) => (room(place) > room(best) ? place : best));
}

/** How long a unit of the folded plane's axes is, and how far they go; from the network at the start, so that the view rests while hands move. @param {Net} net */
function viewOf(net) {
  const balls = POINTS.map((point) => sums(net, point));
  return net.b1.map((_, k) => {
    const scale = Math.max(size(net, k), ...balls.map((z) => (1.08 * z[k]) / REACH)) || 1;
    return { scale, high: REACH * scale, low: Math.min(-1.5 * scale, ...balls.map((z) => 1.08 * z[k])) };
  });
}

/** What the state adds to the network: where the knobs are. @param {Net} net */
function knobs(net) {
  /** @type {Point[]} */
  const taken = [...POINTS];
  const hinges = net.b1.map((_, k) => {
    const w = weights(net, k);
    const height = sums(net, [0.5, 0.5])[k] / (size(net, k) ** 2 || 1);
    const at = seat(w, [0.5 - height * w[0], 0.5 - height * w[1]], taken, [NEAREST, NEAREST], [FURTHEST, FURTHEST]);
    taken.push(at);
    return at;
  });
  if (net.b1.length !== 2) return { hinges, knife: [0, 0] };
  const view = viewOf(net);
  const v = net.W2.map((w, k) => w * view[k].scale); // the knife in lengths that are alike in both directions
  const height = (v[0] * 0.7 + v[1] * 0.7 + net.b2 - HALF) / (v[0] ** 2 + v[1] ** 2 || 1);
  const balls = POINTS.map((point) => hidden(net, point).map((h, k) => h / view[k].scale));
  return { hinges, knife: seat(v, [0.7 - height * v[0], 0.7 - height * v[1]], balls, [0.05, 0.05], [REACH - 0.3, REACH - 0.3]) };
}

/** Whether the sheet has been cut, so that it is seen, and all four balls are right. @param {any} state */
const solved = (state) => state.at > CUT - 0.1 && right(netOf(state)) === 4;

/** @type {WeakMap<any, any>} */
const starts = new WeakMap();

/** @type {import("./runtime.js").Board} */
export const board = {
  start: (data) => {
    if (!starts.has(data)) starts.set(data, { at: PLANE, ...netOf(data.net), ...knobs(data.net) });
    return starts.get(data);
  },

  goals: {
    four: (state) => solved(state),
    away: (state) => solved(state) && state.b1.some((/** @type {number} */ _, /** @type {number} */ unit) => away(netOf(state), unit)),
    few: (state, data) => solved(state) && JSON.stringify(netOf(state)) === JSON.stringify(data.net) && nonzero(data.net),
    single: (state) => solved(state) && state.b1.every((/** @type {number} */ _, /** @type {number} */ unit) => single(netOf(state), unit)),
  },

  stage: (place, play) => (play.data.net.b1.length === 2 ? folding(place, play) : flat(place, play)),
};

/** A square picture with a title above it. @param {string} label @param {string} id */
function panel(label, id) {
  const title = element("p", { class: "fd-title" });
  const clip = shape("rect", { x: 0, y: 0 });
  const inside = shape("g", { "clip-path": `url(#${id})` });
  const above = shape("g");
  const picture = shape("svg", { role: "group", "aria-label": label }, shape("defs", {}, shape("clipPath", { id }, clip)), inside, above);
  const whole = element("div", { class: "fd-panel" }, title, picture);
  /** @param {number} side */
  const resize = (side) => {
    set(picture, { width: side, height: side, viewBox: `0 0 ${side} ${side}` });
    set(clip, { width: side, height: side });
  };
  return { whole, title, picture, inside, above, resize };
}

/** From the plane to a square of `side` pixels. @param {number} side */
function plain(side) {
  const scale = side / (HIGH - LOW + 2 * MARGIN);
  const to = (/** @type {Point} */ [x, y]) => [(x - LOW + MARGIN) * scale, side - (y - LOW + MARGIN) * scale];
  const from = (/** @type {Point} */ [x, y]) => [x / scale + LOW - MARGIN, (side - y) / scale + LOW - MARGIN];
  return { to, from, scale };
}

/** A knob on a line and an arrow that turns it: two sliders. @param {{name: string, sign: string, look: string, move: (to: Point) => void, step: (by: number) => void, turn: (vector: Point | number) => void, angle: () => number, picture: Element, read: (at: Point) => Point, from: () => Point}} hand */
function handle(hand) {
  const sign = shape("text", { class: "fd-sign", "text-anchor": "middle", dy: "0.36em" });
  sign.textContent = hand.sign;
  const shaft = shape("line", { class: "fd-shaft" });
  const tip = shape("g", { class: "fd-tip", role: "slider", tabindex: 0, "aria-label": `direction of ${hand.name}`, "aria-valuemin": 0, "aria-valuemax": 359 },
    shape("circle", { class: "fd-hit", r: 15 }), shape("circle", { class: "fd-ring", r: 13 }), shape("path", { d: "M10 0L-6 8L-2 0L-6 -8Z" }));
  const knob = shape("g", { class: "fd-knob", role: "slider", tabindex: 0, "aria-label": hand.name },
    shape("circle", { class: "fd-hit", r: 18 }), shape("circle", { class: "fd-ring", r: 16 }), shape("circle", { class: "fd-disc", r: 12 }), sign);
  const whole = shape("g", { class: `fd-hand ${hand.look}` }, shaft, tip, knob);
  // Both are of the moment when the hand takes hold: a goal that is reached meanwhile can push the picture down.
  let [box, grip] = [hand.picture.getBoundingClientRect(), [0, 0]];
  const pointer = (/** @type {PointerEvent} */ event) => hand.read([event.clientX - box.left, event.clientY - box.top]);
  const hold = (/** @type {PointerEvent} */ event) => {
    box = hand.picture.getBoundingClientRect();
    const [at, from] = [pointer(event), hand.from()];
    grip = [from[0] - at[0], from[1] - at[1]];
  };
  drag(knob, hold, (event) => {
    const at = pointer(event);
    hand.move([at[0] + grip[0], at[1] + grip[1]]);
  });
  drag(tip, hold, (event) => {
    const [[x, y], [x0, y0]] = [pointer(event), hand.from()];
    if (Math.hypot(x - x0, y - y0) > 0.02) hand.turn([x - x0, y - y0]);
  });
  keys(knob, (by, far) => hand.step(by * (far ? 0.25 : 0.05)));
  keys(tip, (by, far) => hand.turn(hand.angle() + by * (far ? 45 : 5)));

  /** @param {Point} at @param {Point} way in pixels, of length 1 @param {{value: number, least: number, most: number, says: string}} about @param {string} turned @param {number} off how far the line is from the knob, because it is off the sheet */
  function put(at, way, about, turned, off) {
    whole.classList.toggle("fd-off", off > 0.01);
    const length = 52;
    const end = [at[0] + length * way[0], at[1] + length * way[1]];
    set(knob, { transform: `translate(${px(at[0])} ${px(at[1])})`, "aria-valuenow": about.value, "aria-valuemin": about.least, "aria-valuemax": about.most, "aria-valuetext": about.says });
    const angle = (Math.atan2(way[1], way[0]) * 180) / Math.PI;
    set(tip, { transform: `translate(${px(end[0])} ${px(end[1])}) rotate(${px(angle)})`, "aria-valuenow": Math.round(hand.angle()), "aria-valuetext": turned });
    set(shaft, { x1: px(at[0]), y1: px(at[1]), x2: px(end[0] - 4 * way[0]), y2: px(end[1] - 4 * way[1]) });
  }
  return { whole, put };
}

/** @param {SVGElement} mark @param {(event: PointerEvent) => void} held @param {(event: PointerEvent) => void} moved */
function drag(mark, held, moved) {
  mark.addEventListener("pointerdown", (event) => {
    event.preventDefault();
    mark.focus({ preventScroll: true });
    mark.setPointerCapture(event.pointerId);
    mark.classList.add("fd-held");
    held(event);
  });
  mark.addEventListener("pointermove", (event) => mark.hasPointerCapture(event.pointerId) && moved(event));
  for (const end of ["pointerup", "pointercancel"]) mark.addEventListener(end, () => mark.classList.remove("fd-held"));
}

/** @param {Element} mark @param {(by: number, far: boolean) => void} moved */
function keys(mark, moved) {
  mark.addEventListener("keydown", (/** @type {any} */ event) => {
    const by = { ArrowRight: 1, ArrowUp: 1, PageUp: 1, ArrowLeft: -1, ArrowDown: -1, PageDown: -1 }[/** @type {string} */ (event.key)];
    if (!by || event.ctrlKey || event.metaKey || event.altKey) return;
    event.preventDefault();
    moved(by, event.key.startsWith("Page"));
  });
}

/** @param {string} label @param {(index: number) => string} look */
function balls(label, look) {
  // Rings are drawn first: where two balls meet, the disc is seen inside the ring.
  const order = [...POINTS.keys()].sort((a, b) => XOR[a] - XOR[b]);
  const marks = order.map((n) => ({ n, mark: shape("circle", { class: look(n), r: XOR[n] ? 8 : 10.5 }) }));
  const texts = POINTS.map(() => shape("text", { class: "fd-label", "text-anchor": "middle" }));
  const whole = shape("g", { role: "img", "aria-label": label }, ...marks.map(({ mark }) => mark), ...texts);
  /** @type {number[]} */
  const sides = POINTS.map(() => 0);

  /** Balls in their places, with their names; those that are near each other share a label, which keeps clear of knobs and, if it can, of lines. @param {Point[]} places @param {boolean[] | null} ok @param {number} side @param {Point[]} taken @param {Point[][]} strokes */
  function put(places, ok, side, taken, strokes) {
    const inked = strokes.flatMap(([a, b]) => [...Array(81).keys()].map((n) => between(a, b, n / 80)));
    for (const { n, mark } of marks) set(mark, { cx: px(places[n][0]), cy: px(places[n][1]) });
    /** @type {number[][]} */
    const groups = [];
    for (const n of POINTS.keys()) {
      const near = groups.find((group) => group.some((other) => apart(places[n], places[other]) < 20));
      if (near) near.push(n);
      else groups.push([n]);
    }
    /** @type {[number, number, number][]} */
    const written = [];
    for (const [n, text] of texts.entries()) {
      const group = groups.find(([first]) => first === n);
      text.textContent = "";
      if (!group) continue;
      for (const [index, m] of group.entries()) {
        if (index) text.append(" ");
        if (ok) {
          const mark = shape("tspan", { class: ok[m] ? "fd-right" : "fd-wrong" });
          mark.textContent = ok[m] ? "✓\u2009" : "✗\u2009";
          text.append(mark);
        }
        text.append(`(${POINTS[m].join(", ")})`);
      }
      const half = (group.length * (ok ? 49 : 36)) / 2;
      const middle = places[n];
      const spots = [[0, 27], [0, -18], [half + 16, 4], [-half - 16, 4], [0, 41], [0, -32]].map(([dx, dy]) => [clamp(middle[0] + dx, half + 2, side - half - 2), clamp(middle[1] + dy, 13, side - 4)]);
      const free = (/** @type {Point} */ [x, y]) =>
        written.every(([wx, wy, w]) => Math.abs(wx - x) > half + w || Math.abs(wy - y) > 14) &&
        [...places, ...taken].every(([bx, by], m) => Math.abs(bx - x) > half + 12 || Math.abs(by - y + 4) > (m < places.length ? 16 : 18));
      const clear = (/** @type {Point} */ [x, y]) => inked.every(([bx, by]) => Math.abs(bx - x) > half + 2 || Math.abs(by - y + 4) > 9);
      const order = [sides[n], ...spots.keys()];
      const chosen = order.find((spot) => free(spots[spot]) && clear(spots[spot])) ?? order.find((spot) => free(spots[spot])) ?? sides[n];
      sides[n] = chosen;
      written.push([spots[chosen][0], spots[chosen][1], half]);
      set(text, { x: px(spots[chosen][0]), y: px(spots[chosen][1]) });
    }
  }
  return { whole, put };
}

const ball = (/** @type {number} */ n) => (XOR[n] ? "fd-ball fd-one" : "fd-ball fd-zero");

/** The legend of both classes. @param {...Node} more */
const legend = (...more) =>
  element("p", { class: "fd-legend" },
    element("span", {}, element("i", { class: "fd-dot fd-one" }), "teal: into, XOR is 1"), element("span", {}, element("i", { class: "fd-dot fd-zero" }), "orange: over, XOR is 0"), ...more);

/** The plane with its hinges, which hands can move. @param {import("./runtime.js").Play} play @param {string} id @param {boolean} dots */
function plane(play, id, dots) {
  const { net } = play.data;
  const neurons = net.b1.length;
  const { whole, title, picture, inside, above, resize } = panel("The plane of the two inputs", id);
  const paper = shape("g", { class: "fd-paper" });
  const tints = ["fd-one", "fd-zero"].map((look) => shape("path", { class: `fd-tint ${look}` }));
  const grid = shape("path", { class: "fd-grid" });
  const marks = shape("g", { class: "fd-dots" });
  const axes = shape("g", { class: "fd-axes" });
  const hinges = net.b1.map((/** @type {number} */ _, /** @type {number} */ k) => shape("path", { class: `fd-hinge ${neurons > MOST ? "fd-many" : `fd-unit${k % 3}`}` }));
  const cut = shape("path", { class: "fd-cut" });
  const four = balls("The four balls in the plane", ball);
  const hands = neurons > MOST ? [] : net.b1.map((/** @type {number} */ _, /** @type {number} */ k) => hand(k));
  inside.append(paper, ...tints, grid, marks, axes, ...hinges, cut);
  above.append(four.whole, ...hands.map((/** @type {any} */ one) => one.whole));
  let side = 1;
  /** @type {any} */
  let shown = null; // what the picture was last drawn for

  /** @param {number} unit */
  function hand(unit) {
    const now = () => play.state();
    /** @param {Point} w @param {Point} at */
    function place(w, at) {
      const inside = at.map((value) => clamp(value, NEAREST, FURTHEST));
      const { W1, b1, hinges: before } = now();
      const rows = W1.map((/** @type {number[]} */ row, /** @type {number} */ n) => row.map((value, k) => (k === unit ? w[n] : value)));
      const bias = -(w[0] * inside[0] + w[1] * inside[1]);
      play.move({ W1: rows, b1: b1.map((/** @type {number} */ b, /** @type {number} */ k) => (k === unit ? bias : b)), hinges: before.map((/** @type {Point} */ other, /** @type {number} */ k) => (k === unit ? inside : other)) });
    }
    const w = () => weights(netOf(now()), unit);
    return handle({
      name: `kink ${unit + 1}`,
      sign: String(unit + 1),
      look: `fd-unit${unit}`,
      move: (to) => place(w(), to),
      step: (by) => {
        const length = size(netOf(now()), unit);
        const [x, y] = now().hinges[unit];
        place(w(), [x + (by * w()[0]) / length, y + (by * w()[1]) / length]);
      },
      turn: (to) => {
        const [c, s] = direction(typeof to === "number" ? to : snapped(to));
        place([size(netOf(now()), unit) * c, size(netOf(now()), unit) * s], now().hinges[unit]);
      },
      angle: () => degrees(w()),
      picture,
      read: (at) => plain(side).from(at),
      from: () => now().hinges[unit],
    });
  }

  /** @param {any} state @param {any} now what follows from its network @param {number} wide @param {number} seen how much of the cut is seen */
  function draw(state, now, wide, seen) {
    if (shown && shown.now === now && shown.hinges === state.hinges && shown.seen === seen && side === wide) return;
    shown = { now, hinges: state.hinges, seen };
    const { net, sheet } = now;
    const { to } = plain(wide);
    if (side !== wide) {
      side = wide;
      resize(side);
      set(grid, { d: raster().map((line) => path(line.map(to))).join("") });
      axes.replaceChildren(...cross(to));
    }
    select(paper).selectAll("path").data(sheet).join("path").attr("d", (/** @type {any} */ one) => closed(one.corners.map(to))).attr("fill-opacity", (/** @type {any} */ one) => (neurons > MOST ? 0 : shade(one.fires)));
    for (const [n, tint] of tints.entries()) set(tint, { d: seen ? now.halves[n].map((/** @type {Point[]} */ corners) => closed(corners.map(to))).join("") : "", opacity: seen });
    if (dots) colour(net, to);
    for (const [k, line] of hinges.entries()) set(line, { d: path(now.hinges[k].map(to)) });
    set(cut, { d: seen ? now.cuts.map((/** @type {Point[]} */ ends) => path(ends.map(to))).join("") : "", opacity: seen });
    /** @type {Point[]} */
    const taken = [];
    for (const [k, one] of hands.entries()) {
      const w = weights(net, k);
      const length = size(net, k);
      one.whole.style.display = length ? "" : "none";
      const way = [w[0] / (length || 1), -w[1] / (length || 1)];
      const at = to(state.hinges[k]);
      taken.push(at, [at[0] + 52 * way[0], at[1] + 52 * way[1]]);
      const far = sums(net, [0.5, 0.5])[k] / (length || 1);
      const fires = POINTS.filter((point) => sums(net, point)[k] > 0).length;
      one.put(at, way, { value: Math.round(-100 * far), least: -200, most: 200, says: `${number(Math.abs(far))} ${far < 0 ? "ahead of" : "behind"} the middle, neuron ${k + 1} fires at ${fires} of 4 balls` }, plural(degrees(w), "degree"), Math.abs(sums(net, state.hinges[k])[k]) / (length || 1));
    }
    four.put(POINTS.map(to), seen > 0.5 ? now.ok : null, side, taken, now.hinges.filter((/** @type {Point[]} */ ends) => ends.length).map((/** @type {Point[]} */ ends) => ends.map(to)));
  }

  /** The points of the sheet, coloured by the output: the further from one half, the stronger. @param {Net} net @param {(point: Point) => Point} to */
  function colour(net, to) {
    const groups = new Map();
    for (const point of points()) {
      const over = output(net, point) - HALF;
      const level = over > 0 ? Math.min(Math.ceil(4 * over), 3) : -Math.min(1 + Math.floor(-4 * over), 3);
      groups.set(level, [...(groups.get(level) ?? []), to(point)]);
    }
    select(marks).selectAll("path").data([...groups], (/** @type {any} */ [level]) => level).join("path")
      .attr("class", (/** @type {any} */ [level]) => (level > 0 ? "fd-one" : "fd-zero"))
      .attr("stroke-width", (/** @type {any} */ [level]) => 2 + 1.3 * Math.abs(level))
      .attr("d", (/** @type {any} */ [, group]) => dotted(group));
  }
  return { whole, title, draw };
}

/** How dark a piece is: darker for each unit that is silent there. @param {boolean[]} fires */
const shade = (fires) => 0.035 + 0.07 * fires.filter((one) => !one).length;

/** The part of a piece on which the output is above one half, or not above it. @param {Net} net @param {Point[]} corners @param {1 | -1} sign */
const half = (net, corners, sign) => part(corners, corners.map((corner) => sign * (output(net, corner) - HALF)));

/** Where a unit's hinge crosses the sheet. @param {Net} net @param {number} unit @returns {Point[]} */
function hinge(net, unit) {
  const edge = [[LOW, LOW], [HIGH, LOW], [HIGH, HIGH], [LOW, HIGH]];
  const heights = edge.map((corner) => sums(net, corner)[unit]);
  return edge.flatMap((a, n) => {
    const next = (n + 1) % 4;
    return heights[n] >= 0 !== heights[next] >= 0 ? [between(a, edge[next], heights[n] / (heights[n] - heights[next]))] : [];
  });
}

/** The sheet's 21 × 21 points. @returns {Point[]} */
const points = () => [...Array(441).keys()].map((n) => [LOW + (n % 21) / 10, LOW + Math.floor(n / 21) / 10]);

/** The lines of the sheet. @returns {Point[][]} */
const raster = () => [...Array(11).keys()].flatMap((n) => [[[LOW + n / 5, LOW], [LOW + n / 5, HIGH]], [[LOW, LOW + n / 5], [HIGH, LOW + n / 5]]]);

/** The axes of the plane. @param {(point: Point) => Point} to */
function cross(to) {
  const [across, upright] = [[[LOW - MARGIN, 0], [HIGH + MARGIN, 0]], [[0, LOW - MARGIN], [0, HIGH + MARGIN]]];
  const [right, top] = [to([HIGH, 0]), to([0, HIGH])];
  return [shape("path", { d: [across, upright].map((line) => path(line.map(to))).join("") }), word(right[0] - 4, right[1] - 6, "a"), word(top[0] + 9, top[1] + 12, "b")];
}

/** @param {number} x @param {number} y @param {string} text */
function word(x, y, text) {
  const made = shape("text", { x: px(x), y: px(y), "text-anchor": "middle", class: "fd-word" });
  made.textContent = text;
  return made;
}

/** How far the sheet is folded: 0 is the plane, 3 is folded. Unfolding takes the same way back. @param {number} at */
const foldedBy = (at) => (at <= FOLDED ? at : at <= CUT ? FOLDED : FOLDED * (UNFOLDED - at));


/** Two neurons: the plane at the left, and the sheet on its way at the right. @param {HTMLElement} place @param {import("./runtime.js").Play} play @returns {import("./runtime.js").Stage} */
function folding(place, play) {
  const id = unique("fd");
  const view = viewOf(play.data.net);
  const follow = following();
  const left = plane(play, `${id}-plane`, false);
  left.title.textContent = "The plane: drag a kink, turn its arrow";
  const { whole, title, picture, inside, above, resize } = panel("The sheet", `${id}-sheet`);
  const paper = shape("g", { class: "fd-paper" });
  const tints = ["fd-one", "fd-zero"].map((look) => shape("path", { class: `fd-tint ${look}` }));
  const grid = shape("path", { class: "fd-grid" });
  const marks = ["fd-plain", "fd-one", "fd-zero"].map((look) => shape("path", { class: look, "stroke-width": 2.6 }));
  const axes = [shape("g", { class: "fd-axes" }), shape("g", { class: "fd-axes" })];
  const creases = [0, 1].map((k) => shape("path", { class: `fd-hinge fd-unit${k}` }));
  const cut = shape("path", { class: "fd-cut" });
  const blade = shape("line", { class: "fd-blade" });
  const four = balls("The four balls on the sheet", ball);
  const knife = handle({
    name: "the knife",
    sign: "½",
    look: "fd-knife",
    move: (to) => lay(across(), to),
    step: (by) => {
      const v = across();
      const length = Math.hypot(...v);
      const [x, y] = play.state().knife;
      lay(v, [x + (by * v[0]) / length, y + (by * v[1]) / length]);
    },
    turn: (to) => {
      const [c, s] = direction(typeof to === "number" ? to : snapped(to));
      const length = Math.hypot(...across());
      lay([length * c, length * s], play.state().knife);
    },
    angle: () => degrees(across()),
    picture,
    read: (at) => ground(side).from(at),
    from: () => play.state().knife,
  });
  inside.append(paper, ...tints, grid, shape("g", { class: "fd-dots" }, ...marks), ...axes, ...creases, cut, blade);
  above.append(four.whole, knife.whole);

  const button = element("button", { type: "button", class: "fd-play", onclick: press });
  const count = element("span", { class: "fd-count" });
  const scrubber = /** @type {HTMLInputElement} */ (element("input", { type: "range", class: "fd-scrub", min: PLANE, max: UNFOLDED, step: 0.01, "aria-label": "how far the film has run", oninput: () => scrub(Number(scrubber.value)) }));
  keys(scrubber, (by, far) => scrub(far || play.calm() ? Math.round(play.state().at) + by : play.state().at + by / 4));
  const stops = STOPS.map((name, stop) => element("button", { type: "button", class: "fd-stop", onclick: () => run(stop, HASTE) }, name));
  place.append(
    element("div", { class: "fd-panels" }, left.whole, whole),
    legend(element("span", {}, element("i", { class: "fd-grey" }), "grey: a neuron is silent; its arrow points to where it fires")),
    element("div", { class: "fd-controls" }, button, count),
    scrubber, element("div", { class: "fd-stops" }, ...stops),
  );
  let side = 1;
  let goal = -1; // the stop that the sheet is moving to
  let pace = SPEED;
  let last = 0; // when the last picture of a motion was shown

  /** @param {number} to */
  function scrub(to) {
    goal = -1;
    play.move({ at: clamp(play.calm() ? Math.round(to) : to, PLANE, UNFOLDED) });
  }

  function press() {
    if (goal >= 0) scrub(play.state().at);
    else if (play.calm()) scrub(play.state().at >= UNFOLDED ? PLANE : Math.floor(play.state().at) + 1);
    else {
      if (play.state().at >= UNFOLDED) play.move({ at: PLANE });
      run(UNFOLDED, SPEED);
    }
  }

  /** @param {number} stop @param {number} speed */
  function run(stop, speed) {
    if (play.calm() || play.state().at === stop) return scrub(stop);
    const resting = goal < 0;
    [goal, pace] = [stop, speed];
    last = performance.now();
    if (resting) requestAnimationFrame(onward);
  }

  /** @param {number} now */
  function onward(now) {
    if (goal < 0 || !place.isConnected) return;
    const { at } = play.state();
    const by = ((at > CUT ? 0.5 : 1) * pace * clamp(now - last, 0, 100)) / 1000; // unfolding is three folds
    last = now;
    const next = goal > at ? Math.min(at + by, goal) : Math.max(at - by, goal);
    if (next === goal) goal = -1;
    else requestAnimationFrame(onward);
    play.move({ at: next });
  }

  /** The knife in lengths that are alike in both directions. */
  const across = () => play.state().W2.map((/** @type {number} */ w, /** @type {number} */ k) => w * view[k].scale);

  /** @param {Point} v @param {Point} at */
  function lay(v, at) {
    const knife = at.map((value) => clamp(value, 0, REACH - 0.1));
    play.move({ W2: v.map((value, k) => value / view[k].scale), b2: HALF - v[0] * knife[0] - v[1] * knife[1], knife });
  }

  /** From the folded plane, in lengths alike in both directions, to pixels. @param {number} wide */
  function ground(wide) {
    const low = 0.16 * REACH;
    const scale = (wide - 8) / (REACH + low);
    const to = (/** @type {Point} */ [x, y]) => [(x + low) * scale, wide - (y + low) * scale];
    const from = (/** @type {Point} */ [x, y]) => [x / scale - low, (wide - y) / scale - low];
    return { to, from, scale };
  }

  /** From the sums to pixels, as long as unit after unit folds: what is left of zero needs room until it is folded. @param {number} u */
  function room(u) {
    const folded = view.map((_, k) => easeCubicInOut(clamp(u - LAID - k)));
    const lows = view.map(({ scale, low }, k) => low / scale + folded[k] * (-0.16 * REACH - low / scale));
    const scales = lows.map((low) => (side - 8) / (REACH - low));
    const [p, q] = view.map(({ scale }) => scale);
    return (/** @type {Point} */ [x, y]) => [(x / p - lows[0]) * scales[0], side - (y / q - lows[1]) * scales[1]];
  }

  /** Where a point of the sheet is seen. @param {Net} net @param {number} u */
  function placing(net, u) {
    const { to } = plain(side);
    const share = easeCubicInOut(clamp(u));
    const turns = [0, 1].map((k) => (easeCubicInOut(clamp(u - LAID - k)) * Math.PI) / 2);
    const onto = room(u);
    const cosines = turns.map((turn, k) => (u >= LAID + 1 + k ? 0 : Math.cos(turn)));
    const [[w00, w01], [w10, w11]] = net.W1;
    const [b0, b1] = net.b1;
    return (/** @type {Point} */ point) => {
      const [a, b] = point;
      const z0 = a * w00 + b * w10 + b0;
      const z1 = a * w01 + b * w11 + b1;
      const [x1, y1] = onto([z0 < 0 ? z0 * cosines[0] : z0, z1 < 0 ? z1 * cosines[1] : z1]);
      const [x0, y0] = to(point);
      return [x0 + share * (x1 - x0), y0 + share * (y1 - y0)];
    };
  }

  /** @param {any} state @param {any} before */
  function draw(state, before) {
    const known = follow(state);
    const { net } = known;
    const { at } = state;
    const now = before ? side : sideOf(place.clientWidth || 688); // to ask for the width lays out the page
    const u = foldedBy(at);
    const seen = clamp((at - FOLDED - 0.35) / 0.5);
    if (side !== now) {
      side = now;
      resize(side);
      axes[0].replaceChildren(...cross(plain(side).to));
    }
    left.draw(state, known, side, seen);

    const put = placing(net, u);
    const turns = [0, 1].map((k) => easeCubicInOut(clamp(u - LAID - k)));
    const dark = (/** @type {boolean[]} */ fires) => shade(fires) + fires.reduce((total, one, k) => total + (one ? 0 : 0.3 * Math.sin((turns[k] * Math.PI) / 2)), 0);
    select(paper).selectAll("path").data(known.ordered).join("path").attr("d", (/** @type {any} */ one) => closed(one.corners.map(put))).attr("fill-opacity", (/** @type {any} */ one) => dark(one.fires).toFixed(3));
    const drawn = (/** @type {Point[][]} */ many, /** @type {(points: Point[]) => string} */ how) => many.map((points) => how(points.map(put))).join("");
    for (const [n, tint] of tints.entries()) set(tint, { d: seen ? drawn(known.halves[n], closed) : "", opacity: seen });
    set(grid, { d: drawn(known.grid, path) });
    for (const [n, mark] of marks.entries()) {
      const shown = n ? seen : 1 - seen;
      set(mark, { d: shown ? drawn([known.groups[n]], dotted) : "", opacity: shown });
    }
    for (const [k, crease] of creases.entries()) set(crease, { d: drawn([known.creases[k]], path) });
    set(cut, { d: at > CUT ? drawn(known.cuts, path) : "" });
    const share = easeCubicInOut(clamp(u));
    set(axes[0], { opacity: 1 - share });
    set(axes[1], { opacity: share });
    ruler(u);

    const laid = clamp((at - FOLDED) / 0.6); // the knife comes in from one end
    const gone = at > CUT ? clamp(1 - 6 * (at - CUT)) : 1;
    const v = across();
    const length = Math.hypot(...v);
    const { to } = ground(side);
    const [x, y] = to(state.knife);
    const way = [v[0] / (length || 1), -v[1] / (length || 1)];
    const far = 1.5 * side;
    const ends = [[x - far * way[1], y + far * way[0]], [x + far * way[1], y - far * way[0]]];
    const tip = between(ends[0], ends[1], easeCubicInOut(laid));
    set(blade, { x1: px(ends[0][0]), y1: px(ends[0][1]), x2: px(tip[0]), y2: px(tip[1]), opacity: laid && length ? gone : 0 });
    const handy = at > CUT - 0.3 && at < CUT + 0.1 && length > 0;
    knife.whole.style.visibility = handy ? "visible" : "hidden";
    const height = (v[0] * 0.7 + v[1] * 0.7 + net.b2 - HALF) / (length || 1);
    knife.put([x, y], way, { value: Math.round(-100 * height), least: -300, most: 300, says: `${number(Math.abs(height))} ${height < 0 ? "ahead of" : "behind"} the middle, ${known.right} of 4 right` }, `${plural(degrees(v), "degree")}, ${known.right} of 4 right`, Math.abs(v[0] * state.knife[0] + v[1] * state.knife[1] + net.b2 - HALF) / (length || 1));
    const taken = handy ? [[x, y], [x + 52 * way[0], y + 52 * way[1]]] : [];
    four.put(POINTS.map(put), seen > 0.5 ? known.ok : null, side, taken, laid && gone ? [ends] : []);

    title.textContent = heading(at);
    button.textContent = play.calm() ? "Next step" : goal >= 0 ? "❚❚ Pause" : at >= UNFOLDED ? "▶ Play again" : "▶ Play";
    count.textContent = seen > 0.5 ? `${known.right} of 4 right` : "";
    count.classList.toggle("fd-all", known.right === 4);
    if (document.activeElement !== scrubber || Number(scrubber.value) !== at) scrubber.value = String(at);
    scrubber.setAttribute("aria-valuetext", heading(at));
    for (const [stop, one] of stops.entries()) one.setAttribute("aria-pressed", String(Math.abs(at - stop) < 0.02));
  }

  const nice = [...Array(13).keys()].flatMap((n) => [1, 2, 5].map((lead) => lead * 10 ** (n - 6)));
  const steps = view.map(({ high }) => nice.find((step) => high / step < 3.2) ?? 1);
  const ticks = steps.flatMap((step, k) => [1, 2, 3].map((n) => n * step).filter((value) => value < 0.9 * view[k].high).map((value) => ({ k, value, text: word(0, 0, number(value, 4)) })));
  const rule = shape("path");
  const names = [word(0, 0, ""), word(0, 0, "")];
  axes[1].append(rule, ...ticks.map(({ text }) => text), ...names);
  let ruled = "";

  /** The axes of the folded plane, with the names that hold: z before ReLU, h after it. @param {number} u */
  function ruler(u) {
    if (ruled === `${u} ${side}`) return;
    ruled = `${u} ${side}`;
    const onto = room(u);
    const zero = onto([0, 0]);
    let marks = `M0 ${px(zero[1])}H${side}M${px(zero[0])} 0V${side}`;
    for (const { k, value, text } of ticks) {
      const [x, y] = onto(k ? [0, value] : [value, 0]);
      marks += k ? `M${px(x - 3)} ${px(y)}h6` : `M${px(x)} ${px(y - 3)}v6`;
      set(text, k ? { x: px(x - 13), y: px(y + 4) } : { x: px(x), y: px(y + 15) });
    }
    set(rule, { d: marks });
    for (const [k, name] of names.entries()) name.textContent = `${u >= LAID + k + 0.98 ? "h" : "z"}${"₁₂"[k]}`;
    set(names[0], { x: side - 12, y: px(zero[1] - 7) });
    set(names[1], { x: px(zero[0] + 13), y: 14 });
  }

  /** @param {any} state */
  function words(state) {
    const net = netOf(state);
    const stop = reached(state.at);
    const got = plural(right(net), "of 4 is right", "of 4 are right");
    if (stop === PLANE) return "Four balls lie on a sheet: two are teal, for into, and two are orange, for over. No straight cut has the teal ones on one side and the orange ones on the other. So let two neurons press the sheet first: push Play.";
    if (stop === LAID) {
      const thin = Math.abs(net.W1[0][0] * net.W1[1][1] - net.W1[0][1] * net.W1[1][0]) < 1e-9 * (size(net, 0) * size(net, 1) || 1);
      return `W₁ and b₁ carry each point (a, b) to (z₁, z₂). That turns, stretches and shifts the sheet, and presses nothing yet.${thin ? " The kinks are parallel, so the whole sheet becomes one line." : ""}`;
    }
    if (stop === FIRST) return `Neuron 1 presses what is beyond its kink flat: where z₁ is below 0, h₁ is 0. ${silence(net, 0)}`;
    const can = parted(net);
    if (stop === FOLDED) return `Neuron 2 presses as well: where z₂ is below 0, h₂ is 0. ${can ? "Now one straight cut can have teal on one side and orange on the other." : "No straight cut has teal on one side and orange on the other yet: move a kink."}`;
    if (!across().some(Boolean)) return `W₂ is 0, so there is no cut: the output is the same everywhere, and ${got}.`;
    const advice = right(net) === 4 ? "Now rewind." : can ? "The sheet is pressed well: move the knife or turn it." : "On this pressed sheet no straight cut gets all four: move a kink.";
    if (stop === CUT) return `One straight cut: the output is above ½ on the teal side, and ${got}. ${advice}`;
    const shown = lines(follow(state).cuts);
    return `You cut once. On the sheet as it had been, the cut ${form(shown)}, and ${got}.${right(net) < 4 ? " Push “cut” to move the knife, or move a kink." : shown.some(bent) ? " It turns only where it crosses a kink." : ""}`;
  }

  /** @param {Net} net @param {number} unit */
  function silence(net, unit) {
    const silent = POINTS.filter((point) => sums(net, point)[unit] <= 0).length;
    return silent === 4 ? "All four balls are there." : silent === 0 ? "None of the balls is there." : `${silent} of the four balls ${silent === 1 ? "is" : "are"} there.`;
  }

  return { draw, words };
}

/** The stop that the sheet is at, or on its way to. @param {number} at */
const reached = (at) => Math.ceil(at - 0.02);

/** How large a panel is: two side by side, or one above the other. @param {number} wide */
const sideOf = (wide) => (wide >= 560 ? Math.floor((wide - 16) / 2) : Math.min(wide, 380));

/** @param {number} at */
function heading(at) {
  if (at > CUT + 0.02 && at < UNFOLDED) return "The same film, backwards";
  return [
    "The same sheet, still flat", "W₁ and b₁ carry it to (z₁, z₂)", "Neuron 1 presses: below 0 becomes 0", "Neuron 2 presses: below 0 becomes 0",
    "One straight cut: drag the knife", "Rewound: where the cut was",
  ][reached(at)];
}

/** What lines a cut has become. @param {Point[][][]} shown */
function form(shown) {
  if (!shown.length) return "is not on the sheet";
  if (shown.length > 1) return `is ${["two", "three", "four"][shown.length - 2] ?? shown.length} lines`;
  return bent(shown[0]) ? "is one bent line" : "is one straight line";
}

/** A line of the sheet with corners where it crosses a hinge. @param {Net} net @param {Point[]} line */
function bends(net, [a, b]) {
  const [low, high] = [sums(net, a), sums(net, b)];
  const shares = low.flatMap((z, k) => (z >= 0 !== high[k] >= 0 ? [z / (z - high[k])] : []));
  return [0, ...shares.sort((one, other) => one - other), 1].map((share) => between(a, b, share));
}

/** Another number of neurons: the plane alone, its points coloured by the output. @param {HTMLElement} place @param {import("./runtime.js").Play} play @returns {import("./runtime.js").Stage} */
function flat(place, play) {
  const neurons = play.data.net.b1.length;
  const { whole, title, draw } = plane(play, unique("fd"), true);
  const follow = following();
  let side = 440;
  title.textContent = neurons > MOST ? "The plane with the kinks of all neurons" : "The plane: drag a kink, turn its arrow";
  whole.classList.add("fd-alone");
  place.append(whole, legend(element("span", {}, element("i", { class: "fd-line" }), "the output is ½")));
  return {
    draw(state, before) {
      if (!before) side = Math.min(place.clientWidth || 440, 440);
      draw(state, follow(state), side, 1);
    },
    words: (state) => {
      const known = follow(state);
      const most = 1 + neurons + (neurons * (neurons - 1)) / 2;
      return `${plural(neurons, "kink cuts", "kinks cut")} the sheet into ${plural(known.sheet.length, "flat piece")}; ${most} is the most for ${neurons}. The boundary, where the output is ½, ${form(lines(known.cuts))}, and ${plural(known.right, "of 4 is right", "of 4 are right")}.`;
    },
  };
}
