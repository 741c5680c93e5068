// Three hints for a first visit, each dismissed by doing what it says.

import { html } from "./drawing.js";

const KEY = "biasfree-lab-hints";
const HINTS = [
  ["drag", "plane", "Drag a point"],
  ["scrub", "loss", "Press play, or drag in time"],
  ["change", "settings", "Change a setting"],
];

/** Shows the hints that were not followed yet; returns the function that dismisses one. */
export function hints(sections) {
  const done = new Set(JSON.parse(localStorage.getItem(KEY) ?? "[]"));
  const shown = new Map();
  HINTS.forEach(([name, where, text], i) => {
    if (done.has(name)) return;
    const hint = html("p", { class: `hint ${where}`, role: "note" }, html("b", {}, String(i + 1)), text);
    sections[where].append(hint);
    shown.set(name, hint);
  });
  return (name) => {
    if (done.has(name)) return;
    done.add(name);
    shown.get(name)?.classList.add("done");
    localStorage.setItem(KEY, JSON.stringify([...done]));
  };
}
