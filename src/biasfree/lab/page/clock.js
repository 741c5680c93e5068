// The clock: a slider for the time of the run, play and pause.

import { html, scale } from "./drawing.js";
import { shown } from "./numbers.js";
import { presentTime } from "./store.js";

/** Seconds in which a run is played, and places of the slider. */
const SECONDS = 9, PLACES = 1000;

export function clock(home, store) {
  const button = html("button", { type: "button", class: "play", "aria-label": "Play", onclick: toggle });
  const slider = html("input",
    { type: "range", min: 0, max: PLACES, value: PLACES, "aria-label": "Time of the run", oninput: scrub });
  home.append(button, slider);

  function axis({ run, logTime }) {
    const end = run.ts[run.ts.length - 1];
    return scale(logTime ? run.ts.find((t) => t > 0) : 0, end, 0, PLACES, logTime);
  }

  function scrub() {
    const { values } = store;
    if (!values.run) return;
    store.set({ time: Number(slider.value) >= PLACES ? Infinity : axis(values).invert(Number(slider.value)),
      playing: false, scrubbed: true });
  }

  function toggle() {
    const { values } = store;
    if (!values.run) return;
    const ended = presentTime(values) >= values.run.ts[values.run.ts.length - 1];
    if (!values.playing && ended) store.set({ time: values.logTime ? axis(values).invert(0) : 0 });
    store.set({ playing: !values.playing, scrubbed: true });
  }

  let last = 0;
  function advance(now) {
    const { values } = store;
    if (!values.playing || !values.run) return;
    const map = axis(values), at = map(Math.max(presentTime(values), map.log ? map.invert(0) : 0));
    const next = at + PLACES * Math.min(0.1, (now - last) / 1000) / SECONDS;
    last = now;
    if (next >= PLACES) return store.set({ time: Infinity, playing: false });
    store.set({ time: map.invert(next) });
    requestAnimationFrame(advance);
  }

  document.addEventListener("keydown", (event) => {
    const typing = event.target.closest?.("input, textarea, select, button, dialog");
    if (event.key === " " && !typing) { event.preventDefault(); toggle(); }
  });

  store.listen((values, changed) => {
    if (changed.has("playing")) {
      button.setAttribute("aria-label", values.playing ? "Pause" : "Play");
      button.classList.toggle("on", values.playing);
      if (values.playing) { last = performance.now(); requestAnimationFrame(advance); }
    }
    if (values.run && ["time", "run", "logTime"].some((name) => changed.has(name))) {
      const map = axis(values), t = presentTime(values);
      slider.value = String(Math.round(map(map.log ? Math.max(t, map.invert(0)) : t)));
      slider.setAttribute("aria-valuetext", `t = ${shown(t, 4)}`);
    }
  });
}
