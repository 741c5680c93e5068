// The weights: W₂ of three layers sorted by sign, or neurons by angle; singular values over time.

import { colors, pathOf, scale, shades, sized, svg } from "./drawing.js";
import { bytesOf, momentOf, placeOf, shown } from "./numbers.js";
import { presentTime } from "./store.js";

export function weightsPanel(home, store) {
  const canvas = document.createElement("canvas"),
    over = svg("svg", { role: "img", "aria-label": "Weights and singular values" });
  home.append(canvas, over);
  const size = sized(home, () => draw(store.values)), note = document.getElementById("weights-note");

  /** Two boxes, side by side where the panel is wide, else one below the other: left, top, width, height. */
  function boxes() {
    const { width, height } = size;
    if (width > 1.35 * height) return [[0, 0, width / 2 - 8, height],
      [width / 2 + 8, 0, width / 2 - 8, height]];
    const split = Math.round(0.56 * height);
    return [[0, 0, width, split], [0, split + 14, width, height - split - 14]];
  }

  function draw(values) {
    const { run, measures } = values;
    if (!size.width || !run) return;
    over.setAttribute("viewBox", `0 0 ${size.width} ${size.height}`);
    const place = placeOf(run.ts, presentTime(values)), i = momentOf(measures, place),
      [first, second] = boxes();
    const parts = [];
    canvas.hidden = !(run.depth === 3 && i >= 0);
    if (!canvas.hidden) drawMatrix(measures.moments[i], run.width, first);
    else if (run.depth === 2) parts.push(...stems(run, place, first));
    if (measures) parts.push(...singular(values, second));
    over.replaceChildren(...parts);
    const shownFirst = canvas.hidden ? "a|w| of each neuron over its angle"
      : `W₂ sorted by sign, largest ${shown(measures.moments[i].largest)}`;
    const layer = run.depth === 3 ? "W₂" : "W₁";
    note.textContent = measures ? `${shownFirst}; singular values of ${layer}.` : "";
  }

  function drawMatrix({ matrix }, count, [left, top, width, height]) {
    const entries = new Int8Array(bytesOf(matrix).buffer), side = Math.min(width, height - 4),
      palette = shades(colors());
    canvas.width = canvas.height = count;
    Object.assign(canvas.style,
      { width: `${side}px`, height: `${side}px`, left: `${left + (width - side) / 2}px`, top: `${top}px` });
    const pen = canvas.getContext("2d"), picture = pen.createImageData(count, count),
      pixels = new Uint32Array(picture.data.buffer);
    entries.forEach((value, k) => { pixels[k] = palette[255 + 2 * value]; });
    pen.putImageData(picture, 0, 0);
  }

  function stems(run, place, [left, top, width, height]) {
    const begin = place * run.width, x = scale(-180, 180, left + 8, left + width - 8),
      middle = top + (height - 12) / 2;
    const strengths = Array.from({ length: run.width }, (_, h) => {
      const [u, v] = [run.w[2 * (begin + h)], run.w[2 * (begin + h) + 1]];
      return [(Math.atan2(v, u) * 180) / Math.PI, run.a[begin + h] * Math.hypot(u, v)];
    });
    const most = Math.max(...strengths.map(([, one]) => Math.abs(one)), 1e-300), parts = [];
    parts.push(svg("line", { class: "axis", x1: left + 8, x2: left + width - 8, y1: middle, y2: middle }));
    const paths = { plus: "", minus: "" };
    for (const [angle, one] of strengths) {
      const y = middle - (one / most) * ((height - 12) / 2 - 8), at = x(angle).toFixed(1);
      paths[one >= 0 ? "plus" : "minus"] += `M${at} ${middle}V${y.toFixed(1)}`
        + (one >= 0 ? "h0" : "m-2.5 0l2.5 2.5l2.5 -2.5l-2.5 -2.5z");
    }
    for (const sign of ["plus", "minus"]) parts.push(svg("path", { class: `stem ${sign}`, d: paths[sign] }));
    for (const degrees of [-90, 0, 90]) {
      parts.push(svg("text", { x: x(degrees), y: top + height, "text-anchor": "middle" },
        `${shown(degrees)}°`));
    }
    return parts;
  }

  function singular(values, [left, top, width, height]) {
    const { run, measures, logTime } = values, layer = run.depth === 3 ? 1 : 0, bottom = top + height - 4,
      begin = left + 34, end = left + width - 8;
    const ts = measures.places.map((place) => run.ts[place]), last = ts[ts.length - 1];
    const courses = measures.moments[0].singular[layer].map((_, k) =>
      measures.moments.map((one) => one.singular[layer][k]));
    const most = Math.max(...courses[0], 1e-300), x = scale(logTime ? ts[1] : 0, last, begin, end, logTime),
      y = scale(0, 1.05 * most, bottom, top);
    const parts = courses.map((course, k) =>
      svg("path", { class: `singular s${Math.min(k, 2)}`,
      d: pathOf(ts.map((t) => (logTime && t <= 0 ? NaN : x(t))), course.map(y)) }));
    const now = x(Math.max(presentTime(values), logTime ? ts[1] : 0));
    parts.push(svg("line", { class: "axis", x1: begin, x2: end, y1: bottom, y2: bottom }),
      svg("line", { class: "now", x1: now, x2: now, y1: top, y2: bottom }));
    parts.push(svg("text", { x: begin - 4, y: top + 9, "text-anchor": "end" }, shown(most, 2)),
      svg("text", { x: begin - 4, y: bottom, "text-anchor": "end" }, "0"));
    return parts;
  }

  store.listen((values, changed) => {
    if (["run", "time", "measures", "logTime", "scheme"].some((name) => changed.has(name))) draw(values);
  });
}
