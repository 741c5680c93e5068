// The run in words: the verdict at the present time, then the sentences of Python, some with a button.

import { html } from "./drawing.js";
import { momentOf, placeOf } from "./numbers.js";
import { presentTime } from "./store.js";

export function wordsPanel(home, store, change = null) {
  const verdict = html("p", { class: "verdict" }), rest = html("div");
  home.append(verdict, rest);

  function speak(values) {
    const { run, measures } = values;
    const i = run && measures ? momentOf(measures, placeOf(run.ts, presentTime(values))) : -1;
    const text = i >= 0 ? measures.verdicts?.[i] ?? "" : values.exact ? ""
      : "The exact run follows when the pointer rests.";
    if (verdict.textContent === text) return;
    const [first, ...more] = text.split(":");
    verdict.replaceChildren(...(more.length ? [html("b", {}, `${first}:`), more.join(":")] : [text]));
  }

  function write({ words, notes }) {
    const sentences = words.map(({ topic, text, button, state }) => {
      const line = html("p", { class: `sentence ${topic}` }, text);
      if (button && state && change) line.append(" ",
        html("button", { type: "button", class: "remedy", onclick: () => change(state) }, button));
      return line;
    });
    rest.replaceChildren(...notes.map((text) => html("p", { class: "warning" }, text)), ...sentences);
  }

  store.listen((values, changed) => {
    if (["time", "run", "measures", "exact"].some((name) => changed.has(name))) speak(values);
    if (changed.has("words") || changed.has("notes")) write(values);
  });
}
