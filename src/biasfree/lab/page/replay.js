// The saved page: the answers of Python are in the page, and the player shows them without a server.

import { clock } from "./clock.js";
import { functionPanel } from "./function.js";
import { lossPanel } from "./loss.js";
import { planePanel } from "./plane.js";
import { createStore, take } from "./store.js";
import { weightsPanel } from "./weights.js";
import { wordsPanel } from "./words.js";

export function startReplay() {
  const store = createStore(), answers = JSON.parse(document.getElementById("answers").textContent);
  planePanel(document.getElementById("plane"), store);
  lossPanel(document.getElementById("loss"), store);
  clock(document.getElementById("clock"), store);
  functionPanel(document.getElementById("function"), store);
  weightsPanel(document.getElementById("weights"), store);
  wordsPanel(document.getElementById("words"), store);
  for (const answer of answers) take(store, answer);
  store.set({ samples: store.values.run.samples, busy: false });
  const scheme = matchMedia("(prefers-color-scheme: dark)");
  scheme.addEventListener("change", () => store.set({ scheme: scheme.matches }));
}
