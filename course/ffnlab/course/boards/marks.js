// @ts-check
// Marks that several boards draw: shapes of SVG, knobs for hands and keys, sliders, ribbons.
import { element, number, unique } from "./runtime.js";

/** @typedef {(value: number) => number} Scale */
/** @typedef {{left: number, right: number, top: number, bottom: number, x: Scale, y: Scale, atX: Scale, atY: Scale}} Frame */

export const clamp = (/** @type {number} */ value, /** @type {number} */ low, /** @type {number} */ high) => Math.min(Math.max(value, low), high);
const px = (/** @type {number} */ value) => value.toFixed(1);

/** @param {string} tag @param {Record<string, any>} [attributes] @param {...(Node | string)} children @returns {SVGElement} */
export function shape(tag, attributes = {}, ...children) {
  const made = document.createElementNS("http://www.w3.org/2000/svg", tag);
  set(made, attributes);
  made.append(...children);
  return made;
}

/** @param {Element} made @param {Record<string, any>} attributes */
export function set(made, attributes) {
  for (const [name, value] of Object.entries(attributes)) made.setAttribute(name, String(value));
}

/** A rectangle of the picture with its scales: domain of x and y, edges in pixels. @param {number[]} domain @param {number} left @param {number} right @param {number} top @param {number} bottom @returns {Frame} */
export function frame([x0, x1, y0, y1], left, right, top, bottom) {
  const [across, up] = [(right - left) / (x1 - x0), (top - bottom) / (y1 - y0)];
  return {
    left, right, top, bottom,
    x: (value) => left + across * (value - x0),
    y: (value) => bottom + up * (value - y0),
    atX: (pixel) => x0 + (pixel - left) / across,
    atY: (pixel) => y0 + (pixel - bottom) / up,
  };
}

/** The path through points of a frame; far out of it they are held, as a renderer wants. @param {Frame} at @param {number[]} xs @param {number[]} ys */
export const path = (at, xs, ys) => xs.map((x, n) => `${n ? "L" : "M"}${px(at.x(x))} ${px(clamp(at.y(ys[n]), -4000, 4000))}`).join("");

/** The ribbon around a function. @param {Frame} at @param {number[]} xs @param {number[]} ys @param {number} half */
export function ribbon(at, xs, ys, half) {
  const high = path(at, xs, ys.map((y) => y + half));
  const low = path(at, [...xs].reverse(), [...ys].reverse().map((y) => y - half));
  return `${high}L${low.slice(1)}Z`;
}

/** The stretches of a function that are out of a ribbon. @param {Frame} at @param {number[]} xs @param {number[]} ys @param {number[]} targets @param {number} half */
export function outside(at, xs, ys, targets, half) {
  let drawn = "";
  let pen = false;
  xs.forEach((x, n) => {
    const out = Math.abs(ys[n] - targets[n]) > half + 1e-9;
    if (out) drawn += `${pen ? "L" : "M"}${px(at.x(x))} ${px(clamp(at.y(ys[n]), -4000, 4000))}`;
    pen = out;
  });
  return drawn;
}

/** @param {number} low @param {number} high @param {number} steps */
export const spread = (low, high, steps) => Array.from({ length: steps + 1 }, (_, n) => low + ((high - low) * n) / steps);

/** What is drawn in it ends at the edges of a frame. @param {Element} svg @param {Frame} at */
export function clipped(svg, at) {
  const id = unique("clip");
  svg.append(shape("clipPath", { id }, shape("rect", { x: at.left, y: at.top, width: at.right - at.left, height: at.bottom - at.top })));
  return svg.appendChild(shape("g", { "clip-path": `url(#${id})` }));
}

const ARROWS = /** @type {Record<string, [number, number]>} */ ({ ArrowLeft: [-1, 0], ArrowRight: [1, 0], ArrowUp: [0, 1], ArrowDown: [0, -1] });
const GRIPS = { across: "M-2 -3L-5 0L-2 3M2 -3L5 0L2 3", up: "M-3 -2L0 -5L3 -2M-3 2L0 5L3 2" };

/**
 * What a hand drags and arrow keys move.
 * @param {Element} svg
 * @param {{label: string, className: string, way: "across" | "up", low: number, high: number, drag: (x: number, y: number) => void, key: (across: number, up: number) => void}} options
 */
export function knob(svg, { label, className, way, low, high, drag, key }) {
  const made = shape(
    "g",
    { class: `wr-knob ${className}`, tabindex: 0, role: "slider", "aria-label": label, "aria-valuemin": low, "aria-valuemax": high, "aria-orientation": way === "up" ? "vertical" : "horizontal" },
    shape("circle", { r: 14, class: "wr-hit" }),
    shape("circle", { r: 9.5, class: "wr-dot" }),
    shape("path", { d: GRIPS[way], class: "wr-grip" }),
  );
  let held = false;
  made.addEventListener("pointerdown", (event) => {
    held = true;
    made.setPointerCapture(event.pointerId);
    event.preventDefault();
    made.focus();
  });
  made.addEventListener("pointermove", (event) => {
    if (!held) return;
    const box = svg.getBoundingClientRect();
    drag(event.clientX - box.left, event.clientY - box.top);
  });
  for (const end of ["pointerup", "pointercancel"]) made.addEventListener(end, () => (held = false));
  made.addEventListener("keydown", (event) => {
    const step = ARROWS[event.key];
    if (!step) return;
    event.preventDefault();
    key(...step);
  });
  svg.append(made);
  return (/** @type {number} */ x, /** @type {number} */ y, /** @type {number} */ value, /** @type {string} */ says) =>
    set(made, { transform: `translate(${px(x)} ${px(y)})`, "aria-valuenow": Math.round(1000 * value) / 1000, "aria-valuetext": spoken(says) });
}

/** A number as it is read aloud. @param {string} text */
const spoken = (text) => text.replaceAll("−", "minus ");

/**
 * A slider with its name and its value.
 * @param {string} name @param {number} low @param {number} high @param {number} step @param {(value: number) => void} move @param {(value: number) => string} [says]
 */
export function slider(name, low, high, step, move, says = (value) => number(value)) {
  const value = element("output", { class: "wr-value" });
  const input = /** @type {HTMLInputElement} */ (
    element("input", { type: "range", min: low, max: high, step, "aria-label": name, oninput: () => move(Number(input.value)) })
  );
  const whole = element("label", { class: "wr-slider" }, element("span", {}, name), input, value);
  /** @param {number} at */
  const show = (at) => {
    input.value = String(at);
    input.setAttribute("aria-valuetext", spoken(says(at)));
    value.textContent = says(at);
  };
  return { whole, show };
}

/** Buttons of which one is chosen. @param {string} label @param {string[]} names @param {(index: number) => void} choose */
export function choice(label, names, choose) {
  const buttons = names.map((name, index) => element("button", { type: "button", class: "wr-option", onclick: () => choose(index) }, name));
  const whole = element("div", { class: "wr-choice", role: "group", "aria-label": label }, ...buttons);
  return { whole, show: (/** @type {number} */ chosen) => buttons.forEach((button, index) => button.setAttribute("aria-pressed", String(index === chosen))) };
}
