// The live page: what the user does becomes a state for Python, and its answers become what is shown.

import { clock } from "./clock.js";
import { connect } from "./connection.js";
import { controls } from "./controls.js";
import { html } from "./drawing.js";
import { functionPanel } from "./function.js";
import { hints } from "./hints.js";
import { lossPanel } from "./loss.js";
import { bytesOf, placeOf } from "./numbers.js";
import { planePanel } from "./plane.js";
import { createStore, presentTime, take } from "./store.js";
import { weightsPanel } from "./weights.js";
import { wordsPanel } from "./words.js";

const KEPT = 3; // earlier runs that stay on the page, faded
const LONGEST_CSV = 50000;
const TYPES = { npz: "application/octet-stream", png: "image/png", page: "text/html" };
const at = (id) => document.getElementById(id);
const store = createStore(), { values } = store;
const follow = hints({ plane: at("plane"), loss: at("loss"), settings: document.querySelector(".settings") });
let showSettings = null, opened = false;

// What the user does -------------------------------------------------------------------------------------

/**
 * Sends a message to Python, and notes its number: answers to older ones do not change the state any more.
 */
function ask(message) {
  store.set({ busy: true, proposed: connection.propose(message) });
}

/** Proposes the present state with changes; while something moves, only a preview is asked for. */
function propose(changes, rest = true) {
  if (!values.state) return;
  keepEarlier();
  const state = { ...values.state, ...changes };
  const { given, samples, ...sent } = state;
  store.set({ state });
  ask({ state: given ? { ...sent, samples } : sent, rest });
}

function place(samples, rest) {
  store.set({ samples });
  propose({ samples, given: true, preset: "own" }, rest);
}

const edit = {
  move(i, sample, rest) {
    const bounded = sample.map((value) => Math.max(-50, Math.min(50, value)));
    place(values.samples.map((one, k) => (k === i ? bounded : one)), rest);
    follow("drag");
  },
  add(sample) { if (values.samples.length < 100) place([...values.samples, sample], true); },
  remove(i) { if (values.samples.length > 1) place(values.samples.filter((_, k) => k !== i), true); },
};

/** Keeps the losses of the exact run on the page before another one comes. */
function keepEarlier() {
  const { run, exact, earlier } = values;
  if (!run || !exact || earlier.at(-1)?.ts === run.ts) return;
  store.set({ earlier: [...earlier, { ts: run.ts, loss: run.loss }].slice(-KEPT) });
}

function setting(name, value, rest) {
  follow("change");
  propose({ [name]: value }, rest);
}

// What Python answers ------------------------------------------------------------------------------------

const handlers = {
  hello({ fields, presets }) {
    showSettings = controls(at("settings"), fields, setting);
    const options = presets.map(({ name, title }) => html("option", { value: name }, title));
    at("preset").replaceChildren(...options, html("option", { value: "own" }, "Your own samples"));
    values.presets = Object.fromEntries(presets.map((preset) => [preset.name, preset.about]));
    if (!opened) ask({ open: location.hash });
    opened = true;
  },
  state({ id, state, fragment, notes }) {
    if (id < values.proposed) return; // something newer is on its way
    history.replaceState(null, "", `#${fragment}`);
    store.set({ state, notes, growing: null, horizon: state.horizon, samples: state.samples });
    showSettings(state);
    at("preset").value = state.preset;
    at("about").textContent = at("preset").title = values.presets[state.preset] ?? "Your own samples.";
  },
  failed({ text }) { store.set({ notes: [...values.notes, text], busy: false, label: "stopped",
    growing: values.growing }); },
  done() { store.set({ busy: false }); },
  file({ kind, text, name, content }) { if (kind === "python") copied(text, "python");
    else save(name, bytesOf(content), TYPES[kind]); },
};

function hear(answer) {
  if (answer.stage === "preview" || answer.stage === "exact") store.set({ answered: answer.id });
  (handlers[answer.stage] ?? ((one) => take(store, one)))(answer);
}

const connection = connect(hear, (open) => {
  store.set({ label: open ? values.label : "the connection is lost; start biasfree lab again",
    busy: open && values.busy });
  if (open && opened) ask({ open: location.hash });
});

// Tools --------------------------------------------------------------------------------------------------

function save(name, bytes, type) {
  const address = URL.createObjectURL(new Blob([bytes], { type }));
  html("a", { href: address, download: name }).click();
  setTimeout(() => URL.revokeObjectURL(address), 10000);
}

async function copied(text, id) {
  const button = at(id), before = button.textContent;
  try {
    await navigator.clipboard.writeText(text);
    button.textContent = "copied";
  } catch {
    // no clipboard without permission
    save(id === "python" ? "run.py" : "link.txt", new TextEncoder().encode(text), "text/plain");
    button.textContent = "saved";
  }
  setTimeout(() => { button.textContent = before; }, 1500);
}

const presentPlace = () => (values.run ? placeOf(values.run.ts, presentTime(values)) : 0);
at("link").addEventListener("click", () => copied(location.href, "link"));
for (const kind of ["python", "png", "npz", "page"]) at(kind).addEventListener("click",
  () => connection.want(kind, presentPlace()));
at("preset").addEventListener("change", ({ target }) => {
  follow("change");
  keepEarlier();
  store.set({ time: Infinity, earlier: [] });
  ask(target.value === "own" ? { state: { ...values.state, preset: "own", samples: values.samples } }
    : { state: { preset: target.value } });
});
at("add").addEventListener("click", () => edit.add([0.5, 0.5, 1]));
at("data").addEventListener("click", () => at("paste").showModal());
at("paste").addEventListener("close", () => {
  const text = at("csv").value;
  if (at("paste").returnValue !== "use" || !text.trim()) return;
  const tooLong = `The text has more than ${LONGEST_CSV} characters; paste fewer samples.`;
  if (text.length > LONGEST_CSV) store.set({ notes: [tooLong] });
  else ask({ csv: text });
});
window.addEventListener("hashchange", () => ask({ open: location.hash }));

// Panels -------------------------------------------------------------------------------------------------

planePanel(at("plane"), store, edit);
lossPanel(at("loss"), store);
clock(at("clock"), store);
functionPanel(at("function"), store);
weightsPanel(at("weights"), store);
wordsPanel(at("words"), store, (state) => propose({ ...state }));
const scheme = matchMedia("(prefers-color-scheme: dark)");
scheme.addEventListener("change", () => store.set({ scheme: scheme.matches }));
store.listen((_, changed) => {
  if (changed.has("scrubbed")) follow("scrub");
  if (!["label", "busy", "exact"].some((name) => changed.has(name))) return;
  at("status").textContent = values.label;
  at("status").className = `status ${values.busy ? "busy" : values.exact ? "exact" : "preview"}`;
});
