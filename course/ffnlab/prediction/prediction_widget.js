// One prediction: a question, options as buttons or a slider, and what is so, which opens after the guess. No build step, nothing loaded from outside.

const STYLE = `
.ffnlab-guess{--soft:color-mix(in srgb,var(--press) 6%,var(--paper));--edge:color-mix(in srgb,var(--press) 20%,var(--paper));
  border-left:5px solid var(--press);background:var(--soft);color:var(--ink);padding:.7em 1em .8em;margin:.35em 0;border-radius:0 6px 6px 0;
  max-width:46em;font:14px/1.5 system-ui,-apple-system,"Segoe UI",sans-serif;box-sizing:border-box}
.ffnlab-guess .head{color:var(--press);font-weight:600;letter-spacing:.01em}
.ffnlab-guess p{margin:.3em 0}
.ffnlab-guess code{background:rgba(0,0,0,.06);color:inherit;padding:0 .25em;border-radius:3px;font-size:.93em}
.ffnlab-guess .options{display:flex;flex-wrap:wrap;gap:.45em;margin-top:.55em;align-items:center}
.ffnlab-guess button{font:inherit;color:var(--ink);background:var(--paper);border:1.5px solid color-mix(in srgb,var(--press) 50%,var(--paper));border-radius:6px;padding:.3em .85em;text-align:left;cursor:pointer}
.ffnlab-guess button:hover:enabled{border-color:var(--press);background:color-mix(in srgb,var(--press) 12%,var(--paper))}
.ffnlab-guess button:focus-visible,.ffnlab-guess input:focus-visible{outline:3px solid var(--press);outline-offset:1px}
.ffnlab-guess button:disabled{cursor:default;color:var(--muted);background:transparent;border-color:var(--rule)}
.ffnlab-guess button.right{border-color:var(--right);color:var(--right);background:color-mix(in srgb,var(--right) 7%,var(--paper));font-weight:600}
.ffnlab-guess button.missed{border-color:var(--wrong);color:var(--wrong);background:color-mix(in srgb,var(--wrong) 7%,var(--paper))}
.ffnlab-guess .sure{display:flex;flex-wrap:wrap;gap:.3em;margin-top:.6em;align-items:center;font-size:.92em;color:var(--muted)}
.ffnlab-guess .sure[hidden]{display:none}
.ffnlab-guess .sure button{padding:.1em .7em;border-width:1px;border-radius:1em;color:var(--muted);background:transparent}
.ffnlab-guess .sure button[aria-pressed="true"]{color:var(--on-press);background:var(--press);border-color:var(--press)}
.ffnlab-guess input{flex:1 1 14em;max-width:24em;accent-color:var(--press)}
.ffnlab-guess output{min-width:4.5em;font-weight:600;font-variant-numeric:tabular-nums}
.ffnlab-guess .after{margin-top:.7em;padding-top:.55em;border-top:1px solid var(--edge);outline:none}
.ffnlab-guess .said{font-weight:600}
.ffnlab-guess ul,.ffnlab-guess ol{margin:.3em 0;padding-left:1.4em}
.ffnlab-guess table{border-collapse:collapse;margin:.5em 0}
.ffnlab-guess th,.ffnlab-guess td{padding:.15em .8em .15em 0;text-align:left;color:inherit;background:none;border:0}
.ffnlab-guess th{border-bottom:1px solid var(--edge);font-weight:600}
`;
const QUIET = "data-lm-suppress-shortcuts"; // JupyterLab leaves the keys to an element that says so

function element(name, className, text) {
  const made = document.createElement(name);
  if (className) made.className = className;
  if (text !== undefined) made.textContent = text;
  return made;
}

function render({ model, el }) {
  for (const still of document.querySelectorAll(`[data-still="${model.get("still")}"]`)) still.hidden = true;
  const slider = model.get("slider");
  const isNumber = "low" in slider;
  const words = (value) => (isNumber ? `${value}`.replace("-", "\u2212") + slider.unit : value);

  const box = element("div", "ffnlab-guess ffn-live");
  box.style.cssText = model.get("colours"); // always the light ones: in the dark a filter turns them
  const question = element("div", "question");
  question.innerHTML = model.get("question"); // the course's own words
  const answers = element("div", "options");
  answers.setAttribute("role", "group");
  answers.setAttribute("aria-label", "Your prediction");
  answers.setAttribute(QUIET, "true");
  const steps = model.get("steps");
  const sure = element("div", "sure");
  sure.setAttribute("role", "group");
  sure.setAttribute("aria-label", "How sure are you? You may say it before you choose");
  sure.setAttribute(QUIET, "true");
  sure.append(element("span", "", "How sure? If you like, say it before you choose:"));
  const degrees = steps.map((words, number) => {
    const button = element("button", "", words);
    button.setAttribute("aria-pressed", "false");
    button.addEventListener("click", () => {
      const pressed = button.getAttribute("aria-pressed") === "false"; // pressed again, it is taken back
      degrees.forEach((one) => one.setAttribute("aria-pressed", String(one === button && pressed)));
      chosen = pressed ? number + 1 : 0;
    });
    return button;
  });
  sure.append(...degrees);
  let chosen = 0; // how sure, from 1; 0: not said
  const after = element("div", "after");
  after.tabIndex = -1;
  after.setAttribute("role", "status");
  box.append(element("style", "", STYLE), element("div", "head", "Predict"), question, answers, sure, after);

  const buttons = [];
  let range;
  if (isNumber) {
    range = element("input");
    const shown = element("output");
    const done = element("button", "", "This is my guess");
    Object.assign(range, { type: "range", min: slider.low, max: slider.high, step: slider.step });
    const decimals = (`${slider.step}`.split(".")[1] || "").length;
    const middle = slider.low + Math.round((slider.high - slider.low) / 2 / slider.step) * slider.step;
    range.value = model.get("guess") ?? middle.toFixed(decimals);
    range.setAttribute("aria-label", "Your guess");
    const tell = () => {
      shown.textContent = words(Number(range.value));
      range.setAttribute("aria-valuetext", shown.textContent);
    };
    done.disabled = true; // until the slider was moved: where it stands at first is nobody's guess
    range.addEventListener("input", () => {
      done.disabled = false;
      tell();
    });
    if (model.get("guess") !== null) tell();
    else shown.textContent = "?";
    done.addEventListener("click", () => choose(Number(range.value)));
    buttons.push(done);
    answers.append(range, shown, done);
  } else {
    for (const option of model.get("options")) {
      const button = element("button", "", option);
      button.addEventListener("click", () => choose(option));
      buttons.push(button);
    }
    answers.append(...buttons);
  }
  for (const one of [range, ...buttons, ...degrees]) {
    if (!one) continue;
    if (one.tagName === "BUTTON") one.type = "button";
    one.setAttribute(QUIET, "true");
    one.addEventListener("keydown", (event) => event.stopPropagation());
  }
  if (!isNumber) answers.addEventListener("keydown", (event) => move(event, buttons), true);
  sure.addEventListener("keydown", (event) => move(event, degrees), true);

  function move(event, among) {
    const by = { ArrowRight: 1, ArrowDown: 1, ArrowLeft: -1, ArrowUp: -1 }[event.key];
    const at = among.indexOf(document.activeElement);
    if (!by || at < 0) return;
    event.preventDefault();
    among[(at + by + among.length) % among.length].focus();
  }

  function choose(guess) {
    if (model.get("guess") !== null) return; // the first guess is the one that counts
    model.set("sure", chosen); // before the guess: with it, both are kept
    model.set("guess", guess);
    model.save_changes();
    show();
    after.focus({ preventScroll: true });
  }

  function show() {
    const guess = model.get("guess");
    after.hidden = guess === null;
    sure.hidden = guess !== null;
    if (guess === null || after.childNodes.length) return;
    const right = model.get("right");
    const hit = isNumber ? Math.abs(guess - right) <= model.get("within") : guess === right;
    for (const button of buttons) {
      button.disabled = true;
      if (isNumber) continue;
      if (button.textContent === right) button.classList.add("right");
      else if (button.textContent === guess) button.classList.add("missed");
    }
    if (range) {
      range.disabled = true;
      buttons[0].hidden = true;
    }
    // Texts that wait for this guess open now; see ffnlab/live_boards.
    (globalThis.ffnSettled ??= new Set()).add(model.get("name"));
    document.dispatchEvent(new CustomEvent("ffn-settled", { detail: { name: model.get("name") } }));
    const close = hit && guess !== right;
    const quoted = (value) => (isNumber ? words(value) : `“${value}”`);
    const said = hit && !close ? `✔ You said ${quoted(guess)}, and so it is.`
      : `${close ? "✔" : "○"} You said ${quoted(guess)}; it is ${quoted(right)}${close ? ", which is close enough" : ""}.`;
    const degree = steps[model.get("sure") - 1];
    after.append(element("div", "said", degree ? `${said} How sure you were: ${degree}.` : said));
    const why = element("div", "why");
    why.innerHTML = model.get("explanation"); // the course's own words
    after.append(why);
  }

  model.on("change:guess", show);
  show();
  el.append(box);
  return () => model.off("change:guess", show);
}

export default { render };
