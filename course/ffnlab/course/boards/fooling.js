// @ts-check
// The reader's own box before six inspectors. Python runs both; here is what they said.
import { element, plural } from "./runtime.js";

/** @param {any} state @param {any} data */
const isDone = (state, data) => Object.keys(state.visits).length === Object.keys(data.inspectors).length && state.share !== null;

/** @param {boolean[]} visits */
const isFooled = (visits) => visits.length > 0 && visits.every(Boolean);

/** How many inspectors were fooled each time they came. @param {any} state @returns {number} */
const fooled = (state) => Object.values(state.visits).filter(isFooled).length;

/** Whether so many are fooled by a box that cheats with typical sentences. @param {any} state @param {any} data @param {number} count */
const fools = (state, data, count) => isDone(state, data) && state.share >= data.typical && fooled(state) >= count;

/** @type {import("./runtime.js").Board} */
export const board = {
  start: () => ({ round: 0, visits: {}, share: null, error: "" }),

  goals: {
    three: (state, data) => fools(state, data, 3),
    five: (state, data) => fools(state, data, data.most),
    six: (state, data) => fools(state, data, Object.keys(data.inspectors).length),
  },

  tries: (_goal, state, _before, data) => fools(state, data, 3),

  stage(place, play) {
    const { data } = play;
    const names = Object.keys(data.inspectors);
    const rows = names.map((name) => {
      const dots = Array.from({ length: data.visits }, () => element("span", { class: "fo-dot" }));
      const strip = element("span", { class: "fo-dots", role: "img" }, ...dots);
      const verdict = element("span", { class: "fo-verdict" });
      const about = element("span", { class: "fo-about" }, element("b", {}, name), " ", element("span", { class: "fo-question" }, data.inspectors[name]));
      return { name, dots, strip, verdict, row: element("li", { class: "fo-row" }, about, strip, verdict) };
    });
    const send = element("button", { type: "button", class: "fo-send", onclick: go }, "Send them in");
    const cheat = element("p", { class: "fo-cheat" });
    const error = element("p", { class: "fo-error", role: "status" });
    place.append(send, element("ul", { class: "fo-rows" }, ...rows.map(({ row }) => row)), cheat, error);
    let isRunning = false;

    async function go() {
      if (isRunning) return;
      isRunning = true;
      const round = play.state().round + 1;
      play.move({ round, visits: {}, share: null, error: "" });
      try {
        const { value, error } = await play.ask("cheats", { round });
        if (error) throw new Error(error);
        play.move({ share: value.share, error: value.error ?? "" });
        for (const inspector of names) {
          if (play.state().round !== round || play.state().error) break; // it was started again, or the box has failed
          const said = await play.ask("visit", { inspector, round });
          if (said.error) throw new Error(said.error);
          play.move({ visits: { ...play.state().visits, [inspector]: said.value.fooled }, error: said.value.error ?? "" });
        }
      } catch {} // the runtime says that Python does not answer
      isRunning = false;
    }

    /** @param {any} state */
    function draw(state) {
      for (const { name, dots, strip, verdict, row } of rows) {
        const visits = state.visits[name] ?? [];
        dots.forEach((dot, n) => {
          dot.classList.toggle("fo-real", visits[n] === true);
          dot.classList.toggle("fo-caught", visits[n] === false);
        });
        const real = visits.filter(Boolean).length;
        row.classList.toggle("fo-hit", isFooled(visits));
        verdict.textContent = !visits.length ? "" : isFooled(visits) ? "calls it real" : real ? `caught it ${plural(visits.length - real, "time")}` : "caught it";
        strip.setAttribute("aria-label", visits.length ? `called it real in ${real} of ${visits.length} visits` : "has not come yet");
      }
      cheat.textContent = state.share === null ? "" : state.share >= data.typical ? "Your box cheats." : state.share ? "Your box cheats, but too seldom to count." : "Your box does not cheat: it is real.";
      cheat.classList.toggle("fo-honest", state.share !== null && state.share < data.typical);
      error.textContent = state.error;
    }

    /** @param {any} state */
    function words(state) {
      if (!state.round) return "Nobody has been here yet.";
      const came = Object.keys(state.visits).length;
      if (state.error || !came) return "";
      return `${came} of ${names.length} inspectors have come. ${fooled(state)} call your box real.`;
    }
    return { draw, words };
  },
};
