// The invisible output beside a board: it hands on what was reached and what is asked to Python, and Python's answers to the board.
function render({ model, el }) {
  el.classList.add("ffn-link");
  let number = 0;
  const waiting = new Map();
  const answered = () => {
    const answer = model.get("answered");
    waiting.get(answer.number)?.(answer);
    waiting.delete(answer.number);
  };
  const settled = (event) => {
    model.set("results", event.detail);
    model.save_changes();
  };
  const ask = (event) => {
    const { name, value, done } = event.detail;
    waiting.set(++number, done);
    model.set("asked", { number, name, value });
    model.save_changes();
  };
  const places = document.querySelectorAll(`[data-token="${model.get("token")}"]`);
  for (const place of places) {
    place.addEventListener("ffn-results", settled);
    place.addEventListener("ffn-ask", ask);
  }
  model.on("change:answered", answered);
  return () => {
    for (const place of places) {
      place.removeEventListener("ffn-results", settled);
      place.removeEventListener("ffn-ask", ask);
    }
    model.off("change:answered", answered);
  };
}

export default { render };
