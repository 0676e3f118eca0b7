// Plays a figure from pictures that were drawn beforehand: on a page of the site, and in a notebook that was opened again without Python.
import { nearest, render } from "./figure_widget.js";

/** The JSON of a gzipped file, whether or not its server has said so and the browser has unpacked it. */
export async function unpacked(file) {
  const [first, second] = new Uint8Array(await file.slice(0, 2).arrayBuffer());
  const isPacked = first === 0x1f && second === 0x8b;
  return new Response(isPacked ? file.stream().pipeThrough(new DecompressionStream("gzip")) : file).json();
}

/** Shows a figure in `here`: its first picture, `html`, of the state `at`, under its controls. Returns a function that takes all its pictures, or the words for why there are none. */
export function play(here, { controls, at, html }) {
  const data = { controls, state: at, picture: { state: at, html }, missed: "The pictures of this figure are still on their way." };
  const heard = {};
  const recent = []; // parameters, the one moved last first
  let drawn = null;

  const tell = (name, value) => {
    data[name] = value;
    for (const hear of heard[`change:${name}`] ?? []) hear();
  };
  const key = (state) => controls.map(({ name }) => state[name]).join(",");

  /** The nearest state with a picture: what was moved last stays, and of the rest as much as can. */
  function reachable(wanted) {
    if (key(wanted) in drawn.frames) return wanted;
    const found = { ...at };
    for (const name of [...recent, ...Object.keys(wanted)]) {
      const next = { ...found, [name]: wanted[name] };
      if (key(next) in drawn.frames) found[name] = wanted[name];
    }
    return found;
  }

  function answer() {
    if (!drawn) return;
    const state = reachable(data.state);
    if (key(state) !== key(data.state)) tell("state", state);
    tell("picture", { state, html: htmlAt(drawn, controls.map(({ name }) => state[name])) });
  }

  const model = {
    get: (name) => data[name],
    set(name, value) {
      if (name === "state") {
        for (const parameter of Object.keys(value).filter((one) => value[one] !== data.state[one])) {
          if (recent.includes(parameter)) recent.splice(recent.indexOf(parameter), 1);
          recent.unshift(parameter);
        }
      }
      tell(name, value);
    },
    on: (name, hear) => (heard[name] ??= []).push(hear),
    off() {},
    save_changes: answer,
  };
  here.replaceChildren();
  render({ model, el: here });
  return (pictures) => {
    if (typeof pictures === "string") data.missed = pictures;
    else drawn = pictures;
    if (drawn && data.state !== data.picture.state) answer();
  };
}

/** The HTML of a picture. @param pictures: as in a file. @param stops: by control, the index of its stop; undefined where there is no picture. */
const htmlAt = ({ frames, pictures, pieces }, stops) => pictures[frames[stops.join(",")]]?.map((piece) => pieces[piece]).join("");

/** The index of a control's stop with the label of another, or with the nearest number. */
function stopOf(control, { label, value }) {
  const exact = control.stops.findIndex((stop) => stop.label === label);
  return exact < 0 && typeof value === "number" ? nearest(control, value) : exact;
}

/** In a notebook: each element with that `data-still` becomes the figure, once it is seen; it is hidden as long as Python's own is there. */
export function wake(name, packed) {
  let pictures;
  const read = () => (pictures ??= unpacked(new Blob([Uint8Array.from(atob(packed), (letter) => letter.charCodeAt(0))])));
  const seen = new IntersectionObserver(async (entries) => {
    for (const { isIntersecting, target } of entries) {
      if (!isIntersecting || target.dataset.awake) continue;
      target.dataset.awake = "true"; // an output may be rendered, and its script run, more than once
      seen.unobserve(target);
      const stored = await read();
      const here = document.createElement("section");
      const { controls, at, limits } = stored;
      const take = play(here, { controls, at, html: htmlAt(stored, controls.map((control) => at[control.name])) });
      target.querySelector("figure").replaceWith(here);
      target.querySelector("p em").textContent = `These are saved pictures${limits && `, with ${limits}`}. Run the cell, and Python draws them.`;
      take(stored);
    }
  });
  for (const place of document.querySelectorAll(`[data-still="${name}"]`)) {
    seen.observe(place);
    // For Python's own figure, where Python has ended: the HTML for these stops, by parameter, or for the nearest that were drawn.
    place.storedPicture = async (wanted) => {
      const stored = await read();
      return htmlAt(stored, stored.controls.map((control) => stopOf(control, wanted[control.name])));
    };
  }
}
