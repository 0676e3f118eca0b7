// The board: controls over a picture whose marks can be pressed and dragged. What a figure is, Python says; here is only the hand.
//
// `state` {parameter: index of its stop}. A hand changes it, whoever draws answers with `picture` {state, html}: Python in a notebook,
// pictures drawn before on a page. Marks of a picture: data-sets {parameter: value} is a button, data-drags {parameter: scale} a handle.

const same = (a, b) => JSON.stringify(a) === JSON.stringify(b);
const clamp = (value, low, high) => Math.min(Math.max(value, low), high);
const PATIENCE = 1500; // milliseconds until a picture is missed
const REST = 500; // milliseconds that a picture stays before its sentence is spoken
const SILENCE = "Python does not answer. If it is busy, the picture follows when it is done. If the kernel was restarted or shut down, run this cell again.";
const STORED = "Python does not answer, so this is a stored picture. If the kernel was restarted or shut down, run this cell again.";

function element(tag, attributes = {}, ...children) {
  const made = document.createElement(tag);
  for (const [name, value] of Object.entries(attributes)) made.setAttribute(name, value);
  made.append(...children);
  return made;
}

/** The index of the stop with that value, or the nearest number; `round` a circle, 359 degrees are near 0. */
export function nearest(control, value, round = false) {
  const exact = control.stops.findIndex((stop) => same(stop.value, value));
  if (exact >= 0 || typeof value !== "number") return exact;
  const away = (stop) => (round ? Math.min(Math.abs(stop - value), 360 - Math.abs(stop - value)) : Math.abs(stop - value));
  let best = -1;
  control.stops.forEach(({ value: stop }, index) => {
    if (typeof stop !== "number") return;
    if (best < 0 || away(stop) < away(control.stops[best].value)) best = index;
  });
  return best;
}

/** The value of a parameter where the pointer is at {x, y}, in the picture's own units. The kinds are those of svg.Scale. */
function valueAt(scale, { x, y }) {
  if (scale.kind === "turn") {
    const [cx, cy] = scale.centre;
    return ((Math.atan2(cy - y, x - cx) * 180) / Math.PI + 360) % 360;
  }
  const { places, values } = scale;
  const place = scale.kind === "across" ? x : y;
  let n = 1; // the hand is between the places n - 1 and n
  while (n < places.length - 1 && (place - places[n]) * (places[n] - places[n - 1]) > 0) n++;
  const [start, end, low, high] = [places[n - 1], places[n], values[n - 1], values[n]];
  const share = clamp((place - start) / (end - start), 0, 1);
  return scale.log ? low * (high / low) ** share : low + (high - low) * share;
}

/** What an arrow key does to a handle: the parameter, and by how many stops it moves. */
function step(drags, key) {
  const sideways = key === "ArrowLeft" || key === "ArrowRight";
  if (!sideways && key !== "ArrowUp" && key !== "ArrowDown") return null;
  const names = Object.keys(drags);
  const fits = names.find((name) => drags[name].kind === (sideways ? "across" : "upright"));
  const name = fits ?? (sideways ? names[0] : names[names.length - 1]);
  const scale = drags[name];
  let sign = key === "ArrowRight" || key === "ArrowUp" ? 1 : -1;
  if (fits) {
    const grows = (scale.values[1] - scale.values[0]) / (scale.places[1] - scale.places[0]) > 0;
    if (grows === (scale.kind === "upright")) sign = -sign; // the page's y grows downwards
  }
  return [name, sign];
}

let boards = 0;

export function render({ model, el }) {
  for (const still of document.querySelectorAll(`[data-still="${model.get("still")}"]`)) still.hidden = true;
  const prefix = `ffn-board-${++boards}`;
  const controls = model.get("controls");
  const byName = Object.fromEntries(controls.map((control) => [control.name, control]));
  const picture = element("div", { class: "ffn-picture" });
  const note = element("p", { class: "ffn-note", role: "status" });
  const aloud = element("p", { class: "ffn-aloud", role: "status" }); // the sentence of each new picture, for who hears the page
  const row = element("div", { class: "ffn-controls" });
  const follow = []; // brings each control to where the state says
  const timers = new Set();
  let waiting = 0;
  let speaking = 0;
  let isSilent = false; // whether Python has not answered

  const current = () => model.get("state");
  const drawn = () => same(model.get("picture").state, current());

  function move(changes) {
    const next = { ...current() };
    for (const [name, index] of Object.entries(changes)) {
      const control = byName[name];
      if (control && index >= 0) next[name] = clamp(index, 0, control.stops.length - 1);
    }
    if (same(next, current())) return;
    model.set("state", next);
    if (isSilent) missed();
    else waiting ||= setTimeout(missed, PATIENCE);
    model.save_changes(); // stored pictures answer at once, so the wait has to have begun
    stand();
  }

  function stand() {
    for (const bring of follow) bring();
  }

  function missed() {
    waiting = 0;
    isSilent = true;
    // anywidget does not tell a busy kernel from one that has ended. A web page, which has no Python, says it in its own words.
    note.textContent = model.get("missed") ?? SILENCE;
    whole.classList.add("ffn-missed");
    playStored(current());
  }

  /** Shows the stored picture for a state, or the nearest, if the notebook holds one. */
  async function playStored(state) {
    const still = document.querySelector(`[data-still="${model.get("still")}"]`);
    const wanted = controls.map(({ name, stops }) => [name, stops[state[name]]]);
    const html = await still?.storedPicture?.(Object.fromEntries(wanted));
    if (!html || !isSilent || !same(state, current())) return; // Python has answered, or the hand has moved on
    put(html);
    note.textContent = STORED;
    whole.classList.remove("ffn-missed");
  }

  function answered() {
    clearTimeout(waiting);
    waiting = drawn() ? 0 : setTimeout(missed, PATIENCE);
    isSilent = false;
    note.textContent = "";
    whole.classList.remove("ffn-missed");
  }

  function show() {
    put(model.get("picture").html);
    answered();
  }

  function put(html) {
    const marks = () => [...picture.querySelectorAll("[data-sets], [data-drags]")];
    const before = marks();
    const place = before.indexOf(document.activeElement);
    if (picture.firstChild) {
      clearTimeout(speaking);
      speaking = setTimeout(() => (aloud.textContent = picture.querySelector("figcaption")?.textContent ?? ""), REST);
    }
    picture.innerHTML = html;
    const now = marks();
    for (const mark of now) dress(mark);
    if (place >= 0) {
      // The mark that had the focus stands at its place, even when it does something else now; or there are more marks, or fewer.
      const same = now.length !== before.length && now.find((mark) => mark.dataset.key === before[place].dataset.key);
      (same || now[place])?.focus({ preventScroll: true });
    }
    rove();
  }

  /** What a reader of the page, a keyboard and a screen reader need of a mark. */
  function dress(mark) {
    mark.setAttribute("data-lm-suppress-shortcuts", "true"); // else JupyterLab takes arrows and Enter
    mark.setAttribute("tabindex", "0");
    if (mark.dataset.drags) {
      const names = Object.keys(JSON.parse(mark.dataset.drags));
      const { name, stops } = byName[names[0]] ?? { stops: [] };
      mark.dataset.key = `drags ${names}`;
      mark.setAttribute("role", "slider");
      mark.setAttribute("aria-valuemin", 0);
      mark.setAttribute("aria-valuemax", stops.length - 1);
      mark.setAttribute("aria-valuenow", current()[name] ?? 0);
    } else {
      const wanted = Object.entries(JSON.parse(mark.dataset.sets));
      mark.dataset.key = mark.dataset.sets;
      mark.dataset.row = wanted.map(([name]) => name).sort();
      mark.setAttribute("role", "button");
      const pressed = wanted.every(([name, value]) => byName[name] && nearest(byName[name], value) === current()[name]);
      mark.setAttribute("aria-pressed", pressed);
    }
  }

  /** Marks that set the same parameters are one stop of the Tab key, as radio buttons are; the arrow keys go along them. */
  function rove() {
    const rows = {};
    for (const mark of picture.querySelectorAll("[data-sets]")) (rows[mark.dataset.row] ??= []).push(mark);
    for (const row of Object.values(rows)) {
      const pressed = row.find((mark) => mark.getAttribute("aria-pressed") === "true");
      const stop = row.includes(document.activeElement) ? document.activeElement : pressed ?? row[0];
      for (const mark of row) mark.setAttribute("tabindex", mark === stop ? "0" : "-1");
    }
  }
  picture.addEventListener("focusin", rove);

  const press = (mark) => {
    const wanted = Object.entries(JSON.parse(mark.dataset.sets));
    move(Object.fromEntries(wanted.map(([name, value]) => [name, byName[name] ? nearest(byName[name], value) : -1])));
  };

  picture.addEventListener("click", (event) => {
    const mark = event.target.closest("[data-sets]");
    if (mark) press(mark);
  });

  picture.addEventListener("keydown", (event) => {
    const mark = event.target.closest("[data-sets], [data-drags]");
    if (!mark) return;
    if (mark.dataset.sets && (event.key === "Enter" || event.key === " ")) press(mark);
    else if (mark.dataset.drags) {
      const moved = step(JSON.parse(mark.dataset.drags), event.key);
      if (!moved) return;
      move({ [moved[0]]: current()[moved[0]] + moved[1] });
    } else {
      const by = { ArrowRight: 1, ArrowDown: 1, ArrowLeft: -1, ArrowUp: -1 }[event.key];
      if (!by) return;
      const row = [...picture.querySelectorAll("[data-sets]")].filter((one) => one.dataset.row === mark.dataset.row);
      row[(row.indexOf(mark) + by + row.length) % row.length].focus();
    }
    event.preventDefault();
    event.stopPropagation();
  });

  // A finger on a handle moves the handle alone. touch-action does not reach inside a picture: the page would scroll, and take the finger away.
  const keep = (event) => event.target.closest("[data-drags]") && event.preventDefault();
  picture.addEventListener("touchstart", keep, { passive: false });

  let held = null;
  picture.addEventListener("pointerdown", (event) => {
    const mark = event.target.closest("[data-drags]");
    if (!mark) return;
    held = JSON.parse(mark.dataset.drags);
    mark.focus({ preventScroll: true });
    picture.setPointerCapture(event.pointerId);
    event.preventDefault();
  });
  picture.addEventListener("pointermove", (event) => {
    const svg = picture.querySelector("svg");
    if (!held || !svg) return;
    const place = new DOMPoint(event.clientX, event.clientY).matrixTransform(svg.getScreenCTM().inverse());
    const entries = Object.entries(held).filter(([name]) => byName[name]);
    const stop = ([name, scale]) => [name, nearest(byName[name], valueAt(scale, place), scale.kind === "turn")];
    move(Object.fromEntries(entries.map(stop)));
  });
  for (const end of ["pointerup", "pointercancel"]) picture.addEventListener(end, () => (held = null));

  // The controls, in Python's order.

  function slider(control, id) {
    const input = element("input", { type: "range", min: 0, max: control.stops.length - 1, step: 1, id });
    const says = element("span", { class: "ffn-value", "aria-hidden": "true" }); // aria-valuetext says it
    input.addEventListener("input", () => move({ [control.name]: Number(input.value) }));
    follow.push(() => {
      const { label } = control.stops[current()[control.name]];
      input.value = current()[control.name];
      input.setAttribute("aria-valuetext", label);
      says.textContent = label;
    });
    const parts = [input, says];
    if (control.kind === "play") parts.push(player(control));
    return parts;
  }

  function player(control) {
    const button = element("button", { type: "button", class: "ffn-play", "aria-label": `play: ${control.label}` }, "▶");
    let timer = 0;
    const stop = () => {
      clearInterval(timer);
      timers.delete(timer);
      timer = 0;
      button.textContent = "▶";
      button.setAttribute("aria-label", `play: ${control.label}`);
    };
    const last = control.stops.length - 1;
    button.addEventListener("click", () => {
      if (timer) return stop();
      if (current()[control.name] >= last) move({ [control.name]: 0 });
      timer = setInterval(() => {
        if (!drawn()) return; // no step before the last one is to be seen
        move({ [control.name]: current()[control.name] + 1 });
        if (current()[control.name] >= last) stop();
      }, control.interval);
      timers.add(timer);
      button.textContent = "❚❚";
      button.setAttribute("aria-label", `pause: ${control.label}`);
    });
    return button;
  }

  function choice(control, id) {
    const options = control.stops.map((stop, index) => element("option", { value: index }, stop.label));
    const select = element("select", { id }, ...options);
    select.addEventListener("change", () => move({ [control.name]: Number(select.value) }));
    follow.push(() => (select.value = current()[control.name]));
    return [select];
  }

  function toggle(control, id) {
    const box = element("input", { type: "checkbox", id });
    box.addEventListener("change", () => move({ [control.name]: box.checked ? 1 : 0 }));
    follow.push(() => (box.checked = current()[control.name] === 1));
    return [box];
  }

  const makers = { slider, play: slider, choice, toggle };
  for (const control of controls) {
    if (!(control.kind in makers)) continue; // set by the picture's own marks
    const id = `${prefix}-${control.name}`;
    const label = element("label", { for: id }, control.label);
    const parts = makers[control.kind](control, id);
    for (const part of parts) part.setAttribute("data-lm-suppress-shortcuts", "true");
    const order = control.kind === "toggle" ? [...parts, label] : [label, ...parts];
    row.append(element("div", { class: `ffn-control ffn-${control.kind}` }, ...order));
  }

  const whole = element("div", { class: "ffn-board ffn-live", "data-lm-suppress-shortcuts": "true" }, row, note, picture, aloud);
  el.append(whole);
  stand();
  show();
  model.on("change:picture", show);
  model.on("change:state", stand);
  return () => {
    for (const timer of timers) clearInterval(timer);
    clearTimeout(waiting);
    clearTimeout(speaking);
    model.off("change:picture", show);
    model.off("change:state", stand);
  };
}

export default { render };
