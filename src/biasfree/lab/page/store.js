// The store: the one place of state. Panels read it when it changes, at most once per frame.

import { unpack } from "./numbers.js";

/**
 * @typedef {Object} Shown
 * @property {object|null} state     the experiment, as Python sent it
 * @property {number[][]} samples    x₁, x₂, y as they are on the plane, also while one is dragged
 * @property {import("./numbers.js").Run|null} run
 * @property {boolean} exact         whether the run is the exact one
 * @property {string} label          what the run is, in words
 * @property {object|null} growing   times and losses of a run under way
 * @property {object[]} lines        predictions
 * @property {number[]|null} twin
 * @property {number[][]} plateaus
 * @property {object|null} measures
 * @property {object[]} words
 * @property {string[]} notes
 * @property {object[]} earlier      the last three runs: times and losses
 * @property {number} time           where the handle is; infinity is the end
 * @property {boolean} playing
 * @property {number} proposed       the number of the last state sent to Python
 * @property {number} answered       the number of the state whose run is shown
 */

/** @returns {Shown} */
function initial() {
  return {
    state: null, samples: [], selected: -1, run: null, exact: false, label: "starting", growing: null,
      lines: [], twin: null,
    plateaus: [], measures: null, words: [], notes: [], earlier: [], time: Infinity, playing: false,
    proposed: 0, answered: 0, horizon: null, scheme: false, scrubbed: false, logTime: false, logLoss: false,
      part: "whole", view: "plane", busy: true,
  };
}

export function createStore() {
  const values = initial(), listeners = [];
  let waiting = false, changed = new Set();
  const tell = () => {
    waiting = false;
    const now = changed;
    changed = new Set();
    for (const listener of listeners) listener(values, now);
  };
  return {
    values,
    /** Changes values; listeners are told in the next frame. */
    set(changes) {
      for (const [key, value] of Object.entries(changes)) {
        if (values[key] === value) continue;
        values[key] = value;
        changed.add(key);
      }
      if (changed.size && !waiting) {
        waiting = true;
        requestAnimationFrame(tell);
      }
    },
    /** Calls `listener(values, changed)` after changes. */
    listen(listener) { listeners.push(listener); },
  };
}

/** The present time of the handle within the run. */
export function presentTime({ run, time }) {
  return run ? Math.min(time, run.ts[run.ts.length - 1]) : 0;
}

/** Takes one answer of Python into the store. */
export function take(store, answer) {
  const handlers = {
    exact: () => store.set({ ...ofRun(answer.replay), exact: true, label: answer.label,
      plateaus: answer.plateaus, growing: null }),
    preview: () => store.set({ ...ofRun(answer.replay), exact: false, label: answer.label, plateaus: [] }),
    theory: () => store.set({ lines: answer.lines }),
    twin: () => store.set({ twin: answer.loss }),
    measures: () => store.set({ measures: { ...answer.measures }, words: answer.words }),
    words: () => store.set({ words: answer.words }),
    growing: () => store.set({ growing: { ts: answer.ts, loss: answer.loss } }),
  };
  handlers[answer.stage]?.();
}

function ofRun(replay) {
  return { run: unpack(replay), lines: [], twin: null, measures: null };
}
